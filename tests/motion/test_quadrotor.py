"""Quadrotors: flatness against the robot's own dynamics, flights that stay on their path, gusts, lag, gates."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, control, elements, math, motion
from dalembert.spatial import so3
from tolerances import (
    COMPUTED,
    EPS,
    INTEGRATED,
    ITERATED,
    MILLISECOND_STEPS,
    PRODUCT,
    REACHED,
    ROUNDING,
    SETTLED,
    SLOPE,
)

GATES = np.array([[0.0, 0.0, 1.0], [1.0, 0.5, 1.5], [2.0, -0.5, 1.0], [1.0, -1.0, 0.8], [0.0, 0.0, 1.0]])


@pytest.fixture(scope="module")
def drone():
    return dalembert.load("quadrotor")


@pytest.fixture(scope="module")
def flight(drone):
    return motion.fly(drone, GATES, yaw=np.linspace(0.0, 1.5, 5), duration=4.0)


def test_rates_are_those_of_the_flight(drone, flight):
    t, e = np.linspace(0.05, 3.95, 27), 1e-5
    state = flight.at(t)
    np.testing.assert_allclose(drone.difference(flight.q(t - e), flight.q(t + e)) / (2 * e), state.v, atol=SLOPE)
    np.testing.assert_allclose((flight.v(t + e) - flight.v(t - e)) / (2 * e), state.a, atol=INTEGRATED)
    np.testing.assert_allclose(flight.q([0.0, 4.0])[:, :3], GATES[[0, -1]], atol=ITERATED)


def test_thrust_and_torque_are_those_of_inverse_dynamics(drone, flight):
    """The rest of the wrench is zero: what a quadrotor cannot give is not asked for."""
    t = np.linspace(0.0, 4.0, 41)
    tau, state = drone.inverse_dynamics(*flight.at(t)), flight.flight(t)
    np.testing.assert_allclose(tau[:, 3:5], 0.0, atol=PRODUCT)
    np.testing.assert_allclose(tau[:, 5], state.thrust, rtol=COMPUTED)
    np.testing.assert_allclose(tau[:, :3], state.torque, atol=EPS)
    total = flight.thrusts(t) @ flight.rotors.map.T
    np.testing.assert_allclose(total[:, 0], state.thrust, rtol=COMPUTED)
    np.testing.assert_allclose(total[:, 1:], state.torque, atol=ROUNDING)


def test_a_body_whose_centre_of_mass_is_elsewhere(drone):
    heavy = drone.edit().payload(0.005, frame="rotor1").done()
    flight = motion.fly(heavy, GATES, duration=4.0)
    t, e = np.linspace(0.1, 3.9, 11), 1e-5
    state = flight.at(t)
    np.testing.assert_allclose(heavy.difference(flight.q(t - e), flight.q(t + e)) / (2 * e), state.v, atol=SLOPE)
    np.testing.assert_allclose(heavy.inverse_dynamics(*state)[:, 3:5], 0.0, atol=PRODUCT)
    np.testing.assert_allclose(heavy.center_of_mass(flight.q(t)), flight.path.q(t)[:, :3], atol=COMPUTED)


def test_a_flight_fed_back_stays_on_its_path(drone, flight):
    run = drone.simulate(flight.q(0.0), flight.v(0.0), control.quadrotor(drone, flight), duration=4.0)
    assert not any("called back" in line for line in run.log)
    assert np.abs(run.q[:, :3] - flight.q(run.t)[:, :3]).max() < INTEGRATED


def test_gates_at_the_limit_of_thrust(drone):
    fastest = motion.fly(drone, GATES)
    thrusts = fastest.thrusts(np.linspace(0.0, fastest.duration, 1001))
    assert max(thrusts.max() / fastest.rotors.most, 1.0 - thrusts.min() / fastest.rotors.most) == pytest.approx(
        1.0, abs=INTEGRATED
    )
    assert fastest.slower(0.99).excess() > 0.0
    assert fastest.check() and fastest.slower(1.2).check()
    assert "thrust of rotor" in str(fastest.slower(0.8).check()) and not fastest.slower(0.8).check()
    run = drone.simulate(fastest.q(0.0), fastest.v(0.0), control.quadrotor(drone, fastest), duration=fastest.duration)
    assert np.abs(run.q[:, :3] - fastest.q(run.t)[:, :3]).max() < SETTLED


def test_check_lists_the_rotors_whichever_way_it_is_asked(drone):
    flight = motion.fly(drone, [[0, 0, 1], [3, 0, 1], [3, 3, 2]], duration=0.8)
    asked = motion.check(flight, drone), motion.check(flight), flight.check(), flight.check(drone)
    assert len({str(report) for report in asked}) == 1
    assert len(asked[0].violations) == 8 and asked[0].violations[0].what == "thrust"


def test_hovers_in_gusts_with_motors_that_lag(drone):
    def gust(t):
        return [3.0 * math.sin(2.0 * t), 3.0 * math.sin(3.1 * t + 1.0), 0.5 * math.sin(5.0 * t)]

    law = control.quadrotor(drone, [0.0, 0.0, 1.0])
    air = elements.Drag("body", area=0.004, wind=gust)
    start = drone.neutral()
    start[2] = 1.0
    lag = control.rotor_lag(drone, 0.02)
    run = drone.simulate(start, np.zeros(6), law, duration=6.0, elements=[air, lag])
    away = np.linalg.norm(run.q[:, :3] - [0.0, 0.0, 1.0], axis=1)
    assert 0.01 < away.max() < 0.15
    assert run.audit().relative < MILLISECOND_STEPS


def test_recovers_from_an_upset(drone):
    start = drone.neutral()
    start[3:] = so3.to_quaternion(so3.exp(np.array([2.0, 0.0, 0.0])))
    run = drone.simulate(start, np.zeros(6), control.quadrotor(drone, [0.0, 0.0, 0.0, 0.7]), duration=5.0)
    np.testing.assert_allclose(run.q[-1, :3], 0.0, atol=SETTLED)
    np.testing.assert_allclose(so3.to_rpy(so3.from_quaternion(run.q[-1, 3:])), [0.0, 0.0, 0.7], atol=REACHED)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda r: motion.fly(r, GATES[:, :2]), "expected \\(k, 3\\)"),
        (lambda r: motion.fly(dalembert.load("ur5"), GATES), "expected one free body"),
        (lambda r: motion.fly(r, GATES, rotors=motion.rotors(r, most=0.05)), "cannot carry the body"),
        (lambda r: motion.rotors(r, spin=(1.0, 1.0)), "as many as spin"),
        (lambda r: motion.rotors(r, spin=(1.0, 1.0, 1.0, 1.0), drag=0.0), "cannot turn the body"),
        (lambda r: control.quadrotor(r, [0.0, 0.0]), "a place \\(3,\\)"),
        (lambda r: control.quadrotor(r, [0.0, 0.0, 1.0], frequency=-1.0), "frequency is -1.0"),
        (lambda r: control.rotor_lag(r, 0.0), "time is 0.0"),
    ],
)
def test_bad_input_is_named(drone, build, words):
    with pytest.raises(DalembertError, match=words):
        build(drone)


def test_free_fall_has_no_attitude(drone):
    drop = motion.PolynomialMotion(
        motion.Polynomials(np.array([0.0, 1.0]), np.array([[[0.0] * 4, [0.0] * 4, [0.0, 0.0, -0.5 * 9.81, 0.0]]]))
    )
    with pytest.raises(DalembertError, match="falls freely"):
        motion.FlightMotion(drone, drop, motion.rotors(drone)).at(0.5)
