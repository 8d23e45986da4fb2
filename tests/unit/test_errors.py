"""Old names of keywords are refused with the new ones; unknown names come with the nearest."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from dalembert import Contact, DalembertError, control, load, motion
from dalembert.errors import check_positive, renamed, unknown

ARM = load("2r")
Q = np.zeros(2)


def test_a_renamed_keyword_keeps_the_signature_and_refuses_the_old_name():
    @renamed(before="after")
    def called(x: int, after: int = 2) -> int:
        return x + after

    assert called(1) == 3 and called(1, after=4) == 5 and called.__name__ == "called"
    assert list(inspect.signature(called).parameters) == ["x", "after"]
    with pytest.raises(DalembertError, match=r"called: before=… is called after now"):
        called(1, before=4)


OLD = {
    "record": (lambda: ARM.rollout(Q, Q, record=2), "every"),
    "gradient": (lambda: ARM.rollout_gradient(lambda t, q, v: q[0], Q, Q, record=2), "every"),
    "stepper": (lambda: ARM.stepper(1e-3, controls=True), 'inputs="controls"'),
    "optimal": (lambda: ARM.optimal_control(lambda q, v, u: {}, step=0.1, nodes=2, controls=2), "control_count"),
    "move": (lambda: control.computed_torque(ARM, move=Q), "goal"),
    "damping": (lambda: control.pid(ARM, Q, damping=1.0), "damping_ratio"),
    "impedance": (lambda: control.impedance(ARM, "tool", np.eye(4), damping=1.0), "damping_ratio"),
    "lqr": (lambda: control.lqr(ARM, q=Q), "goal"),
    "shaping": (lambda: control.energy_shaping(ARM, q=Q), "goal"),
    "quadrotor": (lambda: control.quadrotor(ARM, flight=Q), "goal"),
    "route": (lambda: motion.time_optimal(route=[Q, Q + 1.0], limits=ARM), "path"),
    "rng": (lambda: ARM.inverse_kinematics(np.eye(4), "tool", rng=1), "seed="),
    "regularised": (lambda: Contact(model="compliant", friction_model="regularised"), "regularized"),
}


@pytest.mark.parametrize("case", OLD)
def test_old_names_say_the_new_ones(case):
    call, new = OLD[case]
    with pytest.raises(DalembertError) as raised:
        call()
    assert new in str(raised.value)


def test_an_old_class_says_its_new_name():
    with pytest.raises(AttributeError, match="CenterOfMass"):
        control.CentreOfMass  # noqa: B018


def test_unknown_names_come_with_the_nearest():
    assert "did you mean 'elbow'" in str(unknown("joint", "elbw", ["shoulder", "elbow"]))
    assert "there are no joints" in str(unknown("joint", "elbw", []))


@pytest.mark.parametrize("value", ["50", None, 0.0, -1.0, float("inf"), float("nan"), True, [1.0]])
def test_settings_that_are_no_positive_number_are_named(value):
    with pytest.raises(DalembertError, match=r"dither: frequency is .*, expected above 0 \[Hz\]"):
        control.dither(ARM, lambda t, q, v: q, 0.1, frequency=value)
    check_positive("impedance: damping", 0.0, zero=True)
