"""What does not depend on the observer, and what is conserved: frame invariance, virtual work, momentum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dalembert.dynamics.algorithms import (
    Load,
    acceleration,
    bias,
    body_loads,
    center_of_mass,
    energy,
    forward_dynamics,
    jacobian,
    mass_matrix,
    poses,
    rnea,
    velocity,
)
from dalembert.spatial import Pose
from laws.numeric import RATE, moved, rate
from tolerances import RECURSION, SOLVE, assert_close
from trees import random_pose

POINT = np.array([0.1, -0.2, 0.3])


def momentum(model, q, v):
    """Angular momentum about the world's origin and linear momentum (6,), in world axes."""
    total = np.zeros(6)
    for body, X in zip(model.bodies, poses(model, q), strict=True):
        V = velocity(model, q, v, model.frames[body.index], axes="body")
        total += X.force(body.inertia @ V)
    return total


def test_moving_robot_and_gravity_together_changes_nothing(case):
    model, q, v, a, rng = case
    X = random_pose(rng)
    X = Pose(X.R, np.zeros(3))  # turned about the origin, so that the zero of potential energy stays
    base = replace(model.bodies[0], placement=X @ model.bodies[0].placement)
    turned = replace(model, gravity=X.R @ model.gravity, bodies=(base, *model.bodies[1:]))
    for f, arguments in ((rnea, (q, v, a)), (forward_dynamics, (q, v, a)), (mass_matrix, (q,)), (energy, (q, v))):
        assert_close(f(turned, *arguments), f(model, *arguments), SOLVE)
    tool = model.frame("tool")
    expected = np.kron(np.eye(2), X.R) @ acceleration(model, q, v, a, tool, POINT)
    assert_close(acceleration(turned, q, v, a, tool, POINT), expected, RECURSION)


@pytest.mark.parametrize("along", ["frame", "world", "elsewhere"])
def test_external_loads_do_virtual_work(case, along):
    model, q, v, a, rng = case
    elsewhere = model.frames[len(model.bodies) // 2]
    axes = elsewhere if along == "elsewhere" else along
    loads = [Load(frame, rng.normal(size=3), rng.normal(size=3), POINT, axes) for frame in model.frames[1::2]]
    work = np.zeros(model.nv)
    for load in loads:
        J = jacobian(model, q, load.frame, POINT, "body" if along == "frame" else axes)
        work += J.T @ np.concatenate([load.torque, load.force])
    tau = rnea(model, q, v, a, body_loads(model, q, loads))
    assert_close(tau, rnea(model, q, v, a) - work, RECURSION)


def test_rate_of_momentum_is_weight_and_external_load(floating):
    model, q, v, tau, rng = floating
    tau = np.concatenate([np.zeros(6), tau[6:]])  # internal forces only
    load = Load(model.frame("tool"), rng.normal(size=3), rng.normal(size=3), POINT, "world")
    a = forward_dynamics(model, q, v, tau, body_loads(model, q, [load]))
    mass = sum(body.inertia.mass for body in model.bodies)
    X = poses(model, q)[load.frame.body] @ load.frame.placement
    weight = np.concatenate([np.cross(center_of_mass(model, q), mass * model.gravity), mass * model.gravity])
    outside = weight + np.concatenate([load.torque + np.cross(X.point(POINT), load.force), load.force])
    changed = rate(lambda t: momentum(model, *moved(model, q, v, a, t)))
    assert_close(changed, outside, RATE, scale=np.max(np.abs(bias(model, q, v))))


def test_centre_of_mass_moves_with_the_linear_momentum(case):
    model, q, v, a, _ = case
    mass = sum(body.inertia.mass for body in model.bodies)
    changed = rate(lambda t: center_of_mass(model, moved(model, q, v, a, t)[0]))
    assert_close(mass * changed, momentum(model, q, v)[3:], RATE)
