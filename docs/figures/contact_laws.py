"""Draws docs/figures/contact_laws.svg: normal force against gap and friction against slip, rigid and compliant."""

from __future__ import annotations

import numpy as np

from drawing import BLUE, GREY, ORANGE, RED, figure, save


def main() -> None:
    picture, (normal, friction, cone) = figure(9, 2.9, ncols=3)
    normal.plot([0, 0, 4], [10, 0, 0], color=BLUE, lw=2.5, label="rigid")
    gap = np.linspace(-1.6, 0, 100)
    normal.plot(np.r_[gap, 4], np.r_[10 * (-gap / 1.6) ** 1.5, 0], color=ORANGE, lw=2, label="compliant")
    normal.set(xlabel="gap [mm]", ylabel="normal force", xlim=(-2, 3.5), ylim=(-0.5, 10), yticks=[0], yticklabels=["0"])
    normal.legend(fontsize=8, loc="upper right")
    normal.set_title("no pulling, no passing", fontsize=10)
    friction.plot([-4, 0, 0, 4], [1, 1, -1, -1], color=BLUE, lw=2.5)
    slip = np.linspace(-4, 4, 200)
    friction.plot(slip, -np.tanh(slip / 0.9), color=ORANGE, lw=2)
    friction.set(xlabel="slip speed [mm/s]", ylabel="friction", yticks=[-1, 0, 1], yticklabels=["−µN", "0", "µN"])
    friction.set_title("sticks, or slides against it", fontsize=10)
    friction.text(0.2, 0.35, "at rest: any force\nup to µN", fontsize=8, color=BLUE)
    friction.text(0.9, -0.55, "creeps under\nany load", fontsize=8, color=ORANGE)
    edge = 0.6 * 3
    cone.fill([0, -edge, edge], [0, 3, 3], color="#dbe7f3")
    cone.plot([-edge, 0, edge], [3, 0, 3], color=BLUE, lw=2)
    for force, colour, name in (((0.8, 2.4), GREY, "holds"), ((1.38, 2.3), RED, "slides")):
        cone.annotate("", force, (0, 0), arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 2})
        cone.text(force[0] - 0.05, force[1] + 0.12, name, color=colour, fontsize=9, ha="center")
    cone.axhline(0, color="black", lw=1)
    cone.text(-1.0, 2.55, "atan µ", fontsize=9, color=BLUE)
    cone.set(xlabel="tangential force", ylabel="normal force", xticks=[], yticks=[], ylim=(-0.2, 3.2), aspect="equal")
    cone.set_title("Coulomb's cone", fontsize=10)
    save(picture, __file__)


if __name__ == "__main__":
    main()
