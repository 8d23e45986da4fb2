"""Friction that sticks, drives and ends of joints against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, Event, ModelBuilder, Robot, elements, load, math
from tolerances import COARSE_RUN, COMPUTED, CONVERGED, DEFAULT_RUN, INTEGRATED, ITERATED, SETTLED, TIGHT_RUN

GIVING_WAY = 3e-4  # bristles need about 1 ms to give way, 0.5 % of the way [m, m/s]
STICKING = 2e-4  # creep of bristles under a load that rises [m/s]
BRISTLES = 0.01  # of a slide: bristles stretch first

MASS, G = 2.0, 9.81


def block(axis=(1, 0, 0), **others) -> Robot:
    builder = ModelBuilder("block", gravity=(0.0, 0.0, -G))
    builder.add_body("block", parent="world", joint="prismatic", joint_name="slide", axis=axis, mass=MASS, **others)
    return builder.build()


def test_stick_slip_on_a_belt() -> None:
    """A block on a belt of speed V, held by a spring k: it sticks until k x = Fs, then slides as an oscillator.

    Slip: x(τ) = Fk/k + (Fs − Fk)/k cos ωτ + V/ω sin ωτ, until its speed is V again, at τ = (2/ω)(π − atan(b)) with
    b = (Fs − Fk) ω/(k V); then it sticks at x = Fk/k − (Fs − Fk)/k, and is carried to Fs/k with speed V.
    """
    k, V, static, kinetic = 100.0, 0.1, 4.0, 3.0
    w = np.sqrt(k / MASS)
    slip = 2.0 / w * (np.pi - np.arctan((static - kinetic) * w / (k * V)))
    stick = 2.0 * (static - kinetic) / (k * V)
    robot = block()
    friction = elements.Friction(
        "slide", kinetic, static, stribeck_speed=1e-4, stiffness=1e6, bristle_damping=2e3, surface_speed=V
    )
    start = (2.0 * kinetic - static) / k  # where sticking begins
    run = robot.simulate(
        [start], [V], stick + slip + 0.9 * stick, elements=[elements.Spring("slide", k), friction],
        integrator="rk45", rtol=1e-8, atol=1e-11, record=1e-3,
    )  # fmt: skip
    x, v = run.q[:, 0], run.v[:, 0]
    sticking = run.t < 0.98 * stick
    np.testing.assert_allclose(v[sticking & (run.t > 0.02)], V, atol=STICKING)
    tau = run.t - stick
    sliding = (tau > 0.0) & (tau < slip)
    lead = (static - kinetic) / k
    expected = kinetic / k + lead * np.cos(w * tau) + V / w * np.sin(w * tau)
    np.testing.assert_allclose(
        x[sliding], expected[sliding], atol=GIVING_WAY
    )  # 0.5 % of the way: giving way takes 1 ms
    again = run.t > stick + slip + 0.05
    np.testing.assert_allclose(v[again], V, atol=GIVING_WAY)
    assert np.abs(run.energy.residual).max() < INTEGRATED * run.energy.scale


def test_a_block_at_rest_stays_on_a_slope() -> None:
    """Below the force of sticking a block does not creep; above it slides with the force that is left."""
    robot = block(axis=(np.cos(0.3), 0, -np.sin(0.3)))
    pull = MASS * G * np.sin(0.3)
    for coulomb, slides in ((1.05 * pull, False), (0.95 * pull, True)):
        friction = elements.Friction("slide", coulomb, stiffness=1e7, bristle_damping=5e3)
        run = robot.simulate([0.0], [0.0], 2.0, elements=[friction])
        moved = run.q[-1, 0] - run.q[100, 0]
        expected = 0.5 * (pull - coulomb) / MASS * (4.0 - 1.0) if slides else 0.0
        assert moved == pytest.approx(expected, rel=BRISTLES, abs=ITERATED)


def test_a_bouncing_joint_meets_its_stop_on_time() -> None:
    robot = block(axis=(0, 0, 1), lower=0.0)
    e = 0.8
    run = robot.simulate([1.0], [0.0], 5.0, elements=[elements.HardStop("slide", e)])
    fall = np.sqrt(2.0 / G)
    impacts = [event.t for event in run.events]
    expected = fall * (1.0 + 2.0 * np.cumsum(np.concatenate([[0.0], e ** np.arange(1, 12)])))
    np.testing.assert_allclose(impacts[:12], expected, atol=CONVERGED)
    assert run.q[-1, 0] == 0.0 and run.v[-1, 0] == 0.0  # after the last bounce it rests
    np.testing.assert_allclose(run.multipliers[-1], MASS * G, rtol=COMPUTED)
    assert np.abs(run.energy.residual).max() < CONVERGED
    assert run.energy.heat["HardStop(slide)"][-1] == pytest.approx(MASS * G)


def test_a_resting_joint_leaves_its_stop_when_pulled() -> None:
    robot = block(axis=(0, 0, 1), lower=0.0)

    def pull(t, q, v):
        return np.array([2.0 * MASS * G * t])

    run = robot.simulate([0.0], [-0.5], 1.0, pull, elements=[elements.HardStop("slide")])
    assert [event.name for event in run.events] == ["HardStop(slide)"] * 2
    assert run.events[1].t == pytest.approx(0.5, abs=ITERATED)
    np.testing.assert_allclose(run.q[run.t <= 0.5], 0.0, atol=COMPUTED)
    assert run.q[-1, 0] == pytest.approx(G * 0.5**3 / 3.0, rel=TIGHT_RUN)


@pytest.mark.parametrize(
    ("integrator", "step"), [("rk45", None), ("rk4", 1e-3), ("merson", None), ("variational", 1e-3)]
)
def test_events_are_located_and_can_end_the_run(integrator: str, step: float | None) -> None:
    robot = block(axis=(0, 0, 1))
    events = [
        Event("top", lambda t, q, v: v[0], direction=-1),
        Event("floor", lambda t, q, v: q[0], direction=-1, terminal=True),
    ]
    run = robot.simulate([0.0], [3.0], 5.0, integrator=integrator, step=step, events=events)
    assert [event.name for event in run.events] == ["top", "floor"]
    assert run.events[0].t == pytest.approx(3.0 / G, abs=ITERATED)
    assert run.events[0].q[0] == pytest.approx(4.5 / G, abs=ITERATED)
    assert run.t[-1] == pytest.approx(6.0 / G, abs=ITERATED)
    assert np.all(np.diff(run.t) > 0.0) and "ended by event 'floor'" in run.log[-1]


def test_bad_events_are_named() -> None:
    robot = load("2r")
    q, v = np.zeros(2), np.zeros(2)
    for make, said in (
        (lambda: [Event("up", 3)], "event 'up': function is of type int"),
        (lambda: [Event("up", lambda t, q, v: t, 5)], "event 'up': direction is 5"),
        (lambda: [Event("up", lambda t, q, v: q)], r"event 'up': function returned shape \(2,\), expected one number"),
        (lambda: [Event("up", lambda t, q, v: 1.0 if q[0] > 0 else 0.0)], "event 'up': a traced value has no truth"),
        (lambda: Event("up", lambda t, q, v: t), r"events is one Event: write events=\[…\]"),
        (lambda: [lambda t, q, v: t], "events: expected Events, got function"),
    ):
        with pytest.raises(DalembertError, match=said):
            robot.simulate(q, v, 0.1, events=make())


def test_a_flexible_joint_vibrates_at_its_frequency() -> None:
    """Motor and link with a spring between: ω = sqrt(k (1/J + 1/m)), and their common centre stays."""
    robot = block()
    k, J, push = 400.0, 0.5, 1.0
    run = robot.simulate(
        [0.0], [0.0], 1.0, lambda t, q, v: np.array([push]), elements=[elements.FlexibleJoint("slide", k, J)]
    )
    w = np.sqrt(k * (1.0 / J + 1.0 / MASS))
    rigid = 0.5 * push / (J + MASS) * run.t**2
    wave = push / (k * (1.0 + J / MASS)) * (1.0 - np.cos(w * run.t)) * J / (J + MASS)
    np.testing.assert_allclose(run.q[:, 0], rigid - wave, atol=TIGHT_RUN)
    np.testing.assert_allclose((J * run.states[:, 0] + MASS * run.q[:, 0]) / (J + MASS), rigid, atol=TIGHT_RUN)


def test_a_motor_gives_no_more_than_it_can() -> None:
    """Full command on the line from stall to no-load speed: v = v0 (1 − exp(−t/T)), T = m v0 / F."""
    robot = block()
    motor = elements.Motor("slide", 2.0, 30.0, gear=10.0, rotor_inertia=0.01)
    run = robot.simulate([0.0], [0.0], 2.0, np.array([100.0]), elements=[motor])
    stall, top, mass = 20.0, 3.0, MASS + 100.0 * 0.01
    np.testing.assert_allclose(run.v[:, 0], top * (1.0 - np.exp(-run.t * stall / (mass * top))), atol=DEFAULT_RUN)


@pytest.mark.parametrize("integrator", ["rk45", "rodas", "semi-implicit"])
def test_a_gear_takes_its_share_in_both_directions(integrator: str) -> None:
    """A weight goes up evenly at 1/η of its weight, down evenly at η of it; what is lost is heat."""
    robot, eta = block(axis=(0, 0, 1)), 0.6
    motor = elements.Motor("slide", 1e3, 1e4, efficiency=eta)
    weight, step = MASS * G, {"step": 1e-3} if integrator == "semi-implicit" else {}
    for speed, command, heat in ((0.5, weight / eta, 1.0 / eta - 1.0), (-0.5, weight * eta, 1.0 - eta)):
        run = robot.simulate([0.0], [speed], 2.0, [command], integrator, elements=[motor], **step)
        np.testing.assert_allclose(run.v[:, 0], speed, atol=DEFAULT_RUN)
        lost = run.energy.heat["Motor(slide)"][-1]
        np.testing.assert_allclose(lost, heat * weight * abs(run.q[-1, 0]), rtol=DEFAULT_RUN)
        assert abs(run.energy.residual[-1]) < DEFAULT_RUN * weight


def test_a_gear_below_one_half_locks_itself() -> None:
    """Without a command nothing is lost, and with one of half the weight a worm gear lets nothing sink: it creeps."""
    robot = block(axis=(0, 0, 1))
    worm = elements.Motor("slide", 1e3, 1e4, efficiency=0.4, slip_speed=1e-6)
    held = robot.simulate([0.0], [0.0], 1.0, [0.5 * MASS * G], "rodas", elements=[worm], rtol=1e-6)
    assert abs(held.v[-1, 0]) < INTEGRATED
    free = robot.simulate([0.0], [0.0], 1.0, [0.0], elements=[worm])
    np.testing.assert_allclose(free.v[-1, 0], -G, atol=DEFAULT_RUN)


def test_a_winding_warms_up_to_its_limit() -> None:
    """At k times the continuous torque the share is k² (1 − exp(−t/T)); then the limit falls to that torque."""
    robot, k, T = block(damping=1e4), 3.0, 2.0
    motor = elements.Motor("slide", 6.0, 1e6, gear=10.0, continuous=2.0, thermal_time=T)
    run = robot.simulate([0.0], [0.0], 12.0, [100.0], elements=[motor])
    warm = -T * np.log(1.0 - 0.95 / k**2)
    before = run.t < warm - 0.01
    assert before.sum() > 20
    np.testing.assert_allclose(
        run.states[before, 0], k**2 * (1.0 - np.exp(-run.t[before] / T)), atol=DEFAULT_RUN, rtol=DEFAULT_RUN
    )
    np.testing.assert_allclose(run.states[-1, 0], 1.0, atol=SETTLED)
    np.testing.assert_allclose(run.v[-1, 0], 20.0 / 1e4, rtol=SETTLED)  # the damper feels the continuous torque


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"efficiency": 1.2}, "efficiency is 1.2, expected above 0 and at most 1"),
        ({"efficiency": 0.0}, "efficiency is 0.0"),
        ({"continuous": 1.0}, "belong together"),
        ({"continuous": 3.0, "thermal_time": 1.0}, "more than stall_torque, 2"),
    ],
)
def test_numbers_of_motors_are_checked(wrong, message) -> None:
    with pytest.raises(DalembertError, match=message):
        block().simulate([0.0], [0.0], 0.1, elements=[elements.Motor("slide", 2.0, 30.0, **wrong)])


def test_a_body_falls_through_air_at_its_limit_speed() -> None:
    robot = block(axis=(0, 0, 1))
    drag = elements.Drag("block", area=0.5, density=1.2)
    run = robot.simulate([0.0], [0.0], 30.0, elements=[drag])
    limit = np.sqrt(2.0 * MASS * G / (1.2 * 0.5))
    np.testing.assert_allclose(run.v[:, 0], -limit * np.tanh(G * run.t / limit), atol=INTEGRATED)


def test_an_orbit_closes() -> None:
    """A free body around a distant mass: after one period it is where it began."""
    builder = ModelBuilder("satellite", gravity=(0.0, 0.0, 0.0))
    builder.add_body("body", parent="world", joint="free", mass=3.0, inertia=0.1 * np.eye(3))
    robot = builder.build()
    q, v = robot.neutral(), np.array([0.0, 0.0, 0.0, 0.0, 1.2, 0.0])
    q[0] = 1.0
    a = 1.0 / (2.0 - 1.2**2)
    run = robot.simulate(
        q, v, 2.0 * np.pi * a**1.5, integrator="rk8", rtol=1e-12, atol=1e-13, elements=[elements.CentralGravity(1.0)]
    )
    np.testing.assert_allclose(run.q[-1, :3], [1.0, 0.0, 0.0], atol=ITERATED)


def test_a_field_with_a_potential_is_stored_energy() -> None:
    robot = block(axis=(0, 0, 1))
    pull = elements.GravityField(lambda p: np.array([0.0, 0.0, G]), lambda p: -G * p[2])  # cancels the model's own
    run = robot.simulate([0.0], [1.0], 1.0, elements=[pull])
    np.testing.assert_allclose(run.q[:, 0], run.t, atol=ITERATED)
    assert np.abs(run.energy.residual).max() < ITERATED and not run.energy.work
    assert run.energy.elastic[-1] == pytest.approx(-MASS * G)


@pytest.mark.parametrize("integrator", ["rk23", "rk45", "rk8"])
def test_long_steps_do_not_pass_over_what_happens(integrator: str) -> None:
    """A ball in free flight is so smooth that an adaptive step could span all of it."""
    builder = ModelBuilder("ball")
    builder.add_body("ball", parent="world", joint="prismatic", joint_name="z", axis=(0, 0, 1), mass=1.0)
    ball = builder.build()
    g, speed, height = 9.81, 5.0, 1.2
    root = np.sqrt(speed**2 - 2.0 * g * height)
    there = ball.simulate(
        [0.0], [speed], 2.0, integrator=integrator, events=[Event("h", lambda t, q, v: q[0] - height)]
    )
    np.testing.assert_allclose([e.t for e in there.events], [(speed - root) / g, (speed + root) / g], rtol=ITERATED)
    stopped = ball.simulate(
        [0.0], [speed], 0.5, integrator=integrator, elements=[elements.HardStop("z", 0.5, upper=height)]
    )
    assert [e.t for e in stopped.events] == [pytest.approx((speed - root) / g)] and stopped.q.max() <= height

    def pulse(t, q, v):
        return np.array([math.where((t > 1.0) & (t < 1.02), 500.0, 0.0)])

    def called(t, q, v):
        return [500.0 if 1.0 < float(t) < 1.02 else 0.0]

    for law in (pulse, called):
        run = ball.simulate([0.0], [speed], 2.0, law, integrator)
        assert run.v[-1, 0] == pytest.approx(speed - 2.0 * g + 10.0, abs=10 * COARSE_RUN)
    assert ball.simulate([0.0], [speed], 2.0, integrator=integrator).steps < 20  # nothing to look for
