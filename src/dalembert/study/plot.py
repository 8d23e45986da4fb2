"""Figures of a study: distributions of outputs, and how they hang on the axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.report.figures import figure
from dalembert.study.distributions.space import MODEL, START

from .result import Result

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
