"""Estimators on simulated robots: external forces, collisions, states from noise, the base of a legged robot."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import DalembertError, control, elements, motion
from dalembert.control import observer
from dalembert.spatial import so3
from tolerances import INTEGRATED, ITERATED, PRODUCT, REACHED, SOLVER_DEFAULT

OBSERVED = 0.01  # an observer with a time constant of 10 ms, sampled every 1 ms
SAMPLED = 0.05  # one sample of 1 ms on a rise of 10 ms
SAMPLES = 0.1  # of a standard deviation over thousands of correlated samples
LINEARISED = 0.35  # of the filter's own covariance: it is that of the linear system
BIAS_FOUND = 5e-3  # of the gyroscope's bias after some seconds [rad/s]

HOME = np.array([0.0, -1.2, 1.5, -1.0, -1.5, 0.0])


@pytest.fixture(scope="module")
def arm():
    return dalembert.load("ur5").without("friction", "damping")


@pytest.fixture(scope="module")
def pushed(arm):
    """Residuals and true external forces (n, 6) of a move that is pushed at the tool from half time on."""
    move = motion.quintic(HOME, HOME + 0.5, 1.0)
    law = control.computed_torque(arm, move, frequency=20.0)
    step, watcher = arm.stepper(1e-3, "rk4"), observer.momentum(arm, gain=100.0, period=1e-3)
    q, v, tau = move.q(0.0), move.v(0.0), np.zeros(6)
    residuals, truth = [], []
    for k in range(1000):
        residuals.append(watcher.update(q, v, tau))
        tau = np.asarray(law(1e-3 * k, q, v), float)
        wrench = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -30.0 if k >= 500 else 0.0])
        truth.append(arm.jacobian(q, "tool0").T @ wrench)
        q, v = step(q, v, tau + truth[-1])
    return np.array(residuals), np.array(truth)


def test_the_observer_finds_the_external_force(pushed):
    residuals, truth = pushed
    assert np.abs(residuals[:500]).max() < 0.02
    np.testing.assert_allclose(residuals[-1], truth[-1], atol=OBSERVED)
    rise = residuals[500 + 10, 1] / truth[510, 1]  # one time constant after the push
    assert rise == pytest.approx(1.0 - np.exp(-1.0), abs=SAMPLED)


def test_the_threshold_is_that_of_the_noise(arm, pushed):
    watcher, rng = observer.momentum(arm, gain=100.0, period=1e-3), np.random.default_rng(0)
    weight = arm.gravity(HOME)
    noisy = np.array([
        watcher.update(HOME, 1e-3 * rng.normal(size=6), weight + 0.1 * rng.normal(size=6)) for _ in range(4000)
    ])  # fmt: skip
    bound = watcher.threshold(HOME, velocity=1e-3, torque=0.1, sigmas=1.0)
    np.testing.assert_allclose(noisy[500:].std(axis=0), bound, rtol=SAMPLES)
    five = watcher.threshold(HOME, velocity=1e-3, torque=0.1)
    assert watcher.contact(pushed[0][100], five) is None
    felt = watcher.contact(pushed[0][-1], five)
    assert felt is not None and felt.joint == "wrist_2_joint"  # the force passes through the last axis


def test_a_reflex_gives_way(arm):
    move = motion.quintic(HOME, HOME + 0.8 * np.eye(6)[0], 1.0)
    law = control.computed_torque(arm, move, frequency=20.0)
    watcher = observer.momentum(arm, gain=100.0, period=1e-3)
    guarded = watcher.reflex(law, lambda t, q, v: arm.gravity(q) - 10.0 * arm.generalized_momentum(q, v), threshold=3.0)
    free = arm.simulate(HOME, np.zeros(6), guarded, duration=1.0, integrator="semi-implicit", step=1e-3)
    np.testing.assert_allclose(free.q[-1], move.q(1.0), atol=10 * REACHED)
    wall = elements.Thruster("tool0", lambda t: 40.0 * dalembert.math.where(t > 0.5, 1.0, 0.0), axis=(1.0, 0.0, 0.0))
    hit = arm.simulate(HOME, np.zeros(6), guarded, duration=1.0, integrator="semi-implicit", step=1e-3, elements=[wall])
    assert np.abs(hit.q[-1] - move.q(1.0)).max() > 0.1  # it did not go on


def test_current_tells_the_torque():
    assert observer.motor_torque(2.0, 0.1, 50.0) == pytest.approx(10.0)
    driven = observer.motor_torque([2.0, 2.0], 0.1, 50.0, efficiency=0.8, velocity=[1.0, -1.0])
    np.testing.assert_allclose(driven, [8.0, 12.5])
    assert observer.motor_torque(2.0, 0.1, 50.0, acceleration=4.0, rotor_inertia=1e-4) == pytest.approx(
        50 * (0.2 - 0.02)
    )
    with pytest.raises(DalembertError, match="which way does power flow"):
        observer.motor_torque(2.0, 0.1, efficiency=0.8)


def test_collisions_by_the_norm(arm):
    move = motion.quintic(HOME, HOME + 0.5, 1.0)
    state = move.q(0.5), move.v(0.5)
    hit = control.collision(arm, *state, "tool0", part="hand")
    inertia = arm.operational_inertia(state[0], "tool0", rows="position")
    velocity = arm.velocity(*state, "tool0")[3:]
    assert hit.energy == pytest.approx(0.5 * velocity @ inertia @ velocity, rel=INTEGRATED)
    assert hit.energy <= arm.kinetic_energy(*state) * (1 + ITERATED)
    assert hit.mass == pytest.approx(1.0 / ((velocity @ np.linalg.solve(inertia, velocity)) / hit.speed**2))
    assert hit.transferred < 0.5 * hit.mass * hit.speed**2
    slower = control.collision(arm, state[0], state[1] * hit.safe_speed / hit.speed, "tool0", part="hand")
    assert slower.force == pytest.approx(280.0, rel=ITERATED)
    assert not control.collision(arm, *state, "tool0", part="face").allowed
    with pytest.raises(DalembertError, match="unknown body part"):
        control.collision(arm, *state, "tool0", part="tail")


def test_a_kalman_filter_is_optimal_and_beats_differences():
    cart, rng, h = dalembert.load("cartpole"), np.random.default_rng(1), 2e-3
    rest = np.array([0.0, 0.0])
    law = control.lqr(cart, rest)
    filter_ = control.kalman(cart, rest, period=h, noise=1e-3, disturbance=[1.0, 0.1])
    Phi, C = filter_.Phi, filter_.C
    P = filter_.covariance
    again = Phi @ (P - filter_.gain @ C @ P) @ Phi.T + filter_.Q
    np.testing.assert_allclose(again, P, rtol=SOLVER_DEFAULT, atol=PRODUCT)
    assert np.abs(filter_.poles).max() < 1.0
    q, v = np.array([0.05, 0.02]), np.zeros(2)
    filter_.reset(q, v)
    step, tau, errors, differences, before = cart.stepper(h, "rk4"), np.zeros(2), [], [], q.copy()
    for _ in range(2000):
        pushes = np.array([1.0, 0.1]) * rng.normal(size=2)
        q, v = step(q, v, tau + pushes)
        measured = q + 1e-3 * rng.normal(size=2)
        estimate = filter_.update(measured, tau)
        errors.append(estimate.v - v)
        differences.append((measured - before) / h - v)
        before = measured
        tau = np.asarray(law(0.0, estimate.q, estimate.v), float)
    spread, theory = np.std(errors[200:], axis=0), np.sqrt(np.diag(estimate.covariance)[2:])
    np.testing.assert_allclose(spread, theory, rtol=LINEARISED)
    assert np.all(spread < 0.2 * np.std(differences[200:], axis=0))


@pytest.mark.parametrize("measured", [None, "elbow", ["elbow", "shoulder"]])
def test_a_kalman_filter_takes_coordinates_as_encoders_show_them(measured):
    """At an equilibrium that is not 0, whose coordinates are no displacements; a turn more is the same place."""
    robot = dalembert.load("acrobot")
    top = np.array([np.pi, 0.3])
    filter_ = control.kalman(robot, top, noise=1e-3, disturbance=0.1, measured=measured, tau=robot.gravity(top))
    seen = {None: top, "elbow": top[1:], "both": top[::-1]}[measured if not isinstance(measured, list) else "both"]
    for _ in range(3):
        estimate = filter_.update(seen, robot.gravity(top))
    np.testing.assert_allclose(estimate.q, top, atol=ITERATED)
    np.testing.assert_allclose(estimate.v, 0.0, atol=ITERATED)


def test_what_cannot_be_told_is_named():
    cart = dalembert.load("cartpole")
    with pytest.raises(DalembertError, match="do not tell how slider moves"):
        control.kalman(cart, [0.0, 0.0], noise=1e-3, disturbance=1.0, measured="hinge")
    gripper = dalembert.ModelBuilder("gripper")
    for name, mimic in (("left", None), ("right", ("left", -1.0, 0.01))):
        gripper.add_body(name, parent="world", joint="prismatic", mass=0.1, mimic=mimic)
    with pytest.raises(DalembertError, match="joint 'right' follows 'left': measure that one"):
        control.kalman(gripper.build(), [0.0], noise=1e-3, disturbance=1.0, measured="right")
    with pytest.raises(DalembertError, match="measured is empty"):
        control.kalman(cart, [0.0, 0.0], noise=1e-3, disturbance=1.0, measured=[])
    with pytest.raises(DalembertError, match="not all of them 0"):
        control.kalman(cart, [0.0, 0.0], noise=1e-3, disturbance=1.0, measured=np.zeros((2, 4)))
    with pytest.raises(DalembertError, match=r"noise has shape \(3,\)"):
        control.kalman(cart, [0.0, 0.0], noise=[1e-3] * 3, disturbance=1.0)
    filter_ = control.kalman(cart, [0.0, 0.0], noise=1e-3, disturbance=1.0)
    for measured, tau in (([np.nan, 0.0], [0.0, 0.0]), ([0.0, 0.0], [np.inf, 0.0]), ([0.0], [0.0, 0.0])):
        with pytest.raises(DalembertError, match="of finite numbers"):
            filter_.update(measured, tau)
    with pytest.raises(DalembertError, match=r"noise is 0\.0"):
        control.kalman(cart, [0.0, 0.0], noise=0.0, disturbance=1.0)
    with pytest.raises(DalembertError, match="would be unstable"):
        observer.momentum(cart, gain=2000.0)
    with pytest.raises(DalembertError, match="no free base"):
        control.base_state(cart, ["cart"])


def test_base_of_a_legged_robot():
    """The base sways over standing feet, two of which are lifted in turn; IMU and angles are noisy, with biases."""
    robot, rng, h = dalembert.load("quadruped"), np.random.default_rng(0), 2e-3
    feet = [frame.name for frame in robot.frames if "foot" in frame.name]
    assert len(feet) == 4
    stand = robot.neutral()
    stand[7:] = np.tile([0.0, 0.7, -1.4], 4)
    stand[2] = -min(robot.pose(stand, foot)[2, 3] for foot in feet)
    places = [robot.pose(stand, foot)[:3, 3] for foot in feet]
    sway = motion.fourier(np.zeros(6), *(0.15 * rng.normal(size=(2, 6, 2))), period=2.0, periods=3.0)
    t = np.arange(0.0, 6.0, h)
    x = sway.series.at(t)
    filter_ = control.base_state(robot, feet, period=h)
    gyro_bias, acc_bias = np.array([0.01, -0.02, 0.01]), np.array([0.05, -0.05, 0.08])
    errors, q = [], stand.copy()
    for k in range(1, len(t) - 1, 1):
        R = [so3.from_rpy(*x[i, 3:]) for i in (k - 1, k, k + 1)]
        p = [stand[:3] + 0.3 * x[i, :3] for i in (k - 1, k, k + 1)]
        omega = so3.log(R[0].T @ R[2]) / (2 * h)
        a, u = (p[2] - 2 * p[1] + p[0]) / h**2, (p[2] - p[0]) / (2 * h)
        q[:3], q[3:7] = p[1], so3.to_quaternion(R[1])
        angles = _leg_angles(robot, q, feet, places)
        q[7:] = angles
        if k == 1:
            filter_.reset(q, np.concatenate([omega, R[1].T @ u, np.zeros(12)]))
        force = R[1].T @ (a - robot.model.gravity) + acc_bias + 0.2 * rng.normal(size=3)
        rate = omega + gyro_bias + 0.02 * rng.normal(size=3)
        contacts = np.ones(4, bool)
        contacts[k // 250 % 4] = False  # a lifted foot tells nothing
        estimate = filter_.update(rate, force, angles + 1e-3 * rng.normal(size=12), contacts)
        tilt = so3.log(R[1] @ estimate.rotation.T)
        errors.append([*(estimate.velocity - u), *tilt, *(estimate.position - p[1])])
    late = np.abs(errors)[1000:]
    assert late[:, :3].mean() < 0.03  # m/s
    assert late[:, 3:5].max() < 0.03  # rad of roll and pitch
    assert late[:, 8].max() < 0.03  # m of height
    np.testing.assert_allclose(filter_.gyro_bias, gyro_bias, atol=BIAS_FOUND)
    np.testing.assert_allclose(estimate.q[:3], estimate.position)


def _leg_angles(robot, q, feet, places):
    """Joint angles (12,) with the feet at their places, each leg by Newton's method from where it was."""
    q = q.copy()
    for _ in range(3):
        for foot, place in zip(feet, places, strict=True):
            J = robot.jacobian(q, foot)[3:, 6:]
            columns = np.flatnonzero(np.abs(J).max(axis=0) > 1e-12)
            q[7 + columns] += np.linalg.solve(J[:, columns], place - robot.pose(q, foot)[:3, 3])
    return q[7:].copy()


def test_samples_of_the_base_that_are_no_numbers_are_refused():
    """One NaN of a gyroscope would stay in the estimate for ever."""
    dog = dalembert.load("quadruped")
    feet, joints = ["FL_foot", "RR_foot"], dog.neutral()[7:]
    base = control.base_state(dog, feet)
    base.reset(dog.neutral())
    up, still = [0.0, 0.0, 9.81], [0.0, 0.0, 0.0]
    for omega, push, angles in (([0.0, np.nan, 0.0], up, joints), (still, [np.inf, 0.0, 0.0], joints), (still, up, [])):
        with pytest.raises(DalembertError, match="of finite numbers"):
            base.update(omega, push, angles, [True, True])
    assert np.all(np.isfinite(base.update(still, up, joints, [True, True]).q))
    for noise in (control.Noise(gyroscope=-1.0), control.Noise(kinematics=0.0), control.Noise(slip=np.nan)):
        with pytest.raises(DalembertError, match="base_state: noise: "):
            control.base_state(dog, feet, noise=noise)
