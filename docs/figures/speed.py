"""Draws docs/figures/speed.svg: the measured table of docs/performance.md as bars."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from drawing import BLUE, ORANGE, figure, save

PAGE = Path(__file__).parent.parent / "performance.md"


def measured() -> dict[str, dict[str, tuple[float, float]]]:
    """For each robot and function how many times faster one call and a batch are."""
    text = PAGE.read_text("utf-8").split("<!-- speed: written")[1].split("<!-- speed: end")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")][2:]
    table: dict[str, dict[str, tuple[float, float]]] = {}
    for robot, function, _, _, call, _, _, batch in rows:
        table.setdefault(robot, {})[function] = float(call), float(batch)
    return table


def main() -> None:
    table = measured()
    picture, panels = figure(8, 2.6, ncols=len(table), sharey=True)
    for axes, (robot, functions) in zip(panels, table.items(), strict=True):
        x = np.arange(len(functions))
        call, batch = np.array(list(functions.values())).T
        axes.bar(x - 0.2, call, 0.4, color=BLUE, label="one call")
        axes.bar(x + 0.2, batch, 0.4, color=ORANGE, label="batch of 4096")
        axes.set_xticks(x, [name.replace(" ", "\n").replace("dynamics", "dyn.") for name in functions], fontsize=7)
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
