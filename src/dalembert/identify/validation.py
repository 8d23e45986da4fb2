"""How well a model explains a log it was not fitted to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PASS = 5.0  # percent of the torque that may be left over


@dataclass(frozen=True)
class Validation:
    """Torques of a log beside a model's: per joint, what is left over.

    rms (n,) [N·m or N]: root mean square of the difference; rms_percent (n,): of that joint's torque;
    total_percent: of all joints together; factory_percent, factory_total: the same for the robot before the fit;
    predicted, measured (T, n); ok: whether the total is below 5 %. A joint that hardly works (below a twentieth of the
    largest torque) can have a large share left over and yet a small torque: both are in `table`.
    """

    joints: tuple[str, ...]
    t: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    factory: np.ndarray

    @property
    def rms(self) -> np.ndarray:
        """(n,) [N·m or N]: root mean square of what is left over."""
        return _rms(self.measured - self.predicted)

    @property
    def rms_percent(self) -> np.ndarray:
        """(n,): what is left over, in percent of each joint's torque."""
        return _percent(_rms(self.measured - self.predicted), _rms(self.measured))

    @property
    def total_percent(self) -> float:
        """What is left over of all joints, in percent of all torques."""
        return float(_percent(_norm(self.measured - self.predicted), _norm(self.measured)))

    @property
    def factory_percent(self) -> np.ndarray:
        """(n,): what the robot before the fit leaves over, in percent of each joint's torque."""
        return _percent(_rms(self.measured - self.factory), _rms(self.measured))

    @property
    def factory_total(self) -> float:
        """What the robot before the fit leaves over, in percent of all torques."""
        return float(_percent(_norm(self.measured - self.factory), _norm(self.measured)))

    @property
    def ok(self) -> bool:
        """Whether less than 5 % of all torques is left over."""
        return bool(self.total_percent < PASS)

    def table(self) -> str:
        """Joint by joint: torque, what is left over, before and after the fit."""
        width = max(5, *(len(name) for name in self.joints))
        lines = [f"{'joint':<{width}}  torque rms  left over  percent  before"]
        rows = zip(self.joints, _rms(self.measured), self.rms, self.rms_percent, self.factory_percent, strict=True)
        lines += [f"{n:<{width}}  {tau:10.4g}  {r:9.3g}  {p:6.2f} %  {b:5.1f} %" for n, tau, r, p, b in rows]
        verdict = "passed" if self.ok else "failed"
        lines.append(
            f"all joints: {self.total_percent:.2f} % left over (before the fit {self.factory_total:.1f} %): {verdict}, "
            f"the limit is {PASS:g} %"
        )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Validation: {self.total_percent:.2f} % left over, {'ok' if self.ok else 'not ok'}>"


def _rms(x: np.ndarray) -> np.ndarray:
    return np.sqrt(np.nanmean(x**2, axis=0))


def _norm(x: np.ndarray) -> float:
    return float(np.sqrt(np.nansum(x**2)))


def _percent(part: np.ndarray | float, whole: np.ndarray | float) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            np.asarray(whole) > 0.0, 100.0 * np.asarray(part) / whole, np.where(np.asarray(part) > 0.0, np.inf, 0.0)
        )
