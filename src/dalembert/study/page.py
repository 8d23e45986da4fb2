"""Figures of a study, and its report: one offline HTML page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.files import write_text
from dalembert.report.figures import figure, svg
from dalembert.report.page import number
from dalembert.robot import Robot
from dalembert.sim.run.run import Run
from dalembert.study.distributions.space import MODEL, START
from dalembert.view.viewer import recording

from .result import Result
from .sensitivity import Sensitivity

BINS, POINTS, MOST = 40, 4000, 6  # of a histogram, of a scatter plot, curves or rows of a figure
COLOR, BAD = "#3b6fb0", "#b3261e"
HEIGHT, WIDTH = 2.2, 9.0  # inches of a row of plots, of a figure


def series(result: Result, names: Sequence[str] | None = None) -> list[tuple[str, np.ndarray]]:
    """(label, values (n,)) of numbers among the outputs; of an array its largest entry in size."""
    chosen = result.outputs if names is None else [names] if isinstance(names, str) else list(names)
    found = []
    for name in chosen:
        if name not in result.outputs:
            raise unknown("output", name, result.outputs, f"study {result.folder}")
        y = result.table()[name]
        flat = y.reshape(len(y), -1)
        largest = flat if y.ndim == 1 else np.abs(flat).max(axis=1, keepdims=True)
        found.append((name if y.ndim == 1 else f"largest |{name}|", largest[:, 0]))
    return found


def axes_of(result: Result) -> list[tuple[str, np.ndarray]]:
    """(name, values (n,)) of the axes that are numbers."""
    table, found = result.table(), []
    for name in result.draw.space.axes:
        x = table[name] if name not in (MODEL, START) else np.empty(0, object)
        if x.ndim == 1 and x.dtype.kind in "biuf":
            found.append((name, x))
    return found


def overview(result: Result, names: Sequence[str] | None = None) -> Any:
    """A row for each output: its distribution, and its values over the axis with the largest rank correlation."""
    shown = series(result, names)[:MOST]
    if not shown:
        raise DalembertError(f"plot: study {result.folder} has no outputs: did all rows fail?")
    given = axes_of(result)
    picture, axes = figure(WIDTH, HEIGHT * len(shown), nrows=len(shown), ncols=2 if given else 1, squeeze=False)
    good = result.table().sound()
    for (label, y), places in zip(shown, axes, strict=True):
        distribution(places[0], label, y[good])
        if given:
            scatter(places[1], *_strongest(given, y, good), label, y, good)
    return picture


def distribution(axis: Any, label: str, y: np.ndarray) -> None:
    """A histogram, with the median and the 5 and 95 % quantiles."""
    y = y[np.isfinite(y)]
    axis.set(xlabel=label, ylabel="rows")
    axis.grid(alpha=0.3)
    if not len(y):
        return
    axis.hist(y, bins=BINS, color=COLOR, alpha=0.8)
    for share, style in ((5.0, ":"), (50.0, "-"), (95.0, ":")):
        axis.axvline(np.percentile(y, share), color="#1d2329", linestyle=style, linewidth=1)


def scatter(axis: Any, name: str, x: np.ndarray, label: str, y: np.ndarray, good: np.ndarray) -> None:
    """Values over an axis; rows that failed as marks at the bottom."""
    shown = np.flatnonzero(good & np.isfinite(y))
    shown = shown[:: max(1, len(shown) // POINTS)]
    axis.scatter(x[shown], y[shown], s=4, alpha=0.4, color=COLOR, linewidths=0, rasterized=True)
    failed = np.flatnonzero(~good)[:POINTS]
    if len(failed):
        bottom = axis.get_ylim()[0]
        axis.scatter(x[failed], np.full(len(failed), bottom), s=12, marker="|", color=BAD, rasterized=True)
    axis.set(xlabel=name, ylabel=label)
    axis.grid(alpha=0.3)


def pairs(result: Result) -> Any:
    """Every output over every axis, the first `MOST` of each; None without axes that are numbers."""
    shown, given = series(result)[:MOST], axes_of(result)[:MOST]
    if not shown or not given:
        return None
    picture, axes = figure(
        WIDTH, HEIGHT * len(shown), nrows=len(shown), ncols=len(given), squeeze=False, sharex="col", sharey="row"
    )
    good = result.table().sound()
    for row, (label, y) in enumerate(shown):
        for column, (name, x) in enumerate(given):
            scatter(axes[row, column], name, x, label, y, good)
            axes[row, column].label_outer()
    return picture


def _strongest(given: list[tuple[str, np.ndarray]], y: np.ndarray, good: np.ndarray) -> tuple[str, np.ndarray]:
    """The axis whose ranks follow the output most."""
    from .sensitivity import correlations

    if (good & np.isfinite(y)).sum() < 4:
        return given[0]
    found = correlations("", [name for name, _ in given], np.stack([x for _, x in given], 1), np.where(good, y, np.nan))
    return given[int(found.order[0])]


TEMPLATE = Path(__file__).with_name("page.html.j2")
WORST, FACTORS = 10, 20  # rows of tables


def write_page(result: Result, path: str | os.PathLike[str], replays: int) -> Path:
    """See `Result.report`."""
    try:
        import jinja2
        from markupsafe import Markup  # comes with jinja2
    except ImportError:
        raise DalembertError("the report needs jinja2: pip install 'dalembert[report]'") from None
    path = Path(path)
    if not path.parent.is_dir():
        raise DalembertError(f"{path}: there is no folder {path.parent}; make it first")
    if not result.outputs:
        raise DalembertError(f"report: study {result.folder} has no outputs: did all rows fail?")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["number"] = number
    crossed = pairs(result)
    content = {
        "result": result,
        "facts": result.facts,
        "rows": result.table().rows,
        "total": len(result.draw),
        "failed": result.failed,
        "summary": [_summary(label, y[result.table().sound()]) for label, y in series(result)],
        "overview": Markup(svg(overview(result))),
        "pairs": None if crossed is None else Markup(svg(crossed)),
        "sensitivities": [_shares(found) for found in _sensitivities(result)],
        "worst": [_worst(result, name) for name in result.outputs],
        "replays": _replays(result, replays),
    }
    write_text(path, environment.from_string(TEMPLATE.read_text("utf-8")).render(content))
    return path


def _summary(label: str, y: np.ndarray) -> dict[str, Any]:
    y = y[np.isfinite(y)]
    quantiles = np.percentile(y, (0, 5, 50, 95, 100)) if len(y) else np.full(5, np.nan)
    error = y.std(ddof=1) / np.sqrt(len(y)) if len(y) > 1 else np.nan
    return {"name": label, "mean": y.mean() if len(y) else np.nan, "error": error, "quantiles": quantiles}


def _sensitivities(result: Result) -> list[Sensitivity]:
    found = []
    for name in result.outputs:
        y = result.table()[name]
        entries = [None] if y.ndim == 1 else list(range(min(int(np.prod(y.shape[1:])), 12)))
        for entry in entries:
            try:
                found.append(result.sensitivity(name, entry))
            except DalembertError:  # too few rows, or no axis with numbers
                continue
    return found


def _shares(found: Sensitivity) -> dict[str, Any]:
    """The factors in order of their weight; the longest are drawn as bars."""
    order = found.order[:FACTORS]
    rows = [
        {
            "name": found.factors[k],
            "first": found.first[k],
            "total": found.total[k],
            "interval": found.total_interval[k],
            "explained": None if found.explained is None else found.explained[k],
            "bar": 100.0 * min(1.0, abs(float(np.nan_to_num(found.total[k])))),
        }
        for k in order
    ]
    return {"output": found.output, "kind": found.kind, "rows": rows, "more": len(found.factors) - len(rows)}


def _worst(result: Result, name: str) -> dict[str, Any]:
    shown = [axis for axis, _ in axes_of(result)]
    rows = []
    for record in result.worst(name, WORST):
        y = np.ravel(record[name])
        rows.append({"row": record["row"], "value": y[int(np.argmax(y))], "axes": [record[axis] for axis in shown]})
    return {"name": name, "axes": shown, "rows": rows}


def _replays(result: Result, count: int) -> dict[int, str]:
    """Recorded scenes, by row, of the worst rows of each output."""
    if result.task is None or count < 1:
        return {}
    scenes: dict[int, str] = {}
    for name in result.outputs:
        for record in result.worst(name, count):
            row = int(record["row"])
            if row in scenes:
                continue
            again = result.repeat(row)
            if isinstance(again, Mapping):
                again = next((x for x in again.values() if isinstance(x, Run)), None)
            if isinstance(again, Run):
                scenes[row] = recording(Robot(result.task.robot.model), again.t, again.q, again.contacts)
            elif again is None:
                return {}
    return scenes
