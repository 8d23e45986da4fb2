"""Logs of robots that are not as in their files, and single faults of one joint's channel in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert import Robot, identify, load
from dalembert.identify.series import Fourier, joint_limits
from simulated import SimulatedLog

RATE, DURATION, HARMONICS = 100.0, 12.0, 5


def motion_of(robot: Robot, seed: int, rate: float = RATE, duration: float = DURATION) -> tuple[np.ndarray, ...]:
    """(t, q, v, a) of a Fourier series within 80 % of the limits, at most 2 rad/s or m/s and 8 rad/s² or m/s²."""
    rng = np.random.default_rng(seed)
    limits = joint_limits(robot, 0.2, 2.0, 8.0, None, None)
    series = Fourier(HARMONICS, duration).scaled(rng.normal(size=(robot.nv, 2 * HARMONICS)), limits).motion
    t = np.arange(0.0, duration, 1.0 / rate)
    return (t, *(series.at(t, order) for order in range(3)))


def truth_of(robot: Robot, seed: int = 0) -> Robot:
    """Masses up to 25 % off the file's, friction of a tenth of each joint's torque in fast motion."""
    rng = np.random.default_rng(seed)
    pi = robot.without("friction", "damping").parameters().reshape(-1, 10)
    truth = robot.with_parameters((pi * rng.uniform(0.75, 1.25, (len(pi), 1))).ravel())
    _, q, v, a = motion_of(robot, seed)
    size = np.sqrt(np.mean(robot.without("friction", "damping").inverse_dynamics(q, v, a) ** 2, axis=0))
    editor = truth.edit()
    for body in robot.model.independent:
        if body.joint.nv:
            friction = 0.1 * float(size[body.v][0]) + 0.05
            editor = editor.set_joint(body.joint.name, friction=friction, damping=0.5 * friction)
    return editor.done()


def healthy(robot: Robot, seed: int = 0, noise: float = 0.01) -> SimulatedLog:
    """A log of the robot as it is, with noise of so much of each torque."""
    t, q, v, a = motion_of(robot, seed)
    tau = truth_of(robot).inverse_dynamics(q, v, a)
    size = np.sqrt(np.mean(tau**2, axis=0))
    return SimulatedLog(t, q, v, a, tau + noise * size * np.random.default_rng(seed).normal(size=tau.shape))


def _torque(log: SimulatedLog, k: int, column: np.ndarray) -> SimulatedLog:
    tau = log.tau.copy()
    tau[:, k] = column
    return replace(log, tau=tau)


def _moved(log: SimulatedLog, k: int, factor: float) -> SimulatedLog:
    scale = np.ones(log.v.shape[1])
    scale[k] = factor
    return replace(log, q=log.q * scale, v=log.v * scale, a=log.a * scale)


def _late(log: SimulatedLog, k: int, seconds: float) -> SimulatedLog:
    """The motion is periodic, so that the torque of the log's end precedes its start."""
    return _torque(log, k, np.roll(log.tau[:, k], round(seconds * RATE)))


def _swapped(log: SimulatedLog, k: int) -> SimulatedLog:
    order = np.arange(log.tau.shape[1])
    other = k - 1 if k else 1
    order[[k, other]] = order[[other, k]]
    return replace(log, tau=log.tau[:, order])


def _dropped(log: SimulatedLog, k: int) -> SimulatedLog:
    column = log.tau[:, k].copy()
    for begin in np.random.default_rng(k).integers(0, len(column) - 20, 8):
        column[begin : begin + 15] = 0.0
    return _torque(log, k, column)


