"""A study that can be explained and run: `robot.study(space, run, …)`."""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalembert.compiler.execute import Interrupted
from dalembert.compiler.execute.threads import limit
from dalembert.errors import DalembertError, is_number, whole_number
from dalembert.progress import Progress
from dalembert.robot import Robot
from dalembert.study.distributions.space import RESERVED, Draw, Space

from . import parts, provenance, slurm
from .dispatch import Pace, Work, gaps_from, length, workers_of
from .result import Result
from .rows import Chunked
from .work import Task, compute

LOG = logging.getLogger("dalembert.study")
PILOT = 0.3  # [s] of rows that `explain` times
LANES = 64  # rows of motions that it times at least


@dataclass(frozen=True)
class Forecast:
    """Size of a run: rows, rows of a chunk, chunks, seconds with so many workers, bytes at most."""

    rows: int
    chunk: int
    chunks: int
    seconds: float
    memory: int
    workers: int
    kind: str

    def __str__(self) -> str:
        how = {"motion": "in SIMD lanes of one compiled rollout", "chunk": "a chunk of them at once"}.get(
            self.kind, "by one call of the function for each"
        )
        return (
            f"{self.rows} rows, {how}\n{self.chunks} chunks of about {self.chunk} rows\n"
            f"about {self.seconds:.3g} s with {self.workers} threads, {self.memory / 1e6:.0f} MB at most"
        )


