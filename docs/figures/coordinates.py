"""Draws docs/figures/coordinates.svg: where each joint of a legged robot lies in q and in v; a step on a sphere."""

from __future__ import annotations

import numpy as np

from dalembert import load
from drawing import BLUE, GREEN, GREY, ORANGE, RED, figure, save


def main() -> None:
    robot = load("quadruped")
    picture, (layout, sphere) = figure(9, 3.1, ncols=2, width_ratios=[2.2, 1])
    colours = (ORANGE, BLUE, GREEN, RED, "#8460b5")
    for row, (length, name) in enumerate(((robot.nq, "q"), (robot.nv, "v"))):
        for joint in robot.joints:
            part = joint.q if name == "q" else joint.v
            leg = (
                ("FL", "FR", "RL", "RR").index(joint.name[:2]) + 1 if joint.name[:2] in ("FL", "FR", "RL", "RR") else 0
            )
            layout.barh(-row, part.stop - part.start, left=part.start, height=0.5, color=colours[leg], ec="white")
        layout.text(-0.4, -row, f"{name}  ({length},)", ha="right", va="center", fontsize=11)
    layout.text(1.5, 0, "x y z", ha="center", va="center", color="white", fontsize=9)
    layout.text(5.0, 0, "w x y z", ha="center", va="center", color="white", fontsize=9)
    layout.text(1.5, -1, "ω", ha="center", va="center", color="white", fontsize=10)
    layout.text(4.5, -1, "v", ha="center", va="center", color="white", fontsize=10)
    for k, leg in enumerate(("front left", "front right", "rear left", "rear right")):
        layout.text(8.5 + 3 * k, 0.38, leg, ha="center", fontsize=8, color=colours[k + 1])
    layout.text(3, 0.38, "free base", ha="center", fontsize=8, color=colours[0])
    layout.plot([3, 3], [-0.25, 0.25], color="white", lw=1)
    layout.plot([3, 3], [-1.25, -0.75], color="white", lw=1)
    layout.set(xlim=(-4, 19.5), ylim=(-1.5, 0.7))
    layout.axis("off")
    layout.set_title("the quadruped: nq = 19, nv = 18", fontsize=10)

    angle = np.linspace(0, 2 * np.pi, 200)
    sphere.plot(np.cos(angle), np.sin(angle), color=GREY)
    start, step = np.radians(130), 1.3
    place = np.array([np.cos(start), np.sin(start)])
    tangent = np.array([np.sin(start), -np.cos(start)])
    arc = np.linspace(start, start - step, 50)
    sphere.plot(np.cos(arc), np.sin(arc), color=BLUE, lw=2.5)
    sphere.annotate("", place + step * tangent, place, arrowprops={"arrowstyle": "-|>", "color": RED, "lw": 2})
    sphere.plot(*place, "o", color="black")
    sphere.plot(np.cos(arc[-1]), np.sin(arc[-1]), "o", color=BLUE)
    sphere.text(-0.95, 0.9, "q", fontsize=12)
    sphere.text(0.2, 1.62, "q + v Δt leaves it", color=RED, fontsize=9, ha="center")
    sphere.text(0.1, 0.35, "integrate(q, v, Δt)\nstays on it", color=BLUE, fontsize=9, ha="center")
    sphere.text(0, -0.5, "unit\nquaternions", color=GREY, fontsize=9, ha="center")
    sphere.set(xlim=(-1.4, 1.6), ylim=(-1.15, 1.9), aspect="equal")
    sphere.axis("off")
    save(picture, __file__)


if __name__ == "__main__":
    main()
