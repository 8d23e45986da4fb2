"""The one exception class of the package, and how unknown names are reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from math import inf
from numbers import Real
from operator import index
from typing import Any, ParamSpec, TypeGuard, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

LISTED = 8  # names shown before "…": enough to recognise the robot, few enough to read


class DalembertError(ValueError):
    """Bad input: the message says where, what came, what was expected and what to do."""


class ImportFindingsWarning(UserWarning):
    """A robot's file of which physics was dropped, repaired or assumed, or is impossible: see `robot.import_log`."""


def is_number(x: Any) -> TypeGuard[float]:
    """Whether x is a real number, of Python or NumPy; True and False are none."""
    return isinstance(x, Real) and not isinstance(x, bool)


def check_positive(what: str, value: Any, unit: str = "", zero: bool = False) -> None:
    """Refuse anything but a finite number above 0; what: where and its name; zero: 0 is allowed."""
    if not is_number(value) or not (0.0 <= value < inf if zero else 0.0 < value < inf):
        expected = "0 or more" if zero else "above 0"
        raise DalembertError(f"{what} is {value!r}, expected {expected}{f' [{unit}]' if unit else ''}")


def whole_number(what: str, value: Any, least: int = 1) -> int:
    """A whole number of at least that, of Python or NumPy; anything else is refused. what: where and its name."""
    try:
        number = least - 1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise DalembertError(f"{what} is {value!r}, expected a whole number ≥ {least}")
    return number


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function refuse keywords by their old names, with an error that says the new one.

    >>> @renamed(record="every")
    ... def rollout(every=None): ...
    """

    def around(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def refusing(*args: P.args, **keywords: P.kwargs) -> R:
            for old in names.keys() & keywords.keys():
                raise DalembertError(f"{function.__name__}: {old}=… is called {names[old]} now")
            return function(*args, **keywords)

        return refusing

    return around


def unknown(kind: str, name: object, valid: Iterable[str], where: str = "") -> DalembertError:
    """The error for a name that does not exist, with the nearest valid names.

    >>> unknown("joint", "elbw", ["shoulder", "elbow"])
    DalembertError("unknown joint 'elbw': did you mean 'elbow'? joints: shoulder, elbow")
    """
    names = list(valid)
    plain = {text.lower(): text for text in reversed(names)}
    lowered = str(name).lower()
    near = get_close_matches(str(name), names, n=1) or get_close_matches(lowered, plain, n=1)
    near = near or [text for text in plain if len(lowered) > 2 and lowered in text][-1:]  # "tcp": "panda_hand_tcp"
    guess = f": did you mean {plain.get(near[0], near[0])!r}?" if near else ":"
    plural = " or ".join(_plural(word) for word in kind.split(" or "))
    listed = ", ".join(names[:LISTED]) + (f", … ({len(names)} in all)" if len(names) > LISTED else "")
    listing = f"{plural}: {listed}" if names else f"there are no {plural}"
    return DalembertError(f"{where + ': ' if where else ''}unknown {kind} {name!r}{guess} {listing}")


def _plural(word: str) -> str:
    if word == "axis":
        return "axes"
    return word[:-1] + "ies" if word[-1] == "y" and word[-2] not in "aeou" else word.removesuffix("s") + "s"
