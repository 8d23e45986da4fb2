"""Laws in joint space: closed forms, tracking with and without terms of the model, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from control.moves import Spin, Wave
from dalembert import DalembertError, ModelBuilder, control, elements, load
from tolerances import COMPUTED, DEFAULT_RUN, INTEGRATED, ITERATED

TIGHT = {"rtol": 1e-12, "atol": 1e-13}


@pytest.fixture(scope="module")
def arm():
    return load("2r").without("friction", "damping")


def error(run, move):
    return np.array([move.q(t) for t in run.t]) - run.q


@pytest.mark.parametrize("name", ["2r", pytest.param("ur5", marks=pytest.mark.long)])
def test_computed_torque_has_the_error_of_two_equal_poles(name) -> None:
    """From rest, e(t) = e₀ (1 + ω t) e^(−ω t), whatever the motion."""
    robot, w = load(name).without("friction", "damping"), 20.0
    move = Wave(np.linspace(-0.5, 0.4, robot.nq), np.full(robot.nq, 0.2), 3.0)
    e0 = np.linspace(0.1, -0.05, robot.nv)
    run = robot.simulate(move.q(0.0) - e0, np.zeros(robot.nv), 0.5, control.computed_torque(robot, move, w), **TIGHT)
    t = run.t[:, None]
    np.testing.assert_allclose(error(run, move), e0 * (1.0 + w * t) * np.exp(-w * t), atol=ITERATED)


def test_damping_below_one_rings_as_it_should(arm) -> None:
    w, zeta, e0 = 10.0, 0.5, np.array([0.1, -0.2])
    run = arm.simulate(-e0, np.zeros(2), 1.0, control.computed_torque(arm, [0.0, 0.0], w, zeta), **TIGHT)
    t, d = run.t[:, None], w * np.sqrt(1.0 - zeta**2)
    closed = e0 * np.exp(-zeta * w * t) * (np.cos(d * t) + zeta * w / d * np.sin(d * t))
    np.testing.assert_allclose(-run.q, closed, atol=ITERATED)


def test_a_ball_joint_is_followed_on_its_group() -> None:
    builder = ModelBuilder("head")
    builder.add_body("head", parent="world", joint="ball", mass=2.0, com=(0.02, 0.0, 0.1),
                     inertia=np.diag([0.02, 0.03, 0.01]))  # fmt: skip
    robot = builder.build()
    move = Spin(np.array([0.48, 0.6, 0.64]), 1.5)
    law = control.computed_torque(robot, move, 15.0)
    on_it = robot.simulate(move.q(0.0), np.zeros(3), 2.0, law, **TIGHT)
    off = [np.abs(robot.difference(q, move.q(t))).max() for q, t in zip(on_it.q, on_it.t, strict=True)]
    assert max(off) < ITERATED  # the reference is a solution, although body and reference turn
    start = robot.integrate(move.q(0.0), np.array([0.9, -0.6, 0.7]))
    back = robot.simulate(start, np.zeros(3), 2.0, law)
    assert np.abs(robot.difference(back.q[-1], move.q(2.0))).max() < INTEGRATED


@pytest.mark.parametrize("make", [control.gravity_pd, control.feedforward, control.passivity])
def test_a_configuration_is_held_without_an_error(arm, make) -> None:
    goal = np.array([0.7, -0.4])
    run = arm.simulate(goal + 0.2, np.zeros(2), 3.0, make(arm, goal))
    assert np.abs(run.q[-1] - goal).max() < DEFAULT_RUN
    assert not any("called back" in line for line in run.log)


def test_passivity_follows_a_fast_motion_to_nothing(arm) -> None:
    move = Wave([0.3, -0.2], [0.4, 0.5], 4.0)
    run = arm.simulate(move.q(0.0) + 0.1, np.zeros(2), 3.0, control.passivity(arm, move), record=0.02)
    assert np.abs(error(run, move)[-10:]).max() < INTEGRATED


def tracking(arm, law, move, duration=3.0):
    run = arm.simulate(move.q(0.0), np.zeros(2), duration, law, "rk4", 2e-3, record=0.02)
    return np.abs(error(run, move)).max()


def test_each_term_of_the_model_pays(arm) -> None:
    """Document 004: gravity compensation first, then inertia, then Coriolis; the last matters at speed only."""
    worst = {}
    for speed, w in (("slow", 0.5), ("fast", 6.0)):
        move = Wave([0.3, -0.2], [0.5, 0.6], w)
        laws = {
            "pd": control.feedforward(arm, move, inertial=False, coriolis=False, gravity=False),
            "gravity": control.gravity_pd(arm, move),
            "no C": control.feedforward(arm, move, coriolis=False),
            "all": control.feedforward(arm, move),
            "computed": control.computed_torque(arm, move),
        }
        worst[speed] = {name: tracking(arm, law, move) for name, law in laws.items()}
    slow, fast = worst["slow"], worst["fast"]
    assert slow["gravity"] < 0.2 * slow["pd"]  # gravity is most of what a slow arm needs
    assert fast["no C"] < 0.7 * fast["gravity"]
    assert slow["no C"] < 0.05 * 0.6  # below 5 % of the motion at 0.5 rad/s or less
    assert fast["no C"] > 20.0 * slow["no C"]  # C v grows with the square of the speed
    assert fast["all"] < INTEGRATED and fast["computed"] < INTEGRATED


def test_gains_come_from_a_class_and_end_at_the_ceiling(arm) -> None:
    law = control.computed_torque(arm, [0.0, 0.0], "cobot")
    np.testing.assert_allclose([law.frequency, law.damping], [[10.0, 10.0], [1.0, 1.0]])
    noted = control.computed_torque(arm, [0.0, 0.0], 20.0, resonance=12.0)
    assert "0.27 of its resonance" in noted.notes[0]
    with pytest.raises(DalembertError, match=r"joint '\w+': a bandwidth of 15.9 Hz .* expected at most a third"):
        control.computed_torque(arm, [0.0, 0.0], 100.0, resonance=12.0)
    sizing = arm.sizing(stiffness=100.0)
    lowest = min(row.resonance for row in sizing.rows)
    control.gravity_pd(arm, [0.0, 0.0], 2.0 * np.pi * lowest / 6.0, resonance=sizing)
    with pytest.raises(DalembertError, match="of its resonance"):
        control.gravity_pd(arm, [0.0, 0.0], 2.0 * np.pi * lowest / 2.0, resonance=sizing)
    with pytest.raises(DalembertError, match="no resonance"):
        control.gravity_pd(arm, [0.0, 0.0], resonance=arm.sizing())


def test_bad_input_is_named(arm) -> None:
    for make in (control.computed_torque, control.gravity_pd, control.feedforward, control.passivity):
        with pytest.raises(DalembertError, match=r"joint 'shoulder' .* no motor"):
            make(load("acrobot"), [0.0, 0.0])
    with pytest.raises(DalembertError, match="is a free base"):
        control.computed_torque(load("quadruped"), load("quadruped").neutral())
    with pytest.raises(DalembertError, match="closed loops"):
        control.computed_torque(load("four_bar"), load("four_bar").neutral())
    with pytest.raises(DalembertError, match="expected a motion"):
        control.computed_torque(arm, [0.0, 0.0, 0.0])
    with pytest.raises(DalembertError, match="expected a motion"):
        control.computed_torque(arm, [0.0, np.nan])
    with pytest.raises(DalembertError, match=r"frequency of joint .* is -1"):
        control.computed_torque(arm, [0.0, 0.0], -1.0)
    with pytest.raises(DalembertError, match="damping"):
        control.passivity(arm, [0.0, 0.0], 10.0, 0.5)
    with pytest.raises(DalembertError, match="class of gains"):
        control.computed_torque(arm, [0.0, 0.0], "cobbot")
    with pytest.raises(DalembertError, match=r"q\(t\) has shape \(3,\)"):
        control.computed_torque(arm, Wave([0.0] * 3, [0.0] * 3, 1.0))


def test_additions(arm) -> None:
    quiet = control.gravity_pd(arm, [0.3, 0.2])
    shaken = control.dither(arm, quiet, [0.5, 0.0], 40.0)
    t, q, v = 0.00625, np.array([0.1, 0.2]), np.array([0.3, -0.1])
    np.testing.assert_allclose(shaken(t, q, v) - quiet(t, q, v), [0.5, 0.0], atol=COMPUTED)
    most = load("2r").limits.effort
    cut = control.within_limits(arm, control.gravity_pd(arm, [0.3, 0.2], 1e4))
    assert np.all(np.abs(cut(0.0, q, v)) <= most)
    with pytest.raises(DalembertError, match="amplitude of joint"):
        control.dither(arm, quiet, -1.0)


def test_a_buffer_keeps_a_joint_from_its_limit() -> None:
    robot = load("panda").without("friction", "damping")
    middle = 0.5 * (robot.limits.lower + robot.limits.upper)
    joint = 3
    beyond = middle.copy()
    beyond[joint] = robot.limits.upper[joint] + 0.05
    law = control.gravity_pd(robot, beyond, 6.0)
    start = middle.copy()
    start[joint] = robot.limits.upper[joint] - 0.3
    free = robot.rollout(start, np.zeros(robot.nv), law, 1e-3, 1500, every=1)
    held = robot.rollout(start, np.zeros(robot.nv), control.limit_buffer(robot, law, 0.05, 60.0), 1e-3, 1500, every=1)
    assert free.q[:, joint].max() > robot.limits.upper[joint]
    assert held.q[:, joint].max() < robot.limits.upper[joint]
    same = control.limit_buffer(robot, law)(0.0, middle, np.zeros(robot.nv))
    np.testing.assert_array_equal(same, law(0.0, middle, np.zeros(robot.nv)))
    with pytest.raises(DalembertError, match="leaves no free way"):
        control.limit_buffer(robot, law, 10.0)


def test_torques_before_gears_undo_the_losses_of_the_motor(arm) -> None:
    """Of a motion that lifts and lets down, one gear worse than the other, without feedback; and in closed form."""
    move, shares = Wave(np.array([0.6, -0.4]), np.array([0.5, 0.7]), 6.0), np.array([0.6, 0.85])
    gears = [
        elements.Motor(joint.name, stall_torque=1e3, no_load_speed=1e4, efficiency=share)
        for joint, share in zip(arm.joints, shares, strict=True)
    ]

    def follow(t, q, v):
        return arm.inverse_dynamics(move.q(t), move.v(t), move.a(t))

    start = move.q(0.0), move.v(0.0), 0.6
    made_up = arm.simulate(*start, control.gear_losses(arm, follow, shares), elements=gears, **TIGHT)
    np.testing.assert_allclose(error(made_up, move), 0.0, atol=10 * DEFAULT_RUN)
    assert np.abs(error(arm.simulate(*start, follow, elements=gears, **TIGHT), move)).max() > 1e-2
    tau, speeds = np.array([3.0, 3.0, 3.0, -3.0]), np.array([1.0, -1.0, 0.0, -1.0])
    np.testing.assert_allclose(control.before_gears(tau, speeds, 0.6), [5.0, 1.8, 3.0, -5.0], rtol=COMPUTED)
    for share in (0.0, 1.1, np.nan):
        with pytest.raises(DalembertError, match="gear_losses: efficiency"):
            control.gear_losses(arm, follow, share)
