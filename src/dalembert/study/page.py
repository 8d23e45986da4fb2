"""The report of a study: one offline HTML page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.files import write_text
from dalembert.report.figures import svg
from dalembert.report.page import number
from dalembert.robot import Robot
from dalembert.sim.run.run import Run
from dalembert.view.recording import recording

from .plot import axes_of, overview, pairs, series
from .result import Result
from .sensitivity import Sensitivity

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
