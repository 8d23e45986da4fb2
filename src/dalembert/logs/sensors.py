"""Logs in the words of a drive: encoder counts at the motor, and motor currents instead of joint torques."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.robot import Robot


@dataclass(frozen=True, eq=False)
class MotorSide:
    """A log in which everything is that of the motors: angles, rates, and torques or currents.

    coupling (nv, nv): radians of each motor per radian (slides: metre) of each joint, q_motor = coupling @ q_joint, in
    the robot's order; a gear ratio for each joint, (nv,), where no motor moves two. Torques of the joints are
    couplingᵀ @ those of the motors. zero (nv,) [rad]: angles of the motors where all joints are at 0. torque_constant
    (nv,) [N·m/A]: where the log has currents.
    """

    coupling: Any
    zero: Any = 0.0
    torque_constant: Any = None

    def matrix(self, robot: Robot) -> np.ndarray:
        """(nv, nv): the coupling, which can be inverted."""
        C = np.asarray(self.coupling, float)
        C = np.diag(C) if C.ndim == 1 else C
        if robot.nq != robot.nv:
            raise DalembertError(
                "MotorSide: angles of motors belong to joints with one coordinate; this has a quaternion"
            )
        if C.shape != (robot.nv, robot.nv) or not np.all(np.isfinite(C)):
            raise DalembertError(
                f"MotorSide: coupling has shape {np.shape(self.coupling)}, expected ({robot.nv},) gear ratios or "
                f"({robot.nv}, {robot.nv}) finite numbers for {', '.join(robot.model.freedom_names)}"
            )
        if np.linalg.matrix_rank(C) < robot.nv:
            raise DalembertError("MotorSide: coupling is singular: the motors do not tell where the joints are")
        return C


@dataclass(frozen=True)
class JointSensors:
    """The meaning of one joint's numbers in a log.

    gear: radians of the motor per radian (slides: per metre) of the joint; negative where they turn oppositely.
    counts: encoder counts per turn of the motor; positions are then counts, rates counts per second; None: they are
    the joint's own, in SI units. zero: count at which the joint is at 0. torque_constant [N·m/A]: of the motor; its
    current gives the torque current · torque_constant · gear at the joint, where the file has no torques.
    """

    gear: float = 1.0
    counts: float | None = None
    zero: float = 0.0
    torque_constant: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("gear", self.gear), ("counts", self.counts), ("torque_constant", self.torque_constant)):
            if value is not None and not (np.isfinite(value) and value != 0.0):
                raise DalembertError(f"JointSensors: {name} is {value!r}, expected a finite number other than 0")

    @property
    def per_count(self) -> float:
        """Radians or metres of the joint per count; 1 where positions are not counts."""
        return 1.0 if self.counts is None else 2.0 * np.pi / (self.counts * self.gear)


Sensors: TypeAlias = JointSensors | MotorSide | Mapping[str, JointSensors] | None


def read_sensors(path: str | os.PathLike[str]) -> JointSensors | MotorSide | dict[str, JointSensors]:
    """The sensors of a robot from a TOML file.

    A table [motors] with coupling, zero and torque_constant is a `MotorSide`; a table [joints.NAME] for each joint, or
    the keys gear, counts, zero and torque_constant alone for all joints, are `JointSensors`.
    """
    file = Path(path)
    if not file.is_file():
        raise DalembertError(f"{file}: no such file; check the path")
    try:
        content = tomllib.loads(file.read_text("utf-8"))
        if set(content) == {"motors"}:
            return MotorSide(**content["motors"])
        if set(content) == {"joints"}:
            return {name: JointSensors(**values) for name, values in content["joints"].items()}
        return JointSensors(**content)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError, AttributeError) as error:
        expected = "[joints.NAME] with gear, counts, zero, torque_constant, or [motors] with coupling"
        raise DalembertError(f"{file}: {error}; expected {expected}") from None


def from_motors(robot: Robot, values: dict[str, np.ndarray], motors: MotorSide) -> list[str]:
    """Turn motions and torques of motors in `values` into those of the joints, in place; notes."""
    C = motors.matrix(robot)
    for kind in ("q", "v", "a"):
        if kind in values:
            offset = np.asarray(motors.zero, float) if kind == "q" else 0.0
            values[kind] = np.linalg.solve(C, (values[kind] - offset).T).T
    if "tau" in values:
        values["tau"] = values["tau"] @ C
    coupled = np.count_nonzero(C - np.diag(np.diag(C)))
    text = "motions and torques of motors are converted to those of the joints"
    return [f"{text}, {coupled} couplings between joints included" if coupled else text]


def by_joint(robot: Robot, sensors: JointSensors | Mapping[str, JointSensors] | None) -> tuple[JointSensors, ...]:
    """The sensors of each freedom: one for all, or by the name of the joint."""
    names = robot.model.freedom_names
    if sensors is None or isinstance(sensors, JointSensors):
        return (sensors or JointSensors(),) * len(names)
    for name in sensors:
        if name not in names:
            raise unknown("joint", name, names, "sensors")
    return tuple(sensors.get(name, JointSensors()) for name in names)


def from_counts(robot: Robot, values: dict[str, np.ndarray], sensors: tuple[JointSensors, ...]) -> list[str]:
    """Turn counts in `values` into positions and rates of the joints, in place; notes."""
    counted = [k for k, each in enumerate(sensors) if each.counts is not None]
    if not counted:
        return []
    if robot.nq != robot.nv:
        raise DalembertError("sensors: counts are of joints with one coordinate each; this robot has a quaternion")
    for k in counted:
        for kind in ("q", "v", "a"):
            if kind in values:
                offset = sensors[k].zero if kind == "q" else 0.0
                values[kind][:, k] = (values[kind][:, k] - offset) * sensors[k].per_count
    names = ", ".join(robot.model.freedom_names[k] for k in counted)
    return [f"positions and rates of {names} are converted from encoder counts"]


def from_currents(
    robot: Robot, currents: np.ndarray, sensors: tuple[JointSensors, ...], where: str
) -> tuple[np.ndarray, str]:
    """Torques at the joints (n, nv) of motor currents (n, nv) [A], and a note."""
    names = robot.model.freedom_names
    missing = [name for name, each in zip(names, sensors, strict=True) if each.torque_constant is None]
    if missing:
        raise DalembertError(
            f"{where}: has motor currents and no torques: sensors={{{missing[0]!r}: JointSensors(gear=…, "
            f"torque_constant=…)}} says what they give; missing for {', '.join(missing)}"
        )
    factors = np.array([each.gear * (each.torque_constant or 0.0) for each in sensors])
    return (
        currents * factors,
        "torques are motor currents times torque constant and gear; losses count as friction",
    )
