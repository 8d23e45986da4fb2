"""Starts of motions: states around one state of a robot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, is_number
from dalembert.model.joints import Free
from dalembert.robot import Robot

from .laws import Distribution


class Start(NamedTuple):
    """A state: q (nq,), v (nv,)."""

    q: np.ndarray
    v: np.ndarray


@dataclass(frozen=True)
class States(Distribution):
    """States about q, v: q ⊕ x, v + y with x, y uniform within ± spread and ± speed, for the named freedoms."""

    q: tuple[float, ...]
    v: tuple[float, ...]
    spread: float
    speed: float
    names: tuple[str, ...]
    places: tuple[int, ...]

    def factors(self, name: str) -> list[tuple[str, slice]]:
        """Names such as "start.elbow" and "start.elbow speed"."""
        kinds = [kind for kind, x in (("", self.spread), (" speed", self.speed)) if x]
        labels = [f"{name}.{each}{kind}" for kind in kinds for each in self.names]
        return [(label, slice(k, k + 1)) for k, label in enumerate(labels)]

    def values(self, u: np.ndarray) -> np.ndarray:
        """Shifts [x, y] (n, size) of position [rad, m] and speed; only those that are not zero."""
        scale = [x for x in (self.spread, self.speed) if x]
        return (2.0 * u - 1.0) * np.repeat(scale, len(self.places))

    def states(self, robot: Robot, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q (n, nq), v (n, nv) of shifts x (n, size), within the limits of the joints."""
        n, k, every = len(x), len(self.places), self.places == tuple(range(robot.nv))
        places: Any = slice(None) if every else list(self.places)
        step, v = np.zeros((max(n, 2), robot.nv)), np.tile(self.v, (n, 1))
        if self.spread:
            step[:n, places] = x[:, :k]
        if self.speed:
            v[:, places] += x[:, -k:]
        q = robot.integrate(np.tile(self.q, (len(step), 1)), step)[:n]  # never one alone: it has code of its own
        return np.clip(q, robot.limits.lower, robot.limits.upper), v


def states(
    robot: Robot,
    spread: float = 0.1,
    speed: float = 0.0,
    *,
    about: Any = None,
    joints: Iterable[str] | None = None,
) -> States:
    """States about one state, uniform within ± spread [rad, m] and ± speed [rad/s, m/s] of each freedom.

    about: (q, v) or q; default `robot.home()`. joints: names of those that vary; default all but a floating base.
    """
    if not isinstance(robot, Robot):
        raise DalembertError(f"states: robot is of type {type(robot).__name__}, expected a Robot")
    for word, x in (("spread", spread), ("speed", speed)):
        if not (is_number(x) and 0.0 <= x < np.inf):
            raise DalembertError(f"states: {word} is {x!r}, expected a number ≥ 0")
    if spread == speed == 0.0:
        raise DalembertError("states: spread and speed are 0: give one of them, or leave the axis out")
    q, v = _state(robot, about)
    chosen = None if joints is None else [robot.model.joint(name) for name in joints]
    moving = [b for b in robot.model.independent if not isinstance(b.joint, Free)] if chosen is None else chosen
    freedoms = [(b, k) for b in moving for k in range(b.joint.nv)]
    if not freedoms:
        raise DalembertError(f"states: robot {robot.name!r} has no joint that may vary: name some with joints=…")
    names = tuple(b.joint.name if b.joint.nv == 1 else f"{b.joint.name}[{k}]" for b, k in freedoms)
    places = tuple(b.v.start + k for b, k in freedoms)
    size = len(places) * ((spread > 0.0) + (speed > 0.0))
    return States(size, tuple(q.tolist()), tuple(v.tolist()), float(spread), float(speed), names, places)


def _state(robot: Robot, about: Any) -> tuple[np.ndarray, np.ndarray]:
    if about is None:
        home = robot.home()
        return np.asarray(home[0], float), np.asarray(home[1], float)
    if isinstance(about, tuple) and len(about) == 2 and np.ndim(about[0]) == 1:
        q, v = (np.asarray(x, float) for x in about)
    else:
        q, v = np.asarray(about, float), np.zeros(robot.nv)
    if q.shape != (robot.nq,) or v.shape != (robot.nv,):
        raise DalembertError(
            f"states: about has shapes {q.shape}, {v.shape}, expected ({robot.nq},), ({robot.nv},) of robot "
            f"{robot.name!r}"
        )
    return robot.normalize(q), v
