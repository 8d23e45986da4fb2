"""What a run says of itself and of what it was asked for: audits, sizes that cannot be, shapes that fit nothing."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, load
from linkages import crossed, four_bar
from tolerances import TIGHT_RUN


def test_the_audit_tells_what_grows() -> None:
    robot = load("2r")
    start = [0.3, 0.2], [0.0, 0.0]
    growing = robot.simulate(*start, 20.0, integrator="euler", step=1e-3, record=0.1)
    assert not growing.audit().steady and "grows with time" in growing.audit().text
    steady = robot.simulate(*start, 20.0, integrator="implicit-midpoint", step=1e-2, record=0.1)
    assert steady.audit().steady and "stays within bounds" in steady.audit().text
    few = robot.simulate(*start, 0.5, integrator="euler", step=1e-2, record=0.25).audit().text
    assert "grows" not in few and "bounds" not in few


def test_a_linkage_at_rest_has_no_poor_energy() -> None:
    """What moves is rounding, and so is what is unaccounted for."""
    robot = four_bar()
    q, _ = robot.close_loops(crossed(1.0))
    tau = robot.loop_inverse_dynamics(q, np.zeros(3), np.zeros(3), actuated=["joint_A"]).tau
    verdict = robot.simulate(q, np.zeros(3), 1.0, tau).audit()
    assert verdict.residual < TIGHT_RUN and verdict.relative == 0.0 and verdict.steady and "good" in verdict.text


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"record": 1e-12}, "record is 1e-12 for 1 s, 1.0e.12 records, expected at most"),
        ({"duration": 1e300}, "record is 0.01 for 1e.300 s"),
        (
            {"duration": 1e300, "record": 1e299, "integrator": "rk4"},
            "steps of 0.001 s over 1e.300 s are 1.0e.303 steps",
        ),
        ({"step": 1e-300, "integrator": "rk4"}, "steps of 1e-300 s over 1 s are"),
    ],
)
def test_sizes_that_cannot_be_are_told(settings: dict, said: str) -> None:
    with pytest.raises(DalembertError, match=said):
        load("2r").simulate(np.zeros(2), np.zeros(2), **{"duration": 1.0} | settings)


def test_torque_rows_that_fit_nothing_are_told() -> None:
    robot, zero = load("2r"), np.zeros(2)
    with pytest.raises(DalembertError, match="999 rows, almost one for each of the 1000 steps"):
        robot.rollout(zero, zero, np.zeros((999, 2)), steps=1000)
    assert robot.rollout(zero, zero, np.zeros((3, 2)), steps=10).q.shape == (3, 2)
    assert robot.rollout(np.zeros((9, 2)), zero, np.zeros((9, 2)), steps=10).q.shape == (9, 2)
    assert robot.rollout(zero, zero, np.zeros((10, 2)), steps=10).q.shape == (2,)


def test_a_rollout_tells_which_limits_it_exceeded() -> None:
    robot = load("2r")
    quick = robot.rollout(np.zeros(2), [50.0, 0.0], steps=100, every=10)
    assert any("speed of 'shoulder' exceeded" in line for line in quick.beyond_limits(robot))
    assert not robot.rollout(np.zeros(2), np.zeros(2), steps=1).beyond_limits(robot)


def test_a_step_that_overflows_is_refused() -> None:
    robot = load("2r")
    step = robot.stepper()
    fast = np.array([1e300, 0.0])
    with pytest.raises(DalembertError, match="after the step is not finite"):
        step(np.zeros(2), fast)
    q, v = step(np.zeros(2), fast, check=False)
    assert np.isnan(q).any()
    with pytest.raises(DalembertError, match="NaN"):
        step(q, v)


def test_torque_may_come_before_the_duration():
    robot = load("2r")
    start = [0.1, 0.2], [0.0, 0.0]

    def law(t, q, v):
        return -v

    np.testing.assert_array_equal(robot.simulate(*start, law, duration=0.1).q, robot.simulate(*start, 0.1, law).q)
    constant = robot.simulate(*start, [1.0, 0.0], duration=0.1)
    np.testing.assert_array_equal(constant.q, robot.simulate(*start, duration=0.1, torque=[1.0, 0.0]).q)
    sampled = dalembert.Sampled(law, 0.05)
    np.testing.assert_array_equal(
        robot.simulate(*start, sampled, duration=0.1).q, robot.simulate(*start, 0.1, sampled).q
    )
    np.testing.assert_array_equal(robot.simulate(*start, None, duration=0.1).q, robot.simulate(*start, 0.1).q)
    for wrong in (
        lambda: robot.simulate(*start, law),
        lambda: robot.simulate(*start, law, 0.1),
        lambda: robot.simulate(*start, [1.0, 0.0], 0.1),
        lambda: robot.simulate(*start, law, duration=0.1, torque=law),
    ):
        with pytest.raises(DalembertError, match="write simulate"):
            wrong()
    with pytest.raises(DalembertError, match="for how long"):
        robot.simulate(*start)
