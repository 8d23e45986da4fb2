"""Arguments of a law with a row for each step: noise, references."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, load
from tolerances import PRODUCT, SLOPE, assert_close

ARM, N, H = load("2r"), 12, 1e-2
START, REST = np.array([0.3, -0.4]), np.zeros(2)
RNG = np.random.default_rng(0)
NOISE, GOALS, GAIN = RNG.normal(size=(N, 2)), START + 0.1 * RNG.normal(size=(N, 2)), np.array([20.0])


def law(t, q, v, noise, goal, gain):
    return ARM.inverse_dynamics(q, v, gain[0] * (goal - q) - 5.0 * v) + noise


def rolled(noise=NOISE, goal=GOALS, q=START, gain=GAIN, **options):
    parameters = {"noise": noise, "goal": goal, "gain": gain}
    return ARM.rollout(q, REST, law, H, N, parameters=parameters, **options)


def test_a_row_acts_in_its_step():
    step, q, v = ARM.stepper(H), START, REST
    for k in range(N):
        q, v = step(q, v, law(0.0, q, v, NOISE[k], GOALS[k], GAIN))
    assert_close(rolled().q, q, PRODUCT)
    for _ in range(3):  # the third call is ready on fixed arrays
        assert np.array_equal(rolled(every=5).q, rolled(every=1).q[[4, 9]])
    play = ARM.prepare_rollout(law, step=H, steps=N)
    for _ in range(2):
        assert np.array_equal(play(START, REST, noise=NOISE, goal=GOALS, gain=GAIN).q, rolled().q)


def test_each_motion_has_rows_of_its_own():
    noise, q = RNG.normal(size=(3, N, 2)), START + 0.1 * RNG.normal(size=(3, 2))
    several = rolled(noise, GOALS[None], q, GAIN).q
    assert np.array_equal(several, [rolled(noise[k], q=q[k]).q for k in range(3)])


def test_slopes_are_by_row():
    slope = ARM.rollout_gradient(lambda t, q, v: q @ q, START, REST, law, step=H, steps=N,
                                 parameters={"noise": NOISE, "goal": GOALS, "gain": GAIN})  # fmt: skip
    move = np.zeros((N, 2))
    move[7, 1] = 1e-5
    ends = [rolled(goal=GOALS + sign * move).q for sign in (1.0, -1.0)]
    assert slope.parameters["noise"].shape == slope.parameters["goal"].shape == (N, 2)
    assert_close(slope.parameters["goal"][7, 1], (ends[0] @ ends[0] - ends[1] @ ends[1]) / 2e-5, SLOPE)


def test_rows_for_motions_or_steps_are_told_apart():
    many = np.tile(START, (N, 1))
    with pytest.raises(DalembertError, match=r"noise has shape .* could be one per motion or one per step"):
        rolled(goal=GOALS[None], q=many)
    assert np.array_equal(rolled(NOISE[None], GOALS[None], many).q[5], rolled().q)
    with pytest.raises(DalembertError, match=r"noise has shape \(24, 2\): 24 rows, almost one for each of the 25"):
        ARM.rollout(START, REST, lambda t, q, v, noise: noise, H, 25, parameters={"noise": np.zeros((24, 2))})
    bad = NOISE.copy()
    bad[3] = np.nan
    with pytest.raises(DalembertError, match="noise, goal has NaN"):
        rolled(bad)
