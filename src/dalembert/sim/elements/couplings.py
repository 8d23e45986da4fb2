"""Springs, dampers and conditions between points and frames: along lines, along tendons, in joints that give way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.compiler.graph import jacobian
from dalembert.dynamics.algorithms import Load, body_loads, frame_pose, velocity
from dalembert.dynamics.algorithms.actuation import Transmission, transmission
from dalembert.errors import DalembertError
from dalembert.math import maximum, minimum, sqrt, where
from dalembert.model import Actuator, Model
from dalembert.model.closures import Closure
from dalembert.model.mujoco import MujocoTendon
from dalembert.quantities.tangent import differentiated, pushed, spread
from dalembert.spatial import Pose, cross, so3
from dalembert.typing import Array

from ..system.constraints import Constraint, Rows
from .base import Action, Element, Situation, positive

Point = tuple[float, float, float]
AT_ORIGIN: Point = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class PointSpring(Element):
    """A spring and damper between a point of one frame and a point of another, or of the world.

    stiffness [N/m], length: relaxed [m], damping of the rate of its length [N·s/m]; points [m] in the axes of the
    frames; other: a frame, or "world".
    """

    frame: str
    other: str = "world"
    stiffness: float = 0.0
    length: float = 0.0
    damping: float = 0.0
    point: Point = AT_ORIGIN
    other_point: Point = AT_ORIGIN

    @property
    def loses(self) -> bool:  # type: ignore[override]
        return bool(self.damping != 0.0)

    def prepared(self, model: Model) -> Model:
        for name in (self.frame, self.other):
            if name != "world":
                model.frame(name)
        positive(self.label(), stiffness=self.stiffness, length=self.length, damping=self.damping)
        return model

    def _geometry(self, s: Situation) -> tuple[Any, Array, Any]:
        return line_between(s, (self.other, self.other_point), (self.frame, self.point))

    def act(self, s: Situation) -> Action:
        size, direction, rate = self._geometry(s)
        pull = self.stiffness * (size - self.length) + self.damping * rate
        ends = [(self.frame, self.point, -pull), (self.other, self.other_point, pull)]
        loads = [
            Load(s.model.frame(name), np.zeros(3), force * direction, np.array(point), "world")
            for name, point, force in ends
            if name != "world"
        ]
        return Action(wrenches=body_loads(s.model, s.q, loads), lost=self.damping * rate * rate)

    def energy(self, s: Situation) -> Any:
        return 0.5 * self.stiffness * (self._geometry(s)[0] - self.length) ** 2


@dataclass(frozen=True)
class PointDamper(Element):
    """A damper [N·s/m] between two points, against the rate of their distance: `PointSpring` without the spring."""

    loses: ClassVar[bool] = True

    frame: str
    other: str = "world"
    damping: float = 0.0
    point: Point = AT_ORIGIN
    other_point: Point = AT_ORIGIN

    def _spring(self) -> PointSpring:
        return PointSpring(self.frame, self.other, 0.0, 0.0, self.damping, self.point, self.other_point)

    def prepared(self, model: Model) -> Model:
        positive(self.label(), damping=self.damping)
        return self._spring().prepared(model)

    def act(self, s: Situation) -> Action:
        return self._spring().act(s)


def line_between(s: Situation, a: tuple[str, Point], b: tuple[str, Point]) -> tuple[Any, Array, Any]:
    """Length, direction (3,) from a point of frame a to one of b in the world, and rate of the length."""
    (p0, v0), (p, v) = _moving(s, *a), _moving(s, *b)
    d = p - p0
    square = d @ d
    apart = square > 0.0  # of points that coincide the direction is any, and the force of a stretched spring 0
    size = where(apart, sqrt(where(apart, square, 1.0)), 0.0)
    direction = d / where(apart, size, 1.0)
    return size, direction, direction @ (v - v0)


def _moving(s: Situation, name: str, point: Point) -> tuple[Array, Array]:
    """Position and velocity (3,) of a point in the world."""
    if name == "world":
        return np.array(point), np.zeros(3)
    frame, at = s.model.frame(name), np.array(point)
    return frame_pose(s.model, s.q, frame).point(at), velocity(s.model, s.q, s.v, frame, at)[3:]


@dataclass(frozen=True)
class Tendon(Element):
    """A spring that does not act between two lengths, and a damper, along a sum of coordinates or a path of frames.

    rest: (shortest, longest) length [m or rad] without a force; stiffness, damping: per length and per its rate.
    """

    loses: ClassVar[bool] = True

    name: str
    stiffness: float
    damping: float
    rest: tuple[float, float]
    joints: tuple[tuple[str, float], ...] = ()
    path: tuple[str, ...] = ()

    @classmethod
    def of(cls, tendon: MujocoTendon) -> Tendon:
        """The element for a tendon of a file."""
        return cls(tendon.name, tendon.stiffness, tendon.damping, tendon.rest, tendon.joints, tendon.path)

    def label(self) -> str:
        return f"tendon {self.name}"

    def _line(self, s: Situation) -> Transmission:
        return transmission(s.model, Actuator(name=self.name, tendon=self.joints, path=self.path), s.q)

    def _stretch(self, length: Any) -> Any:
        """The stretch beyond its rest length; below 0 it is shorter."""
        short, long = self.rest
        return maximum(length - long, 0.0) + minimum(length - short, 0.0)

    def act(self, s: Situation) -> Action:
        length, moment = self._line(s)
        rate = moment @ s.v
        tau = -(self.stiffness * self._stretch(length) + self.damping * rate) * moment
        at_joints = {body.index: tau[body.v] for body in s.model.independent if body.joint.nv}
        return Action(at_joints, lost=self.damping * rate * rate)

    def energy(self, s: Situation) -> Any:
        stretch = self._stretch(self._line(s).length)
        return 0.5 * self.stiffness * stretch * stretch


def tendons(model: Model) -> tuple[Element, ...]:
    """The tendons of a model that have a spring or a damper."""
    stated = model.mujoco.tendons if model.mujoco else ()
    return tuple(Tendon.of(tendon) for tendon in stated if tendon.pulls)


ORIGIN = np.zeros(3)


def relative_motion(s: Situation, a: str, b: str) -> tuple[Pose, Array, Pose]:
    """X_KL of frame b as seen from frame a, its motion [ω; ṗ] along a's axes, and X_WK."""
    K, L = (frame_pose(s.model, s.q, s.model.frame(name)) for name in (a, b))
    V_K, V_L = (velocity(s.model, s.q, s.v, s.model.frame(name), ORIGIN) for name in (a, b))
    p = K.R.T @ (L.p - K.p)
    w = K.R.T @ V_K[:3]
    turning = K.R.T @ V_L[:3] - w
    moving = K.R.T @ (V_L[3:] - V_K[3:]) - cross(w, p)
    return Pose(K.R.T @ L.R, p), np.concatenate([turning, moving]), K


