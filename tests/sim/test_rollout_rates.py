"""Rates of change of rollouts in forward mode, against differences."""

import numpy as np
import pytest

from dalembert import DalembertError, load
from dalembert.sim.rollout.adjoint import rollout_rates
from dalembert.sim.settings import Settings
from tolerances import SLOPE


@pytest.mark.parametrize("record", [1, 5])
def test_rates_against_differences(record):
    robot, rng = load("2r"), np.random.default_rng(1)
    start = {
        "q": rng.normal(size=2),
        "v": rng.normal(size=(3, 2)),
        "torque": rng.normal(size=(3, 20, 2)),
        "inertia": robot.parameters().ravel(),
    }
    rates = {name: 0.1 * rng.normal(size=x.shape) for name, x in start.items()}

    def run(sign, rates):
        at = {name: x + sign * 1e-6 * rates.get(name, 0.0) for name, x in start.items()}
        settings = Settings(
            torque=at["torque"], steps=20, every=record, integrator="rk4", parameters={"inertia": at["inertia"]}
        )
        return rollout_rates(robot.model, at["q"], at["v"], settings, rates if sign == 0 else {})

    here, ahead, behind = (run(sign, rates) for sign in (0, 1, -1))
    for exact, a, b in ((here.q_rate, ahead.q, behind.q), (here.v_rate, ahead.v, behind.v)):
        np.testing.assert_allclose((a - b) / 2e-6, exact, rtol=SLOPE, atol=SLOPE)
    plain = robot.rollout(
        start["q"],
        start["v"],
        start["torque"],
        steps=20,
        every=record,
        integrator="rk4",
        parameters={"inertia": start["inertia"]},
    )
    np.testing.assert_array_equal(here.q, plain.q)


def test_an_unknown_name_is_refused():
    robot = load("2r")
    with pytest.raises(DalembertError, match="'mass' does not go into"):
        rollout_rates(robot.model, np.zeros(2), np.zeros(2), Settings(steps=3), {"mass": np.zeros(2)})
