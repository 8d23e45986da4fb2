"""Kinematic analysis: a joint driven through its range on one branch; slopes, curves, angles and shaking forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.closing import closed_near
from dalembert.errors import DalembertError
from dalembert.math.tolerances import CLOSED
from dalembert.model import Model
from dalembert.notebook import figure
from dalembert.robot import Robot
from dalembert.typing import Array

SHORTEST = 1e-6  # share of the distance between two values below which a step is not halved again
SINGULAR = 1e-3  # beside the largest, a singular value this small: branches may meet
FAR = 0.5  # a correction this large beside the step before it means another branch


@dataclass(frozen=True, eq=False)
class Balance:
    """Counterweights that make the shaking force small.

    moments: body → first moment to add (3,) [kg·m], in its frame, about its pivot on the ground; before, after: largest
    shaking force without and with them, at an input speed of 1 rad/s [N].
    """

    moments: dict[str, Array]
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Sweep:
    """Positions of a mechanism while the coordinate of one joint takes the `values` (n,).

    q (n, nq); slopes (n, nv): dq/dx of all coordinates in that of the joint, curvatures (n, nv): d²q/dx². singular:
    values at which branches meet, and only the way that was come tells which one is followed.
    """

    robot: Robot
    joint: str
    values: Array
    q: Array
    slopes: Array
    curvatures: Array
    singular: tuple[float, ...]

    def path(self, point: str) -> Array:
        """Positions (n, 3) of a frame's origin in the world: a coupler curve [m]."""
        return self.robot.pose(self.q, point)[:, :3, 3]

    def velocity(self, point: str, rate: float = 1.0) -> Array:
        """Velocities (n, 3) of a frame's origin while the joint moves at a constant rate [m/s]."""
        return self.robot.velocity(self.q, rate * self.slopes, point)[:, 3:]

    def acceleration(self, point: str, rate: float = 1.0) -> Array:
        """Accelerations (n, 3) of a frame's origin while the joint moves at a constant rate [m/s²]."""
        return self.robot.acceleration(self.q, rate * self.slopes, rate**2 * self.curvatures, point)[:, 3:]

    def angle(self, first: str, corner: str, second: str) -> Array:
        """The angle (n,) at `corner` between the lines to two other points, 0 to π [rad]."""
        a, b = (self.path(end) - self.path(corner) for end in (first, second))
        cosine = np.sum(a * b, axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        return np.arccos(np.clip(cosine, -1.0, 1.0))

    def transmission_angle(self, first: str, corner: str, second: str) -> Array:
        """How well the coupler, from `first` to `corner`, turns the follower, from `corner` to `second` [rad].

        π/2 is best, 0 a dead point; below about 0.7 a linkage runs badly.
        """
        angle = self.angle(first, corner, second)
        return np.minimum(angle, np.pi - angle)

    def dead_points(self, output: str) -> list[float]:
        """Values at which the output joint turns back, so that it could not drive the input, found between steps."""
        place = self.robot.model.joint(output).v.start
        slope, curvature = self.slopes[:, place], self.curvatures[:, place]
        points = []
        for k in np.flatnonzero(slope[:-1] * slope[1:] < 0.0):
            a, b = self.values[k], self.values[k + 1]
            share = slope[k] / (slope[k] - slope[k + 1])
            x = a + share * (b - a)
            for _ in range(3):  # Newton on the cubic through slopes and curvatures at both ends
                s = (x - a) / (b - a)
                value = _hermite(s, slope[k], slope[k + 1], (b - a) * curvature[k], (b - a) * curvature[k + 1])
                x = x - value[0] / value[1] * (b - a)
            points.append(float(x))
        return points

    def shaking(self, rate: float = 1.0) -> Array:
        """[moment about the world's origin; force] (n, 6) of the moving masses on the ground at a constant rate."""
        v, a = rate * self.slopes, rate**2 * self.curvatures
        change = self.robot.centroidal_momentum_rate(self.q, v, a)
        center = self.robot.center_of_mass(self.q)
        force = change[:, 3:]
        moment = change[:, :3] + np.cross(center, force)
        return -np.concatenate([moment, force], axis=1)

    def balance(self, bodies: Sequence[str]) -> Balance:
        """Counterweights on bodies that turn about pivots on the ground, for the least shaking force over the sweep."""
        force = self.shaking()[:, 3:]
        columns = []
        for body in bodies:
            if np.max(np.ptp(self.path(body), axis=0)) > 1e-9:
                raise DalembertError(
                    f"balance: body {body!r} does not turn about a pivot on the ground: name bodies that do"
                )
            for unit in np.eye(3):
                at, end = (
                    self.robot.acceleration(self.q, self.slopes, self.curvatures, body, point=tuple(point))[:, 3:]
                    for point in (np.zeros(3), unit)
                )
                columns.append(-(end - at).ravel())
        A = np.stack(columns, axis=1)
        best = np.linalg.lstsq(A, -force.ravel(), rcond=1e-9)[0]
        left = force + (A @ best).reshape(force.shape)
        sizes = [float(np.max(np.linalg.norm(x, axis=1))) for x in (force, left)]
        return Balance({body: best[3 * k : 3 * k + 3] for k, body in enumerate(bodies)}, *sizes)

    def plot(self, *points: str) -> Any:
        """A matplotlib figure: curves of points in the x-y plane, or all coordinates and their slopes."""
        model = self.robot.model
        if points:
            picture = figure(5.0, 5.0)
            axes = picture.subplots()
            for point in points:
                curve = self.path(point)
                axes.plot(curve[:, 0], curve[:, 1], label=point)
            axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title=f"{self.robot.name}: coupler curves")
            axes.legend()
            return picture
        picture = figure(7.0, 6.0)
        panels = picture.subplots(2, 1, sharex=True)
        for body in model.independent:
            if body.joint.nv == 1:
                panels[0].plot(self.values, self.q[:, body.q][:, 0], label=body.joint.name)
                panels[1].plot(self.values, self.slopes[:, body.v][:, 0], label=body.joint.name)
        panels[0].set(ylabel="coordinate [rad, m]", title=f"{self.robot.name} over {self.joint}")
        panels[1].set(xlabel=f"{self.joint} [rad, m]", ylabel=f"slope in {self.joint}")
        panels[0].legend()
        return picture


