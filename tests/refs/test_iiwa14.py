"""KUKA iiwa 14: equations derived by MotionGenesis (Kane's method), evaluated in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Robot, load
from refs.printed import DATA_FILES, data, with_gravity
from tolerances import RECURSION, assert_close

DATA = data("iiwa14")
TIP = "iiwa_link_7"


@pytest.fixture(scope="module")
def iiwa() -> Robot:
    return load(DATA_FILES / "iiwa14.urdf")


@pytest.mark.parametrize(
    "case", DATA["cases"], ids=lambda case: f"g={case['g']}, v={case['qd'][0]}, a={case['qdd'][0]:g}"
)
def test_torques_and_motion(iiwa, case):
    robot = with_gravity(iiwa, case["g"])
    q, v, a, tau = (np.array(case[name]) for name in ("q", "qd", "qdd", "tau"))
    assert_close(robot.inverse_dynamics(q, v, a), tau, RECURSION)
    assert_close(robot.forward_dynamics(q, v, tau), a, RECURSION, scale=10.0)
    pose = robot.pose(q, TIP)
    assert_close(pose[:3, :3], case["R_NG"], RECURSION)
    assert_close(pose[:3, 3], case["p"], RECURSION)
    assert_close(robot.velocity(q, v, TIP), [*case["w"], *case["v"]], RECURSION)
    assert_close(robot.acceleration(q, v, a, TIP), [*case["alpha"], *case["a"]], RECURSION)


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: f"g={case['g']}, v={case['qd'][0]}")
def test_joint_reactions(iiwa, case):
    robot = with_gravity(iiwa, case["g"])
    q, v, a = (np.array(case[name]) for name in ("q", "qd", "qdd"))
    assert [body.name for body in robot.bodies[1:]] == [f"iiwa_link_{k}" for k in range(1, 8)]
    F = robot.reaction_wrenches(q, v, a, axes="world")
    assert_close(F[1:], case["F"], RECURSION)
    weight = np.array([0.0, 0.0, case["g"] * robot.bodies[0].mass])
    assert_close(F[0, 3:], case["F"][0][3:] + weight, RECURSION)


def test_static_poses(iiwa):
    static = DATA["static"]
    pose = iiwa.pose(np.radians(static["q_deg"]), TIP)
    assert_close(pose[:3, :3], static["R"], RECURSION)
    assert_close(pose[:3, 3], static["p"], RECURSION)
    assert_close(iiwa.pose(np.zeros(7), TIP)[:3, 3], static["p_q0"], RECURSION)


def test_spinning_the_last_link_loads_the_parallel_joints(iiwa):
    a = np.array([0.0, 0, 0, 0, 0, 0, 1000.0])
    tau = with_gravity(iiwa, 0.0).inverse_dynamics(np.zeros(7), np.zeros(7), a)
    assert_close(tau, DATA["static"]["tau_q0_qdd7_1000_g0"], RECURSION)
