"""The whole-body program of one state as a quadratic program in the torques of the motors.

    M a + h = Sᵀ τ + Jᵀ f,   J a = −J̇ v    →    a = a₀ + A τ,   f = f₀ + L τ

Accelerations and supporting forces follow from the torques, so that neither the unactuated rows nor the supports remain
as equations, and what a solver sees has one variable for each motor. Where rows of J depend on each other (a straight
leg), the dependent ones are left out. A support that is not active has no force and no rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, check_positive
from dalembert.linear import elimination_order, factor, factor_semidefinite, gram, nonzeros, sparse_product
from dalembert.math import maximum, minimum
from dalembert.math.entries import is_infinite, objects
from dalembert.model import motorized
from dalembert.robot import Robot

from .limits import Limit, LimitRows
from .tasks import Force, Situation, Task, goal_of


class Cone(NamedTuple):
    """Rows A f ≤ 0 of the force f (k,) of a support, and a name for each."""

    A: np.ndarray
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Support:
    """A frame that may rest on a surface: a point, or a rectangle of half lengths `size` (x, y) [m] along its axes.

    friction: coefficient μ; the cone is taken from inside, by a pyramid of `facets` sides. normal (3,): of the surface,
    in the world. most [N]: largest normal force. A rectangle, with its middle at `center` (x, y) [m] in the frame, also
    keeps its centre of pressure within itself.
    """

    frame: str
    friction: float = 0.6
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    size: tuple[float, float] | None = None
    center: tuple[float, float] = (0.0, 0.0)
    facets: int = 4
    most: float = np.inf

    def __post_init__(self) -> None:
        check_positive(f"Support({self.frame}): friction", self.friction)
        if not np.linalg.norm(self.normal) > 0.0:
            raise DalembertError(f"Support({self.frame}): normal is {self.normal!r}, expected a direction")
        if self.facets < 3:
            raise DalembertError(f"Support({self.frame}): facets is {self.facets!r}, expected 3 or more")
        if not self.most > 0.0:
            raise DalembertError(f"Support({self.frame}): most is {self.most!r}, expected a force above 0 [N]")
        if self.size is not None and not (len(self.size) == 2 and min(self.size) > 0.0):
            raise DalembertError(f"Support({self.frame}): size is {self.size!r}, expected two half lengths above 0 [m]")
        if len(self.center) != 2 or (self.size is None and any(self.center)):
            raise DalembertError(
                f"Support({self.frame}): center is {self.center!r}, expected (x, y) [m] of a rectangle"
            )

    @property
    def count(self) -> int:
        """Numbers of its force: 3, or 6 with a size."""
        return 3 if self.size is None else 6

    @property
    def rows(self) -> list[int]:
        """Which of [ω; v] it holds still."""
        return [3, 4, 5] if self.size is None else [0, 1, 2, 3, 4, 5]

    def axes(self) -> np.ndarray:
        """Rows: two directions along the surface, and its normal, in the world (3, 3)."""
        z = np.asarray(self.normal, float) / np.linalg.norm(self.normal)
        x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [0.0, 0.0, 1.0], z)
        x /= np.linalg.norm(x)
        return np.array([x, np.cross(z, x), z])

    def cone(self, R: np.ndarray | None = None) -> Cone:
        """Rows A f ≤ 0 that keep the force within the cone; R (3, 3): the frame's axes, for a rectangle."""
        x, y, z = self.axes()
        inside = self.friction * np.cos(np.pi / self.facets)
        around = [2.0 * np.pi * k / self.facets for k in range(self.facets)]
        force = [np.cos(a) * x + np.sin(a) * y - inside * z for a in around]
        names = [f"friction of {self.frame} (facet {k})" for k in range(self.facets)]
        force.append(-z)
        names.append(f"{self.frame} cannot pull")
        A: Any = np.array(force)
        if self.size is None:
            return Cone(A, tuple(names))
        A = np.concatenate([np.zeros((len(A), 3)), A], axis=1)
        (a, b), (cx, cy) = self.size, self.center
        assert R is not None
        aside = cy * R[:, 0] - cx * R[:, 1]  # of a force, about the normal through the middle
        rows = []
        for sign in (1.0, -1.0):  # centre of pressure: |τ_x| ≤ b f_z, |τ_y| ≤ a f_z, in the frame's axes, at the middle
            rows.append(np.concatenate([sign * R[:, 0], -(b + sign * cy) * z]))
            rows.append(np.concatenate([sign * R[:, 1], -(a - sign * cx) * z]))
            rows.append(np.concatenate([sign * z, sign * aside - 0.5 * self.friction * (a + b) * z]))
            edge = "front" if sign > 0 else "back"
            names += [f"{self.frame} tips (side {edge})", f"{self.frame} tips ({edge})", f"{self.frame} twists"]
        return Cone(np.concatenate([A, np.array(rows, np.result_type(R, float))]), tuple(names))

    def checked(self, robot: Robot) -> None:
        """Raise if the robot has no such frame."""
        robot.frame(self.frame)


