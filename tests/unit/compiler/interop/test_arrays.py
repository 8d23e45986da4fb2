"""Arrays of PyTorch and JAX in the processor's memory: their own kind comes back, gradients are right, all transforms.

A library that is not installed has its tests skipped; GPUs have benchmarks/gpu/check.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, Wrench, function, load
from dalembert import math as dmath
from dalembert.compiler.interop.kinds import Jax, library
from tolerances import RECURSION, RECURSION32, SOLVE, assert_close


def states(robot, count=3):
    rng = np.random.default_rng(0)
    return robot.random(rng, count), *rng.normal(size=(2, count, robot.nv))


def calls(robot, q, v, a):
    """Results of many shapes: vectors, matrices, numbers, named tuples, with frames, loads and plain numbers."""
    frame = robot.frames[-1].name
    yield robot.inverse_dynamics(q, v, a)
    yield robot.forward_dynamics(q, v, a[0])
    yield robot.mass_matrix(q)
    yield robot.energy(q, v)
    yield robot.energy(q[0], v[0])
    yield robot.integrate(q, v, 0.1)
    yield robot.jacobian(q, frame, point=(0.1, 0, 0))
    yield robot.pose(q[1], frame)
    yield robot.forward_dynamics(q, v, a, external=[Wrench(force=(1, 2, 3), frame=frame)])
    yield robot.operational_inertia(q, frame, rows="position")
    yield from robot.inverse_dynamics_derivatives(q, v, a)
    yield from robot.inverse_dynamics_vjp(q[0], v[0], a[0], a[1])
    yield from robot.hybrid_dynamics(q, v, a, accelerations=[robot.joints[-1].name])


@pytest.mark.parametrize("single", [False, True])
def test_torch_in_torch_out(torch, single):
    robot = load("quadruped")
    given = states(robot)
    dtype = torch.float32 if single else torch.float64
    tensors = [torch.tensor(x, dtype=dtype) for x in given]
    for _ in range(2):  # the first call, and the fast one
        for got, want in zip(calls(robot, *tensors), calls(robot, *given), strict=True):
            assert isinstance(got, torch.Tensor) and got.dtype == dtype
            assert_close(got.numpy(), want, 100 * RECURSION32 if single else RECURSION)


def test_jax_in_jax_out(jax):
    robot = load("quadruped")
    given = states(robot)
    arrays = [jax.numpy.asarray(x) for x in given]
    for got, want in zip(calls(robot, *arrays), calls(robot, *given), strict=True):
        assert isinstance(got, jax.Array) and got.dtype == np.float64
        assert_close(got, want, RECURSION)


def test_torch_writes_into_given_tensors(torch):
    robot = load("ur5")
    given = states(robot)
    tensors = [torch.tensor(x) for x in given]
    out = torch.full((3, 6), torch.nan, dtype=torch.float64)
    assert robot.inverse_dynamics(*tensors, out=out) is out
    assert_close(out.numpy(), robot.inverse_dynamics(*given), RECURSION)


def test_mixed_arguments(torch):
    """NumPy arrays and lists become tensors; lists take the tensors' precision."""
    robot = load("ur5")
    q, v, a = states(robot)
    single = robot.inverse_dynamics(torch.tensor(q, dtype=torch.float32), [0.0] * 6, list(a[0]))
    assert single.dtype == torch.float32
    double = robot.inverse_dynamics(torch.tensor(q, dtype=torch.float32), v, [0.0] * 6)
    assert double.dtype == torch.float64


def test_errors(torch, jax):
    robot = load("ur5")
    q, v, a = (torch.tensor(x) for x in states(robot))
    with pytest.raises(DalembertError, match=r"inverse_dynamics: v has shape \(3, 5\), expected \(…, 6\)"):
        robot.inverse_dynamics(q, v[:, :5], a)
    with pytest.raises(DalembertError, match="batch shapes do not broadcast"):
        robot.inverse_dynamics(q, v[:2], a)
    with pytest.raises(DalembertError, match="arrays of jax and torch, expected those of one library"):
        robot.inverse_dynamics(q, jax.numpy.asarray(v), a)
    with pytest.raises(DalembertError, match=r"q is of type torch\.float16, expected float64 or float32"):
        robot.gravity(q.half())
    with pytest.raises(DalembertError, match=r"q\[0\] of state 0 is nan"):
        robot.gravity(q * torch.nan)
    with pytest.raises(DalembertError, match="JAX arrays cannot be written to"):
        robot.gravity(jax.numpy.asarray(q), out=jax.numpy.zeros((3, 6)))


def test_what_numpy_computes_takes_tensors_of_the_host(torch):
    robot = load("ur5")
    given = states(robot)
    tensors = [torch.tensor(x) for x in given]
    assert_close(robot.linearize(*tensors).A, robot.linearize(*given).A, RECURSION)
    assert robot.peak_reactions(*tensors).peaks[1].force == robot.peak_reactions(*given).peaks[1].force
    at = robot.equilibrium(tensors[0][0], torch.tensor(robot.gravity(given[0][0])))
    assert isinstance(at.q, np.ndarray)


def test_gradcheck(torch):
    """First and second derivatives of both dynamics, of a matrix and of a number, with broadcast arguments."""
    robot = load("3r")
    q, v, a = (torch.tensor(x, requires_grad=True) for x in states(robot, 2))
    one = a.detach()[0].requires_grad_()
    check, again = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    assert check(lambda *x: robot.inverse_dynamics(*x), (q, v, one))
    assert check(lambda *x: robot.forward_dynamics(*x), (q, v, one))
    assert check(lambda x: robot.mass_matrix(x), (q,))
    assert check(lambda *x: robot.energy(*x), (q, v))
    assert again(lambda *x: robot.inverse_dynamics(*x), (q, v, one))
    assert again(lambda *x: robot.forward_dynamics(*x), (q, v, one))


