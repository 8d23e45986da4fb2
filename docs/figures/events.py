"""Draws docs/figures/events.svg: a step that would jump over a stop, and the same motion with the instant located."""

from __future__ import annotations

import numpy as np

from dalembert import Event, ModelBuilder, elements
from drawing import BLUE, GREY, RED, figure, save


def main() -> None:
    builder = ModelBuilder("weight")
    slide = {"joint": "prismatic", "joint_name": "height", "axis": (0, 0, 1), "lower": 0.0, "upper": 2.0}
    builder.add_body("weight", parent="world", mass=1.0, **slide)
    robot = builder.build()
    stop = elements.HardStop("height", restitution=0.7)
    half = Event("half way up", lambda t, q, v: q[0] - 0.3, direction=1)
    run = robot.simulate([1.0], [0.0], 2.2, elements=[stop], events=[half], record=5e-3)
    picture, (whole, near) = figure(8.6, 3.0, ncols=2, width_ratios=[1.7, 1])
    whole.plot(run.t, run.q[:, 0], color=BLUE)
    for event in run.events:
        height = 0.3 if event.name == "half way up" else 0.0
        whole.plot(event.t, height, "o" if height == 0 else "^", color=RED, ms=6)
    whole.plot([], [], "o", color=RED, label="impact on the stop")
    whole.plot([], [], "^", color=RED, label="your event: height passes 0.3 m upwards")
    whole.legend(fontsize=8, loc="upper right")
    whole.set(xlabel="t [s]", ylabel="height [m]", ylim=(-0.05, 1.25))
    impact = np.sqrt(2 / 9.81)
    t = np.array([0.36, 0.42, 0.48])
    near.plot(np.linspace(0.36, 0.48, 50), 1 - 4.905 * np.linspace(0.36, 0.48, 50) ** 2, "--", color=GREY)
    near.plot(t, 1 - 4.905 * t**2, "s", color=GREY, label="steps that do not look")
    before = np.linspace(0.36, impact, 30)
    near.plot(before, 1 - 4.905 * before**2, color=BLUE, lw=2)
    after = np.linspace(impact, 0.48, 30)
    near.plot(after, 0.7 * 9.81 * impact * (after - impact) - 4.905 * (after - impact) ** 2, color=BLUE, lw=2)
    near.plot(impact, 0, "o", color=RED, label=f"the instant, {impact:.6f} s")
    near.axhline(0, color="black", lw=1)
    near.set(xlabel="t [s]", ylim=(-0.15, 0.42))
    near.legend(fontsize=8)
    save(picture, __file__)


if __name__ == "__main__":
    main()
