"""Behaviour of robots with closed loops near a state: linear models, modes and equilibria of what the loops leave free.

Coordinates: deviations y (nf,) of as many independent freedoms as the loops leave, chosen joints of the robot. Those of
all freedoms follow from them, δq = basis y: basis (nv, nf), the motions that keep the loops closed, is 1 on the
independent freedoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from dalembert.compiler.graph import jacobian
from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError
from dalembert.math.tolerances import RANK
from dalembert.model import Model

from .configurations import integrate
from .kinds import Configuration, External, Tangent
from .loops import freedoms, no_loops
from .quantity import Keywords, quantity
from .structure import Wrench
from .tangent import differentiated, spread
from .wrenches import body_wrenches, numbers, with_numbers

if TYPE_CHECKING:
    from dalembert.robot import Robot

CLOSED = 1e-6  # [m or rad, and per s]: a state that is farther from closed is refused
EXACT, ITERATIONS = 1e-11, 30  # of the Newton steps that close loops
DEPENDENT = 1e-6  # of a basis that has no motion of a joint that was to be independent


class LoopSlopes(NamedTuple):
    """Slopes of the acceleration of `loop_dynamics` in q, v and tau (…, nv, nv), and of the rows of the loops.

    J (…, nc, nv): their rows; turned (…, nc, nv): slope of J v in q at the given v; residual (…, nc): of the loops.
    """

    dq: np.ndarray
    dv: np.ndarray
    dtau: np.ndarray
    J: np.ndarray
    turned: np.ndarray
    residual: np.ndarray


@quantity(
    fields={
        "dq": ("nv", "nv"),
        "dv": ("nv", "nv"),
        "dtau": ("nv", "nv"),
        "J": ("nc", "nv"),
        "turned": ("nc", "nv"),
        "residual": ("nc",),
    },
    refuses=no_loops,
)
def loop_slopes(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    tau: Tangent,
    *,
    external: External = (),
    **keywords: Unpack[Keywords],
) -> LoopSlopes:
    """Derivatives of the acceleration of `loop_dynamics`; along directions that keep the loops closed they are its own.

    dq, dv, dtau (…, nv, nv); J (…, nc, nv), the rows of the loops; turned (…, nc, nv), ∂(J v)/∂q; residual (…, nc).
    """
    model = robot.model

    @differentiated
    def slopes(q: np.ndarray, v: np.ndarray, tau: np.ndarray, *vectors: np.ndarray) -> tuple[np.ndarray, ...]:
        wrenches = body_wrenches(model, q, with_numbers(external, vectors))
        a, _ = algorithms.loop_dynamics(model, q, v, tau, wrenches)
        residual, J, _ = algorithms.constraints(model, q, v)
        in_v = jacobian(a, np.concatenate([v, tau]))
        n = model.nv
        return spread(model, a, q), in_v[:, :n], in_v[:, n:], J, spread(model, J @ v, q), residual

    return LoopSlopes(*slopes(q, v, tau, *numbers(external)))


class Rows(NamedTuple):
    """residual (…, nc) and J (…, nc, nv)."""

    residual: np.ndarray
    J: np.ndarray


@quantity(fields={"residual": ("nc",), "J": ("nc", "nv")}, refuses=no_loops)
def loop_rows(robot: Robot, q: Configuration, **keywords: Unpack[Keywords]) -> Rows:
    """How far the loops are from closed (…, nc) [m or rad], and the rows J (…, nc, nv) of its rate."""
    residual, J, _ = algorithms.constraints(robot.model, q, np.zeros(robot.model.nv))
    return Rows(residual, J)


class Chart(NamedTuple):
    """Independent freedoms (nf,) by number, and the motions (nv, nf) that each of them causes alone."""

    independent: list[int]
    basis: np.ndarray

    def names(self, model: Model) -> tuple[str, ...]:
        """Names of the independent freedoms."""
        return tuple(model.freedom_names[k] for k in self.independent)


def chart(model: Model, J: np.ndarray, joints: str | Sequence[str] | None, where: str) -> Chart:
    """The chart of rows J (nc, nv): of the named joints, or of those that move most when others do."""
    _, sizes, right = np.linalg.svd(J)
    rank = int(np.sum(np.max(sizes, initial=0.0) * RANK < sizes))
    free = right[rank:].T  # (nv, nf), orthonormal
    count = free.shape[1]
    if joints is None:
        chosen: list[int] = []
        left = free.copy()
        for _ in range(count):  # the freedom with the largest part in what is left, as in a pivoted QR
            k = int(np.argmax(np.linalg.norm(left, axis=1) - 1e-9 * np.arange(len(left))))
            direction = left[k] / np.linalg.norm(left[k])
            left = left - np.outer(left @ direction, direction)
            chosen.append(k)
        chosen.sort()
    else:
        chosen = freedoms(model, [joints] if isinstance(joints, str) else list(joints))
        if len(chosen) != count:
            raise DalembertError(
                f"{where}: coordinates are {len(chosen)} freedoms, and robot {model.name!r} has {count} with its loops "
                "closed here: name as many"
            )
        if np.linalg.cond(free[chosen]) > 1.0 / DEPENDENT:
            names = ", ".join(model.freedom_names[k] for k in chosen)
            raise DalembertError(f"{where}: with the loops closed, {names} do not determine the motion: name others")
    return Chart(chosen, free @ np.linalg.inv(free[chosen]) if count else free)


def closed_linearization(
    robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, external: Sequence[Wrench], joints: Any
) -> tuple[np.ndarray, np.ndarray, Chart]:
    """A (2nf, 2nf), B (2nf, nv) of x = [δq; δv] of the independent freedoms, and the chart."""
    model = robot.model
    if q.ndim != 1 or v.ndim != 1 or tau.ndim != 1:
        raise DalembertError(
            f"linearize: q, v and tau have shapes {q.shape}, {v.shape} and {tau.shape}: robots with loops take one "
            "state"
        )
    added = robot._added_forces(q, v)
    s = loop_slopes(robot, q, v, tau if added is None else tau + added.force, external=external)
    if added is not None:
        s = s._replace(dq=s.dq + s.dtau @ added.dq, dv=s.dv + s.dtau @ added.dv)
    check_closed(robot, "linearize", s.residual, s.J @ v)
    return reduced(model, s, v, joints)


def reduced(model: Model, s: LoopSlopes, v: np.ndarray, joints: Any) -> tuple[np.ndarray, np.ndarray, Chart]:
    """A (2nf, 2nf), B (2nf, nv) in the independent freedoms that the rows of s leave, and the chart."""
    places, N = chart(model, s.J, joints, "linearize")
    rest = [k for k in range(model.nv) if k not in places]
    bent = np.zeros((model.nv, len(places)))  # δv that a displacement asks for, so that J v stays 0
    bent[rest] = -np.linalg.pinv(s.J[:, rest], rcond=RANK) @ (s.turned @ N)
    turning = np.zeros((model.nv, model.nv))
    for body in model.bodies:
        turning[body.v, body.v] += body.joint.displacement_rate(v[body.v])
    n = len(places)
    A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, model.nv))
    A[:n, :n], A[:n, n:] = (turning @ N + bent)[places], np.eye(n)
    A[n:, :n], A[n:, n:] = (s.dq @ N + s.dv @ bent)[places], (s.dv @ N)[places]
    B[n:] = s.dtau[places]
    return A, B, Chart(places, N)


def check_closed(robot: Robot, where: str, residual: np.ndarray, opening: np.ndarray) -> None:
    """Refuse a state whose loops are open, or open at a speed."""
    gap, speed = (float(np.max(np.abs(x), initial=0.0)) for x in (residual, opening))
    if not max(gap, speed) <= CLOSED:
        raise DalembertError(
            f"{where}: the loops of robot {robot.name!r} are open by {gap:.3g} (m or rad) and open at {speed:.3g} (per "
            "s): q, v = robot.close_loops(q, v) closes them"
        )


def closed(robot: Robot, q: np.ndarray) -> np.ndarray:
    """q (nq,) moved until its loops are closed, each step the shortest; as far as that leads."""
    for _ in range(ITERATIONS):
        residual, J = loop_rows(robot, q)
        if np.max(np.abs(residual), initial=0.0) <= EXACT:
            break
        q = integrate(robot, q, -np.linalg.pinv(J, rcond=RANK) @ residual)
    return q


def least_force(robot: Robot, q: np.ndarray, force: np.ndarray, joints: str | Sequence[str]) -> np.ndarray:
    """The smallest forces (nv,) of some joints that do, together with those of the loops, what a force (nv,) does."""
    places = freedoms(robot.model, [joints] if isinstance(joints, str) else list(joints))
    columns = np.stack([left_over(robot, q, unit) for unit in np.eye(robot.model.nv)[places]], axis=1)
    whole = np.zeros(robot.model.nv)
    whole[places] = np.linalg.lstsq(columns, left_over(robot, q, force), rcond=RANK)[0]
    return whole


def left_over(robot: Robot, q: np.ndarray, force: np.ndarray) -> np.ndarray:
    """The part (nv,) of a generalised force that no force of the loops can balance, at q (nq,)."""
    J = loop_rows(robot, q).J
    return force - np.linalg.pinv(J, rcond=RANK) @ (J @ force)
