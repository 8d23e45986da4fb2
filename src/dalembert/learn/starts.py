"""Where episodes begin: the first keyframe, a state, states around one, or a traced function of random numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.contact import Contact
from dalembert.contact.candidates import candidates
from dalembert.contact.rows import contact_rows
from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError, unknown
from dalembert.math import clip
from dalembert.robot import Robot
from dalembert.study.distributions.states import States
from dalembert.study.distributions.states import states as states_of
from dalembert.study.distributions.stream import Stream

from .calling import called
from .state import base_of

OUTSIDE = 1e-6  # [rad, m] beyond a limit that is rounding


class Random:
    """Random numbers for a traced function of the start; each call gives others."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._count = stream, 0

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: int | None = None) -> Any:
        """A number between low and high, or with size a vector (size,)."""
        low, high = np.asarray(low, float), np.asarray(high, float)
        shape = np.broadcast_shapes(low.shape, high.shape, () if size is None else (size,))
        u = self._stream.uniforms(self._name(), int(np.prod(shape))).reshape(shape)
        return (low + (high - low) * u)[()]

    def normal(self, mean: Any = 0.0, deviation: Any = 1.0, size: int | None = None) -> Any:
        """A normal number, or with size a vector (size,)."""
        mean, deviation = np.asarray(mean, float), np.asarray(deviation, float)
        shape = np.broadcast_shapes(mean.shape, deviation.shape, () if size is None else (size,))
        x = self._stream.normals(self._name(), int(np.prod(shape))).reshape(shape)
        return (mean + deviation * x)[()]

    def _name(self) -> str:
        self._count += 1
        return f"start {self._count}"


@dataclass(frozen=True)
class Around:
    """States around the start of an environment (stated: around one of its own)."""

    law: States
    stated: bool


def states(
    robot: Robot, spread: float = 0.1, speed: float = 0.0, *, about: Any = None, joints: Iterable[str] | None = None
) -> Around:
    """Starts around one state, uniform within ± spread [rad, m] and ± speed [rad/s, m/s] of each freedom.

    about: q, or (q, v); default the start that an environment has without `reset`. joints: names of those that vary;
    default all but a floating base.
    """
    return Around(states_of(robot, spread, speed, about=about, joints=joints), about is not None)


class Middle(Random):
    """The middle of each range and each mean, in the place of random numbers."""

    def __init__(self) -> None:
        super().__init__(Stream(0.0, 0.0))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: int | None = None) -> Any:
        """Half of low and high."""
        return np.broadcast_to(0.5 * (np.asarray(low, float) + np.asarray(high, float)), self._shape(low, high, size))[
            ()
        ]

    def normal(self, mean: Any = 0.0, deviation: Any = 1.0, size: int | None = None) -> Any:
        """The mean."""
        return np.broadcast_to(np.asarray(mean, float), self._shape(mean, deviation, size))[()]

    @staticmethod
    def _shape(a: Any, b: Any, size: int | None) -> tuple[int, ...]:
        return np.broadcast_shapes(np.shape(a), np.shape(b), () if size is None else (size,))


