"""What motions ask of motors: with loops by the power that goes in, without by formulas on paper."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, load
from dalembert.sizing import efforts, size_actuators, standard_motion
from linkages import four_bar


@pytest.mark.parametrize("name", ["four_bar", "delta"])
def test_the_power_of_the_motors_is_what_the_energy_gains(name: str) -> None:
    robot = load(name).without("friction", "damping")
    motion, tau, held, driven, _ = efforts(robot, standard_motion(robot, 801))
    energy = robot.kinetic_energy(motion.q, motion.v) + robot.potential_energy(motion.q)
    power = np.einsum("ti,ti->t", tau, motion.v)
    work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(motion.t))])
    np.testing.assert_allclose(work, energy - energy[0], atol=2e-5 * np.ptp(energy))
    rows = [robot.model.joint(joint).v.start for joint in driven]
    passive = np.delete(np.arange(robot.nv), rows)
    assert not np.any(tau[:, passive]) and not np.any(held[:, passive])
    difference = np.gradient(motion.q, motion.t, axis=0)  # the passive joints' rates are those of their positions
    np.testing.assert_allclose(motion.v[2:-2], difference[2:-2], atol=1e-4)
    np.testing.assert_allclose(motion.a[2:-2], np.gradient(motion.v, motion.t, axis=0)[2:-2], atol=2e-2)


def test_passive_pins_are_not_sized() -> None:
    rows = size_actuators(load("four_bar"), standard_motion(load("four_bar")))
    (crank,) = rows
    assert crank.joint == "crank_joint" and crank.gravity == pytest.approx(1957.84, rel=1e-4)
    assert not crank.enough  # 2000 N·m against 1.3 (gravity + dynamic)


def test_the_crank_feels_what_it_drags_along() -> None:
    """Its inertia through the loop, by the torque that a small acceleration from rest needs on top of gravity."""
    robot = load("four_bar")
    (row,) = size_actuators(robot, standard_motion(robot))
    own = float(robot.mass_matrix(robot.neutral())[0, 0])
    assert 0.0 < row.inertia[0] < row.inertia[1] and row.inertia[1] != pytest.approx(own)


def test_loops_with_a_motor_everywhere_are_refused() -> None:
    robot = four_bar()
    with pytest.raises(DalembertError, match="state which joints are passive"):
        efforts(robot, standard_motion(robot))
