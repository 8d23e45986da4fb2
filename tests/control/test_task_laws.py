"""Laws for a frame: closed forms of its error, null spaces, singular configurations."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, control, elements, load, math
from tolerances import COMPUTED, DEFAULT_RUN, INTEGRATED, ITERATED, SETTLED

PRESSED = 2e-4  # a spring's deflection while the arm settles [m]

Q = np.array([0.3, -1.2, 1.4, -0.8, -1.2, 0.2])


@pytest.fixture(scope="module")
def ur5():
    return load("ur5").without("friction", "damping")


def test_the_error_of_a_point_has_two_equal_poles(ur5) -> None:
    w, e0 = 10.0, np.array([0.04, -0.03, 0.05])
    goal = ur5.pose(Q, "tool0")[:3, 3] + e0
    law = control.operational_space(ur5, "tool0", goal, w, singular_damping=0.0, posture=Q)
    run = ur5.simulate(Q, np.zeros(6), 0.6, law, rtol=1e-11, atol=1e-12)
    t = run.t[:, None]
    off = goal - ur5.pose(run.q, "tool0")[:, :3, 3]
    np.testing.assert_allclose(off, e0 * (1.0 + w * t) * np.exp(-w * t), atol=ITERATED)
    assert not any("called back" in line for line in run.log)


def test_a_moving_pose_is_followed(ur5) -> None:
    X = ur5.pose(Q, "tool0")

    def goal(t):
        pose = np.array(X, object)
        pose[0, 3] = X[0, 3] + 0.05 * (1.0 - math.cos(2.0 * t))
        return (
            pose,
            [0.0, 0.0, 0.0, 0.1 * math.sin(2.0 * t), 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.2 * math.cos(2.0 * t), 0, 0],
        )

    law = control.operational_space(ur5, "tool0", goal, singular_damping=0.0)
    run = ur5.simulate(Q, np.zeros(6), 1.5, law, rtol=1e-10)
    off = [
        np.abs(ur5.pose(q, "tool0") - np.asarray(goal(t)[0], float)).max() for q, t in zip(run.q, run.t, strict=True)
    ]
    assert max(off) < DEFAULT_RUN


def test_impedance_gives_way_by_force_over_stiffness(ur5) -> None:
    """Pushed by a constant force, the frame settles F / K away."""
    X = ur5.pose(Q, "tool0")
    law = control.impedance(ur5, "tool0", X, (300.0, 2000.0), posture=Q)
    push = elements.Thruster("tool0", 30.0, axis=tuple(X[:3, :3].T @ np.array([0.0, 1.0, 0.0])))
    run = ur5.simulate(Q, np.zeros(6), 3.0, law, elements=[push])
    moved = ur5.pose(run.q[-1], "tool0")[:3, 3] - X[:3, 3]
    np.testing.assert_allclose(moved, [0.0, 30.0 / 2000.0, 0.0], atol=PRESSED)
    assert np.abs(run.v[-1]).max() < SETTLED


def test_torques_stay_bounded_through_a_singular_pose(ur5) -> None:
    stretched = np.array([0.0, -0.8, 0.0, -0.6, -1.2, 0.0])  # elbow straight
    X = ur5.pose(stretched, "tool0")
    out = X[:3, 3] + 0.2 * (X[:3, 3] / np.linalg.norm(X[:3, 3]))  # beyond its reach
    for law in (control.operational_space(ur5, "tool0", out, 5.0), control.resolved_rate(ur5, "tool0", out, 2.0)):
        run = ur5.simulate(stretched, np.zeros(6), 1.5, law, "rk4", 1e-3)
        assert np.isfinite(run.q).all() and np.abs(run.tau).max() < 400.0


def test_resolved_rate_arrives_and_keeps_to_speed_limits(ur5) -> None:
    X = ur5.pose(Q, "tool0")
    goal = X.copy()
    goal[:3, 3] += [0.1, 0.05, -0.1]
    law = control.resolved_rate(ur5, "tool0", goal, gain=40.0)
    assert np.all(np.abs(law.velocity(0.0, Q)) <= ur5.limits.velocity * (1 + COMPUTED))
    run = ur5.simulate(Q, np.zeros(6), 2.0, control.resolved_rate(ur5, "tool0", goal))
    np.testing.assert_allclose(ur5.pose(run.q[-1], "tool0"), goal, atol=SETTLED)


def test_the_null_space_keeps_a_posture() -> None:
    panda = load("panda").without("friction", "damping")
    q = 0.5 * (panda.limits.lower + panda.limits.upper)
    q[1] += 0.3
    X = panda.pose(q, "panda_hand")
    other = q.copy()
    other[0] += 0.4
    law = control.operational_space(panda, "panda_hand", X, posture=other, singular_damping=0.0)
    run = panda.simulate(q, np.zeros(panda.nv), 4.0, law)
    np.testing.assert_allclose(panda.pose(run.q[-1], "panda_hand"), X, atol=INTEGRATED)

    def pull(at):
        """What is left of the posture's error along the motions that leave the hand still, in the metric of M."""
        N = panda.null_space(at, "panda_hand")
        return np.abs(N.T @ panda.mass_matrix(at) @ panda.difference(at, other)).max()

    assert pull(q) > 0.1 and pull(run.q[-1]) < 0.02 * pull(q)


def test_bad_input_is_named(ur5) -> None:
    X = ur5.pose(Q, "tool0")
    with pytest.raises(DalembertError, match="6000 N/m, expected 0 to 5000"):
        control.impedance(ur5, "tool0", X, (100.0, 6000.0))
    with pytest.raises(DalembertError, match="400 N·m/rad"):
        control.impedance(ur5, "tool0", X, (400.0, 600.0))
    with pytest.raises(DalembertError, match="goal is a point"):
        control.operational_space(ur5, "tool0", [0.1, 0.2, 0.3], rows="pose")
    with pytest.raises(DalembertError, match="goal has shape"):
        control.operational_space(ur5, "tool0", [0.1, 0.2])
    with pytest.raises(DalembertError, match="rows is 'x'"):
        control.operational_space(ur5, "tool0", X, rows="x")
    with pytest.raises(DalembertError, match="tool9"):
        control.operational_space(ur5, "tool9", X)
    with pytest.raises(DalembertError, match="need singular_damping"):
        control.operational_space(load("2r"), "tool", np.eye(4), singular_damping=0.0)


@pytest.mark.parametrize("law", [control.operational_space, control.impedance, control.resolved_rate])
def test_a_goal_that_is_no_pose_is_refused(ur5, law) -> None:
    """The logarithm of a matrix that is no rotation would be some rotation."""
    X = ur5.pose(Q, "tool0")
    law(ur5, "tool0", X.astype(np.float32))
    mirrored, missing = X.copy(), X.copy()
    mirrored[:3, 0] *= -1.0
    missing[0, 3] = np.nan
    for goal in (2.0 * X, mirrored, missing, [0.0, np.inf, 0.0], lambda t: 2.0 * X):
        with pytest.raises(DalembertError, match="not a pose or point"):
            law(ur5, "tool0", goal)


def test_a_frame_of_a_program_that_is_to_have_no_pose_is_refused(ur5) -> None:
    task = control.Frame(frame="tool0", goal=2.0 * ur5.pose(Q, "tool0"))
    with pytest.raises(DalembertError, match=r"Frame\(tool0\): the goal is not a pose"):
        control.whole_body(ur5, [task]).solve(0.0, Q, np.zeros(6))
    with pytest.raises(DalembertError, match=r"Frame\(tool0\): the goal is not a pose"):
        control.inverse_kinematics(ur5, [task]).solve(Q)
