"""Velocity is the rate of pose, acceleration the rate of velocity; Jacobians are the linear maps between them."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.dynamics.algorithms import acceleration, frame_pose, jacobian, jacobian_rate, poses, velocity
from dalembert.spatial import so3
from laws.numeric import RATE, moved, rate
from tolerances import RECURSION, assert_close

POINT = np.array([0.1, -0.2, 0.3])
ALONG = ["world", "body", "elsewhere"]


def tool_and_axes(model, along):
    """The frame "tool", and axes: "elsewhere" are those of a body in the middle of the tree."""
    axes = model.frames[len(model.bodies) // 2] if along == "elsewhere" else along
    return model.frame("tool"), axes


def rotation_to(model, q, along):
    """R_AW of the axes."""
    tool, axes = tool_and_axes(model, along)
    return np.eye(3) if along == "world" else frame_pose(model, q, tool if along == "body" else axes).R.T


def turned(R, pair):
    """Both vectors (or columns of vectors) of a pair (6, …) turned by R."""
    return np.concatenate([R @ pair[:3], R @ pair[3:]])


def test_pose_of_a_frame_is_that_of_its_body_and_its_placement(case):
    X = poses(case.model, case.q)
    for frame in case.model.frames:
        assert_close(
            frame_pose(case.model, case.q, frame).matrix(), (X[frame.body] @ frame.placement).matrix(), RECURSION
        )


def test_velocity_is_the_rate_of_the_pose(case):
    model, q, v, a, _ = case
    tool = model.frame("tool")

    def pose(t):
        return frame_pose(model, moved(model, q, v, a, t)[0], tool)

    w = rate(lambda t: pose(t).R) @ pose(0.0).R.T
    expected = np.concatenate([[w[2, 1], w[0, 2], w[1, 0]], rate(lambda t: pose(t).point(POINT))])
    assert_close(velocity(model, q, v, tool, POINT), expected, RATE)


def test_acceleration_is_the_rate_of_the_velocity(case):
    model, q, v, a, _ = case
    tool = model.frame("tool")
    expected = rate(lambda t: velocity(model, *moved(model, q, v, a, t), tool, POINT))
    assert_close(acceleration(model, q, v, a, tool, POINT), expected, RATE)


@pytest.mark.parametrize("along", ALONG)
def test_vectors_along_other_axes_are_the_same_vectors(case, along):
    model, q, v, a, _ = case
    tool, axes = tool_and_axes(model, along)
    R = rotation_to(model, q, along)
    for f, arguments in ((velocity, (v,)), (acceleration, (v, a)), (jacobian, ()), (jacobian_rate, (v,))):
        expected = turned(R, f(model, q, *arguments, tool, POINT))
        assert_close(f(model, q, *arguments, tool, POINT, axes), expected, RECURSION)


@pytest.mark.parametrize("along", ALONG)
def test_velocity_and_acceleration_through_the_jacobian(case, along):
    model, q, v, a, _ = case
    tool, axes = tool_and_axes(model, along)
    J, dJ = jacobian(model, q, tool, POINT, axes), jacobian_rate(model, q, v, tool, POINT, axes)
    assert_close(J @ v, velocity(model, q, v, tool, POINT, axes), RECURSION)
    assert_close(J @ a + dJ @ v, acceleration(model, q, v, a, tool, POINT, axes), RECURSION)


def test_jacobian_rate_is_the_rate_of_the_jacobian(case):
    model, q, v, a, _ = case
    tool = model.frame("tool")
    expected = rate(lambda t: jacobian(model, moved(model, q, v, a, t)[0], tool, POINT))
    assert_close(jacobian_rate(model, q, v, tool, POINT), expected, RATE)


def test_joints_that_do_not_carry_a_frame_do_not_move_it(case):
    model, q, _, _, _ = case
    for frame in model.frames:
        J, index = jacobian(model, q, frame), frame.body
        carriers = set()
        while index >= 0:
            carriers.add(index)
            index = model.bodies[index].parent
        moving = {body.v.start for body in model.bodies if body.index in carriers and body.joint.nv}
        for body in model.independent:
            if body.v.start not in moving:
                assert not np.any(J[:, body.v])
            elif body.joint.nv:
                assert np.linalg.matrix_rank(J[:, body.v]) == body.joint.nv


def test_a_point_of_a_body_turns_with_it(case):
    model, q, v, _, _ = case
    tool = model.frame("tool")
    at_origin, at_point = (velocity(model, q, v, tool, p, "body") for p in (np.zeros(3), POINT))
    assert_close(at_point[:3], at_origin[:3], RECURSION)
    assert_close(at_point[3:], at_origin[3:] + so3.skew(at_origin[:3]) @ POINT, RECURSION)
