"""Planning for legs: gait clock, footsteps, swings, and the centroidal program on a rigid body that trots."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, control, load
from dalembert.control import gait, quadratic
from dalembert.spatial import so3

MASS, INERTIA = 12.0, np.diag([0.07, 0.30, 0.32])
HIPS = np.array([[0.2, 0.13, 0.0], [0.2, -0.13, 0.0], [-0.2, 0.13, 0.0], [-0.2, -0.13, 0.0]])
HEIGHT = 0.3


def test_the_clock_of_a_trot():
    trot = gait.trot(0.5)
    np.testing.assert_array_equal(trot.stands(0.1), [True, False, False, True])
    np.testing.assert_array_equal(trot.stands(0.3), [False, True, True, False])
    assert trot.stands(np.linspace(0.0, 5.0, 1001)).mean() == pytest.approx(0.5, abs=0.01)
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
    np.testing.assert_allclose(way.q([0.0, 0.125, 0.25]), [[0, 0, 0], [0.1, 0.0, 0.11], [0.2, 0.0, 0.05]], atol=1e-12)
    np.testing.assert_allclose(way.v([0.0, 0.25]), 0.0, atol=1e-12)
    assert way.extremes(0).least[2] > -1e-9  # never below the ground


def test_two_feet_carry_the_weight():
    program = control.centroidal(mass=MASS, inertia=INERTIA)
    still = np.zeros(12)
    still[5] = HEIGHT
    contacts = np.tile([True, False, False, True], (10, 1))
    plan = program.plan(still, np.tile(still, (10, 1)), HIPS, contacts)
    np.testing.assert_allclose(plan.forces[0, [0, 3], 2], 58.86, rtol=0.02)
    assert not plan.forces[:, [1, 2]].any()
    np.testing.assert_allclose(plan.states, still[None].repeat(10, axis=0), atol=1e-3)


def test_forces_stay_within_the_cone_and_the_optimum_is_one():
    rng = np.random.default_rng(0)
    program = control.centroidal(mass=MASS, inertia=INERTIA, most=100.0)
    state = np.concatenate([0.1 * rng.normal(size=3), [0.0, 0.0, HEIGHT], rng.normal(size=3), rng.normal(size=3)])
    goal = np.zeros((10, 12))
    goal[:, 5], goal[:, 9] = HEIGHT, 1.0
    contacts = gait.trot(0.5).schedule(0.0, 10, 0.05)
    forces = program.plan(state, goal, HIPS, contacts).forces
    sideways, normal = np.linalg.norm(forces[..., :2], axis=-1), forces[..., 2]
    assert np.all(sideways <= 0.6 * normal + 1e-6)
    assert normal.max() <= 100.0 + 1e-6
    assert sideways.max() > 1.0


def test_the_interior_point_method_solves_random_programs():
    rng = np.random.default_rng(1)
    for n, m in ((3, 5), (20, 60), (60, 180)):
        A = rng.normal(size=(n, n))
        H, g, C = A @ A.T + 0.1 * np.eye(n), 10.0 * rng.normal(size=n), rng.normal(size=(m, n))
        upper = rng.uniform(0.1, 1.0, m)
        x = quadratic.interior_point(H, g, C, upper).x
        slack = upper - C @ x
        assert slack.min() > -1e-7
        active = slack < 1e-5
        multipliers = np.linalg.lstsq(C[active].T, -(H @ x + g), rcond=None)[0] if active.any() else np.zeros(0)
        left = H @ x + g + C[active].T @ multipliers
        assert np.abs(left).max() < 1e-3 * np.abs(g).max()
        assert np.all(multipliers > -1e-3 * np.abs(g).max())
    with pytest.raises(DalembertError, match="no solution"):
        quadratic.interior_point(np.eye(1), np.zeros(1), np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0]))


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
        assert np.all(sideways <= 0.6 * acting[:, 2] + 1e-6)
        torque = np.cross(feet - p, acting).sum(axis=0)
        inertia = R @ INERTIA @ R.T * heavier
        w = w + h * np.linalg.solve(inertia, torque - np.cross(w, inertia @ w))
        push = np.array([0.0, 40.0, 0.0]) if 400 <= k < 420 else np.zeros(3)
        v = v + h * ((acting.sum(axis=0) + push) / (MASS * heavier) + [0.0, 0.0, -9.81])
        R, p = so3.exp(h * w) @ R, p + h * v
        speeds.append(v[0])
    assert np.mean(speeds[500:]) == pytest.approx(1.0, rel=0.05)
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
