"""Draws docs/figures/hydraulic.svg: a hydraulic arm through three points, its torques, and a valve that closes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dalembert import load, motion
from dalembert.mechanism import Cylinder, at_joint

PLACES = [((1.9, -0.8, 0.4), -0.4), ((2.2, 0.0, 0.9), 0.0), ((1.9, 0.9, 0.5), 0.5)]  # of the load [m], and its yaw


def main() -> None:
    import matplotlib
    from matplotlib.figure import Figure

    arm = load("hydraulic")
    points = [np.array([0.0, 0.6, -1.2, 0.6, 0.0])]
    for place, yaw in PLACES:
        target = np.eye(4)
        target[:2, :2] = [[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]
        target[:3, 3] = place
        points.append(arm.inverse_kinematics(target, "load", start=points[-1]).q)
    move = motion.via(points[1:], [0.0, 2.5, 5.0])
    samples = move.sample(0.01)
    tau = arm.inverse_dynamics(samples.q, samples.v, samples.a)

    middle = points[2]
    lift = Cylinder(
        *("lift", "lift_cylinder_base", "lift_cylinder_rod"),
        bore=0.1,
        rod=0.05,
        stroke=0.6,
        hose=2e-3,
        damping=2e4,
        speed=0.05,
        closure=0.5,
    )
    held = arm.edit().lock(joint1=middle[0], joint3=middle[2], joint4=middle[3], joint5=middle[4]).done()
    seen = at_joint(arm, middle, lift, "joint2")
    rate = seen.rate
    lift = replace(lift, preload=held.gravity(middle[1:2])[0] / seen.lever)  # the oil carries the weight from the start
    run = held.simulate(middle[1:2], [rate], duration=2.0, elements=[lift], integrator="rk23", record=2e-3)

    matplotlib.rcParams["svg.fonttype"], matplotlib.rcParams["svg.hashsalt"] = "none", "hydraulic"
    figure = Figure(figsize=(9, 8), layout="constrained")
    panels = figure.subplots(3, 2)
    for axes, values, name in (
        (panels[0, 0], samples.q, "joint angles [rad]"),
        (panels[0, 1], samples.v, "speeds [rad/s]"),
        (panels[1, 0], samples.a, "accelerations [rad/s²]"),
    ):
        axes.plot(samples.t, values, label=[f"joint {k + 1}" for k in range(5)])
        axes.set_ylabel(name)
    panels[0, 0].legend(fontsize="small", ncols=2)
    panels[1, 1].plot(samples.t, 1e-3 * tau[:, 1:4], label=["joint 2", "joint 3", "joint 4"])
    panels[1, 1].set_ylabel("torques [kN·m]")
    panels[1, 1].legend(fontsize="small", loc="center right", bbox_to_anchor=(1.0, 0.67))
    panels[2, 0].plot(run.t, run.q[:, 0])
    panels[2, 0].set_ylabel("joint 2 [rad]")
    panels[2, 1].plot(run.t, run.v[:, 0])
    panels[2, 1].set_ylabel("joint 2 [rad/s]")
    for axes in panels[2]:
        axes.axvline(0.5, color="gray", ls="--", lw=1)
        axes.set_title("the valve closes at 0.5 s", fontsize="medium")
    for axes in panels.flat:
        axes.set_xlabel("t [s]")
        axes.grid(alpha=0.3)
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
