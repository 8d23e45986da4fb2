"""Cylinders: length, lever, stiffness of the oil at the joint, constant piston speed, a valve that closes."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, Mechanism
from dalembert.mechanism import Cylinder, at_joint
from tolerances import COMPUTED, MILLISECOND_STEPS, REACHED

CHORDS = 0.03  # slopes of chords over a twentieth of the range
OIL = 0.05  # the oil gives way while the piston speeds up
DAMPED = 0.02  # of a swing: damping of the oil is left out of ω
RUNG = 1e-6  # [m] of 1.3 mm, at the default tolerances
CROSSING = 5e-3  # of the swing, half a period after the start

LIFT = Cylinder("lift", "lift_cylinder_base", "lift_cylinder_rod", bore=0.1, rod=0.06, stroke=0.45, damping=3e4)
ARM = Cylinder("arm", "arm_cylinder_base", "arm_cylinder_rod", bore=0.09, rod=0.05, stroke=0.5, damping=2e4)


@pytest.fixture(scope="module")
def arm() -> dalembert.Robot:
    return dalembert.load("hydraulic")


@pytest.mark.parametrize(("cylinder", "joint"), [(LIFT, "joint2"), (ARM, "joint3")])
def test_length_and_lever_over_the_range_of_the_joint(arm, cylinder: Cylinder, joint: str) -> None:
    place = arm.joint(joint).q
    lower, upper = float(arm.limits.lower[place][0]), float(arm.limits.upper[place][0])
    lengths, levers = [], []
    for angle in np.linspace(lower, upper, 21):
        q = np.zeros(5)
        q[arm.joint(joint).q] = angle
        felt = at_joint(arm, q, cylinder, joint)
        ends = [arm.pose(q, name)[:3, 3] for name in (cylinder.frame, cylinder.other)]
        assert felt.length == pytest.approx(np.linalg.norm(ends[1] - ends[0]), rel=COMPUTED)
        lengths.append(felt.length)
        levers.append(felt.lever)
        assert felt.stiffness == pytest.approx(cylinder.stiffness * felt.lever**2)
    assert np.min(np.abs(levers)) > 0.02 and len(set(np.sign(levers))) == 1  # no dead point
    assert np.ptp(lengths) < cylinder.stroke < np.min(lengths)
    slopes = np.gradient(lengths, np.linspace(lower, upper, 21))
    np.testing.assert_allclose(slopes[1:-1], levers[1:-1], rtol=CHORDS)


def test_stiffness_of_trapped_oil_is_that_of_its_two_columns() -> None:
    """With equal areas and volumes: k = 2 β A² / V."""
    cylinder = Cylinder("c", "a", "b", bore=0.1, rod=0.0, stroke=0.5, hose=1e-3, bulk=1.5e9)
    area = np.pi * 0.05**2
    assert cylinder.stiffness == pytest.approx(2.0 * 1.5e9 * area**2 / (1e-3 + area * 0.25))


def test_a_constant_piston_speed_turns_the_joint_and_a_closed_valve_stops_it(arm) -> None:
    cylinder = Cylinder(
        "lift", LIFT.frame, LIFT.other, bore=0.1, rod=0.06, stroke=0.45, damping=2e6, speed=0.1, closure=0.5
    )
    others = [dalembert.elements.Spring(f"joint{k}", 1e7, 0.0, 1e5) for k in (1, 3, 4, 5)]
    run = arm.simulate(np.zeros(5), np.zeros(5), 1.0, elements=[cylinder, *others], record=0.01, rtol=1e-6)
    felt = [at_joint(arm, q, cylinder, "joint2") for q in run.q]
    lengths = np.array([each.length for each in felt])
    k, m = np.searchsorted(run.t, [0.2, 0.45])
    assert (lengths[m] - lengths[k]) / (run.t[m] - run.t[k]) == pytest.approx(0.1, rel=OIL)
    turned = np.trapezoid([each.rate for each in felt[k : m + 1]], run.t[k : m + 1])
    assert run.q[m, 1] - run.q[k, 1] == pytest.approx(turned, rel=OIL)
    assert abs(lengths[-1] - lengths[-20]) < REACHED  # the valve is closed
    assert np.max(np.abs(run.energy.residual)) < MILLISECOND_STEPS * np.max(run.energy.kinetic)


def test_closing_the_valve_rings_at_the_frequency_of_oil_and_inertia() -> None:
    """A bar on a pivot, no gravity: ω = lever √(k / I)."""
    m = Mechanism("boom", gravity=(0, 0, 0))
    m.ground(pivot=(0, 0), foot=(0.0, -0.8))
    m.body("bar", 100.0, [1.0, 30.0, 30.0], points={"pivot": (-1.0, 0), "eye": (-0.7, 0)})
    m.joint("revolute", "ground.pivot", "bar.pivot", name="turn", start=0.0, rate=0.2)
    m.cylinder("ground.foot", "bar.eye", bore=0.08, rod=0.04, stroke=0.4, speed=0.0, closure=0.0, name="cylinder")
    robot = m.build()
    cylinder = robot.elements[0]
    lever = at_joint(robot, robot.start[0], cylinder, "turn").lever
    omega = abs(lever) * np.sqrt(cylinder.stiffness / (30.0 + 100.0))
    run = robot.simulate(*robot.start, 2.0 * np.pi / omega, record=2.0 * np.pi / omega / 100)
    np.testing.assert_allclose(run.q[50, 0], 0.0, atol=CROSSING * np.max(np.abs(run.q)))
    assert np.max(run.q) == pytest.approx(0.2 / omega, rel=DAMPED)


def test_impossible_cylinders_are_refused() -> None:
    robot = dalembert.load("hydraulic")
    with pytest.raises(DalembertError, match=r"rod is 0\.2 m, expected less than the bore"):
        robot.simulate(np.zeros(5), np.zeros(5), 0.1, elements=[Cylinder("c", LIFT.frame, LIFT.other, rod=0.2)])


@pytest.mark.parametrize("varying", [False, True])
def test_the_oil_is_as_stiff_as_its_chambers_where_the_piston_stops(varying: bool) -> None:
    """A mass on a slide rings about the place where the valve closed: ω = √(k / m), k of the columns of oil there."""
    speed, closure, mass, extended = 0.5, 0.5, 2000.0, 0.1
    m = Mechanism("slide", gravity=(0, 0, 0)).ground(foot=(-1.0, 0), rail=(0, 0))
    m.body("load", mass, [1.0, 1.0, 1.0])
    m.joint("prismatic", "ground.rail", "load.origin", name="way", axis=(1, 0, 0), start=0.0, rate=speed)
    sizes = {"bore": 0.08, "rod": 0.04, "stroke": 0.4, "hose": 1e-4}
    m.cylinder("ground.foot", "load.origin", **sizes, speed=speed, closure=closure, extended=extended, varying=varying)
    robot = m.build()
    out = extended + (speed * closure if varying else 0.0)
    first, second = 0.25 * np.pi * 0.08**2, 0.25 * np.pi * (0.08**2 - 0.04**2)
    k = 1.4e9 * (first**2 / (1e-4 + first * out) + second**2 / (1e-4 + second * (0.4 - out)))
    period = 2.0 * np.pi / np.sqrt(k / mass)
    run = robot.simulate(*robot.start, closure + period, record=period / 50)
    late = run.t > closure
    t, way = run.t[late] - closure, run.q[late, 0] - speed * closure
    np.testing.assert_allclose(way, speed * period / (2.0 * np.pi) * np.sin(2.0 * np.pi * t / period), atol=RUNG)
    assert np.abs(run.energy.residual).max() < MILLISECOND_STEPS * mass * speed**2
    # oil that flows in while the spring is strained changes its stiffness: the ledger counts that work
    other = robot.simulate(robot.start[0], 0.8 * robot.start[1], closure + period, rtol=1e-10)
    assert np.abs(other.energy.residual).max() < MILLISECOND_STEPS * mass * speed**2
