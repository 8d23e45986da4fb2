"""The JAX and PyTorch backends against the interpreter, and through their libraries' own transformations."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from compiler.backends.expressions import EXPRESSIONS, check
from dalembert import load
from dalembert.errors import DalembertError
from tolerances import RECURSION, RECURSION32, assert_close

# the libraries' elementary functions and NumPy's are each within about 2 ulp
ULPS = 6
LIBRARIES = ["jax", "torch"]


@pytest.fixture(params=LIBRARIES)
def backend(request):
    """A backend and its library, in double precision."""
    library = pytest.importorskip(request.param)
    if request.param == "jax":
        library.config.update("jax_enable_x64", True)
    yield import_module(f"dalembert.compiler.backends.{request.param}"), library
    if request.param == "jax":
        library.config.update("jax_enable_x64", False)


SLOPES = "_slopes", "_jacobian", "_rates"  # they have the nodes of what they differentiate, one after the other


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(each, id=str(each), marks=[pytest.mark.long] if str(each).endswith(SLOPES) else [])
        for each in EXPRESSIONS
    ],
)
def test_agrees_with_the_interpreter(expression, backend):
    def run(function, inputs, outputs, n):
        for name, x in backend[0].run(function, inputs, n).items():
            outputs[name][...] = np.asarray(x)

    check(expression, run, ULPS, flush=backend[1].__name__ == "jax")  # XLA takes subnormal numbers as zero


def test_jax_sees_through():
    """A Jacobian of the traced operations, compiled, is the analytic derivative; in single precision, JAX's default."""
    jax = pytest.importorskip("jax")
    robot, rng = load("3r"), np.random.default_rng(0)
    q, v, a = robot.random(rng), *rng.normal(size=(2, robot.nv))
    J = jax.jit(jax.jacfwd(robot.traceable("inverse_dynamics", "jax")))(q, v, a)
    assert_close(J, robot.inverse_dynamics_derivatives(q, v, a).dq, RECURSION32)


def test_torch_sees_through():
    torch = pytest.importorskip("torch")
    robot, rng = load("3r"), np.random.default_rng(0)
    state = [torch.tensor(x) for x in (robot.random(rng), *rng.normal(size=(2, robot.nv)))]
    J = torch.autograd.functional.jacobian(robot.traceable("inverse_dynamics", "torch"), tuple(state))
    want = robot.inverse_dynamics_derivatives(*(x.numpy() for x in state))
    for got, expected in zip(J, want, strict=True):
        assert_close(got.numpy(), expected, RECURSION)


def test_unknown_library():
    with pytest.raises(DalembertError, match="unknown library 'jaxs': did you mean 'jax'"):
        load("2r").traceable("gravity", "jaxs")
