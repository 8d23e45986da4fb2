"""Ticks of the whole-body program without a solution: counted in logs of runs, and in rollouts."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import ModelBuilder, Sampled, control

RANGE = 0.5


@pytest.fixture(scope="module")
def slide():
    """A slide whose motor is too weak to stop at the end of its range."""
    builder = ModelBuilder("slide", gravity=(0, 0, 0))
    builder.add_body("cart", parent="world", joint="prismatic", joint_name="x", axis=(1, 0, 0), mass=2.0,
                     effort_limit=1.0, lower=-RANGE, upper=RANGE)  # fmt: skip
    return builder.build()


@pytest.fixture(scope="module")
def law(slide):
    return control.whole_body(slide, [control.Posture(goal=[0.0])], horizon=0.1)


def missed(law, t, q, v):
    return [not law.solve(float(when), x, rate).solved for when, x, rate in zip(t, q, v, strict=True)]


def test_a_run_logs_how_many_ticks_keep_not_all_rows(slide, law) -> None:
    for torque in (law, Sampled(law, 2e-3), lambda t, q, v: 1.0 * law(t, q, v)):
        run = slide.simulate([0.0], [2.0], 0.3, torque=torque, integrator="semi-implicit", step=1e-3)
        expected = missed(law, run.t, run.q, run.v)
        assert 0 < sum(expected) < len(expected)
        first = run.t[int(np.argmax(expected))]
        line = (
            f"whole_body: at {sum(expected)} of {len(expected)} recorded times, first at t = {first:.6g} s, no torques"
        )
        assert any(entry.startswith(line) for entry in run.log)
        quiet = slide.simulate([0.0], [0.1], 0.05, torque=torque, integrator="semi-implicit", step=1e-3)
        assert not any("whole_body" in entry for entry in quiet.log)


def test_a_law_that_is_called_counts_its_calls(slide, law) -> None:
    def called(t, q, v):
        return law(float(t), np.asarray(q, float), np.asarray(v, float))

    run = slide.simulate([0.0], [2.0], 0.3, torque=called, integrator="semi-implicit", step=1e-2)
    assert any(entry.startswith("whole_body: in ") and " calls no torques kept all rows" in entry for entry in run.log)


def test_a_rollout_counts_for_each_motion(slide, law) -> None:
    v = np.array([[0.1], [2.0]])
    rolled = slide.rollout(np.zeros(1), v, Sampled(law, 1e-3), 1e-3, 300, every=10)
    counted = rolled.unsolved["whole_body"]
    assert counted.tolist() == [sum(missed(law, rolled.t, rolled.q[k], rolled.v[k])) for k in range(2)]
    assert counted[0] == 0 < counted[1]
    assert slide.rollout(np.zeros(1), v, law, 1e-3, 300, every=None).unsolved["whole_body"].tolist() == [0, 1]
    assert slide.rollout(np.zeros(1), v, None, 1e-3, 3).unsolved == {}


def test_a_controller_that_may_keep_a_state_is_asked_at_its_samples_alone(slide, law) -> None:
    """To look for programs in it, a run called it once more with traced numbers when it was over."""
    law(0.0, np.zeros(1), np.zeros(1))  # from here on there are programs to look for
    asked = []

    def pushing(t, q, v):
        asked.append(t)
        return np.full(1, 0.01 * len(asked))

    slide.simulate([0.0], [0.1], 0.1, Sampled(pushing, 0.02), integrator="rk4", step=1e-2)
    assert np.allclose(asked, 0.02 * np.arange(5))
