"""The result of a study: its table, what failed, which rows are worst, what matters."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown, whole_number
from dalembert.study.distributions.space import MODEL, START, Draw, space_of

from . import parts, provenance
from .rows import Chunked, Named, Row
from .sensitivity import Sensitivity, correlations, sobol_indices
from .table import Table
from .work import Task


@dataclass(frozen=True)
class Failures(Named[np.ndarray]):
    """Reasons and the rows (n,) that have each; print it to read it. Numbers in a reason do not make another one."""

    groups: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.groups:
            raise unknown("reason", name, self.groups, "failed")
        return self.groups[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def rows(self) -> np.ndarray:
        """All rows that failed, in order."""
        return np.sort(np.concatenate([*self.groups.values(), np.empty(0, int)])).astype(int)

    def __str__(self) -> str:
        if not self.groups:
            return "no row failed"
        lines = [f"{len(self.rows)} row{'s' * (len(self.rows) > 1)} failed"]
        for text, rows in self.groups.items():
            some = ", ".join(map(str, rows[:5])) + (", …" if len(rows) > 5 else "")
            lines.append(f"{len(rows):8d}  {text}  (rows {some})" if len(rows) > 1 else f"{1:8d}  {text}  (row {some})")
        return "\n".join(lines)


class Result:
    """A study in a folder, as far as it has come: `job.run(…)` and `study.open(folder)` return it."""

    def __init__(self, folder: Path, task: Task | None = None, temporary: Any = None) -> None:
        self.folder, self.task, self._temporary = folder, task, temporary
        self.facts: dict[str, Any] = provenance.read(folder)
        if task is None:
            space = space_of(self.facts["axes"])
            self.draw = Draw(space, self.facts["samples"], self.facts["method"], self.facts["seed"])
        else:
            self.draw = task.draw

    def __repr__(self) -> str:
        count = len(self.failed.rows)
        failed = f", {count} failed" if count else ""
        rest = "" if self.complete else f" of {len(self.draw)}"
        return f"Result({str(self.folder)!r}: {self.table().rows}{rest} rows{failed})"

    @cached_property
    def _table(self) -> Table:
        return Table(self.folder, self.draw, self.facts["conditioned"], self._temporary)

    def table(self) -> Table:
        """All rows as columns: `result.table()["peak_torque"]`."""
        return self._table

    @property
    def complete(self) -> bool:
        """Whether every row is there, failed ones included."""
        return not parts.missing(self.folder, len(self.draw))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of what the function gave."""
        return self._table.outputs

    @cached_property
    def failed(self) -> Failures:
        """Rows without a result, grouped by reason, the most frequent one first."""
        texts, rows = self._table["failed"], self._table["row"]
        groups: dict[str, list[int]] = {}
        first: dict[str, str] = {}
        for k in np.flatnonzero(texts != ""):
            key = re.sub(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?", "#", texts[k])
            groups.setdefault(first.setdefault(key, texts[k]), []).append(int(rows[k]))
        ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
        return Failures({text: np.array(found) for text, found in ordered})

    def worst(self, name: str, count: int = 10, *, smallest: bool = False) -> list[dict[str, Any]]:
        """The rows with the largest `name`, or the smallest, each a dict of columns. Of an array its largest entry."""
        whole_number("worst: count", count)
        y = self._numbers(name)
        y = y.reshape(len(y), -1).min(axis=1) if smallest else y.reshape(len(y), -1).max(axis=1)
        usable = np.flatnonzero(~np.isnan(y) & self._table.sound())
        order = usable[np.argsort(y[usable] if smallest else -y[usable], kind="stable")][:count]
        return [self._table.record(int(k)) for k in order]

    def repeat(self, row: int) -> Any:
        """One row again: of a motion the whole `Run` with its ledger, else what the function returns.

        A run by itself has code of its own, and agrees with the row to the integrator's tolerance.
        """
        if self.task is None:
            raise DalembertError(
                f"{self.folder}: repeat needs the function of the study, which the folder does not have: call it "
                "on the result of job.run(…)"
            )
        whole = isinstance(row, (int, np.integer)) and not isinstance(row, bool)
        if not (whole and 0 <= row < len(self.draw)):
            raise DalembertError(f"repeat: row {row!r}, expected a number from 0 to {len(self.draw) - 1}")
        task, values = self.task, self.draw.rows(int(row), int(row) + 1)
        if isinstance(task.run, Chunked):
            return task.run.repeated(task.robot, self.draw.space, values)
        asked = Row(self.draw.space, task.robot, values, 0, int(row))
        return task.run(asked.robot, asked)

    def sensitivity(self, name: str, entry: int | None = None) -> Sensitivity:
        """Which axis matters for an output: Sobol's indices of method="saltelli", else correlations; with intervals.

        entry: of an output that is an array, flat.
        """
        y = self._numbers(name).reshape(self._table.rows, -1)
        place = 0 if y.shape[1] == 1 and entry is None else entry
        if place not in range(y.shape[1]):
            raise DalembertError(f"sensitivity: {name!r} has {y.shape[1]} entries: say which, sensitivity({name!r}, 0)")
        values = np.where(self._table.sound(), y[:, place], np.nan)
        label = name if y.shape[1] == 1 else f"{name}[{entry}]"
        if self.draw.method != "saltelli":
            factors, x = self._factors()
            return correlations(label, factors, x, values, self._table["row"] // self.draw.per_sample)
        block = self.draw.per_sample
        whole = np.full(len(self.draw), np.nan)
        whole[self._table["row"]] = values
        return sobol_indices(label, [factor for factor, _ in self.draw.factors], whole.reshape(-1, block))

    def plot(self, names: Any = None) -> Any:
        """A matplotlib figure: the distribution of each output, and each over the axis that matters most."""
        from .page import overview

        return overview(self, names)

    def report(self, path: str | os.PathLike[str], *, replays: int = 1) -> Path:
        """Write one offline HTML page: distributions, pair plots, what matters, what failed, worst rows.

        replays: how many of the worst rows of each output have a link that plays them in the viewer, where the function
        is a motion or returns a `Run` beside its outputs.
        """
        from .page import write_page

        return write_page(self, path, replays)

    def _numbers(self, name: str) -> np.ndarray:
        if name not in self.outputs:
            raise unknown("output", name, self.outputs, f"study {self.folder}")
        return self._table[name]

    def _factors(self) -> tuple[list[str], np.ndarray]:
        """Names and values (n, k) of all numeric axes."""
        names: list[str] = []
        columns = []
        for name in self.draw.space.axes:
            x = self._table[name]
            if x.dtype.kind not in "biuf" or (name in (MODEL, START) and self.facts["conditioned"]):
                continue
            flat = x.reshape(len(x), -1)
            labels = self._table.labels.get(
                name, [name] if x.ndim == 1 else [f"{name}[{k}]" for k in range(flat.shape[1])]
            )
            names += labels
            columns.append(flat)
        if not columns:
            raise DalembertError("sensitivity: no axis has numbers to correlate with")
        return names, np.concatenate(columns, axis=1)


def open_study(folder: str | os.PathLike[str]) -> Result:
    """The study in a folder, without the code that made it: its table, failures, worst rows, sensitivity, report."""
    return Result(Path(folder))
