"""Draws docs/figures/frames.png: a world, a base and a tool frame on an arm, and the twist of the tool."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dalembert import load
from drawing import GREY, Scene


def main() -> None:
    robot = load("ur5e")
    q = np.array([3.5, -1.5, 1.6, -1.0, -1.2, 0.4])
    v = np.array([0.3, 0.8, 0.1, -0.3, 0.6, 0.0])
    scene = Scene((0.1, -0.05, 0.42), 2.2, azimuth=-70, elevation=16, size=(760, 430))
    scene.robot(robot, q)
    X = robot.pose(q, "tool0")
    omega, speed = robot.velocity(q, v, "tool0").reshape(2, 3)
    world = np.eye(4)
    world[:3, 3] = -0.6, -0.1, 0.0
    scene.frame(world, 0.25).text(world[:3, 3] + [-0.02, 0, 0.28], "world W", size=15)
    scene.frame(X, 0.2).text(X[:3, 3] + [0.12, 0, 0.12], "tool0, frame B", size=15)
    scene.arrow(X[:3, 3], 0.35 * speed, 0.008, "#8460b5")
    scene.text(X[:3, 3] + 0.36 * speed + [0.03, 0, -0.02], "v of the origin of B [m/s]", "#8460b5", 15)
    scene.arrow(X[:3, 3], 0.35 * omega, 0.008, "#e07b28")
    scene.text(X[:3, 3] + 0.36 * omega + [0.02, 0, 0.03], "ω [rad/s]", "#e07b28", 15)
    scene.path(np.linspace(world[:3, 3], X[:3, 3], 2), 0.003, GREY)
    scene.text(0.7 * world[:3, 3] + 0.3 * X[:3, 3] + [-0.02, 0, 0.08], "X_WB", "#444444", 15)
    scene.image().save(Path(__file__).with_suffix(".png"), optimize=True)


if __name__ == "__main__":
    main()
