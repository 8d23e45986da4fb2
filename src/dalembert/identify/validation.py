"""How well a model explains a log it was not fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dalembert.audit.verdicts import LIMIT, PASSED, JointVerdict, overall, rms, verdicts
from dalembert.notebook import html
from dalembert.robot import Robot

EXPLAINED = 0.2  # share of the residual that temperature must explain to be named


class Warming(NamedTuple):
    """How a joint's friction follows its temperature.

    spread [K]: between the coldest and the warmest row; explained: share of the square of the residual; coulomb
    [N·m/K or N/K], viscous [N·m·s/rad/K or N·s/m/K]: change of friction per kelvin.
    """

    joint: str
    spread: float
    explained: float
    coulomb: float
    viscous: float

    def __str__(self) -> str:
        return (
            f"{self.joint}: temperature explains {100.0 * self.explained:.0f} % of the residual: over "
            f"{self.spread:.1f} K Coulomb friction changes by {self.coulomb:.2g} and viscous friction by "
            f"{self.viscous:.2g} per kelvin: fit logs of the temperature at which the robot works"
        )


@dataclass(frozen=True)
class Validation:
    """Torques of a log beside those of the robot that a fit found: the residual per joint, and the verdict.

    measured, predicted, factory (T, n) [N·m or N]: of the log, of the robot as it is written to a file, and of the one
    before the fit. offsets (n,): what the fit takes for zero errors of the torque sensors, in none of the robots.
    along (T, n) each: position, velocity and, where it was measured, temperature [°C], by name, to plot the residual
    against. doubts: what else speaks against a joint, by name.
    """

    joints: tuple[str, ...]
    t: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    factory: np.ndarray
    along: Mapping[str, np.ndarray] = field(default_factory=dict)
    offsets: np.ndarray | None = None
    doubts: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def verdicts(self) -> tuple[JointVerdict, ...]:
        """The verdict on every joint; see `dalembert.audit.verdicts`."""
        return verdicts(self.joints, self.measured, self.predicted, self.factory, self.doubts)

    @property
    def status(self) -> str:
        """ "passed", "in doubt" or "failed": the worst of all joints."""
        return overall(self.verdicts)

    @property
    def ok(self) -> bool:
        """Whether every joint passed."""
        return self.status == PASSED

    @property
    def rms(self) -> np.ndarray:
        """(n,) [N·m or N]: root mean square of the residual."""
        return rms(self.measured - self.predicted)

    @property
    def rms_percent(self) -> np.ndarray:
        """(n,): the residual, in percent of each joint's torque."""
        return _percent(self.rms, rms(self.measured))

    @property
    def total_percent(self) -> float:
        """The residual of all joints, in percent of all torques: N·m and N together, so that strong joints decide."""
        return float(_percent(_norm(self.measured - self.predicted), _norm(self.measured)))

    @property
    def calibrated_percent(self) -> float:
        """`total_percent` if the offsets were taken off the log."""
        offsets = 0.0 if self.offsets is None else self.offsets
        return float(_percent(_norm(self.measured - self.predicted - offsets), _norm(self.measured)))

    @property
    def factory_percent(self) -> np.ndarray:
        """(n,): what the robot before the fit leaves over, in percent of each joint's torque."""
        return _percent(rms(self.measured - self.factory), rms(self.measured))

    @property
    def factory_total(self) -> float:
        """The residual of the robot before the fit, in percent of all torques."""
        return float(_percent(_norm(self.measured - self.factory), _norm(self.measured)))

    @property
    def warming(self) -> tuple[Warming, ...]:
        """How the residual of each joint changes with its temperature; empty where that was not measured."""
        if "temperature" not in self.along:
            return ()
        left = self.measured - self.predicted
        columns = zip(self.joints, left.T, self.along["velocity"].T, self.along["temperature"].T, strict=True)
        return tuple(_warming(*column) for column in columns)

    def table(self) -> str:
        """Joint by joint: torque, residual, before and after the fit, verdict; then the reasons."""
        width = max(5, *(len(name) for name in self.joints))
        lines = [f"{'joint':<{width}}  torque rms  left over    percent    before  verdict"]
        for each, percent, before in zip(self.verdicts, self.rms_percent, self.factory_percent, strict=True):
            numbers = f"{each.torque:10.4g}  {each.left:9.3g}  {percent:7.4g} %  {before:6.3g} %"
            lines.append(f"{each.joint:<{width}}  {numbers}  {each.status}")
        lines.append(
            f"all joints: {self.total_percent:.2f} % left over (before the fit {self.factory_total:.1f} %): "
            f"{self.status}; each joint may leave {100.0 * LIMIT:g} %, or its noise"
        )
        lines += [str(each) for each in self.verdicts if each.why]
        if self.offsets is not None and self.calibrated_percent < self.total_percent - 0.01:
            offsets = ", ".join(f"{name} {x:.2g}" for name, x in zip(self.joints, self.offsets, strict=True))
            lines.append(
                f"with the offsets of the torques taken off the log, which no robot file holds: "
                f"{self.calibrated_percent:.2f} % left over ({offsets})"
            )
        lines += [str(each) for each in self.warming if each.explained > EXPLAINED]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns = ("joint", "verdict", "torque, RMS", "left over", "left by the model before", "noise", "why")
        rows = [(v.joint, v.status, v.torque, v.left, v.before, v.noise, v.why) for v in self.verdicts]
        return html(repr(self), columns, rows, (str(each) for each in self.warming if each.explained > EXPLAINED))

    def __repr__(self) -> str:
        return f"<Validation: {self.total_percent:.2f} % left over, {self.status}>"


def along_log(
    robot: Robot, q: np.ndarray, v: np.ndarray, temperature: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Quantities that residuals may depend on, (T, nv) each; positions only where every joint has one coordinate."""
    along = {"velocity": v} if robot.nq != robot.nv else {"position": q, "velocity": v}
    return along if temperature is None else along | {"temperature": temperature}


def _warming(joint: str, left: np.ndarray, v: np.ndarray, temperature: np.ndarray) -> Warming:
    """Friction that changes in proportion to temperature, fitted to the residual."""
    known = np.isfinite(left)
    left, v, warmer = left[known], v[known], temperature[known] - np.mean(temperature[known])
    columns = np.stack([np.sign(v) * warmer, v * warmer], axis=1)
    slopes = np.linalg.lstsq(columns, left, rcond=None)[0]
    total = float(left @ left)
    explained = 1.0 - float(np.sum((left - columns @ slopes) ** 2)) / total if total else 0.0
    return Warming(joint, float(np.ptp(warmer)), explained, *map(float, slopes))


def _norm(x: np.ndarray) -> float:
    return float(np.sqrt(np.nansum(x**2)))


def _percent(part: np.ndarray | float, whole: np.ndarray | float) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            np.asarray(whole) > 0.0, 100.0 * np.asarray(part) / whole, np.where(np.asarray(part) > 0.0, np.inf, 0.0)
        )
