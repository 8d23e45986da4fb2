"""Second derivatives are differences of first ones, in the chart of constant velocities."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, Robot
from dalembert.dynamics import algorithms as alg
from laws.numeric import RATE, directions, rate, rates
from laws.traced import cost, evaluate
from tolerances import SLOPE, assert_close
from trees import random_model, random_state


@pytest.fixture(params=range(4), ids=lambda seed: f"seed{seed}")
def seed(request):
    """All of them: they have different joint types here."""
    return request.param


@pytest.fixture(params=[pytest.param(False, marks=pytest.mark.long), True], ids=["bare", "effects"])
def small(request, seed, base):
    """A tree of few bodies, each seed with other joint types; without joint effects in the long tests."""
    kinds = (("ball", "planar"), ("universal", "revolute"), ("free", "screw"), ("cylindrical", "prismatic", "ball"))[
        seed
    ]
    rng = np.random.default_rng([seed, base == "free", request.param])
    model = random_model(rng, n_bodies=3, kinds=kinds, base=base, effects=request.param)
    return model, *random_state(rng, model), rng.normal(size=model.nv)


def curvature(model, derivatives, q, v, x, w, D):
    """Dᵀ H D by differences of first derivatives: of the gradient's rates the symmetric part, which the chart makes."""
    n = model.nv

    def slope(d):
        moved = alg.integrate(model, q, d[:n]), v + d[n : 2 * n], x + d[2 * n :]
        return np.concatenate([w @ first for first in derivatives(model, *moved)])

    H = D.T @ rates(slope, D)
    return 0.5 * (H + H.T)


def test_second_derivatives_of_inverse_dynamics(small):
    model, q, v, a, w = small
    D = directions(np.random.default_rng(1), 3 * model.nv, 6)
    H = evaluate(model, "inverse_dynamics_second", q=q, v=v, a=a, w=w)
    assert_close(D.T @ H @ D, curvature(model, alg.inverse_dynamics_derivatives, q, v, a, w, D), 100 * RATE)


def test_second_derivatives_of_forward_dynamics(small):
    model, q, v, tau, w = small
    D = directions(np.random.default_rng(1), 3 * model.nv, 6)
    H = evaluate(model, "forward_dynamics_second", q=q, v=v, tau=tau, w=w)
    assert_close(D.T @ H @ D, curvature(model, alg.forward_dynamics_derivatives, q, v, tau, w, D), 1e3 * RATE)


def test_second_order_growth_along_a_line_of_the_chart(small):
    """uᵀ H u is the second rate of wᵀ tau along q ⊕ t u: the definition, without first derivatives."""
    model, q, v, a, w = small
    n = model.nv
    rng = np.random.default_rng(0)
    u = rng.normal(size=3 * n)

    def f(t):
        return w @ alg.rnea(model, alg.integrate(model, q, t * u[:n]), v + t * u[n : 2 * n], a + t * u[2 * n :])

    h = 2e-3
    weights = {0: -49 / 18, 1: 3 / 2, 2: -3 / 20, 3: 1 / 90}
    second = sum(c * (f(k * h) + f(-k * h)) / (2 if k == 0 else 1) for k, c in weights.items()) / h**2
    H = evaluate(model, "inverse_dynamics_second", q=q, v=v, a=a, w=w)
    assert_close(u @ H @ u, second, 10 * SLOPE, scale=np.max(np.abs(np.outer(u, u) * H)))


def test_second_derivatives_of_a_robot_in_a_batch():
    robot = dalembert.load("ur5")
    rng = np.random.default_rng(3)
    q, (v, tau, w) = robot.random(rng, 4), rng.normal(size=(3, 4, 6))
    H = robot.forward_dynamics_second(q, v, tau, w)
    assert H.shape == (4, 18, 18)
    assert np.array_equal(H, H.transpose(0, 2, 1))

    def gradient(t):
        return np.concatenate(robot.forward_dynamics_vjp(q + t * v, v, tau, w), axis=-1)

    assert_close(H[:, :, :6] @ v[:, :, None], rate(gradient)[..., None], 10 * RATE)


def test_cost_for_small_arms():
    """The Hessian of an arm takes no more operations than a few of its Jacobians."""
    model = dalembert.load("panda").model
    assert cost(model, "inverse_dynamics_second") < 2 * cost(model, "inverse_dynamics_derivatives")
    assert cost(model, "forward_dynamics_second") < 3 * cost(model, "forward_dynamics_derivatives")


def test_limit_is_told():
    robot = Robot(random_model(0, n_bodies=41, kinds=("revolute",)))
    zero = np.zeros(41)
    for call in (robot.inverse_dynamics_second, robot.forward_dynamics_second):
        with pytest.raises(DalembertError, match="has 41 degrees of freedom, expected at most 40"):
            call(zero, zero, zero, zero)
