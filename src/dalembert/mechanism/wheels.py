"""Wheels that roll on level ground without slipping, and small deviations from a steady motion on them.

A wheel is a thin disc. The point of it that touches the ground is c = p + r d, with d the direction in the plane of the
disc that leads most steeply down; its material velocity v + ω × r d is zero: along the normal that keeps the height of
c, along the ground it is a condition on the motion that no condition on positions implies (nonholonomic).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.compiler.graph import jacobian
from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError
from dalembert.math import sqrt
from dalembert.math.tolerances import RANK
from dalembert.model import Model
from dalembert.quantities.guards import function_call
from dalembert.quantities.tangent import spread
from dalembert.sim.elements.base import Situation, above_zero
from dalembert.sim.system.constraints import Constraint, Rows
from dalembert.sim.system.system import System
from dalembert.spatial import cross, so3
from dalembert.typing import Array

from .elements import NamedElement, Vector

if TYPE_CHECKING:
    from .robot import MechanismRobot

NOTHING = np.zeros(3)
TOUCHING, SLIPPING = 1e-9, 1e-9  # [m, share of the speeds]: what a wheel may miss at the start
STEADY = 1e-6  # [m/s², rad/s²]: the largest acceleration of a steady motion


@dataclass(frozen=True)
class Wheel(NamedElement):
    """A wheel of `radius` [m] about the origin of a frame, turning about `axis` of it, that rolls on level ground.

    normal: of the ground, in the world; level [m]: how high it is along the normal.
    """

    name: str
    frame: str
    radius: float
    axis: Vector = (0.0, 1.0, 0.0)
    normal: Vector = (0.0, 0.0, 1.0)
    level: float = 0.0

    def prepared(self, model: Model) -> Model:
        model.frame(self.frame)
        above_zero(self.label(), radius=self.radius)
        return model

    def constraints(self, model: Model) -> tuple[Constraint, ...]:
        return (Constraint(self.name, 3, self._rows),)

    def _rows(self, s: Situation) -> Rows:
        """Along two directions of the ground, and its normal."""
        model, frame, n = s.model, s.model.frame(self.frame), np.array(self.normal)
        X, J = algorithms.frame_pose(model, s.q, frame), algorithms.jacobian(model, s.q, frame, NOTHING)
        V = J @ s.v
        A = algorithms.acceleration(model, s.q, s.v, np.zeros(model.nv), frame, NOTHING)
        a, w = X.R @ np.array(self.axis), V[:3]
        u = n - (n @ a) * a  # steepest way up in the plane of the disc
        turning = cross(w, a)
        u_rate = -(n @ turning) * a - (n @ a) * turning
        size = sqrt(u @ u)
        up = u / size
        d, d_rate = -self.radius * up, -self.radius * (u_rate - (up @ u_rate) * up) / size
        point = J[3:] - so3.skew(d) @ J[:3]
        bias = A[3:] + cross(A[:3], d) + cross(w, d_rate)
        t = np.cross(np.eye(3)[np.argmin(np.abs(n))], n)
        t = t / np.linalg.norm(t)
        along = np.stack([t, np.cross(n, t), n])
        height = n @ X.p - self.radius * size - self.level
        return Rows(np.array([0.0 * height, 0.0 * height, height]), along @ point, along @ bias, NOTHING)


def eigenvalues(robot: MechanismRobot, slopes: Any, q: Any, v: Any) -> Array:
    """λ [1/s] of small deviations from a steady motion, largest real part first; see `MechanismRobot.eigenvalues`.

    slopes: of `compiled_slopes`.
    """
    model, q, v = robot.model, np.asarray(q, float), np.asarray(v, float)
    a, a_q, a_v, J, turned, positional, gap = slopes(q, v, backend="interpreter")  # used too rarely to compile it
    if np.max(np.abs(J @ v), initial=0.0) > STEADY or np.max(np.abs(gap), initial=0.0) > STEADY:
        raise DalembertError(
            f"eigenvalues: joints or wheels of mechanism {robot.name!r} are open by {np.max(np.abs(gap)):.3g} m (or "
            f"rad) and slip at {np.max(np.abs(J @ v)):.3g}: begin with robot.start"
        )
    if np.max(np.abs(a), initial=0.0) > STEADY * max(1.0, float(np.max(np.abs(v), initial=0.0)) ** 2):
        worst = robot.model.freedom_names[int(np.argmax(np.abs(a)))]
        raise DalembertError(
            f"eigenvalues: the motion of mechanism {robot.name!r} is not steady: {worst!r} accelerates by "
            f"{np.max(np.abs(a)):.3g} (m/s² or rad/s²): give a motion that goes on as it is"
        )
    held = positional.astype(bool)
    N_q, N_v = _null_space(J[held], model.nv), _null_space(J, model.nv)
    turning = np.zeros((model.nv, model.nv))
    for body in model.bodies:
        turning[body.v, body.v] += body.joint.displacement_rate(v[body.v])
    bent = -np.linalg.pinv(J, rcond=RANK) @ turned @ N_q  # δv that a displacement asks for, so that J v stays 0
    q_rate = [turning @ N_q + bent, N_v]
    v_rate = [a_q @ N_q + a_v @ bent, a_v @ N_v]
    rows_q = [N_q.T @ x for x in q_rate]
    rows_v = [N_v.T @ (x - bent @ y) for x, y in zip(v_rate, rows_q, strict=True)]
    exponents = np.linalg.eigvals(np.block([rows_q, rows_v]))
    return exponents[np.lexsort((-exponents.imag, -np.round(exponents.real, 9)))]


def compiled_slopes(robot: MechanismRobot) -> Any:
    """(q, v) → a, its slopes in q and v, the rows J of all that holds, the slope of J v in q, which of the rows hold
    positions, and how far they are open."""
    from .forces import moving_states_refused

    model = robot.model
    system = System(model, robot.elements, ledger=False)
    z = np.concatenate([np.zeros(0), *(x.start(model, *robot.start) for x in system.elements)])
    count = system.permanent_count

    def compute(q: Array, v: Array) -> dict[str, Any]:
        e = system.layout.packed(v, z, np.zeros(system.layout.nm), np.zeros(0))
        acting = system.applied(0.0, q, e, np.zeros(0))
        moving_states_refused("eigenvalues", robot, system.elements, acting.actions)
        a, _ = system.accelerations(q, e, acting)
        rows = system.constraint_rows(0.0, q, v, z).first(count)
        fixed = [hasattr(x, "op") and x.op != "const" for x in rows.coordinate]
        return {
            "a": a, "a_q": spread(model, a, q), "a_v": jacobian(a, v), "J": rows.J,
            "turned": spread(model, rows.J @ v, q), "positional": np.array(fixed, float), "gap": rows.coordinate,
        }  # fmt: skip

    return function_call(model, "eigenvalues", {"q": model.nq, "v": model.nv}, compute)


def check_rolling(model: Model, wheels: Iterable[Wheel], q: Array, v: Array, what: str) -> None:
    """Refuse a start in which wheels do not touch the ground, or slip."""
    for wheel in wheels:
        rows = wheel._rows(Situation(wheel.prepared(model), 0.0, q, v, np.zeros(0), np.zeros(model.nv)))
        gap, slip = float(abs(rows.coordinate[2])), float(np.max(np.abs(rows.J @ v)))
        if gap > TOUCHING:
            raise DalembertError(
                f"{what}: wheel {wheel.name!r} is {rows.coordinate[2]:.3g} m above the ground: place its body with "
                "xyz=…, or give the level of the ground"
            )
        if slip > SLIPPING * max(1.0, float(np.max(np.abs(v)))):
            raise DalembertError(
                f"{what}: wheel {wheel.name!r} slips at {slip:.3g} m/s: give speeds of rolling, rate = speed / radius "
                "of its hub, and velocity=… of the body that carries it"
            )


def _null_space(J: Array, n: int) -> Array:
    """Orthonormal columns (n, m) with J x = 0."""
    if not len(J):
        return np.eye(n)
    _, sizes, right = np.linalg.svd(J)
    return right[int(np.sum(sizes > RANK * np.max(sizes, initial=0.0))) :].T
