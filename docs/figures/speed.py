"""Draws docs/figures/speed.svg: the saved measurement of one call and of batches as bars."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from drawing import BLUE, ORANGE, figure, save

RESULT = Path(__file__).parent.parent.parent / "benchmarks" / "results" / "speed.json"


def measured() -> dict[str, dict[str, tuple[float, float]]]:
    """For each robot and function how many times faster than Pinocchio one call and a batch are."""
    rows = json.loads(RESULT.read_text("utf-8"))["rows"]
    alike = [row for row in rows if row["dtype"] == "float64" and row["threads"] == 1]
    seconds = {(row["robot"], row["function"], row["system"], row["mode"]): row["best"] for row in alike}
    table: dict[str, dict[str, tuple[float, float]]] = {}
    for robot, function, system, mode in seconds:
        if system == "dalembert" and mode == "call":
            ours = [seconds[robot, function, system, way] for way in ("call", "batch")]
            theirs = [seconds.get((robot, function, "Pinocchio", way)) for way in ("call", "loop")]
            if None not in theirs:
                table.setdefault(robot, {})[function] = theirs[0] / ours[0], theirs[1] / ours[1]
    return table


def main() -> None:
    table = measured()
    picture, panels = figure(8, 2.6, ncols=len(table), sharey=True)
    for axes, (robot, functions) in zip(panels, table.items(), strict=True):
        x = np.arange(len(functions))
        call, batch = np.array(list(functions.values())).T
        axes.bar(x - 0.2, call, 0.4, color=BLUE, label="one call")
        axes.bar(x + 0.2, batch, 0.4, color=ORANGE, label="batch of 4096")
        axes.set_xticks(x, [name.replace("_", "\n").replace("dynamics", "dyn.") for name in functions], fontsize=7)
        axes.set_title(robot, fontsize=10)
        axes.grid(axis="x", visible=False)
        axes.set_yscale("log")
        axes.set_yticks([1, 3, 10, 30, 100], ["1×", "3×", "10×", "30×", "100×"])
    panels[0].set_ylim(1, 200)
    panels[0].set_ylabel("times as fast\nas Pinocchio")
    panels[-1].legend(fontsize=7, loc="upper right")
    save(picture, __file__)


if __name__ == "__main__":
    main()
