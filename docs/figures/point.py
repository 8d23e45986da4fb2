"""Draws docs/figures/point.svg: the same twist seen at two points of a body."""

from __future__ import annotations

import numpy as np

from drawing import BLUE, GREY, ORANGE, RED, figure, save


def main() -> None:
    picture, axes = figure(6.4, 3.0)
    angle = np.linspace(0, 2 * np.pi, 200)
    axes.fill(1.5 + 1.7 * np.cos(angle), 0.55 + 0.75 * np.sin(angle), color="#e8edf3", ec=GREY)
    O, P = np.array([0.5, 0.4]), np.array([2.5, 0.9])
    omega, v = 0.35, np.array([0.3, 0.6])
    at_P = v + omega * np.array([-(P - O)[1], (P - O)[0]])
    for place, speed, name, colour in ((O, v, "$v_O$", BLUE), (P, at_P, "$v_P = v_O + \\omega \\times r$", RED)):
        axes.annotate("", place + 0.8 * speed, place, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 2})
        axes.text(*(place + 0.8 * speed + [0.05, 0.02]), name, color=colour, fontsize=12)
        axes.plot(*place, "o", color=colour)
    axes.annotate("", P, O, arrowprops={"arrowstyle": "->", "color": GREY})
    axes.text(*((O + P) / 2 + [0, -0.2]), "r", fontsize=12, color=GREY)
    axes.text(*(O + [-0.3, -0.22]), "O", fontsize=12, color=BLUE)
    axes.text(*(P + [0.08, -0.22]), "P", fontsize=12, color=RED)
    turn = np.linspace(-0.6, 2.2, 40)
    axes.plot(1.5 + 0.25 * np.cos(turn), 0.1 + 0.25 * np.sin(turn), color=ORANGE, lw=2)
    axes.text(1.82, 0.05, "ω, the same\nat every point", color=ORANGE, fontsize=9, va="center")
    axes.set(xlim=(-0.4, 4.6), ylim=(-0.35, 2.3), aspect="equal")
    axes.axis("off")
    save(picture, __file__)


if __name__ == "__main__":
    main()
