"""What drives a system from outside: a command over a leg of the way, or several in turn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Command(NamedTuple):
    """Forces that change linearly in time: torque + slope · (t − since), torque and slope (nv,), since [s].

    Compiled code takes it as one vector, `flat`.
    """

    torque: np.ndarray
    slope: np.ndarray
    since: Any = 0.0

    @classmethod
    def held(cls, torque: np.ndarray) -> Command:
        """The same forces (nv,) all the time."""
        return cls(torque, np.zeros(len(torque)))

    @classmethod
    def of(cls, flat: np.ndarray, nv: int) -> Command:
        """From its vector (2 nv + 1,)."""
        return cls(flat[:nv], flat[nv : 2 * nv], flat[2 * nv])

    @staticmethod
    def size(nv: int) -> int:
        """The length of its vector."""
        return 2 * nv + 1

    def at(self, t: Any) -> np.ndarray:
        """Forces (nv,) at a time."""
        return self.torque + self.slope * (t - self.since)

    def flat(self) -> np.ndarray:
        """[torque, slope, since]."""
        return np.concatenate([self.torque, self.slope, [self.since]])


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