def sweep(robot: Robot, joint: str, values: Any, start: Any = None) -> Sweep:
    """Drive a joint of one coordinate through `values` (n,), all loops closed, on the branch of `start` (nq,).

    Each position is found from the one before along its slope, with as small steps as that needs. Where branches meet,
    the motion goes straight on; the values are named in `singular`. A dead point that the joint cannot pass is an
    error.
    """
    model = robot.model
    body = model.joint(joint)
    if body.joint.nv != 1:
        raise DalembertError(f"sweep: joint {joint!r} has {body.joint.nv} freedoms, expected one")
    if not model.closures:
        raise DalembertError(f"sweep: robot {model.name!r} has no loops: set q and use pose, velocity, acceleration")
    grid = np.asarray(values, float)
    if grid.ndim != 1 or len(grid) < 2 or not np.all(np.isfinite(grid)) or not np.all(np.diff(grid)):
        raise DalembertError("sweep: values must be two or more finite numbers, each other than the one before")
    stated = getattr(robot, "start", (algorithms.neutral(model),))[0] if start is None else np.asarray(start, float)
    walk = _Branch(model, body.v.start, body.q.start)
    q = walk.reach(walk.closed_at(stated), grid[0])
    rows: list[tuple[Array, ...]] = []
    singular: list[float] = []
    for value in grid:
        q = walk.reach(q, value)
        slope, curvature, condition = walk.slopes(q)
        if condition < SINGULAR:
            singular.append(float(value))
        rows.append((q, slope, curvature))
    positions, slopes, curvatures = (np.array(column) for column in zip(*rows, strict=True))
    return Sweep(robot, joint, grid, positions, slopes, curvatures, tuple(singular))


