"""The URDF files of example-robot-data, and the peers they are compared with; a missing package is an error."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

CURE = "`make test` installs it; `make test PEERS=0` leaves these tests out"


# with 29 to 101 degrees of freedom: seconds to compile
LARGE = {
    "alex_description/urdf/alex_psyonic_hands.urdf",
    "centauro_description/urdf/centauro.urdf",
    "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "human_description/robots/human.urdf",
    "icub_description/robots/icub.urdf",
    "icub_description/robots/icub_reduced.urdf",
    "pr2_description/urdf/pr2.urdf",
    "romeo_description/urdf/romeo.urdf",
    "romeo_description/urdf/romeo_laas_small.urdf",
    "romeo_description/urdf/romeo_small.urdf",
    "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "simple_humanoid_description/urdf/simple_humanoid_classical.urdf",
    "talos_data/robots/talos_full_v2.urdf",
    "talos_data/robots/talos_full_v2_box.urdf",
    "talos_data/robots/talos_reduced.urdf",
    "talos_data/robots/talos_reduced_box.urdf",
    "talos_data/robots/talos_reduced_corrected.urdf",
    "tiago_description/robots/tiago.urdf",
    "tiago_description/robots/tiago_dual.urdf",
    "tiago_pro_description/robots/tiago_pro.urdf",
}
# of these, what differs from another one in shapes, a few numbers, or what is left out
VARIANTS = {
    "alex_description/urdf/alex_sake_hands.urdf",
    "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "icub_description/robots/icub_reduced.urdf",
    "romeo_description/urdf/romeo_laas_small.urdf",
    "romeo_description/urdf/romeo_small.urdf",
    "simple_humanoid_description/urdf/simple_humanoid_classical.urdf",
    "talos_data/robots/talos_full_v2_box.urdf",
    "talos_data/robots/talos_reduced_box.urdf",
    "talos_data/robots/talos_reduced_corrected.urdf",
    "tiago_description/robots/tiago.urdf",
}


def on_both_bases(files: Iterable[str]) -> list[Any]:
    """Parameters (file, base): every file on a fixed and on a free base, on one of them in turn, and on the other only
    in the long tests, where variants of large robots are on both.
    """
    parameters, bases = [], ("fixed", "free")
    for k, file in enumerate(files):
        for base in bases:
            long = file in VARIANTS or base == bases[k % 2]
            parameters.append(pytest.param(file, base, marks=pytest.mark.long if long else ()))
    return parameters


def peer(module: str) -> Any:
    """Import another library for comparison. Not installed is an error, unless PEERS=0 says that this is meant."""
    try:
        return import_module(module)
    except ImportError as error:
        raise missing(module) from error


def folder() -> Path:
    """Where the wheel of example-robot-data puts its robots."""
    path = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
    if not path.is_dir():
        raise missing("example-robot-data")
    return path


EMPTY = {"falcon_description/urdf/falcon.urdf", "ur_description/urdf/ur3.urdf"}  # files without a robot


def files() -> list[str]:
    """Every URDF file, by its path below `folder()`."""
    return sorted(path.relative_to(folder()).as_posix() for path in folder().rglob("*.urdf"))


def missing(package: str) -> Exception:
    """The error for a package that is not there; skips the module when PEERS=0 says that this is meant."""
    if os.environ.get("PEERS") == "0":
        pytest.skip(f"{package} was left out by PEERS=0", allow_module_level=True)
    return ModuleNotFoundError(f"these tests compare with {package}, which is not installed: {CURE}")
