"""Rules on a measured motion: does the model explain its torques, and can parameters be identified from it?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math.tolerances import RANK
from dalembert.model import motors_of
from dalembert.robot import Robot

from .closed import WHICH, ClosedManifold, motors
from .rule import Found, NotRun, rule
from .subject import Subject
from .verdicts import PASSED, rms, verdicts

LEAST_RATE, LEAST_DURATION = 200.0, 60.0  # Hz and s of a log for identification
CONDITION = 100.0  # of the scaled regressor: motions that tell parameters apart stay below
SAMPLES = 2000  # rows of a log that are used


class MeasuredMotion(Protocol):
    """A log: t (n,) [s]; q (n, nq); v, a (n, nv); tau (n, nv), or None where no efforts were measured."""

    @property
    def t(self) -> np.ndarray: ...
    @property
    def q(self) -> np.ndarray: ...
    @property
    def v(self) -> np.ndarray: ...
    @property
    def a(self) -> np.ndarray: ...
    @property
    def tau(self) -> np.ndarray | None: ...


def check_log(robot: Robot, motion: Any) -> None:
    """Raise if it is no log of the robot; None is none."""
    if motion is None:
        return
    if missing := [name for name in ("t", "q", "v", "a", "tau") if not hasattr(motion, name)]:
        raise DalembertError(
            f"audit: motion is of type {type(motion).__name__}, without {', '.join(missing)}: expected a log, as "
            "read_trajectory(path, robot) gives"
        )
    n = len(motion.t)
    for name, size in (("q", robot.nq), ("v", robot.nv), ("a", robot.nv), ("tau", robot.nv)):
        values = getattr(motion, name)
        if np.shape(values) != (n, size) and not (name == "tau" and values is None):
            expected = f"expected ({n}, {size}) for robot {robot.name!r}"
            raise DalembertError(f"audit: {name} of the log has shape {np.shape(values)}, {expected}")


def measured(subject: Subject) -> MeasuredMotion:
    """The log; without one the rule does not run."""
    if subject.motion is None:
        raise NotRun("no log was given (motion=…, --motion FILE)")
    return subject.motion


@rule(
    "log-finite",
    "log",
    "error",
    reason="a NaN in a velocity or an acceleration makes every torque NaN",
    cure="clean the log where it comes from: filters start with NaN, estimators drop out",
)
def finite(subject: Subject) -> Iterator[Found]:
    """Every number of the motion; efforts may be NaN, which leaves them out of each comparison."""
    motion = measured(subject)
    for name in ("t", "q", "v", "a", "tau"):
        values = np.zeros(0) if getattr(motion, name) is None else np.asarray(getattr(motion, name))
        bad = np.isinf(values) if name == "tau" else ~np.isfinite(values)
        if np.any(bad):
            row = int(np.argwhere(bad.reshape(len(values), -1))[0][0])
            yield Found("log", f"{name} has no number in row {row + 1}")
    lost = np.zeros(0) if motion.tau is None else np.isnan(motion.tau).sum(axis=0)
    for k in np.flatnonzero(lost):
        what = f"its effort is NaN in {lost[k]} of {len(motion.t)} rows, which are left out"
        yield Found(f"joint '{subject.model.freedom_names[k]}'", what, "info")


@rule(
    "log-torque",
    "log",
    "error",
    reason="a model that leaves over 5 % of a joint's torque, and more than its noise, is not ready for feedforward",
    cure="identify masses, friction and rotors; `dalembert diagnose --robot ROBOT --motion FILE` names the cause",
    needs=("log-finite",),
)
def torque(subject: Subject) -> Iterator[Found]:
    motion = measured(subject)
    if motion.tau is None:
        raise NotRun("the log has no efforts")
    modelled = _modelled(subject, motion)
    for k, each in enumerate(verdicts(subject.model.freedom_names, motion.tau, modelled)):
        if each.status != PASSED:
            flipped = rms((motion.tau + modelled)[:, k : k + 1])[0] < 0.5 * each.left
            sign = "; with the opposite sign it would fit" if flipped else ""
            missed = f"the model misses {100 * each.share:.3g} % of the measured effort"
            yield Found(f"joint '{each.joint}'", f"{missed}, {each.status}{sign}")


def _modelled(subject: Subject, motion: MeasuredMotion) -> np.ndarray:
    """The efforts (n, nv) of the model; with loops, those of the motors with the loops kept closed."""
    if not subject.model.closures:
        return subject.robot.inverse_dynamics(motion.q, motion.v, motion.a)
    driven = motors(subject.model)
    if not motors_of(subject.model).passive:
        raise NotRun(f"of a robot with loops it must be stated {WHICH}", blocked=True)
    q, v, a = ClosedManifold(subject.robot, driven).follow(motion.q, motion.v, motion.a)
    return subject.robot.loop_inverse_dynamics(q, v, a, actuated=[body.joint.name for body in driven]).tau


@rule(
    "log-excites",
    "identification",
    "info",
    reason="parameters can only be told apart by a motion that asks for each of them",
    cure="a Fourier series on every joint, sampled at 200 Hz or more for 60 s",
    needs=("log-finite",),
)
def excites(subject: Subject) -> Iterator[Found]:
    motion = measured(subject)
    if subject.model.closures:
        raise NotRun("the base parameters of robots with loops are not worked out")
    rate, duration = (len(motion.t) - 1) / float(motion.t[-1] - motion.t[0]), float(motion.t[-1] - motion.t[0])
    if rate < LEAST_RATE:
        yield Found("log", f"has {rate:.3g} samples a second, identification needs {LEAST_RATE:g}")
    if duration < LEAST_DURATION:
        yield Found("log", f"lasts {duration:.3g} s, identification needs {LEAST_DURATION:g}")
    condition, unseen = base_condition(subject.tree, motion)
    if unseen:
        yield Found("log", f"does not show {unseen} of the robot's base parameters")
    elif condition > CONDITION:
        yield Found(
            "log", f"tells base parameters apart badly: condition {condition:.3g}, at most {CONDITION:g} is good"
        )


def base_condition(robot: Robot, motion: MeasuredMotion) -> tuple[float, int]:
    """The condition of the regressor of the base parameters along a motion, and how many of them it does not show."""
    bare = robot.without("friction", "damping", "armature", "springs")
    rng = np.random.default_rng(0)
    pick = np.unique(np.linspace(0, len(motion.t) - 1, min(SAMPLES, len(motion.t))).astype(int))
    n = max(40, 2 * bare.parameters().size)
    states = (bare.random(rng, n), rng.normal(size=(n, bare.nv)), rng.normal(size=(n, bare.nv)))
    complete, shown = (
        Y.reshape(-1, Y.shape[-1])
        for Y in (bare.regressor(*states), bare.regressor(motion.q[pick], motion.v[pick], motion.a[pick]))
    )
    columns = _independent_columns(complete)
    Y = shown[:, columns]
    size = np.linalg.norm(Y, axis=0)
    seen = size > RANK * np.max(size, initial=1e-300)
    values = np.linalg.svd(Y[:, seen] / size[seen], compute_uv=False)
    unseen = len(columns) - int(np.sum(values > 1e-7 * np.max(values, initial=1e-300)))
    return float(values[0] / values[-1]) if len(values) and values[-1] > 0.0 else np.inf, unseen


def _independent_columns(Y: np.ndarray) -> list[int]:
    """Columns that span all of them, the largest remainder first: Gram-Schmidt with pivots."""
    remainder, columns = Y.astype(float).copy(), []
    largest = float(np.max(np.linalg.norm(remainder, axis=0), initial=0.0))
    for _ in range(Y.shape[1]):
        size = np.linalg.norm(remainder, axis=0)
        k = int(np.argmax(size))
        if size[k] <= 1e-8 * largest:
            break
        columns.append(k)
        direction = remainder[:, k] / size[k]
        remainder -= np.outer(direction, direction @ remainder)
    return columns
