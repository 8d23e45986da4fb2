"""Planning for legs: gait clock, footsteps, swings, and the centroidal program on a rigid body that trots."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from dalembert import DalembertError, control, load
from dalembert.control import gait
from dalembert.control.centroidal import FORCE
from dalembert.linear import solve_quadratic
from dalembert.spatial import so3
from tolerances import ACCUMULATED, COMPUTED, CONVERGED, ITERATED, OPTIMAL, REACHED

SAMPLED = 0.01  # of a share of time that is counted in 1001 samples
EVEN = 0.02  # the plan weighs forces: it carries the weight to 2 %
SPEED = 0.05  # of the mean speed of a gait

MASS, INERTIA = 12.0, np.diag([0.07, 0.30, 0.32])
HIPS = np.array([[0.2, 0.13, 0.0], [0.2, -0.13, 0.0], [-0.2, 0.13, 0.0], [-0.2, -0.13, 0.0]])
HEIGHT = 0.3


def test_the_clock_of_a_trot():
    trot = gait.trot(0.5)
    np.testing.assert_array_equal(trot.stands(0.1), [True, False, False, True])
    np.testing.assert_array_equal(trot.stands(0.3), [False, True, True, False])
    assert trot.stands(np.linspace(0.0, 5.0, 1001)).mean() == pytest.approx(0.5, abs=SAMPLED)
    assert trot.swung(0.25 + 0.125)[0] == pytest.approx(0.5)
    np.testing.assert_array_equal(trot.schedule(0.0, 10, 0.05).sum(axis=1), 2)
    assert gait.walk().stands(np.linspace(0.0, 0.8, 200)).sum(axis=1).min() >= 3
    assert gait.stand().stands(3.3).all()


def test_steps_and_swings():
    at_speed = gait.footstep([1.0, 0.2, 0.3], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], 0.25, 0.3)
    np.testing.assert_allclose(at_speed, [1.125, 0.2, 0.0])
    pushed = gait.footstep([1.0, 0.2, 0.3], [1.0, 0.5, 0.0], [1.0, 0.0, 0.0], 0.25, 0.3)
    assert pushed[1] > 0.2 + 0.125 * 0.5
    way = gait.swing([0.0, 0.0, 0.0], [0.2, 0.0, 0.05], 0.06, 0.25)
    np.testing.assert_allclose(
        way.q([0.0, 0.125, 0.25]), [[0, 0, 0], [0.1, 0.0, 0.11], [0.2, 0.0, 0.05]], atol=COMPUTED
    )
    np.testing.assert_allclose(way.v([0.0, 0.25]), 0.0, atol=COMPUTED)
    assert way.extremes(0).least[2] > -ITERATED  # never below the ground


def test_two_feet_carry_the_weight():
    program = control.centroidal(mass=MASS, inertia=INERTIA)
    still = np.zeros(12)
    still[5] = HEIGHT
    contacts = np.tile([True, False, False, True], (10, 1))
    plan = program.plan(still, np.tile(still, (10, 1)), HIPS, contacts)
    np.testing.assert_allclose(plan.forces[0, [0, 3], 2], 58.86, rtol=EVEN)
    assert not plan.forces[:, [1, 2]].any()
    np.testing.assert_allclose(plan.states, still[None].repeat(10, axis=0), atol=REACHED)


def test_forces_stay_within_the_cone_and_the_optimum_is_one():
    rng = np.random.default_rng(0)
    program = control.centroidal(mass=MASS, inertia=INERTIA, most=100.0)
    state = np.concatenate([0.1 * rng.normal(size=3), [0.0, 0.0, HEIGHT], rng.normal(size=3), rng.normal(size=3)])
    goal = np.zeros((10, 12))
    goal[:, 5], goal[:, 9] = HEIGHT, 1.0
    contacts = gait.trot(0.5).schedule(0.0, 10, 0.05)
    forces = program.plan(state, goal, HIPS, contacts).forces
    sideways, normal = np.linalg.norm(forces[..., :2], axis=-1), forces[..., 2]
    assert np.all(sideways <= 0.6 * normal + OPTIMAL)
    assert normal.max() <= 100.0 + OPTIMAL
    assert sideways.max() > 1.0


def condensed(program, state, goal, feet, contacts):
    """H, g of the forces of standing feet, by applying unit forces one at a time; [(node, foot)] of each three."""
    nodes, h = len(goal), program.step
    c, s = np.cos(state[2]), np.sin(state[2])
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    inertia = R @ program.inertia @ R.T
    standing = [(int(i), int(j)) for i, j in np.argwhere(contacts)]

    def reached(forces, gravity):
        rpy, p, w, v = np.split(np.zeros(12) if gravity == 0.0 else state.copy(), 4)
        states = []
        for node in range(nodes):
            about = state[3:6] + (goal[node, 3:6] - state[3:6]) * node / nodes
            a = forces[node].sum(axis=0) / program.mass + [0.0, 0.0, gravity]
            turned = np.linalg.solve(inertia, np.cross(feet[node] - about, forces[node]).sum(axis=0))
            rpy, p = rpy + h * R.T @ w + 0.5 * h * h * R.T @ turned, p + h * v + 0.5 * h * h * a
            w, v = w + h * turned, v + h * a
            states.append(np.concatenate([rpy, p, w, v]))
        return np.ravel(states)

    columns, even = [], []
    for node, foot in standing:
        for axis in range(3):
            unit = np.zeros((nodes, len(contacts[0]), 3))
            unit[node, foot, axis] = 1.0
            columns.append(reached(unit, 0.0))
            even.append(9.81 * program.mass / contacts[node].sum() if axis == 2 else 0.0)
    B, W = np.array(columns).T, np.tile(program.weights, nodes)
    off = reached(np.zeros((nodes, len(contacts[0]), 3)), -9.81) - goal.ravel()
    rho = FORCE
    return B.T @ (W[:, None] * B) + rho * np.eye(B.shape[1]), B.T @ (W * off) - rho * np.array(even), standing


@pytest.mark.parametrize("case", ["trot", "thrown", "standing", "hop"])
def test_plans_are_the_optimum(case):
    """Conditions of the optimum on the condensed program, and the same forces as another solver finds."""
    rng = np.random.default_rng(3)
    program = control.centroidal(mass=MASS, inertia=INERTIA, most=200.0 if case != "standing" else 45.0)
    state = np.concatenate([[0.05, -0.04, 0.7], [0.3, -0.2, HEIGHT], 0.1 * rng.normal(size=3), [0.6, 0.1, 0.0]])
    if case == "thrown":
        state[6:] = rng.normal(size=6)
    goal = np.zeros((10, 12))
    goal[:, 2], goal[:, 3], goal[:, 4], goal[:, 5], goal[:, 9] = 0.7, 0.3 + 0.05 * np.arange(10), -0.2, HEIGHT, 1.0
    contacts = np.ones((10, 4), bool) if case == "standing" else gait.trot(0.3).schedule(0.1, 10, 0.05)
    if case == "hop":
        contacts[4:6] = False  # nothing stands
    feet = HIPS + [0.3, -0.2, 0.0] + 0.02 * rng.normal(size=(10, 4, 3))
    plan = program.plan(state, goal, feet, contacts)
    assert plan.solved == 1.0
    H, g, standing = condensed(program, state, goal, feet, contacts)
    f = np.concatenate([plan.forces[node, foot] for node, foot in standing])
    m = program.friction / np.sqrt(2.0)
    rows = np.array([[1, 0, -m], [-1, 0, -m], [0, 1, -m], [0, -1, -m], [0, 0, 1.0]])
    C, upper = np.kron(np.eye(len(standing)), rows), np.tile([0.0, 0.0, 0.0, 0.0, program.most], len(standing))
    assert (C @ f - upper).max() < CONVERGED
    on = np.concatenate([plan.active[node, foot] for node, foot in standing]) > 0.5
    assert np.abs((C @ f - upper)[on]).max(initial=0.0) < CONVERGED and (case == "trot" or on.sum() > 3)
    if on.any():  # forces that the rows push with balance the slope
        assert nnls(C[on].T, -(H @ f + g))[1] < ACCUMULATED * np.abs(H).max() * np.abs(f).max()
    exact = f + np.linalg.lstsq(  # Newton's step on the face: how far the forces are from the optimum there
        np.block([[H, C[on].T], [C[on], np.zeros((on.sum(),) * 2)]]),
        np.concatenate([-(H @ f + g), np.zeros(on.sum())]), rcond=None,
    )[0][: len(f)]  # fmt: skip
    np.testing.assert_allclose(f, exact, atol=CONVERGED * np.abs(f).max())
    other = solve_quadratic(H, g, C, np.full(len(upper), -np.inf), upper)
    np.testing.assert_allclose(f, other.x, atol=OPTIMAL * np.abs(f).max())
    again = program.plan(state, goal, feet, contacts, plan.active)
    assert again.iterations == 1.0
    np.testing.assert_allclose(again.forces, plan.forces, atol=ITERATED)


@pytest.mark.long
def test_plans_of_a_batch_are_the_plans_one_by_one():
    program = control.centroidal(mass=MASS, inertia=INERTIA)
    rng = np.random.default_rng(5)
    states = np.concatenate([0.05 * rng.normal(size=(5, 3)), [[0.0, 0.0, HEIGHT]] * 5, rng.normal(size=(5, 6))], axis=1)
    goal, contacts = np.zeros((3, 12)), gait.trot(0.3).schedule(0.0, 3, 0.05)
    goal[:, 5] = HEIGHT
    plans = program.plan(states, goal, HIPS, contacts)
    assert plans.forces.shape == (5, 3, 4, 3) and plans.solved.min() == 1.0
    for k in range(5):
        np.testing.assert_allclose(plans.forces[k], program.plan(states[k], goal, HIPS, contacts).forces, atol=ITERATED)


@pytest.mark.parametrize("heavier", [1.0, 1.2])
def test_a_body_trots_at_one_metre_per_second(heavier):
    """The true body is nonlinear, heavier than the program's, and pushed; feet step by the heuristic."""
    program, clock, h, ahead = control.centroidal(mass=MASS, inertia=INERTIA), gait.trot(), 5e-3, 0.0
    R, p, w, v = np.eye(3), np.array([0.0, 0.0, HEIGHT]), np.zeros(3), np.zeros(3)
    feet, forces, speeds = HIPS * [1, 1, 0.0], np.zeros((4, 3)), []
    for k in range(800):
        t, wanted = h * k, min(1.0, h * k)
        ahead += h * wanted
        stands = clock.stands(t)
        landing = stands & ~clock.stands(t - h)
        for i in np.flatnonzero(landing):
            feet[i] = gait.footstep(p + R @ HIPS[i], v, [wanted, 0.0, 0.0], clock.stance, HEIGHT)
        if k % 5 == 0:
            state = np.concatenate([so3.to_rpy(R), p, w, v])
            goal = np.zeros((10, 12))
            goal[:, 9], goal[:, 5] = wanted, HEIGHT
            goal[:, 3] = ahead + wanted * program.step * np.arange(1, 11)
            hips = p + HIPS @ R.T
            places = clock.foreseen(t, 10, program.step, feet, hips, v, [wanted, 0.0, 0.0], HEIGHT)
            forces = program.plan(state, goal, places, clock.schedule(t, 10, program.step)).forces[0]
        acting = forces * stands[:, None]
        sideways = np.linalg.norm(acting[:, :2], axis=1)
        assert np.all(sideways <= 0.6 * acting[:, 2] + OPTIMAL)
        torque = np.cross(feet - p, acting).sum(axis=0)
        inertia = R @ INERTIA @ R.T * heavier
        w = w + h * np.linalg.solve(inertia, torque - np.cross(w, inertia @ w))
        push = np.array([0.0, 40.0, 0.0]) if 400 <= k < 420 else np.zeros(3)
        v = v + h * ((acting.sum(axis=0) + push) / (MASS * heavier) + [0.0, 0.0, -9.81])
        R, p = so3.exp(h * w) @ R, p + h * v
        speeds.append(v[0])
    assert np.mean(speeds[500:]) == pytest.approx(1.0, rel=SPEED)
    assert abs(p[2] - HEIGHT) < 0.05
    assert np.abs(so3.to_rpy(R)[:2]).max() < 0.15


def test_of_a_robot_and_bad_input():
    robot = load("quadruped")
    program = control.centroidal(robot)
    assert program.mass == pytest.approx(robot.total_mass)
    for build, words in (
        (lambda: control.centroidal(), "pass a robot"),
        (lambda: control.centroidal(mass=1.0, inertia=-np.eye(3)), "positive definite"),
        (lambda: control.centroidal(robot, friction=0.0), "expected numbers above 0"),
        (lambda: program.plan(np.zeros(11), np.zeros((2, 12)), HIPS, np.ones((2, 4))), "expected \\(12,\\)"),
        (lambda: gait.trot(-1.0), "period is -1.0"),
        (lambda: gait.swing([0.0, 0.0], [0.0, 0.0, 0.0]), "expected \\(3,\\)"),
    ):
        with pytest.raises(DalembertError, match=words):
            build()
