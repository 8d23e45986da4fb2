"""Rollouts on a device, without one: NumPy's memory stands for a GPU's, loops are compiled for the host.

The same motions and the same gradients as on the processor, in every layout; what is not written stays NaN.
"""

from __future__ import annotations

import numpy as np
import pytest

from compiler.backends.test_cuda import needs_compiler
from compiler.backends.test_cuda_device import Host, HostKernel, no_gpu
from dalembert import ModelBuilder, elements, load
from dalembert.compiler.backends.cuda import constants
from dalembert.compiler.execute import device
from dalembert.compiler.execute.device import Array
from dalembert.sim.integrators import INTEGRATORS
from dalembert.sim.rollout.live import prepared
from dalembert.sim.rollout.motions import Motions
from dalembert.sim.rollout.stepping import StepParts, Stepping
from tolerances import SOLVE, assert_close

__all__ = ["no_gpu"]
pytestmark = needs_compiler
STEP, BATCH = 1e-3, 5


@pytest.fixture(autouse=True)
def numbers_on_the_host(monkeypatch):
    kept = []

    def placed(self, element):
        kept.append(np.array(self.numbers))
        base = kept[-1].ctypes.data
        return lambda k: Array(base + 8 * k, 0, 1)

    monkeypatch.setattr(constants.Constants, "placed", placed)


def pulled(t, q, v):
    return -0.1 * v - t * q


CASES = {
    "constant torque": ("2r", None, (), True, False),
    "a row for every step": ("2r", None, (), True, True),
    "live inertia": ("2r", None, ("inertia",), True, False),
    "a law": ("2r", pulled, (), False, False),
    "quaternions": ("tumbler", None, (), True, True),
    "stops and dry friction": ("cartpole", None, (), True, False),
}


def tumbler():
    builder = ModelBuilder("tumbler")
    shape = {"mass": 2.0, "com": (0.1, 0.2, 0.3), "inertia": np.diag([0.2, 0.3, 0.4])}
    builder.add_body("body", parent="world", joint="ball", **shape)
    return builder.build()


def on_stand_in(name, make_folder):
    """(stepping on the stand-in for a device, inputs for a number of steps)."""
    robot_name, law, live, driven, varying = CASES[name]
    robot = tumbler() if robot_name == "tumbler" else load(robot_name)
    model, parts = robot.model, ()
    if robot_name == "cartpole":
        stop = elements.HardStop(robot.joints[0].name, 0.5, lower=-0.1, upper=0.1)
        model, parts = prepared(
            "test", model, (stop, elements.Friction(robot.joints[1].name, 0.5)), INTEGRATORS["semi-implicit"], "dry"
        )
    stepping = Stepping(StepParts(model, parts, law, INTEGRATORS["semi-implicit"], live, driven, varying))
    loops = [stepping.onwards(True, each) for each in (True, False)] + [stepping.onwards(states=True)]
    loops += [stepping.backwards(each) for each in (True, False)]
    for k, loop in enumerate(loops):
        on_host = HostKernel(loop.function(), make_folder(f"loop{k}"))
        loop.on = lambda backend=None, usual=loop.on, host=on_host: host if backend == "cuda" else usual(backend)

    def inputs(steps):
        rng = np.random.default_rng(0)
        found = [robot.random(rng, BATCH), rng.normal(size=(BATCH, robot.nv))]
        if driven:
            found.append(rng.normal(size=(BATCH, steps * robot.nv if varying else robot.nv)))
        return found + [np.linspace(0.9, 1.1, BATCH)[:, None] * robot.live_values(group) for group in live]

    return stepping, inputs


@pytest.fixture(scope="module", params=CASES)
def case(request, tmp_path_factory):
    return on_stand_in(request.param, tmp_path_factory.mktemp)


@pytest.mark.parametrize(("every", "count"), [(6, 1), (1, 6), (2, 3)])
def test_motions_and_gradients(case, every, count):
    stepping, inputs = case
    motions = Motions(stepping, STEP, every, count)
    given = inputs(every * count)
    wanted = motions(*given)
    columns = [np.asfortranarray(x) for x in given]
    shared = [x if k < 2 else x[:1] for k, x in enumerate(given)]
    for arrays in (given, columns, shared):
        for got, want in zip(device.run(motions, Host(), arrays, None, True), motions(*arrays), strict=True):
            assert_close(got, want, SOLVE)

    rng = np.random.default_rng(1)
    weights = [rng.normal(size=(BATCH, x[0].size)) for x in wanted]
    adjoint = motions.pullback()
    for arrays in ([*given, *weights], [*columns, *map(np.asfortranarray, weights)], [*shared, *weights]):
        for got, want in zip(device.run(adjoint, Host(), arrays, None, True), adjoint(*arrays), strict=True):
            assert_close(got, want, SOLVE)


def test_bad_quaternions_give_nan(tmp_path_factory):
    stepping, inputs = on_stand_in("quaternions", tmp_path_factory.mktemp)
    given = inputs(4)
    given[0][2] *= 1.1
    q, e = device.run(Motions(stepping, STEP, 2, 2), Host(), given, None, True)
    for x in (q, e):
        assert np.array_equal(np.isnan(x).any(axis=(1, 2)), np.arange(BATCH) == 2)
