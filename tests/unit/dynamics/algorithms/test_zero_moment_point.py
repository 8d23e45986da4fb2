"""The zero-moment point of a wrench on a plane."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, load, zero_moment_point
from tolerances import PRODUCT, RECURSION, assert_close

RNG = np.random.default_rng(3)


def test_forces_at_a_point_of_the_floor_meet_there():
    p = np.array([0.3, -0.2, 0.0])
    f = np.array([5.0, -3.0, 100.0])
    assert_close(zero_moment_point(np.concatenate([np.cross(p, f), f])), p, PRODUCT)


def test_only_the_moment_along_the_normal_is_left():
    wrench, normal, at = RNG.normal(size=(4, 5, 6)), np.array([0.2, -1.0, 3.0]), RNG.normal(size=(5, 3))
    p = zero_moment_point(wrench, normal, 0.7, at=at)
    assert p.shape == (4, 5, 3)
    n = normal / np.linalg.norm(normal)
    assert_close(p @ n, np.full((4, 5), 0.7), RECURSION, scale=np.max(np.abs(p)))
    moment = wrench[..., :3] + np.cross(at - p, wrench[..., 3:])
    assert_close(np.cross(n, moment), np.zeros((4, 5, 3)), RECURSION, scale=np.max(np.abs(moment)))


def test_of_a_robot_at_rest_it_lies_below_the_centre_of_mass():
    robot = load("quadruped")
    q, rest = robot.random(np.random.default_rng(0)), np.zeros(robot.nv)
    ground = robot.reaction_wrenches(q, rest, rest, axes="world")[0]
    p = zero_moment_point(ground, at=robot.pose(q, robot.bodies[0].name)[:3, 3])
    assert_close(p, [*robot.center_of_mass(q)[:2], 0.0], RECURSION)


@pytest.mark.parametrize("force", [(0.0, 0.0, 0.0), (1.0, 2.0, 0.0), (1.0, 2.0, 1e-12)])
def test_forces_along_the_plane_are_refused(force):
    wrench = np.array([[1.0, 2.0, 3.0, 0.0, 0.0, 1.0], [1.0, 2.0, 3.0, *force]])
    with pytest.raises(DalembertError, match=r"force of wrench \(1,\) has no part along the normal"):
        zero_moment_point(wrench)
    with pytest.raises(DalembertError, match=r"the force has no part"):
        zero_moment_point(wrench[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(5),), r"wrench has shape \(5,\), expected \(…, 6\)"),
        ((1.0,), r"wrench has shape \(\)"),
        ((["a"] * 6,), "wrench is not an array of real numbers"),
        ((np.ones(6), (0, 0)), r"normal has shape \(2,\), expected \(3,\)"),
        ((np.ones(6), (0, 0, 0)), "normal is .* expected a direction"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(DalembertError, match=message):
        zero_moment_point(*arguments)
