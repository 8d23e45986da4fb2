"""Events within an episode, at random times: pushes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError, is_number
from dalembert.math import cos, floor, sin
from dalembert.model import Model
from dalembert.study.distributions.stream import Stream

from .draws import span
from .state import base_of


@dataclass(frozen=True)
class Push:
    """A sudden change of the base's velocity in a random level direction; see `push`."""

    every: tuple[float, float]
    speed: tuple[float, float]

    def check(self, model: Model) -> None:
        """Refuse robots whose base is fixed."""
        if model.bodies[base_of(model)].joint.nv != 6:
            raise DalembertError(f"push: the base of robot {model.name!r} is fixed, expected one on a free joint")

    def change(self, model: Model, q: np.ndarray, stream: Stream, name: str, counter: Any) -> np.ndarray:
        """The change (nv,) of the velocity, in the axes of the base."""
        u = stream.uniforms(name, 2, counter)
        angle, speed = 2.0 * np.pi * u[0], self.speed[0] + (self.speed[1] - self.speed[0]) * u[1]
        body = model.bodies[base_of(model)]
        R = algorithms.poses(model, q)[body.index].R
        out = np.zeros(model.nv, object)
        out[body.v] = np.concatenate(
            [np.zeros(3), R.T @ np.array([speed * cos(angle), speed * sin(angle), 0.0 * speed])]
        )
        return out


def push(*, every: Any, speed: Any) -> Push:
    """A push of the base: its velocity changes at once by `speed` [m/s] in a random level direction.

    every: time [s] between two pushes, or (shortest, longest), drawn anew for each. speed: a number, or (least, most).
    """
    pair = (speed, speed) if is_number(speed) else speed
    if np.shape(pair) != (2,) or not all(is_number(x) for x in pair) or not 0.0 <= pair[0] <= pair[1] < np.inf:
        raise DalembertError(f"push: speed is {speed!r}, expected a number or (least, most), from 0 on [m/s]")
    return Push(span("push", "every", every), (float(pair[0]), float(pair[1])))


@dataclass(frozen=True)
class Timer:
    """When something happens again: after a random time, in whole control steps."""

    name: str
    every: tuple[float, float]
    period: float

    def after(self, stream: Stream, counter: Any) -> Any:
        """Control steps until the next time, 1 at least."""
        fewest, most = (max(1.0, round(x / self.period)) for x in self.every)
        u = stream.uniforms(f"timer {self.name}", 1, counter)[0]
        return fewest + floor(u * (most - fewest + 1.0))


def checked(model: Model, events: Sequence[Any]) -> tuple[Push, ...]:
    """The events of an environment."""
    for event in events:
        if not isinstance(event, Push):
            raise DalembertError(f"Environment: events has {event!r}, expected events such as learn.push(…)")
        event.check(model)
    return tuple(events)
