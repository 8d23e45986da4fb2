"""Logs of positions and torques or controls, cut into pieces of equal length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.errors import DalembertError
from dalembert.robot import Robot


@dataclass(frozen=True)
class Pieces:
    """Measured positions q (S, L + 1, nq), inputs (S, L, k) held over each step [s], and whether these are controls."""

    q: np.ndarray
    inputs: np.ndarray
    step: float
    controls: bool

    def parts(self, count: int) -> Pieces:
        """The same cut into so many parts each; samples at the end that fill none are left out."""
        length = self.inputs.shape[1] // count
        at = [k * length for k in range(count)]
        q = np.stack([self.q[:, k : k + length + 1] for k in at], axis=1)
        inputs = np.stack([self.inputs[:, k : k + length] for k in at], axis=1)
        return replace(self, q=q.reshape(-1, *q.shape[2:]), inputs=inputs.reshape(-1, *inputs.shape[2:]))


def _column(log: Any, name: str) -> Any:
    return log.get(name) if isinstance(log, Mapping) else getattr(log, name, None)


def cut(robot: Robot, logs: Sequence[Any], piece: float | None) -> Pieces:
    """Pieces of equal length; one for each log unless `piece` [s] is stated."""
    q, inputs, steps, kinds = [], [], set(), set()
    for number, log in enumerate(logs):
        where = f"fit: log {number + 1}"
        t, positions = _column(log, "t"), _column(log, "q")
        given = [name for name in ("controls", "tau") if _column(log, name) is not None]
        if t is None or positions is None or not given:
            raise DalembertError(f"{where}: expected t, q, and controls or tau, of a log or a dict")
        kinds.add(given[0])
        width = len(robot.actuators) if given[0] == "controls" else robot.nv
        t, positions, driven = (
            real_array(f"{where}: {name}", x, "expected numbers").astype(float)
            for name, x in (("t", t), ("q", positions), (given[0], _column(log, given[0])))
        )
        n = len(t)
        if positions.shape != (n, robot.nq) or driven.shape not in ((n, width), (n - 1, width)):
            raise DalembertError(
                f"{where}: t, q and {given[0]} have shapes {t.shape}, {positions.shape} and {driven.shape}, expected "
                f"(n,), (n, {robot.nq}) and (n, {width}), with a row of {given[0]} held until the next"
            )
        if n < 3 or not all(np.isfinite(x).all() for x in (t, positions, driven)):
            raise DalembertError(f"{where}: has gaps or too few rows: expected 3 or more of finite numbers")
        step = float(np.median(np.diff(t)))
        if not step > 0.0 or np.abs(np.diff(t) - step).max() > 0.05 * step:
            raise DalembertError(f"{where}: times are not evenly spaced: resample the log")
        steps.add(round(step, 9))
        length = n - 1 if piece is None else min(n - 1, max(2, round(piece / step)))
        for at in range(0, n - length, length):
            q.append(positions[at : at + length + 1])
            inputs.append(driven[at : at + length])
    if len(steps) != 1 or len(kinds) != 1:
        raise DalembertError("fit: logs of one sampling rate, all with controls or all with tau, are expected")
    length = min(map(len, inputs))
    q, inputs = [each[: length + 1] for each in q], [each[:length] for each in inputs]
    return Pieces(np.array(q), np.array(inputs), steps.pop(), kinds.pop() == "controls")
