"""Contacts with given phases: a planar leg that stands, jumps and lands; slopes of all stages against differences."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, optimal
from tolerances import ITERATED, OPTIMAL, ROUGH_SLOPE, SOLVER_DEFAULT

WEIGHT = 0.05  # of the mean force on the ground: the body also speeds up
ONE_STEP = 0.02  # of speeds: the order of a step of 20 ms [m/s]
FOOT = 2e-3  # what a foot in stance may drift [m]

MASS, LINK, G = 4.0, 0.3, 9.81
FRICTION = 0.6


@cache
def leg():
    """A trunk that moves in the x-z plane without turning, and a leg of two links with a point foot."""
    b = dalembert.ModelBuilder("leg", gravity=(0, 0, -G))
    b.add_body("slide", parent="world", joint="prismatic", joint_name="x", axis=(1, 0, 0), mass=1e-3)
    b.add_body("trunk", parent="slide", joint="prismatic", joint_name="z", axis=(0, 0, 1), mass=MASS)
    for name, parent, joint in (("thigh", "trunk", "hip"), ("shank", "thigh", "knee")):
        offset = (0, 0, 0) if joint == "hip" else (0, 0, -LINK)
        b.add_body(
            name,
            parent=parent,
            joint="revolute",
            joint_name=joint,
            axis=(0, 1, 0),
            xyz=offset,
            mass=0.3,
            com=(0, 0, -LINK / 2),
            inertia=np.diag([0.003, 0.003, 0.0005]),
        )
    b.add_frame("foot", body="shank", xyz=(0, 0, -LINK))
    return b.build()


def crouch(angle=0.6):
    """Standing on the origin with a bent knee."""
    q = np.array([0.0, 0.0, angle, -2 * angle])
    q[:2] = -leg().pose(q, "foot")[[0, 2], 3]
    return q


TOTAL = MASS + 0.6 + 1e-3
SIZE = {"step": 0.02, "nodes": 40, "motors": ("hip", "knee"), "contacts": ("foot",)}


@cache
def standing():
    robot, q0 = leg(), crouch()
    return robot.optimal_control(
        lambda q, v, u: {"posture": (1.0, q - q0), "rate": (0.1, v), "effort": (1e-3, u)},
        lambda q, v: {"posture": (1.0, q - q0), "rate": (1.0, v)},
        **{**SIZE, "nodes": 20},
    )


def jump():
    """Stand, fly, land: the schedule of stances and the impact."""
    stance, impact = np.ones((41, 1)), np.zeros((41, 1))
    stance[15:27] = 0.0
    impact[27] = 1.0
    return {"stance": stance, "impact": impact}


@cache
def jumping():
    robot, q0 = leg(), crouch()

    def running(q, v, u):
        return {"posture": (1.0, q[2:] - q0[2:]), "rate": (1e-2, v), "effort": (1e-3, u)}

    def cone(q, v, u, force, stance):
        f = force["foot"]
        pushes = np.array([f[2], FRICTION * f[2] - f[0], FRICTION * f[2] + f[0]], object)
        return {"friction": stance[0] * pushes + (1.0 - stance[0])}

    return robot.optimal_control(
        running,
        lambda q, v: {"posture": (1e2, q[2:] - q0[2:]), "rest": (1e2, v)},
        impact=lambda q, v: {"soft": (1e-3, v)},
        constraints=cone,
        terminal_constraints=lambda q, v: {
            "place": optimal.Equal(robot.pose(q, "foot")[[0, 2], 3] - np.array([0.15, 0.0]))
        },
        **SIZE,
    )


@cache
def jumped():
    return jumping().solve(crouch(), **jump())


def test_standing_takes_the_weight():
    plan = standing().solve(crouch(), stance=[1.0])
    assert plan.converged and plan.violation < SOLVER_DEFAULT
    foot = leg().pose(plan.q, "foot")[:, :3, 3]
    assert np.allclose(foot, foot[0], atol=10 * OPTIMAL)
    tau = plan.tau
    assert not tau[:, :2].any()  # no motor moves the trunk
    a = np.diff(plan.v, axis=0) / 0.02
    missing = leg().inverse_dynamics(plan.q[:-1], plan.v[:-1], a) - tau
    J = leg().jacobian(plan.q[:-1], "foot")[:, 3:]
    force = np.array([np.linalg.lstsq(j.T, m, rcond=None)[0] for j, m in zip(J, missing, strict=True)])
    assert np.allclose(np.einsum("kij,ki->kj", J, force), missing, atol=OPTIMAL)  # the foot's force explains the motion
    assert np.mean(force[:, 2]) == pytest.approx(TOTAL * G, rel=WEIGHT)


def test_a_jump_flies_freely_and_lands():
    plan, robot = jumped(), leg()
    assert plan.converged and plan.violation < 10 * SOLVER_DEFAULT
    com = np.array(robot.center_of_mass(plan.q))
    J = np.array(robot.center_of_mass_jacobian(plan.q))
    rate = np.einsum("kij,kj->ki", J, plan.v)
    in_flight = rate[16:27]
    assert np.allclose(np.diff(in_flight[:, 2]), -G * 0.02, atol=ONE_STEP)  # nothing but gravity, to the step's order
    assert np.allclose(np.diff(in_flight[:, 0]), 0.0, atol=ONE_STEP)
    foot = robot.pose(plan.q, "foot")[:, :3, 3]
    assert np.allclose(foot[:16, 2], 0.0, atol=FOOT) and np.max(foot[16:27, 2]) > 0.005
    assert foot[-1, 0] == pytest.approx(0.15, abs=OPTIMAL) and com[-1, 0] > 0.05
    speed = robot.velocity(plan.q[28], plan.v[28], "foot")[3:]
    assert np.allclose(speed, 0.0, atol=OPTIMAL)  # the impact stops the foot
    assert np.allclose(plan.q[28], plan.q[27], atol=ITERATED)  # and takes no time
    assert plan.t[28] == plan.t[27] and plan.t[-1] == pytest.approx(39 * 0.02)


def test_forces_stay_in_the_friction_cone():
    plan, robot = jumped(), leg()
    stands = [k for k in range(40) if k not in range(15, 28)]
    a = (plan.v[1:] - plan.v[:-1]) / 0.02
    missing = np.array(robot.inverse_dynamics(plan.q[:-1], plan.v[:-1], a)) - plan.tau
    J = np.array(robot.jacobian(plan.q[:-1], "foot"))[:, 3:]
    force = np.array([np.linalg.lstsq(J[k].T, missing[k], rcond=None)[0] for k in stands])
    assert np.all(force[:, 2] > -OPTIMAL)
    assert np.all(np.abs(force[:, 0]) <= FRICTION * force[:, 2] + 10 * OPTIMAL)


def free_flyer(integrator):
    robot = dalembert.load("quadrotor")
    problem = robot.optimal_control(
        lambda q, v, u: {"rate": (0.1, v), "effort": (1e-3, u), "place": (1.0, q[:3])},
        lambda q, v: {"rest": (1.0, v)},
        step=0.02,
        nodes=5,
        actuation=lambda q, v, u: np.array([u[0], u[1], u[2], 0.0, 0.0, u[3]], object),
        control_count=4,
        integrator=integrator,
    )
    return problem, robot.random(np.random.default_rng(0)), {}


PROBLEMS = {
    "contact": lambda: (jumping(), crouch(), jump()),
    "manifold": lambda: free_flyer("midpoint"),
    "chained manifold": lambda: free_flyer("semi-implicit"),
}


@pytest.mark.parametrize("kind", PROBLEMS)
def test_slopes_are_those_of_differences(kind):
    problem, q0, data = PROBLEMS[kind]()
    robot, layout, rng = problem.robot, problem.layout, np.random.default_rng(1)
    solver, n = optimal.solver.Solver(problem), problem.robot.nv
    v0 = 0.3 * rng.standard_normal(n)
    solver.begin(q0, v0, problem.arguments.values(data), None)
    noise = rng.standard_normal((problem.nodes, problem.motion.controls))
    solver.w[0][:] += 1e-3 * noise if "manifold" in kind else noise
    q, v, w = solver.q[0].copy(), solver.v[0].copy(), solver.w[0].copy()

    def stages():
        solver.side = 0
        solver.start()
        transitions = layout.transitions(solver.direction.transition.copy())
        return transitions, solver.measures[0][:, 0].copy(), solver.slope_x.copy(), solver.slope_w.copy()

    (A, B, _), _, slope_x, slope_w = stages()
    transition = np.concatenate([A, B], axis=2)
    slopes = np.hstack([slope_x[:-1][:, list(layout.columns)], slope_w[:-1][:, : layout.controls]])
    nodes = range(0, problem.nodes, max(1, problem.nodes // 13))
    for i in range(2 * n + layout.controls):
        h = 1e-6
        ends = []
        for sign in (h, -h):
            solver.q[0][:], solver.v[0][:], solver.w[0][:] = q, v, w
            change = np.zeros(2 * n + layout.controls)
            change[i] = sign
            for k in nodes:
                solver.q[0][k] = robot.integrate(q[k], change[:n])
                solver.v[0][k] = v[k] + change[n : 2 * n]
                solver.w[0][k] = w[k] + change[2 * n :]
            ends.append(stages())
        for k in nodes:
            if k + 1 in nodes:
                continue
            gap = (ends[0][0][2][k] - ends[1][0][2][k]) / (2 * h)
            assert np.allclose(gap, transition[k][:, i], rtol=10 * OPTIMAL, atol=2 * OPTIMAL), (k, i)
            cost = (ends[0][1][k] - ends[1][1][k]) / (2 * h)
            assert np.isclose(cost, slopes[k, i], rtol=ROUGH_SLOPE, atol=OPTIMAL), (k, i)


def test_bad_contacts():
    running = lambda q, v, u: {"effort": (1.0, u)}  # noqa: E731
    for options, words in (
        ({"contacts": ("hand",)}, "hand"),
        ({"contacts": {"foot": 4}}, "3"),
        ({"integrator": "rk4"}, "semi-implicit"),
        ({"contacts": (), "impact": lambda q, v: {}}, "contacts"),
    ):
        with pytest.raises(DalembertError, match=words):
            leg().optimal_control(running, **(SIZE | options))
    with pytest.raises(DalembertError, match="stance"):
        standing().solve(crouch())
