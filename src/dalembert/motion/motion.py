"""A motion in time: configuration, velocity and acceleration as functions of t."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.compiler.execute import is_traced
from dalembert.errors import DalembertError, is_number
from dalembert.logs import Trajectory, write_trajectory
from dalembert.robot import Robot

from .manifold import Displaced, displaced
from .polynomials import Extremes, Polynomials, jumps, times_of

if TYPE_CHECKING:
    from .check import Check, Violation

STEP = 1e-3  # s between samples that are written
REACH = 0.01  # share of a piece over which differences of accelerations are taken
MOST_SAMPLES = 50_000_000


class Motion(ABC):
    """Where a robot is to be at every time, with analytic rates.

    q(t) (…, nq), v(t) (…, nv), a(t) (…, nv) for a time or times t (…) [s] from 0 to `duration`; before and after, the
    ends are held at rest. t may be a traced number, so that laws and costs that follow a motion compile. robot: the one
    that moves; None: any with these coordinates, and no quaternions among them. title: what it is, in words.
    """

    robot: Robot | None
    duration: float
    title: str

    @property
    @abstractmethod
    def nv(self) -> int:
        """Number of freedoms."""

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.nv if self.robot is None else self.robot.nq

    @abstractmethod
    def at(self, t: Any) -> Displaced:
        """q (…, nq), v (…, nv) and a (…, nv) at t (…) [s]."""

    @abstractmethod
    def extremes(self, order: int = 0) -> Extremes:
        """Least and greatest value (nv,) of each coordinate (order 0), rate (1), acceleration (2), jerk (3), and when.

        Exact: found from the roots of the next derivative. NaN for freedoms of joints with a quaternion.
        """

    @abstractmethod
    def slower(self, factor: float) -> Motion:
        """The same path in `factor` times the duration."""

    def q(self, t: Any) -> Any:
        """Configuration (…, nq) at t (…) [s]."""
        return self.at(t).q

    def v(self, t: Any) -> Any:
        """Velocity (…, nv) at t (…) [s]; 0 before and after the motion."""
        return self.at(t).v

    def a(self, t: Any) -> Any:
        """Acceleration (…, nv) at t (…) [s]; 0 before and after the motion."""
        return self.at(t).a

    def instants(self, step: float) -> np.ndarray:
        """Times (n,) from 0 to the duration, at most `step` [s] apart and equally far."""
        if not (is_number(step) and 0.0 < step < np.inf):
            raise DalembertError(f"sample: step is {step!r}, expected a time above 0 [s]")
        count = max(1, int(np.ceil(self.duration / step * (1.0 - 1e-9))))
        if count > MOST_SAMPLES:
            raise DalembertError(f"sample: steps of {step:g} s over {self.duration:g} s are {count:.1e} samples")
        return np.linspace(0.0, self.duration, count + 1)

    def sample(self, step: float = STEP) -> Trajectory:
        """The motion at equal steps of at most `step` [s], the end included: t, q, v, a as arrays."""
        t = self.instants(step)
        return Trajectory(t, *self.at(t), title=self.title)

    def check(self, robot: Robot | None = None, **limits: Any) -> Check:
        """Whether the motion keeps to the limits of the robot at every instant; see `motion.check`."""
        from .check import check

        return check(self, robot, **limits)

    def further_violations(self) -> list[Violation]:
        """Violations of limits of its own, beside those of joints; `check` lists them too."""
        return []

    def plot(self, robot: Robot | None = None) -> Any:
        """A figure of q, v and a over time, with the limits of the robot where it has some."""
        from .plot import plot

        return plot(self, robot)

    def save(self, path: str | os.PathLike[str], robot: Robot | None = None, step: float = STEP) -> None:
        """Write samples: columns t, q.<joint>, v.<joint>, a.<joint>; the ending says how (.csv .npz .parquet .h5)."""
        write_trajectory(path, self.of(robot, "save"), self.sample(step))

    def of(self, robot: Robot | None, where: str) -> Robot:
        """The robot that moves: the motion's own, or one whose coordinates fit."""
        if robot is None and self.robot is None:
            raise DalembertError(f"{where}: which robot moves? pass robot=…")
        mover = self.robot if robot is None else robot
        assert mover is not None
        if (self.nq, self.nv) != (mover.nq, mover.nv):
            quaternions = (
                "" if mover.nq == mover.nv else f"; build it with robot=…, since {mover.name!r} has quaternions"
            )
            raise DalembertError(
                f"{where}: the motion has {self.nq} coordinates and {self.nv} freedoms, robot {mover.name!r} has "
                f"{mover.nq} and {mover.nv}{quaternions}"
            )
        return mover


