"""Draws docs/figures/reference.svg: the UR5 of example B beside the printed peaks, and Coriolis against gravity."""

from __future__ import annotations

import numpy as np

from dalembert import load, motion
from drawing import BLUE, GREY, ORANGE, figure, save

START = np.array([0, -np.pi / 2, np.pi / 2, 0, np.pi / 2, 0])
PRINTED = np.array([26, 136, 49, 2.7, 0.9, 0.2])  # peaks of tau [N·m]
CLASSES = ((0.5, 0.0, 0.05), (1.5, 0.10, 0.25), (4.0, 0.5, 1.0), (8.0, 1.0, 3.0))  # speed [rad/s], printed ratios


def main() -> None:
    arm = load("ur5")
    loaded = arm.edit().payload(5.0, frame="tool0").done()
    samples = motion.quintic(START, START + 0.5, duration=1.0).sample(1e-3)
    q, v, a = samples.q, samples.v, samples.a
    gravity = loaded.gravity(q)
    parts = {
        "gravity": gravity,
        "inertia": np.einsum("tij,tj->ti", loaded.mass_matrix(q), a),
        "Coriolis": loaded.bias(q, v) - gravity,
        "sum": loaded.inverse_dynamics(q, v, a),
    }
    picture, (left, middle, right) = figure(11.0, 3.6, ncols=3)
    for name, values in parts.items():
        left.plot(samples.t, values[:, 1], label=name, lw=2 if name == "sum" else 1.2)
    left.set(xlabel="t [s]", ylabel="torque of joint 2 [N·m]", title="example B")
    left.legend()
    joints, peaks = np.arange(1, 7), np.abs(parts["sum"]).max(axis=0)
    middle.bar(joints - 0.2, peaks, 0.4, label="computed", color=BLUE)
    middle.bar(joints + 0.2, PRINTED, 0.4, label="printed", color=GREY)
    middle.set(xlabel="joint", ylabel="peak torque [N·m]", title="peaks of example B")
    middle.legend()
    speeds = np.geomspace(0.3, 10.0, 40)
    weight = np.linalg.norm(arm.gravity(START))
    ratio = [np.linalg.norm(arm.bias(START, w * np.ones(6)) - arm.gravity(START)) / weight for w in speeds]
    right.loglog(speeds, ratio, color=BLUE, label="UR5")
    for k, (speed, low, high) in enumerate(CLASSES):
        right.plot([speed, speed], [max(low, 5e-3), high], color=ORANGE, lw=6, label=None if k else "printed classes")
    right.set(xlabel="speed of all joints [rad/s]", ylabel="Coriolis by gravity", title="grows with the square")
    right.legend()
    save(picture, __file__)


if __name__ == "__main__":
    main()
