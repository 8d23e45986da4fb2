"""Receding horizons in closed loop: with an inexact model and noise, within limits, to goals that change."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError
from tolerances import REACHED

SLOW = 0.01  # speed left 2 s after the start [rad/s]
OTHER_MASS = 0.1  # offset under a payload that the law does not know [rad]
NOISY = 0.2  # speed under noise in the state [rad/s]
FOLLOWED = 0.02  # behind a goal that moves, or with limited torques [rad]
BETWEEN = 0.05  # beyond a wall, where the steps of plans are five of the run [m]
SAMPLED = 0.05  # 1 s after the start, with a torque that is held for 10 ms [rad]
LATE = 0.02  # of the plan's torques, five nodes later
LATE_TORQUE = 0.2  # the same, for small torques [N·m]
RESET = 0.01  # after a reset: the iteration begins elsewhere [N·m]


@cache
def arm():
    return dalembert.load("2r").without("friction")


@cache
def problem(**limits):
    robot = arm()

    def running(q, v, u, goal):
        return {"rate": (1e-2, v), "effort": (1e-5, u - robot.gravity(q)), "goal": (10.0, q - goal)}

    def terminal(q, v, goal):
        return {"goal": (1e2, q - goal), "rest": (1.0, v)}

    return robot.optimal_control(running, terminal, step=0.02, nodes=25, goal=2, limits=limits)


def closed_loop(law, plant, q, duration, period=2e-3, noise=0.0, goal=None):
    rng, v, torques = np.random.default_rng(0), np.zeros(2), []
    step = plant.stepper(period)
    for k in range(round(duration / period)):
        measured = q + noise * rng.standard_normal(2), v + 10 * noise * rng.standard_normal(2)
        torques.append(law(k * period, *measured, **({} if goal is None else {"goal": goal(k * period)})))
        q, v = step(q, v, torques[-1])
    return q, v, np.array(torques)


def test_reaches_the_goal_of_an_exact_model():
    goal = np.array([0.8, 0.5])
    q, v, _ = closed_loop(problem().receding(goal=goal), arm(), np.array([0.3, -0.2]), 2.0)
    assert np.allclose(q, goal, atol=REACHED) and np.allclose(v, 0.0, atol=SLOW)


def test_stays_near_the_goal_with_another_mass_and_noise():
    goal = np.array([0.8, 0.5])
    plant = arm().edit().payload(0.2, frame="tool").done()
    law = problem().receding(rate=500.0, goal=goal)
    q, v, _ = closed_loop(law, plant, np.array([0.3, -0.2]), 2.0, noise=1e-4)
    assert np.allclose(q, goal, atol=OTHER_MASS) and np.allclose(v, 0.0, atol=NOISY)
    assert law.restarts == 0
    assert "999 plans" in law.budget() and "500 Hz" in law.budget()


def test_torque_limits_are_kept_in_closed_loop():
    goal, limit = np.array([0.8, 0.5]), 25.0
    law = problem(torque=limit).receding(goal=goal)
    q, _, torques = closed_loop(law, arm(), np.array([0.3, -0.2]), 2.0)
    assert np.max(np.abs(torques)) <= limit
    assert np.max(np.abs(torques)) > 0.9 * limit
    assert np.allclose(q, goal, atol=FOLLOWED)


def test_follows_a_goal_that_moves():
    law = problem().receding(iterations=2)
    q, _, _ = closed_loop(
        law, arm(), np.array([0.3, -0.2]), 2.0, goal=lambda t: [0.3 + 0.2 * t, -0.2 + 0.1 * min(t, 1.0)]
    )
    assert np.allclose(q, [0.7, -0.1], atol=FOLLOWED)


def test_drives_a_simulation():
    goal = np.array([0.8, 0.5])
    law = problem().receding(goal=goal)
    run = arm().simulate([0.3, -0.2], [0.0, 0.0], 1.0, torque=dalembert.Sampled(law, 0.01))
    assert np.allclose(run.q[-1], goal, atol=SAMPLED)


def test_many_steps_may_pass_between_calls():
    goal = np.array([0.8, 0.5])
    law = problem().receding(goal=goal)
    plan = problem().solve([0.3, -0.2], goal=goal)
    law(0.0, [0.3, -0.2], [0.0, 0.0])
    late = law(5 * 0.02, plan.q[5], plan.v[5])
    assert np.allclose(late, plan.u[5], rtol=LATE, atol=LATE_TORQUE)
    assert np.isfinite(law(10.0, plan.q[-1], plan.v[-1])).all()
    law.reset()
    assert np.allclose(law(3.0, [0.3, -0.2], [0.0, 0.0]), plan.u[0], atol=RESET)


def test_bad_calls():
    with pytest.raises(DalembertError, match="goal"):
        problem().receding()(0.0, [0.3, -0.2], [0.0, 0.0])
    with pytest.raises(DalembertError, match="aim"):
        problem().receding(aim=3)
    for rate in (0, "fast", np.nan):
        with pytest.raises(DalembertError, match="rate"):
            problem().receding(rate=rate)
    law = problem().receding(goal=[0.8, 0.5])
    law(0.0, [0.3, -0.2], [0.0, 0.0])
    with pytest.raises(DalembertError, match="nan"):
        law(0.01, [0.3, np.nan], [0.0, 0.0])
    with pytest.raises(DalembertError, match="t is nan"):
        law(np.nan, [0.3, -0.2], [0.0, 0.0])
    with pytest.raises(DalembertError, match=r"q has shape \(3,\)"):
        law(0.01, [0.3, -0.2, 0.0], [0.0])
    assert np.isfinite(law(0.02, [0.3, -0.2], [0.0, 0.0])).all()


def standing_leg():
    builder = dalembert.ModelBuilder("leg", gravity=(0, 0, -9.81))
    builder.add_body("slide", parent="world", joint="prismatic", joint_name="x", axis=(1, 0, 0), mass=1e-3)
    builder.add_body("trunk", parent="slide", joint="prismatic", joint_name="z", axis=(0, 0, 1), mass=4.0)
    rod = {"mass": 0.3, "com": (0, 0, -0.15), "inertia": np.diag([0.003, 0.003, 0.0005]), "axis": (0, 1, 0)}
    builder.add_body("thigh", parent="trunk", joint="revolute", joint_name="hip", **rod)
    builder.add_body("shank", parent="thigh", joint="revolute", joint_name="knee", xyz=(0, 0, -0.3), **rod)
    builder.add_frame("foot", body="shank", xyz=(0, 0, -0.3))
    robot, stands = builder.build(), np.array([0.0, 0.0, 0.6, -1.2])
    stands[:2] = -robot.pose(stands, "foot")[[0, 2], 3]
    return robot, stands


def test_a_leg_stands_by_receding_plans_without_naming_impacts():
    robot, stands = standing_leg()
    problem = robot.optimal_control(
        lambda q, v, u, force: {"posture": (10.0, q - stands), "speed": (1e-1, v), "effort": (1e-3, u)},
        lambda q, v: {"posture": (10.0, q - stands), "rest": (1.0, v)},
        step=0.02,
        nodes=10,
        motors=("hip", "knee"),
        contacts=("foot",),
    )
    law = problem.receding(stance=[1.0])
    tau = law(0.0, stands, np.zeros(4))
    again = law(0.005, stands + np.array([0.0, 0.0, 0.01, 0.0]), np.zeros(4))
    assert tau.shape == (4,) and np.all(tau[:2] == 0.0) and np.isfinite(again).all()
    assert law.restarts == 0


def test_a_panda_reaches_at_1_khz_with_an_unknown_load_and_noise():
    robot = dalembert.load("panda").without("friction")
    start = np.array([0, -0.5, 0, -2.0, 0, 1.6, 0.8])
    goal = robot.pose(start, "panda_hand")[:3, 3] + [0.1, 0.15, -0.1]

    def running(q, v, u, goal):
        reach = robot.pose(q, "panda_hand")[:3, 3] - goal
        return {
            "rate": (1e-2, v),
            "posture": (1e-2, q - start),
            "effort": (1e-5, u - robot.gravity(q)),
            "reach": (50.0, reach),
        }

    def terminal(q, v, goal):
        return {"reach": (1e3, robot.pose(q, "panda_hand")[:3, 3] - goal), "rest": (1.0, v)}

    problem = robot.optimal_control(running, terminal, step=0.04, nodes=16, goal=3, limits=("torque",))
    law = problem.receding(rate=1000.0, goal=goal)
    plant = robot.edit().payload(0.3, frame="panda_hand").done()
    step, rng, q, v = plant.stepper(1e-3), np.random.default_rng(0), start, np.zeros(7)
    for k in range(1200):
        tau = law(1e-3 * k, q + 1e-5 * rng.standard_normal(7), v + 1e-3 * rng.standard_normal(7))
        assert np.all(np.abs(tau) <= robot.limits.effort)
        q, v = step(q, v, tau)
    assert np.linalg.norm(robot.pose(q, "panda_hand")[:3, 3] - goal) < 0.02
    assert law.restarts == 0


def walled(walls):
    """A slide that is drawn to 1 m, at rest at the end of each plan."""
    builder = dalembert.ModelBuilder("slide")
    builder.add_body("cart", parent="world", joint="prismatic", axis=(1, 0, 0), mass=2.0)
    robot = builder.build()
    return robot, robot.optimal_control(
        lambda q, v, u: {"effort": (1e-4, u), "goal": (1.0, q - 1.0)}, lambda q, v: {"rest": (1e3, v)},
        step=0.05, nodes=20, constraints=walls, limits={"torque": 20.0},
    )  # fmt: skip


def test_plans_that_cannot_keep_constraints_are_told():
    """A problem without a solution gave torques of any size without a word."""
    robot, problem = walled(lambda q, v, u: {"wall": 0.5 - q[0], "other": q[0] - 0.7})
    law = problem.receding()
    with pytest.warns(
        UserWarning, match=r"receding: no plan was found that keeps all constraints, the first at t = 0 s"
    ):
        law(0.0, [0.0], [0.0])
    law(0.05, [0.0], [0.0])
    assert law.missed == 2 and "2 keep not all constraints" in law.budget()
    law.reset()
    assert law.missed == 0 and not law.remarks()
    with pytest.warns(UserWarning, match="no plan was found"):
        run = robot.simulate([0.0], [0.0], 0.5, torque=problem.receding(), integrator="semi-implicit", step=0.01)
    assert any(line.startswith("receding: 10 plans keep not all constraints, the first at t = 0 s") for line in run.log)
    with pytest.warns(UserWarning, match="no plan was found"):
        robot.rollout([[0.0], [0.2]], [0.0], law, 0.01, 20)
    assert law.missed >= 4


def test_a_measured_state_beyond_a_constraint_is_told():
    """The plans keep the wall at their nodes; between them the run crosses it, and is measured beyond it."""
    robot, problem = walled(lambda q, v, u: {"wall": 0.5 - q[0]})
    law = problem.receding()
    with pytest.warns(UserWarning, match="the measured state violates constraint 'wall' by 0.0"):
        run = robot.simulate([0.0], [0.0], 3.0, torque=law, integrator="semi-implicit", step=0.01)
    beyond = np.count_nonzero(run.q[::5, 0] > 0.51)
    assert 0 < law.missed <= beyond and any("receding:" in line for line in run.log)
    assert run.q.max() < 0.5 + BETWEEN and run.q[-1, 0] > 0.5 - FOLLOWED


def test_plans_that_keep_constraints_are_silent():
    robot, problem = walled(lambda q, v, u: {"wall": 1.5 - q[0]})
    law = problem.receding()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = robot.simulate([0.0], [0.0], 3.0, torque=law, integrator="semi-implicit", step=0.01)
    assert law.missed == 0 and not any("receding:" in line for line in run.log)
