"""Linear algebra of numbers, traced scalars and arrays of other libraries: the same numbers from each."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from dalembert import DalembertError, control, function, load, math
from tolerances import COMPUTED, DIFFERENCE, RECURSION, SINGLE, SOLVE, assert_close

Q = np.array([0.3, -1.2, 1.4, -0.8, -1.2, 0.2])
V = np.array([0.1, 0.2, -0.3, 0.4, -0.5, 0.6])


@pytest.fixture(scope="module")
def robot():
    return load("ur5")


def general(q, v):
    """A matrix that needs pivots: its diagonal begins with 0."""
    A = np.array([[0.0 * q[0], q[1], v[0]], [q[2], 0.0 * q[3], v[1]], [v[2], q[4], 2.0 + q[5]]])
    return A, np.array([q[0], v[1], q[2]])


FUNCTIONS = {
    "solve": lambda q, v, m: m.solve(*general(q, v)),
    "inv": lambda q, v, m: m.inv(general(q, v)[0]).ravel(),
    "det": lambda q, v, m: np.array([m.det(general(q, v)[0])]),
    "pinv": lambda q, v, m: m.pinv(np.array([q, v])).ravel(),
    "tall pinv": lambda q, v, m: m.pinv(np.array([q, v]).T).ravel(),
    "damped": lambda q, v, m: m.pinv(np.array([q, 2.0 * q]), 0.3).ravel(),
    "lstsq": lambda q, v, m: m.lstsq(np.array([q, v]).T, q * v),
    "norm": lambda q, v, m: np.array([m.norm(q), m.norm(np.array([q, v])), m.norm(0.0 * q)]),
    "cross": lambda q, v, m: m.cross(q[:3], v[:3]),
    "mod": lambda q, v, m: m.mod(3.0 * q, 0.7),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_traced_values_give_the_numbers(robot, name) -> None:
    compiled = function(lambda q, v: FUNCTIONS[name](q, v, math), robot)
    assert_close(compiled(Q, V), FUNCTIONS[name](Q, V, math), SOLVE)


def test_numbers_are_those_of_numpy() -> None:
    A, b = general(Q, V)
    assert_close(math.solve(A, b), np.linalg.solve(A, b), COMPUTED)
    assert_close(math.pinv(np.array([Q, V])), np.linalg.pinv(np.array([Q, V])), COMPUTED)
    assert_close(math.lstsq(np.array([Q, V]).T, V), np.linalg.lstsq(np.array([Q, V]).T, V, rcond=None)[0], COMPUTED)
    assert_close(math.det(A), np.linalg.det(A), COMPUTED)
    batch = np.random.default_rng(0).normal(size=(5, 3, 3))
    assert_close(math.inv(batch), np.linalg.inv(batch), COMPUTED)


def test_damped_inverses_are_bounded_where_rank_is_lost() -> None:
    P = math.pinv(np.array([[1.0, 0.0], [1.0, 1e-9]]), 0.1)
    assert np.linalg.norm(P, 2) <= 0.5 / 0.1 * (1.0 + COMPUTED)


def test_mass_matrices_by_cholesky(robot) -> None:
    compiled = function(lambda q, v: math.solve(robot.mass_matrix(q), v, "positive definite"), robot)
    assert_close(compiled(Q, V), np.linalg.solve(robot.mass_matrix(Q), V), SOLVE)
    L = function(lambda q: math.cholesky(robot.mass_matrix(q)), robot)(Q)
    assert_close(L, np.linalg.cholesky(robot.mass_matrix(Q)), SOLVE)


@pytest.mark.parametrize("name", ["solve", "inv", "pinv", "damped", "lstsq", "norm"])
def test_slopes_of_the_other_libraries(name) -> None:
    """JAX and PyTorch differentiate them, as differences do."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def total(q):
        with_library = {
            "solve": lambda: math.solve(q[:4].reshape(2, 2), q[4:]),
            "inv": lambda: math.inv(q[:4].reshape(2, 2)),
            "pinv": lambda: math.pinv(q.reshape(2, 3)),
            "damped": lambda: math.pinv(q.reshape(3, 2), 0.2),
            "lstsq": lambda: math.lstsq(q.reshape(3, 2), q[:3]),
            "norm": lambda: math.norm(q),
        }
        return (with_library[name]() ** 2).sum()

    slope = np.asarray(jax.grad(total)(jnp.asarray(Q)))
    ways = 1e-6 * np.eye(6)
    expected = [(float(total(jnp.asarray(Q + d))) - float(total(jnp.asarray(Q - d)))) / 2e-6 for d in ways]
    assert_close(slope, expected, 1e3 * DIFFERENCE)


def test_elementary_functions_take_other_libraries() -> None:
    jnp = pytest.importorskip("jax").numpy
    x = jnp.asarray(Q)
    assert_close(np.asarray(math.atan2(math.sin(x), 2.0)), np.arctan2(np.sin(Q), 2.0), SINGLE)
    assert type(math.clip(x, -1.0, 1.0)).__module__.startswith("jax")
    assert_close(np.asarray(math.where(x > 0, x, 0.0)), np.maximum(Q, 0.0), SINGLE)
    torch = pytest.importorskip("torch")
    y = torch.tensor(Q, requires_grad=True)
    math.norm(math.solve(torch.eye(6, dtype=torch.float64) * 2.0, math.maximum(y, 0.0))).backward()
    assert y.grad is not None