class Start:
    """The start of episodes. q (nq,), v (nv,): the nominal one; drawn: gives traced starts.

    Of a function of random numbers the nominal start is that of the middle of all ranges.
    """

    def __init__(self, robot: Robot, contact: Contact | None, reset: Any) -> None:
        reset = Around(reset, True) if isinstance(reset, States) else reset
        self.robot, self.reset = robot, reset
        if isinstance(reset, Around) and len(reset.law.v) != robot.nv:
            raise DalembertError("Environment: reset has states of another robot")
        if isinstance(reset, Around) and reset.stated:
            self.q, self.v = np.array(reset.law.q), np.array(reset.law.v)
        elif reset is None or isinstance(reset, Around):
            self.q, self.v = _default(robot, contact)
        elif callable(reset):
            answer = _answer(robot, called("reset", reset, Middle()))
            self.q, self.v = (np.array(x, float) for x in answer)
        else:
            self.q, self.v = _state(robot, reset)
        limits = robot.limits
        low, high = limits.lower - OUTSIDE, limits.upper + OUTSIDE
        if ((self.q < low) | (self.q > high)).any():
            place = int(np.argmax((self.q < low) | (self.q > high)))
            name = next(x.name for x in robot.joints if x.q.start <= place < x.q.stop)
            raise DalembertError(
                f"Environment: the start is outside the limits of joint {name!r}: {self.q[place]:g}, expected "
                f"{limits.lower[place]:g} to {limits.upper[place]:g}: pass reset=(q, v)"
            )

    def drawn(self, stream: Stream) -> tuple[np.ndarray, np.ndarray]:
        """q, v of an episode, traced."""
        if isinstance(self.reset, Around):
            return self._around(self.reset.law, stream)
        if callable(self.reset):
            return _answer(self.robot, called("reset", self.reset, Random(stream)))
        return np.array(self.q), np.array(self.v)

    def _around(self, law: States, stream: Stream) -> tuple[np.ndarray, np.ndarray]:
        """States around one; positions within the limits of the joints."""
        model, k = self.robot.model, len(law.places)
        x = law.values(stream.uniforms("start", law.width)[None])[0]
        step, v = np.zeros(model.nv, object), np.array(self.v, object)
        if law.spread:
            step[list(law.places)] = x[:k]
        if law.speed:
            v[list(law.places)] = v[list(law.places)] + x[-k:]
        q = algorithms.integrate(model, self.q, step)
        limits = self.robot.limits
        for i, (low, high) in enumerate(zip(limits.lower, limits.upper, strict=True)):
            if np.isfinite([low, high]).any():
                q[i] = clip(q[i], max(low, -1e30), min(high, 1e30))
        return q, v


def _default(robot: Robot, contact: Contact | None) -> tuple[np.ndarray, np.ndarray]:
    """The first keyframe, else neutral within the limits, lifted until the lowest shape touches the ground."""
    if robot.keyframes:
        q, v = next(iter(robot.keyframes.values()))
        return np.array(q, float), np.array(v, float)
    q, v = (np.array(x, float) for x in robot.home())
    body = robot.model.bodies[base_of(robot.model)]
    if contact is None or body.joint.nv != 6:
        return q, v
    patches = [patch for patch in candidates(robot.model, contact) if patch.ground is not None]
    if patches:
        gaps = np.asarray(contact_rows(robot.model, q, patches).gap, float)
        q[body.q.start + 2] -= gaps.min()
    return q, v


def _state(robot: Robot, given: Any) -> tuple[np.ndarray, np.ndarray]:
    """A stated start: q, or (q, v)."""
    if isinstance(given, str):
        keyframes = robot.keyframes
        if given not in keyframes:
            raise unknown("keyframe", given, keyframes, "Environment: reset")
        q, v = (np.array(x, float) for x in keyframes[given])
        return q, v
    try:
        pair = (
            given if isinstance(given, tuple) and len(given) == 2 and np.ndim(given[0]) else (given, np.zeros(robot.nv))
        )
        q, v = (np.asarray(x, float) for x in pair)
    except (TypeError, ValueError):
        q = v = np.zeros(0)
    if q.shape != (robot.nq,) or v.shape != (robot.nv,) or not (np.isfinite(q).all() and np.isfinite(v).all()):
        raise DalembertError(
            f"Environment: reset is {given!r}, expected q ({robot.nq},), (q, v), the name of a keyframe, "
            "learn.states(robot, …) or a function of random numbers"
        )
    return robot.normalize(q), v


def _answer(robot: Robot, answer: Any) -> tuple[np.ndarray, np.ndarray]:
    """q, v of a function of the start."""
    pair = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, np.zeros(robot.nv))
    q, v = (np.asarray(x, object) for x in pair)
    if q.shape != (robot.nq,) or v.shape != (robot.nv,):
        raise DalembertError(
            f"Environment: reset gave shapes {q.shape}, {v.shape}, expected q ({robot.nq},), or (q, v) with v "
            f"({robot.nv},)"
        )
    return q, v
