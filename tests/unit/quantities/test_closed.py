"""Robots with closed loops: linear models, modes, equilibria and inverse kinematics of what the loops leave free."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, Robot, SimulationError, load
from linkages import crossed, four_bar
from tolerances import COMPUTED, INTEGRATED, ITERATED, ROUGH_SLOPE, SOLVER_DEFAULT

R, L, M1, M2 = 0.3, 0.8, 2.0, 1.5  # crank and rod of a slider-crank [m], masses of rod end and slider [kg]


def slider_crank() -> Robot:
    """A massless crank with a mass M1 at its pin, a massless rod, a slider M2 on a spring of 50 N/m; in a plane."""
    builder = ModelBuilder("slider-crank", gravity=(0.0, 0.0, -9.81))
    thin = np.diag([1e-9, 1e-9, 1e-9])
    y = {"axis": (0, 1, 0)}
    builder.add_body("crank", parent="world", joint="revolute", mass=M1, com=(R, 0, 0), inertia=thin, **y)
    builder.add_body("rod", parent="crank", joint="revolute", xyz=(R, 0, 0), mass=1e-9, inertia=thin, **y)
    spring = {"stiffness": 50.0, "rest": 1.0}
    builder.add_body("slider", parent="world", joint="prismatic", axis=(1, 0, 0), mass=M2, inertia=thin, **spring)
    builder.add_closure("pin", "revolute", a="rod", b="slider", xyz_a=(L, 0, 0), **y)
    return builder.build()


def cut_elsewhere() -> Robot:
    """The same four-bar, opened at the rocker's pivot on the ground."""
    builder = ModelBuilder("four-bar, other cut", gravity=(0.0, 0.0, -9.8))
    from linkages import LINK

    turned = LINK | {"com": (-2, 0, 0)}  # of the rocker, seen from its upper end
    for name, parent, x, link in (("A", "world", 0.0, LINK), ("B", "A", 4.0, LINK), ("C", "B", 4.0, turned)):
        builder.add_body(
            name, parent=parent, joint="revolute", joint_name=f"joint_{name}", axis=(0, 1, 0), xyz=(x, 0, 0), **link
        )
    builder.add_closure("pivot", "revolute", a="world", b="C", xyz_a=(-2, 0, 0), xyz_b=(-4, 0, 0), axis=(0, 1, 0))
    return builder.build()


def slider_energy(s: np.ndarray) -> np.ndarray:
    """Potential energy [J] of the slider-crank by crank angle, downwards positive."""
    x = R * np.cos(s) + np.sqrt(L**2 - (R * np.sin(s)) ** 2)
    return -M1 * 9.81 * R * np.sin(s) + 25.0 * (x - 1.0) ** 2


def test_a_slider_crank_by_hand() -> None:
    """One freedom: U'(s) = 0 at rest, ω² = U'' / m(s), and B by virtual work."""
    robot = slider_crank()
    start = robot.close_loops([1.2, -1.5, 0.7], hold="crank").q
    assert start[0] == 1.2
    rest = robot.equilibrium(start)
    s, h = rest.q[0], 1e-4
    slope = (slider_energy(s + h) - slider_energy(s - h)) / (2 * h)
    bend = (slider_energy(s + h) - 2 * slider_energy(s) + slider_energy(s - h)) / h**2
    assert abs(slope) < INTEGRATED and bend > 0.0
    dx = -R * np.sin(s) - R**2 * np.sin(s) * np.cos(s) / np.sqrt(L**2 - (R * np.sin(s)) ** 2)
    inertia = M1 * R**2 + M2 * dx**2
    modes = robot.modes(rest.q)
    assert modes.frequencies == pytest.approx([np.sqrt(bend / inertia)], rel=ROUGH_SLOPE)
    assert modes.shapes[2, 0] / modes.shapes[0, 0] == pytest.approx(dx, rel=ITERATED)
    linear = robot.linearize(rest.q, np.zeros(3), np.zeros(3), coordinates="crank", actuated=["crank", "slider"])
    assert linear.coordinates == ("crank",) and linear.basis[:, 0] == pytest.approx([1.0, linear.basis[1, 0], dx])
    assert pytest.approx(np.array([[0.0, 1.0], [-bend / inertia, 0.0]]), rel=ROUGH_SLOPE, abs=COMPUTED) == linear.A
    assert pytest.approx(np.array([[0.0, 0.0], [1.0 / inertia, dx / inertia]]), rel=INTEGRATED) == linear.B
    again = pickle.loads(pickle.dumps(linear))
    assert again.coordinates == linear.coordinates and np.array_equal(again.basis, linear.basis)


def test_the_same_linkage_cut_elsewhere() -> None:
    """Where a loop is opened in the model changes nothing: equilibrium, modes, and the linear model of the crank."""
    one, two = four_bar(), cut_elsewhere()
    q1 = one.equilibrium(crossed(1.3)).q
    guess = np.array([q1[0], q1[1], q1[2] - q1[0] - q1[1]])
    q2 = two.equilibrium(two.close_loops(guess, hold="joint_A").q).q
    assert q2[:2] == pytest.approx(q1[:2], abs=10 * SOLVER_DEFAULT)
    assert two.modes(q2).frequencies == pytest.approx(one.modes(q1).frequencies, rel=10 * SOLVER_DEFAULT)
    q, v = one.close_loops(crossed(0.9), [0.7, 0.0, 0.0], hold="joint_A")
    w = np.array([q[0], q[1], q[2] - q[0] - q[1]])
    x, u = two.close_loops(w, [v[0], v[1], v[2] - v[0] - v[1]])
    tau = np.array([30.0, 0.0, 0.0])
    ours, theirs = (r.linearize(*state, tau, coordinates="joint_A") for r, state in ((one, (q, v)), (two, (x, u))))
    assert pytest.approx(ours.A, rel=SOLVER_DEFAULT) == theirs.A and theirs.B[:, 0] == pytest.approx(
        ours.B[:, 0], rel=SOLVER_DEFAULT
    )
    held = [r.modes(y, actuated="joint_A").eigenvalues for r, y in ((one, q), (two, x))]
    assert held[1] == pytest.approx(held[0], rel=10 * SOLVER_DEFAULT)


