"""Events at the impacts of rigid contact, which fixed steps pass over: at the bounce, once, in runs and rollouts."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, Event
from loose_bodies import G, ball, standing
from tolerances import INTEGRATED, SOLVER_DEFAULT, assert_close

STEP = 1e-3
# A bounce takes up to a step in which the ball goes neither up nor down; the first one is met before.
FALL = float(np.sqrt(2.0 * 0.5 / G))  # [s] from 0.5 m above the floor


def landed(terminal: bool = False) -> Event:
    return Event("landed", lambda t, q, v: q[2] - 0.1, -1, terminal)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_landing_ends_a_run_at_the_first_bounce(restitution: float) -> None:
    contact = Contact(friction=0.0, restitution=restitution)
    run = ball().simulate(*standing(0.6), 1.0, step=STEP, contact=contact, events=[landed(terminal=True)])
    assert len(run.events) == 1
    assert abs(run.t[-1] - FALL) < (STEP if restitution == 0.0 else INTEGRATED)
    assert abs(run.q[-1, 2] - 0.1) < SOLVER_DEFAULT
    if restitution:
        assert_close(run.v[-1, 5], -G * FALL, INTEGRATED)  # just before it


def test_every_bounce_of_an_elastic_ball_is_an_event_and_its_energy_stays() -> None:
    run = ball().simulate(
        *standing(0.6), 2.0, step=STEP, record=0.01, contact=Contact(friction=0.0, restitution=1.0), events=[landed()]
    )
    times, bounces = np.array([event.t for event in run.events]), np.arange(3)
    assert np.all(np.abs(times - FALL * (2.0 * bounces + 1.0)) <= bounces * STEP + INTEGRATED)
    assert np.ptp(run.energy.total) < INTEGRATED
    assert_close(run.t, 0.01 * np.arange(201), INTEGRATED)


def test_bounces_that_die_out_come_to_an_end() -> None:
    run = ball().simulate(
        *standing(0.6), 2.0, step=STEP, contact=Contact(friction=0.0, restitution=0.5), events=[landed()]
    )
    expected = FALL + 2.0 * FALL * np.cumsum(0.5 ** np.arange(1, 5))
    times = np.array([event.t for event in run.events[1:5]])
    assert np.all(np.abs(times - expected) <= 3.0 * STEP)
    assert 8 <= len(run.events) <= 12  # down to rest_speed; at rest nothing falls


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_rollouts_mark_the_step_of_the_bounce(restitution: float) -> None:
    q, v = standing(0.6)
    contact = Contact(friction=0.0, restitution=restitution)
    end = ball().rollout(q, v, step=STEP, steps=1000, contact=contact, events=[landed(terminal=True)])
    assert abs(end.events[0] - FALL) <= STEP
    assert abs(end.q[2] - 0.1) < 5.0 * STEP


def test_what_passes_above_zero_is_no_event() -> None:
    """A number that is 5 mm above zero at the bounce, half as far as the ball moves in three steps."""
    high = Event("high", lambda t, q, v: q[2] - 0.095, -1)
    contact = Contact(friction=0.0, restitution=1.0)
    run = ball().simulate(*standing(0.6), 1.0, step=STEP, contact=contact, events=[high])
    end = ball().rollout(*standing(0.6), step=STEP, steps=1000, contact=contact, events=[high])
    assert not run.events
    assert np.isnan(end.events[0])
