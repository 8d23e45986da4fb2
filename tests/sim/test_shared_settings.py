"""One record of settings for runs, rollouts, their gradients and steppers, beside keywords, which win."""

from __future__ import annotations

import inspect
from dataclasses import fields

import numpy as np
import pytest

from dalembert import DalembertError, Event, Robot, Settings, load, mechanism
from dalembert.sim.elements import Spring

ARM = load("2r")
Q, V = np.array([0.3, -0.4]), np.zeros(2)
SPRING = Spring(ARM.joints[0].name, 2.0)
SHARED = Settings(step=2e-3, integrator="rk4", elements=[SPRING])
GIVEN = {"step": 2e-3, "integrator": "rk4", "elements": [SPRING]}


def loss(t, q, v):
    return q @ q


def test_settings_do_what_keywords_do():
    np.testing.assert_array_equal(
        ARM.rollout(Q, V, steps=20, settings=SHARED).q, ARM.rollout(Q, V, steps=20, **GIVEN).q
    )
    for made, given in zip(ARM.stepper(settings=SHARED)(Q, V, V), ARM.stepper(**GIVEN)(Q, V, V), strict=True):
        np.testing.assert_array_equal(made, given)
    np.testing.assert_array_equal(ARM.simulate(Q, V, 0.1, settings=SHARED).q, ARM.simulate(Q, V, 0.1, **GIVEN).q)
    slopes = [ARM.rollout_gradient(loss, Q, V, steps=5, **kind).q for kind in ({"settings": SHARED}, GIVEN)]
    np.testing.assert_array_equal(*slopes)


def test_a_keyword_beside_settings_wins_even_where_it_is_the_default():
    coarse = Settings(step=1e-2, steps=7, every=7)
    np.testing.assert_array_equal(
        ARM.rollout(Q, V, step=1e-3, settings=coarse).q, ARM.rollout(Q, V, step=1e-3, steps=7, every=7).q
    )
    np.testing.assert_array_equal(
        ARM.rollout(Q, V, None, 1e-3, 1000, settings=coarse, every=None).q, ARM.rollout(Q, V, step=1e-3, steps=1000).q
    )


def test_each_takes_what_it_has_a_keyword_for():
    both = Settings(step=1e-3, duration=0.02, record=0.01, steps=20, every=10)
    run, motion = ARM.simulate(Q, V, settings=both), ARM.rollout(Q, V, settings=both)
    assert run.t.tolist() == [0.0, 0.01, 0.02] and motion.t.shape == (2,)
    by_law = ARM.simulate(Q, V, lambda t, q, v: -0.1 * v, settings=both)
    assert by_law.t[-1] == 0.02


def test_every_setting_is_a_keyword_of_some_call_and_has_its_default():
    calls = (Robot.simulate, Robot.rollout, Robot.rollout_gradient, Robot.stepper)
    run = inspect.signature(ARM.simulate.__func__.__globals__["_run"])
    known = [dict(inspect.signature(call).parameters) for call in calls] + [dict(run.parameters)]
    for setting in fields(Settings):
        owners = [parameters[setting.name] for parameters in known if setting.name in parameters]
        assert owners or setting.name == "tallies", setting.name
    assert repr(SHARED) == f"Settings(integrator='rk4', step=0.002, elements=[{SPRING!r}])"
    assert repr(Settings()) == "Settings()"


def test_mechanisms_keep_their_own_elements_beside_settings():
    robot = mechanism.mechanism("bicycle").build()
    q, v = robot.start
    pull = Spring(next(j.name for j in robot.joints if j.kind in ("revolute", "continuous")), 3.0)
    by_record = robot.rollout(q, v, steps=5, settings=Settings(elements=[pull]))
    np.testing.assert_array_equal(by_record.q, robot.rollout(q, v, steps=5, elements=[pull]).q)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ARM.rollout(Q, V, settings={"step": 1e-3}), "settings is dict, expected dalembert.Settings"),
        (lambda: ARM.stepper(settings=Settings(events=[Event("x", loss)])), "the settings have events, which steppers"),
        (lambda: ARM.stepper(settings=Settings(controls=V)), "the settings have controls, which steppers take with"),
        (lambda: ARM.rollout_gradient(loss, Q, V, settings=Settings(events=[Event("x", loss)])), "have no gradient"),
        (lambda: ARM.rollout(Q, V, settings=Settings(every=0)), "every is 0, expected a whole number"),
        (lambda: ARM.simulate(Q, V, settings=Settings(step=1e-3)), "for how long"),
        (lambda: ARM.simulate(Q, V, 1.0, settings=Settings(record=-1.0)), "record is -1.0, expected a number above 0"),
        (lambda: ARM.rollout(Q, V, settings=Settings(step=np.nan)), "step is nan"),
    ],
)
def test_what_settings_cannot_be(call, said):
    with pytest.raises(DalembertError, match=said):
        call()
