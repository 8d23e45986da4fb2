"""The URDF files of example-robot-data, and the peers they are compared with; a missing package is an error."""

from __future__ import annotations

import os
import sysconfig
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

CURE = "`make test` installs it; `make test PEERS=0` leaves these tests out"


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


def files() -> list[str]:
    """Every URDF file, by its path below `folder()`."""
    return sorted(path.relative_to(folder()).as_posix() for path in folder().rglob("*.urdf"))


def missing(package: str) -> Exception:
    """The error for a package that is not there; skips the module when PEERS=0 says that this is meant."""
    if os.environ.get("PEERS") == "0":
        pytest.skip(f"{package} was left out by PEERS=0", allow_module_level=True)
    return ModuleNotFoundError(f"these tests compare with {package}, which is not installed: {CURE}")