class _Branch:
    """Along the closed positions of a model, by the coordinate of one joint."""

    def __init__(self, model: Model, freedom: int, coordinate: int) -> None:
        self.model, self.freedom, self.coordinate = model, freedom, coordinate
        self.others = np.setdiff1d(np.arange(model.nv), [freedom])
        self.direction: Array | None = None  # the last slope, for positions that have none of their own

    def closed_at(self, q: Array) -> Array:
        """q with all loops closed, the joint held."""
        closed = self._corrected(q)
        if closed is None:
            raise DalembertError(f"sweep: no closed position of robot {self.model.name!r} near its start: give start=…")
        return closed

    def reach(self, q: Array, value: float) -> Array:
        """The position with the joint at `value`, in steps that stay on the branch."""
        left = value - q[self.coordinate]
        step, whole = left, abs(left)
        while abs(left) > 0.0:
            step = left if abs(step) > abs(left) else step
            following = self._step(q, step)
            if following is None:
                step *= 0.5
                if abs(step) < SHORTEST * max(whole, 1e-3):
                    name = next(b.joint.name for b in self.model.bodies if b.v.start == self.freedom and b.joint.nv)
                    raise DalembertError(
                        f"sweep: joint {name!r} of robot {self.model.name!r} cannot pass "
                        f"{q[self.coordinate]:.6g} (rad or "
                        "m): it is a dead point there; drive another joint, or sweep up to it"
                    )
                continue
            q, step = following, 2.0 * step
            left = value - q[self.coordinate]
            left = 0.0 if abs(left) < 1e-12 * max(1.0, abs(value)) else left
        return q

    def _step(self, q: Array, step: float) -> Array | None:
        slope, _, _ = self.slopes(q)
        shift = step * slope
        if np.max(np.abs(shift)) > 0.3:  # [rad, m]
            return None
        guess = algorithms.integrate(self.model, q, shift)
        position = self._corrected(guess)
        if position is None:
            return None
        missed = np.linalg.norm(algorithms.difference(self.model, guess, position))
        if missed > FAR * np.linalg.norm(shift):
            return None
        self.direction = slope
        return position

    def _corrected(self, q: Array) -> Array | None:
        reached, gap = closed_near(self.model, q, self.others)
        return reached if gap <= CLOSED else None

    def slopes(self, q: Array) -> tuple[Array, Array, float]:
        """dq/dx and d²q/dx² (nv,), and the least singular value that counts beside the largest one.

        Where branches meet, of all slopes that keep the loops closed the one nearest to the last.
        """
        still = np.zeros(self.model.nv)
        J = algorithms.constraints(self.model, q, still).J
        A, b = J[:, self.others], J[:, self.freedom]
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        counts = s > 1e-7 * s[0]
        inverse = (Vt.T[:, counts] / s[counts]) @ U.T[counts]
        slope = np.zeros(self.model.nv)
        slope[self.freedom] = 1.0
        slope[self.others] = -inverse @ b
        if self.direction is not None and np.sum(counts) < self._rank:
            missing = Vt[~counts] if np.any(~counts) else np.zeros((0, len(self.others)))
            slope[self.others] += missing.T @ (missing @ self.direction[self.others])
        self._rank = max(self._rank, int(np.sum(counts)))
        curvature = np.zeros(self.model.nv)
        curvature[self.others] = -inverse @ algorithms.constraints(self.model, q, slope).bias
        sized = np.sort(s)[::-1][: self._rank]
        return slope, curvature, float(sized[-1] / sized[0])

    _rank = 0


def _hermite(s: float, a: float, b: float, da: float, db: float) -> tuple[float, float]:
    """A cubic with values a, b and slopes da, db at 0 and 1: value and slope at s."""
    c2, c3 = 3.0 * (b - a) - 2.0 * da - db, da + db - 2.0 * (b - a)
    return a + s * (da + s * (c2 + s * c3)), da + s * (2.0 * c2 + 3.0 * s * c3)
