"""Reactions as a robot's methods: axes, external wrenches, batches, and the table of peaks."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from dalembert import DalembertError, Trajectory, Wrench, load
from dalembert.dynamics import algorithms
from tolerances import RECURSION, assert_close

OWN_WEIGHT = 0.1  # of a load of 10 kN: what the arm itself weighs and does
ALONG_THE_LOAD = 0.01  # of the force: what acts across the load

ROBOT = load("ur5")
NAMES = [body.name for body in ROBOT.bodies]
TOOL = NAMES[-1]


def trajectory(n=40):
    t = np.linspace(0.0, 1.0, n)[:, None]
    rate = np.arange(1.0, 7.0)
    return np.sin(rate * t), rate * np.cos(rate * t), -rate * rate * np.sin(rate * t)


@pytest.mark.parametrize("axes", ["body", "world", TOOL])
def test_axes_of_one_state_of_a_batch_and_with_loads(axes):
    q, v, a = trajectory(5)
    frame = axes if axes in ("body", "world") else ROBOT.model.frame(axes)
    push = Wrench(force=(1.0, 2.0, 3.0), torque=(0.1, 0.2, 0.3), frame=TOOL)
    load_ = algorithms.Load(ROBOT.model.frame(TOOL), np.array(push.torque), np.array(push.force), np.zeros(3))
    for external in ((), (push,)):
        loads = algorithms.body_loads(ROBOT.model, q[0], [load_] if external else [])
        expected = algorithms.reaction_wrenches(ROBOT.model, q[0], v[0], a[0], loads, frame)
        for _ in range(2):  # compiled, then through the fast call
            got = ROBOT.reaction_wrenches(q[0], v[0], a[0], external=external, axes=axes)
            assert_close(got, expected, RECURSION)
        out = np.full((5, len(NAMES), 6), np.nan)
        assert ROBOT.reaction_wrenches(q, v, a, external=external, axes=axes, out=out) is out
        assert_close(out[0], expected, RECURSION)
        assert np.all(np.isfinite(out))


def test_body_axes_are_the_default_of_calls_and_of_compiling():
    robot = load("ur5").compile("reaction_wrenches").compile("reaction_wrenches", axes="world", batch=True)
    q, v, a = (x[3] for x in trajectory())
    assert_close(robot.reaction_wrenches(q, v, a), robot.reaction_wrenches(q, v, a, axes="body"), RECURSION)
    assert robot.operations("reaction_wrenches", axes="world") != robot.operations("reaction_wrenches")
    assert inspect.signature(robot.reaction_wrenches).parameters["axes"].default == "body"


def test_unknown_axes_are_named():
    q = np.zeros(6)
    for call in (
        lambda: ROBOT.reaction_wrenches(q, q, q, axes="wrld"),
        lambda: ROBOT.compile("reaction_wrenches", axes="wrld"),
    ):
        with pytest.raises(DalembertError, match="unknown frame 'wrld'"):
            call()
    with pytest.raises(DalembertError, match="axes=3"):
        ROBOT.reaction_wrenches(q, q, q, axes=3)


def test_peaks_over_a_trajectory():
    q, v, a = trajectory()
    F = ROBOT.reaction_wrenches(q, v, a)
    peaks = ROBOT.peak_reactions(q, v, a)
    assert str(ROBOT.peak_reactions(Trajectory(np.arange(len(q)), q, v, a))) == str(peaks)
    assert [peak.body for peak in peaks] == NAMES
    assert [peak.joint for peak in peaks] == [body.joint for body in ROBOT.bodies]
    for i, peak in enumerate(peaks):
        moments, forces = (np.linalg.norm(F[:, i, part], axis=1) for part in (slice(0, 3), slice(3, 6)))
        assert peak.force == forces[peak.force_sample] == forces.max()
        assert peak.moment == moments[peak.moment_sample] == moments.max()
        assert np.array_equal(peak.force_wrench, F[peak.force_sample, i])
        assert np.array_equal(peak.moment_wrench, F[peak.moment_sample, i])
    joint = ROBOT.joints[2]
    assert peaks[joint.name] is peaks[joint.child] is peaks[NAMES.index(joint.child)]
    assert len(str(peaks).splitlines()) == len(NAMES) + 1
    assert joint.name in str(peaks)
    with pytest.raises(DalembertError, match="unknown joint or body 'elbw'"):
        peaks["elbw"]


def test_peaks_take_loads_and_axes():
    q, v, a = trajectory()
    push = [Wrench(force=(0.0, 0.0, -1e4), frame=TOOL, axes="world")]
    peak = ROBOT.peak_reactions(q, v, a, external=push, axes="world")[0]
    assert peak.force == pytest.approx(1e4, rel=OWN_WEIGHT)
    assert peak.force_wrench[5] == pytest.approx(peak.force, rel=ALONG_THE_LOAD)


def test_peaks_need_a_trajectory():
    q, v, a = trajectory()
    for states in ((q[0], v[0], a[0]), (q[None], v, a), (q[:0], v[:0], a[:0])):
        with pytest.raises(DalembertError, match=r"expected \(T,\): q \(T, 6\)"):
            ROBOT.peak_reactions(*states)
    with pytest.raises(DalembertError, match="out is not supported"):
        ROBOT.peak_reactions(q, v, a, out=np.zeros((40, 7, 6)))
