"""Limits of the programs of inverse kinematics and of whole-body control: what must not be passed.

A limit bounds some numbers h of the configuration, low ≤ h ≤ high. Subclass `Limit` and give these with their slopes:
inverse kinematics then bounds displacements, whole-body control accelerations. Limits count before all tasks, or with
a `priority` among them; where not all can be kept, those of one priority are missed as little as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.algorithms import center_of_mass, centroidal_momentum_matrix, total_mass
from dalembert.errors import DalembertError, check_positive
from dalembert.math import maximum
from dalembert.math.entries import is_infinite, objects
from dalembert.quantities.tangent import differentiated, pushed
from dalembert.robot import Robot
from dalembert.spatial.vectors import cross

from .tasks import Situation


class Bounded(NamedTuple):
    """low ≤ h ≤ high: numbers h (k,), their slopes J (k, nv) along velocities, bounds (k,)."""

    h: np.ndarray
    J: np.ndarray
    low: np.ndarray
    high: np.ndarray


class LimitRows(NamedTuple):
    """low ≤ A x ≤ high (k,), of displacements (nv,) or accelerations (nv,); bounds may be infinite."""

    A: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Limit:
    """One limit. gain: the share of what is left to a bound that one step of inverse kinematics may take, 0 … 1.

    priority: from which priority of tasks on it counts; None: before all of them.
    """

    gain: float = 0.85
    priority: int | None = None

    def bounded(self, s: Situation) -> Bounded:
        """Return its numbers and their bounds, traced."""
        raise TypeError(f"{type(self).__name__} must define bounded(situation)")

    def displacement(self, s: Situation, step: float | None) -> LimitRows:
        """Rows of the displacement (nv,) of one step of inverse kinematics, of `step` seconds or None."""
        x = self.bounded(s)
        return LimitRows(x.J, _share(self.gain, x.low, x.h), _share(self.gain, x.high, x.h))

    def rows(self, s: Situation, horizon: float) -> LimitRows:
        """Rows of the acceleration (nv,), which held over the horizon T must keep the bounds: h + ḣ T + ½ ḧ T²."""
        robot, T = s.robot, horizon

        @differentiated
        def ahead(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            x = self.bounded(s._replace(q=q, v=v))
            return np.concatenate([x.h, x.J @ v, pushed(robot.model, x.J @ v, q, v)])

        x = self.bounded(s)
        h, rate, drift = np.split(np.asarray(ahead(s.q, s.v), object), 3)
        kept = [
            objects(
                b if is_infinite(b) else 2.0 * (b - at - u * T) / (T * T) - c
                for b, at, u, c in zip(bounds, h, rate, drift, strict=True)
            )
            for bounds in (x.low, x.high)
        ]
        return LimitRows(x.J, *kept)

    def label(self, k: int) -> str:
        """Return the name of row k in messages."""
        return f"{self.name}, row {k}"

    @property
    def name(self) -> str:
        """Its name in messages."""
        return type(self).__name__

    def checked(self, robot: Robot, where: str, step: float | None) -> None:
        """Raise if it does not fit the robot; where: "inverse_kinematics", of `step` [s] or None, or "whole_body"."""
        if not 0.0 < self.gain <= 1.0:
            raise DalembertError(f"{self.name}: gain is {self.gain!r}, expected above 0, at most 1")


@dataclass(frozen=True, eq=False, kw_only=True)
class CollisionAvoidance(Limit):
    """Links keep a distance of `stand_off` [m] from each other, as `robot.distance` has them.

    pairs: as there, (link, link) tuples or names of links; None: all that may touch. The motion towards each other is
    bounded by `gain` times the distance that is left, so that farther pairs do not slow it down.
    """

    pairs: Any = None
    stand_off: float = 5e-3

    def bounded(self, s: Situation) -> Bounded:
        h = np.asarray(s.robot.distance(s.q, self.pairs))
        J = np.asarray(s.robot.distance_jacobian(s.q, self.pairs))
        return Bounded(h, J, np.full(len(h), float(self.stand_off)), np.full(len(h), np.inf))

    def checked(self, robot: Robot, where: str, step: float | None) -> None:
        super().checked(robot, where, step)
        check_positive(f"{self.name}: stand_off", self.stand_off, "m", zero=True)
        if not robot.collision_pairs(self.pairs):
            raise DalembertError(f"{self.name}: no two links of robot {robot.name!r} may touch: name pairs=[(a, b), …]")


@dataclass(frozen=True, eq=False, kw_only=True)
class Region(Limit):
    """A frame's origin, or the centre of mass (frame=None), stays in a region of the world, or of the frame `root`.

    low, high: (3,) [m] along the axes, infinite where there is no bound. normals (k, 3), offsets (k,): beside it, or
    instead, the half spaces normals · point ≤ offsets, such as the sides of a support polygon.
    """

    frame: str | None = None
    low: Sequence[float] = (-np.inf,) * 3
    high: Sequence[float] = (np.inf,) * 3
    normals: Any = ()
    offsets: Any = ()
    root: str | None = None

    @property
    def name(self) -> str:
        return f"Region({self.frame or 'centre of mass'})"

    def bounded(self, s: Situation) -> Bounded:
        low, high, normals, offsets = self._numbers()
        point, J = self._point(s)
        if self.root is not None:
            X, twist = s.robot.pose(s.q, self.root), s.robot.jacobian(s.q, self.root)
            arm = point - X[:3, 3]
            turned = np.array([cross(w, arm) for w in twist[:3].T]).reshape(-1, 3).T
            point, J = X[:3, :3].T @ arm, X[:3, :3].T @ (J - twist[3:] - turned)
        kept = [k for k in range(3) if np.isfinite(low[k]) or np.isfinite(high[k])]
        h = np.concatenate([point[kept], normals @ point])
        J = np.concatenate([J[kept], normals @ J])
        return Bounded(h, J, np.r_[low[kept], np.full(len(offsets), -np.inf)], np.r_[high[kept], offsets])

    def _point(self, s: Situation) -> tuple[np.ndarray, np.ndarray]:
        if self.frame is not None:
            return s.robot.pose(s.q, self.frame)[:3, 3], s.robot.jacobian(s.q, self.frame)[3:]
        model = s.robot.model
        return center_of_mass(model, s.q), centroidal_momentum_matrix(model, s.q)[3:] / total_mass(model)

    def _numbers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        normals = np.asarray(self.normals, float).reshape(-1, 3)
        return np.array(self.low, float), np.array(self.high, float), normals, np.asarray(self.offsets, float).ravel()

    def checked(self, robot: Robot, where: str, step: float | None) -> None:
        super().checked(robot, where, step)
        for frame in (self.frame, self.root):
            if frame is not None:
                robot.frame(frame)
        low, high, normals, offsets = self._numbers()
        if low.shape != (3,) or high.shape != (3,) or not (low <= high).all():
            raise DalembertError(f"{self.name}: low is {low}, high {high}, expected (3,) each, low ≤ high [m]")
        if len(normals) != len(offsets) or not np.isfinite(normals).all() or not np.isfinite(offsets).all():
            raise DalembertError(f"{self.name}: {len(normals)} normals and {len(offsets)} offsets, expected as many")
        if not len(normals) and not np.isfinite([low, high]).any():
            raise DalembertError(f"{self.name}: nothing is bounded: give low=, high= or normals= and offsets=")


@dataclass(frozen=True, eq=False, kw_only=True)
class JointLimit(Limit):
    """Bounds of some joints beside those of the robot's file: places from lower to upper [rad or m], and speeds.

    joints: names of joints with one freedom; default all of them. lower, upper, speed: a number for all, or one each;
    None: no bound. A speed needs the `step` of inverse kinematics.
    """

    joints: Sequence[str] | str | None = None
    lower: Any = None
    upper: Any = None
    speed: Any = None

    def _chosen(self, robot: Robot) -> list[Any]:
        if self.joints is None:
            return [body for body in robot.model.independent if body.joint.nv == 1]
        names = [self.joints] if isinstance(self.joints, str) else list(self.joints)
        return [robot.model.joint(name) for name in names]

    def _each(self, robot: Robot, value: Any, missing: float) -> np.ndarray:
        return np.broadcast_to(missing if value is None else np.asarray(value, float), (len(self._chosen(robot)),))

    def bounded(self, s: Situation) -> Bounded:
        chosen = self._chosen(s.robot)
        J = np.eye(s.robot.nv)[[body.v.start for body in chosen]]
        low, high = self._each(s.robot, self.lower, -np.inf), self._each(s.robot, self.upper, np.inf)
        return Bounded(np.array([s.q[body.q.start] for body in chosen]), J, low, high)

    def displacement(self, s: Situation, step: float | None) -> LimitRows:
        rows = super().displacement(s, step)
        if self.speed is None or step is None:
            return rows
        most = self._each(s.robot, self.speed, np.inf) * step
        return LimitRows(np.concatenate([rows.A, rows.A]), np.r_[rows.low, -most], np.r_[rows.high, most])

    def rows(self, s: Situation, horizon: float) -> LimitRows:
        rows = super().rows(s, horizon)
        if self.speed is None:
            return rows
        most, v = self._each(s.robot, self.speed, np.inf), rows.A @ s.v
        bounds = [objects((sign * m - u) / horizon for m, u in zip(most, v, strict=True)) for sign in (-1.0, 1.0)]
        return LimitRows(np.concatenate([rows.A, rows.A]), np.r_[rows.low, bounds[0]], np.r_[rows.high, bounds[1]])

    def checked(self, robot: Robot, where: str, step: float | None) -> None:
        super().checked(robot, where, step)
        if self.speed is not None and step is None and where == "inverse_kinematics":
            raise DalembertError(f"{self.name}: speed needs the step=… [s] of inverse kinematics")
        for body in self._chosen(robot):
            if body.joint.nv != 1:
                raise DalembertError(f"{self.name}: joint {body.joint.name!r} has {body.joint.nv} freedoms, expected 1")
        for name, missing in (("lower", -np.inf), ("upper", np.inf), ("speed", np.inf)):
            try:
                self._each(robot, getattr(self, name), missing)
            except ValueError:
                raise DalembertError(
                    f"{self.name}: {name} has shape {np.shape(getattr(self, name))}, expected a number or "
                    f"({len(self._chosen(robot))},)"
                ) from None
        if (self._each(robot, self.lower, -np.inf) > self._each(robot, self.upper, np.inf)).any():
            raise DalembertError(f"{self.name}: a lower bound is above the upper one")
        if (self._each(robot, self.speed, np.inf) < 0.0).any():
            raise DalembertError(f"{self.name}: speed is {self.speed!r}, expected 0 or more")


def check_limits(where: str, robot: Robot, limits: Sequence[Limit], step: float | None) -> None:
    """Raise unless these are limits that fit the robot."""
    for limit in limits:
        if not isinstance(limit, Limit):
            raise DalembertError(f"{where}: limits: expected Limits, got {type(limit).__name__}")
        limit.checked(robot, where, step)


def beyond(limit: Limit, s: Situation) -> Any:
    """By how much the numbers of a limit are beyond its bounds, at most; 0 inside, traced."""
    x = limit.bounded(s)
    worst: Any = 0.0
    for h, low, high in zip(x.h, x.low, x.high, strict=True):
        worst = worst if is_infinite(low) else maximum(worst, low - h)
        worst = worst if is_infinite(high) else maximum(worst, h - high)
    return worst


def _share(gain: float, bounds: np.ndarray, h: np.ndarray) -> np.ndarray:
    """The share of what is left to bounds; infinite ones stay."""
    return objects(b if is_infinite(b) else gain * (b - at) for b, at in zip(bounds, h, strict=True))
