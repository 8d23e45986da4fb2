"""Crocoddyl, arm_manipulation_fwddyn: a Kinova arm plans its way to a pose (crocoddyl 3.2.1, pin 4.0.0).

The original, for this library's gen3: 49 statements, 188 ms for 14 iterations of FDDP to a cost of 2.961. This: 23,
0.4 ms for 10 iterations to 1.674, where FDDP stays if it starts there.
"""

import numpy as np
from port import picture, seconds

from dalembert import load
from dalembert.math import rotation_log
from dalembert.spatial import se3

COST = 1.6736044254250608  # of the original's shooting problem, for the torques found here
robot, tool = load("gen3").without("friction", "damping"), "end_effector_link"
edit = robot.edit()
for joint in robot.joints:
    edit = edit.set_joint(joint.name, armature=0.1)
arm = edit.done()
start = np.array([0.0, 0.3, 0.0, 1.6, 0.0, 1.2, 0.0])
place, turned = np.array([0.4, 0.3, 0.5]), np.diag([1.0, -1.0, -1.0])


def missed(q):
    X = arm.pose(q, tool)
    turn = rotation_log(turned.T @ X[:3, :3])
    return np.concatenate([turn, se3.velocity_reaching(turn, turned.T @ (X[:3, 3] - place))])


def rest(q, v):
    return np.concatenate([q - start, v])


def running(q, v, u):
    return {"goal": (1.0, missed(q)), "rest": (1e-1, rest(q, v)), "effort": (1e-3, u - arm.gravity(q))}


def terminal(q, v):
    return {"goal": (1e3, missed(q)), "rest": (1e-1, rest(q, v))}


problem = arm.optimal_control(running, terminal, step=0.01, nodes=100)
plan = problem.solve(start)

np.testing.assert_allclose(plan.cost, COST, rtol=1e-11)
elapsed = seconds(lambda: problem.solve(start))
print(f"cost {plan.cost:.6f} after {plan.iterations} iterations; {1e3 * elapsed:.2f} ms, Crocoddyl 2.961 in 188 ms")
picture(lambda path: arm.render(plan.q[-1], path))
