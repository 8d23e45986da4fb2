"""Linear models, inverse dynamics, equilibria and regulators of robots in contact."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, control, load
from dalembert.shapes import Box
from dalembert.spatial import Pose
from tolerances import (
    CONTACT_SOLVER,
    CONVERGED,
    DIFFERENCE,
    ITERATED,
    RECURSION,
    SLOPE,
    SOLVER_DEFAULT,
    STEP,
    assert_close,
)

STIFF = 1e6  # size of accelerations per metre that springs of 1e5 N/m make: slopes are compared beside it
GROUND = Contact(ground=0.0, friction=0.7)
SPRINGS = Contact(ground=0.0, friction=0.7, model="compliant", stiffness=2e4)
FOOT = 0.04  # m: half the height of the foot of the biped


def biped():
    """A trunk on one leg with a flat foot; all joints turn about y or x."""
    builder = ModelBuilder("one leg")
    inertia = np.diag([0.3, 0.25, 0.1])
    builder.add_body(
        "trunk", parent="world", joint="free", joint_name="root", mass=12.0, com=(0, 0, 0.2), inertia=inertia
    )
    links = [("thigh", "hip", (0, 0, 0), (1, 0, 0)), ("shank", "knee", (0, 0, -0.4), (0, 1, 0)),
             ("ankle", "ankle", (0, 0, -0.4), (1, 0, 0)), ("foot", "foot", (0, 0, -0.02), (0, 1, 0))]  # fmt: skip
    parent = "trunk"
    for name, joint, xyz, axis in links:
        mass = 0.5 if name == "ankle" else 2.0
        com = (0, 0, 0) if name == "ankle" else (0.01, 0, -0.2) if name != "foot" else (0.02, 0, -0.02)
        builder.add_body(name, parent=parent, joint="revolute", joint_name=joint, axis=axis, xyz=xyz, mass=mass,
                         com=com, inertia=np.diag([0.02, 0.02, 0.01]), damping=0.3)  # fmt: skip
        parent = name
    builder.add_geometry(Box((0.24, 0.12, 2 * FOOT)), body="foot", role="collision", xyz=(0.02, 0, -0.05))
    return builder


def standing(robot, contact):
    q = robot.neutral()
    q[7:] = [0.02, 0.5, -0.02, -0.25]
    q[3:7] = [np.cos(-0.125), 0.0, np.sin(-0.125), 0.0]
    q[2] = 0.85
    q[2] -= robot.pose(q, "foot")[2, 3] - 0.05 - FOOT - 1e-3
    return robot.equilibrium(q, contact=contact)


@pytest.fixture(scope="module")
def robot():
    return biped().build()


@pytest.mark.parametrize("contact", [GROUND, SPRINGS], ids=["rigid", "compliant"])
def test_the_equilibrium_is_at_rest_and_carried(robot, contact) -> None:
    rest = standing(robot, contact)
    n = robot.nv
    a = robot.contact_dynamics(rest.q, np.zeros(n), rest.tau, contact=contact).a
    assert_close(a, np.zeros(n), CONTACT_SOLVER, 10.0)
    assert_close(rest.force.sum(axis=0), [0.0, 0.0, 9.81 * robot.total_mass], 100 * ITERATED)
    assert_close(rest.tau[:6], np.zeros(6), ITERATED)
    assert (np.linalg.norm(rest.force[:, :2], axis=1) <= 0.7 * rest.force[:, 2] * (1.0 + RECURSION)).all()
    assert_close(robot.inverse_dynamics(rest.q, *np.zeros((2, n)), contact=contact), rest.tau, 1e3 * ITERATED, 100.0)


def test_a_sticking_sole_is_a_weld(robot) -> None:
    """The linear model on rigid ground is that of the robot whose foot is welded where it stands."""
    rest = standing(robot, GROUND)
    welded = biped()
    X = robot.pose(rest.q, "foot")
    welded.add_closure("weld", "weld", a="world", b="foot", placement_a=Pose(X[:3, :3], X[:3, 3]))
    joints = ("hip", "knee", "ankle", "foot")
    still = np.zeros(robot.nv)
    A, B = robot.linearize(rest.q, still, rest.tau, contact=GROUND, coordinates=joints)
    expected = welded.build().linearize(rest.q, still, rest.tau, coordinates=joints)
    assert_close(A, expected.A, 100 * ITERATED)
    assert_close(B, expected.B, 100 * ITERATED)


def test_a_sliding_block_loses_what_friction_takes() -> None:
    """On a floor: a = g µ against the slip; turning its direction turns the force, at µ g / speed."""
    builder = ModelBuilder("block")
    builder.add_body("block", parent="world", joint="free", mass=2.0, inertia=np.eye(3))
    builder.add_geometry(Box((0.2, 0.2, 0.2)), body="block", role="collision")
    robot = builder.build()
    q, v = robot.neutral(), np.zeros(6)
    q[2], v[3] = 0.1, 0.5
    contact = Contact(ground=0.0, friction=0.3)
    linear = robot.linearize(q, v, np.zeros(6), contact=contact)
    A, B = linear
    assert linear.coordinates == tuple(robot.model.freedom_names[k] for k in (2, 3, 4))
    n = 3
    assert A[n + 2, n + 2] == pytest.approx(-0.3 * 9.81 / 0.5, rel=SLOPE)
    assert A[n + 1, n + 1] == pytest.approx(0.0, abs=SLOPE)
    assert B[n + 1, 3] == pytest.approx(0.5, rel=SLOPE)


@pytest.mark.parametrize("moving", [0.0, 0.05])
def test_slopes_on_springs_are_those_of_the_accelerations(robot, moving) -> None:
    rest, n = standing(robot, SPRINGS), robot.nv
    rng = np.random.default_rng(1)
    v = moving * rng.normal(size=n)
    A, B = robot.linearize(rest.q, v, rest.tau, contact=SPRINGS)
    ways = STEP * np.eye(n)

    def a(q, v, tau):
        return robot.contact_dynamics(q, v, tau, contact=SPRINGS).a

    ahead, behind = (robot.integrate(rest.q, sign * 1e-2 * ways) for sign in (1, -1))
    turned = (a(ahead, v, rest.tau) - a(behind, v, rest.tau)) / (2e-2 * STEP)
    assert_close(A[n:, :n], turned.T, SLOPE, STIFF)
    faster = (a(rest.q, v + ways, rest.tau) - a(rest.q, v - ways, rest.tau)) / (2 * STEP)
    assert_close(A[n:, n:], faster.T, SLOPE, STIFF)
    pushed = (a(rest.q, v, rest.tau + ways) - a(rest.q, v, rest.tau - ways)) / (2 * STEP)
    assert_close(B[n:], pushed.T, DIFFERENCE, 10.0)


@pytest.mark.parametrize("contact", [GROUND, SPRINGS], ids=["rigid", "compliant"])
def test_inverse_dynamics_undoes_contact_dynamics(robot, contact) -> None:
    rest, n = standing(robot, contact), robot.nv
    tau = rest.tau + np.r_[np.zeros(6), 0.5, -0.4, 0.3, 0.2]
    a = robot.contact_dynamics(rest.q, np.zeros(n), tau, contact=contact).a
    back = robot.inverse_dynamics(rest.q, np.zeros(n), a, contact=contact)
    again = robot.contact_dynamics(rest.q, np.zeros(n), back, contact=contact).a
    assert_close(again, a, 1e3 * SOLVER_DEFAULT)
    assert_close(back[:6], np.zeros(6), 1e3 * SOLVER_DEFAULT, 100.0)
    if contact is SPRINGS:
        assert_close(back, tau, CONVERGED, 100.0)
        batch = robot.inverse_dynamics(np.tile(rest.q, (3, 1)), np.zeros(n), np.tile(a, (3, 1)), contact=contact)
        assert_close(batch, np.tile(back, (3, 1)), CONVERGED, 100.0)


def test_what_contact_cannot_give_is_left_over(robot) -> None:
    """In the air nothing pushes; pulled upwards from the floor neither."""
    rest, n = standing(robot, GROUND), robot.nv
    up = np.zeros(n)
    up[5] = 1.0
    flying = rest.q.copy()
    flying[2] += 0.1
    for q, a in ((flying, np.zeros(n)), (rest.q, up)):
        free = robot.inverse_dynamics(q, np.zeros(n), a)
        assert_close(robot.inverse_dynamics(q, np.zeros(n), a, contact=GROUND), free, RECURSION, 100.0)


@pytest.mark.parametrize("contact", [GROUND, SPRINGS], ids=["rigid", "compliant"])
def test_a_regulator_holds_the_robot_on_its_foot(robot, contact) -> None:
    rest = standing(robot, contact)
    law = control.lqr(robot, rest.q, R=1e-2, contact=contact, tau=rest.tau)
    assert law.poles.real.max() < 0.0
    assert_close(law(0.0, rest.q, np.zeros(robot.nv)), rest.tau, ITERATED)
    step = 1e-3 if contact is GROUND else 2e-5
    v = np.zeros(robot.nv)
    v[4] = 0.02
    end = robot.rollout(rest.q, v, law, step, round(2.0 / step), contact=contact, friction=None)
    off = robot.difference(rest.q, end.q)
    assert np.abs(off[6:]).max() < 2e-2
    assert np.abs(end.v).max() < 2e-2
    fallen = robot.rollout(rest.q, v, rest.tau, step, round(2.0 / step), contact=contact)
    assert np.abs(robot.difference(rest.q, fallen.q)).max() > 0.1


def test_mistakes_are_named(robot) -> None:
    q, still = robot.neutral(), np.zeros(robot.nv)
    with pytest.raises(DalembertError, match="start lower"):
        robot.equilibrium(q + np.eye(len(q))[2] * 3.0, contact=GROUND)
    with pytest.raises(DalembertError, match="centre of mass"):
        robot.equilibrium(
            standing(robot, GROUND).q, np.r_[np.zeros(6), 1.0, 2.0, 3.0, 4.0] * 50, contact=GROUND, max_iterations=20
        )
    with pytest.raises(DalembertError, match=r"expected a dalembert\.Contact"):
        robot.linearize(q, still, still, contact="rigid")
    with pytest.raises(DalembertError, match="one state"):
        robot.linearize(np.tile(q, (2, 1)), still, still, contact=GROUND)
    with pytest.raises(DalembertError, match="bristles"):
        robot.inverse_dynamics(q, still, still, contact=Contact(model="compliant", friction_model="bristle"))
    with pytest.raises(DalembertError, match="not an equilibrium"):
        control.lqr(robot, q, contact=SPRINGS)
    with pytest.raises(DalembertError, match="free base stands on a contact"):
        control.lqr(robot, q)
    with pytest.raises(DalembertError, match="belong to contact"):
        robot.equilibrium(q, motors="knee")
    with pytest.raises(DalembertError, match="finite"):
        robot.inverse_dynamics(q, still, np.full(robot.nv, np.nan), contact=GROUND)


def test_starts_that_are_no_standing_contact(robot) -> None:
    """In the air all is as without contact; an impact is refused; an arm whose motors hold it needs no contact."""
    n = robot.nv
    flying = robot.neutral()
    flying[2] = 3.0
    free = robot.linearize(flying, np.zeros(n), np.zeros(n))
    for contact in (GROUND, SPRINGS):
        A, B = robot.linearize(flying, np.zeros(n), np.zeros(n), contact=contact)
        assert_close(A, free.A, CONVERGED, 100.0)
        assert_close(B, free.B, CONVERGED, 100.0)
    falling = np.eye(n)[5] * -1.0
    with pytest.raises(DalembertError, match="before or after the impact"):
        robot.linearize(standing(robot, GROUND).q, falling, np.zeros(n), contact=GROUND)
    arm = load("ur5")
    held = arm.equilibrium(arm.neutral(), contact=Contact(ground=-5.0))
    assert_close(held.tau, arm.gravity(arm.neutral()), RECURSION, 100.0)
