"""A worker's job: the rows of one chunk. It knows no folder and no scheduler."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot
from dalembert.study.distributions.draw import Draw
from dalembert.study.distributions.space import MODEL, RESERVED, START

from .motion import Motion
from .rows import Chunked, Failed, Outputs, Row, Shapes, evaluated, not_numbers, reason
from .watch import rows

BYTES = 1 << 24  # of inputs and outputs of a chunk of motions


@dataclass(frozen=True, eq=False)
class Task:
    """All that workers need: the robot, the rows, the function, names of outputs, the time limit of a row [s]."""

    robot: Robot
    draw: Draw
    run: Any
    outputs: tuple[str, ...] | None
    limit: float | None

    def most_rows(self) -> int:
        """Rows of a chunk at most, so that its arrays stay small."""
        if not isinstance(self.run, Motion):
            return 1 << 12
        numbers = 4 * (self.robot.nq + self.robot.nv) + sum(self.draw.widths.values()) + 64
        if MODEL in self.draw.space.axes:
            numbers += 30 * len(self.robot.model.bodies)
        return max(64, BYTES // (8 * numbers))


@dataclass(eq=False)
class Chunk:
    """Rows begin … end − 1: columns by name, why rows failed ("" where they did not), and the seconds of all together.

    shapes: of the outputs, None where no row had any.
    """

    begin: int
    end: int
    columns: dict[str, np.ndarray]
    failed: list[str]
    seconds: np.ndarray
    shapes: Shapes | None

    @property
    def count_failed(self) -> int:
        """Number of rows without a result."""
        return len(self.failed) - self.failed.count("")

    @property
    def took(self) -> float:
        """Seconds of all rows."""
        return float(self.seconds.sum())


def compute(
    task: Task, begin: int, end: int, shapes: Shapes | None, stopped: Callable[[], bool] = lambda: False
) -> Chunk:
    """Rows begin … end − 1, or the first of them where the work was stopped."""
    started = time.perf_counter()
    values = task.draw.rows(begin, end)
    if isinstance(task.run, Chunked):
        try:
            return _together(task, task.run, values, begin, end, started)
        except DalembertError as error:  # of the setting, the same for every row
            raise DalembertError(f"study: rows {begin} to {end - 1}: {error}") from None
    return _called(task, values, begin, end, shapes, stopped)


def _together(
    task: Task, run: Chunked, values: Mapping[str, np.ndarray], begin: int, end: int, started: float
) -> Chunk:
    n = end - begin
    with np.errstate(all="ignore"):  # rows that diverge are told below
        outputs, reasons = run.chunk(task.robot, task.draw.space, values, n)
        doubtful = [name for name, x in outputs.items() if not np.isfinite(x.sum())]
    failed = [reasons.get(k, "") for k in range(n)] if reasons else [""] * n
    for name in doubtful:
        for k in np.flatnonzero(np.isnan(outputs[name]).reshape(n, -1).any(axis=1)):
            failed[k] = failed[k] or f"output {name!r} is NaN"
    each = (time.perf_counter() - started) / n
    shapes = {name: x.shape[1:] for name, x in outputs.items()}
    return Chunk(begin, end, _shown(values) | outputs, failed, np.full(n, each), shapes)


def _called(
    task: Task,
    values: Mapping[str, np.ndarray],
    begin: int,
    end: int,
    shapes: Shapes | None,
    stopped: Callable[[], bool],
) -> Chunk:
    """Rows of a function of Python."""
    outputs = Outputs(task.outputs, shapes, (*RESERVED, *task.draw.space.axes))

    def evaluate(k: int) -> dict[str, np.ndarray]:
        return evaluated(task.run, Row(task.draw.space, task.robot, values, k, begin + k), outputs)

    answers, seconds = rows(evaluate, end - begin, task.limit, stopped)
    n = len(answers)
    failed = [reason(answer) if isinstance(answer, BaseException) else not_numbers(answer) or "" for answer in answers]
    columns = _shown({name: x[:n] for name, x in values.items()})
    for name, shape in (outputs.shapes or {}).items():
        column = np.full((n, *shape), np.nan)
        for k, answer in enumerate(answers):
            if not isinstance(answer, BaseException):
                column[k] = answer[name]
        columns[name] = column
    return Chunk(begin, begin + n, columns, failed, np.array(seconds), outputs.shapes)


def _shown(values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The values that stand in the table: all but errors of models and starts, which the seed gives again."""
    return {name: x for name, x in values.items() if name not in (MODEL, START)}


# ---- in other processes: the task comes as bytes, and is read once

_tasks: dict[str, Task] = {}
_reading = threading.Lock()


def packed(task: Task) -> bytes:
    """The task as bytes, for `unpacked`; functions that are defined in the main program need cloudpickle."""
    try:
        import cloudpickle
    except ImportError:
        cloudpickle = None
    try:
        where = [os.path.abspath(folder) for folder in sys.path if os.path.isdir(folder or ".")]
        return pickle.dumps((where, (cloudpickle or pickle).dumps(task)))
    except Exception as error:  # whatever refuses to be sent
        cure = "" if cloudpickle else "pip install cloudpickle, or "
        raise DalembertError(
            f"study: the function cannot be sent to other processes ({type(error).__name__}: {error}): {cure}define it "
            "at the top of a module, without open files and locks"
        ) from None


def unpacked(data: bytes) -> Task:
    """The task of `packed`. Modules are looked for where the program found them as well, if files are shared."""
    where, inner = pickle.loads(data)
    sys.path += [folder for folder in where if folder not in sys.path]
    task: Task = pickle.loads(inner)
    return task


def remote(data: bytes, begin: int, end: int, shapes: Shapes | None) -> Chunk:
    """`compute` in another process. Ctrl-C gives the rows that are done."""
    key = hashlib.sha256(data).hexdigest()
    with _reading:
        if key not in _tasks:
            _tasks.clear()
            _tasks[key] = unpacked(data)
        task = _tasks[key]
    try:
        return compute(task, begin, end, shapes)
    except (DalembertError, Failed) as error:
        raise DalembertError(str(error)) from None
