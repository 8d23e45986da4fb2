"""The largest torque or force that each motor needs to hold the robot still, over all configurations.

Open trees: coordinate ascent from many starts. Along one revolute coordinate the load is C + A cos θ + B sin θ, so that
three evaluations give its exact maximum within the joint's limits; other coordinates are searched on two nested grids.
Robots with loops: configurations with all loops closed, refined by steps along the closed manifold.
`headroom_table` sets the loads beside the limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from dalembert.compiler.execute import one_line
from dalembert.model import Body, Model, chain, motors_of
from dalembert.robot import Robot

from .closed import WHICH, ClosedManifold, motors

STARTS = 96
SWEEPS = 40
HOPS = 3  # rounds of noise on the best configurations, each followed by another ascent
SETTLED = 1e-10  # relative gain of a sweep that ends the ascent
GRID = 33
KEPT = 32  # closed configurations that are refined
TRIED = 12  # configurations at which the law along an axis is tried
EXACT = 1e-9
THIRD = 2.0 * np.pi / 3.0


class Peak(NamedTuple):
    """The largest |load| of one freedom [N·m or N], and the configuration (nq,) where it occurs."""

    load: float
    q: np.ndarray


Law = Literal["turn", "slide", "other"]  # how loads vary along an axis: C + A cos θ + B sin θ, C + A x, or anyhow


class Axis(NamedTuple):
    """A freedom along which the ascent moves; `coordinate` is its place in q, None for one of a rotation."""

    freedom: int
    coordinate: int | None
    lower: float
    upper: float
    law: Law = "other"


def worst_loads(robot: Robot, bodies: Sequence[Body]) -> list[Peak]:
    """For the joint of one freedom that moves each of the bodies, the peak load that holds the open tree still."""
    rng = np.random.default_rng(11)
    ascent = _Ascent(robot, bodies, robot.random(rng, STARTS * len(bodies)))
    for hop in range(HOPS + 1):
        if hop:
            ascent.scatter(0.3 / hop, rng)
        ascent.run()
    size = np.abs(ascent.load).reshape(len(bodies), STARTS)
    best = np.argmax(size, axis=1)
    rows = ascent.q.reshape(len(bodies), STARTS, -1)
    return [Peak(float(size[k, best[k]]), rows[k, best[k]]) for k in range(len(bodies))]


class _Ascent:
    """Rows of configurations, STARTS for each body's joint, climbing towards the largest |load| of that joint."""

    def __init__(self, robot: Robot, bodies: Sequence[Body], q: np.ndarray) -> None:
        self.robot, self.count, self.q = robot, len(bodies), q
        self.target = np.repeat([body.v.start for body in bodies], STARTS)
        self.axes = [(axis, np.repeat([_related(robot.model, axis, body) for body in bodies], STARTS))
                     for axis in _axes(robot)]  # fmt: skip
        self.load = self._loads(q, np.arange(len(q)))

    def run(self) -> None:
        """Every row moved uphill along one axis after the other until a sweep brings no gain."""
        climbing = np.ones(len(self.q), bool)
        for _ in range(SWEEPS):
            before = np.abs(self.load)
            for axis, related in self.axes:
                rows = np.flatnonzero(related & climbing)
                if len(rows):
                    (self._turn if axis.law == "turn" else self._search)(axis, rows)
            climbing &= np.abs(self.load) - before > SETTLED * np.abs(self.load)
            if not np.any(climbing):
                break

    def scatter(self, width: float, rng: np.random.Generator) -> None:
        """Each joint's best configurations, first unchanged, then with noise on every freedom."""
        rows, size = self.q.reshape(self.count, STARTS, -1), np.abs(self.load).reshape(self.count, STARTS)
        kept = np.take_along_axis(rows, np.argsort(-size, axis=1)[:, : STARTS // 8, None], axis=1)
        tiled = np.concatenate([kept] * 8, axis=1).reshape(len(self.q), -1)
        noise = rng.normal(size=(self.count, STARTS, self.robot.nv)) * width
        noise[:, : STARTS // 8] = 0.0
        self.q = _within(self.robot.model, self.robot.integrate(tiled, noise.reshape(len(self.q), -1)))
        self.load = self._loads(self.q, np.arange(len(self.q)))

    def _loads(self, q: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The load of each row's joint at other configurations q."""
        return self.robot.gravity(q)[np.arange(len(rows)), self.target[rows]]

    def _turn(self, axis: Axis, rows: np.ndarray) -> None:
        """Each row at the exact maximum of |C + A cos θ + B sin θ| within the limits."""
        q = self.q[rows]
        ends = [self._loads(_moved(self.robot, axis, q, np.full(len(rows), angle)), rows) for angle in (THIRD, -THIRD)]
        C, A, B = _harmonic([self.load[rows], *ends])
        lower, upper = _room(axis, q)
        steps = [np.zeros(len(rows)), lower, upper]
        for extremum in (np.arctan2(B, A), np.arctan2(-B, -A)):
            wrapped = extremum + 2.0 * np.pi * np.ceil((lower - extremum) / (2.0 * np.pi))
            steps.append(np.where(wrapped <= upper, wrapped, 0.0))
        theta = np.stack(steps)
        load = C + A * np.cos(theta) + B * np.sin(theta)
        best = np.argmax(np.abs(load), axis=0)[None]
        self.q[rows] = _moved(self.robot, axis, q, np.take_along_axis(theta, best, axis=0)[0])
        self.load[rows] = np.take_along_axis(load, best, axis=0)[0]

    def _search(self, axis: Axis, rows: np.ndarray) -> None:
        """Each row at the best of a grid over the limits, then of a grid between its neighbours; a slide at an end."""
        q, load = self.q[rows], self.load[rows]
        lower, upper = _room(axis, q)
        best = np.zeros(len(rows))
        for points in (2,) if axis.law == "slide" else (GRID, GRID):
            width = (upper - lower) / (points - 1)
            for k in range(points):
                step = lower + k * width
                tried = self._loads(_moved(self.robot, axis, q, step), rows)
                better = np.abs(tried) > np.abs(load)
                best, load = np.where(better, step, best), np.where(better, tried, load)
            lower, upper = np.maximum(best - width, lower), np.minimum(best + width, upper)
        self.q[rows], self.load[rows] = _moved(self.robot, axis, q, best), load


def _related(model: Model, axis: Axis, body: Body) -> bool:
    """Whether the load of a body's joint can depend on an axis: one on the way to it, or beyond it."""
    way = {b.index for b in chain(model, body.index)}
    movers = [b.index for b in model.bodies if b.v.start <= axis.freedom < b.v.stop]  # with those that follow it
    return any(k in way or body.index in {b.index for b in chain(model, k)} for k in movers)


def _axes(robot: Robot) -> list[Axis]:
    axes = []
    for body in robot.model.independent:
        bounded = {line.v: line.q for line in body.joint.lines}
        lower, upper = limits(robot.model, body)
        for k in range(body.joint.nv):
            if k in bounded:
                q = bounded[k]
                axes.append(Axis(body.v.start + k, body.q.start + q, float(lower[q]), float(upper[q])))
            else:
                reach = np.pi if body.joint.units[k] == "rad" else 1.0
                axes.append(Axis(body.v.start + k, None, -reach, reach))
    return [axis._replace(law=_law(robot, axis)) for axis in axes]


def _law(robot: Robot, axis: Axis) -> Law:
    """How the loads vary along an axis, tried at random configurations."""
    q = robot.random(np.random.default_rng(3), TRIED)

    def at(step: float) -> np.ndarray:
        return robot.gravity(_moved(robot, axis, q, np.full(TRIED, step)))

    f = [at(angle) for angle in (0.0, THIRD, -THIRD)]
    C, A, B = _harmonic(f)
    small = EXACT * max(np.max(np.abs(f)), 1e-300)
    if all(np.max(np.abs(C + A * np.cos(x) + B * np.sin(x) - at(x))) <= small for x in (0.7, 2.5)):
        return "turn"
    slope = at(1.0) - f[0]
    if all(np.max(np.abs(f[0] + x * slope - at(x))) <= small for x in (0.35, -1.6)):
        return "slide"
    return "other"


def _harmonic(f: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """C, A, B of C + A cos θ + B sin θ from its values at 0, 2π/3 and −2π/3."""
    return (f[0] + f[1] + f[2]) / 3.0, (2.0 * f[0] - f[1] - f[2]) / 3.0, (f[1] - f[2]) / np.sqrt(3.0)


def limits(model: Model, body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits (nq,) of a joint and its followers; beside a missing limit, over the usual reach."""
    alike = [body.joint, *(b.joint for b in model.bodies if b.joint.mimic is not None and b.q == body.q)]
    lower = np.max([joint.lower for joint in alike], axis=0)
    upper = np.min([joint.upper for joint in alike], axis=0)
    reach = np.array(body.joint.reach)
    low, high = np.isfinite(lower), np.isfinite(upper)
    return (
        np.where(low, lower, np.where(high, upper - 2.0 * reach, -reach)),
        np.where(high, upper, np.where(low, lower + 2.0 * reach, reach)),
    )


def _moved(robot: Robot, axis: Axis, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Rows of q moved by `step` (rows,) along an axis."""
    if axis.coordinate is not None:
        moved = q.copy()
        moved[:, axis.coordinate] += step
        return moved
    v = np.zeros((len(q), robot.nv))
    v[:, axis.freedom] = step
    return robot.integrate(q, v)


def _room(axis: Axis, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far each row may move down and up along an axis."""
    if axis.coordinate is None:
        return np.full(len(q), axis.lower), np.full(len(q), axis.upper)
    return axis.lower - q[:, axis.coordinate], axis.upper - q[:, axis.coordinate]


def _within(model: Model, q: np.ndarray) -> np.ndarray:
    for body in model.independent:
        lower, upper = limits(model, body)
        for line in body.joint.lines:
            place = body.q.start + line.q
            q[:, place] = np.clip(q[:, place], lower[line.q], upper[line.q])
    return q


def worst_closed_loads(manifold: ClosedManifold) -> list[Peak]:
    """For each motor, the peak load that holds the robot still with its loops closed."""
    rng = np.random.default_rng(11)
    q = manifold.sample(rng)
    if not len(q):
        return []
    size = np.abs(manifold.holding(q))
    peaks = []
    for k in range(size.shape[1]):
        best = np.argsort(-size[:, k])[:KEPT]
        rows, reached, width = q[best], size[best, k], 0.3
        while width > 1e-7:
            noise = rng.normal(size=(len(rows), manifold.nv)) * width
            moved, closed = manifold.step(rows, manifold.tangent(rows, noise))
            tried = np.where(closed, np.abs(manifold.holding(moved)[:, k]), 0.0)
            better = tried > reached
            rows, reached = np.where(better[:, None], moved, rows), np.where(better, tried, reached)
            width *= 1.0 if np.mean(better) > 0.2 else 0.75
        peaks.append(Peak(float(np.max(reached)), rows[np.argmax(reached)]))
    return peaks


ROUNDING = 1e-12  # of the weight at a lever of 1 m: a smaller load is none
PASSIVE_EFFECTS = ("friction", "damping", "armature")  # effects that do not matter at rest


class Headroom(NamedTuple):
    """The largest holding torque of a joint over all configurations, beside its limit [N·m or N]."""

    joint: str
    gravity: float  # with the pull of springs
    limit: float  # infinite where none is stated
    q: np.ndarray  # the configuration

    @property
    def ratio(self) -> float:
        """limit / gravity; infinite for a joint gravity does not load."""
        return self.limit / self.gravity if self.gravity > 0.0 else np.inf

    def __repr__(self) -> str:
        return one_line(self)


class HeadroomTable(NamedTuple):
    """A row for each motor; or none, and why."""

    rows: tuple[Headroom, ...]
    because: str = ""


def headroom_table(robot: Robot) -> HeadroomTable:
    """The worst case of every motor over all configurations: of the tree, or with all loops closed."""
    model = robot.model
    driven = motors(model)
    if not robot.nv:
        return HeadroomTable((), "no joint moves")
    if model.floating:
        return HeadroomTable((), "the base is free: holding torques depend on where it stands")
    if not driven:
        return HeadroomTable((), f"no joint has a motor: {motors_of(model).because}")
    still = robot.without(*PASSIVE_EFFECTS)
    if not model.closures:
        peaks = worst_loads(still, driven)
    elif not motors_of(model).passive and all(np.isinf(body.joint.effort_limit).all() for body in driven):
        return HeadroomTable((), f"of a robot with loops it must be stated {WHICH}")
    else:
        peaks = worst_closed_loads(ClosedManifold(still, driven))
    if not peaks:
        return HeadroomTable((), "no configuration was found in which all loops are closed")
    weight = sum(body.inertia.mass for body in model.bodies) * float(np.linalg.norm(model.gravity))
    least = ROUNDING * weight
    if not all(np.isfinite(peak.load) for peak in peaks):
        return HeadroomTable((), "the motors cannot hold the robot in every configuration, however strong they are")
    return HeadroomTable(
        tuple(
            Headroom(
                body.joint.name, peak.load if peak.load > least else 0.0, float(body.joint.effort_limit[0]), peak.q
            )
            for body, peak in zip(driven, peaks, strict=True)
        )
    )
