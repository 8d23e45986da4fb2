"""A worker's job: the rows of one chunk, each within its time limit. It knows no folder and no scheduler."""

from __future__ import annotations

import ctypes
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
from dalembert.progress import silenced
from dalembert.robot import Robot
from dalembert.study.distributions.space import MODEL, RESERVED, START, Draw

from .motion import Motion
from .rows import Chunked, Failed, Outputs, Row, Shapes, reason

OFTEN = 0.05  # [s] between two looks at the rows
GRACE = 1.0  # [s] that a row gets to end once it was told to


class _Over(BaseException):
    """Signal to a row that takes too long or is not wanted any more; no `except Exception` catches it."""


class TimeLimit(Exception):
    """The reason of a row that took too long."""


class _Rows(threading.Thread):
    """Rows from `first` on, each answer or error in `answers`. A daemon: a row that never ends does not hold Python."""

    def __init__(self, evaluate: Callable[[int], Any], first: int, count: int, limit: float | None) -> None:
        super().__init__(daemon=True, name="dalembert study")
        self.evaluate, self.first, self.count, self.limit = evaluate, first, count, limit
        self.answers: list[Any] = []
        self.seconds: list[float] = []
        self.began = time.monotonic()
        self.left = False

    def run(self) -> None:
        """Row after row, until all are done or nobody waits for them."""
        with silenced():
            while not self.left and self.at < self.count:
                try:
                    self._next()
                except _Over:  # told between two rows, or by its time: the next round decides
                    if self.limit is not None and time.monotonic() - self.began > self.limit:
                        self._keep(TimeLimit(f"took longer than {self.limit:g} s"))

    @property
    def at(self) -> int:
        """The row that is computed now."""
        return self.first + len(self.answers)

    def _next(self) -> None:
        self.began = time.monotonic()
        try:
            answer = self.evaluate(self.at)
        except _Over:
            raise
        except BaseException as error:  # also SystemExit: a row ends itself, not the study
            answer = error
        self._keep(answer)

    def _keep(self, answer: Any) -> None:
        self.seconds.append(time.monotonic() - self.began)
        self.answers.append(answer)

    def tell(self) -> None:
        """Raise `_Over` where the thread is, as soon as Python's own code runs there."""
        if self.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(_Over))


def in_turn(
    evaluate: Callable[[int], Any], count: int, limit: float | None, stopped: Callable[[], bool]
) -> tuple[list[Any], list[float]]:
    """Answers, or errors, of evaluate(0) … evaluate(count − 1), and the seconds that each took.

    limit [s] for each row. Once `stopped()`, or with Ctrl-C, fewer: those that are done.
    """
    answers: list[Any] = []
    seconds: list[float] = []
    while len(answers) < count:
        thread = _Rows(evaluate, len(answers), count, limit)
        thread.start()
        try:
            complete = _attend(thread, stopped)
        except KeyboardInterrupt:
            complete = False
        thread.left = True
        done = len(thread.seconds)
        answers += thread.answers[:done]
        seconds += thread.seconds[:done]
        if complete:
            continue
        thread.tell()
        if limit is None or stopped() or time.monotonic() - thread.began < limit:
            break
        if len(answers) < count:
            answers.append(TimeLimit(f"took longer than {limit:g} s, and does not end"))
            seconds.append(limit)
    return answers, seconds


def _attend(thread: _Rows, stopped: Callable[[], bool]) -> bool:
    """Wait for the thread: true once it is done, false where it was stopped or hangs."""
    told = -1
    while True:
        limit = thread.limit
        thread.join(OFTEN if limit is None else min(OFTEN, limit))
        if not thread.is_alive():
            return True
        if stopped():
            return False
        took = time.monotonic() - thread.began
        if limit is None or took <= limit:
            continue
        if told != thread.at:
            told = thread.at
            thread.tell()
        elif took > limit + GRACE:
            return False


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
        row = Row(task.draw.space, task.robot, values, k, begin + k)
        return outputs.checked(task.run(row.robot, row))

    answers, seconds = in_turn(evaluate, end - begin, task.limit, stopped)
    n = len(answers)
    failed = [_why(answer) for answer in answers]
    columns = _shown({name: x[:n] for name, x in values.items()})
    for name, shape in (outputs.shapes or {}).items():
        column = np.full((n, *shape), np.nan)
        for k, answer in enumerate(answers):
            if not isinstance(answer, BaseException):
                column[k] = answer[name]
        columns[name] = column
    return Chunk(begin, begin + n, columns, failed, np.array(seconds), outputs.shapes)


def _why(answer: Any) -> str:
    """Why a row failed; "": it did not."""
    if isinstance(answer, BaseException):
        return reason(answer)
    return next((f"output {name!r} is NaN" for name, x in answer.items() if np.isnan(x).any()), "")


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
