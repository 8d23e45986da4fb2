"""Does a model explain the torques of a log? One rule, joint by joint, for identification, audit and commands.

A joint passes where at most 5 % of its torque is left over, or no more than the noise of its torque, and the model
before it did no better. It fails where the model does worse than the one before it, or than no model at all, and leaves
more than that. Everything else is in doubt, and named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

LIMIT = 0.05  # RMS of measured less modelled torque, relative to the measured: careful models stay below
ABOVE_NOISE = 1.5  # factor by which the residual may exceed the noise: neighbouring errors are rarely independent
NOISY = 0.5  # noise over torque beyond which a joint shows too little to be judged
WORSE = 1.02  # residual over that of the model before: a factor below is chance
RESTING = 1e-6  # share of the largest joint's torque: a joint below it is not loaded
FEWEST = 8  # torques from which noise can be told
PASSED, IN_DOUBT, FAILED = "passed", "in doubt", "failed"


class JointVerdict(NamedTuple):
    """Verdict on one joint. torque, left, before, noise [N·m or N]: root mean squares of the measured torque, of what
    this model and the one before it leave over, and of the noise; why: empty where the joint passed.
    """

    joint: str
    status: str
    torque: float
    left: float
    before: float
    noise: float
    why: str = ""

    @property
    def share(self) -> float:
        """The torque that is left over, relative to the measured one."""
        return self.left / self.torque if self.torque else (np.inf if self.left else 0.0)

    @property
    def rank(self) -> int:
        """How bad it is: 0 passed, 1 in doubt, 2 failed."""
        return (PASSED, IN_DOUBT, FAILED).index(self.status)

    def __str__(self) -> str:
        return f"joint {self.joint!r}: {self.status}" + (f": {self.why}" if self.why else "")


def verdicts(
    joints: Sequence[str], measured: np.ndarray, modelled: np.ndarray, before: np.ndarray | None = None,
    doubts: Mapping[str, str] | None = None,
) -> tuple[JointVerdict, ...]:  # fmt: skip
    """The verdict on each joint, from torques (T, n) measured, modelled, and modelled before; NaN is left out.

    doubts: what else speaks against a joint's numbers, by name; such a joint does not pass.
    """
    sizes, lefts = rms(measured), rms(measured - modelled)
    befores = lefts if before is None else rms(measured - before)
    least = RESTING * max(float(np.max(sizes, initial=0.0)), float(np.max(rms(modelled), initial=0.0)))
    noises = np.minimum(noise(measured), noise(measured - modelled))
    listed = []
    for k, joint in enumerate(joints):
        status, why = _judged(sizes[k], lefts[k], befores[k], noises[k], least, bool(np.isfinite(measured[:, k]).any()))
        if doubts and joint in doubts:
            status, why = (IN_DOUBT if status == PASSED else status), "; ".join(x for x in (why, doubts[joint]) if x)
        listed.append(
            JointVerdict(joint, status, float(sizes[k]), float(lefts[k]), float(befores[k]), float(noises[k]), why)
        )
    return tuple(listed)


def overall(judged: Sequence[JointVerdict]) -> str:
    """The worst verdict of all joints."""
    return max(judged, key=lambda each: each.rank).status if judged else PASSED


def _judged(size: float, left: float, before: float, noise: float, least: float, known: bool) -> tuple[str, str]:
    """Status of one joint, and the reason where it did not pass."""
    if not known:
        return IN_DOUBT, "its torque was not measured"
    if left <= least:
        return PASSED, ""
    if left <= LIMIT * size and (left <= WORSE * before or left <= ABOVE_NOISE * noise):
        return PASSED, ""
    share = f"{100.0 * left / size:.3g} % of its torque is left over" if size else "the log has no torque"
    if left <= LIMIT * size:
        return IN_DOUBT, f"{share}, more than the model before ({100.0 * before / size:.3g} %)"
    if left**2 <= (LIMIT * size) ** 2 + (ABOVE_NOISE * noise) ** 2:
        if noise <= NOISY * size:
            return PASSED, ""
        return IN_DOUBT, f"{share}: its torque is hardly above its noise of {noise:.2g}, move it faster or with a load"
    if left > WORSE * before:
        return FAILED, f"{share}, more than the model before ({100.0 * before / size:.3g} %)" if size else share
    if left >= size:
        return FAILED, f"{share}: no model at all would be closer"
    return IN_DOUBT, f"{share}, of which noise is {100.0 * noise / size:.2g} %: the model lacks what drives this joint"


def rms(x: np.ndarray) -> np.ndarray:
    """(n,): root mean square of each column, without the rows that are NaN; 0 where all are."""
    known = np.isfinite(x)
    return np.sqrt(np.sum(np.where(known, x, 0.0) ** 2, axis=0) / np.maximum(known.sum(axis=0), 1))


def noise(x: np.ndarray) -> np.ndarray:
    """(n,): standard deviation of the white noise of signals (T, n), as third differences show it, or of rounding."""
    if len(x) < FEWEST:
        return np.zeros(x.shape[1])
    found = np.zeros(x.shape[1])
    third = np.abs(np.diff(x, 3, axis=0))
    for k, (column, differences) in enumerate(zip(x.T, third.T, strict=True)):
        differences = differences[np.isfinite(differences)]
        if not len(differences):
            continue
        steps = np.abs(np.diff(column[np.isfinite(column)]))
        rounding = float(np.min(steps[steps > 0.0], initial=np.inf)) / np.sqrt(12.0) if len(steps) else np.inf
        white = float(np.median(differences)) / (0.6745 * np.sqrt(20.0))
        found[k] = max(white, rounding if np.isfinite(rounding) else 0.0)
    return found
