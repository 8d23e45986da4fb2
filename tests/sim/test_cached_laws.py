"""Rollouts under a law from the disk cache: not traced again, and only where the law's own trace says what it does."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import load
from dalembert.compiler.execute.recent import forget
from dalembert.sim.rollout.stepping import Stepping

Q, V = np.array([[0.3, -0.2]] * 8), np.zeros((8, 2))


@pytest.fixture
def rolled(tmp_path, monkeypatch):
    """rolled(law, **options) → (last q, how many steps were traced), as if in a new process with the same cache."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("DALEMBERT_CACHE", str(folder))
    traced, real = [], Stepping._traced
    monkeypatch.setattr(Stepping, "_traced", lambda self, alone: traced.append(alone) or real(self, alone))

    def roll(law, q=Q, v=V, **options):
        forget()
        traced.clear()
        run = load("2r").rollout(q, v, law, steps=5, step=1e-2, **options)
        return run.q, len(traced)

    return roll


def gain(k):
    return lambda t, q, v: -k * q - v * np.sin(t)


@pytest.mark.parametrize("integrator", ["semi-implicit", "rk4", "implicit-velocity"])
def test_a_second_process_does_not_trace(rolled, integrator):
    first, again, other = (rolled(gain(k), integrator=integrator) for k in (20.0, 20.0, 21.0))
    assert [first[1], again[1], other[1]] == [1, 0, 1]
    assert np.array_equal(first[0], again[0]) and not np.array_equal(first[0], other[0])


def test_one_motion(rolled):
    many, (one, traced) = rolled(gain(20.0)), rolled(gain(20.0), Q[0], V[0])
    assert np.array_equal(one, many[0][0])
    assert rolled(gain(20.0), Q[0], V[0])[1] == 0 and traced <= 1


def test_a_law_that_answers_otherwise_within_the_step_is_traced(rolled):
    """Its trace alone is that of another law, whose code must not be taken."""

    def plain(t, q, v):
        return -20.0 * q

    def disguised(t, q, v):
        return -20.0 * q if t.op == "input" else 5.0 * q  # within the step, the time is computed

    expected = rolled(lambda t, q, v: 5.0 * q)[0]
    for _ in range(2):
        q, traced = rolled(disguised)
        assert traced == 1 and np.array_equal(q, expected)
        assert not np.array_equal(rolled(plain)[0], expected)


def test_what_a_law_refers_to_counts(rolled):
    numbers = {"k": 20.0}

    def law(t, q, v):
        return -numbers["k"] * q

    first = rolled(law)
    numbers["k"] = 5.0
    second = rolled(law)
    assert second[1] == 1 and not np.array_equal(first[0], second[0])
