"""Runs that do not reach their end: they raise, keep what was computed, and are not called good."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, Event, Interrupted, SimulationError, control, load, load_run
from dalembert.math import sqrt
from dalembert.mechanism import Mechanism

Q, V = np.array([0.3, 0.2]), np.zeros(2)


@pytest.fixture(scope="module")
def arm():
    return load("2r")


def pressed_at(time: float):
    def law(t, q, v):
        if float(t) > time:
            raise KeyboardInterrupt
        return np.zeros(2)

    return law


@pytest.mark.parametrize("integrator", ["rk4", "rk45", "implicit-midpoint"])
def test_an_interrupt_ends_what_stands_around_the_run_and_keeps_the_run(arm, integrator: str) -> None:
    done = []
    with pytest.raises(Interrupted, match=r"interrupted at t = .* of 10 s") as caught:
        for _ in range(4):
            step = None if integrator == "rk45" else 1e-2
            done.append(arm.simulate(Q, V, 10.0, pressed_at(0.05), integrator, step, record=None))
    assert not done
    run = caught.value.result
    assert 0.0 <= run.t[-1] < 0.065 and run.unfinished.startswith("interrupted at t = ")
    assert run.unfinished in run.log
    run.plot()
    assert run.viewer is not None


def test_an_interrupted_run_is_incomplete(arm, tmp_path) -> None:
    with pytest.raises(Interrupted) as caught:
        arm.simulate(Q, V, 0.2, pressed_at(0.02), "rk4", 1e-2, record=None)
    caught.value.result.save(tmp_path / "part.npz")
    for run in (caught.value.result, load_run(tmp_path / "part.npz")):
        verdict = run.audit()
        assert verdict.verdict == "incomplete" and "incomplete" in verdict.text.splitlines()[0]
        assert "good" not in verdict.text and "of 0.2 s" in verdict.text


def test_a_run_that_stopped_is_incomplete_and_one_ended_by_an_event_is_not(arm) -> None:
    def nan_later(t, q, v):
        return np.full(2, np.nan) if float(t) > 0.05 else np.zeros(2)

    with pytest.raises(SimulationError) as caught:
        arm.simulate(Q, V, 1.0, nan_later, "rk4", 1e-2)
    part = caught.value.run
    assert part.audit().verdict == "incomplete" and part.viewer is not None
    event = Event("late", lambda t, q, v: t - 0.1, terminal=True)
    assert arm.simulate(Q, V, 1.0, events=[event]).audit().verdict == "good"
    assert arm.simulate(Q, V, 0.1).audit().verdict == "good"


def test_an_interrupted_run_of_a_mechanism_has_its_sensors() -> None:
    m = Mechanism("pendulum", gravity=(0.0, -9.81, 0.0))
    m.body("bob", 1.0, [0.1] * 3, points={"pin": (1.0, 0.0, 0.0)})
    m.joint("revolute", "ground.origin", "bob.pin", name="pivot").sensor("force", "pivot", name="load")
    robot = m.build()
    with pytest.raises(Interrupted) as caught:
        robot.simulate(*robot.start, 1.0, lambda t, q, v: pressed_at(0.05)(t, q, v)[:1], "rk4", 1e-2)
    assert "load" in caught.value.result.readings


def test_the_audit_of_an_interrupted_run_with_contact_does_not_pass() -> None:
    robot = load("quadruped")
    stand = robot.neutral()
    stand[2] = 0.6
    count = robot.nv

    def law(t, q, v):
        if float(t) > 0.05:
            raise KeyboardInterrupt
        return np.zeros(count)

    with pytest.raises(Interrupted) as caught:
        robot.simulate(stand, np.zeros(count), 1.0, law, step=1e-2, contact=Contact())
    audit = robot.audit(rules=["contact-run"], run=caught.value.result)
    assert "contact-run" not in audit.passed and not audit.ok
    assert any("interrupted" in item.because for item in audit.skipped)


@pytest.mark.parametrize("integrator", [None, "rk4", "semi-implicit", "implicit-midpoint"])
def test_a_law_that_turns_nan_is_named_and_not_the_step(arm, integrator: str | None) -> None:
    def law(t, q, v):
        return np.array([sqrt(0.05 - t), 0.0])

    step = None if integrator is None else 1e-3
    with pytest.raises(SimulationError, match="the torque at joint 'shoulder' is nan: correct the law") as caught:
        arm.simulate(Q, V, 1.0, law, integrator, step)
    assert "smaller step" not in str(caught.value) and "rodas" not in str(caught.value)


def test_joints_that_dry_friction_holds_are_named(arm) -> None:
    stiff = arm.edit().set_joint("elbow", friction=50.0).done()
    law = control.computed_torque(stiff, Q + 0.3)
    assert any("dry friction can hold" in note and "elbow" in note for note in law.notes)
    text = stiff.simulate(Q, V, 0.5, law).audit().text
    assert "dry friction holds" in text and "at no record did elbow move" in text
    assert not control.computed_torque(arm, Q + 0.3).notes
    assert "dry friction holds" not in arm.simulate(Q, V, 0.2, control.computed_torque(arm, Q + 0.3)).audit().text
