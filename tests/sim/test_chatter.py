"""Laws that switch at the point where the motion stays: adaptive runs raise soon, and say where and why."""

from __future__ import annotations

import time

import numpy as np
import pytest

from dalembert import Event, SimulationError, elements, load
from dalembert.math import sign, where

SOON = 15.0  # [s], compiling included, on a machine with other work: it took minutes to hours
STILL = np.zeros(6)
ADAPTIVE = ("rk45", *(pytest.param(name, marks=pytest.mark.long) for name in ("rk23", "rk8", "merson")))


@pytest.fixture(scope="module")
def arm():
    return load("ur5")


def relay(t, q, v):
    return np.array([where(q[0] > 0.0, 0.0, 1.0)] * 6)


def called_relay(t, q, v):
    return np.zeros(6) if q[0] > 0.0 else np.ones(6)


def raised(robot, law, **options):
    begin = time.monotonic()
    with pytest.raises(SimulationError) as caught:
        robot.simulate(STILL, STILL, torque=law, progress=False, **({"duration": 0.05} | options))
    assert time.monotonic() - begin < SOON
    return caught.value


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_relay_at_its_switching_point_is_named(arm, method: str) -> None:
    error = raised(arm, relay, integrator=method)
    said = str(error)
    assert "stopped at t = " in said and "the torque at joint 'shoulder_pan_joint' jumps between 0 and 1" in said
    assert "with the position of joint 'shoulder_pan_joint' at 0" in said
    assert "semi-implicit" in said and "Sampled" in said
    assert 0.0 < error.run.t[-1] < 0.05 or len(error.run) == 1
    assert error.run.audit().verdict == "incomplete"


def test_a_relay_that_is_called_is_named_as_soon(arm) -> None:
    assert "with the position of joint 'shoulder_pan_joint' at 0" in str(raised(arm, called_relay))


def test_a_relay_beside_an_event_at_its_switching_point(arm) -> None:
    event = Event("at zero", lambda t, q, v: q[0])
    assert "times in" in str(raised(arm, relay, events=[event]))


def test_a_sign_of_the_speed_is_named(arm) -> None:
    said = str(raised(arm, lambda t, q, v: np.array([-2.0 * sign(x) for x in v]), duration=1.0))
    assert "with the speed of joint" in said and "elements.Friction" in said


def test_the_cures_of_the_message_hold(arm) -> None:
    assert arm.simulate(STILL, STILL, 0.05, relay, "semi-implicit", 1e-3).t[-1] == 0.05
    wide = [elements.Friction(joint.name, 2.0) for joint in arm.joints]
    assert arm.simulate(STILL, STILL, 0.05, elements=wide).t[-1] == 0.05


def test_switches_that_pass_do_not_stop_a_run() -> None:
    """A relay oscillator and a torque that switches by the clock: many switches, and a motion between them."""
    arm = load("2r").without("friction", "damping")
    flat = arm.edit().gravity((0.0, 0.0, 0.0)).done() if np.any(arm.model.gravity) else arm
    swings = flat.simulate(
        [0.1, 0.2], [0.0, 0.0], 2.0, lambda t, q, v: np.array([where(x > 0.0, -1.0, 1.0) for x in q])
    )
    assert swings.t[-1] == 2.0
    pulses = flat.simulate(
        [0.1, 0.0], [0.0, 0.0], 0.05, lambda t, q, v: np.array([where(np.sin(6283.0 * t) > 0.0, -1.0, 1.0), 0.0])
    )
    assert pulses.t[-1] == 0.05


def test_a_stiff_spring_does_not_chatter(arm) -> None:
    run = arm.simulate(STILL, STILL, 0.05, lambda t, q, v: -1e7 * q - 10.0 * v)
    assert run.t[-1] == 0.05


@pytest.mark.parametrize("called", [pytest.param(True, marks=pytest.mark.long), False])
def test_a_sign_of_the_speed_beside_dry_friction_is_named(called) -> None:
    robot = load("panda")

    def law(t, q, v):
        return -5.0 * (np.sign(v) if called else np.array([sign(x) for x in v]))

    with pytest.raises(SimulationError, match=r"friction of joint 'panda_joint|jumps between") as caught:
        robot.simulate(robot.home().q, np.zeros(robot.nv), 1.0, law)
    assert "width" in str(caught.value)
