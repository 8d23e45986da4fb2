"""Reactions: they do the joints' work, hold every body in its motion, and on the ground balance all that acts."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.dynamics.algorithms import (
    Load,
    body_loads,
    center_of_mass,
    frame_pose,
    poses,
    reaction_wrenches,
    rnea,
    velocity,
)
from laws.numeric import RATE, moved, rate
from tolerances import RECURSION, assert_close

POINT = np.array([0.1, -0.2, 0.3])
BARE = ("friction", "damping", "armature", "springs")


def some_loads(model, q, rng):
    loads = [Load(frame, rng.normal(size=3), rng.normal(size=3), POINT, "world") for frame in model.frames[::2]]
    return body_loads(model, q, loads)


def turned(R, wrench):
    return np.concatenate([R @ wrench[:3], R @ wrench[3:]])


def test_reactions_do_the_work_of_bare_joints(case):
    """Joint effects act within the joint: the reactions of a robot with and without them are the same."""
    model, q, v, a, rng = case
    external = some_loads(model, q, rng)
    F = reaction_wrenches(model, q, v, a, external)
    tau = rnea(model.without(*BARE), q, v, a, external)
    work = np.zeros(model.nv)
    for body in model.bodies:  # coupled joints share the work of one coordinate
        work[body.v] += body.joint.subspace(q[body.q]).T @ F[body.index]
    assert_close(work, tau, RECURSION, scale=np.max(np.abs(F)))


def test_newton_and_euler_for_every_body(bare):
    """What comes through its joint, less what it passes on, with weight and loads: the rate of a body's momentum."""
    model, q, v, a, rng = bare
    external = some_loads(model, q, rng)
    X = poses(model, q)
    F = [X_i.force(F_i) for X_i, F_i in zip(X, reaction_wrenches(model, q, v, a, external), strict=True)]

    def momentum(t, body):
        q_t, v_t = moved(model, q, v, a, t)
        V = velocity(model, q_t, v_t, model.frames[body.index], axes="body")
        return poses(model, q_t)[body.index].force(body.inertia @ V)

    for body in model.bodies:
        i = body.index
        weight = np.concatenate([np.zeros(3), body.inertia.mass * model.gravity])
        weight[:3] = np.cross(X[i].point(body.inertia.com), weight[3:])
        acting = F[i] + weight - sum(F[child] for child in model.children(i))
        if i in external:
            acting = acting + X[i].force(external[i])
        size = max(np.max(np.abs(F_j)) for F_j in F)
        assert_close(acting, rate(lambda t, body=body: momentum(t, body)), RATE, scale=size)


def test_at_rest_the_ground_carries_weight_and_loads(bare):
    model, q, v, _, rng = bare
    external, X = some_loads(model, q, rng), poses(model, q)
    mass = sum(body.inertia.mass for body in model.bodies)
    weight = np.concatenate([np.cross(center_of_mass(model, q), mass * model.gravity), mass * model.gravity])
    loads = sum(X[i].force(F) for i, F in external.items())
    ground = X[0].force(reaction_wrenches(model, q, 0.0 * v, 0.0 * v, external)[0])
    assert_close(ground, -weight - loads, RECURSION)


@pytest.mark.parametrize("along", ["world", "elsewhere"])
def test_other_axes_show_the_same_vectors(bare, along):
    model, q, v, a, rng = bare
    external = some_loads(model, q, rng)
    axes = model.frame("tool") if along == "elsewhere" else "world"
    R = frame_pose(model, q, axes).R.T if along == "elsewhere" else np.eye(3)
    F = reaction_wrenches(model, q, v, a, external)
    expected = [turned(R @ X.R, F_i) for X, F_i in zip(poses(model, q), F, strict=True)]
    assert_close(reaction_wrenches(model, q, v, a, external, axes), expected, RECURSION)
