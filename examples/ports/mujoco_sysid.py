"""MuJoCo, sysid notebook: armatures of five joints from noisy encoders (mujoco 4.0.0, mujoco.sysid).

The original, for this library's UR5 saved as MJCF: 34 statements, 211 ms. The log has the original's motion and noise.
Here twice: least squares through rollouts, whose parameters are live, give the original's values; `identify.fit` is
one call, does not take the start as known, weighs joints by their noise, and gives intervals. Together 28 statements.
"""

import numpy as np
from port import picture, seconds
from scipy.optimize import least_squares

from dalembert import identify, load

FOUND = [0.5568695485486379, 0.3968651394569414, 0.31578951790315885, 0.20237595260807925, 0.11167204887929483]
TRUE = np.array([0.5, 0.4, 0.3, 0.2, 0.1, 0.05])
robot = load("ur5").without("friction")
edit = robot.edit()
for joint, armature, damping in zip(robot.joints, TRUE, (20.0, 20.0, 20.0, 4.0, 4.0, 4.0), strict=True):
    edit = edit.set_joint(joint.name, armature=armature, damping=damping)
arm = edit.done()
start, k, t = np.array([0.0, -1.2, 1.4, -0.8, -1.2, 0.2]), np.arange(6), 2e-3 * np.arange(1499)
torque = np.array([60.0, 60.0, 40.0, 8.0, 8.0, 8.0]) * np.sin(2 * np.pi * (0.7 + 0.3 * k) * t[:, None])
options = {"step": 2e-3, "steps": 1498, "integrator": "semi-implicit-damped", "every": 1}  # the file's
motion = arm.rollout(start, np.zeros(6), torque[:-1], **options).q
encoders = np.vstack([start, motion]) + np.random.default_rng(0).normal(scale=0.1, size=(1499, 6))


def residual(x):
    """Errors (n, 1498·6) of the motions with armatures x (n, 5)."""
    armature = np.column_stack([x, np.full(len(x), TRUE[5])])
    run = arm.rollout(
        np.tile(start, (len(x), 1)), np.zeros(6), torque[:-1], parameters={"armature": armature}, **options
    )
    off = (run.q - encoders[1:]) / np.linalg.norm(encoders, axis=0)  # weighed as the original does
    return off.reshape(len(x), -1)


def slopes(x):
    moved = residual(np.concatenate([x + 1e-6 * np.eye(5), x - 1e-6 * np.eye(5)]))
    return (moved[:5] - moved[5:]).T / 2e-6


def search():
    return least_squares(lambda x: residual(x[None])[0], np.full(5, 0.01), slopes, (0.01 - 1e-12, 0.6))


names = [f"{joint.name}.armature" for joint in arm.joints[:5]]
found, log = search(), {"t": t, "q": encoders, "tau": torque}
guess, bounds = dict.fromkeys(names, 0.01), dict.fromkeys(names, (0.01, 0.6))
fit = identify.fit(arm, log, parameters=names, start=guess, bounds=bounds, integrator="semi-implicit-damped")

np.testing.assert_allclose(found.x, FOUND, atol=1e-5)
half = 0.5 * np.diff(fit.interval)[:, 0]  # of 95 %
assert np.all(np.abs(fit.x - TRUE[:5]) < 1.5 * half)
print(f"{fit}\nrollouts and least squares {found.x} in {1e3 * seconds(search, 5):.0f} ms, MuJoCo 211 ms")


def draw(path):
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(layout="constrained")
    axes.errorbar(range(5), fit.x, half, fmt="o", capsize=4, label="identify.fit, 95 %")
    axes.plot(range(5), FOUND, "x", label="mujoco.sysid")
    axes.plot(range(5), TRUE[:5], "k_", markersize=20, label="truth")
    axes.set(xticks=range(5), xticklabels=[joint.name.removesuffix("_joint") for joint in arm.joints[:5]])
    axes.set(ylabel="armature [kg m²]")
    axes.legend()
    figure.savefig(path)


picture(draw)
