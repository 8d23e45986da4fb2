"""How well a model explains a log it was not fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dalembert.robot import Robot

EXPLAINED = 0.2  # share of the residual that temperature must explain to be named
PASS = 5.0  # percent of the torque that may be left over


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
    """Torques of a log beside a model's: the residual per joint.

    rms (n,) [N·m or N]: root mean square of the difference; rms_percent (n,): of that joint's torque;
    total_percent: of all joints together; factory_percent, factory_total: the same for the robot before the fit;
    predicted, measured (T, n); along (T, n) each: position, velocity and, where it was measured, temperature [°C], by
    name, to plot the residual against; ok: whether the total is below 5 %. A joint that hardly works (below a
    twentieth of the largest torque) can have a large share left over and yet a small torque: both are in `table`.
    """

    joints: tuple[str, ...]
    t: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    factory: np.ndarray
    along: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def rms(self) -> np.ndarray:
        """(n,) [N·m or N]: root mean square of the residual."""
        return _rms(self.measured - self.predicted)

    @property
    def rms_percent(self) -> np.ndarray:
        """(n,): the residual, in percent of each joint's torque."""
        return _percent(_rms(self.measured - self.predicted), _rms(self.measured))

    @property
    def total_percent(self) -> float:
        """The residual of all joints, in percent of all torques."""
        return float(_percent(_norm(self.measured - self.predicted), _norm(self.measured)))

    @property
    def factory_percent(self) -> np.ndarray:
        """(n,): what the robot before the fit leaves over, in percent of each joint's torque."""
        return _percent(_rms(self.measured - self.factory), _rms(self.measured))

    @property
    def factory_total(self) -> float:
        """The residual of the robot before the fit, in percent of all torques."""
        return float(_percent(_norm(self.measured - self.factory), _norm(self.measured)))

    @property
    def ok(self) -> bool:
        """Whether less than 5 % of all torques is left over."""
        return bool(self.total_percent < PASS)

    @property
    def warming(self) -> tuple[Warming, ...]:
        """How the residual of each joint changes with its temperature; empty where that was not measured."""
        if "temperature" not in self.along:
            return ()
        left = self.measured - self.predicted
        columns = zip(self.joints, left.T, self.along["velocity"].T, self.along["temperature"].T, strict=True)
        return tuple(_warming(*column) for column in columns)

    def table(self) -> str:
        """Joint by joint: torque, residual, before and after the fit."""
        width = max(5, *(len(name) for name in self.joints))
        lines = [f"{'joint':<{width}}  torque rms  left over  percent  before"]
        rows = zip(self.joints, _rms(self.measured), self.rms, self.rms_percent, self.factory_percent, strict=True)
        lines += [f"{n:<{width}}  {tau:10.4g}  {r:9.3g}  {p:6.2f} %  {b:5.1f} %" for n, tau, r, p, b in rows]
        verdict = "passed" if self.ok else "failed"
        lines.append(
            f"all joints: {self.total_percent:.2f} % left over (before the fit {self.factory_total:.1f} %): {verdict}, "
            f"the limit is {PASS:g} %"
        )
        lines += [str(each) for each in self.warming if each.explained > EXPLAINED]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Validation: {self.total_percent:.2f} % left over, {'ok' if self.ok else 'not ok'}>"


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


def _rms(x: np.ndarray) -> np.ndarray:
    return np.sqrt(np.nanmean(x**2, axis=0))


def _norm(x: np.ndarray) -> float:
    return float(np.sqrt(np.nansum(x**2)))


def _percent(part: np.ndarray | float, whole: np.ndarray | float) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            np.asarray(whole) > 0.0, 100.0 * np.asarray(part) / whole, np.where(np.asarray(part) > 0.0, np.inf, 0.0)
        )
