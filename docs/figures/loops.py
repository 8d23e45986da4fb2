"""Draws docs/figures/loops.svg: a four-bar linkage as a tree with one joint cut, and what closes it."""

from __future__ import annotations

import numpy as np

from drawing import BLUE, GREEN, GREY, RED, figure, save


def main() -> None:
    picture, panels = figure(8.6, 2.7, ncols=3)
    A, D = np.array([0.0, 0.0]), np.array([2.0, 0.0])
    B = A + 0.9 * np.array([np.cos(1.9), np.sin(1.9)])
    C = D + 1.5 * np.array([np.cos(1.75), np.sin(1.75)])
    off = np.array([0.42, 0.28])
    for axes, title in zip(
        panels, ("the mechanism", "the tree: one joint cut", "the closure pulls it together"), strict=True
    ):
        end = C + off if title != "the mechanism" else C
        for p, q, colour in ((A, B, BLUE), (B, end, GREEN), (D, C, BLUE)):
            axes.plot(*zip(p, q, strict=True), color=colour, lw=5, solid_capstyle="round")
        for p in (A, D):
            axes.plot([p[0] - 0.25, p[0] + 0.25], [p[1] - 0.12] * 2, color=GREY, lw=3)
        for p in (A, B, D, end, C):
            axes.plot(*p, "o", color="white", mec="black", ms=7)
        axes.set_title(title, fontsize=10)
        axes.set(xlim=(-0.9, 2.9), ylim=(-0.55, 2.35), aspect="equal")
        axes.axis("off")
    panels[0].text(1.0, -0.45, "1 freedom", ha="center", fontsize=9)
    panels[1].text(1.0, -0.45, "3 coordinates: q (3,)", ha="center", fontsize=9)
    panels[1].annotate("", C, C + off, arrowprops={"arrowstyle": "<->", "color": RED})
    panels[1].text(*(C + [-0.15, 0.42]), "Φ(q) ≠ 0", color=RED, fontsize=10, ha="right")
    for start, toward in ((C, off), (C + off, -off)):
        panels[2].annotate("", start + 0.9 * toward, start, arrowprops={"arrowstyle": "-|>", "color": RED, "lw": 2})
    panels[2].text(*(C + [-0.15, 0.42]), "λ and −λ", color=RED, fontsize=10, ha="right")
    panels[2].text(1.0, -0.45, "3 − 2 equations = 1 freedom", ha="center", fontsize=9)
    save(picture, __file__)


if __name__ == "__main__":
    main()