def test_gradient_of_a_quaternion(torch):
    """In coordinates: through a normalisation, it is the analytic derivative along velocities."""
    robot = load("quadruped")
    q, v, a = (torch.tensor(x[0]) for x in states(robot))
    w = torch.ones(robot.nv, dtype=torch.float64)
    move = torch.zeros(robot.nv, dtype=torch.float64, requires_grad=True)
    robot.inverse_dynamics(robot.integrate(q, move, 1.0), v, a).backward(w)
    assert_close(move.grad.numpy(), robot.inverse_dynamics_vjp(*(x.numpy() for x in (q, v, a, w))).dq, SOLVE)


def test_live_parameters_have_gradients(torch):
    robot = load("2r")
    q, v, a = (torch.tensor(x) for x in states(robot, 4))
    compiled = robot.compile("inverse_dynamics", live="inertia")
    pi = torch.tensor(robot.live_values("inertia"), requires_grad=True)
    compiled(q, v, a, pi).sum().backward()
    want = robot.regressor(*(x.numpy() for x in (q, v, a))).sum(axis=(0, 1))
    assert_close(pi.grad.numpy(), want, RECURSION)


def test_own_functions_take_tensors(torch):
    robot = load("2r")
    power = function(lambda q, v, tau: {"power": tau @ v, "sine": dmath.sin(q)}, robot)
    q, v, tau = (torch.tensor(x, requires_grad=True) for x in states(robot, 2))
    total, sine = power(q, v, tau)
    assert total.shape == (2,) and sine.shape == (2, 2)
    assert torch.autograd.gradcheck(lambda *x: power(*x), (q, v, tau))


def test_torch_func(torch):
    robot = load("3r")
    given = states(robot)
    q, v, a = (torch.tensor(x) for x in given)
    want = robot.inverse_dynamics(*given[:2], given[2][0])
    over = torch.func.vmap(robot.inverse_dynamics, in_dims=(0, 0, None))
    assert_close(over(q, v, a[0]).numpy(), want, RECURSION)
    columns = torch.func.vmap(robot.inverse_dynamics, in_dims=(1, 1, None))
    assert_close(columns(q.T, v.T, a[0]).numpy(), want, RECURSION)
    J = torch.func.vmap(torch.func.jacrev(robot.gravity))(q)
    assert_close(J.numpy(), robot.gravity_derivatives(given[0]), RECURSION)


def test_check_grads(jax):
    from jax.test_util import check_grads

    robot = load("3r")
    q, v, a = (jax.numpy.asarray(x) for x in states(robot, 2))
    check_grads(lambda *x: robot.inverse_dynamics(*x), (q, v, a[0]), 2, modes=["rev"])
    check_grads(lambda *x: robot.forward_dynamics(*x), (q, v, a[0]), 2, modes=["rev"])
    check_grads(lambda x: robot.mass_matrix(x), (q,), 1, modes=["rev"])


def test_jax_transformations(jax):
    """jit, vmap along any axis and with differing ranks, and gradients inside both."""
    robot = load("3r")
    given = states(robot)
    q, v, a = (jax.numpy.asarray(x) for x in given)
    want = robot.inverse_dynamics(*given[:2], given[2][0])
    assert_close(jax.jit(robot.inverse_dynamics)(q, v, a[0]), want, RECURSION)
    assert_close(jax.jit(jax.vmap(robot.inverse_dynamics, (0, 0, None)))(q, v, a[0]), want, RECURSION)
    assert_close(jax.vmap(robot.inverse_dynamics, (1, 1, None))(q.T, v.T, a[0]), want, RECURSION)
    inner = jax.vmap(robot.inverse_dynamics, (None, 0, None))(q, v, a[0])  # (3 of v, 3 of q, nv)
    assert_close(inner, robot.inverse_dynamics(given[0], given[1][:, None], given[2][0]), RECURSION)
    slope = jax.jit(jax.grad(lambda q: robot.inverse_dynamics(q, v, a).sum()))(q)
    weights = np.ones_like(given[0])
    assert_close(slope, robot.inverse_dynamics_vjp(*given, weights).dq, RECURSION)
    J = jax.jit(jax.vmap(jax.jacrev(robot.gravity)))(q)
    assert_close(J, robot.gravity_derivatives(given[0]), RECURSION)


def test_jax_default_precision():
    """Without 64 bits switched on, JAX arrays are float32, and so is what comes back."""
    jax = pytest.importorskip("jax")
    robot = load("2r")
    q = jax.numpy.zeros((4, 2))
    result = jax.jit(robot.gravity)(q)
    assert result.dtype == np.float32
    assert_close(result, robot.gravity(np.zeros((4, 2))), RECURSION32)


def test_stand_ins_of_a_transformation_are_on_no_device(jax, monkeypatch):
    """As of an array on a GPU and one that is differentiated."""
    places = []
    monkeypatch.setattr(Jax, "device", lambda self, x: 3)

    def seen(x):
        places.append(library("test", [jax.numpy.ones(2), x]).place)
        return x.sum()

    jax.grad(seen)(jax.numpy.ones(2))
    assert places == [3]
