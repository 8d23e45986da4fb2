"""Doubts about logs, and those that a torque raises by itself: missing, silent, dropped, frozen, saturated, coarse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dalembert.robot import Robot

from .compression import Samples


class Doubt(NamedTuple):
    """Something odd about a log. joint: "" for the whole log.

    serious: whether a fit makes no sense, and is refused; opens: whether the joint's verdict stays open, so that it
    does not pass; beside_file: whether only the file's model speaks for it, which other joints may refute.
    """

    joint: str
    what: str
    cure: str
    serious: bool = True
    opens: bool = True
    beside_file: bool = False

    def __str__(self) -> str:
        where = f"joint {self.joint!r}: " if self.joint else ""
        return f"{where}{self.what}; {self.cure}"


FEWEST = 20  # torques from which something can be told
DROPPED = 0.005  # share of torques that are exactly 0
AT_LIMIT, LONG = 0.01, 3  # share of torques at the very largest one, and how many of them in a row
FROZEN = 0.04  # share of the log over which a torque keeps its value though the motion asks for another
CHANGES = 0.2  # change of the modelled torque or the speed, relative to its range, that asks for another value
UNUSUAL, MOVES = 10, 0.02  # times the usual stretch of equal values, over which even so much of a change asks for one
COARSE = 0.25  # step of a quantised torque, relative to its standard deviation


def doubts(robot: Robot, samples: Samples, moving: np.ndarray) -> list[Doubt]:
    """Faults of each joint's torque that need no comparison; moving (nv,): which joints do."""
    listed = list(_missing(robot.model.freedom_names, samples))
    if not samples.tau[np.isfinite(samples.tau)].any():
        cure = "a fit needs torques: is it the right column?"
        return [*listed, Doubt("", "all torques (tau) are 0", cure)]
    modelled = robot.inverse_dynamics(samples.q, samples.v, samples.a)
    size = np.sqrt(np.mean(modelled**2, axis=0))
    for k, name in enumerate(robot.model.freedom_names):
        known = np.isfinite(samples.tau[:, k])
        if known.sum() >= FEWEST and moving[k]:
            asked = modelled[known, k] if size[k] > 1e-6 * size.max() else np.zeros(int(known.sum()))
            listed += _of_joint(name, samples.tau[known, k], asked, samples.v[known, k])
    return listed


def _missing(names: tuple[str, ...], samples: Samples) -> Iterator[Doubt]:
    """Torques that are NaN: a way to leave samples out, which is told."""
    for name, share in zip(names, np.mean(np.isnan(samples.tau), axis=0), strict=True):
        if share == 1.0:
            what = "its torque is NaN throughout, so that its equation is left out"
            yield Doubt(name, what, "nothing of its friction and rotor can be told", serious=False)
        elif share > 0.0:
            what = f"its torque is NaN in {100 * share:.2g} % of the samples"
            yield Doubt(name, what, "they are left out", serious=False, opens=False)


def _of_joint(name: str, tau: np.ndarray, modelled: np.ndarray, v: np.ndarray) -> Iterator[Doubt]:
    """Doubts about one joint's torque (n,), beside the modelled one and the velocity."""
    if not np.ptp(tau):
        if tau[0] or np.ptp(modelled):
            yield Doubt(name, f"its torque is {tau[0]:.4g} throughout", "is the channel the right one?")
        return
    idle = (v == 0.0) & (np.abs(modelled) <= 1e-6 * np.abs(modelled).max())  # a joint at rest may ask for nothing
    share = float(np.mean((tau == 0.0) & ~idle))
    begins = np.append(0, np.flatnonzero(np.diff(tau)) + 1)  # of stretches of equal values
    lengths = np.diff(np.append(begins, len(tau)))
    values = np.unique(tau)
    step = float(np.median(np.diff(values)))
    if step > COARSE * float(np.std(tau)):
        what = f"its torque takes {len(values)} values only, in steps of {step:.3g}: quantised"
        cure = "log it with more digits, or at a finer range of the sensor"
        yield Doubt(name, what, cure, serious=False)
        return
    if share > DROPPED:
        what = f"its torque is exactly 0 in {100 * share:.2g} % of the samples: dropped"
        yield Doubt(name, what, "leave these samples out (set them to NaN)")
        return
    for limit in (tau.max(), tau.min()):
        at = tau[begins] == limit
        share = float(lengths[at & (lengths >= LONG)].sum() / len(tau))
        if limit and share > AT_LIMIT:
            what = f"its torque is exactly {limit:.4g} in {100 * share:.2g} % of the samples: saturated"
            yield Doubt(name, what, "leave these samples out (set them to NaN), or move more gently")
            return
    longest = int(np.argmax(lengths))
    during = slice(int(begins[longest]), int(begins[longest] + lengths[longest]))
    asked = max(np.ptp(x[during]) / np.ptp(x) if np.ptp(x) else 0.0 for x in (modelled, v))
    long, unusual = FROZEN * len(tau), UNUSUAL * float(np.quantile(lengths, 0.99))
    if lengths[longest] > FEWEST and any(
        lengths[longest] > most and asked > least for most, least in ((long, CHANGES), (unusual, MOVES))
    ):
        what = (
            f"its torque is frozen at {tau[during.start]:.4g} in {100 * lengths[longest] / len(tau):.2g} % of the log"
        )
        yield Doubt(name, what, f"leave rows {during.start + 1} to {during.stop} out (set them to NaN)")
