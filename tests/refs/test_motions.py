"""Motions in time against closed forms and recorded histories."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import ModelBuilder, Robot
from dalembert.spatial import so3
from refs.printed import data
from tolerances import COMPUTED

MOTIONS, ADAMS = data("motions"), data("adams_joints")
TIGHT = {"integrator": "rk8", "rtol": 1e-12, "atol": 1e-13}
CLOSED_FORM = 1e-9
G = 9.80665


def body(joint: str, gravity: float = 0.0, **others) -> Robot:
    builder = ModelBuilder("one body", gravity=(0.0, 0.0, -gravity))
    builder.add_body("body", parent="world", joint=joint, joint_name="joint", **others)
    return builder.build()


def at(run, t: float) -> int:
    return int(np.argmin(np.abs(run.t - t)))


@pytest.mark.parametrize("name", ["euler_top", "euler_top_flip"])
def test_euler_top(name: str) -> None:
    robot = body("ball", mass=1.0, inertia=np.diag([1.0, 2.0, 3.0]))
    w0 = [1.0, 1.0, 1.0] if name == "euler_top" else [0.01, 1.0, 0.01]
    rows = np.array(MOTIONS[name]["rows"])
    run = robot.simulate([1.0, 0.0, 0.0, 0.0], w0, duration=rows[-1, 0], record=1.0, **TIGHT)
    for t, *numbers in rows:
        k = at(run, t)
        np.testing.assert_allclose(run.v[k], numbers[:3], atol=CLOSED_FORM)
        np.testing.assert_allclose(so3.from_quaternion(run.q[k]), so3.from_quaternion(numbers[3:]), atol=CLOSED_FORM)


def test_simple_pendulum() -> None:
    robot = body("revolute", 9.81, axis=(0, 1, 0), mass=1.0, com=(-1, 0, 0), inertia=np.zeros((3, 3)))
    rows = np.array(MOTIONS["simple_pendulum"]["rows"])
    run = robot.simulate([0.0], [0.0], duration=10.0, record=0.01, **TIGHT)
    for t, x, y, vx, vy in rows:
        a, w = run.q[at(run, t), 0], run.v[at(run, t), 0]
        np.testing.assert_allclose([-np.cos(a), np.sin(a)], [x, y], atol=CLOSED_FORM)
        np.testing.assert_allclose([w * np.sin(a), w * np.cos(a)], [vx, vy], atol=CLOSED_FORM * 10)


def test_compound_pendulum() -> None:
    robot = body("revolute", G, axis=(0, 1, 0), mass=1.0, com=(2, 0, 0), inertia=np.diag([0.04, 0.1, 0.1]))
    run = robot.simulate([0.0], [0.0], duration=5.0, record=5.0, **TIGHT)
    (_, x, z, vx, vz) = MOTIONS["compound_pendulum"]["rows"][0]
    a, w = run.q[-1, 0], run.v[-1, 0]
    np.testing.assert_allclose([2 * np.cos(a), -2 * np.sin(a)], [x, z], atol=CLOSED_FORM)
    np.testing.assert_allclose([-2 * w * np.sin(a), -2 * w * np.cos(a)], [vx, vz], atol=CLOSED_FORM)


# Name → turn of the joint about x, its place; the file's own accuracy: its solver kept 1e-4 to 1e-3 (see the spherical
# cases, which repeat the revolute pendulum with other digits)
JOINTS = {
    "Revolute_Case01": ("revolute", -np.pi / 2, (0, 0, 0), 2e-4),
    "Revolute_Case02": ("revolute", -np.pi / 4, (1, 2, 3), 2e-3),
    "Prismatic_Case01": ("prismatic", 0.0, (0, 0, 0), 2e-5),
    "Prismatic_Case02": ("prismatic", -np.pi / 4, (1, 2, 3), 1e-4),
    "Prismatic_Case03": ("prismatic", -np.pi / 2, (1, 2, 3), 2e-5),
    "Spherical_Case01": ("ball", 0.0, (0, 0, 0), 2e-3),
    "Spherical_Case02": ("ball", -np.pi / 4, (1, 2, 3), 2e-3),
}


@pytest.mark.parametrize("case", JOINTS)
def test_joint_histories_of_adams(case: str) -> None:
    kind, turn, place, tolerance = JOINTS[case]
    mass = {"mass": 1.0, "com": (2, 0, 0), "inertia": np.diag([0.04, 0.1, 0.1])}
    robot = body(kind, G, axis=(0, 0, 1), xyz=place, rpy=(turn, 0, 0), **mass)
    run = robot.simulate(robot.neutral(), np.zeros(robot.nv), duration=5.0, record=0.5)
    rows = np.array(ADAMS["cases"][case])
    np.testing.assert_allclose(run.t, rows[:, 0], atol=COMPUTED)
    position = robot.center_of_mass(run.q)
    velocity = robot.velocity(run.q, run.v, "body", point=(2, 0, 0))[:, 3:]
    a = robot.forward_dynamics(run.q, run.v, run.tau)
    wrench = robot.reaction_wrenches(run.q, run.v, a, axes="world")[:, robot.model.body("body").index]
    arm = robot.pose(run.q, "body")[:, :3, 3] - np.array(place)
    force, torque = -wrench[:, 3:], -(wrench[:, :3] + np.cross(arm, wrench[:, 3:]))
    for ours, theirs in ((position, 1), (velocity, 4), (force, 7), (torque, 10)):
        expected = rows[:, theirs : theirs + 3]
        np.testing.assert_allclose(ours, expected, atol=tolerance * max(1.0, np.abs(expected).max()))