def _frozen(log: SimulatedLog, k: int) -> SimulatedLog:
    column = log.tau[:, k].copy()
    column[len(column) // 2 :] = column[len(column) // 2]
    return _torque(log, k, column)


def _saturated(log: SimulatedLog, k: int) -> SimulatedLog:
    column = log.tau[:, k]
    most = 0.6 * np.abs(column).max()
    return _torque(log, k, np.clip(column, -most, most))


def _quantised(log: SimulatedLog, k: int) -> SimulatedLog:
    step = np.ptp(log.tau[:, k]) / 4.0
    return _torque(log, k, np.round(log.tau[:, k] / step) * step)


def _size(log: SimulatedLog, k: int) -> float:
    return float(np.abs(log.tau[:, k]).max())


FAULTS = {
    "motor side": lambda log, k: _torque(log, k, log.tau[:, k] / 101.0),
    "kN·m": lambda log, k: _torque(log, k, 1e-3 * log.tau[:, k]),
    "mN·m": lambda log, k: _torque(log, k, 1e3 * log.tau[:, k]),
    "lbf·in": lambda log, k: _torque(log, k, 8.850746 * log.tau[:, k]),
    "scaled": lambda log, k: _torque(log, k, 2.0 * log.tau[:, k]),
    "sign": lambda log, k: _torque(log, k, -log.tau[:, k]),
    "swapped": _swapped,
    "wrong order": lambda log, k: replace(log, tau=log.tau[:, ::-1]),
    "shifted in time": lambda log, k: _late(log, k, 1.0),
    "delayed": lambda log, k: _late(log, k, 0.1),
    "saturated": _saturated,
    "frozen": _frozen,
    "offset": lambda log, k: _torque(log, k, log.tau[:, k] + _size(log, k)),
    "dropped samples": _dropped,
    "quantised": _quantised,
    "degrees": lambda log, k: _moved(log, k, 180.0 / np.pi),
    "sign of position": lambda log, k: _moved(log, k, -1.0),
}
ROBOTS = ("ur5", "panda", "iiwa14", "gen3", "scara")
WORDS = {  # by which a doubt says what the fault is, and not only where
    "motor side": "ratio",
    "kN·m": "kN·m",
    "mN·m": "mN·m",
    "lbf·in": "lbf·in",
    "scaled": "what the torques of the other joints imply",
    "sign": "opposite sign",
    "swapped": "swapped",
    "wrong order": "channels are",
    "shifted in time": "later",
    "delayed": "ms later",
    "saturated": "saturated",
    "frozen": "frozen",
    "offset": "offset",
    "dropped samples": "dropped",
    "quantised": "quantised",
    "degrees": "degrees",
    "sign of position": "counted the other way",
}
OF_ANGLES = ("degrees", "sign of position")  # a slide has no degrees, and its sign is that of gravity
# Verdicts on a fault at a joint: the doubt says what it is; the joint is named, or does not pass; a possible robot
# explains this log and another one with the same fault, joint by joint; the fault passed, or another joint is blamed.
NAMED, NOTICED, HIDDEN, MISSED = "named", "in doubt", "not observable", "not named"


def faulty(robot: Robot, fault: str, k: int) -> SimulatedLog:
    """A log with one fault at freedom k."""
    return FAULTS[fault](healthy(robot), k)


def arm(name: str) -> Robot:
    """A bundled robot, its hand held still."""
    robot = load(name)
    fingers = [joint.name for joint in robot.joints if "finger" in joint.name]
    return robot.edit().lock(*fingers).done() if fingers else robot


def doubts_of(robot: Robot, log: SimulatedLog) -> tuple[tuple[identify.Doubt, ...], identify.Fit | None]:
    """The doubts about a log, and the fit, None where it was refused."""
    try:
        fit = identify.fit(robot, log)
    except identify.LogError as error:
        return error.doubts, None
    return fit.doubts, fit


def about(joint: str, doubts: tuple[identify.Doubt, ...]) -> list[identify.Doubt]:
    """The doubts that name a joint."""
    return [doubt for doubt in doubts if joint in (doubt.joint, *doubt.what.split("'"))]


def verdict_on(robot: Robot, fault: str, k: int) -> str | None:
    """NAMED, NOTICED, HIDDEN or MISSED for a fault at freedom k; None where it cannot have the fault."""
    joint = robot.model.freedom_names[k]
    if fault in OF_ANGLES and robot.model.freedom_units[k] == "m":
        return None
    doubts, fit = doubts_of(robot, faulty(robot, fault, k))
    mine = about(joint, doubts)
    if any(WORDS[fault] in doubt.what for doubt in (doubts if fault == "wrong order" else mine)):
        return NAMED
    if mine:
        return NOTICED
    if fit is None:
        return MISSED
    if fit.training.verdicts[k].status != "passed":
        return NOTICED
    other = FAULTS[fault](healthy(robot, seed=1), k)
    return HIDDEN if fit.validate(other).ok else NOTICED
