"""Every integrator has the order that theory gives it, on free and ball joints too."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Robot
from dalembert.dynamics import algorithms
from dalembert.sim.integrators import INTEGRATORS
from tolerances import COMPUTED, INTEGRATED, PRODUCT
from trees import random_model

DURATION = 0.4


@pytest.fixture(scope="module")
def flying() -> tuple:
    """A free body that carries a ball joint and a hinge, a state, and where it is after DURATION."""
    model = random_model(3, n_bodies=2, kinds=("ball", "revolute"), base="free", effects=False)
    rng = np.random.default_rng(0)
    q, v = algorithms.random(model, rng), rng.normal(size=model.nv)
    robot = Robot(model)
    exact = robot.simulate(q, v, DURATION, integrator="rk8", step=DURATION / 100, record=DURATION)
    return robot, q, v, exact.q[-1], exact.v[-1]


def error(flying: tuple, integrator: str, steps: int) -> float:
    robot, q, v, q_end, v_end = flying
    run = robot.simulate(q, v, DURATION, integrator=integrator, step=DURATION / steps, record=DURATION)
    assert run.steps == steps
    return max(np.abs(robot.difference(q_end, run.q[-1])).max(), np.abs(run.v[-1] - v_end).max())


@pytest.mark.parametrize("integrator", [name for name, known in INTEGRATORS.items() if not known.free_bodies])
def test_measured_order(flying, integrator: str) -> None:
    coarse = {"rk8": 4, "rk45": 12}.get(integrator, 64)
    measured = np.log2(error(flying, integrator, coarse) / error(flying, integrator, 2 * coarse))
    assert abs(measured - INTEGRATORS[integrator].order) < 0.1


@pytest.mark.parametrize("integrator", ["implicit-midpoint", pytest.param("variational", marks=pytest.mark.long)])
def test_order_with_rotors_dampers_and_springs(integrator: str) -> None:
    """Also where a ball joint's rotors differ from axis to axis, whose momentum does not turn with the joint."""
    model = random_model(3, n_bodies=2, kinds=("ball", "revolute"), base="free")
    rng = np.random.default_rng(0)
    q, v = algorithms.random(model, rng), rng.normal(size=model.nv)
    robot = Robot(model)
    exact = robot.simulate(q, v, 0.1, integrator="rk4", step=1e-5, record=0.1)
    errors = []
    for steps in (25, 50):
        run = robot.simulate(q, v, 0.1, integrator=integrator, step=0.1 / steps, record=0.1)
        moved, sped = robot.difference(exact.q[-1], run.q[-1]), run.v[-1] - exact.v[-1]
        errors.append(max(np.abs(moved).max(), np.abs(sped).max()))
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.1


def test_quaternions_stay_of_unit_length(flying) -> None:
    robot, q, v, *_ = flying
    for integrator in ("rk45", "semi-implicit", "variational"):
        run = robot.simulate(q, v, 1.0, integrator=integrator, step=None if integrator == "rk45" else 1e-2)
        for joint in (j for j in robot.joints if j.kind in ("free", "ball")):
            lengths = np.linalg.norm(run.q[:, joint.q][:, -4:], axis=1)
            np.testing.assert_allclose(lengths, 1.0, atol=PRODUCT)


@pytest.mark.parametrize(
    "integrator", ["rk45", "rodas", *(pytest.param(x, marks=pytest.mark.long) for x in ("rk23", "rk8", "merson"))]
)
def test_error_follows_the_tolerance(flying, integrator: str) -> None:
    robot, q, v, q_end, v_end = flying
    errors = []
    for rtol in (1e-5, 1e-8):
        run = robot.simulate(q, v, DURATION, integrator=integrator, rtol=rtol, atol=rtol, record=DURATION)
        errors.append(max(np.abs(robot.difference(q_end, run.q[-1])).max(), np.abs(run.v[-1] - v_end).max()))
        assert errors[-1] < 20.0 * rtol
    assert errors[1] < 0.05 * errors[0]


@pytest.mark.parametrize("integrator", ["rk23", "rk45", "rk8", "merson", "rodas"])
def test_records_between_steps_are_as_good_as_steps(flying, integrator: str) -> None:
    """Dense output and landing: a fine grid agrees with an exact run on it, to about the tolerance."""
    robot, q, v, *_ = flying
    exact = robot.simulate(q, v, DURATION, integrator="rk8", rtol=1e-13, atol=1e-14, record=0.007)
    run = robot.simulate(q, v, DURATION, integrator=integrator, rtol=1e-7, atol=1e-7, record=0.007)
    np.testing.assert_array_equal(run.t, exact.t)
    assert run.t[-1] == DURATION and len(run.t) == 59
    assert np.abs(robot.difference(exact.q, run.q)).max() < 3 * INTEGRATED
    assert np.abs(run.v - exact.v).max() < 3 * INTEGRATED


@pytest.mark.parametrize("name", [n for n, x in INTEGRATORS.items() if x.tableau is not None and not x.tableau.linear])
def test_tableaux_fulfil_the_quadrature_conditions(name: str) -> None:
    method = INTEGRATORS[name].tableau
    for k in range(1, method.order + 1):
        assert method.b @ method.c ** (k - 1) == pytest.approx(1.0 / k, abs=PRODUCT)
    np.testing.assert_allclose(method.a.sum(axis=1), method.c, atol=PRODUCT)
    for weights in method.errors:
        assert weights.sum() == pytest.approx(0.0, abs=PRODUCT)
    if method.dense is not None:
        np.testing.assert_allclose(method.dense.sum(axis=1), method.b, atol=COMPUTED)
        np.testing.assert_allclose(method.dense[:, 0], np.eye(len(method.b))[0], atol=COMPUTED)
