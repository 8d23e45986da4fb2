"""Draws docs/figures/acrobot_region.svg: from which states of the shoulder an acrobot's regulator brings it home."""

from __future__ import annotations

import numpy as np

from dalembert import control, load
from drawing import figure, save


def main() -> None:
    acrobot, top = load("acrobot"), np.array([np.pi, 0.0])
    hold = control.lqr(acrobot, top)
    law = control.energy_shaping(acrobot, top, hold=hold)
    angles, rates = np.linspace(-0.5, 0.5, 81), np.linspace(-2.0, 2.0, 81)
    grid = np.stack(np.meshgrid(angles, rates), -1).reshape(-1, 2)
    q = top + np.stack([grid[:, 0], np.zeros(len(grid))], -1)
    v = np.stack([grid[:, 1], np.zeros(len(grid))], -1)
    held = control.region_of_attraction(hold, top, q, v).reshape(81, 81)
    cost = np.array([hold.cost(a, b) for a, b in zip(q, v, strict=True)]).reshape(81, 81)
    picture, axes = figure(6, 4.2)
    axes.contourf(angles, rates, held, levels=[-0.5, 0.5, 1.5], colors=["#f0f0f0", "#4c9f70"])
    axes.contour(angles, rates, cost, levels=[law.region], colors="k", linestyles="--")
    axes.set(xlabel="shoulder from upright [rad]", ylabel="its rate [rad/s]", title="held by the regulator")
    save(picture, __file__)


if __name__ == "__main__":
    main()
