"""Chains and trees from RBDL's own tests: accelerations from rest, and the motion of a point of a floating body."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import ModelBuilder, Robot
from refs.printed import data
from tolerances import PRODUCT, RECURSION, assert_close

DATA = data("rbdl")
AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


def build(bodies, inertia=(1.0, 1.0, 1.0)) -> Robot:
    """Revolute joints; a body without a centre of mass is massless."""
    builder = ModelBuilder("chain", gravity=(0.0, -9.81, 0.0))
    for name, parent, axis, xyz, com in bodies:
        body = {} if com is None else {"mass": 1.0, "com": com, "inertia": np.diag(inertia)}
        builder.add_body(name, parent=parent, joint="revolute", axis=AXES[axis], xyz=xyz, **body)
    return builder.build()


@pytest.mark.parametrize("name", DATA["chains"])
def test_accelerations_from_rest(name):
    chain = DATA["chains"][name]
    robot = build(chain["bodies"], chain.get("inertia", (1.0, 1.0, 1.0)))
    rest = np.zeros(robot.nv)
    a = robot.forward_dynamics(rest, rest, rest)
    assert_close(a, chain["qdd"], PRODUCT)  # printed with fifteen digits
    assert_close(robot.inverse_dynamics(rest, rest, a), rest, RECURSION, scale=10.0)
    assert_close(np.linalg.solve(robot.mass_matrix(rest), -robot.gravity(rest)), chain["qdd"], RECURSION)


def test_massless_links_between():
    case = DATA["massless links"]
    robot = build(case["bodies"])
    rest = np.zeros(3)
    assert_close(robot.forward_dynamics(case["q"], rest, rest)[0], case["first qdd"], RECURSION)


def test_point_of_a_floating_body():
    case = DATA["point of a floating body"]
    builder, parent = ModelBuilder("six joints"), "world"
    for kind, axis in (*(("prismatic", n) for n in "xyz"), *(("revolute", n) for n in "zyx")):
        builder.add_body(f"{kind} {axis}", parent=parent, joint=kind, axis=AXES[axis])
        parent = f"{kind} {axis}"
    robot, x = builder.build(), np.array(case["q and qd"])
    place = {"frame": parent, "point": (-1.9, -1.8, 0.0)}
    expected = case["of (-1.9, -1.8, 0)"]
    assert_close(robot.velocity(x, x, parent, point=(1, 0, 0))[3:], case["velocity of (1, 0, 0)"], RECURSION)
    pose = robot.pose(x, parent)
    assert_close(pose[:3, :3] @ place["point"] + pose[:3, 3], expected["pos"], RECURSION)
    assert_close(robot.velocity(x, x, **place)[3:], expected["vel"], RECURSION)
    assert_close(robot.acceleration(x, x, np.zeros(6), **place)[3:], expected["acc_qdd0"], RECURSION)
    assert_close(robot.acceleration(x, x, x, **place)[3:], expected["acc_qdd_eq_q"], RECURSION)
