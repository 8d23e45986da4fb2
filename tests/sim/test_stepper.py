"""Steps one at a time: the same as those of rollouts."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref
from inspect import signature
from typing import Any

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, Robot, elements, load
from dalembert.sim.integrators import INTEGRATORS
from tolerances import COMPUTED, CONVERGED, ITERATED, PRODUCT, ROUNDING, TIGHT_RUN


@pytest.mark.parametrize("integrator", [name for name, known in INTEGRATORS.items() if not known.free_bodies])
def test_a_step_is_that_of_a_rollout(integrator) -> None:
    robot = load("2r")
    q, v, tau = np.random.default_rng(0).normal(size=(3, 5, 2))
    stepper = robot.stepper(1e-3, integrator)
    q1, v1 = stepper(q, v, tau)
    wanted = robot.rollout(q, v, tau, 1e-3, 1, integrator)
    np.testing.assert_allclose(q1, wanted.q, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(v1, wanted.v, rtol=0, atol=PRODUCT)
    one = stepper(q[0], v[0], tau[0])
    np.testing.assert_array_equal(np.concatenate(one), np.concatenate([q1[0], v1[0]]))


def test_many_steps_with_quaternions_friction_and_no_torque() -> None:
    robot = load("quadruped")
    rng = np.random.default_rng(1)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    parts = [elements.Damper(robot.joints[-1].name, 0.3), elements.PointSpring(robot.frames[-1].name, "world", 5.0)]
    stepper = robot.stepper(2e-3, "rk4", elements=parts)
    wanted = robot.rollout(q, v, None, 2e-3, 50, "rk4", elements=parts)
    for _ in range(50):
        q, v = stepper(q, v)
    np.testing.assert_allclose(q, wanted.q, atol=COMPUTED)
    np.testing.assert_allclose(v, wanted.v, atol=CONVERGED)
    same = pickle.loads(pickle.dumps(stepper))
    np.testing.assert_array_equal(same(q, v)[1], stepper(q, v)[1])
    assert "rk4, 0.002 s" in repr(stepper)


def test_a_stepper_is_called_like_a_function() -> None:
    """By place or by name, with and without tau, as it says itself."""
    robot = load("2r")
    stepper, q, v, tau = robot.stepper(1e-3), np.full(2, 0.3), np.full(2, -0.4), np.array([0.5, 0.1])
    assert list(signature(stepper).parameters) == ["q", "v", "tau", "z", "keywords"]
    expected = stepper(q, v, tau)
    for result in (stepper(q, v, tau=tau), stepper(q=q, v=v, tau=tau), stepper(list(q), v, tau, threads=1)):
        np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(stepper(q, v), stepper(q, v, np.zeros(2)))
    with pytest.raises(TypeError, match="q"):
        stepper()
    with pytest.raises(DalembertError, match="got z"):
        stepper(q, v, tau, np.zeros(1))


def test_a_stepper_that_is_not_used_any_more_is_freed() -> None:
    stepper = load("2r").stepper(1e-3)
    stepper(np.zeros(2), np.zeros(2))
    reference = weakref.ref(stepper)
    del stepper
    gc.collect()
    assert reference() is None


def test_loops_stay_closed() -> None:
    robot = load("four_bar")
    q, v = robot.close_loops(robot.neutral() + 0.05, np.full(robot.nv, 0.3))
    stepper = robot.stepper(1e-3)
    for _ in range(200):
        q, v = stepper(q, v)
    closed = robot.close_loops(q, v)
    np.testing.assert_allclose(q, closed[0], atol=ITERATED)
    np.testing.assert_allclose(v, closed[1], atol=TIGHT_RUN)


def test_what_a_step_cannot_do_is_told() -> None:
    robot, name = load("2r"), load("2r").joints[0].name
    for arguments, said in (
        ({"step": 0.0}, "stepper: step is 0.0"),
        ({"integrator": "rk5"}, "unknown integrator 'rk5'"),
        ({"elements": [1]}, "expected force elements, got int"),
        ({"integrator": "rk4", "elements": [elements.HardStop(name, 0.5, lower=-1.0)]}, "ceases to act"),
        ({"elements": [elements.Thruster("tool", lambda t: 3.0 * t)]}, "depend on time"),
    ):
        with pytest.raises(DalembertError, match=said):
            robot.stepper(**arguments)
    with pytest.raises(DalembertError, match=r"tau has shape \(3,\)"):
        robot.stepper()(np.zeros(2), np.zeros(2), np.zeros(3))
    with pytest.raises(DalembertError, match="q"):
        robot.stepper()(np.array([np.nan, 0.0]), np.zeros(2))


def test_a_mass_matrix_that_is_singular_somewhere_is_named() -> None:
    """Two point masses on three links: stretched, a link turns without moving any mass."""
    builder = ModelBuilder("points")
    builder.add_body("a", parent="world", joint="revolute", axis=(0, 0, 1), mass=1.0, com=(0.2, 0, 0))
    builder.add_body("b", parent="a", joint="revolute", axis=(0, 0, 1), xyz=(0.5, 0, 0))
    builder.add_body("c", parent="b", joint="revolute", axis=(0, 0, 1), xyz=(0.5, 0, 0), mass=1.0, com=(0.25, 0, 0))
    robot = Robot(builder.model())
    bent, stretched, v = np.array([0.1, 0.8, 0.9]), np.array([0.1, 0.8, 0.0]), np.full(3, 0.1)
    step = robot.stepper(1e-3)
    assert np.isfinite(step(bent, v)).all() and np.isfinite(robot.inverse_mass_matrix(bent)).all()
    for call in (lambda q, **k: step(q, v, **k), robot.inverse_mass_matrix):
        with pytest.raises(DalembertError, match="mass matrix of robot 'points' is singular: here joint 'b' moves no"):
            call(stretched)
        with pytest.raises(DalembertError, match=r"of state 1: the mass matrix"):
            call(np.array([bent, stretched]))
        with np.errstate(all="ignore"):
            assert not np.isfinite(np.concatenate([np.ravel(x) for x in call(stretched, check=False)])).all()


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (2000,)], ids=str)
def test_results_are_arrays_of_their_own(kind, batch) -> None:
    """Whichever way the call takes: one state, a few, many, and with keywords."""
    robot = load("2r")
    q, v, tau = np.random.default_rng(0).normal(size=(3, *batch, 2)).astype(kind)
    stepper = robot.stepper()
    stepper(q, v, tau)
    q1, v1 = results = stepper(q, v, tau)
    assert q1.dtype == v1.dtype == kind and q1.shape == v1.shape == (*batch, 2)
    assert not np.shares_memory(q1, v1)
    like_these = a, b = (np.zeros(1), np.zeros(1))
    references = [sys.getrefcount(x) for x in (results, q1, v1)]
    assert type(results) is tuple and references == [sys.getrefcount(x) for x in (like_these, a, b)]
    others = np.full_like(q1, np.nan), np.full_like(v1, np.nan)
    assert stepper(q, v, tau, out=others)[1] is others[1]
    for x, y, z in zip((q1, v1), others, stepper(q, v, tau, check=False, threads=1), strict=True):
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(x, z)


def test_a_state_that_overflows_leaves_nothing_behind() -> None:
    """The arrays that the call had made are given up, and the error says why."""
    stepper = load("2r").stepper()
    q, v = np.zeros(2), np.full(2, 1e200)
    for _ in range(3):
        with pytest.raises(DalembertError, match="after the step is not finite"):
            stepper(q, v, np.zeros(2))
    assert not np.isfinite(stepper(q, v, np.zeros(2), check=False)[1]).all()


def test_a_stepper_made_again_is_not_compiled_again() -> None:
    robot = load("quadruped")

    def stepper(step: float = 2e-3, **contact: Any) -> Any:
        return robot.stepper(step, contact=Contact(pairs=[("FL_foot", "ground")], **contact)).call

    first = stepper()
    assert stepper() is first
    assert stepper(1e-3) is not first and stepper(friction=0.5) is not first
    assert stepper(terrain=lambda x, y: 0.0 * x) is not stepper(terrain=lambda x, y: 0.1 * x)


def test_states_of_elements_begin_as_batches_do() -> None:
    """A row of states for every motion, in the precision of q and v, which the steps then keep."""
    robot = load("2r")
    stepper = robot.stepper(1e-3, elements=[elements.FlexibleJoint("elbow", 30.0, 0.2)])
    q, v = np.random.default_rng(0).normal(size=(2, 3, 2))
    z = stepper.start(q, v)
    np.testing.assert_array_equal(z, [stepper.start(*state) for state in zip(q, v, strict=True)])
    assert stepper.start(q.astype("float32"), v.astype("float32")).dtype == np.float32
    wanted = [stepper(*state, np.zeros(2), row)[0] for *state, row in zip(q, v, z, strict=True)]
    np.testing.assert_allclose(stepper(q, v, np.zeros(2), z)[0], wanted, rtol=0, atol=ROUNDING)