class Affine(NamedTuple):
    """x = x₀ + X τ."""

    constant: np.ndarray
    slope: np.ndarray


class Level(NamedTuple):
    """Tasks of one priority: ½ τᵀ H τ + gᵀ τ, and their rows G τ ≈ b for the priorities after it.

    limits: rows low ≤ C τ ≤ high (C, low, high) that count from this level on, missed as little as possible.
    """

    H: np.ndarray
    g: np.ndarray
    G: np.ndarray
    limits: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None


class TorqueProgram(NamedTuple):
    """levels, most important first; rows low ≤ C τ ≤ high with names, hard ones (motors) first; a and forces."""

    levels: tuple[Level, ...]
    C: np.ndarray
    low: np.ndarray
    high: np.ndarray
    names: tuple[str, ...]
    hard: int
    a: Affine
    forces: Affine


class ProgramSettings(NamedTuple):
    """The settings of a program; see `whole_body`."""

    tasks: tuple[Task, ...]
    limits: tuple[Limit, ...]
    supports: tuple[Support, ...]
    torque_weight: float
    force_weight: float
    horizon: float | None
    command: int

    @property
    def orders(self) -> list[int]:
        """Priorities, those that come first first."""
        counted = {task.priority for task in self.tasks}
        counted |= {limit.priority for limit in self.limits if limit.priority is not None}
        return sorted(counted) or [0]


def supported(robot: Robot, supports: Sequence[Support], s: Situation, active: np.ndarray) -> tuple[Affine, Affine]:
    """(a, forces) as functions of the torques."""
    mask = motorized(robot.model)
    q, v, n = s.q, s.v, robot.nv
    J = [robot.jacobian(q, each.frame)[each.rows] for each in supports]
    on = [active[k] for k, each in enumerate(supports) for _ in range(each.count)]
    J_all = np.concatenate(J) if J else np.zeros((0, n))
    drift = [robot.acceleration(q, v, np.zeros(n), each.frame)[each.rows] for each in supports]
    d = np.concatenate(drift) if drift else np.zeros(0)
    M = robot.mass_matrix(q)
    F = factor(M, elimination_order(nonzeros(M)))
    S = np.eye(n)[:, mask]
    motors = F.solve(np.concatenate([S, -robot.bias(q, v)[:, None]], axis=1))  # accelerations without supports
    if not len(J_all):
        return Affine(motors[:, -1], motors[:, :-1]), Affine(np.zeros(0), np.zeros((0, S.shape[1])))
    J_on = np.array([[x * o for x in row] for row, o in zip(J_all, on, strict=True)])
    half = F.forward(J_on.T)
    W = gram(half, F.r) + np.diag([1.0 - o for o in on])
    response = F.backward((half.T * F.r).T)  # M⁻¹ Jᵀ
    wanted = -sparse_product(J_on, motors)
    wanted[:, -1] = wanted[:, -1] - d * np.array(on)
    forces = factor_semidefinite(W).solve(wanted)
    a = motors + response @ forces
    return Affine(a[:, -1], a[:, :-1]), Affine(forces[:, -1], forces[:, :-1])


def assembled(robot: Robot, settings: ProgramSettings, s: Situation, active: np.ndarray) -> TorqueProgram:
    """The program of a state."""
    a, forces = supported(robot, settings.supports, s, active)
    levels = _levels(settings, s, a, forces)
    C, low, high, names, hard = _limits(robot, settings, s, a, forces, active)
    return TorqueProgram(levels, C, low, high, names, hard, a, forces)


def _levels(settings: ProgramSettings, s: Situation, a: Affine, forces: Affine) -> tuple[Level, ...]:
    """Sums of weighted squares, by priority; the last also weighs torques and forces."""
    n = a.slope.shape[1]
    levels = []
    orders = settings.orders
    for order in orders:
        H, g, rows = np.zeros((n, n), object), np.zeros(n, object), []
        for task in (each for each in settings.tasks if each.priority == order):
            G, b = _on_torques(task, settings, s, a, forces)
            weight = np.broadcast_to(np.asarray(task.weight, float), (len(b),))
            H = H + gram(G, weight)
            g = g - G.T @ (weight * b)
            rows.append(G[weight > 0.0])
        if order == orders[-1]:
            H = H + settings.torque_weight * np.eye(n)
            if len(forces.constant):
                weights = np.full(len(forces.constant), settings.force_weight)
                H = H + gram(forces.slope, weights)
                g = g + forces.slope.T @ (weights * forces.constant)
        kept = [_limit_rows(limit, settings, s, a) for limit in settings.limits if limit.priority == order]
        levels.append(Level(H, g, np.concatenate(rows) if rows else np.zeros((0, n)), stacked(kept)))
    return tuple(levels)