def test_a_linear_model_predicts_a_run() -> None:
    robot = load("delta")
    q, v = robot.close_loops(robot.neutral())
    tau = robot.loop_inverse_dynamics(q, v, v, actuated=["motor1", "motor2", "motor3"]).tau
    step, names = 0.01, ["motor1", "motor2", "motor3"]
    linear = robot.linearize(q, v, tau, step=step, coordinates=names, actuated=names)
    pushed = tau + 1e-4 * np.isin(robot.model.freedom_names, names)
    run = robot.simulate(q, v, step, pushed, record=step, rtol=1e-12, atol=1e-14)
    moved = [run.q[-1][robot.joint(name).q][0] - q[robot.joint(name).q][0] for name in names]
    assert linear.B[:3] @ np.full(3, 1e-4) == pytest.approx(moved, rel=10 * ROUGH_SLOPE)


def test_inverse_kinematics_closes_loops_and_meets_several_frames() -> None:
    robot = load("delta")
    platform = next(frame.name for frame in robot.frames if "platform" in frame.name or "tool" in frame.name)
    home = robot.close_loops(robot.neutral()).q
    target = robot.pose(home, platform)[:3, 3] + [0.02, -0.03, 0.01]
    found = robot.inverse_kinematics(target, platform, start=home)
    assert found.success and robot.pose(found.q, platform)[:3, 3] == pytest.approx(target, abs=10 * SOLVER_DEFAULT)
    assert robot.close_loops(found.q).q == pytest.approx(found.q, abs=10 * SOLVER_DEFAULT)
    with pytest.raises(DalembertError, match="loops open by"):
        robot.inverse_kinematics(target + np.array([0.0, 0.0, 5.0]), platform, start=home, starts=2)
    arm = load("panda")
    q = arm.random(np.random.default_rng(3))
    frames = (
        ["panda_link5", "panda_hand"]
        if any(f.name == "panda_hand" for f in arm.frames)
        else [arm.frames[5].name, arm.frames[-1].name]
    )
    targets = np.stack([arm.pose(q, name)[:3, 3] for name in frames])
    both = arm.inverse_kinematics(targets, frames)
    assert np.stack([arm.pose(both.q, name)[:3, 3] for name in frames]) == pytest.approx(
        targets, abs=10 * SOLVER_DEFAULT
    )
    batch = arm.inverse_kinematics(np.stack([targets, targets]), frames)
    assert batch.success.all() and batch.q.shape == (2, arm.nq)
    with pytest.raises(DalembertError, match=r"expected \(…, 2, 4, 4\)"):
        arm.inverse_kinematics(targets[0], frames)


def test_closures_by_edit_and_joints_that_are_held() -> None:
    chain = four_bar().without("loops")
    closed = chain.edit().add_closure("pin", "revolute", a="B", b="C", xyz_a=(4, 0, 0), xyz_b=(4, 0, 0), axis=(0, 1, 0))
    robot = closed.done()
    q, v, off = crossed(0.9), np.array([0.5, 0.0, 0.0]), np.array([0.0, 0.2, -0.1])
    state = robot.close_loops(q + off, v, hold="joint_A")
    assert state.q == pytest.approx(q, abs=SOLVER_DEFAULT) and state.q[0] == q[0] and state.v[0] == 0.5
    assert robot.loop_dynamics(q, state.v, v).a == pytest.approx(four_bar().loop_dynamics(q, state.v, v).a)
    with pytest.raises(SimulationError, match="or hold fewer joints"):
        robot.close_loops(q + off, hold=["joint_A", "joint_B", "joint_C"])
    with pytest.raises(DalembertError, match="there is already a closure"):
        closed.add_closure("pin", "point", a="B", b="world")
    with pytest.raises(DalembertError, match="both placement and xyz"):
        from dalembert.spatial import Pose

        builder = ModelBuilder("m")
        builder.add_body("a", parent="world", joint="ball", mass=1.0, inertia=np.eye(3))
        builder.add_closure("c", "point", a="world", b="a", xyz_a=(1, 0, 0), placement_a=Pose.identity())


def test_mistakes_are_told() -> None:
    robot = four_bar()
    q = crossed(0.9)
    with pytest.raises(DalembertError, match=r"loops of robot 'four-bar' are open by 0\.39"):
        robot.linearize(q + 0.1, np.zeros(3), np.zeros(3))
    with pytest.raises(DalembertError, match=r"are open by .* and open at [1-9]"):
        robot.linearize(q, [1.0, 0.0, 0.0], np.zeros(3))
    with pytest.raises(DalembertError, match="2 freedoms, and robot 'four-bar' has 1"):
        robot.linearize(q, np.zeros(3), np.zeros(3), coordinates=["joint_A", "joint_B"])
    with pytest.raises(DalembertError, match="no equilibrium without forces"):
        robot.modes(q)
    with pytest.raises(DalembertError, match="robots with loops take one state"):
        robot.linearize(np.stack([q, q]), np.zeros(3), np.zeros(3))
    with pytest.raises(DalembertError, match="has no loops"):
        load("2r").linearize([0, 0], [0, 0], [0, 0], coordinates="joint1")
