"""The vector environment in the way to reset and the arrays that a library wants, and the libraries themselves."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dalembert.errors import DalembertError

from ..vector import Vector


def library(where: str, module: str, package: str) -> Any:
    """A module of a library, or the error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise DalembertError(f"{where}: {error}: pip install {package}") from None


def wanted(where: str, vec: Any, autoreset: str, arrays: str) -> Any:
    """The vector environment itself if it is so, else another one with its settings and seed that is."""
    if not isinstance(vec, Vector):
        raise DalembertError(f"{where}: got {type(vec).__name__}, expected what Environment.vector gives")
    if vec.autoreset == autoreset and vec.arrays.library == arrays:
        return vec
    other = vec.environment.vector(
        vec.num_envs, seed=vec.seed, first=vec.first, autoreset=autoreset, arrays=arrays, threads=vec.threads,
        dtype="float32", unsound=vec.unsound,
    )  # fmt: skip
    return other
