"""Draws docs/figures/hero.png: some of the bundled robots side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dalembert import Robot, load
from drawing import Scene  # docs/drawing.py


def moved(robot: Robot, q: np.ndarray, x: float, y: float, turn: float = 0.0) -> np.ndarray:
    """A free robot put at (x, y), turned about z, its lowest foot on the ground."""
    q = q.copy()
    q[3:7] = [np.cos(turn / 2), 0, 0, np.sin(turn / 2)]
    q[:2] = x, y
    q[2] -= robot.poses(q)[:, 2, 3].min() - 0.05
    return q


def main() -> None:
    scene = Scene((0.05, 0, 0.84), distance=6.2, azimuth=-90, elevation=9, size=(1100, 330), view=19)
    dog, person = load("quadruped"), load("humanoid")
    q = dog.neutral()
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    scene.robot(dog, moved(dog, q, 0.55, -0.5, 0.5))
    scene.robot(person, moved(person, person.neutral(), 2.35, 0.3, -np.pi / 2 + 0.4))
    drone = load("quadrotor")
    for place in ((0.0, -3.6, 1.36), (0.25, -3.7, 1.42)):
        q = drone.neutral()
        q[:3] = place
        scene.robot(drone, q)
    arms = {
        "ur10e": (-2.4, [3.6, -1.3, 1.6, -1.9, -1.57, 0.0]),
        "panda": (-1.25, [0.3, -0.4, 0.0, -2.1, 0.0, 1.8, 0.8]),
        "iiwa14": (-0.3, [-0.6, 0.5, 0.0, -1.5, 0.0, 1.0, 0.0]),
        "puma560": (1.45, [-1.9, 0.8, -1.9, 0.0, 0.9, 0.0]),
    }
    for name, (x, q) in arms.items():
        scene.robot(load(name), np.array(q), place=(x, 0.3, 0.0))
    scene.image().save(Path(__file__).with_suffix(".png"), optimize=True)


if __name__ == "__main__":
    main()
