"""A two-link arm from a Denavit-Hartenberg table, standard and modified: one arm, and the textbook's numbers."""

import tempfile
from pathlib import Path

import numpy as np

from dalembert import load

HEAD = 'angles = "deg"\n[base]\nrpy = [90, 0, 0]\n'  # z horizontal: the arm moves in the x-z plane
ROW = '[[joint]]\ntype = "revolute"\nalpha = 0\nd = 0\n'

# standard: frame i at the far end of link i, where the point masses are
standard = 'convention = "standard"\n' + HEAD + ROW + "a = 0.3\nmass = 2.0\n" + ROW + "a = 0.3\nmass = 1.5\n"
# modified: frame i at the near end; a is that of the link before
far = "com = [0.3, 0, 0]\n"
modified = 'convention = "modified"\n' + HEAD + ROW + "a = 0\nmass = 2.0\n" + far + ROW + "a = 0.3\nmass = 1.5\n" + far

robots = []
with tempfile.TemporaryDirectory() as folder:
    for name, text in (("standard", standard), ("modified", modified)):
        file = Path(folder) / f"{name}.dh.toml"
        file.write_text(text, encoding="utf-8")
        robots.append(load(file, strict=True))

q, v, a = np.array([0.0, np.pi / 2]), np.array([1.0, -0.5]), np.zeros(2)
for robot in robots:
    print(robot.name, "tau", robot.inverse_dynamics(q, v, a).round(3), "M", robot.mass_matrix(q).round(3).tolist())
    np.testing.assert_allclose(robot.mass_matrix(q), [[0.45, 0.135], [0.135, 0.135]], atol=1e-12)
    np.testing.assert_allclose(robot.gravity(q), [3.5 * 0.3 * 9.81, 0.0], atol=1e-12)
np.testing.assert_allclose(robots[0].inverse_dynamics(q, v, a), robots[1].inverse_dynamics(q, v, a), atol=1e-12)
