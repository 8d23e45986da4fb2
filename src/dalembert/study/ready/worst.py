"""The worst case of a space: rows spread over it, then a search from the worst of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.progress import Progress
from dalembert.robot import Robot
from dalembert.study.distributions.space import MODEL, START, Space

from ..job import Job, study
from ..result import Result
from ..rows import Chunked, Failed, Outputs, Row

STARTS = 3  # rows from which the search sets out
DIFFERENCE = 1e-4  # of the range of each random number
FIRST, LAST = 0.1, 1e-4  # lengths of the compass's steps, of the range
ROUNDS = 100  # of one search, at most


@dataclass(frozen=True)
class WorstCase:
    """The row of a space where an output is largest, as far as it was found; print it to read it.

    value: of the output, the largest entry of an array. axes: values of the axes there. sampled: the largest value
    among the rows of the study before the search; evaluations: of the search. result: that study.
    """

    output: str
    value: float
    axes: dict[str, Any]
    sampled: float
    evaluations: int
    result: Result
    _search: _Search = field(repr=False)
    _u: np.ndarray = field(repr=False)

    def run(self) -> Any:
        """The row again: of a motion the whole `Run` with its ledger, else what the function returns."""
        return self._search.repeated(self._u)

    def __str__(self) -> str:
        lines = [f"{self.output}: {self.value:.6g} ({self.sampled:.6g} among {self.result.table().rows} rows), at"]
        for name, x in self.axes.items():
            shown = f"{x:.6g}" if isinstance(x, float) else np.array2string(np.asarray(x), precision=4, threshold=12)
            lines.append(f"    {name} = {shown}")
        return "\n".join(lines)


@dataclass
class _Search:
    """Values of the output over the unit cube of the random numbers, at one point of the grids."""

    job: Job
    output: str
    entry: int | None
    sign: float
    point: int = 0
    evaluations: int = 0

    def values(self, u: np.ndarray) -> dict[str, np.ndarray]:
        """Values of the axes (n, …) at random numbers u (n, columns)."""
        draw = self.job.task.draw
        found = draw.at(u, np.full(len(u), self.point))
        return {name: found[name] for name in draw.space.axes}

    def __call__(self, u: np.ndarray) -> np.ndarray:
        """The output (n,) to be made large at u (n, columns); −∞ where a row fails or breaks the condition."""
        task, values = self.job.task, self.values(u)
        y = np.full(len(u), -np.inf)
        holds = task.draw.holds(values)
        if not holds.any():
            return y
        values = {name: x[holds] for name, x in values.items()}
        count = int(holds.sum())
        self.evaluations += count
        y[holds] = self._outputs(values, count)
        return np.where(np.isfinite(y), y, -np.inf)

    def _outputs(self, values: Mapping[str, np.ndarray], n: int) -> np.ndarray:
        task = self.job.task
        if isinstance(task.run, Chunked):
            with np.errstate(all="ignore"):
                outputs, failed = task.run.chunk(task.robot, task.draw.space, values, n)
            found = self._number(outputs[self.output])
            found[list(failed)] = -np.inf
            return found
        found = np.full(n, -np.inf)
        for k in range(n):
            row = Row(task.draw.space, task.robot, values, k, k)
            try:
                outputs = Outputs(task.outputs).checked(task.run(row.robot, row))
                found[k] = self._number(outputs[self.output][None])[0]
            except (Failed, ArithmeticError, DalembertError, RuntimeError):
                continue
        return found

    def _number(self, y: np.ndarray) -> np.ndarray:
        flat = self.sign * y.reshape(len(y), -1)
        return flat.max(axis=1) if self.entry is None else flat[:, self.entry]

    def repeated(self, u: np.ndarray) -> Any:
        """The row at u (columns,)."""
        task, values = self.job.task, self.values(u[None])
        if isinstance(task.run, Chunked):
            return task.run.repeated(task.robot, task.draw.space, values)
        row = Row(task.draw.space, task.robot, values, 0, 0)
        return task.run(row.robot, row)


def worst_case(
    robot: Robot,
    space: Space,
    run: Any,
    output: str,
    *,
    entry: int | None = None,
    smallest: bool = False,
    samples: int = 256,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    executor: Any = None,
) -> WorstCase:
    """The largest value of an output over a space: a study of Sobol's points, then a search from its worst rows.

    The search climbs along slopes of the random axes within their ranges, and then tries steps along each, ever shorter
    ones. Slopes of `study.motion` are differences whose rows run together in SIMD lanes, those of a function calls of
    it. space: as of `robot.study`, with at least one random axis; grids stay at the values of the row. entry: of an
    output that is an array, default its largest. smallest: the least value instead. A local search: more samples make
    it surer.
    """
    if isinstance(space, Space) and not space.random:
        raise DalembertError("worst_case: no axis of the space is random: a study of the grid has all rows there are")
    job = study(robot, space, run, samples=samples, method="sobol", seed=seed)
    result = job.run(folder, executor)
    if output not in result.outputs:
        raise unknown("output", output, result.outputs, "worst_case")
    search = _Search(job, output, entry, -1.0 if smallest else 1.0)
    y = search._number(result.table()[output])
    y = np.where(result.table().sound() & np.isfinite(y), y, -np.inf)
    order = np.argsort(-y, kind="stable")[:STARTS]
    if not len(order) or y[order[0]] == -np.inf:
        raise DalembertError(f"worst_case: no row has {output!r}: {result.failed}")
    best: tuple[float, np.ndarray, int] = (-np.inf, np.empty(0), 0)
    rows = result.table()["row"]
    with Progress("worst case", float(len(order)), "searches") as shown:
        for k, place in enumerate(order):
            row = int(rows[place])
            search.point = row % job.task.draw.per_sample
            u = job.task.draw.uniforms(row)
            value, u = _climbed(search, u)
            if value > best[0]:
                best = value, u, search.point
            shown.show(k + 1)
    value, u, search.point = best
    axes = {name: _plain(x[0]) for name, x in search.values(u[None]).items() if name not in (MODEL, START)}
    sampled = float(search.sign * y[order[0]])
    return WorstCase(output, float(search.sign * value), axes, sampled, search.evaluations, result, search, u)


def _plain(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else x


def _climbed(search: _Search, u: np.ndarray) -> tuple[float, np.ndarray]:
    """The value and the place where no step along a slope or an axis makes the output larger."""
    n, length = len(u), FIRST
    axes = np.eye(n)
    value = float(search(np.stack([u, u]))[0])
    for _ in range(ROUNDS):
        h = np.where(u > 0.5, -DIFFERENCE, DIFFERENCE)
        slopes = (search(np.clip(u + h[:, None] * axes, 0.0, 1.0)) - value) / h
        slopes = np.where(np.isfinite(slopes), slopes, 0.0)
        inward = np.where(((u <= 0.0) & (slopes < 0.0)) | ((u >= 1.0) & (slopes > 0.0)), 0.0, slopes)
        size = np.abs(inward).max()
        tries = [u + s * length * axes[k] for k in range(n) for s in (1.0, -1.0)]
        if size > 0.0:
            tries += [u + s * length * inward / size for s in (10.0, 3.0, 1.0, 0.3, 0.1)]
            tries += [np.where(inward > 0.0, 1.0, np.where(inward < 0.0, 0.0, u))]
        places = np.clip(np.array(tries), 0.0, 1.0)
        found = search(places)
        k = int(np.argmax(found))
        if found[k] > value:
            value, u = float(found[k]), places[k]
        elif length <= LAST:
            break
        else:
            length = max(0.3 * length, LAST)
    return value, u
