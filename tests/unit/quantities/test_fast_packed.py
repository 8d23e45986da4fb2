"""Methods that give named tuples stay the same method once their fast call is in place."""

from __future__ import annotations

import inspect
import pickle

import numpy as np

from dalembert import load


def test_first_and_later_calls_agree():
    robot, rng = load("ur5"), np.random.default_rng(0)
    q, v, a = robot.random(rng), rng.normal(size=6), rng.normal(size=6)
    before = inspect.signature(robot.inverse_dynamics_derivatives)
    first = robot.inverse_dynamics_derivatives(q, v, a)
    later = robot.inverse_dynamics_derivatives(q, v, a)
    named = robot.inverse_dynamics_derivatives(q=q, v=v, a=a)
    for other in (later, named, pickle.loads(pickle.dumps(robot.inverse_dynamics_derivatives))(q, v, a)):
        assert type(other) is type(first)
        for x, y in zip(other, first, strict=True):
            assert np.array_equal(x, y)
    assert "tangent" in robot.inverse_dynamics_derivatives.__doc__
    assert inspect.signature(robot.inverse_dynamics_derivatives) == before


def test_batches_come_as_arrays_over_the_batch():
    robot, rng = load("ur5"), np.random.default_rng(0)
    q, v, tau = robot.random(rng, 5), rng.normal(size=(5, 6)), rng.normal(size=6)
    out = np.full((5, 3, 6, 6), np.nan)
    for _ in range(2):  # before and after the fast call is in place
        found = robot.forward_dynamics_derivatives(q, v, tau)
        assert [x.shape for x in found] == [(5, 6, 6)] * 3
        assert np.array_equal(found.dtau[2], robot.forward_dynamics_derivatives(q[2], v[2], tau).dtau)
        robot.forward_dynamics_derivatives(q, v, tau, out=out)
        assert np.array_equal(out[:, 1], found.dv)
