"""Rollouts of PyTorch and JAX arrays in the processor's memory: their own kind, their precision, right gradients.

A library that is not installed has its tests skipped; GPUs have tests/compiler/backends/test_cuda_rollout.py, which
needs none,
and benchmarks/gpu/check.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, elements, load
from tolerances import INTEGRATED, RECURSION, SINGLE, SLOPE, SOLVE, assert_close

STEPS, STEP = 6, 0.01


def states(robot, count=3):
    """q, v and a torque for every step."""
    rng = np.random.default_rng(0)
    sizes = (count, robot.nv), (count, STEPS, robot.nv)
    return robot.random(rng, count), *(rng.normal(size=size) for size in sizes)


def cases(robot, q, v, u, pi):
    """Every kind of torque, records, elements, live parameters, integrators, one state and several axes."""
    joint = robot.joints[-1].name
    friction = elements.Friction(joint, 0.5, stiffness=1e2, bristle_damping=0.1)
    yield robot.rollout(q, v, None, STEP, STEPS)
    yield robot.rollout(q, v, u, STEP, STEPS, every=1)
    yield robot.rollout(q, v[0], u[0], STEP, STEPS, every=4)
    yield robot.rollout(q[0], v[0], u[0, 0], STEP, STEPS, "rk4")
    yield robot.rollout(q[:, None], v, u[:, 0], STEP, STEPS, every=3)
    yield robot.rollout(q, v, lambda t, q, v: -0.1 * v, STEP, STEPS, "implicit-velocity")
    yield robot.rollout(q, v, u, 1e-3, STEPS, elements=[friction])
    yield robot.rollout(q, v, u, STEP, STEPS, parameters={"inertia": pi})


@pytest.mark.parametrize("single", [False, True])
def test_torch_in_torch_out(torch, single):
    robot = load("3r")
    given = [*states(robot), robot.live_values("inertia")]
    dtype = torch.float32 if single else torch.float64
    tensors = [torch.tensor(x, dtype=dtype) for x in given]
    for got, want in zip(cases(robot, *tensors), cases(robot, *given), strict=True):
        for x, y in zip(got[1:], want[1:], strict=True):
            assert isinstance(x, torch.Tensor) and x.dtype == dtype
            assert_close(x.numpy(), y, 1e-3 if single else RECURSION)
        assert_close(got.t, want.t, INTEGRATED)
        assert isinstance(got.t, torch.Tensor) == (np.ndim(want.t) == 1)


def test_jax_in_jax_out(jax):
    robot = load("3r")
    given = [*states(robot), robot.live_values("inertia")]
    for got, want in zip(cases(robot, *map(jax.numpy.asarray, given)), cases(robot, *given), strict=True):
        for x, y in zip(got[1:], want[1:], strict=True):
            assert isinstance(x, jax.Array) and x.dtype == np.float64
            assert_close(x, y, RECURSION)


def test_numpy_keeps_its_precision():
    """float32 in, float32 out, computed in float32; lists take the precision of the arrays beside them."""
    robot = load("3r")
    q, v, u = states(robot)
    single = robot.rollout(q.astype(np.float32), v.astype(np.float32), u[0, 0].tolist(), STEP, STEPS)
    double = robot.rollout(q, v, u[0, 0], STEP, STEPS)
    assert single.q.dtype == single.v.dtype == np.float32 and double.q.dtype == np.float64
    assert_close(single.q, double.q, SINGLE)
    assert robot.rollout(q.astype(np.float32), v, None, STEP, STEPS).q.dtype == np.float64


def test_gradcheck(torch):
    """Against differences: all inputs, each kind of torque, any records, broadcast arguments."""
    robot = load("3r")
    q, v, u = (torch.tensor(x, requires_grad=True) for x in states(robot, 2))
    check = torch.autograd.gradcheck
    for record in (None, 1, 2, 4):
        assert check(lambda *x, k=record: robot.rollout(*x, STEP, STEPS, every=k)[1:], (q, v, u))
    one, constant = u.detach()[0].requires_grad_(), u.detach()[0, 0].requires_grad_()
    assert check(lambda *x: robot.rollout(*x, STEP, STEPS, every=2)[1:], (q, v, one))
    assert check(lambda *x: robot.rollout(*x, STEP, STEPS, every=2)[1:], (q, v, constant))


@pytest.mark.parametrize("integrator", ["rk4", "implicit-velocity", "implicit-midpoint", "variational"])
def test_gradcheck_of_integrators(torch, integrator):
    robot = load("2r")
    q, v, u = (torch.tensor(x, requires_grad=True) for x in states(robot, 2))
    assert torch.autograd.gradcheck(lambda *x: robot.rollout(*x, STEP, STEPS, integrator, every=3)[1:], (q, v, u))


def test_gradients_of_parameters_laws_and_elements(torch):
    robot = load("2r")
    q, v, _ = (torch.tensor(x, requires_grad=True) for x in states(robot, 2))
    groups = {name: torch.tensor(robot.live_values(name) + 0.1, requires_grad=True) for name in ("inertia", "damping")}
    friction = elements.Friction(robot.joints[0].name, 0.5, static=0.7, stiffness=1e2, bristle_damping=0.1)

    def ends(q, v, inertia, damping):
        more = {"parameters": {"inertia": inertia, "damping": damping}, "elements": [friction]}
        return robot.rollout(q, v, lambda t, q, v: t * q - 0.1 * v, 1e-3, STEPS, **more)[1:]

    assert torch.autograd.gradcheck(ends, (q, v, *groups.values()))


def test_gradient_is_the_product_of_linear_models(torch):
    """Of explicit Euler steps, each with the Jacobian I + h A of the state and h B of the torque."""
    robot = load("3r")
    q, v, u = (torch.tensor(x[0], requires_grad=True) for x in states(robot))
    made = robot.rollout(q, v, u, STEP, STEPS, "euler", every=1)
    weight = torch.arange(1.0, 7.0, dtype=torch.float64)
    (torch.cat([made.q[-1], made.v[-1]]) @ weight).backward()
    way = [torch.cat([q[None], made.q]).detach().numpy(), torch.cat([v[None], made.v]).detach().numpy()]
    slope, rows = weight.numpy(), []
    for k in reversed(range(STEPS)):
        at = robot.linearize(way[0][k], way[1][k], u[k].detach().numpy())
        rows.insert(0, STEP * at.B.T @ slope)
        slope = slope + STEP * at.A.T @ slope
    assert_close(np.concatenate([q.grad, v.grad]), slope, SOLVE)
    assert_close(u.grad.numpy(), np.array(rows), SOLVE)


def test_gradient_of_a_free_base(torch):
    """In coordinates; along velocities it is that of differences on the manifold."""
    robot = load("quadruped")
    q, v, u = (x[0] for x in states(robot))
    move = torch.zeros(robot.nv, dtype=torch.float64, requires_grad=True)
    weight = np.linspace(-1.0, 1.0, robot.nv)
    end = robot.rollout(robot.integrate(torch.tensor(q), move, 1.0), v, u, STEP, STEPS)
    (end.v @ torch.tensor(weight)).backward()
    for k in (0, 4, 9):
        moved = (robot.integrate(q, d * np.eye(robot.nv)[k], 1.0) for d in (1e-6, -1e-6))
        plus, minus = (robot.rollout(x, v, u, STEP, STEPS).v @ weight for x in moved)
        assert_close(move.grad[k].item(), (plus - minus) / 2e-6, 10 * SLOPE)


def test_torch_func(torch):
    robot = load("2r")
    given = states(robot)
    tensors = [torch.tensor(x) for x in given]
    over = torch.func.vmap(lambda q, v, u: robot.rollout(q, v, u, STEP, STEPS, every=2).q)
    want = robot.rollout(*given, STEP, STEPS, every=2).q
    assert_close(over(*tensors).numpy(), want, RECURSION)
    J = torch.func.jacrev(lambda u: robot.rollout(*tensors[:2], u, STEP, STEPS).q)(tensors[2])
    assert J.shape == (3, 2, 3, STEPS, 2) and torch.isfinite(J).all()


def test_jax_transformations(jax):
    from jax.test_util import check_grads

    robot = load("2r")
    given = states(robot)
    arrays = [jax.numpy.asarray(x) for x in given]

    def ends(q, v, u):
        return robot.rollout(q, v, u, STEP, STEPS, every=2)

    want = robot.rollout(*given, STEP, STEPS, every=2)
    check_grads(lambda *x: ends(*x)[1:], arrays, 1, modes=["rev"])
    assert_close(jax.jit(ends)(*arrays).q, want.q, RECURSION)
    assert_close(jax.vmap(ends)(*arrays).v, want.v, RECURSION)
    slope = jax.grad(lambda u: ends(*arrays[:2], u).q.sum())
    assert_close(jax.jit(slope)(arrays[2]), slope(arrays[2]), RECURSION)


def test_a_law_is_differentiated_as_it_was(torch):
    """What a function refers to may have changed between the motion and its gradient."""
    robot = load("2r")
    gain, slopes = [1.0], []
    for later in (1.0, 50.0):
        gain[0] = 1.0
        v = torch.zeros(2, dtype=torch.float64, requires_grad=True)
        end = robot.rollout(torch.ones(2, dtype=torch.float64), v, lambda t, q, v: -gain[0] * v, STEP, 5)
        gain[0] = later
        end.v.sum().backward()
        slopes.append(v.grad.numpy())
    np.testing.assert_array_equal(*slopes)


def test_what_cannot_be_done_says_so(torch, jax):
    robot, loop = load("2r"), load("four_bar")
    q, v = torch.zeros(3, 2), torch.zeros(3, 2)
    for work, said in (
        (lambda: robot.rollout(q, v, integrator="variational"), "needs more digits than float32 has: give float64"),
        (lambda: loop.rollout(*(np.zeros((1, 3), np.float32),) * 2), "a closed loop needs more digits"),
        (lambda: robot.rollout(q, v[:2]), r"batch shapes do not broadcast: q \(3,\), v \(2,\)"),
        (lambda: robot.rollout(q, v[:, :1]), r"rollout: v has shape \(3, 1\), expected \(…, 2\)"),
        (lambda: robot.rollout(q.half(), v), r"q is of type torch\.float16, expected float64 or float32"),
        (lambda: robot.rollout(q, jax.numpy.zeros(2)), "arrays of jax and torch, expected those of one library"),
        (lambda: robot.rollout(q, v, torch.nn.Linear(2, 2)), "roll out one step at a time"),
        (lambda: robot.rollout(q, v, torch.zeros(3, 2), steps=3), "one per motion or one per step"),
        (lambda: robot.simulate(q[0].requires_grad_(), v[0], 0.1), "torch wants to differentiate .* detach it"),
    ):
        with pytest.raises(DalembertError, match=said):
            work()
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(robot.rollout(x, np.zeros(2), steps=2).q.sum(), x, create_graph=True)
    with pytest.raises(DalembertError, match="gradients of gradients do not go through a rollout"):
        slope.sum().backward()


def test_simulate_takes_tensors_of_the_host(torch):
    robot = load("2r")
    q, v, u = (x[0] for x in states(robot))
    run = robot.simulate(torch.tensor(q), torch.tensor(v), 0.1, torch.tensor(u[0]))
    assert isinstance(run.q, np.ndarray)
    np.testing.assert_array_equal(run.q, robot.simulate(q, v, 0.1, u[0]).q)
