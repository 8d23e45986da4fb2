"""Actuators as drives: two position servos move an arm to a target, in a run and in a batch of rollouts."""

import numpy as np

import dalembert

builder = dalembert.ModelBuilder("arm")
rod = {"mass": 1.0, "com": (0.25, 0, 0), "inertia": np.diag([1e-3, 0.02, 0.02]), "axis": (0, 1, 0), "damping": 0.1}
builder.add_body("upper", parent="world", joint="revolute", joint_name="shoulder", **rod)
builder.add_body("fore", parent="upper", joint="revolute", joint_name="elbow", xyz=(0.5, 0, 0), **rod)
for joint, strength in (("shoulder", 30.0), ("elbow", 10.0)):
    builder.add_actuator(
        f"{joint} servo", joint, gain=(400.0, 0, 0), bias=(0, -400.0, -40.0), force_limits=(-strength, strength)
    )
robot = dalembert.Robot(builder.model())

target = np.array([-0.8, 1.2])
run = robot.simulate([0.0, 0.0], [0.0, 0.0], 2.0, controls=target)
print("\n".join(run.log))
print(f"after 2 s: q = {run.q[-1].round(3)}, held by {run.tau[-1].round(2)} N·m; peak {np.abs(run.tau).max(axis=0)}")
assert np.abs(run.tau).max(axis=0)[0] <= 30.0 + 1e-9  # the servo's own limit
assert np.abs(run.q[-1] - target).max() < 0.05  # a proportional servo sags under gravity

targets = np.random.default_rng(0).uniform(-1.0, 1.0, (100, 2))
end = robot.rollout(np.zeros(2), np.zeros(2), controls=targets, step=1e-3, steps=2000, integrator="implicit-fast")
print(f"100 targets: largest sag {np.abs(end.q - targets).max():.3f} rad")
