"""The dynamics as a task feels it: Λ ẍ + μ + p = F, what is left beside the task, and damping where it is said."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, Robot, function, load
from dalembert.dynamics.algorithms import (
    Task,
    acceleration,
    bias,
    forward_dynamics,
    gravity,
    inverse_mass_matrix,
    jacobian,
    mass_matrix,
    null_space,
    operational_dynamics,
    operational_inertia,
)
from tolerances import PRINTED, RECURSION, SOLVE, assert_close
from trees import random_model, random_state

POINT = np.array([0.1, -0.2, 0.3])
DAMPING = 0.3


def stacked(model):
    """A task on two frames, with more rows than the robot may have freedoms for."""
    return Task([model.frame("tool"), model.frames[len(model.bodies) // 2]], POINT, "body")


def independent(model, q):
    """A task on two frames whose rows are well independent: each as far from the others as a tenth of its length."""
    everything = stacked(model)
    J, rows = everything.jacobian(model, q), []
    for k in range(len(J)):
        if rows:
            others = J[rows].T
            rest = J[k] - others @ np.linalg.lstsq(others, J[k], rcond=None)[0]
        else:
            rest = J[k]
        if np.linalg.norm(rest) > 0.1 * max(1.0, np.linalg.norm(J[k])):
            rows.append(k)
    return everything._replace(rows=rows)


def test_inertia_inverts_the_damped_mobility(case):
    model, q, _, _, _ = case
    task = stacked(model)
    J = task.jacobian(model, q)
    mobility = J @ inverse_mass_matrix(model, q) @ J.T + DAMPING**2 * np.eye(len(J))
    inertia = operational_inertia(model, q, DAMPING, task)
    assert np.array_equal(inertia, inertia.T)
    assert_close(inertia @ mobility, np.eye(len(J)), SOLVE)


def test_rows_are_those_of_the_frames_jacobians(case):
    model, q, _, _, _ = case
    task = stacked(model)
    both = np.concatenate([jacobian(model, q, frame, POINT, "body") for frame in task.frames])
    assert_close(task.jacobian(model, q), both, RECURSION)
    assert_close(task._replace(rows=(7, 2)).jacobian(model, q), both[[7, 2]], RECURSION)


def test_task_equation_holds_along_the_motion(case):
    """Torques tau accelerate the task by ẍ, and Λ ẍ + μ + p is the force J̄ᵀ tau that the task feels."""
    model, q, v, tau, _ = case
    task = independent(model, q)
    inertia, mu, p, inverse = operational_dynamics(model, q, v, 0.0, task)
    a = forward_dynamics(model, q, v, tau)
    x = task.selected(np.concatenate([acceleration(model, q, v, a, f, POINT, "body") for f in task.frames]))
    scale = max(np.max(np.abs(part)) for part in (inertia @ x, mu, p))
    assert_close(inertia @ x + mu + p, inverse.T @ tau, SOLVE, scale)
    assert_close(task.jacobian(model, q) @ inverse, np.eye(len(inertia)), SOLVE)
    assert_close(p, inverse.T @ gravity(model, q), SOLVE)
    velocity_terms = inverse.T @ (bias(model, q, v) - gravity(model, q))
    assert_close(mu + inertia @ task.drift(model, q, v), velocity_terms, SOLVE, scale)


def test_force_on_the_task_is_felt_as_such(case):
    """tau = Jᵀ (Λ ẍ + μ + p) gives the task the acceleration ẍ, whatever the other freedoms do."""
    model, q, v, _, rng = case
    task = independent(model, q)
    inertia, mu, p, _ = operational_dynamics(model, q, v, 0.0, task)
    wanted = rng.normal(size=len(inertia))
    J = task.jacobian(model, q)
    a = forward_dynamics(model, q, v, J.T @ (inertia @ wanted + mu + p))
    assert_close(J @ a + task.drift(model, q, v), wanted, SOLVE, scale=np.max(np.abs(a)))


def test_null_space_leaves_the_task_alone(case):
    model, q, _, _, _ = case
    task = independent(model, q)
    N, J, Minv = null_space(model, q, 0.0, task), task.jacobian(model, q), inverse_mass_matrix(model, q)
    scale = np.max(np.abs(N))
    assert_close(J @ N, np.zeros_like(J), SOLVE, scale)
    assert_close(N @ N, N, SOLVE)
    assert_close(J @ Minv @ N.T, np.zeros_like(J), SOLVE, scale * np.max(np.abs(Minv)))
    assert round(np.trace(N)) == model.nv - len(J)


def test_damping_leaks_what_it_says(case):
    model, q, _, _, _ = case
    task = stacked(model)
    J, inertia = task.jacobian(model, q), operational_inertia(model, q, DAMPING, task)
    assert_close(J @ null_space(model, q, DAMPING, task), DAMPING**2 * inertia @ J, SOLVE)


@pytest.mark.parametrize("half", [pytest.param(0, marks=pytest.mark.long), 1], indirect=True)
@pytest.mark.parametrize("base", ["free"], indirect=True)
@pytest.mark.parametrize("small", ["coupled"], indirect=True)
def test_compiled_is_the_same(small):
    model, q, v, _, _ = small
    robot, names = Robot(model), ("tool", model.frames[len(model.bodies) // 2].name)
    task = stacked(model)
    keywords = {"point": POINT, "axes": "body", "damping": DAMPING}
    assert_close(robot.operational_inertia(q, names, **keywords), operational_inertia(model, q, DAMPING, task), SOLVE)
    assert_close(robot.null_space(q, names, **keywords), null_space(model, q, DAMPING, task), SOLVE)
    made, expected = (
        robot.operational_dynamics(q, v, names, **keywords),
        operational_dynamics(model, q, v, DAMPING, task),
    )
    scale = max(np.max(np.abs(x)) for x in expected)
    for one, other in zip(made, expected, strict=True):
        assert_close(one, other, SOLVE, scale)


def test_free_body_feels_its_own_inertia():
    """A task that is the whole robot has its mass matrix for inertia."""
    model = random_model(5, n_bodies=1, kinds=("free",), effects=False)
    q, _, _ = random_state(np.random.default_rng(1), model)
    body = model.bodies[1].name
    assert_close(Robot(model).operational_inertia(q, body, axes="body"), mass_matrix(model, q), SOLVE)


QN = np.array([0.0, np.pi / 4, np.pi, 0.0, np.pi / 4, 0.0])
# Printed by the Robotics Toolbox for its Puma 560 at qn, linear rows first.
PUMA = [
    [17.2954, -2.7542, -9.6233, 0, 0.2795, 0],
    [-2.7542, 12.1909, 1.2459, -0.3254, -0.0703, -0.9652],
    [-9.6233, 1.2459, 13.3348, 0, 0.2767, 0],
    [0, -0.3254, 0, 0.1941, 0, 0.1941],
    [0.2795, -0.0703, 0.2767, 0, 0.1713, 0],
    [0, -0.9652, 0, 0.1941, 0, 0.5791],
]


def test_puma_gives_the_printed_inertia():
    inertia = load("puma560").operational_inertia(QN, "tool")
    assert np.max(np.abs(np.roll(inertia, (3, 3), axis=(0, 1)) - PUMA)) <= 0.5 * PRINTED


def test_too_many_rows_are_an_error_that_names_the_cure():
    robot, q = load("2r"), np.array([0.3, 0.8])
    with pytest.raises(DalembertError, match=r"6 rows .* 'tool' .*2 degrees of freedom.* rows=….* damping=…"):
        robot.operational_inertia(q, "tool")
    with pytest.raises(DalembertError, match="null_space: the 6 rows"):
        robot.null_space(q, "tool")
    with pytest.raises(DalembertError, match="operational_dynamics: the 6 rows"):
        robot.operational_dynamics(q, q, "tool")
    assert not np.all(np.isfinite(robot.operational_inertia(q, "tool", check=False)))
    assert robot.operational_inertia(q, "tool", rows=(3, 5)).shape == (2, 2)
    assert np.all(np.isfinite(robot.operational_inertia(q, "tool", damping=0.01)))


def test_singular_configuration_is_an_error_in_both_precisions():
    robot, wrist = load("puma560"), QN.copy()
    wrist[4] = 0.0  # axes 4 and 6 in line
    for q in (wrist, wrist.astype(np.float32)):
        with pytest.raises(DalembertError, match="depend on one another"):
            robot.operational_inertia(q, "tool")
    with pytest.raises(DalembertError, match=r"of state \(1,\)"):
        robot.operational_inertia(np.stack([QN, wrist]), "tool")
    assert robot.operational_inertia(wrist, "tool", rows="position").shape == (3, 3)
    assert robot.operational_inertia(QN.astype(np.float32), "tool").dtype == np.float32


def test_batches_and_traces():
    robot, rng = load("panda"), np.random.default_rng(3)
    q, v = robot.random(rng, 5), rng.normal(size=(5, 7))
    made = robot.operational_dynamics(q, v, "panda_link8")
    assert [x.shape for x in made] == [(5, 6, 6), (5, 6), (5, 6), (5, 7, 6)]
    one = robot.operational_dynamics(q[2], v[2], "panda_link8")
    for batch, single in zip(made, one, strict=True):
        assert_close(batch[2], single, SOLVE)
    damped = robot.operational_inertia(q[0], "panda_link8", damping=np.array([0.1, 0.2]))
    assert_close(damped[1], robot.operational_inertia(q[0], "panda_link8", damping=0.2), RECURSION)
    traced = function(lambda q: robot.operational_inertia(q, "panda_link8", rows="position"), robot)
    assert_close(traced(q), robot.operational_inertia(q, "panda_link8", rows="position"), RECURSION)
    out = np.full((7, 7), np.inf)
    assert robot.null_space(q[0], "panda_link8", out=out) is out
    assert np.all(np.isfinite(out))


@pytest.mark.parametrize("batch", [(), (1,), (2, 3), (0,), (3, 0)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_shapes_precision_and_out(batch, dtype):
    robot, rng = load("ur5"), np.random.default_rng(8)
    q = robot.random(rng, int(np.prod(batch))).reshape(*batch, 6).astype(dtype)
    v, known = (rng.normal(size=(*batch, 6)).astype(dtype) for _ in range(2))
    out = np.full((*batch, 14, 6), np.inf, dtype)
    made = robot.operational_dynamics(q, v, "tool0", damping=0.1, out=out)
    fresh = robot.operational_dynamics(q, v, "tool0", damping=0.1)
    assert [x.shape for x in made] == [(*batch, *shape) for shape in ((6, 6), (6,), (6,), (6, 6))]
    for one, other in zip(made, fresh, strict=True):
        assert one.dtype == other.dtype == dtype and np.shares_memory(one, out) == bool(one.size)
        assert np.array_equal(one, other)
    out = np.full((*batch, 2, 6), np.inf, dtype)
    a, tau = robot.hybrid_dynamics(q, v, known, accelerations="elbow_joint", out=out)
    assert a.dtype == dtype and np.array_equal(out, np.stack([a, tau], -2)) and np.all(np.isfinite(out))
    with pytest.raises(DalembertError, match="out"):
        robot.operational_inertia(q, "tool0", damping=0.1, out=np.zeros((5, 5), dtype))


@pytest.mark.parametrize("rows", ["angle", (0, 0), (6,), (), ("x",), 3])
def test_wrong_rows_are_refused(rows):
    with pytest.raises(DalembertError, match="rows="):
        load("2r").operational_inertia(np.zeros(2), "tool", rows=rows)
