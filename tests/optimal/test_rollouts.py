"""Receding horizons inside compiled rollouts and steppers: the same motions as loops in Python, for whole batches."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, Sampled
from tolerances import COMPUTED, ITERATED, REACHED, SETTLED

STEP, EVERY, GOAL = 2e-3, 10, np.array([0.8, 0.5])
START, REST = np.array([0.3, -0.2]), np.zeros(2)
FOLLOWED = 0.02  # behind a goal that moves [rad]


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

    return robot.optimal_control(running, terminal, step=STEP * EVERY, nodes=25, goal=2, limits=limits)


def law(**options):
    return problem().receding(**{"goal": GOAL} | options)


def looped(law, steps, start=START, delay=0, every=EVERY):
    """States of a loop in Python, (steps, 2): the law every 20 ms, its answer `delay` steps later."""
    step, q, v, states = arm().stepper(STEP), start, REST, []
    answers = {}
    tau = np.zeros(2)
    for k in range(steps):
        if k % every == 0:
            answers[k + delay] = law(STEP * k, q, v)
        tau = answers.get(k, tau)
        q, v = step(q, v, tau)
        states.append(q)
    return np.array(states)


def starts(count):
    return START + 0.2 * np.random.default_rng(0).standard_normal((count, 2))


@pytest.mark.parametrize(
    ("iterations", "limits"),
    [
        (1, {}),
        (2, {"torque": 25.0}),
        *(pytest.param(*x, marks=pytest.mark.long) for x in ((1, {"torque": 25.0}), (2, {}))),
    ],
)
def test_a_rollout_is_the_loop_in_python(limits, iterations):
    def fresh():
        return problem(**limits).receding(iterations, goal=GOAL)

    planner = fresh()
    rollout = arm().rollout(START, REST, planner, STEP, 200, every=1)
    assert np.array_equal(rollout.q, looped(fresh(), 200))
    plans = round(200 * STEP * planner.rate)  # the first one is a whole solve
    assert planner.budget().startswith(f"{plans - 1} plans") and planner.budget().endswith("0 restarts")


def test_a_stepper_is_the_loop_in_python_and_forgets_nothing():
    step = arm().stepper(STEP, torque=law())
    q, v, memory = START, REST, step.start(START, REST)
    states, branch = [], None
    for k in range(120):
        if k == 47:
            branch = q, v, memory
        q, v, memory = step(q, v, memory)
        states.append(q)
    assert np.array_equal(states, looped(law(), 120))
    q, v, memory = branch  # all that is kept lies in the memory: going on from it gives the same again
    for _ in range(47, 120):
        q, v, memory = step(q, v, memory)
    assert np.array_equal(q, states[-1])


def test_batches_are_motions_of_their_own_on_any_threads():
    Q = starts(9)
    one, two = (arm().rollout(Q, REST, law(), STEP, 150, threads=n) for n in (1, 2))
    assert np.array_equal(one.q, two.q) and np.array_equal(one.v, two.v)
    shaped = arm().rollout(Q.reshape(3, 3, 2), REST, law(), STEP, 150)
    assert np.array_equal(shaped.q.reshape(9, 2), one.q)
    for k in (0, 5):
        alone = arm().rollout(Q[k], REST, law(), STEP, 150)
        assert np.allclose(alone.q, one.q[k], rtol=0.0, atol=COMPUTED)
    step = arm().stepper(STEP, torque=law())
    q, v, memory = Q, np.zeros((9, 2)), step.start(Q, np.zeros((9, 2)))
    for _ in range(150):
        q, v, memory = step(q, v, memory)
    assert np.allclose(q, one.q, rtol=0.0, atol=COMPUTED)


def test_each_motion_has_its_own_goal():
    goals = np.random.default_rng(1).uniform(-0.5, 0.5, (6, 2))
    rollout = arm().rollout(START, REST, problem().receding(), STEP, 600, parameters={"goal": goals})
    assert np.allclose(rollout.q, goals, atol=SETTLED)
    with pytest.raises(DalembertError, match=r"goal.*3 numbers"):
        arm().rollout(START, REST, law(), STEP, 10, parameters={"goal": np.zeros((6, 3))})


@pytest.mark.parametrize("delay", [3, 10, 14])
def test_answers_act_later(delay):
    late = Sampled(law(), STEP * EVERY, delay=STEP * delay)
    rollout = arm().rollout(START, REST, late, STEP, 100, every=1)
    assert np.array_equal(rollout.q, looped(law(), 100, delay=delay))
    step = arm().stepper(STEP, torque=late)
    q, v, memory = START, REST, step.start(START, REST)
    for _ in range(100):
        q, v, memory = step(q, v, memory)
    assert np.array_equal(q, rollout.q[-1])


def test_records_need_not_fall_on_plans():
    every_step = arm().rollout(START, REST, law(), STEP, 105, every=1)
    some = arm().rollout(START, REST, law(), STEP, 105, every=7)
    assert np.array_equal(some.q, every_step.q[6::7]) and np.allclose(some.t, every_step.t[6::7])


def test_other_controllers_take_what_is_planned():
    """A plan at 50 Hz, and inside the compiled step a law at 500 Hz that follows its next state."""
    robot = arm()
    plan = Sampled(law(answer=lambda q_next, v_next, u: np.array([q_next, v_next, u])), STEP * EVERY)

    def follow(t, q, v, plan):
        return plan[2] + 5.0 * (plan[0] - q) + 0.5 * (plan[1] - v)

    follower = Sampled(follow, STEP, state=(), inputs={"plan": plan})
    rollout = robot.rollout(START, REST, follower, STEP, 400, every=1)
    assert np.allclose(rollout.q[-1], GOAL, atol=REACHED)
    run = robot.simulate(START, REST, 0.8, follower, step=STEP, integrator="semi-implicit", record=STEP)
    assert np.allclose(run.q[1:], rollout.q, rtol=0.0, atol=ITERATED)
    assert any("rollout" in line for line in run.log)


def test_parameters_may_be_functions_of_time():
    def goal(t):
        return np.array([0.3 + 0.2 * t, -0.2 + 0.1 * t])

    rollout = arm().rollout(START, REST, problem().receding(2, goal=goal), STEP, 1000)
    assert np.allclose(rollout.q, goal(2.0), atol=FOLLOWED)
    with pytest.raises(DalembertError, match="goal"):
        problem().receding(goal=lambda t: np.zeros(3))


def test_single_precision_and_events():
    q = START.astype(np.float32)
    rollout = arm().rollout(q, np.zeros(2, np.float32), law(), STEP, 400)
    assert rollout.q.dtype == np.float32 and np.allclose(rollout.q, GOAL, atol=REACHED)
    passing = dalembert.Event("half way", lambda t, q, v: q[0] - 0.55, direction=1)
    watched = arm().rollout(starts(3), REST, law(), STEP, 400, events=(passing,))
    assert np.all((watched.events > 0.0) & (watched.events < 0.5))


def test_what_a_planner_cannot_do_is_refused():
    plan = Sampled(law(), STEP * EVERY)
    with pytest.raises(DalembertError, match="no slopes"):
        arm().rollout_gradient(lambda t, q, v: q[0], START, REST, plan, STEP, 20)
    with pytest.raises(DalembertError, match="takes no inputs"):
        arm().rollout(START, REST, Sampled(law(), STEP * EVERY, inputs={"goal": plan}), STEP, 20)
    with pytest.raises(DalembertError, match="multiple of the step"):
        arm().rollout(START, REST, law(rate=300.0), STEP, 20)
    with pytest.raises(DalembertError, match="'goal' has no value"):
        arm().rollout(START, REST, problem().receding(), STEP, 20)
    with pytest.raises(DalembertError, match="answer takes 'speed'"):
        law(answer=lambda speed: speed)


def test_a_simulation_may_be_run_again():
    same = law()
    first, second = (arm().simulate(START, REST, 0.1, same, step=STEP).q for _ in range(2))
    assert np.array_equal(first, second)
