"""Single faults of one joint's channel: named, or shown not to be observable."""

from __future__ import annotations

import numpy as np
import pytest

import fault_table
from dalembert import identify
from dalembert.identify import channels, signals
from dalembert.identify.fitted import samples_of
from faulty_logs import FAULTS, HIDDEN, MISSED, NAMED, ROBOTS, arm, healthy, motion_of, truth_of, verdict_on
from simulated import SimulatedLog

# Joints that carry nothing but friction in the file: its torque may have any scale.
FRICTION_ONLY = {"ur5": "wrist_3_joint", "iiwa14": "iiwa_joint_7", "panda": "panda_joint7", "gen3": "joint_7"}


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_the_fault_of_a_joint_is_named(fault):
    robot = arm("ur5")
    assert verdict_on(robot, fault, 3) == NAMED


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rotor", [0.0, 0.2])
def test_sound_logs_raise_no_doubt(seed, rotor):
    """Masses a quarter off the file's, friction and rotors that it does not have, noise of 2 %."""
    robot = arm("ur5")
    truth = truth_of(robot, seed).edit()
    for joint in robot.joints:
        truth = truth.set_joint(joint.name, armature=rotor)
    t, q, v, a = motion_of(robot, seed)
    tau = truth.done().inverse_dynamics(q, v, a)
    tau += 0.02 * np.sqrt(np.mean(tau**2, axis=0)) * np.random.default_rng(seed).normal(size=tau.shape)
    fit = identify.fit(robot, SimulatedLog(t, q, v, a, tau), rotor=bool(rotor))
    assert fit.doubts == ()
    assert fit.training.ok, fit.training.table()


def test_a_torque_that_freezes_for_a_moment_is_named():
    """0.4 s of 12 s, in the joint with the least torque; a joint that rests for as long is no fault."""
    robot = arm("ur5")
    log, held = healthy(robot), slice(500, 540)
    log.tau[held, 5] = log.tau[500, 5]
    with pytest.raises(identify.LogError, match=r"'wrist_3_joint': its torque is frozen .* rows 501 to 540"):
        identify.fit(robot, log)
    resting = healthy(robot, noise=0.0)
    for x in (resting.q, resting.v, resting.a):
        x[:40] = x[0] if x is resting.q else 0.0
    resting.tau[:40] = robot.gravity(resting.q[:1])
    assert not [doubt for doubt in signals.doubts(robot, samples_of(robot, resting), np.ones(6, bool)) if doubt.serious]


def test_a_wrong_scale_that_is_a_tool_is_no_fault():
    """4 kg at the flange that the file does not have: the wrist's torque is many times the file's, and agrees."""
    robot = arm("ur5")
    t, q, v, a = motion_of(robot, 2)
    loaded = truth_of(robot).edit().payload(4.0, frame="tool0", com=(0.0, 0.05, 0.1)).done()
    tau = loaded.inverse_dynamics(q, v, a)
    tau += 0.01 * np.sqrt(np.mean(tau**2, axis=0)) * np.random.default_rng(0).normal(size=tau.shape)
    fit = identify.fit(robot, SimulatedLog(t, q, v, a, tau))
    assert fit.doubts == ()


@pytest.mark.long
@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_every_fault_at_every_joint_is_named_or_not_observable(name, fault):
    robot = arm(name)
    found = [verdict_on(robot, fault, k) for k in range(robot.nv)]
    hidden = {joint for joint, verdict in zip(robot.model.freedom_names, found, strict=True) if verdict == HIDDEN}
    assert MISSED not in found
    assert hidden <= {FRICTION_ONLY.get(name), "quill_turn"}
    assert fault_table.cell(found) == fault_table.rows()[fault][ROBOTS.index(name)]


def test_the_table_of_the_docs_is_whole():
    """Each fault at each robot, none of it not named; the long tests compute the cells again."""
    rows = fault_table.rows()
    assert list(rows) == list(FAULTS) and all(len(cells) == len(ROBOTS) and all(cells) for cells in rows.values())
    assert not any(MISSED in cell for cells in rows.values() for cell in cells)


def test_what_only_friction_drives_has_no_observable_scale():
    robot = arm("ur5")
    seen = channels.observable(robot, samples_of(robot, healthy(robot)))
    assert seen.tolist() == [True] * 5 + [False]