def _on_torques(
    task: Task, settings: ProgramSettings, s: Situation, a: Affine, forces: Affine
) -> tuple[np.ndarray, np.ndarray]:
    """(G, b): G τ = b is what a task asks of the torques."""
    if isinstance(task, Force):
        begin = 0
        for support in settings.supports:
            if support.frame == task.frame:
                part = slice(begin, begin + support.count)
                return forces.slope[part], np.asarray(goal_of(task.goal, s)) - forces.constant[part]
            begin += support.count
    wanted = task.rows(s)
    return sparse_product(wanted.A, a.slope), wanted.b - sparse_product(wanted.A, a.constant[:, None])[:, 0]


def _limits(
    robot: Robot, settings: ProgramSettings, s: Situation, a: Affine, forces: Affine, active: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[str, ...], int]:
    """Rows low ≤ C τ ≤ high: motors, cones, and what speeds and places allow of accelerations."""
    model, mask, limits = robot.model, motorized(robot.model), robot.limits
    n = int(mask.sum())
    rows: list[Any] = []
    low: list[Any] = []
    high: list[Any] = []
    names: list[str] = []
    freedoms = np.flatnonzero(mask)
    for k, freedom in enumerate(map(int, freedoms)):
        if np.isfinite(limits.effort[freedom]):
            rows.append(np.eye(n)[k])
            low.append(-float(limits.effort[freedom]))
            high.append(float(limits.effort[freedom]))
            names.append(f"torque of {model.freedom_names[freedom]!r}")
    hard, begin = len(rows), 0
    for number, support in enumerate(settings.supports):
        part = slice(begin, begin + support.count)
        R = robot.pose(s.q, support.frame)[:3, :3] if support.size is not None else None
        cone = support.cone(R)
        cone_rows, offset = sparse_product(cone.A, forces.slope[part]), cone.A @ forces.constant[part]
        for row, constant, name in zip(cone_rows, offset, cone.names, strict=True):
            pulls = name.endswith("cannot pull") and np.isfinite(support.most)
            rows.append(row)
            low.append(-support.most - constant if pulls else -np.inf)
            high.append(1.0 - active[number] - constant)  # what is not active has no force: rows of 0 ≤ 1
            names.append(name)
        begin += support.count
    if settings.horizon is not None:
        for joint, place in _places(robot, freedoms):
            least, most = _accelerations(robot, settings.horizon, s, joint, place)
            if least is not None or most is not None:
                rows.append(a.slope[joint])
                low.append(-np.inf if least is None else least - a.constant[joint])
                high.append(np.inf if most is None else most - a.constant[joint])
                names.append(f"place or speed of {model.freedom_names[joint]!r}")
    for limit in settings.limits:
        if limit.priority is None:
            A, least, most = _limit_rows(limit, settings, s, a)
            rows += list(A)
            low += list(least)
            high += list(most)
            names += [limit.label(k) for k in range(len(A))]
    C = np.array(rows).reshape(-1, n)
    return C, objects(low), objects(high), tuple(names), hard


def _limit_rows(
    limit: Limit, settings: ProgramSettings, s: Situation, a: Affine
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows of a limit on the torques."""
    assert settings.horizon is not None
    rows = limit.rows(s, settings.horizon)
    offset = sparse_product(rows.A, a.constant[:, None])[:, 0]
    low, high = (
        objects([b if is_infinite(b) else b - c for b, c in zip(bounds, offset, strict=True)])
        for bounds in (rows.low, rows.high)
    )
    return sparse_product(rows.A, a.slope), low, high


def stacked(
    limits: Sequence[LimitRows | tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The rows of several limits, or None where there are none."""
    if not limits:
        return None
    C, low, high = zip(*limits, strict=True)
    return np.concatenate(C), np.concatenate(low), np.concatenate(high)


def _places(robot: Robot, freedoms: np.ndarray) -> list[tuple[int, int]]:
    """(freedom, place in q) of the driven joints whose coordinates lie on lines."""
    pairs = []
    for body in robot.model.independent:
        if body.joint.flat:
            for k in range(body.joint.nv):
                if body.v.start + k in freedoms:
                    pairs.append((body.v.start + k, body.q.start + k))
    return pairs


def _accelerations(robot: Robot, horizon: float, s: Situation, freedom: int, place: int) -> tuple[Any, Any]:
    """Bounds of an acceleration that, held over the horizon T, keeps the joint within its speed and its range.

    v + a T ≤ v_max and q + v T + ½ a T² ≤ q_max.
    """
    limits, v, q = robot.limits, s.v[freedom], s.q[place]
    least: Any = None
    most: Any = None
    if np.isfinite(limits.velocity[freedom]):
        most = (limits.velocity[freedom] - v) / horizon
        least = (-limits.velocity[freedom] - v) / horizon
    if np.isfinite(limits.upper[place]):
        stop = 2.0 * (limits.upper[place] - q - v * horizon) / horizon**2
        most = stop if most is None else minimum(most, stop)
    if np.isfinite(limits.lower[place]):
        stop = 2.0 * (limits.lower[place] - q - v * horizon) / horizon**2
        least = stop if least is None else maximum(least, stop)
    return least, most
