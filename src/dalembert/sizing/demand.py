"""The requirements of motions and gravity on each motor, at the joint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dalembert.audit.closed import ClosedManifold, motors
from dalembert.audit.subject import Subject
from dalembert.errors import DalembertError
from dalembert.model import Body
from dalembert.robot import Robot

from .motion import Efforts

OPEN = 1e-6  # m or rad by which a pose may miss closed loops
BANDWIDTH = 5.0  # resonance by the bandwidth of a controller that does not excite it


class Course(NamedTuple):
    """One joint along one motion: t (n,) [s], speed, acceleration, effort with and without the holding part."""

    t: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    holding: np.ndarray


class Demand(NamedTuple):
    """The requirements on one joint, over all motions: N·m, rad/s, rad/s², W, J (N, m/s, m/s² for slides).

    gravity: what holds the robot at its worst, over all configurations where that is known, else of the motions;
    dynamic: the most that a motion adds to it; needed: margin · (gravity + dynamic). peak, rms: of the motions' effort.
    power: mechanical peak; energy: put in, and regenerated: taken back, over all motions. limit (of the peak),
    speed_limit and continuous_limit: stated (infinite where not). inertia: least and largest that the motor feels,
    rotor included. acceleration: what the limit leaves for, in the worst pose. resonance [Hz] of a stiff joint, and the
    bandwidth a controller may have.
    """

    joint: str
    unit: str
    gravity: float
    dynamic: float
    needed: float
    peak: float
    rms: float
    speed: float
    power: float
    energy: float
    regenerated: float
    limit: float
    speed_limit: float
    inertia: tuple[float, float]
    rotor: float
    acceleration: float
    resonance: float | None = None
    bandwidth: float | None = None
    continuous_limit: float = np.inf
    margin: float = 1.0

    @property
    def continuous(self) -> float:
        """Effort that the motor must stand for ever: margin · (RMS of the motions, or the worst gravity held)."""
        return self.margin * max(self.rms, self.gravity)

    @property
    def available(self) -> float:
        """The margin that there is: the limit by gravity and motion together."""
        asked = self.gravity + self.dynamic
        return self.limit / asked if asked > 0.0 else np.inf

    @property
    def decides(self) -> str:
        """Which of "gravity", "motion", "margin", "speed" and "heat" the limits do not cover, first of all; "" if none.

        "not known": no effort limit is stated.
        """
        beyond = {
            "gravity": self.gravity > self.limit,
            "motion": self.gravity + self.dynamic > self.limit,
            "margin": self.needed > self.limit,
            "speed": self.speed > self.speed_limit,
            "heat": self.continuous > self.continuous_limit,
            "not known": np.isinf(self.limit),
        }
        return next((what for what, decides in beyond.items() if decides), "")

    @property
    def enough(self) -> bool | None:
        """Whether the stated limits cover the requirements; None: not known, as no effort limit is stated."""
        return None if self.decides == "not known" else not self.decides

    @property
    def verdict(self) -> str:
        """Why the limits are not enough, in words; "" if they are."""
        words = {
            "gravity": "too weak: gravity alone is beyond the limit",
            "motion": "too weak: gravity is within the limit, the motion on top of it is not",
            "margin": f"margin: {self.available:.3g} of gravity and motion together, less than asked",
            "speed": f"too slow: the motion needs {self.speed:.4g}, the limit is {self.speed_limit:.4g}",
            "heat": f"too hot: the continuous limit is {self.continuous_limit:.4g}, RMS or gravity held, times the "
            f"margin, {self.continuous:.4g}",
            "not known": "not known: no effort limit is stated",
        }
        return words.get(self.decides, "")


def courses(body: Body, runs: Sequence[Efforts]) -> list[Course]:
    """The motion of a body's joint in each of the runs."""
    k = body.v.start
    return [
        Course(run.motion.t, run.motion.v[:, k], run.motion.a[:, k], run.tau[:, k], run.holding[:, k]) for run in runs
    ]


