"""Checks of a log before it is worth fitting: each check names the joint and the likely cause."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot

from .compression import Samples

STILL = 1e-3  # range [rad or m] below which a joint did not move
SATURATED = 0.05  # share of samples at the very largest torque
AGREES = 0.5  # correlation of measured and modelled torque that another robot would hardly have
UNITS = {1e-3: "kN·m or kN", 1e3: "mN·m or mN", 100.0: "N·cm", 0.7375621: "lbf·ft", 8.850746: "lbf·in"}


class Doubt(NamedTuple):
    """Something in a log that makes a fit meaningless. serious: whether to refuse it."""

    joint: str
    what: str
    cure: str
    serious: bool = True

    def __str__(self) -> str:
        where = f"joint {self.joint!r}: " if self.joint else ""
        return f"{where}{self.what}; {self.cure}"


class LogError(DalembertError):
    """A log that should not be fitted; `doubts` lists why."""

    def __init__(self, doubts: tuple[Doubt, ...]) -> None:
        self.doubts = doubts
        lines = "\n".join(f"  - {doubt}" for doubt in doubts if doubt.serious)
        super().__init__(f"the log cannot be fitted as it is:\n{lines}\n(check=False, --no-check fits it all the same)")


def doubts(robot: Robot, samples: Samples, t: np.ndarray | None = None) -> tuple[Doubt, ...]:
    """Everything that is doubtful about a log."""
    listed = [*_shapes(robot, samples)]
    if listed:
        return tuple(listed)
    names = robot.model.freedom_names
    still = np.ptp(samples.q, axis=0).max(initial=0.0) if robot.nq != robot.nv else np.ptp(samples.q, axis=0)
    moving = (
        np.broadcast_to(still, (robot.nq,))[: robot.nv] > STILL if np.ndim(still) else np.full(robot.nv, still > STILL)
    )
    for k in np.flatnonzero(~moving):
        cure = "let it move, or lock it with robot.edit().lock(…) before the fit"
        listed.append(Doubt(names[k], "does not move: nothing of it can be told", cure))
    listed += _rates(robot, samples, t, moving)
    listed += _missing(names, samples)
    listed += _saturated(names, samples)
    listed += _against_model(robot, samples, moving)
    return tuple(listed)


def _shapes(robot: Robot, samples: Samples) -> list[Doubt]:
    wrong = []
    for name, size in (("q", robot.nq), ("v", robot.nv), ("a", robot.nv), ("tau", robot.nv)):
        x = getattr(samples, name)
        if x.ndim != 2 or x.shape[1] != size or len(x) != len(samples.q):
            cure = f"robot {robot.name!r} needs ({len(samples.q)}, {size}): is it a log of another robot?"
            wrong.append(Doubt("", f"{name} has shape {x.shape}", cure))
        elif name != "tau" and not np.all(np.isfinite(x)):
            row, column = np.argwhere(~np.isfinite(x))[0]
            wrong.append(Doubt("", f"{name} has no number in row {row}, column {column}", "drop or fill such rows"))
        elif name == "tau" and np.any(np.isinf(x)):
            row, column = np.argwhere(np.isinf(x))[0]
            cure = "drop such rows, or set the torque to NaN, which leaves it out"
            wrong.append(Doubt(robot.model.freedom_names[column], f"its torque is infinite in row {row}", cure))
        elif name == "tau" and not np.any(np.isfinite(x)):
            wrong.append(Doubt("", "all torques are NaN", "a fit needs torques: is it the right column?"))
    if not wrong and len(samples.q) < 2 * robot.nv:
        wrong.append(Doubt("", f"has only {len(samples.q)} samples", "record seconds of motion at 100 Hz or more"))
    return wrong


def _rates(robot: Robot, samples: Samples, t: np.ndarray | None, moving: np.ndarray) -> list[Doubt]:
    """Velocities that are not the rates of the positions; motions without acceleration."""
    names, wrong = robot.model.freedom_names, []
    if t is not None and len(t) > 10:
        pace = robot.difference(samples.q[:-1], samples.q[1:]) / np.diff(t)[:, None]
        mean = 0.5 * (samples.v[:-1] + samples.v[1:])
        for k in np.flatnonzero(moving):
            usual = np.abs(pace[:, k]) <= 5.0 * np.quantile(np.abs(pace[:, k]), 0.95)  # a few jumps do not decide it
            scale = float(pace[usual, k] @ pace[usual, k])
            gain = float(mean[usual, k] @ pace[usual, k]) / scale if scale > 0.0 else 1.0
            if not 0.5 < gain < 2.0:
                what = f"its velocity is {gain:.3g} times the rate of its position"
                wrong.append(Doubt(names[k], what, "are units (degrees, ms), signs and channels right?"))
    speeding = np.sqrt(np.mean(samples.a**2, axis=0))
    speed = np.sqrt(np.mean(samples.v**2, axis=0))
    if moving.any() and np.all(speeding[moving] < 1e-2 * np.maximum(speed[moving], 1e-9)):
        cure = "it shows gravity and friction only: excite the joints (identify.excitation), or fit friction alone"
        wrong.append(Doubt("", "moves at constant velocity throughout", cure))
    return wrong


def _missing(names: tuple[str, ...], samples: Samples) -> list[Doubt]:
    """Torques that are NaN: a way to leave samples out, which is told."""
    listed = []
    for name, share in zip(names, np.mean(np.isnan(samples.tau), axis=0), strict=True):
        if share == 1.0:
            what = "its torque is NaN throughout, so that its equation is left out"
            listed.append(Doubt(name, what, "nothing of its friction and rotor can be told", serious=False))
        elif share > 0.0:
            what = f"its torque is NaN in {100 * share:.2g} % of the samples"
            listed.append(Doubt(name, what, "they are left out", serious=False))
    return listed


def _saturated(names: tuple[str, ...], samples: Samples) -> list[Doubt]:
    saturated = []
    for k, name in enumerate(names):
        tau = samples.tau[:, k][np.isfinite(samples.tau[:, k])]
        if len(tau) < 20 or not np.ptp(tau):
            if len(tau) and not np.ptp(tau) and len(tau) >= 20 and tau[0] != 0.0:
                saturated.append(Doubt(name, f"its torque is {tau[0]:.4g} throughout", "is the channel the right one?"))
            continue
        for limit in (tau.max(), tau.min()):
            share = float(np.mean(tau == limit))
            if share > SATURATED:
                what = f"its torque is exactly {limit:.4g} in {100 * share:.0f} % of the samples: saturated"
                saturated.append(Doubt(name, what, "leave these samples out (set them to NaN), or move more gently"))
    return saturated


def _against_model(robot: Robot, samples: Samples, moving: np.ndarray) -> list[Doubt]:
    """Sign, unit and order of the torque channels, judged by the file's own model, which is roughly right."""
    names = robot.model.freedom_names
    every = max(1, len(samples.q) // 5000)
    modelled = robot.inverse_dynamics(samples.q[::every], samples.v[::every], samples.a[::every])
    measured = np.nan_to_num(samples.tau[::every])
    C = _cosines(measured, modelled)
    strong = moving & (_size(modelled) > 0.02 * _size(modelled).max(initial=0.0)) & (_size(measured) > 0.0)
    if not strong.any():
        return []
    listed: list[Doubt] = []
    for i in np.flatnonzero(strong):
        for j in np.flatnonzero(strong):
            if i < j and min(C[i, j], C[j, i]) > 0.8 and max(C[i, i], C[j, j]) < min(C[i, j], C[j, i]) - 0.3:
                what = f"its torque is like that of {names[j]!r} and the reverse: the two channels are swapped"
                listed.append(Doubt(names[i], what, "swap them"))
    if listed:
        return listed
    mean = float(np.mean(np.abs(np.diag(C))[strong]))
    if mean < AGREES:
        cure = "is it a log of this robot, with joints in this order, zero positions and gravity as in the file?"
        return [Doubt("", f"torques have little to do with the model's (cosine {mean:.2f})", cure)]
    for k in np.flatnonzero(strong):
        if C[k, k] < -AGREES:
            listed.append(Doubt(names[k], "its torque has the opposite sign of the model's", "turn the sign round"))
    gain = _size(measured)[strong] / _size(modelled)[strong]
    middle = float(np.median(gain))
    if not 0.2 < middle < 5.0:
        near = min(UNITS, key=lambda unit: abs(np.log(middle / unit)))
        unit = f"as {UNITS[near]} would be" if 0.5 < middle / near < 2.0 else "as currents or motor torques would be"
        cure = "give torques at the joints in N·m (currents: times torque constant and gear ratio)"
        listed.append(Doubt("", f"torques are {middle:.3g} times the model's, {unit}", cure))
    return listed


def _size(x: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(x**2, axis=0))


def _cosines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(n, n): of each column of x with each of y."""
    a = x / np.maximum(np.linalg.norm(x, axis=0), 1e-300)
    b = y / np.maximum(np.linalg.norm(y, axis=0), 1e-300)
    return a.T @ b
