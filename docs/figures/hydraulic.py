"""Draws docs/figures/hydraulic.svg: a hydraulic arm through three points, its torques, and a valve that closes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dalembert import Robot, elements, load, motion
from dalembert.mechanism import Cylinder, at_joint

PLACES = [((1.9, -0.8, 0.4), -0.4), ((2.2, 0.0, 0.9), 0.0), ((1.9, 0.9, 0.5), 0.5)]  # of the load [m], and its yaw


STIFFNESS = np.array([5.7e5, 1.3e6, 6.6e5, 1.2e5, 1.5e4])  # of the oil, at the joints [N·m/rad]
RATES = np.array([0.3, 0.25, 0.27, -0.2, 0.4])  # at which the valves close [rad/s]


def oscillation(arm: Robot, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times, and how far all joints are from where their valves closed."""
    rest = start + arm.gravity(start) / STIFFNESS
    oil = [elements.Spring(f"joint{k + 1}", STIFFNESS[k], rest[k], 3e-3 * STIFFNESS[k]) for k in range(5)]
    run = arm.simulate(start, RATES, duration=2.0, elements=oil, integrator="rk23", record=2e-3)
    return run.t, run.q - start


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
    panels[2, 0].axvline(0.5, color="gray", ls="--", lw=1)
    panels[2, 0].set_title("the valve of joint 2 closes at 0.5 s", fontsize="medium")
    t, away = oscillation(arm, middle)
    panels[2, 1].plot(t, 1e3 * away, label=[f"joint {k + 1}" for k in range(5)])
    panels[2, 1].set_ylabel("about the start [mrad]")
    panels[2, 1].set_title("all valves closed at 0 s", fontsize="medium")
    for axes in panels.flat:
        axes.set_xlabel("t [s]")
        axes.grid(alpha=0.3)
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
