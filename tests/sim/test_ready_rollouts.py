"""Rollouts whose plan is kept: the same bits as planned ones, and planned again whenever something changed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dalembert import Contact, DalembertError, Event, load
from dalembert.sim.rollout import plan

GAIN = 2.0


@pytest.fixture(scope="module")
def arm():
    return load("2r")


@pytest.fixture(autouse=True)
def forgotten():
    """Nothing is ready when a test begins."""
    plan._kits.clear()


def ready():
    """The rollouts that are bound to fixed arrays."""
    return [kit for kit in plan._kits._items.values() if kit.ready is not None]


def same(a, b):
    for x, y in ((a.t, b.t), (a.q, b.q), (a.v, b.v)):
        np.testing.assert_array_equal(x, y)
    for name in ("unsettled", "worst", "crowded", "diverged"):
        if a.contacts is not None:
            np.testing.assert_array_equal(getattr(a.contacts, name), getattr(b.contacts, name))
    assert (a.memory is None) == (b.memory is None) and (a.events is None) == (b.events is None)
    if a.memory is not None:
        np.testing.assert_array_equal(a.memory, b.memory)
    if a.events is not None:
        np.testing.assert_array_equal(a.events, b.events)


CASES = {
    "single": lambda: (np.array([0.3, 0.4]), np.zeros(2), {"torque": np.array([0.1, 0.2])}),
    "batch": lambda: (np.array([[0.3, 0.4], [0.1, 0.0]]), np.zeros(2), {"torque": np.array([0.1, 0.2])}),
    "record": lambda: (np.array([0.3, 0.4]), np.zeros(2), {"every": 1}),
    "rows": lambda: (np.array([0.3, 0.4]), np.zeros(2), {"torque": np.linspace(0.0, 1.0, 20).reshape(10, 2)}),
    "rows of two": lambda: (np.ones((2, 2)), np.zeros(2), {"torque": np.linspace(0.0, 1.0, 40).reshape(2, 10, 2)}),
    "law": lambda: (np.array([0.3, 0.4]), np.zeros(2), {"torque": lambda t, q, v: -GAIN * q - v}),
    "gain": lambda: (
        np.array([[0.3, 0.4]] * 3),
        np.zeros(2),
        {"torque": lambda t, q, v, k: -k[0] * q, "parameters": {"k": np.array([[1.0], [2.0], [3.0]])}},
    ),
    "live": lambda: (np.array([0.3, 0.4]), np.zeros(2), {"parameters": {"damping": np.array([0.1, 0.7])}}),
    "single precision": lambda: (np.array([0.3, 0.4], np.float32), np.zeros(2, np.float32), {}),
    "event": lambda: (np.array([1.3, 0.4]), np.zeros(2), {"events": [Event("down", lambda t, q, v: q[0] - 1.2999)]}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_bits(arm, case):
    q, v, options = CASES[case]()
    options = {"steps": 10} | options
    first = arm.rollout(q, v, **options)
    arm.rollout(q, v, **options)  # makes it ready
    assert len(ready()) == 1
    again = arm.rollout(q, v, **options)
    same(first, again)
    other = arm.rollout(q + q.dtype.type(0.1), v, **options)
    plan._kits.clear()
    same(arm.rollout(q + q.dtype.type(0.1), v, **options), other)
    again.q[...] = 7.0  # results are the caller's own
    same(first, arm.rollout(q, v, **options))


def test_other_torques_act_where_only_the_kit_is_kept(arm):
    q, v = np.array([0.3, 0.4]), np.zeros(2)
    ways = [arm.rollout(q, v, np.array([k, 0.0]), steps=10, every=2) for k in (0.0, 1.0, 2.0, 3.0, 3.0)]
    assert not ready() and all((a.v != b.v).any() for a, b in pairwise(ways[:4]))
    same(*ways[3:])


def test_contact_and_its_memory():
    dog, contact = load("quadruped"), Contact()
    q, v = dog.neutral(), np.zeros(dog.nv)
    q[2] = 0.35
    options = {"steps": 3, "step": 2e-3, "contact": contact}
    ways = []
    for _ in range(3):
        first = dog.rollout(q, v, **options)
        ways.append((first, dog.rollout(first.q, first.v, memory=first.memory, **options)))
    assert len(ready()) == 1
    for a, b in ways[1:]:
        same(ways[0][0], a)
        same(ways[0][1], b)
    play = dog.prepare_rollout(**options)
    for _ in range(2):
        first = play(q, v)
        same(ways[0][0], first)
        same(ways[0][1], play(first.q, first.v, memory=first.memory))


def test_laws_that_change_are_planned_again(arm):
    """By a global name, a variable around them, an array that they read, a default, or their code."""
    global GAIN
    q, v, gain, table = np.array([0.3, 0.4]), np.zeros(2), 1.0, np.array([1.0, 1.0])

    def by_global(t, q, v):
        return -GAIN * q

    def by_cell(t, q, v):
        return -gain * q

    def by_array(t, q, v):
        return -table * q

    def by_default(t, q, v, k=1.0):
        return -k * q

    def changed():
        nonlocal gain
        global GAIN
        GAIN, gain, table[0], by_default.__defaults__ = 3.0, 3.0, 3.0, (3.0,)

    laws = (by_global, by_cell, by_array, by_default)
    before = [[arm.rollout(q, v, law, steps=5).v for _ in range(3)][-1] for law in laws]
    assert len(ready()) == 4
    changed()
    for law, old in zip(laws, before, strict=True):
        assert np.abs(arm.rollout(q, v, law, steps=5).v - old).max() > 0.001
    GAIN = 2.0


def test_what_cannot_be_watched_is_never_ready(arm):
    class Law:
        gain = 1.0

        def __call__(self, t, q, v):
            return -self.gain * q

    law, q, v = Law(), np.array([0.3, 0.4]), np.zeros(2)
    before = [arm.rollout(q, v, law, steps=5).v for _ in range(3)]
    assert not ready()
    law.gain = 5.0
    assert np.abs(arm.rollout(q, v, law, steps=5).v - before[-1]).max() > 0.001


def test_bad_states_raise_what_they_raise_at_first(arm):
    q, v = np.array([0.3, 0.4]), np.zeros(2)
    for _ in range(3):
        arm.rollout(q, v, steps=3)
    assert ready()
    with pytest.raises(DalembertError, match="q has NaN or inf"):
        arm.rollout(q * np.nan, v, steps=3)
    with pytest.raises(DalembertError, match="diverged"):
        arm.rollout(q, v + 1e12, steps=3)
    for _ in range(3):
        assert np.isnan(arm.rollout(q * np.nan, v, steps=3, check=False).q).all()
    dog = load("quadrotor")
    q, v = dog.neutral(), np.zeros(dog.nv)
    for _ in range(3):
        dog.rollout(q, v, steps=3)
    with pytest.raises(DalembertError, match="quaternion of joint"):
        dog.rollout(2.0 * q, v, steps=3)


def test_prepared_rollouts(arm):
    q, v, tau = np.array([0.3, 0.4]), np.zeros(2), np.array([0.1, 0.2])
    play = arm.prepare_rollout(steps=10, every=2)
    for _ in range(3):
        same(arm.rollout(q, v, tau, steps=10, every=2), play(q, v, tau))
        same(arm.rollout(q, v, steps=10, every=2), play(q, v))
        same(arm.rollout([q, q], v, tau, steps=10, every=2), play(np.array([q, q]), v, tau))
        same(arm.rollout(q, v, list(tau), steps=10, every=2), play(list(q), v, tau))
    gains = arm.prepare_rollout(lambda t, q, v, k: -k[0] * q, steps=10)
    for k in (1.0, 2.0, 3.0):
        expected = arm.rollout(q, v, lambda t, q, v, k: -k[0] * q, steps=10, parameters={"k": np.array([k])})
        same(expected, gains(q, v, k=np.array([k])))
    assert "10 steps" in repr(play)


def test_prepared_rollouts_refuse_what_they_cannot_take(arm):
    q, v = np.zeros(2), np.zeros(2)
    with pytest.raises(DalembertError, match="arrays go to the call"):
        arm.prepare_rollout(np.zeros(2))
    with pytest.raises(DalembertError, match="steps is 0"):
        arm.prepare_rollout(steps=0)
    with pytest.raises(DalembertError, match="a law drives the robot"):
        arm.prepare_rollout(lambda t, q, v: -q, steps=2)(q, v, np.zeros(2))
    with pytest.raises(DalembertError, match="torque has shape"):
        arm.prepare_rollout(steps=2)(q, v, np.zeros(3))
    with pytest.raises(DalembertError, match="unknown live"):
        arm.prepare_rollout(steps=2)(q, v, mass=np.zeros(3))
    with pytest.raises(DalembertError, match="expected play"):
        arm.prepare_rollout(steps=2, controls=True)(q, v)


def test_other_backends_are_not_answered_from_what_is_ready(arm):
    q, v = np.array([0.3, 0.4]), np.zeros(2)
    for _ in range(3):
        expected = arm.rollout(q, v, steps=3)
    np.testing.assert_allclose(arm.rollout(q, v, steps=3, backend="interpreter").q, expected.q)
