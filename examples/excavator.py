"""An excavator's arm on three hydraulic cylinders: what the joints feel, and how it settles on its oil."""

import numpy as np

from dalembert.mechanism import at_joint, mechanism

robot = mechanism("excavator").build()
q, v = robot.start
for cylinder, joint in zip(robot.elements, ("boom", "stick", "bucket"), strict=False):
    felt = at_joint(robot, q, cylinder, joint)
    print(
        f"{cylinder.label():16s} {felt.length:.2f} m, lever {felt.lever:+.2f} m, {felt.stiffness / 1e6:6.1f} MN·m/rad"
    )

run = robot.simulate(q, v, 1.0, integrator="implicit-velocity", step=2e-4, record=0.05)
print(f"the arm sinks by {1e3 * np.max(np.abs(run.q[-1] - q)):.1f} mrad onto its oil")
assert np.max(np.abs(run.q[-1] - q)) < 0.02
