"""The result as a picture: time per state of every system, one panel per function."""

from __future__ import annotations

from pathlib import Path

from dalembert.files import replacing
from dalembert.notebook import figure

from .report import BATCH, Document, Timings, distinct
from .study import OURS


def save(document: Document, path: Path) -> None:
    """Write a PNG. Needs matplotlib (`pip install "dalembert[plot]"`)."""
    rows, timings = document["timings"], Timings(document["timings"])
    functions, robots = distinct(rows, "function"), distinct(rows, "robot")
    systems = [name for name in distinct(rows, "system") if name != OURS]
    series = [(f"{OURS}, one call", OURS, "call", 1), (f"{OURS}, batch of {BATCH}", OURS, "batch", BATCH)]
    series += [(f"{name}, one call", name, "call", 1) for name in systems]
    picture = figure(11.0, 1 + 2.2 * len(functions))
    panels = picture.subplots(len(functions), 1, sharex=True, squeeze=False)[:, 0]
    for panel, function in zip(panels, functions, strict=True):
        for k, (label, system, mode, batch) in enumerate(series):
            measured = [timings.get(robot, function, mode, batch, system=system) for robot in robots]
            at = [i + 0.12 * (k - (len(series) - 1) / 2) for i, row in enumerate(measured) if row]
            values = [1e6 * row["best"] for row in measured if row]
            high = [1e6 * (row["high"] - row["best"]) for row in measured if row]
            panel.errorbar(
                at, values, yerr=[[0.0] * len(high), high], fmt="s" if system == OURS else "o", label=label, capsize=2
            )
        panel.set(yscale="log", ylabel="µs per state", title=function.replace("_", " "))
        panel.set_xticks(range(len(robots)), robots)
        panel.grid(axis="y", which="both", alpha=0.25)
    handles, labels = panels[0].get_legend_handles_labels()
    picture.legend(handles, labels, ncols=len(series), fontsize="small", loc="outside upper center")
    with replacing(path) as temporary:
        picture.savefig(temporary, dpi=130)
