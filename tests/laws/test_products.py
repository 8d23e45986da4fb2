"""Products with derivatives are those of the matrices, cost a few evaluations, and gradients are rates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, Robot
from dalembert.compiler.backends.interpreter import run
from dalembert.compiler.graph import gradient, trace
from dalembert.dynamics import algorithms as alg
from dalembert.spatial import Inertia
from laws.numeric import RATE, directions, rate, rates
from laws.traced import cost, evaluate
from tolerances import RECURSION, SOLVE, assert_close
from trees import random_model, random_state

ROBOTS = ("ur5", "panda", "quadruped")


@pytest.fixture(
    params=[0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))], ids=lambda seed: f"seed{seed}"
)
def seed(request):
    """One tree of each kind in `make test`: every case is traced and compiled."""
    return request.param


@pytest.fixture
def vectors(case):
    return [case.rng.normal(size=case.model.nv) for _ in range(3)]


def test_products_with_inverse_dynamics_derivatives(case, vectors):
    model, q, v, a, _ = case
    (dq, dv, da), w = vectors, vectors[0]
    A, B, M = alg.inverse_dynamics_derivatives(model, q, v, a)
    found = evaluate(model, "inverse_dynamics_jvp", q=q, v=v, a=a, dq=dq, dv=dv, da=da)
    assert_close(found, A @ dq + B @ dv + M @ da, RECURSION, scale=np.max(np.abs(A)))
    found = evaluate(model, "inverse_dynamics_vjp", q=q, v=v, a=a, w=w)
    assert_close(found, np.stack([w @ A, w @ B, w @ M]), RECURSION)


def test_products_with_forward_dynamics_derivatives(case, vectors):
    model, q, v, tau, _ = case
    (dq, dv, dtau), w = vectors, vectors[0]
    A, B, C = alg.forward_dynamics_derivatives(model, q, v, tau)
    found = evaluate(model, "forward_dynamics_jvp", q=q, v=v, tau=tau, dq=dq, dv=dv, dtau=dtau)
    assert_close(found, A @ dq + B @ dv + C @ dtau, SOLVE, scale=np.max(np.abs(A)))
    found = evaluate(model, "forward_dynamics_vjp", q=q, v=v, tau=tau, w=w)
    assert_close(found, np.stack([w @ A, w @ B, w @ C]), SOLVE)


def test_inverse_mass_product(case):
    model, q, _, f, _ = case
    assert_close(alg.inverse_mass_product(model, q, f), alg.inverse_mass_matrix(model, q) @ f, SOLVE)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("dynamics", ["inverse_dynamics", "forward_dynamics"])
def test_a_product_costs_less_than_three_evaluations(name, dynamics):
    model = dalembert.load(name).model
    once = cost(model, dynamics)
    assert cost(model, f"{dynamics}_jvp") < 3 * once
    assert cost(model, f"{dynamics}_vjp") < 3 * once


def test_products_grow_with_the_number_of_bodies_not_its_square():
    def chain(n):
        builder = dalembert.ModelBuilder("chain")
        for i in range(n):
            parent = f"link{i - 1}" if i else "world"
            axis = np.eye(3)[i % 3]
            com, inertia = (0.2, 0.1, 0.05), np.diag([0.1, 0.2, 0.15])
            builder.add_body(
                f"link{i}", parent=parent, joint="revolute", axis=axis, xyz=(0.3, 0.1, 0.2), mass=1.0, com=com,
                inertia=inertia,
            )  # fmt: skip
        return builder.model()

    short, long, longer = chain(9), chain(15), chain(21)
    for name in ("inverse_dynamics_jvp", "inverse_dynamics_vjp", "forward_dynamics_jvp", "forward_dynamics_vjp"):
        first, second = cost(long, name) - cost(short, name), cost(longer, name) - cost(long, name)
        assert abs(second - first) <= 0.05 * first, name


def test_gravity_derivatives(case):
    model, q, _, _, rng = case
    D, slopes = directions(rng, model.nv), alg.gravity_derivatives(model, q)
    assert_close(slopes @ D, rates(lambda d: alg.gravity(model, alg.integrate(model, q, d)), D), RATE)
    assert_close(evaluate(model, "gravity_derivatives", q=q), slopes, RECURSION)


def test_energy_derivatives(case):
    model, q, v, _, rng = case
    dq, dv = evaluate(model, "energy_derivatives", q=q, v=v)
    D = directions(rng, model.nv)
    slopes = rates(lambda d: alg.energy(model, alg.integrate(model, q, d), v), D)
    assert_close(dq @ D, slopes, RATE, scale=abs(alg.energy(model, q, v)))
    assert_close(dv, alg.mass_matrix(model, q) @ v, RECURSION)


def test_pose_and_jacobian_derivatives(case):
    model, q, v, _, rng = case
    tool, D = model.frame("tool"), directions(rng, model.nv)
    dX = evaluate(model, "pose_derivative", frame="tool", q=q)
    assert_close(dX @ D, rates(lambda d: alg.frame_pose(model, alg.integrate(model, q, d), tool).matrix(), D), RATE)
    dJ = evaluate(model, "jacobian_derivative", frame="tool", q=q)
    assert_close(dJ @ v, alg.jacobian_rate(model, q, v, tool), RECURSION)


def test_jacobian_derivative_in_axes_that_turn():
    robot = dalembert.load("panda")
    q = robot.random(np.random.default_rng(0))
    frame, point = robot.frames[-1].name, (0.1, -0.2, 0.3)
    dJ = robot.jacobian_derivative(q, frame, point=point, axes="body")
    slopes = [rate(lambda t, e=e: robot.jacobian(q + t * e, frame, point=point, axes="body")) for e in np.eye(7)]
    assert_close(dJ, np.stack(slopes, axis=-1), RATE)


def test_passivity_residual_is_rounding(case):
    model, q, v, _, _ = case
    size = np.max(np.abs(alg.coriolis_matrix(model, q, v)))
    assert 0.0 <= evaluate(model, "passivity_residual", q=q, v=v) <= RECURSION * size


def test_passivity_residual_finds_a_wrong_matrix(monkeypatch):
    """A matrix that gives the right C v need not make Ṁ − 2C skew."""
    rng = np.random.default_rng(0)
    model = random_model(rng, n_bodies=4, kinds=("revolute", "ball"))
    q, v, _ = random_state(rng, model)
    right = alg.coriolis_matrix

    def wrong(model, q, v):
        C = right(model, q, v)
        return C + np.outer(C @ v, [*([0.0] * (model.nv - 2)), v[-1], -v[-2]])

    monkeypatch.setattr(alg, "coriolis_matrix", wrong)
    assert_close(wrong(model, q, v) @ v, right(model, q, v) @ v, RECURSION)
    assert evaluate(model, "passivity_residual", q=q, v=v) > 1e-3


def test_christoffel_symbols_make_the_coriolis_matrix(seed):
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "prismatic", "universal", "planar", "cylindrical", "screw")
    model = random_model(rng, n_bodies=6, kinds=kinds)
    q, v, _ = random_state(rng, model)
    c = evaluate(model, "christoffel", q=q)
    assert_close(c @ v, alg.coriolis_matrix(model, q, v), RECURSION)
    assert_close(c, c.transpose(0, 2, 1), RECURSION)


def test_limits_of_christoffel_are_told():
    with pytest.raises(DalembertError, match="christoffel: joint 'trunk' is free, whose velocity is not the rate"):
        robot = dalembert.load("quadruped")
        robot.christoffel(robot.neutral())
    model = random_model(0, n_bodies=13, kinds=("revolute",))
    with pytest.raises(DalembertError, match="has 13 degrees of freedom, expected at most 12"):
        Robot(model).christoffel(np.zeros(13))


def test_named_results_in_batches_and_precisions():
    robot = dalembert.load("panda")
    rng = np.random.default_rng(1)
    q = robot.random(rng, 6).reshape(2, 3, 7)
    v, a, w = rng.normal(size=(3, 2, 3, 7))
    D, products = robot.inverse_dynamics_derivatives(q, v, a), robot.inverse_dynamics_vjp(q, v, a, w)
    for matrix, product in zip(D, products, strict=True):
        assert_close(product, np.einsum("...i,...ij->...j", w, matrix), RECURSION)
    assert products._fields == ("dq", "dv", "da")
    assert robot.forward_dynamics_vjp(q, v, a, w)._fields == ("dq", "dv", "dtau")
    assert robot.energy_derivatives(q, v).dv.shape == (2, 3, 7)
    assert robot.passivity_residual(q, v).shape == (2, 3)
    out = np.full((2, 3, 3, 7), np.nan)
    robot.inverse_dynamics_vjp(q, v, a, w, out=out)
    assert_close(out, np.stack(products, axis=-2), RECURSION)
    single = robot.inverse_dynamics_jvp(*(x.astype(np.float32) for x in (q, v, a, w, w, w)))
    assert single.dtype == np.float32


def test_products_inside_a_function_of_ones_own():
    """A gradient of a gradient: inputs of the inner one depend on each other."""
    robot = dalembert.load("ur5")

    def slope(q, w):
        return robot.inverse_dynamics_vjp(q, w, np.zeros(6), w).dq

    q, w = np.linspace(-1, 1, 6), np.linspace(0.5, 2, 6)
    expected = robot.inverse_dynamics_vjp(q, w, np.zeros(6), w).dq
    assert_close(dalembert.function(slope, robot, w=6)(q, w), expected, RECURSION)


# ---- inertial parameters


def with_parameters(model, pi):
    """The model with the ten parameters of every body taken from pi, numbers or traced."""
    bodies = tuple(
        replace(body, inertia=Inertia.from_parameters(pi[10 * body.index : 10 * body.index + 10]))
        for body in model.bodies
    )
    return replace(model, bodies=bodies)


def work(model, pi, q, v, a, w):
    """A scalar of the dynamics: virtual power of the torques and the energy."""
    model = with_parameters(model, pi)
    return w @ alg.rnea(model, q, v, a) + alg.energy(model, q, v)


@pytest.mark.parametrize("name", ROBOTS)
def test_gradient_in_all_inertial_parameters_costs_less_than_five_evaluations(name):
    model = dalembert.load(name).model
    n = model.nv
    sizes = {"pi": 10 * len(model.bodies), "q": model.nq, "v": n, "a": n, "w": n}
    once = trace(lambda *x: work(model, *x), sizes)
    both = trace(lambda pi, *x: np.append(gradient(f := work(model, pi, *x), pi), f), sizes)
    assert sum(both.operations().values()) < 5 * sum(once.operations().values())


def test_gradient_in_all_inertial_parameters(case):
    model, q, v, a, rng = case
    w = rng.normal(size=model.nv)
    pi = np.concatenate([body.inertia.parameters() for body in model.bodies])
    given = {"pi": pi, "q": q, "v": v, "a": a, "w": w}
    f = trace(lambda pi, *x: gradient(work(model, pi, *x), pi), {k: len(x) for k, x in given.items()}, "slope")
    slope = run(f, given)["slope"]
    still = work(model, 0.0 * pi, q, v, a, w)  # the rest is linear in pi
    assert_close(slope @ pi, work(model, pi, q, v, a, w) - still, RECURSION, scale=np.max(np.abs(slope * pi)))
    units = rng.choice(len(pi), 12, replace=False)
    before = work(model, pi, q, v, a, w)
    columns = [work(model, pi + e, q, v, a, w) - before for e in np.eye(len(pi))[units]]
    assert_close(slope[units], columns, RECURSION, scale=np.max(np.abs(slope)) * 100)