def demands(
    subject: Subject, runs: Sequence[Efforts], margin: float, stiffness: float | None
) -> tuple[dict[str, Demand], dict[str, list[Course]]]:
    """A demand for every motor, and its courses."""
    driven = motors(subject.model)
    if not driven:
        raise DalembertError(f"sizing: robot {subject.model.name!r} has no joint of one freedom with a motor")
    worst = {row.joint: row.gravity for row in subject.motors.rows}
    felt, held = _over_configurations(subject, driven, runs)
    table, along = {}, {}
    for m, body in enumerate(driven):
        lines = courses(body, runs)
        along[body.joint.name] = lines
        gravity = worst.get(body.joint.name, max(float(np.max(np.abs(line.holding))) for line in lines))
        dynamic = max(float(np.max(np.abs(line.tau - line.holding))) for line in lines)
        limit = float(body.joint.effort_limit[0])
        room = np.full(len(felt), np.inf)  # also of a joint that moves no mass
        if np.isfinite(limit):
            np.divide(limit - np.abs(held[:, m]), felt[:, m], out=room, where=felt[:, m] > 0.0)
        resonance = None  # of the link against a stiff joint, its motor held
        if stiffness is not None:
            beyond = max(float(np.max(felt[:, m])) - float(body.joint.armature[0]), 1e-12)
            resonance = float(np.sqrt(stiffness / beyond) / (2.0 * np.pi))
        table[body.joint.name] = Demand(
            joint=body.joint.name,
            unit="N·m" if body.joint.units[0] == "rad" else "N",
            gravity=gravity,
            dynamic=dynamic,
            needed=margin * (gravity + dynamic),
            peak=max(float(np.max(np.abs(line.tau))) for line in lines),
            rms=rms([(line.t, line.tau) for line in lines]),
            speed=max(float(np.max(np.abs(line.v))) for line in lines),
            power=max(float(np.max(np.abs(line.tau * line.v))) for line in lines),
            energy=sum(_integral(line.t, np.maximum(line.tau * line.v, 0.0)) for line in lines),
            regenerated=sum(_integral(line.t, np.maximum(-line.tau * line.v, 0.0)) for line in lines),
            limit=limit,
            speed_limit=float(body.joint.velocity_limit[0]),
            inertia=(float(np.min(felt[:, m])), float(np.max(felt[:, m]))),
            rotor=float(body.joint.armature[0]),
            acceleration=float(np.min(room)),
            resonance=resonance,
            bandwidth=None if resonance is None else resonance / BANDWIDTH,
            continuous_limit=float(body.joint.continuous_limit[0]),
            margin=margin,
        )
    return table, along


def rms(courses: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """The root mean square over time of (t, x) pairs, one after the other; samples need not be evenly spaced."""
    duration = sum(float(t[-1] - t[0]) for t, _ in courses)
    return float(np.sqrt(sum(_integral(t, x * x) for t, x in courses) / duration))


def _integral(t: np.ndarray, x: np.ndarray) -> float:
    return float(np.sum(0.5 * (x[1:] + x[:-1]) * np.diff(t)))


def _over_configurations(
    subject: Subject, driven: Sequence[Body], runs: Sequence[Efforts]
) -> tuple[np.ndarray, np.ndarray]:
    """(n, motors): the inertia that each motor feels, and its holding load, over configurations.

    Random ones, and the worst of each motor.
    """
    robot, rows = subject.loaded, [body.v.start for body in driven]
    worst = np.array([row.q for row in subject.motors.rows]).reshape(-1, robot.nq)
    if robot.model.closures:
        manifold = ClosedManifold(robot, driven)
        q = np.concatenate([manifold.sample(np.random.default_rng(11)), worst])
        return manifold.felt_inertia(q), manifold.holding(q)
    if robot.model.floating:
        q = np.concatenate([run.motion.q for run in runs])
        held = np.concatenate([run.holding for run in runs])[:, rows]
    else:
        q = np.concatenate([subject.q, worst])
        held = robot.gravity(q)[:, rows]
    return np.diagonal(robot.mass_matrix(q), axis1=1, axis2=2)[:, rows], held


class PoseHeadroom(NamedTuple):
    """In one pose: the motor's limit less its holding load [N·m or N], and the acceleration that this can cause.

    The acceleration is one of this joint alone, in either direction, the others held.
    """

    headroom: float
    acceleration: float


def pose_headroom(robot: Robot, q: np.ndarray) -> dict[str, PoseHeadroom]:
    """The headroom of every motor in the pose q (nq,)."""
    driven = motors(robot.model)
    if robot.model.floating:
        raise DalembertError(f"sizing: what robot {robot.name!r} holds in a pose depends on where it stands")
    if q.shape != (robot.nq,):
        raise DalembertError(f"sizing: q has shape {q.shape}, expected ({robot.nq},) for robot {robot.name!r}")
    if robot.model.closures:
        manifold = ClosedManifold(robot, driven)
        closed, able = manifold.project(q[None])
        if not able[0] or np.max(np.abs(robot.difference(q, closed[0])), initial=0.0) > OPEN:
            raise DalembertError("sizing: the loops are open at q, or beyond its limits: use robot.close_loops(q)")
        held, felt = manifold.holding(closed)[0], manifold.felt_inertia(closed)[0]
    else:
        rows = [body.v.start for body in driven]
        held, felt = robot.gravity(q)[rows], np.diagonal(robot.mass_matrix(q))[rows]
    rooms = [float(body.joint.effort_limit[0]) - abs(float(load)) for body, load in zip(driven, held, strict=True)]
    return {
        body.joint.name: PoseHeadroom(room, max(room, 0.0) / float(inertia))
        for body, room, inertia in zip(driven, rooms, felt, strict=True)
    }
