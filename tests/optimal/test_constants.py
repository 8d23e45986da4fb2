"""What the plan chooses beside states and controls: parameters, durations, the start."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, ModelBuilder, optimal
from tolerances import OPTIMAL, REACHED, SOLVER_DEFAULT

AS_GIVEN = 1e-4  # rad: a law solves its first plan to a part of 1e-6 of the cost
DIFFERENT = 0.01  # rad


def cart(mass=2.0):
    builder = ModelBuilder("cart")
    builder.add_body("cart", parent="world", joint="prismatic", joint_name="x", axis=(1, 0, 0), mass=mass)
    return builder.build()


def fastest(**options):
    return cart().optimal_control(
        lambda q, v, u: {"smooth": (1e-6, u)},
        lambda q, v, T: {"time": 1.0 * T[0]},
        step=lambda T: T[0] / 40,
        nodes=40,
        T=1,
        unknowns=("T",),
        limits={"torque": 4.0},
        terminal_constraints=lambda q, v, T: {
            "there": optimal.Equal(q - 1.0),
            "still": optimal.Equal(v),
            "ahead": T - 0.1,
        },
        **options,
    )


def test_the_shortest_time_is_that_of_full_force_forth_and_back():
    plan = fastest().solve([0.0], T=2.0)
    assert plan.converged
    assert plan.unknowns["T"][0] == pytest.approx(2.0 * np.sqrt(1.0 / 2.0), rel=OPTIMAL)  # a = 4 N / 2 kg over 1 m
    assert plan.t[-1] == pytest.approx(plan.unknowns["T"][0])
    assert np.allclose(plan.u[:19], 4.0, atol=REACHED) and np.allclose(plan.u[-19:], -4.0, atol=REACHED)


def test_phases_may_have_durations_of_their_own():
    problem = cart(1.0).optimal_control(
        lambda q, v, u, phase: {"effort": (1.0, u)},
        lambda q, v, T: {"first": (10.0, T[0] - 0.5), "second": (1e-3, T[1])},
        step=lambda T, phase: (phase[0] * T[0] + phase[1] * T[1]) / 10,
        nodes=20,
        T=2,
        phase=2,
        unknowns=("T",),
        terminal_constraints=lambda q, v, T: {"there": optimal.Equal(q - 1.0), "ahead": T - 0.1, "short": 3.0 - T},
    )
    phase = np.repeat([[1.0, 0.0], [0.0, 1.0]], [10, 11], axis=0)
    plan = problem.solve([0.0], T=[1.0, 1.0], phase=phase)
    assert plan.converged and plan.unknowns["T"].shape == (2,)
    assert np.allclose(plan.durations, np.repeat(plan.unknowns["T"] / 10, 10))
    assert plan.unknowns["T"][1] > 2.9  # nothing speaks for haste


def test_a_periodic_motion_finds_its_start():
    builder = ModelBuilder("pendulum")
    builder.add_body(
        "rod", parent="world", joint="revolute", joint_name="swing", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5)
    )
    robot, nodes = builder.build(), 80
    problem = robot.optimal_control(
        lambda q, v, u: {"effort": (1.0, u)},
        step=lambda T: T[0] / nodes,
        nodes=nodes,
        T=1,
        unknowns=("T",),
        free_start=True,
        terminal_constraints=lambda q, v, start_q, start_v: {
            "again": optimal.Equal(np.concatenate([q - start_q, v - start_v])),
            "far": optimal.Equal(start_q - 0.3),
            "turning": optimal.Equal(start_v),
        },
        integrator="rk4",
    )
    times = np.linspace(0.0, 1.4, nodes + 1)[:, None]
    guess = 0.3 * np.cos(2 * np.pi / 1.4 * times), -0.3 * 2 * np.pi / 1.4 * np.sin(2 * np.pi / 1.4 * times)
    plan = problem.solve([0.25], [0.1], guess=(*guess, np.zeros((nodes, 1))), T=1.4)
    period = 2 * np.pi * np.sqrt(0.5 / 9.81) * (1.0 + 0.3**2 / 16 + 11 * 0.3**4 / 3072)
    assert plan.converged and plan.cost < SOLVER_DEFAULT  # by itself it needs no effort
    assert plan.q[0, 0] == pytest.approx(0.3, abs=OPTIMAL) and plan.q[-1, 0] == pytest.approx(0.3, abs=OPTIMAL)
    assert plan.unknowns["T"][0] == pytest.approx(period, rel=10 * OPTIMAL)


@pytest.mark.parametrize("limits", [{}, {"torque": 25.0}])
def test_a_receding_law_keeps_what_the_first_solve_has_chosen(limits):
    robot, start, rest = dalembert.load("2r"), np.array([0.3, -0.2]), np.zeros(2)

    def running(q, v, u, aim):
        return {"posture": (1.0, q - aim), "effort": (1e-3, u - robot.gravity(q)), "speed": (0.1, v)}

    def terminal(q, v, aim):
        return {"aim": (1.0, aim - np.array([0.9, 0.4])), "posture": (20.0, q - aim)}

    def problem(**options):
        return robot.optimal_control(running, terminal, step=0.02, nodes=20, limits=limits, aim=2, **options)

    choosing = problem(unknowns="aim")
    best = choosing.solve(start, aim=[0.0, 0.0]).unknowns["aim"]
    assert np.abs(best - [0.9, 0.4]).min() > DIFFERENT  # a compromise
    kept = choosing.receding(aim=[0.0, 0.0])
    kept(0.0, start, rest)
    given = problem().receding(aim=kept.plan.unknowns["aim"])
    step, motions = robot.stepper(1e-3), {kept: (start, rest), given: (start, rest)}
    for k in range(300):
        for law, (q, v) in motions.items():
            motions[law] = step(q, v, law(1e-3 * k, q, v))
    assert np.allclose(motions[kept][0], motions[given][0], rtol=0.0, atol=AS_GIVEN)
    assert np.abs(motions[kept][0] - start).max() > 0.2 and kept.restarts == 0
    assert np.allclose(kept.plan.unknowns["aim"], best, rtol=0.0, atol=AS_GIVEN)
    planner = choosing.receding(rate=1000.0, aim=[0.0, 0.0])
    rollout = robot.rollout(np.tile(start, (3, 1)), np.zeros((3, 2)), planner, 1e-3, 300)
    assert np.allclose(rollout.q, motions[kept][0], rtol=0.0, atol=AS_GIVEN)


def test_bad_constants():
    running = lambda q, v, u: {"effort": (1.0, u)}  # noqa: E731
    with pytest.raises(DalembertError, match="D"):
        cart().optimal_control(running, step=0.1, nodes=5, unknowns=("D",), T=1)
    with pytest.raises(DalembertError, match="free_start"):
        cart().optimal_control(running, step=0.1, nodes=5, free_start="yes")
    with pytest.raises(DalembertError, match="start_q"):
        cart().optimal_control(running, lambda q, v, start_q: {"home": (1.0, q - start_q)}, step=0.1, nodes=5)
    with pytest.raises(DalembertError, match="step= a number, without free_start="):
        fastest().receding()
    with pytest.raises(DalembertError, match="one value for all nodes"):
        fastest().solve([0.0], T=np.ones((41, 1)))
    with pytest.raises(DalembertError, match="step is -"):
        fastest().solve([0.0], T=-1.0)
