"""However a method is called, it is the compiled call that answers, with the same numbers."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

from dalembert import DalembertError, Wrench, load
from dalembert.quantities import Quantity

RNG = np.random.default_rng(5)


@pytest.fixture(scope="module")
def robot():
    return load("ur5")


@pytest.fixture
def state(robot):
    return robot.random(RNG), *RNG.normal(size=(2, robot.nv))


@pytest.fixture
def no_slow_calls(robot, monkeypatch):
    """From here on, a call that goes through Python fails."""

    def refuse(*arguments, **keywords):
        raise AssertionError("went through Python")

    monkeypatch.setattr(Quantity, "evaluate", refuse)


WAYS = {
    "positions": lambda r, q, v, a: r.inverse_dynamics(q, v, a),
    "names": lambda r, q, v, a: r.inverse_dynamics(q=q, v=v, a=a),
    "names in another order": lambda r, q, v, a: r.inverse_dynamics(q, a=a, v=v),
    "defaults stated": lambda r, q, v, a: r.inverse_dynamics(q, v, a, external=(), method="newton-euler"),
    "controls stated": lambda r, q, v, a: r.inverse_dynamics(q, v, a, out=None, threads=None, check=True, backend=None),
    "unchecked": lambda r, q, v, a: r.inverse_dynamics(q, v, a, check=False, threads=1),
    "out": lambda r, q, v, a: r.inverse_dynamics(q, v, a, out=np.empty(6)),
    "another method": lambda r, q, v, a: r.inverse_dynamics(q, v, a, method="lagrange"),
    "derivatives": lambda r, q, v, a: r.inverse_dynamics_derivatives(q, v, a=a),
    "derivatives into out": lambda r, q, v, a: r.forward_dynamics_derivatives(q, v, a, out=np.empty((3, 6, 6))),
    "a matrix and a vector": lambda r, q, v, a: r.center_of_mass_jacobian(q=q),
    "a number": lambda r, q, v, a: r.energy(q, v=v),
    "along the body": lambda r, q, v, a: r.jacobian(q, "tool0", axes="body"),
    "a point": lambda r, q, v, a: r.jacobian(q, frame="tool0", point=a[:3].copy(), rows="position"),
    "two frames": lambda r, q, v, a: r.jacobian(q, ("tool0", "wrist_1_link"), rows=(0, 4)),
    "between frames": lambda r, q, v, a: r.pose(q, "tool0", relative_to="wrist_1_link"),
    "a step": lambda r, q, v, a: r.integrate(q, v, 1e-3),
    "a step in whole seconds": lambda r, q, v, a: r.integrate(q, v, dt=2),
    "the usual step": lambda r, q, v, a: r.integrate(q, v),
    "a number of NumPy": lambda r, q, v, a: r.interpolate(q, v, np.float64(0.3)),
    "rows of a table": lambda r, q, v, a: r.inverse_dynamics(np.tile(q, (3, 2))[:, :6], np.tile(v, (3, 1)), a),
    "one of a batch": lambda r, q, v, a: r.forward_dynamics_derivatives(np.stack([q, a]), np.stack([v, v]), a),
    "a step of a batch": lambda r, q, v, a: r.integrate(np.stack([q, a]), np.stack([v, v]), 0.1),
    "single": lambda r, q, v, a: r.integrate(q.astype(np.float32), v.astype(np.float32), 0.1),
}


def arrays(result):
    return [np.asarray(x) for x in result] if isinstance(result, tuple) else [np.asarray(result)]


@pytest.mark.parametrize("name", WAYS)
def test_the_second_call_does_not_go_through_python(name, robot, state, request):
    call = WAYS[name]
    call(robot, *state)
    first = call(robot, *state)  # lagrange and batches compile a kernel of their own
    expected = [x.copy() for x in arrays(first)]
    request.getfixturevalue("no_slow_calls")
    again = call(robot, *state)
    assert type(again) is type(first)
    for x, y in zip(arrays(again), expected, strict=True):
        assert x.dtype == y.dtype and np.array_equal(x, y)


def test_fields_are_views_of_one_array(robot, state):
    q, v, a = state
    out = np.empty((3, 6, 6))
    for _ in range(2):
        parts = robot.inverse_dynamics_derivatives(q, v, a, out=out)
        assert all(np.shares_memory(part, out) for part in parts)
    for batch in ((), (4,)):
        states = [np.broadcast_to(x, (*batch, 6)).copy() for x in state]
        parts = robot.inverse_dynamics_derivatives(*states)
        dq, dv, da = robot.inverse_dynamics_derivatives(*states)
        assert parts._fields == ("dq", "dv", "da") and dv.base is dq.base is da.base
        assert dq.flags.writeable and dq.shape == (*batch, 6, 6) and dq.flags.aligned
        again = [x.copy() for x in parts]
        del parts, dq
        gc.collect()
        np.testing.assert_array_equal(dv, again[1])


def test_references_are_counted(robot, state):
    """No call keeps what it was given, or loses what it gives."""
    q, v, a = state
    out, frame = np.empty(6), "tool0"
    point = np.array([0.1, 0.0, 0.0])
    calls = [
        lambda: robot.inverse_dynamics(q, v, a=a, out=out),
        lambda: robot.inverse_dynamics_derivatives(q, v, a),
        lambda: robot.jacobian(q, frame, point=point),
        lambda: robot.integrate(q, v, 1e-3),
        lambda: robot.energy(q, v),
    ]
    for call in calls:
        call()
    kept = (q, v, a, out, point)
    before = [sys.getrefcount(x) for x in kept]
    for call in calls:
        for _ in range(1000):
            call()
    assert [sys.getrefcount(x) for x in kept] == before
    result = robot.inverse_dynamics_derivatives(q, v, a)
    assert sys.getrefcount(result) == 2 and sys.getrefcount(result.dq.base) == 2 + len(result)


def test_wrenches_made_before(robot, state):
    q, v, a = state
    other = load("ur5")
    for force in ([0.0, 0.0, -9.81], np.array([1.0, 2.0, 3.0]), (1, 2, 3)):
        for batch in ((), (3,)):
            x = [np.broadcast_to(y, (*batch, 6)).copy() for y in (q, v, a)]
            wrench = Wrench(force=force, frame="tool0", axes="world")
            expected = load("ur5").inverse_dynamics(*x, external=[wrench])
            for _ in range(3):
                np.testing.assert_array_equal(other.inverse_dynamics(*x, external=[wrench]), expected)
    with pytest.raises(DalembertError, match=r"external\[0\].force"):
        other.inverse_dynamics(q, v, a, external=[Wrench(force=[1.0, 2.0], frame="tool0", axes="world")])
    with pytest.raises(DalembertError, match="expected a sequence of"):
        other.inverse_dynamics(q, v, a, external=["tool0"])


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda r, q: r.gravity(), "missing 1 required positional argument: 'q'"),
        (lambda r, q: r.gravity(q, q=q), "multiple values for argument 'q'"),
        (lambda r, q: r.gravity(q, q), "takes 2 positional arguments but 3 were given"),
        (lambda r, q: r.gravity(q, speed=1), "has no keyword 'speed'"),
        (lambda r, q: r.jacobian(q, "tool0", axes=["body"]), "axes"),
        (lambda r, q: r.jacobian(q, ("tool0", ["body"])), "frame"),
        (lambda r, q: r.integrate(q, q, "fast"), "dt"),
        (lambda r, q: r.integrate(q, q, 10**400), "dt"),
        (lambda r, q: r.integrate(q, q, np.nan), "nan"),
        (lambda r, q: r.gravity(q, threads=0), "threads"),
    ],
)
def test_errors_are_those_of_python(call, words, robot, state):
    """Before and after the call is compiled."""
    q = state[0]
    for _ in range(2):
        with pytest.raises((TypeError, DalembertError), match=words):
            call(robot, q)
        robot.gravity(q), robot.jacobian(q, "tool0"), robot.integrate(q, q)


def test_a_flag_of_check_that_is_no_bool(robot, state):
    q = state[0].copy()
    q[1] = np.inf
    robot.gravity(state[0])
    assert np.isnan(robot.gravity(q, check=False)).any()
    assert np.isnan(robot.gravity(q, check=np.False_)).any()
    with pytest.raises(DalembertError, match=r"q\[1\] is inf"):
        robot.gravity(q, check=1)


def test_bound_before_the_first_call(state):
    robot = load("ur5")
    early = robot.gravity
    assert early is robot.gravity
    assert np.array_equal(early(state[0]), robot.gravity(state[0]))


def test_a_subclass_is_in_charge(state):
    from dalembert import Robot

    class Loud(Robot):
        def gravity(self, q, **keywords):
            return -super().gravity(q, **keywords)

    own, plain = Loud(load("ur5").model), load("ur5")
    for _ in range(3):
        assert np.array_equal(own.gravity(state[0]), -plain.gravity(state[0]))
