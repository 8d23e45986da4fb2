"""A four-bar linkage: a loop closed by a pin, kept closed in motion, with the force of the pin."""

import numpy as np

from dalembert import ModelBuilder
from dalembert.spatial import Pose

builder = ModelBuilder("four-bar", gravity=(0, 0, -9.8))
link = {"mass": 20.0, "com": (2, 0, 0), "inertia": np.diag([0.083, 29.47, 29.42])}
link |= {"joint": "revolute", "axis": (0, 1, 0)}
builder.add_body("crank", parent="world", **link)
builder.add_body("coupler", parent="crank", xyz=(4, 0, 0), **link)
builder.add_body("rocker", parent="world", xyz=(-2, 0, 0), **link)
end = Pose(np.eye(3), np.array([4.0, 0.0, 0.0]))
builder.add_closure("pin", "revolute", a="coupler", b="rocker", placement_a=end, placement_b=end, axis=(0, 1, 0))
robot = builder.build()

run = robot.simulate(np.deg2rad([60.0, 110.0, 80.0]), np.zeros(3), 2.0)
print(*run.log, sep="\n")  # the start was moved to where the loop is closed
print("angles at the end [deg]", np.rad2deg(run.q[-1]).round(3), " pin force [N]", run.multipliers[-1, 2:].round(1))

a, pin = robot.loop_dynamics(run.q[-1], run.v[-1], np.zeros(3))
tau, _ = robot.loop_inverse_dynamics(run.q[-1], run.v[-1], a, actuated=["crank"])
print("accelerations at the end [rad/s²]", a.round(2), " torque of the crank for them [N·m]", tau[0].round(6))
assert np.allclose(pin, run.multipliers[-1], rtol=1e-6) and abs(tau[0]) < 1e-6
(wrench,) = robot.closure_wrenches(run.q[-1], pin)  # on the rocker, along the axes of the coupler's end
print("force of the pin on the rocker [N]", wrench[3:].round(1), " moment [N·m]", wrench[:3].round(6))
assert abs(wrench[1]) < 1e-6  # a pin gives no moment about its own axis

tree = robot.without("loops")
tips = tree.pose(run.q, "coupler") @ end.matrix(), tree.pose(run.q, "rocker") @ end.matrix()
gap = np.abs(tips[0][:, :3, 3] - tips[1][:, :3, 3]).max()
print(f"the pin is open by at most {gap:.1e} m; {run.energy}")
assert gap < 1e-8  # between steps; at their ends it is closed to rounding
assert np.abs(run.energy.residual).max() < 1e-6 * run.energy.scale

long = robot.simulate(run.q[0], np.zeros(3), 200.0, integrator="variational", step=1e-2, record=1.0)
print(f"over {long.steps} steps of 10 ms the energy errs by at most {np.abs(long.energy.residual).max():.1e} J")
assert np.abs(long.energy.residual).max() < 1e-5 * long.energy.scale
