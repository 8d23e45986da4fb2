"""Derivatives, linear models and task dynamics with external wrenches on any frame, at any point, along any axes."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, Robot, Wrench, load
from laws.numeric import RATE, rate
from tolerances import RECURSION, SOLVE, SOLVER_DEFAULT, assert_close
from trees import random_model, random_state


@pytest.fixture(params=["frame", "world", "other"])
def loaded(request):
    """A small tree, a state of it, and wrenches on every other frame along one kind of axes."""
    axes, rng = request.param, np.random.default_rng(len(request.param))
    kinds = ("universal", "ball", "prismatic")
    robot = Robot(random_model(rng, n_bodies=3, kinds=kinds, base="free").without("friction"))
    names = [frame.name for frame in robot.frames]
    where = names[0] if axes == "other" else axes
    loads = [Wrench(rng.normal(size=3), rng.normal(size=3), name, rng.normal(size=3), where) for name in names[1::2]]
    return robot, *random_state(rng, robot.model), loads, rng


def columns(robot, f, q):
    return np.stack([rate(lambda t, e=e: f(robot.integrate(q, t * e))) for e in np.eye(robot.nv)], axis=-1)


def test_rates_of_the_loaded_dynamics(loaded):
    robot, q, v, a, loads, _ = loaded
    inverse = robot.inverse_dynamics_derivatives(q, v, a, external=loads)
    forward = robot.forward_dynamics_derivatives(q, v, a, external=loads)
    assert_close(inverse.dq, columns(robot, lambda x: robot.inverse_dynamics(x, v, a, external=loads), q), RATE)
    assert_close(forward.dq, columns(robot, lambda x: robot.forward_dynamics(x, v, a, external=loads), q), 100 * RATE)
    unloaded = robot.inverse_dynamics_derivatives(q, v, a)
    assert not np.allclose(unloaded.dq, inverse.dq)
    assert np.array_equal(unloaded.dv, inverse.dv)


@pytest.mark.parametrize("dynamics", ["inverse_dynamics", "forward_dynamics"])
def test_products_of_the_loaded_dynamics(loaded, dynamics):
    robot, q, v, u, loads, rng = loaded
    f = getattr(robot, dynamics)
    dq, dv, du, w = rng.normal(size=(4, robot.nv))
    along = rate(lambda t: f(robot.integrate(q, t * dq), v + t * dv, u + t * du, external=loads))
    pushed = getattr(robot, f"{dynamics}_jvp")(q, v, u, dq, dv, du, external=loads)
    assert_close(pushed, along, 100 * RATE)
    assert not np.allclose(pushed, getattr(robot, f"{dynamics}_jvp")(q, v, u, dq, dv, du))
    pulled = getattr(robot, f"{dynamics}_vjp")(q, v, u, w, external=loads)
    assert_close(np.dot(pulled[0], dq) + np.dot(pulled[1], dv) + np.dot(pulled[2], du), w @ along, 100 * RATE,
                 scale=np.abs(w) @ np.abs(along))  # fmt: skip


@pytest.mark.parametrize("loaded", ["frame", pytest.param("world", marks=pytest.mark.long), "other"], indirect=True)
@pytest.mark.parametrize("dynamics", ["inverse_dynamics", pytest.param("forward_dynamics", marks=pytest.mark.long)])
def test_second_derivatives_of_the_loaded_dynamics(loaded, dynamics):
    robot, q, v, u, loads, rng = loaded
    n, w = robot.nv, rng.normal(size=robot.nv)
    first = getattr(robot, f"{dynamics}_vjp")

    def slope(d):
        moved = robot.integrate(q, d[:n]), v + d[n : 2 * n], u + d[2 * n :]
        return np.concatenate(first(*moved, w, external=loads))

    H = np.stack([rate(lambda t, e=e: slope(t * e)) for e in np.eye(3 * n)], axis=1)
    second = getattr(robot, f"{dynamics}_second")(q, v, u, w, external=loads)
    assert_close(second, 0.5 * (H + H.T), 1e3 * RATE)
    assert not np.allclose(second, getattr(robot, f"{dynamics}_second")(q, v, u, w))


def test_linear_model_of_the_loaded_robot(loaded):
    robot, q, v, tau, loads, _ = loaded
    A, B = robot.linearize(q, v, tau, external=loads)
    d, n = robot.forward_dynamics_derivatives(q, v, tau, external=loads), robot.nv
    assert np.array_equal(A[n:], np.concatenate([d.dq, d.dv], axis=1))
    assert np.array_equal(B[n:], d.dtau)


def test_task_feels_the_loads(loaded):
    """Λ ẍ + μ + p = F for the acceleration that forward dynamics gives."""
    robot, q, v, _, loads, rng = loaded
    frame, point = robot.frames[-1].name, rng.normal(size=3)
    inertia, bias, gravity, _ = robot.operational_dynamics(q, v, frame, point=point, external=loads)
    F = rng.normal(size=6)
    a = robot.forward_dynamics(q, v, robot.jacobian(q, frame, point=point).T @ F, external=loads)
    moved = inertia @ robot.acceleration(q, v, a, frame, point=point)
    assert_close(moved + bias + gravity, F, SOLVE, scale=np.max(np.abs(moved)))


def test_equilibrium_under_a_load():
    """A hanging arm with two hinges, pulled sideways at its tip: the whole arm lines up with weight and pull."""
    robot = load("2r").without("friction", "damping")
    tip = robot.frames[-1].name
    pull = [Wrench(force=(3.0, -1.0, 2.0), frame=tip, axes="world")]
    q0 = np.array([0.3, -0.2])
    found = robot.equilibrium(q0, external=iter(pull))
    assert_close(
        robot.forward_dynamics(found.q, np.zeros(2), np.zeros(2), external=pull), np.zeros(2), 100 * SOLVER_DEFAULT
    )
    assert_close(robot.equilibrium_torque(found.q, external=pull), found.residual, RECURSION, scale=10.0)
    held = robot.equilibrium_torque(q0, external=pull)
    assert_close(robot.forward_dynamics(q0, np.zeros(2), held, external=pull), np.zeros(2), SOLVE, scale=10.0)
    A = robot.linearize(found.q, np.zeros(2), np.zeros(2), external=pull).A
    modes = robot.modes(found.q, tau=np.zeros(2), external=pull)
    assert_close(np.sort(np.abs(np.linalg.eigvals(A)))[::2], modes.frequencies, SOLVE)
    with pytest.raises(DalembertError, match="modes: q is not an equilibrium under tau"):
        robot.modes(found.q, tau=np.zeros(2))
    with pytest.raises(DalembertError, match=r"equilibrium: external\[0\] is a batch, expected one wrench"):
        robot.equilibrium(q0, external=[Wrench(force=np.zeros((4, 3)), frame=tip)])
    single = robot.equilibrium_torque(q0.astype(np.float32), external=[Wrench(force=(1.0, 0.0, 0.0), frame=tip)])
    assert single.dtype == np.float32