class Job:
    """A study before it runs. Nothing is computed until `run`."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def __len__(self) -> int:
        return len(self.task.draw)

    def __repr__(self) -> str:
        return f"Job({self.task.robot.name!r}, {len(self)} rows over {', '.join(self.task.draw.space.axes)})"

    @property
    def kind(self) -> str:
        """ "motion": all rows in one compiled rollout; "chunk": many at once; "function": one call for each row."""
        return self.task.run.kind if isinstance(self.task.run, Chunked) else "function"

    def explain(self, workers: int | None = None) -> Forecast:
        """Predict rows, chunks, seconds and memory. It times a few rows, keeps nothing of them, and writes nothing.

        workers: threads; default those of `run`.
        """
        threads = workers or limit(None)
        each, resident = self._timed(threads)
        total = len(self)
        goal = length(total * each, threads)
        size = int(min(max(2, goal / each), self.task.most_rows(), max(total, 1)))
        chunks = -(-total // size)
        return Forecast(total, size, chunks, total * each / min(threads, chunks), resident, threads, self.kind)

    def _timed(self, threads: int) -> tuple[float, int]:
        """Seconds of a row, once all is compiled, and bytes of this process with a chunk for every thread."""
        pa = parts.arrow()
        most = min(self.task.most_rows(), len(self))
        size = min(2 if self.kind == "function" else LANES, most)  # fewer motions than lanes take as long

        def took() -> float:
            begin = time.perf_counter()
            chunk = compute(self.task, 0, size, None)
            if chunk.end < size:
                raise DalembertError("study: interrupted")
            parts.write_rows(pa.BufferOutputStream(), chunk)
            return time.perf_counter() - begin

        took()  # compiles
        before = _resident()
        while True:
            seconds = took()
            if seconds < PILOT and self.kind == "motion":  # other programs cost time as well
                seconds = min(seconds, took(), took())
            if seconds >= PILOT or size >= most or (self.kind == "function" and seconds > 0.5 * PILOT):
                break
            size = min(most, max(2 * size, int(size * min(8.0, PILOT / max(seconds, 1e-6)))))
        grown = max(0, _resident() - before)
        return seconds / size, _resident() + grown * (threads - 1)

    def run(
        self,
        folder: str | os.PathLike[str] | None = None,
        executor: Any = None,
        *,
        workers: int | None = None,
        progress: bool | None = None,
    ) -> Result:
        """Compute the rows that the folder does not have yet, and return all of them.

        folder: new, or of the same study; None: a temporary one, which goes with the result. executor: None, threads of
        this process; an Executor of concurrent.futures; a Dask client; "processes", "ray", "slurm", "dask://HOST:PORT".
        workers: how many; default as many as there are. Ctrl-C keeps what is done; a second run goes on.
        """
        temporary = None
        if workers is not None:
            whole_number("study: workers", workers)
        if isinstance(executor, str) and executor == "slurm":
            slurm.check()
            if folder is None:
                raise DalembertError(
                    "executor 'slurm': give a folder that all nodes see: run('/shared/study', 'slurm')"
                )
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="dalembert-study-", ignore_cleanup_errors=True)
            folder = temporary.name
        path = Path(folder)
        parts.arrow()
        fresh = not (path / provenance.FILE).exists()
        facts = provenance.claim(path, self.task)
        task = self.task
        if facts["samples"] > task.draw.samples:
            draw = Draw(task.draw.space, facts["samples"], task.draw.method, task.draw.seed)
            task = Task(task.robot, draw, task.run, task.outputs, task.limit)
        how = task.run.how if isinstance(task.run, Chunked) else "one call of the function for each row"
        LOG.info("study of robot %r in %s: %s", task.robot.name, path, how)
        gaps = parts.missing(path, len(task.draw))
        if gaps:
            _compute(task, path, gaps, executor, workers, progress, fresh)
        return Result(path, task=task, temporary=temporary)


def _compute(
    task: Task,
    path: Path,
    gaps: list[parts.Range],
    executor: Any,
    count: int | None,
    progress: bool | None,
    fresh: bool,
) -> None:
    """The missing rows, each chunk written as soon as it is there."""
    total = len(task.draw)
    done, failed = total - sum(end - begin for begin, end in gaps), 0
    with Progress(f"study of {task.robot.name}", total, "rows", progress) as shown:

        def keep(chunk: Any) -> None:
            nonlocal done, failed
            try:
                parts.write_part(path, chunk)
            except (DalembertError, OSError) as error:
                raise DalembertError(
                    f"{error}. {done} of {total} rows are kept in {path}: make room or restore rights, then run again"
                ) from None
            done += chunk.end - chunk.begin
            failed += chunk.count_failed
            shown.show(done, f"{failed} failed" if failed else "")

        try:
            if isinstance(executor, str) and executor == "slurm":
                slurm.run_array(task, path, count, lambda rows: shown.show(rows))
                return
            workers = workers_of(task, executor, count)
            pace = Pace(total, workers.count, task.most_rows())
            work = Work(workers, pace, keep, parts.Meanwhile(path).left, gaps_from(gaps, fresh))
            try:
                work.run()
            finally:
                workers.close()
        except KeyboardInterrupt:
            done = total - sum(end - begin for begin, end in parts.missing(path, total))
            text = f"{done} of {total} rows are in {path}; the same run again goes on with the others"
            raise Interrupted(f"study: interrupted: {text}", done, Result(path, task=task)) from None


def fill(task: Task, path: Path) -> None:
    """Compute the rows that a folder does not have yet, by threads of this process, beside others that do the same."""
    gaps = parts.missing(path, len(task.draw))
    if gaps:
        cores = os.environ.get("SLURM_CPUS_PER_TASK", "")
        _compute(task, path, gaps, None, int(cores) if cores.isdigit() else None, False, False)


def _resident() -> int:
    """Bytes of memory that this process has had at most."""
    import resource
    import sys

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def study(
    robot: Robot,
    space: Space,
    run: Any,
    *,
    samples: int | None = None,
    method: str = "random",
    seed: int = 0,
    outputs: Sequence[str] | None = None,
    limit: float | None = None,
) -> Job:
    """See `Robot.study`."""
    if not isinstance(space, Space):
        raise DalembertError(f"study: space is of type {type(space).__name__}, expected study.Space(name=…)")
    if samples is None:
        if space.random:
            raise DalembertError("study: how many? pass samples=…")
        samples = 1
    if limit is not None and not (is_number(limit) and limit > 0.0):
        raise DalembertError(f"study: limit is {limit!r}, expected a time above 0 [s], or None")
    names = (outputs,) if isinstance(outputs, str) else None if outputs is None else tuple(outputs)
    if names is not None and (
        not names or len(set(names)) < len(names) or not all(isinstance(x, str) and x for x in names)
    ):
        raise DalembertError(f"study: outputs is {outputs!r}, expected names, each once")
    bound = space.bound(robot.model)
    if isinstance(run, Chunked):
        run.check(robot, bound)
        if names is not None and set(names) != set(run.names):
            raise DalembertError(f"study: outputs is {names}, but the motion measures {run.names}: leave outputs out")
        names = run.names
    elif not callable(run):
        raise DalembertError(f"study: run is of type {type(run).__name__}, expected a function (robot, row) → dict")
    for name in names or ():
        if name in (*bound.axes, *RESERVED):
            raise DalembertError(f"study: output {name!r} is the name of an axis, or of a column of every study")
    return Job(Task(robot, Draw(bound, samples, method, seed), run, names, limit))