class PolynomialMotion(Motion):
    """A motion of piecewise polynomials.

    curves: of each freedom (nv). Of a joint without a quaternion they are its coordinates; of others, displacements
    from the configuration of the piece, anchors (K, nq), whose other coordinates are 0.
    """

    def __init__(
        self, curves: Polynomials, robot: Robot | None = None, anchors: np.ndarray | None = None, title: str = "motion"
    ) -> None:
        self.curves, self.robot, self.anchors, self.title = curves, robot, anchors, title
        self.duration = float(curves.times[-1])

    def __repr__(self) -> str:
        pieces = len(self.curves.coefficients)
        return f"<Motion {self.title!r}: {self.duration:.6g} s, {self.nv} freedoms, {pieces} pieces>"

    @property
    def nv(self) -> int:
        return self.curves.count

    def at(self, t: Any) -> Displaced:
        x, rate, bend = (self.curves(t, order) for order in range(3))
        if self.anchors is None:
            return Displaced(x, rate, bend)
        assert self.robot is not None
        if is_traced(t):
            return displaced(self.robot, self._anchor(t), x, rate, bend)
        anchor = self.anchors[self.curves.locate(times_of(t))[0]]
        return displaced(self.robot, anchor, x, rate, bend)

    def _anchor(self, t: Any) -> np.ndarray:
        assert self.anchors is not None
        if isinstance(t, np.ndarray):
            raise DalembertError("motion: a traced time must be one number where joints have quaternions")
        return np.asarray(self.curves.selected(t, self.anchors)[2])

    def q(self, t: Any) -> Any:
        return self.curves(t) if self.anchors is None else self.at(t).q

    def v(self, t: Any) -> Any:
        return self.curves(t, 1) if self.anchors is None else self.at(t).v

    def a(self, t: Any) -> Any:
        return self.curves(t, 2) if self.anchors is None else self.at(t).a

    def jerk(self, t: Any) -> np.ndarray:
        """The rate of the acceleration (…, nv) at t (…) [s]; of joints with quaternions by differences."""
        if self.anchors is None:
            return self.curves(t, 3)
        ends = self.curves.times
        piece, share = self.curves.locate(times_of(t))
        length = np.diff(ends)[piece]
        middle, reach = ends[piece] + np.clip(share, REACH, 1.0 - 2.0 * REACH) * length, REACH * length
        return (self.a(middle + reach) - self.a(middle - reach)) / (2.0 * reach)[..., None]

    def derivative(self, t: Any, order: int) -> Any:
        """A derivative (…, nv) of any order of the coordinates, for motions without quaternions."""
        if self.anchors is not None:
            raise DalembertError("derivative: joints with quaternions have v(t) and a(t) only")
        return self.curves(t, order)

    def extremes(self, order: int = 0) -> Extremes:
        extremes = self.curves.extremes(order)
        if self.anchors is None:
            return extremes
        return Extremes(*(np.where(self.straight, x, np.nan) for x in extremes))

    @property
    def straight(self) -> np.ndarray:
        """(nv,): whether each freedom is the rate of a coordinate."""
        flat = np.ones(self.nv, bool)
        if self.anchors is not None and self.robot is not None:
            for body in self.robot.model.independent:
                flat[body.v] = body.joint.flat
        return flat

    @property
    def corners(self) -> np.ndarray:
        """Between two pieces: whether the velocity jumps (K − 1,)."""
        if self.anchors is None or self.robot is None:
            return self.curves.corners
        x, rate = self.curves.coefficients, self.curves.derivative(1)
        none = np.zeros_like(x[1:, 0])
        before = displaced(self.robot, self.anchors[:-1], x[:-1].sum(axis=1), rate[:-1].sum(axis=1), none).v
        after = displaced(self.robot, self.anchors[1:], x[1:, 0], rate[1:, 0], none).v
        return jumps(before, after)

    def slower(self, factor: float) -> PolynomialMotion:
        if not (is_number(factor) and 0.0 < factor < np.inf):
            raise DalembertError(f"slower: factor is {factor!r}, expected a number above 0")
        stretched = Polynomials(self.curves.times * float(factor), self.curves.coefficients)
        return PolynomialMotion(stretched, self.robot, self.anchors, self.title)


def on_manifold(
    robot: Robot, times: np.ndarray, points: np.ndarray, curves: np.ndarray, charts: np.ndarray, title: str
) -> PolynomialMotion:
    """A motion whose joints with quaternions move by `charts` (K, d, nv) about points (K, nq), the others by `curves`.

    Both are coefficients of pieces between times (K + 1,); those of joints without quaternions are coordinates.
    """
    degree = max(curves.shape[1], charts.shape[1])
    curves, coefficients = (np.pad(x, ((0, 0), (0, degree - x.shape[1]), (0, 0))) for x in (curves, charts))
    anchors = points.copy()
    for body in robot.model.independent:
        if body.joint.flat:
            coefficients[:, :, body.v] = curves[:, :, body.v]
            anchors[:, body.q] = 0.0
    return PolynomialMotion(Polynomials(times, coefficients), robot, None if robot.model.flat else anchors, title)
