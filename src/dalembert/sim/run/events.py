"""Events: what a user asks to be located, and what is known of each after the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError


@dataclass(frozen=True)
class Event:
    """A condition on the motion: function(t, q, v) → a number, traced; the event is where it changes sign.

    direction: 1 only from negative to positive, −1 only the other way, 0 both; terminal: the run ends there. Reaching
    zero counts, once, as does a jump over zero at an impact; starting at zero does not.
    """

    name: str
    function: Callable[[Any, np.ndarray, np.ndarray], Any]
    direction: int = 0
    terminal: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DalembertError(
                f"event {self.name!r}: function is of type {type(self.function).__name__}, expected (t, q, v) → number"
            )
        if self.direction not in (-1, 0, 1):
            raise DalembertError(f"event {self.name!r}: direction is {self.direction!r}, expected -1, 0 or 1")

    def number(self, t: Any, q: np.ndarray, v: np.ndarray) -> Any:
        """The number of a traced state, checked."""
        try:
            value = np.asarray(self.function(t, q, v), object)
        except DalembertError as error:
            raise DalembertError(f"event {self.name!r}: {error}") from None
        if value.size != 1:
            raise DalembertError(f"event {self.name!r}: function returned shape {value.shape}, expected one number")
        return value.reshape(())[()]


class Happening(NamedTuple):
    """An event that took place: its name, t [s], q (nq,), v (nv,) just before it.

    kind: "event" of the user's; "gap" of an element; of stops "impact", "rests" and "leaves"; of friction "sticks" and
    "slips".
    """

    name: str
    t: float
    q: np.ndarray
    v: np.ndarray
    kind: str = "event"
