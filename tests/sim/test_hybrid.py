"""Hybrid motion against closed forms, with every integrator: stops, rest, release, and events at the same instant."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Event, SimulationError, elements
from hybrid_cases import random_pucks, stops
from pucks import EVERY, FIRST_ORDER, row, slides
from tolerances import COARSE_RUN, COMPUTED, DEFAULT_RUN, ITERATED, TIGHT_RUN

G = 9.81
ROUNDING = 1e-15  # [m]
FAST = ("rk45", "rk4", "semi-implicit", "implicit-midpoint")
every_integrator = pytest.mark.parametrize(
    "integrator", [name if name in FAST else pytest.param(name, marks=pytest.mark.long) for name in EVERY]
)


def near(integrator: str, exact: float = 1e-9, first_order: float = 5e-3) -> float:
    return first_order if integrator in FIRST_ORDER else exact


@every_integrator
def test_two_stops_reached_at_one_instant(integrator: str) -> None:
    robot = slides([1.0, 1.0])
    run = robot.simulate(
        [0.2, 0.2], [1.0, 1.0], 0.6, integrator=integrator, step=EVERY[integrator], elements=stops(2, 1.0, upper=0.5)
    )
    np.testing.assert_allclose(run.q[-1], [0.2, 0.2], atol=COMPUTED)
    np.testing.assert_allclose(run.v[-1], [-1.0, -1.0], atol=COMPUTED)
    assert [(event.name, event.kind) for event in run.events] == [
        ("HardStop(slide0)", "impact"),
        ("HardStop(slide1)", "impact"),
    ]
    np.testing.assert_allclose([event.t for event in run.events], 0.3, atol=COMPUTED)


@every_integrator
def test_a_symmetric_gripper_stays_within_its_limits(integrator: str) -> None:
    robot = slides([0.1, 0.1], lower=0.0, upper=0.04)
    run = robot.simulate(
        [0.04, 0.04], [0.0, 0.0], 0.5, [-2.0, -2.0], integrator, EVERY[integrator], elements=stops(2, 0.0)
    )
    assert run.q.min() >= -ROUNDING and len(run.events) == 2
    np.testing.assert_allclose(run.q[-1], 0.0, atol=ROUNDING)
    np.testing.assert_allclose(run.multipliers[-1], 2.0, rtol=ITERATED)


@every_integrator
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_torque_that_jumps_lifts_what_rests(integrator: str, restitution: float) -> None:
    """1 kg at rest on the floor, 0 N and then 20 N, half a second each."""
    robot = slides([1.0], axis=(0, 0, 1), gravity=G)
    run = robot.simulate(
        [0.0], [0.0], 1.0, [[0.0], [20.0]], integrator, EVERY[integrator], elements=stops(1, restitution, lower=0.0)
    )
    assert run.q[-1, 0] == pytest.approx(0.5 * (20.0 - G) * 0.25, abs=near(integrator))
    assert run.multipliers.min() > -ITERATED and run.q.min() > -COMPUTED
    assert [(event.t, event.kind) for event in run.events] == [(0.5, "leaves")]


@every_integrator
def test_a_ramp_lifts_what_rests(integrator: str) -> None:
    """40 t N, as a traced function, as a called one, and as straight lines."""
    robot, leaves = slides([1.0], axis=(0, 0, 1), gravity=G), G / 40.0
    end = (
        40.0 / 6.0 * (1.0 - leaves**3)
        - 0.5 * G * (1.0 - leaves**2)
        + (0.5 * 40.0 * leaves**2 - G * leaves) * (leaves - 1.0)
    )
    laws = {
        "traced": lambda t, q, v: np.array([40.0 * t]),
        "called": lambda t, q, v: [40.0 * float(t)],
        "lines": ([0.0, 1.0], [[0.0], [40.0]]),
    }
    for name, law in laws.items():
        asked_once = name == "called" and integrator in ("implicit-midpoint", "variational", "implicit-velocity")
        step = 1e-3 if asked_once else EVERY[integrator]
        run = robot.simulate([0.0], [0.0], 1.0, law, integrator, step, elements=stops(1, 0.0, lower=0.0), record=0.05)
        tolerance = 1e-2 if asked_once else near(integrator, 2e-3)
        assert run.q[-1, 0] == pytest.approx(end, abs=tolerance)
        assert run.multipliers.min() > -TIGHT_RUN and run.q.min() > -COMPUTED


@every_integrator
def test_an_impact_at_the_start_of_a_leg_bounces(integrator: str) -> None:
    """At t = 0, and where the torque changes: an elastic puck keeps its speed."""
    robot, stop = slides([1.0]), stops(1, 1.0, upper=0.5)
    run = robot.simulate([0.5], [1.0], 0.25, integrator=integrator, step=EVERY[integrator], elements=stop)
    assert run.q[-1, 0] == pytest.approx(0.25, abs=COMPUTED) and abs(run.energy.heat["HardStop(slide0)"][-1]) < COMPUTED
    run = robot.simulate([0.25], [1.0], 0.5, np.zeros((2, 1)), integrator, EVERY[integrator], elements=stop)
    assert run.q[-1, 0] == pytest.approx(0.25, abs=COMPUTED) and run.v[-1, 0] == pytest.approx(-1.0)
    assert abs(run.energy.heat["HardStop(slide0)"][-1]) < COMPUTED and len(run.events) == 1


@every_integrator
def test_zeros_at_the_ends_of_steps_count_once(integrator: str) -> None:
    robot, step = slides([1.0]), EVERY[integrator]
    for terminal in (False, True):
        for at in (0.25, 0.5, 1.0):  # the end of a step, of a torque row, of the run
            event = Event("time", lambda t, q, v, at=at: t - at, terminal=terminal)
            run = robot.simulate([0.0], [1.0], 1.0, np.zeros((2, 1)), integrator, step, events=[event])
            assert [(e.name, e.t) for e in run.events] == [("time", pytest.approx(at, abs=COMPUTED))]
            assert run.t[-1] == pytest.approx(at if terminal else 1.0, abs=COMPUTED)


@every_integrator
def test_a_users_event_and_a_stop_at_one_instant(integrator: str) -> None:
    robot, step = slides([1.0]), EVERY[integrator]
    events = [Event("there", lambda t, q, v: q[0] - 0.5), Event("turned", lambda t, q, v: v[0], direction=-1)]
    run = robot.simulate(
        [0.2], [1.0], 0.5, integrator=integrator, step=step, events=events, elements=stops(1, 0.5, upper=0.5)
    )
    assert sorted(event.name for event in run.events) == ["HardStop(slide0)", "there", "turned"]
    np.testing.assert_allclose([event.t for event in run.events], 0.3, atol=COMPUTED)
    ending = [Event("there", lambda t, q, v: q[0] - 0.5, terminal=True)]
    run = robot.simulate(
        [0.2], [1.0], 0.5, integrator=integrator, step=step, events=ending, elements=stops(1, 0.5, upper=0.5)
    )
    assert run.t[-1] == pytest.approx(0.3, abs=COMPUTED) and len(run.events) == 2


def test_an_event_that_is_not_a_number_is_an_error() -> None:
    from dalembert import math

    robot = slides([1.0])
    bad = Event("root", lambda t, q, v: math.sqrt(0.45 - q[0]))
    with pytest.raises(SimulationError, match=r"event 'root' is NaN at t = 0\.4") as caught:
        robot.simulate([0.0], [1.0], 1.0, events=[bad])
    assert caught.value.run is not None and 0.3 < caught.value.run.t[-1] < 0.45


@every_integrator
def test_newtons_cradle(integrator: str) -> None:
    """Two of five touching balls come in, two go out at the other end: impulses pass from ball to ball."""
    count, size = 5, 0.1
    robot = row([1.0] * count)
    stop = [elements.HardStop(f"slide{k}", 1.0, lower=size) for k in range(1, count)]
    gap = 0.2
    q, v = np.array([0.0, size, size + gap, size, size]), np.array([1.0, 0.0, -1.0, 0.0, 0.0])
    run = robot.simulate(q, v, 0.5, integrator=integrator, step=EVERY[integrator], elements=stop)
    speeds, places = np.cumsum(run.v[-1]), np.cumsum(run.q[-1])
    np.testing.assert_allclose(speeds, [0.0, 0.0, 0.0, 1.0, 1.0], atol=ITERATED)
    np.testing.assert_allclose(places, [0.2, 0.3, 0.4, 0.5 + 0.3, 0.6 + 0.3], atol=ITERATED)
    assert abs(sum(heat[-1] for heat in run.energy.heat.values())) < COMPUTED


@every_integrator
def test_a_train_couples_without_restitution(integrator: str) -> None:
    """A ball meets two that touch: at restitution 0 all three go on together."""
    robot = row([1.0, 2.0, 3.0])
    stop = [elements.HardStop(f"slide{k}", 0.0, lower=0.1) for k in (1, 2)]
    run = robot.simulate(
        [0.0, 0.3, 0.1], [1.0, -1.0, 0.0], 0.5, integrator=integrator, step=EVERY[integrator], elements=stop
    )
    np.testing.assert_allclose(run.v[-1], [1.0 / 6.0, 0.0, 0.0], atol=ITERATED)
    assert sum(heat[-1] for heat in run.energy.heat.values()) == pytest.approx(0.5 - 0.5 / 6.0)


@every_integrator
def test_a_bouncing_ball_comes_to_rest(integrator: str) -> None:
    """Bounces follow each other ever faster, up to t = fall (1 + e) / (1 − e): the resolution is the rest speed."""
    robot, e = slides([2.0], axis=(0, 0, 1), gravity=G), 0.5
    rest_speed = 0.03 if integrator in FIRST_ORDER else 1e-3  # their speeds are wrong by g times the step at an impact
    stop = [elements.HardStop("slide0", e, lower=0.0, rest_speed=rest_speed)]
    run = robot.simulate([1.0], [0.0], 1.6, integrator=integrator, step=EVERY[integrator], elements=stop)
    fall = np.sqrt(2.0 / G)
    assert run.events[0].t == pytest.approx(fall, abs=near(integrator))
    impacts = [event.t for event in run.events]
    assert impacts[-1] == pytest.approx(fall * (1.0 + e) / (1.0 - e), abs=near(integrator, 1e-3, 0.03))
    assert len(impacts) == int(np.ceil(np.log(rest_speed / (G * fall)) / np.log(e))) + 1
    assert abs(run.q[-1, 0]) < ROUNDING and abs(run.v[-1, 0]) < ROUNDING
    assert run.multipliers[-1, 0] == pytest.approx(2.0 * G)
    assert run.energy.heat["HardStop(slide0)"][-1] == pytest.approx(2.0 * G, rel=near(integrator))


@every_integrator
def test_stacked_stops_share_the_load(integrator: str) -> None:
    """Three floors of a tower, each on a stop of the one below: each carries what is above it."""
    from dalembert import ModelBuilder

    builder, masses = ModelBuilder("tower", gravity=(0.0, 0.0, -G)), [1.0, 2.0, 3.0]
    for k, mass in enumerate(masses):
        builder.add_body(
            f"floor{k}", parent=f"floor{k - 1}" if k else "world", joint="prismatic", joint_name=f"slide{k}",
            axis=(0, 0, 1), mass=mass, inertia=1e-3 * np.eye(3),
        )  # fmt: skip
    robot = builder.build()
    run = robot.simulate(
        [0.1, 0.1, 0.1], np.zeros(3), 0.6, integrator=integrator, step=EVERY[integrator],
        elements=[elements.HardStop(f"slide{k}", 0.0, lower=0.1) for k in range(3)],
    )  # fmt: skip
    np.testing.assert_allclose(run.q[-1], 0.1, atol=ROUNDING)
    np.testing.assert_allclose(run.multipliers[-1], G * np.array([6.0, 5.0, 3.0]))
    push = np.array([0.0, 3.5 * G, 0.0])  # lifts the upper two floors, which stay together
    run = robot.simulate(
        [0.1, 0.1, 0.1], np.zeros(3), 0.6, [np.zeros(3), 2.0 * push], integrator, EVERY[integrator],
        elements=[elements.HardStop(f"slide{k}", 0.0, lower=0.1) for k in range(3)],
    )  # fmt: skip
    up = 0.5 * (7.0 * G / 5.0 - G) * 0.09
    np.testing.assert_allclose(run.q[-1], [0.1, 0.1 + up, 0.1], atol=near(integrator))


@every_integrator
def test_bang_bang_torques_at_rest(integrator: str) -> None:
    """Forces that change sign between rows: pushed into the stop nothing moves, pulled away it leaves."""
    robot, forces = slides([1.0]), np.array([[-1.0], [1.0], [-1.0], [-1.0], [-1.0]])
    run = robot.simulate([0.0], [0.0], 1.25, forces, integrator, EVERY[integrator], elements=stops(1, 0.0, lower=0.0))
    kinds = [(event.kind, event.t) for event in run.events]
    assert [kind for kind, _ in kinds] == ["leaves", "impact"]
    back = 0.5 + 0.25 + np.sqrt(2.0) * 0.25  # from x = 1/32, v = 1/4 with a = −1
    assert kinds[0][1] == 0.25 and kinds[1][1] == pytest.approx(back, abs=near(integrator))
    assert abs(run.q[-1, 0]) < ROUNDING and run.q.max() == pytest.approx(0.0625, abs=near(integrator, 1e-6))


def test_the_gaps_of_an_own_element_are_events() -> None:
    """A catch that lets go of its spring beyond a speed: its state changes there."""
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Catch(elements.Element):
        joint: str
        stiffness: float
        speed: float

        def size(self, model):
            return 1

        def start(self, model, q, v):
            return np.ones(1)

        def act(self, s):
            body = s.model.joint(self.joint)
            return elements.Action({body.index: -self.stiffness * s.z[0] * s.q[body.q]}, rate=np.zeros(1))

        def energy(self, s):
            return 0.5 * self.stiffness * s.z[0] * s.q[s.model.joint(self.joint).q][0] ** 2

        def gaps(self, s):
            return [self.speed + s.v[s.model.joint(self.joint).v][0]]

        def jumped(self, gap, s):
            return np.zeros(1)

    robot, w = slides([1.0]), 2.0
    run = robot.simulate([1.0], [0.0], 2.0, elements=[Catch("slide0", w * w, 1.0)])
    lets_go = np.arcsin(0.5) / w
    assert [(event.name, event.kind) for event in run.events] == [("Catch(slide0)", "gap")]
    assert run.events[0].t == pytest.approx(lets_go, abs=TIGHT_RUN)
    assert run.v[-1, 0] == pytest.approx(-1.0, abs=DEFAULT_RUN) and run.states[-1, 0] == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_random_pucks_between_walls(seed: int) -> None:
    random_pucks(seed)


def test_bounces_without_a_rest_speed_end_too() -> None:
    """They end where they are lower than what can be told from touching, 1e-12 m."""
    robot, e = slides([1.0], axis=(0, 0, 1), gravity=G), 0.5
    stop = [elements.HardStop("slide0", e, lower=0.0, rest_speed=0.0)]
    run = robot.simulate([1.0], [0.0], 2.0, elements=stop)
    end = np.sqrt(2.0 / G) * (1.0 + e) / (1.0 - e)
    assert end - COARSE_RUN < run.events[-1].t < end and len(run.events) < 30
    assert abs(run.q[-1, 0]) < ROUNDING and run.energy.heat["HardStop(slide0)"][-1] == pytest.approx(G)


def test_a_joint_between_two_stops_at_one_place_is_held() -> None:
    run = slides([1.0]).simulate([0.5], [1.0], 0.1, elements=stops(1, 1.0, 0.5, 0.5))
    assert run.q[-1, 0] == 0.5 and run.v[-1, 0] == 0.0 and "taken as inelastic" in run.log[0]
    assert run.energy.heat["HardStop(slide0)"][-1] == pytest.approx(0.5)
