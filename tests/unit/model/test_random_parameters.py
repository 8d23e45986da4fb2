"""Random inertial parameters are those of possible bodies, near the given ones, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, load
from tolerances import COMPUTED, PRODUCT, assert_close


@pytest.fixture(scope="module")
def robot():
    return load("ur5")


def test_they_are_possible_and_near(robot):
    sets = robot.random_parameters(np.random.default_rng(0), 50, mass=0.3, com=0.05, shape=0.3)
    assert sets.shape == (50, len(robot.parameters()))
    own = robot.parameters().reshape(-1, 10)
    for pi in sets:
        assert robot.with_parameters(pi).problems == ()
        masses = pi.reshape(-1, 10)[:, 0]
        assert np.all(np.abs(np.log(masses[own[:, 0] > 0] / own[own[:, 0] > 0, 0])) <= 0.3 + COMPUTED)
    assert np.ptp(sets[:, 10]) > 0.0


def test_one_or_many_by_seed(robot):
    one = robot.random_parameters(np.random.default_rng(1))
    again = robot.random_parameters(np.random.default_rng(1), 1)[0]
    assert np.array_equal(one, again)
    assert_close(robot.random_parameters(np.random.default_rng(1), mass=0.0), robot.parameters(), PRODUCT)


def test_a_mass_alone_scales_everything(robot):
    pairs = zip(
        robot.random_parameters(np.random.default_rng(2)).reshape(-1, 10),
        robot.parameters().reshape(-1, 10),
        strict=True,
    )
    for row, own in pairs:
        factor = row[0] / own[0] if own[0] else 1.0
        assert_close(row, factor * own, 10 * PRODUCT)


def test_they_are_live_parameters_of_rollouts(robot):
    pi = robot.random_parameters(np.random.default_rng(3), 4, com=0.01)
    q = np.full(robot.nq, 0.3)
    ends = robot.rollout(q, np.zeros(robot.nv), steps=10, parameters={"inertia": pi}).q
    assert ends.shape == (4, robot.nq) and np.ptp(ends[:, 1]) > 0.0


def test_bad_numbers_are_named(robot):
    with pytest.raises(DalembertError, match="mass is -1"):
        robot.random_parameters(np.random.default_rng(0), mass=-1)
