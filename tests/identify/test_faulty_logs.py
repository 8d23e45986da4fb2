"""Single faults of one joint's channel: named, or shown not to be observable."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import identify
from dalembert.identify import channels
from dalembert.identify.fitted import samples_of
from faulty_logs import FAULTS, ROBOTS, arm, faulty, healthy, motion_of, truth_of
from simulated import SimulatedLog

# Words by which a doubt says what the fault is, and not only where.
WORDS = {
    "motor side": "ratio",
    "kN·m": "kN·m",
    "sign": "opposite sign",
    "swapped": "swapped",
    "delayed": "ms later",
    "saturated": "saturated",
    "frozen": "frozen",
    "offset": "offset",
    "dropped samples": "dropped",
    "quantised": "quantised",
    "degrees": "degrees",
    "sign of position": "counted the other way",
    "scaled": "what the torques of the other joints imply",
}
# Joints that carry nothing but friction in the file: its torque may have any scale.
FRICTION_ONLY = {"ur5": "wrist_3_joint", "iiwa14": "iiwa_joint_7", "panda": "panda_joint7", "gen3": "joint_7"}


def named(robot, log, k):
    """The doubts that name freedom k, and the fit, None where it was refused."""
    try:
        fit = identify.fit(robot, log)
    except identify.LogError as error:
        return [d for d in error.doubts if robot.model.freedom_names[k] in (d.joint, *d.what.split("'"))], None
    return [d for d in fit.doubts if robot.model.freedom_names[k] in (d.joint, *d.what.split("'"))], fit


@pytest.mark.parametrize("fault", sorted(WORDS))
def test_the_fault_of_a_joint_is_named(fault):
    robot = arm("ur5")
    doubts, _ = named(robot, faulty(robot, fault, 3), 3)
    assert any(WORDS[fault] in doubt.what for doubt in doubts), doubts


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
    """Named in the fit or in its verdict; not observable where a possible robot explains the faulty log and another log
    with the same fault, joint by joint."""
    robot = arm(name)
    hidden = []
    for k, joint in enumerate(robot.model.freedom_names):
        if fault in ("degrees", "sign of position") and robot.model.freedom_units[k] == "m":
            continue  # a slide has no degrees, and its sign is that of gravity
        log = faulty(robot, fault, k)
        doubts, fit = named(robot, log, k)
        if fault == "wrong order":
            assert doubts or fit is None
        elif not doubts:
            assert fit is not None, f"{joint}: another joint is named"
            verdict = fit.training.verdicts[k]
            if verdict.status == "passed":
                other = FAULTS[fault](healthy(robot, seed=1), k)
                if fit.validate(other).ok:
                    hidden.append(joint)
    assert set(hidden) <= {FRICTION_ONLY.get(name), "quill_turn"}, hidden


def test_what_only_friction_drives_has_no_observable_scale():
    robot = arm("ur5")
    seen = channels.observable(robot, samples_of(robot, healthy(robot)))
    assert seen.tolist() == [True] * 5 + [False]