NUMPY = {
    "solve": lambda r, q, v: np.linalg.solve(r.mass_matrix(q), v),
    "inv": lambda r, q, v: np.linalg.inv(r.mass_matrix(q)) @ v,
    "pinv": lambda r, q, v: np.linalg.pinv(r.jacobian(q, "tool0")[:3]) @ v[:3],
    "lstsq": lambda r, q, v: np.linalg.lstsq(r.jacobian(q, "tool0")[3:], v[:3], rcond=None)[0],
    "det": lambda r, q, v: np.linalg.det(r.mass_matrix(q)) * v,
    "norm": lambda r, q, v: np.linalg.norm(q) * v,
    "cholesky": lambda r, q, v: np.linalg.cholesky(r.mass_matrix(q)) @ v,
    "clip": lambda r, q, v: np.clip(3.0 * q - v, -1.0, 1.0),
    "where": lambda r, q, v: np.where(q > v, q, 2.0 * v),
    "maximum": lambda r, q, v: np.maximum(q, v) - np.minimum(2.0 * q, 0.3),
    "mod": lambda r, q, v: np.mod(5.0 * q, 2.0) + (5.0 * v) % 0.7,
    "cross": lambda r, q, v: np.cross(q[:3], v[:3]),
    "concatenate": lambda r, q, v: np.concatenate([np.sin(q), np.cos(v)]),
}


@pytest.mark.parametrize("name", NUMPY)
def test_numpys_names_trace(robot, name) -> None:
    compiled = function(lambda q, v: NUMPY[name](robot, q, v), robot)
    assert_close(compiled(Q, V), np.asarray(NUMPY[name](robot, Q, V)), SOLVE)


def test_others_fail_with_the_cure(robot) -> None:
    def decomposed(wrong, q):
        return wrong(robot.mass_matrix(q))

    for wrong in (np.linalg.eigvals, np.linalg.svd):
        with pytest.raises(DalembertError, match=r"dalembert\.math \(solve, pinv"):
            function(partial(decomposed, wrong), robot)
    with pytest.raises(DalembertError, match="expected a square matrix"):
        function(lambda q: math.solve(np.array([q, q]), q[:2]), robot)
    with pytest.raises(DalembertError, match="b has shape"):
        function(lambda q: math.solve(robot.mass_matrix(q), q[:2]), robot)
    with pytest.raises(DalembertError, match="assume is"):
        math.solve(np.eye(2), np.ones(2), "symmetric")


def test_a_published_law_is_compiled(robot) -> None:
    """Damped resolved rates with NumPy alone: traced into the rollout, with the numbers of its Python."""
    goal = robot.pose(Q + 0.1, "tool0")[:3, 3]

    def law(t, q, v):
        J = robot.jacobian(q, "tool0")[3:]
        wanted = np.linalg.pinv(J) @ (5.0 * (goal - robot.pose(q, "tool0")[:3, 3]))
        return robot.gravity(q) + np.clip(robot.mass_matrix(q) @ (20.0 * (wanted - v)), -50.0, 50.0)

    run = robot.rollout(Q, np.zeros(6), law, 1e-3, 500)
    assert np.abs(robot.pose(run.q, "tool0")[:3, 3] - goal).max() < 0.05
    q, v = Q, np.zeros(6)
    step = robot.stepper(1e-3)
    for _ in range(500):
        q, v = step(q, v, law(0.0, q, v))
    assert_close(run.q, q, 1e6 * RECURSION)


def test_a_tick_of_inverse_kinematics_stands_in_a_law(robot) -> None:
    ik = control.inverse_kinematics(robot, [control.Frame(frame="tool0", goal=robot.pose(Q + 0.1, "tool0"))], step=0.01)
    compiled = function(lambda q: ik(q), robot)
    assert_close(compiled(Q), ik(Q), SOLVE)


def test_rotations_have_names_here(robot) -> None:
    R = math.rotation_exp(Q[:3])
    assert_close(math.rotation_log(R), Q[:3], COMPUTED)
    p = math.quaternion_multiply(math.quaternion_exp(Q[:3]), math.quaternion_conjugate(math.quaternion_exp(V[:3])))
    assert_close(math.rotation_from_quaternion(p), R @ math.rotation_exp(V[:3]).T, COMPUTED)
    assert_close(math.quaternion_from_matrix(R), math.quaternion_exp(Q[:3]), COMPUTED)
    turned = function(lambda q: math.rotation_about((0, 0, 1), q[0]) @ math.rotation_from_rpy(*q[:3]), robot)
    assert_close(turned(Q), math.rotation_about((0, 0, 1), Q[0]) @ math.rotation_from_rpy(*Q[:3]), COMPUTED)
    with pytest.raises(AttributeError):
        _ = math.nothing