def opposite_wrenches(s: Situation, a: str, b: str, torque: Array, force: Array, X: Pose) -> dict[int, Array]:
    """Wrenches of a torque and a force on b, at b's origin, along a's axes, and of the opposite ones on a."""
    K, L = s.model.frame(a), s.model.frame(b)
    return body_loads(s.model, s.q, [Load(L, X.R.T @ torque, X.R.T @ force, ORIGIN), Load(K, -torque, -force, X.p)])


@dataclass(frozen=True, eq=False)
class Bushing(Element):
    """A joint held by springs and dampers instead of multipliers: λ = −stiffness φ − damping φ̇ for each row φ.

    closure: the rows, between the frames; stiffness [N/m or N·m/rad] and damping of each row. implicit: "leapfrog"
    takes
    its springs at the end of each step, which no stiffness makes unstable.
    """

    name: str
    frame: str
    other: str
    closure: Closure
    stiffness: tuple[float, ...]
    damping: tuple[float, ...]
    implicit: bool = False
    loses: ClassVar[bool] = True

    def label(self) -> str:
        return self.name

    def prepared(self, model: Model) -> Model:
        for name in (self.frame, self.other):
            model.frame(name)
        return model

    def wrench(self, s: Situation) -> tuple[Array, Pose, Array]:
        """[τ; f] (6,) on `other` at its origin along the axes of `frame`, whose power is λ φ̇; X_KL, and φ̇."""
        X, V, _ = relative_motion(s, self.frame, self.other)
        rate = self.closure.rate(X, V)
        force = -(np.array(self.stiffness) * self.closure.residual(X)) - np.array(self.damping) * rate
        return np.array([force @ self.closure.rate(X, unit) for unit in np.eye(6)]), X, rate

    def act(self, s: Situation) -> Action:
        wrench, X, rate = self.wrench(s)
        loads = opposite_wrenches(s, self.frame, self.other, wrench[:3], wrench[3:], X)
        return Action(wrenches=loads, lost=rate @ (np.array(self.damping) * rate))

    def energy(self, s: Situation) -> Any:
        gap = self.closure.residual(relative_motion(s, self.frame, self.other)[0])
        return 0.5 * (gap @ (np.array(self.stiffness) * gap))


