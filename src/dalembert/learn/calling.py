"""Calls of users' functions with a traced state: an error names the function, its file and its line."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math import where

PACKAGE = str(Path(__file__).parent.parent)
CURE = "write it with arithmetic, dalembert.math (where in place of if) and the robot's methods"


def called(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The answer of a function; its errors say where they come from."""
    try:
        return function(*arguments)
    except Exception as error:  # whatever the user's code raises when it meets a traced number
        frames = traceback.extract_tb(error.__traceback__)
        theirs = [frame for frame in frames if not frame.filename.startswith(PACKAGE)]
        place = f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs else ""
        said = " ".join(str(error).split()) or type(error).__name__
        hint = "" if isinstance(error, DalembertError) and not _is_traced(error) else f": {CURE}"
        raise DalembertError(f"Environment: {what}{place}: {said}{hint}") from None


def _is_traced(error: Exception) -> bool:
    from dalembert.compiler.graph import TracedValueError

    return isinstance(error, TracedValueError)


def numbers(what: str, function: Callable[..., Any], *arguments: Any) -> np.ndarray:
    """The answer as a vector of numbers."""
    value = called(what, function, *arguments)
    flat = vector(value) if not isinstance(value, (str, dict, type(None))) else np.array([value], object)
    for x in flat:
        if not (hasattr(x, "__traced__") or isinstance(x, (int, float, np.number))):
            raise DalembertError(f"Environment: {what} gave {type(x).__name__}, expected a number or a vector")
    if not len(flat):
        raise DalembertError(f"Environment: {what} gave no numbers, expected a number or a vector")
    return flat


def number(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The answer as one number."""
    value = numbers(what, function, *arguments)
    if len(value) != 1:
        raise DalembertError(f"Environment: {what} gave {len(value)} numbers, expected one")
    return value[0]


def condition(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The answer as 1 where it holds, else 0; of a number, where it is not 0."""
    value = called(what, function, *arguments)
    if np.size(value) != 1:
        raise DalembertError(f"Environment: {what} gave {np.size(value)} values, expected one condition")
    x = np.asarray(value, object).ravel()[0]
    if is_condition(x):
        return where(x, 1.0, 0.0)
    return where(number(what, lambda: x) != 0.0, 1.0, 0.0)


def vector(value: Any) -> np.ndarray:
    """A number or an array as a vector of numbers; conditions as 1 and 0."""
    numbers = np.asarray(value, object).ravel()
    return np.array([where(x, 1.0, 0.0) if is_condition(x) else x for x in numbers], object)


def is_condition(x: Any) -> bool:
    """Whether a value is true or false, traced or not."""
    return bool(getattr(x, "boolean", False)) or isinstance(x, (bool, np.bool_))
