"""Minimal costs of arm motions that other solvers find, too.

Symplectic Euler, armature 0.1 on every joint, no friction; running ½ (0.1 |x − x₀|² + 1e-3 |u − g(q)|² + |p − p*|²) dt,
end ½ (1e3 |p − p*|² + 0.1 |x − x₀|²). The costs are Crocoddyl's (3.2.1, FDDP); IPOPT and fatrop agree to 1e-11. That
with torque limits is BoxFDDP's with a stopping threshold of 1e-9.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert
from peers.example_robots import folder
from tolerances import PRODUCT

RELATIVE = 1e-8
PANDA = ("panda_description/urdf/panda.urdf", "panda_hand", [0, -0.5, 0, -2.0, 0, 1.6, 0.8], [0.4, 0.4, 0.4])
UR5 = ("ur_description/urdf/ur5_robot.urdf", "tool0", [0, -np.pi / 2, np.pi / 2, 0, 0.1, 0], [0.4, 0.3, 0.5])


@cache
def robot_of(file):
    robot = dalembert.load(folder() / file)
    if "panda" in file:
        robot = robot.edit().lock({"panda_finger_joint1": 0.0}).done()
    edit = robot.without("friction", "damping", "springs").edit()
    for joint in robot.joints:
        edit = edit.set_joint(joint.name, armature=0.1)
    return edit.done()


def reaching(arm, nodes, step, **options):
    file, frame, q0, goal = arm
    robot, q0 = robot_of(file), np.array(q0, float)

    def running(q, v, u, goal):
        return {
            "state": (1e-1, np.concatenate([q - q0, v])),
            "effort": (1e-3, u - robot.gravity(q)),
            "reach": (1.0, robot.pose(q, frame)[:3, 3] - goal),
        }

    def terminal(q, v, goal):
        return {
            "reach": (1e3, robot.pose(q, frame)[:3, 3] - goal),
            "state": (1e-1, np.concatenate([q - q0, v])),
        }

    problem = robot.optimal_control(running, terminal, step=step, nodes=nodes, goal=3, **options)
    return problem.solve(q0, goal=goal)


@pytest.mark.parametrize(
    "arm, nodes, step, cost",
    [
        pytest.param(UR5, 100, 0.01, 0.0239858265036, id="ur5"),
        pytest.param(PANDA, 100, 0.01, 0.157113933711, id="panda-100"),
        pytest.param(PANDA, 20, 0.05, 0.157013100008, id="panda-20"),
    ],
)
def test_reaching_costs_what_other_solvers_find(arm, nodes, step, cost):
    plan = reaching(arm, nodes, step)
    assert plan.converged and plan.why == ""
    assert plan.cost == pytest.approx(cost, rel=RELATIVE)
    assert sum(plan.costs.values()) == pytest.approx(plan.cost, rel=PRODUCT)


def test_torque_limits_cost_what_another_solver_finds():
    limit = np.array([15, 20, 10, 25, 4, 5, 2.0])
    plan = reaching(PANDA, 100, 0.01, limits={"torque": limit})
    assert plan.converged and plan.violation == 0.0
    assert plan.cost == pytest.approx(0.2278159618, rel=RELATIVE)
    assert np.all(np.abs(plan.u) <= limit)
    assert np.sum(np.abs(plan.u) > 0.999 * limit) > 10  # they matter
