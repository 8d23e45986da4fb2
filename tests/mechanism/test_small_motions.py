"""Springs, dampers, loads and actuators in linear models, modes, equilibria and inverse dynamics: closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, Mechanism, elements
from dalembert.mechanism import at_joint, mechanism
from tolerances import COMPUTED, INTEGRATED, ITERATED, SOLVER_DEFAULT

G = 9.81


def carts(damping: float = 0.0) -> Mechanism:
    """Two carts of 2 kg between walls, three springs of 50 N/m."""
    m = Mechanism("carts", gravity=(0, 0, 0))
    for k, name in enumerate(("left", "right")):
        m.body(name, 2.0, [0.01] * 3, xyz=(1.0 + k, 0, 0))
        m.joint("prismatic", "ground.origin", f"{name}.origin", name=name, axis=(1, 0, 0))
    m.ground(wall=(3, 0, 0))
    m.spring("ground.origin", "left.origin", stiffness=50.0, length=1.0, damping=damping)
    m.spring("left.origin", "right.origin", stiffness=50.0, length=1.0, damping=damping)
    m.spring("right.origin", "ground.wall", stiffness=50.0, length=1.0, damping=damping)
    return m


@pytest.mark.parametrize("coordinates", ["tree", "free"])
def test_two_carts_vibrate_as_the_textbook_says(coordinates: str) -> None:
    robot = carts(damping=0.4).build(coordinates)
    modes = robot.modes(robot.start[0])
    np.testing.assert_allclose(modes.frequencies, np.sqrt([50.0 / 2.0, 3 * 50.0 / 2.0]), rtol=ITERATED)
    np.testing.assert_allclose(modes.damping, 0.4 / 50.0 * modes.frequencies / 2.0, rtol=10 * SOLVER_DEFAULT)


def swing(length: float = 0.5, stiffness: float = 30.0) -> Mechanism:
    """A tray of 3 kg on two parallel arms of 1 kg, with a torsion spring in one pivot: one freedom, one loop."""
    m = Mechanism("swing", gravity=(0, -G, 0))
    m.ground(A=(0, 0), B=(1, 0))
    for arm, foot in (("left", "A"), ("right", "B")):
        m.body(arm, 1.0, 0.02, com=(0, -length / 2), points={"tip": (0, -length)})
        m.joint("revolute", f"ground.{foot}", f"{arm}.origin", name=foot)
    m.body("tray", 3.0, 0.1, points={"left": (-0.5, 0), "right": (0.5, 0)})
    m.joint("revolute", "left.tip", "tray.left", name="C")
    m.joint("revolute", "tray.right", "right.tip", name="D")
    m.spring("A", stiffness=stiffness, name="torsion")
    return m


def test_a_linkage_vibrates_on_its_spring_and_weight() -> None:
    robot = swing().build()
    L, inertia = 0.5, 2 * (0.02 + 1.0 * 0.25**2) + 3.0 * 0.5**2
    stiffness = 30.0 + G * (2 * 1.0 * L / 2 + 3.0 * L)
    modes = robot.modes(robot.start[0])
    np.testing.assert_allclose(modes.frequencies, [np.sqrt(stiffness / inertia)], rtol=SOLVER_DEFAULT)
    linear = robot.linearize(robot.start[0], np.zeros(robot.nv), np.zeros(robot.nv))
    np.testing.assert_allclose(np.sort(np.linalg.eigvals(linear.A).imag)[-1], modes.frequencies[0], rtol=SOLVER_DEFAULT)


def test_an_arm_at_speed_is_linearised_with_its_springs() -> None:
    """Against differences of the acceleration that a run begins with."""
    m = Mechanism("arm")
    m.body("arm", 2.0, [0.02, 0.03, 0.04], com=(0.1, 0, 0.02), points={"tip": (0.4, 0.1, 0.0)})
    m.joint("revolute", "ground.origin", "arm.origin", axis=(0, 1, 0), name="shoulder")
    m.body("hand", 1.0, [0.01, 0.02, 0.015], com=(0.1, 0.05, 0.2))
    m.joint("spherical", "arm.tip", "hand.origin", name="wrist")
    m.ground(hook=(0.3, 0.4, 0.5))
    m.spring("hand.com", "ground.hook", stiffness=40.0, length=0.2, damping=3.0)
    m.motor("shoulder", lambda t, x, rate: 2.0 - 0.5 * rate * x)
    robot = m.build()
    q, v, tau = robot.integrate(robot.start[0], 0.3 * np.arange(1.0, 5.0)), np.array([0.5, -1.0, 2.0, 0.7]), np.ones(4)

    def acceleration(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return robot.forward_dynamics(q, v, tau + robot.element_forces(q, v))

    A = robot.linearize(q, v, tau).A
    h, unit = 1e-6, np.eye(4)
    dq = [
        (acceleration(robot.integrate(q, h * u), v) - acceleration(robot.integrate(q, -h * u), v)) / (2 * h)
        for u in unit
    ]
    dv = [(acceleration(q, v + h * u) - acceleration(q, v - h * u)) / (2 * h) for u in unit]
    np.testing.assert_allclose(A[4:, :4], np.transpose(dq), atol=2 * INTEGRATED)
    np.testing.assert_allclose(A[4:, 4:], np.transpose(dv), atol=2 * INTEGRATED)
    run = robot.simulate(q, v, 1e-6, tau, integrator="euler", step=1e-6, record=None)
    np.testing.assert_allclose((run.v[1] - run.v[0]) / 1e-6, acceleration(q, v), rtol=INTEGRATED)
    batch = robot.linearize(np.stack([q, q]), np.stack([v, 0 * v]), tau)
    np.testing.assert_allclose(batch.A[0], A, rtol=COMPUTED, atol=COMPUTED)


@pytest.mark.parametrize("coordinates", ["tree", "free"])
def test_a_weight_sags_on_its_spring(coordinates: str) -> None:
    m = Mechanism("scale").body("pan", 4.0, [0.01] * 3)
    m.joint("prismatic", "ground.origin", "pan.origin", name="guide")
    m.spring("guide", stiffness=800.0, name="spring").force("pan.com", (0.0, 0.0, -10.0))
    robot = m.build(coordinates)
    found = robot.equilibrium(robot.start[0])
    assert robot.pose(found.q, "pan.origin")[2, 3] == pytest.approx(-(4.0 * G + 10.0) / 800.0, rel=ITERATED)
    np.testing.assert_allclose(robot.modes(found.q).frequencies, [np.sqrt(800.0 / 4.0)], rtol=ITERATED)


def test_equilibrium_of_a_linkage_balances_spring_and_weight() -> None:
    m = swing()
    m.motor("B", 4.0, name="motor")
    robot = m.build()
    angle = robot.equilibrium(robot.start[0]).q[robot.joint("A").q][0]
    assert angle > 0.05
    assert 30.0 * angle + G * 2.0 * np.sin(angle) == pytest.approx(4.0, rel=ITERATED)


def test_efforts_of_cylinders_are_weight_by_lever() -> None:
    robot = mechanism("excavator").build()
    q, still = robot.start[0], np.zeros(robot.nv)
    names = ["boom cylinder", "stick cylinder", "bucket cylinder"]
    efforts = robot.efforts(q, still, still, names)
    by_joint = robot.efforts(q, still, still, ["boom", "stick", "bucket"]).tau
    for k in range(2):  # the bucket's goes through a four-bar: its lever is that of the joint that it turns
        lever = at_joint(robot, q, robot.mechanism.elements[names[k]], ("boom", "stick")[k]).lever
        assert efforts.tau[k] * lever == pytest.approx(by_joint[k], rel=SOLVER_DEFAULT)
    assert len(efforts.multipliers) == sum(closure.count for closure in robot.model.closures)
    with pytest.raises(DalembertError, match="'boom cylinder' cannot cause this motion"):
        robot.efforts(q, still, still, "boom cylinder")
    with pytest.raises(DalembertError, match="unknown actuator 'boom cylnder'"):
        robot.efforts(q, still, still, "boom cylnder")


def test_efforts_reproduce_what_a_motor_did() -> None:
    m = swing()
    m.motor("B", lambda t, x, rate: 3.0 - rate, name="motor").damper("D", damping=0.2)
    robot = m.build()
    q, v = robot.start
    v = robot.close_loops(q, np.eye(robot.nv)[0]).v
    a = robot.loop_dynamics(q, v, robot.element_forces(q, v)).a
    speed = v[robot.joint("B").v][0]
    np.testing.assert_allclose(robot.efforts(q, v, a, "motor").tau, [3.0 - speed], rtol=ITERATED)
    both = robot.efforts(np.stack([q, q]), np.stack([v, v]), np.stack([a, a]), "motor")
    np.testing.assert_allclose(both.tau[:, 0], 3.0 - speed, rtol=ITERATED)


def test_what_is_more_than_a_force_is_refused_by_name() -> None:
    m = carts()
    m.element(elements.Friction("left", 1.0, 1.0, stiffness=1e4))
    robot = m.build()
    with pytest.raises(DalembertError, match=r"'Friction\(left\)' of mechanism 'carts' has states of its own"):
        robot.modes(robot.start[0])
    m = carts().element(elements.HardStop("left"))
    m._joints["left"].values["upper"] = 2.0
    robot = m.build()
    with pytest.warns(UserWarning, match=r"HardStop\(left\)' of mechanism 'carts': stops and dry"):
        robot.modes(robot.start[0])