@dataclass(frozen=True)
class IndependentJoints(Element):
    """A promise that no equation of the closed joints follows from others: "leapfrog" then needs no test of pivots."""

    def act(self, s: Situation) -> Action:
        return Action()


@dataclass(frozen=True)
class Holonomic(Element):
    """φ(q) = 0 is kept by multipliers, like a closed loop: function(q) → `count` numbers, traced.

    A rope, a cam, a path that a tool must follow: anything that arithmetic, dalembert.math and methods of robots say.
    """

    name: str
    function: Callable[[Array], Any]
    count: int = 1

    def label(self) -> str:
        return self.name

    def constraints(self, model: Model) -> tuple[Constraint, ...]:
        return (Constraint(self.name, self.count, self._rows),)

    def _rows(self, s: Situation) -> Rows:
        """φ, its rows and their bias, by derivatives on the graph."""
        n, count = s.model.nv, self.count

        def all_of_it(q: Array, v: Array) -> Array:
            residual = np.atleast_1d(np.asarray(self.function(q), object))
            if residual.shape != (count,):
                raise DalembertError(
                    f"Holonomic({self.name}): function returned shape {residual.shape}, expected ({count},): "
                    f"count={count} says so"
                )
            J = spread(s.model, residual, q)
            return np.concatenate([residual, pushed(s.model, J @ v, q, v), J.ravel()])

        parts = differentiated(all_of_it)(s.q, s.v)
        residual, bias, J = parts[:count], parts[count : 2 * count], parts[2 * count :].reshape(count, n)
        return Rows(residual, J, bias, np.zeros(count))


@dataclass(frozen=True)
class Prescribed(Element):
    """A body that moves as a function of time says, whatever acts on it: a moving base, a shaker, a plate that pushes.

    motion: traced, of t [s]. Of a joint with one freedom its coordinate [rad or m]; of a free body the place (3,) of
    its frame in the world [m], then along the world's axes, or place and quaternion w x y z (7,). Multipliers keep it;
    the work that they do is in the ledger, but not beside rigid contact. A run starts on the motion.
    """

    body: str
    motion: Callable[[Any], Any]
    gives: ClassVar[bool] = True

    def label(self) -> str:
        return f"Prescribed({self.body})"

    def prepared(self, model: Model) -> Model:
        joint = model.body(self.body).joint
        if joint.nv not in (1, 6) or joint.mimic is not None:
            raise DalembertError(
                f"{self.label()}: joint {joint.name!r} has {joint.nv} freedoms of its own, expected one, or a free body"
            )
        return model

    def constraints(self, model: Model) -> tuple[Constraint, ...]:
        return (Constraint(self.label(), model.body(self.body).joint.nv, self._rows),)

    def _course(self, t: Array, size: int) -> Array:
        """The coordinates at t (1,) and their first two derivatives (3, size)."""
        m = np.array([t[0].lift(x) for x in np.atleast_1d(np.asarray(self.motion(t[0]), object))], object)
        if size == 7:
            m = m if len(m) != 3 else np.concatenate([m, [t[0].lift(x) for x in (1.0, 0.0, 0.0, 0.0)]])
            m = m if len(m) != 7 else np.concatenate([m[:3], so3.quaternion_normalize(m[3:])])
        if len(m) != size:
            expected = "3 numbers, or 7" if size == 7 else "one number"
            raise DalembertError(f"{self.label()}: motion returned {len(m)} numbers, expected {expected}")
        first = jacobian(m, t)[:, 0]
        return np.stack([m, first, jacobian(first, t)[:, 0]])

    def _rows(self, s: Situation) -> Rows:
        body = s.model.body(self.body)
        q, n = s.q[body.q], body.joint.nv
        parts = differentiated(lambda t, _: self._course(t, len(q)).ravel())(np.array([s.t], object), s.q)
        m, m1, m2 = parts.reshape(3, -1)
        J = np.eye(s.model.nv)[body.v]
        if n == 1:
            return Rows(q - m, J, -m2, m1)
        R, w = so3.from_quaternion(q[3:]), s.v[body.v][:3]
        back = np.array([m[3], -m[4], -m[5], -m[6]])
        spin, spin_rate = (2.0 * so3.quaternion_multiply(back, x[3:])[1:] for x in (m1, m2))
        velocity = R.T @ m1[:3]
        deviation = [so3.quaternion_log(so3.quaternion_multiply(back, q[3:])), R.T @ (q[:3] - m[:3])]
        bias = [spin_rate, R.T @ m2[:3] - cross(w, velocity)]
        return Rows(np.concatenate(deviation), J, -np.concatenate(bias), np.concatenate([spin, velocity]))
