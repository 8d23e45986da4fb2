"""Robots that come with the package.

`dalembert.robots()` names them, `load("panda")` gives one, with no download.
"""

import numpy as np
from PIL import Image

from dalembert import load, robots
from drawing import Scene, beside

SHOWN = ("ur5e", "panda", "iiwa14", "puma560", "scara", "stanford", "quadruped", "humanoid", "hydraulic", "delta")
assert set(SHOWN) <= set(robots())


def portrait(name: str) -> Image.Image:
    robot = load(name)
    q = robot.random(np.random.default_rng(3)) if name in ("panda", "iiwa14") else robot.neutral()
    places = robot.poses(q)[:, :3, 3]
    reach = np.ptp(places, axis=0).max()
    scene = Scene(places.mean(axis=0), 2.6 * reach + 0.4, size=(200, 200), ground=None)
    return scene.robot(robot, q).text((8, 6), name).image()


rows = [beside(*(portrait(name) for name in SHOWN[k : k + 5])) for k in (0, 5)]
sheet = Image.new("RGB", (rows[0].width, 400), "white")
for k, row in enumerate(rows):
    sheet.paste(row, (0, 200 * k))
sheet.save(__file__.replace(".py", ".webp"), quality=80)
