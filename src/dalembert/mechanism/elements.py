"""Forces between named points: along and about an axis, along a line, at a point; and joints held by springs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.dynamics.algorithms import Load, body_loads, frame_pose, velocity
from dalembert.errors import DalembertError
from dalembert.math import abs as absolute
from dalembert.math import atan2, cos, maximum, minimum, sin, where
from dalembert.model import Model
from dalembert.model.closures import across
from dalembert.sim.elements.base import Action, Element, Situation, above_zero, positive
from dalembert.sim.elements.couplings import AT_ORIGIN, PointSpring, line_between, opposite_wrenches, relative_motion
from dalembert.spatial import Pose
from dalembert.typing import Array

Vector = tuple[float, float, float]
Law = float | Callable[..., Any]
NOTHING = np.zeros(3)


class NamedElement(Element):
    """An element with a name of its own."""

    name: str

    def label(self) -> str:
        return self.name


@dataclass(frozen=True)
class AxisForce(NamedElement):
    """A torque about, or a force along, an axis between two frames: a motor, a spring and a damper at a joint.

    On `other`: effort − stiffness (x − rest) − damping ẋ, and the opposite on `frame`; x is the angle of `other` about
    the axis as seen from `frame` [rad, −π to π of `rest`], or the shift along it [m]. effort: a number, or a traced
    function (t, x, ẋ). stall, no_load: the effort is cut to a line from `stall` at rest to nothing at that speed.
    """

    name: str
    frame: str
    other: str
    axis: Vector = (0.0, 0.0, 1.0)
    turning: bool = True
    stiffness: float = 0.0
    rest: float = 0.0
    damping: float = 0.0
    effort: Law = 0.0
    stall: float | None = None
    no_load: float | None = None

    @property
    def loses(self) -> bool:  # type: ignore[override]
        return bool(self.damping != 0.0)

    @property
    def gives(self) -> bool:  # type: ignore[override]
        return callable(self.effort) or bool(self.effort != 0.0)

    def prepared(self, model: Model) -> Model:
        for name in (self.frame, self.other):
            model.frame(name)
        positive(self.label(), stiffness=self.stiffness, damping=self.damping)
        if (self.stall is None) != (self.no_load is None):
            raise DalembertError(f"{self.label()}: give stall and no_load together, or neither")
        if self.stall is not None and self.no_load is not None:
            above_zero(self.label(), stall=self.stall, no_load=self.no_load)
        return model

    def measured(self, s: Situation) -> tuple[Any, Any, Any, Pose]:
        """x, its distance from rest, its rate, and X_KL."""
        axis = np.array(self.axis)
        X, V, _ = relative_motion(s, self.frame, self.other)
        if not self.turning:
            x = axis @ X.p
            return x, x - self.rest, axis @ V[3:], X
        t, u = across(axis)
        sine, cosine = u @ (X.R @ t) - t @ (X.R @ u), t @ (X.R @ t) + u @ (X.R @ u)
        c, d = np.cos(self.rest), np.sin(self.rest)
        stretch = atan2(sine * c - cosine * d, cosine * c + sine * d)
        return stretch + self.rest, stretch, axis @ V[:3], X

    def drive(self, s: Situation, x: Any, rate: Any) -> Any:
        """The effort in a situation."""
        effort = self.effort(s.t, x, rate) if callable(self.effort) else self.effort
        if self.stall is None or self.no_load is None:
            return effort
        share = rate / self.no_load
        most = self.stall * minimum(maximum(1.0 - share, 0.0), 1.0)
        least = self.stall * minimum(maximum(1.0 + share, 0.0), 1.0)
        return minimum(maximum(effort, -least), most)

    def act(self, s: Situation) -> Action:
        x, stretch, rate, X = self.measured(s)
        effort = self.drive(s, x, rate)
        along = (effort - self.stiffness * stretch - self.damping * rate) * np.array(self.axis)
        torque, force = (along, NOTHING) if self.turning else (NOTHING, along)
        wrenches = opposite_wrenches(s, self.frame, self.other, torque, force, X)
        return Action(wrenches=wrenches, lost=self.damping * rate * rate, given=effort * rate)

    def energy(self, s: Situation) -> Any:
        return 0.5 * self.stiffness * self.measured(s)[1] ** 2 if self.stiffness else 0.0


@dataclass(frozen=True)
class Controller(AxisForce):
    """A motor whose effort is kp (target − x) − kd ẋ + ki ∫ (target − x) dt, at most `limit` [N·m or N].

    target: a number, or a traced function of time; an angle is approached the shortest way. The integral waits while
    the effort is at its limit.
    """

    target: Law = 0.0
    kp: float = 0.0
    kd: float = 0.0
    ki: float = 0.0
    limit: float | None = None

    @property
    def gives(self) -> bool:  # type: ignore[override]
        return True

    def prepared(self, model: Model) -> Model:
        positive(self.label(), kp=self.kp, kd=self.kd, ki=self.ki)
        if self.limit is not None:
            above_zero(self.label(), limit=self.limit)
        return super().prepared(model)

    def size(self, model: Model) -> int:
        return 1 if self.ki else 0

    def start(self, model: Model, q: Array, v: Array) -> Array:
        return np.zeros(self.size(model))

    def act(self, s: Situation) -> Action:
        x, _, rate, X = self.measured(s)
        error = (self.target(s.t) if callable(self.target) else self.target) - x
        if self.turning:
            error = atan2(sin(error), cos(error))
        asked = self.kp * error - self.kd * rate + (self.ki * s.z[0] if self.ki else 0.0)
        effort = asked if self.limit is None else minimum(maximum(asked, -self.limit), self.limit)
        along = effort * np.array(self.axis)
        torque, force = (along, NOTHING) if self.turning else (NOTHING, along)
        wrenches = opposite_wrenches(s, self.frame, self.other, torque, force, X)
        free = True if self.limit is None else absolute(asked) <= self.limit
        summed = np.array([where(free, error, 0.0)]) if self.ki else ()
        return Action(wrenches=wrenches, rate=summed, given=effort * rate)

    def energy(self, s: Situation) -> Any:
        return 0.0


@dataclass(frozen=True)
class NamedSpring(PointSpring):
    """A `PointSpring` with a name of its own."""

    name: str = ""

    def label(self) -> str:
        return self.name


@dataclass(frozen=True)
class LineForce(NamedElement):
    """A force along the line between the origins of two frames, which drives them apart: a linear actuator [N].

    effort: a number, or a traced function (t, length, rate).
    """

    name: str
    frame: str
    other: str
    effort: Law = 0.0
    gives = True

    def prepared(self, model: Model) -> Model:
        for name in (self.frame, self.other):
            model.frame(name)
        return model

    def measured(self, s: Situation) -> tuple[Any, Any, Array]:
        """Length, its rate, direction (3,) from `frame` to `other` in the world."""
        length, direction, rate = line_between(s, (self.frame, AT_ORIGIN), (self.other, AT_ORIGIN))
        return length, rate, direction

    def push(self, s: Situation, length: Any, rate: Any) -> Any:
        """The force that drives the ends apart."""
        return self.effort(s.t, length, rate) if callable(self.effort) else self.effort

    def act(self, s: Situation) -> Action:
        length, rate, direction = self.measured(s)
        push = self.push(s, length, rate)
        return Action(wrenches=self.loads(s, push * direction), given=push * rate)

    def loads(self, s: Situation, force: Array) -> dict[int, Array]:
        """Wrenches of a force (3,) in the world on `other`, and of the opposite one on `frame`."""
        ends = [s.model.frame(name) for name in (self.frame, self.other)]
        signed = zip(ends, (-force, force), strict=True)
        return body_loads(s.model, s.q, [Load(frame, NOTHING, f, NOTHING, "world") for frame, f in signed])


@dataclass(frozen=True)
class PointLoad(NamedElement):
    """A force [N] and a moment [N·m] at the origin of a frame, along the axes of the world or of the frame.

    Each three numbers, or a traced function (t, q, v) of three.
    """

    name: str
    frame: str
    force: Any = (0.0, 0.0, 0.0)
    moment: Any = (0.0, 0.0, 0.0)
    axes: str = "world"
    gives = True

    def prepared(self, model: Model) -> Model:
        model.frame(self.frame)
        if self.axes not in ("world", "frame"):
            raise DalembertError(f"{self.label()}: axes is {self.axes!r}, expected 'world' or 'frame'")
        return model

    def act(self, s: Situation) -> Action:
        force, moment = (self._vector(s, key) for key in ("force", "moment"))
        frame = s.model.frame(self.frame)
        if self.axes == "frame":
            R = frame_pose(s.model, s.q, frame).R
            force, moment = R @ force, R @ moment
        V = velocity(s.model, s.q, s.v, frame, NOTHING)
        loads = body_loads(s.model, s.q, [Load(frame, moment, force, NOTHING, "world")])
        return Action(wrenches=loads, given=moment @ V[:3] + force @ V[3:])

    def _vector(self, s: Situation, key: str) -> Array:
        law = getattr(self, key)
        if not callable(law):
            return np.array(law, float)
        vector = np.asarray(law(s.t, s.q, s.v))
        if vector.shape != (3,):
            raise DalembertError(f"{self.label()}: the function {key} gives shape {vector.shape}, expected (3,)")
        return vector
