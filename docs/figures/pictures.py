"""Draws docs/figures/pictures.png: arms, a quadruped with the forces on its feet, and balls on a terrain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from dalembert import Contact, ModelBuilder, load
from dalembert.collision import HeightField
from dalembert.pictures import Camera, Scene
from dalembert.shapes import Sphere
from drawing import beside

SIZE = (380, 300)


def arms() -> np.ndarray:
    scene = Scene().robot(load("ur5e"), np.array([0.3, -1.2, 1.4, -0.8, -1.2, 0.2]))
    scene.robot(load("panda"), np.array([0.3, -0.4, 0.0, -2.1, 0.0, 1.8, 0.8]), place=(0.1, 0.8, 0.0))
    return scene.picture(Camera(-30, 18, 3.0, (0.1, 0.35, 0.35)), SIZE)


def dog() -> np.ndarray:
    robot = load("quadruped")
    q, stance = robot.neutral(), np.tile([0.0, 0.8, -1.6], 4)
    q[2], q[7:] = 0.32, stance
    step = robot.stepper(2e-3, contact=Contact())
    v, still = np.zeros(robot.nv), np.zeros(6)
    for _ in range(250):
        q, v = step(q, v, np.concatenate([still, 60.0 * (stance - q[7:]) - 2.0 * v[6:]]))
    hold = lambda t, q, v: [*still, *(60.0 * (stance - q[7:]) - 2.0 * v[6:])]  # noqa: E731
    run = robot.simulate(q, v, hold, duration=0.05, contact=Contact())
    return run.render(0.05, camera=Camera(-60, 15), size=SIZE)


def balls() -> np.ndarray:
    builder, rng = ModelBuilder("balls"), np.random.default_rng(3)
    for k in range(9):
        builder.add_body(f"ball{k}", parent="world", joint="free", mass=1.0, inertia=0.004 * np.eye(3))
        builder.add_geometry(Sphere(0.1), body=f"ball{k}", role="collision")
    robot = builder.build()
    xs = np.linspace(-1.2, 1.2, 61)
    field = HeightField(xs, xs, 0.25 * (xs[:, None] ** 2 + xs**2) + 0.04 * np.sin(5 * xs)[:, None] * np.cos(7 * xs))
    q = robot.neutral().reshape(9, 7)
    q[:, :2], q[:, 2] = rng.uniform(-0.8, 0.8, (9, 2)), 0.7
    run = robot.simulate(q.ravel(), np.zeros(robot.nv), 0.6, contact=Contact(ground=None, terrain=field))
    return run.render(0.6, camera=Camera(-60, 32), size=SIZE)


if __name__ == "__main__":
    images = [Image.fromarray(picture) for picture in (arms(), dog(), balls())]
    beside(*images).save(Path(__file__).with_suffix(".png"), optimize=True)
