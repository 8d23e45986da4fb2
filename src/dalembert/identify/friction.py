"""Friction of each joint against its speed, from sweeps at constant speed in both directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot

from .fitted import Log

BINS = 24  # speeds at which torques are averaged, each way
STEADY = 0.1  # acceleration [1/s] relative to speed up to which a sample counts as steady
SLOW = 1e-3  # speed [rad/s or m/s] below which a joint is at rest
STRIBECK_SPEEDS = np.geomspace(2e-3, 1.0, 40)
FINER = 1.2  # factor about the best of them that is searched again
CERTAIN = 4.0  # standard deviations by which torques must differ to tell their sign


@dataclass(frozen=True)
class JointFriction:
    """F(v) = sgn(v) (coulomb + (static − coulomb) exp(−(v / stribeck_speed)²)) + viscous v + offset.

    speeds, torques: averages over the log that the curve was fitted to; rms: of the residual.
    """

    joint: str
    coulomb: float
    static: float
    stribeck_speed: float
    viscous: float
    offset: float
    speeds: np.ndarray
    torques: np.ndarray
    rms: float

    def torque(self, v: np.ndarray) -> np.ndarray:
        """Friction torque at speeds v."""
        extra = (self.static - self.coulomb) * np.exp(-((v / self.stribeck_speed) ** 2))
        return np.sign(v) * (self.coulomb + extra) + self.viscous * v + self.offset


@dataclass(frozen=True)
class FrictionSweep:
    """The friction of every joint that was swept; skipped: joints that were not, and why; robot: with that friction."""

    joints: tuple[JointFriction, ...]
    skipped: tuple[str, ...]
    robot: Robot

    def table(self) -> str:
        """One line per joint."""
        width = max([5, *(len(j.joint) for j in self.joints)])
        lines = [f"{'joint':<{width}}   coulomb    static  at speed   viscous    offset  left over"]
        for j in self.joints:
            numbers = (j.coulomb, j.static, j.stribeck_speed, j.viscous, j.offset, j.rms)
            lines.append(f"{j.joint:<{width}}" + "".join(f"{x:10.4g}" for x in numbers))
        return "\n".join([*lines, *(f"left out: {why}" for why in self.skipped)])


def friction_sweep(robot: Robot, log: Log) -> FrictionSweep:
    """Fit Coulomb, Stribeck and viscous friction to a log of slow sweeps, each way at several speeds.

    What the robot's model needs without friction is subtracted first, so its masses should be about right; an error of
    gravity is the same both ways at one place and averages into the offset.
    """
    if log.tau is None:
        raise DalembertError("friction_sweep: the log has no torques")
    bare = robot.without("friction", "damping")
    q, v, a, tau = (np.asarray(x, float) for x in (log.q, log.v, log.a, log.tau))
    left = tau - bare.inverse_dynamics(q, v, a)
    measured, skipped, edited = [], [], robot.edit()
    for body in robot.model.independent:
        if body.joint.nv != 1:
            continue
        k, name = body.v.start, body.joint.name
        curve = _curve(name, v[:, k], a[:, k], left[:, k])
        if isinstance(curve, str):
            skipped.append(f"{name}: {curve}")
            continue
        measured.append(curve)
        rise = {"stribeck": curve.static - curve.coulomb, "stribeck_speed": curve.stribeck_speed}
        edited = edited.set_joint(name, friction=curve.coulomb, damping=curve.viscous, **rise)
    if not measured:
        raise DalembertError(f"friction_sweep: no joint was swept: {'; '.join(skipped)}")
    return FrictionSweep(tuple(measured), tuple(skipped), edited.done())


def _curve(name: str, v: np.ndarray, a: np.ndarray, torque: np.ndarray) -> JointFriction | str:
    """The curve of one joint, or why there is none."""
    steady = (np.abs(v) > SLOW) & (np.abs(a) < STEADY * np.maximum(np.abs(v), SLOW)) & np.isfinite(torque)
    if steady.sum() < 20:
        return "no steady sliding in the log"
    if not ((v[steady] > 0).any() and (v[steady] < 0).any()):
        return "sweeps in one direction only: friction and gravity cannot be told apart"
    speeds, means, weights = _averages(v[steady], torque[steady])
    if np.ptp(np.abs(speeds)) < 0.2 * np.abs(speeds).max():
        return f"only speeds near {np.abs(speeds).mean():.3g}: sweep at several, from slow to fast"
    A = np.column_stack([np.sign(speeds), np.ones_like(speeds)]) * weights[:, None]
    x = np.linalg.lstsq(A, means * weights, rcond=None)[0]
    scatter = np.sum((A @ x - means * weights) ** 2) / max(len(speeds) - 2, 1)
    if x[0] < -CERTAIN * np.sqrt(scatter * np.linalg.inv(A.T @ A)[0, 0]):  # less forwards than backwards
        return "its torque pushes with the motion, where friction resists it: turn its sign round"
    cost, x, speed = min((_fitted(speeds, means, weights, s) for s in STRIBECK_SPEEDS), key=lambda fit: fit[0])
    near = speed * np.geomspace(1.0 / FINER, FINER, len(STRIBECK_SPEEDS))
    cost, x, speed = min((_fitted(speeds, means, weights, s) for s in near), key=lambda fit: fit[0])
    coulomb, extra, viscous, offset = x.tolist()
    rms = float(np.sqrt(cost / np.sum(weights**2)))
    return JointFriction(name, coulomb, coulomb + extra, float(speed), viscous, offset, speeds, means, rms)


def _fitted(
    speeds: np.ndarray, means: np.ndarray, weights: np.ndarray, speed: float
) -> tuple[float, np.ndarray, float]:
    """(cost, x, speed): Coulomb, Stribeck, viscous friction and offset with that Stribeck speed."""
    direction = np.sign(speeds)
    columns = [direction, direction * np.exp(-((speeds / speed) ** 2)), speeds, np.ones_like(speeds)]
    A = np.column_stack(columns)
    x = _bounded(A * weights[:, None], means * weights, (0, 1, 2))
    return float(np.sum((weights * (A @ x - means)) ** 2)), x, speed


def _averages(v: np.ndarray, torque: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean speed and torque in bins of speed, each way, and the root of how many samples each holds.

    The bins are equal in the logarithm of the speed: fast sweeps have few samples, and are not lumped together.
    """
    rows = []
    edges = np.geomspace(np.abs(v).min(), np.abs(v).max(), BINS + 1)
    place = np.clip(np.searchsorted(edges, np.abs(v), side="right") - 1, 0, BINS - 1)
    for side in (-1.0, 1.0):
        for k in range(BINS):
            mine = (side * v > 0.0) & (place == k)
            if mine.any():
                rows.append((v[mine].mean(), torque[mine].mean(), np.sqrt(mine.sum())))
    speeds, torques, weights = np.array(rows).T
    return speeds, torques, weights


def _bounded(A: np.ndarray, b: np.ndarray, positive: tuple[int, ...]) -> np.ndarray:
    """Least squares with some unknowns ≥ 0: the best of all ways to hold some of them at 0 (there are few)."""
    best, solution = np.inf, np.zeros(A.shape[1])
    for mask in range(1 << len(positive)):
        held = [p for k, p in enumerate(positive) if mask >> k & 1]
        free = [k for k in range(A.shape[1]) if k not in held]
        x = np.zeros(A.shape[1])
        x[free] = np.linalg.lstsq(A[:, free], b, rcond=None)[0]
        cost = float(np.sum((A @ x - b) ** 2))
        if all(x[p] >= 0.0 for p in positive) and cost < best:
            best, solution = cost, x
    return solution
