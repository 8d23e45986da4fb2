"""Other frames of bodies describe the same motion."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import dalembert
from dalembert import ModelBuilder
from dalembert.compiler.graph import trace
from dalembert.dynamics import algorithms
from dalembert.model.aligned import aligned_frames
from dalembert.spatial import Pose, so3
from tolerances import RECURSION

THIRD = 2.0 * np.pi / 3.0
SHORTER = 0.9  # of the operations, at least, that turned frames take


def leg(turned: float = THIRD, **knee):
    """A free body with a leg whose frames are turned about the axes of its joints, and beside each other."""
    builder = ModelBuilder("leg", gravity=(0.0, 0.3, -9.81))
    builder.add_body("base", parent="world", joint="free", mass=5.0, inertia=np.diag([0.1, 0.2, 0.3]))
    rpy = (turned, 0.0, 0.0)
    builder.add_body(
        "hip", parent="base", joint="revolute", axis=(1, 0, 0), xyz=(0.3, 0.1, 0.0), rpy=rpy, mass=1.0,
        com=(0.01, 0.02, 0.01), inertia=np.diag([1e-2, 2e-2, 3e-2]), stiffness=3.0,
    )  # fmt: skip
    R = so3.from_rpy(*rpy).T
    builder.add_body(
        "thigh", parent="hip", joint="continuous", axis=(0, -1, 0), xyz=R @ [0.06, 0.08, 0.0], rpy=(-turned, 0.0, 0.0),
        mass=2.0, com=(0.01, 0.07, -0.1), inertia=np.diag([1e-2, 2e-2, 3e-2]), damping=0.1,
    )  # fmt: skip
    builder.add_body(
        "shank", parent="thigh", joint="revolute", axis=(0, 1, 0), xyz=(0.0, 0.1, -0.3), mass=0.5,
        com=(0.02, 0.03, -0.1), inertia=np.diag([1e-3, 2e-3, 1e-3]), **knee,
    )  # fmt: skip
    return builder.build()


def operations(model, shift):
    def compute(q, v):
        return {"M": algorithms.mass_matrix(model, q + shift), "c": algorithms.bias(model, q + shift, v)}

    traced = trace(compute, {"q": model.nq, "v": model.nv}, "dynamics")
    return sum(traced.operations().values())


def rounded_chain(angle):
    """Hinges about each other's z axes, turned by an angle of a file that is rounded: 1.5708 is a quarter, nearly."""
    builder, parent = ModelBuilder("chain", gravity=(0.3, 0.1, -9.81)), "world"
    for k in range(7):
        rpy = ((angle, 0.0, 0.0), (0.0, -angle, 0.0), (angle, 0.0, 2.0 * angle))[k % 3]
        builder.add_body(
            f"link{k}", parent=parent, joint="revolute", axis=(0, 0, 1), xyz=(0.01, -0.11, 0.2 * (k % 2)), rpy=rpy,
            mass=1.0, com=(0.01, 0.02, 0.07), inertia=np.diag([1e-3, 2e-3, 2e-3]),
        )  # fmt: skip
        parent = f"link{k}"
    return builder.build()


ROBOTS = {"leg": leg} | {str(angle): partial(rounded_chain, angle) for angle in (1.5708, 1.57, 1.570796, 1.5707963268)}


@pytest.mark.parametrize("name", [*ROBOTS, "humanoid", "puma560", "gen3", "four_bar"])
def test_the_equations_of_motion_are_the_same(name):
    robot, rng = ROBOTS.get(name, partial(dalembert.load, name))(), np.random.default_rng(0)
    model, aligned = robot.model, aligned_frames(robot.model)
    for _ in range(3):
        q, (u, v) = robot.random(rng), rng.normal(size=(2, robot.nv))
        push = {body.index: rng.normal(size=6) for body in model.bodies}
        felt = {body: aligned.wrench(body, F) for body, F in push.items()}
        there = aligned.coordinates(q)
        for before, after in (
            (algorithms.mass_matrix(model, q), algorithms.mass_matrix(aligned.model, there)),
            (algorithms.bias(model, q, v, push), algorithms.bias(aligned.model, there, v, felt)),
            (
                algorithms.velocity_product_force(model, q, u, v),
                algorithms.velocity_product_force(aligned.model, there, u, v),
            ),
        ):
            np.testing.assert_allclose(after, before, atol=RECURSION * np.abs(before).max())
        poses = zip(algorithms.poses(model, q), algorithms.poses(aligned.model, there), aligned.frames, strict=True)
        for X_B, X_A, X_BA in poses:
            np.testing.assert_allclose(X_A.matrix(), (X_B @ X_BA).matrix(), atol=RECURSION)


def test_frames_that_were_turned_about_axes_are_turned_back():
    aligned = aligned_frames(leg().model)
    hip, thigh, shank = aligned.model.bodies[-3:]
    assert not np.any(thigh.placement.p)
    assert np.count_nonzero(shank.placement.p) == 1
    for body in (hip, thigh, shank):
        assert np.isin(body.placement.R, [-1.0, 0.0, 1.0]).all()
    straight = leg(0.0).model
    assert operations(aligned.model, aligned.shift) <= operations(straight, np.zeros(straight.nq))
    assert operations(aligned.model, aligned.shift) < SHORTER * operations(leg().model, np.zeros(straight.nq))


def test_bodies_whose_joints_follow_others_or_are_traced_keep_their_frames():
    follower = leg(mimic=("thigh", -1.0, 0.2))
    aligned = aligned_frames(follower.model)
    assert not aligned.shift.any()
    assert all(np.array_equal(X.matrix(), np.eye(4)) for X in aligned.frames)


def test_a_shape_stays_where_it_is():
    robot, rng = leg(), np.random.default_rng(1)
    aligned, q = aligned_frames(robot.model), robot.random(np.random.default_rng(2))
    X_BC = Pose(so3.from_rpy(*rng.normal(size=3)), rng.normal(size=3))
    before = algorithms.poses(robot.model, q)[-1] @ X_BC
    after = algorithms.poses(aligned.model, aligned.coordinates(q))[-1] @ aligned.placement(3, X_BC)
    np.testing.assert_allclose(after.matrix(), before.matrix(), atol=RECURSION)
