"""Commands that drive a system: one over a leg of the way, or several in turn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Command(NamedTuple):
    """Numbers that change linearly in time: value + slope · (t − since), value and slope (n,), since [s].

    Generalised forces (nv,), or controls of actuators (nu,). Compiled code takes it as one vector, `flat`.
    """

    value: np.ndarray
    slope: np.ndarray
    since: Any = 0.0

    @classmethod
    def held(cls, value: np.ndarray) -> Command:
        """The same numbers (n,) all the time."""
        return cls(value, np.zeros(len(value)))

    @classmethod
    def of(cls, flat: np.ndarray, n: int) -> Command:
        """From its vector (2 n + 1,)."""
        return cls(flat[:n], flat[n : 2 * n], flat[2 * n])

    @staticmethod
    def size(n: int) -> int:
        """The length of its vector."""
        return 2 * n + 1

    def at(self, t: Any) -> np.ndarray:
        """The numbers (n,) at a time."""
        return self.value + self.slope * (t - self.since)

    def flat(self) -> np.ndarray:
        """[value, slope, since]."""
        return np.concatenate([self.value, self.slope, [self.since]])


class Leg:
    """A stretch of a run: its commands (k, nu), flat, and the end of each [s] (k,).

    Several commands in turn only where nothing can happen on the way; a system that is not driven has nu = 0. command:
    the first one (nu,), the only one of most legs; end: of the whole leg [s]; several: whether commands take turns.
    """

    def __init__(self, commands: np.ndarray, ends: np.ndarray) -> None:
        self.commands, self.ends = commands, ends
        self.command, self.end, self.several = commands[0], float(ends[-1]), len(commands) > 1

    @classmethod
    def single(cls, command: np.ndarray, end: float) -> Leg:
        """One command (nu,) until `end` [s]."""
        return cls(command[None], np.array([end]))
