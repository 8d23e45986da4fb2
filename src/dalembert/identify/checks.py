"""Checks of a log before it is worth fitting: each check names the joint and the likely cause."""

from __future__ import annotations

import numpy as np

from dalembert.errors import DalembertError
from dalembert.logs import rate_slopes
from dalembert.robot import Robot

from . import channels, signals
from .compression import Samples
from .signals import Doubt

JUMP = 8.0  # times the speed that 99 of 100 rows stay below
STILL = 1e-3  # range [rad or m] below which a joint did not move


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
    listed += signals.doubts(robot, samples, moving)
    silent = {doubt.joint for doubt in listed if doubt.serious}
    listed += channels.doubts(robot, samples, t, moving & ~np.isin(names, list(silent)))
    return tuple(listed)


def open_doubts(listed: tuple[Doubt, ...], names: tuple[str, ...]) -> dict[str, str]:
    """The doubt that keeps a joint from passing, by its name; doubts about the whole log are about every joint."""
    texts: dict[str, list[str]] = {}
    for doubt in listed:
        if doubt.opens:
            for name in [doubt.joint] if doubt.joint else names:
                texts.setdefault(name, []).append(f"{doubt.what}; {doubt.cure}")
    return {name: "; ".join(each) for name, each in texts.items()}


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


def _jumps(names: tuple[str, ...], pace: np.ndarray, moving: np.ndarray) -> list[Doubt]:
    """Positions that jump from one row to the next, from their rates (T − 1, nv): wrapped, cut, or set anew."""
    wrong = []
    for k in np.flatnonzero(moving):
        size = np.abs(pace[:, k])
        row = int(np.argmax(size))
        if size[row] > JUMP * float(np.quantile(size, 0.99)):
            cure = "leave the rows before or after it out (--cut, cut=…), or unwrap it"
            wrong.append(Doubt(names[k], f"its position jumps between rows {row + 1} and {row + 2}", cure))
    return wrong


def _rates(robot: Robot, samples: Samples, t: np.ndarray | None, moving: np.ndarray) -> list[Doubt]:
    """Velocities that are not the rates of the positions; motions without acceleration."""
    names, wrong = robot.model.freedom_names, []
    if t is not None and len(t) > 10 and np.all(np.diff(t) > 0.0):
        steps = robot.difference(samples.q[:-1], samples.q[1:])
        wrong += _jumps(names, steps / np.diff(t)[:, None], moving)
        paths = np.concatenate([np.zeros((1, robot.nv)), steps]).cumsum(axis=0)
        for k, slope in rate_slopes(np.asarray(t, float), paths, samples.v).items():
            if moving[k] and not 0.5 < slope < 2.0:
                what = f"its velocity is {1.0 / slope:.3g} times the rate of its position"
                wrong.append(Doubt(names[k], what, "are units (degrees, ms), signs and channels right?"))
    speeding = np.sqrt(np.mean(samples.a**2, axis=0))
    speed = np.sqrt(np.mean(samples.v**2, axis=0))
    if moving.any() and np.all(speeding[moving] < 1e-2 * np.maximum(speed[moving], 1e-9)):
        cure = "it shows gravity and friction only: excite the joints (identify.excitation), or fit friction alone"
        wrong.append(Doubt("", "moves at constant velocity throughout", cure))
    return wrong
