"""How other libraries are called, one file each. A peer is a function `build(case, robot, frame) -> Rival`.

It imports its library when called; whatever it raises becomes the reason why the peer is left out.
To add a peer, write such a file and name it in `PEERS`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from .layout import Unavailable
from .rival import Rival

__all__ = ["PEERS", "Rival", "Unavailable", "build", "installed"]

# label: (module to be importable, file here that knows how to call it)
PEERS = {
    "Pinocchio": ("pinocchio", "pinocchio"),
    "MuJoCo": ("mujoco", "mujoco"),
    "adam": ("adam", "adam"),
    "adam+CasADi": ("adam.casadi", "adam_casadi"),
}


def installed() -> list[str]:
    """Labels of the peers whose module is found (nothing is imported, except a parent package)."""
    return [label for label, (module, _) in PEERS.items() if _is_installed(module)]


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


def build(label: str, case, robot, frame: str) -> Rival:
    """The peer's own model of the case, ready to be called. Raises Unavailable with the reason, whatever it was."""
    try:
        return import_module(f".{PEERS[label][1]}", __name__).build(case, robot, frame)
    except Unavailable:
        raise
    except ImportError as error:
        raise Unavailable(f"cannot be imported: {error}") from None
    except Exception as error:  # each library has its own ways to refuse a file
        reason = " ".join(str(error).split())
        raise Unavailable(f"cannot take {case.path.name}: {reason}") from None
