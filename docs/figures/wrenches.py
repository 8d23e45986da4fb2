"""Draws docs/figures/wrenches.png: a push on the elbow and a load on the tool of an arm."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dalembert import load
from drawing import Scene


def main() -> None:
    robot = load("ur5e")
    q = np.array([3.4, -1.2, 1.3, -1.1, -1.57, 0.0])
    scene = Scene((0.15, 0.0, 0.45), 2.2, azimuth=-80, elevation=12, size=(760, 400))
    scene.robot(robot, q)
    elbow, tool = robot.pose(q, "forearm_link"), robot.pose(q, "tool0")
    place = (elbow @ [-0.2, 0, 0, 1])[:3]
    scene.ball(place, 0.016, "#e07b28")
    scene.arrow(place + [0, 0, 0.36], [0, 0, -0.34], 0.01, "#e07b28")
    scene.text(place + [-0.02, 0, 0.42], "40 N down, at a point of the forearm", "#e07b28", 15)
    scene.arrow(tool[:3, 3], [0, 0, -0.25], 0.01, "#c63c4f")
    scene.text(tool[:3, 3] + [-0.28, 0, -0.28], "30 N down on tool0,\nworld axes", "#c63c4f", 15)
    scene.arrow(tool[:3, 3], 0.22 * tool[:3, 2], 0.006, "#2f6db3")
    scene.text(tool[:3, 3] + 0.22 * tool[:3, 2] + [0.14, 0, 0.14], 'z of tool0: axes="body"', "#2f6db3", 13)
    scene.image().save(Path(__file__).with_suffix(".png"), optimize=True)


if __name__ == "__main__":
    main()
