"""The chapters on the five documents: numbers with a second source, and a table that says where each is checked."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dalembert import ModelBuilder, elements, load, motion
from dalembert.mechanism import Cylinder, at_joint
from refs.printed import assert_decimals
from tolerances import COARSE_RUN, PRINTED, RECURSION, SETTLED, assert_close

ROOT = Path(__file__).parent.parent.parent
POSE = np.array([0.0, 0.5, -0.9, 0.4, 0.0])
UNACCOUNTED = 0.01  # [J] of the thousands that oil and weight exchange, with rk23


def test_every_number_names_a_check_that_exists():
    table = (ROOT / "docs" / "documents" / "index.md").read_text("utf-8").split("## Where each number is checked")[1]
    checks = re.findall(r"\| `([^`]+)` \|", table)
    assert len(checks) >= 20
    for check in checks:
        path, _, name = check.partition("::")
        text = (ROOT / path).read_text("utf-8")
        assert f"def {name}(" in text if name else "assert" in text, check


def test_torques_of_the_hydraulic_arm_are_those_of_pinocchio(tmp_path):
    """Along cubics through three points, as in figures 3 and 4."""
    pinocchio = pytest.importorskip("pinocchio")
    arm = load("hydraulic")
    arm.save(tmp_path / "arm.urdf")
    model = pinocchio.buildModelFromUrdf(str(tmp_path / "arm.urdf"))
    data = model.createData()
    offsets = np.array([[0, 0, 0, 0, 0], [0.4, 0.2, -0.1, -0.1, 0.2], [0.9, 0.0, 0.1, -0.1, 0.5]])
    samples = motion.via(POSE + offsets, [0.0, 2.5, 5.0]).sample(0.25)
    rigid = arm.without("friction", "damping", "armature", "springs")
    expected = [pinocchio.rnea(model, data, *state) for state in zip(samples.q, samples.v, samples.a, strict=True)]
    assert_close(rigid.inverse_dynamics(samples.q, samples.v, samples.a), expected, RECURSION)


def test_torques_of_the_ur5_are_those_of_pinocchio(tmp_path):
    """The quintic of example B with 5 kg at the tool."""
    pinocchio = pytest.importorskip("pinocchio")
    arm = load("ur5").edit().payload(5.0, frame="tool0").done()
    arm.save(tmp_path / "arm.urdf")
    model = pinocchio.buildModelFromUrdf(str(tmp_path / "arm.urdf"))
    q0 = np.array([0, -np.pi / 2, np.pi / 2, 0, np.pi / 2, 0])
    samples = motion.quintic(q0, q0 + 0.5, duration=1.0).sample(0.05)
    data = model.createData()
    expected = [pinocchio.rnea(model, data, *state) for state in zip(samples.q, samples.v, samples.a, strict=True)]
    assert_close(arm.inverse_dynamics(samples.q, samples.v, samples.a), expected, RECURSION)


def test_no_pose_of_the_panda_asks_for_more():
    """The worst gravity torque of joint 2 with 3 kg at the flange, 75.7 N·m, beside that of random poses."""
    arm = load("panda").edit().remove("panda_hand").payload(3.0, frame="panda_link8").done()
    shoulder = {row.joint: row for row in arm.sizing().rows}["panda_joint2"]
    assert_decimals(shoulder.gravity, 75.7, 1)
    q = arm.random(np.random.default_rng(0), 200_000)
    found = np.abs(arm.gravity(q)[:, 1])
    assert 0.95 * shoulder.gravity < found.max() <= shoulder.gravity
    room = (87.0 - found) / arm.mass_matrix(q)[:, 1, 1]
    assert shoulder.acceleration <= room.min() < 1.5 * shoulder.acceleration


def test_frames_of_jacobians_and_continuous_joints_in_pinocchio(tmp_path):
    pinocchio = pytest.importorskip("pinocchio")
    arm, q = load("ur5"), np.array([0.3, -1.0, 1.2, -0.6, 1.0, 0.2])
    arm.save(tmp_path / "arm.urdf")
    model = pinocchio.buildModelFromUrdf(str(tmp_path / "arm.urdf"))
    frames = (pinocchio.LOCAL_WORLD_ALIGNED, pinocchio.WORLD)
    at = [
        pinocchio.computeFrameJacobian(model, model.createData(), q, model.getFrameId("tool0"), frame)
        for frame in frames
    ]
    J, p = arm.jacobian(q, "tool0"), arm.pose(q, "tool0")[:3, 3]
    assert_close(at[0], np.vstack([J[3:], J[:3]]), RECURSION)  # linear part first there
    assert_close(at[1][:3], J[3:] - np.cross(J[:3].T, p).T, RECURSION)
    builder = ModelBuilder("wheel")
    builder.add_body("wheel", parent="world", joint="continuous", mass=1.0, inertia=np.eye(3))
    builder.build().save(tmp_path / "wheel.urdf")
    assert pinocchio.buildModelFromUrdf(str(tmp_path / "wheel.urdf")).nq == 2 and builder.build().nq == 1


def test_the_arm_swings_on_its_oil_as_in_scipy():
    """Constant piston speed, then a closed valve (figure 5), by the same pair of Runge-Kutta formulas."""
    integrate = pytest.importorskip("scipy.integrate")
    size = {"bore": 0.1, "rod": 0.05, "stroke": 0.6, "damping": 2e4, "hose": 2e-3}
    lift = Cylinder("lift", "lift_cylinder_base", "lift_cylinder_rod", **size, speed=0.05, closure=0.2)
    held = load("hydraulic").edit().lock(joint1=POSE[0], joint3=POSE[2], joint4=POSE[3], joint5=POSE[4]).done()
    held = held.without("friction", "damping")
    start = at_joint(held, POSE[1:2], lift, "joint2")

    def ends(q):
        return [held.pose(q, frame)[:3, 3] for frame in ("lift_cylinder_base", "lift_cylinder_rod")]

    def slope(t, y):
        q, v = y[:1], y[1:]
        base, rod = ends(q)
        along = (rod - base) / np.linalg.norm(rod - base)
        lever = along @ held.jacobian(q, "lift_cylinder_rod")[3:, 0]
        asked, flow = start.length + 0.05 * min(t, 0.2), 0.05 if t < 0.2 else 0.0
        push = -lift.stiffness * (np.linalg.norm(rod - base) - asked) - lift.damping * (lever * v[0] - flow)
        return np.concatenate([v, held.forward_dynamics(q, v, [lever * push])])

    y = np.array([POSE[1], start.rate])
    for span in ((0.0, 0.2), (0.2, 0.6)):  # a new integration at the jump
        y = integrate.solve_ivp(slope, span, y, "RK23", rtol=1e-6, atol=1e-9).y[:, -1]
    run = held.simulate(POSE[1:2], [start.rate], 0.6, elements=[lift], integrator="rk23", record=0.1)
    assert abs(run.q[-1, 0] - y[0]) < COARSE_RUN
    assert abs(run.v[-1, 0] - y[1]) < 10 * SETTLED * np.abs(run.v).max()


def test_all_joints_swing_on_their_oil_as_in_scipy():
    """Figure 5: τ = k (θ₀ − θ) − d θ̇ on all five joints from the moment at which the valves close."""
    integrate = pytest.importorskip("scipy.integrate")
    arm = load("hydraulic").without("friction", "damping")
    stiffness, rates = np.array([6e5, 1.3e6, 7e5, 1.2e5, 1.5e4]), np.array([0.3, 0.25, -0.3, -0.2, 0.4])
    damping, rest = 3e-3 * stiffness, POSE + arm.gravity(POSE) / stiffness

    def slope(t, y):
        q, v = y[:5], y[5:]
        return np.concatenate([v, arm.forward_dynamics(q, v, stiffness * (rest - q) - damping * v)])

    expected = integrate.solve_ivp(slope, (0.0, 0.3), [*POSE, *rates], "RK23", rtol=1e-8, atol=1e-10).y[:5, -1]
    numbers = zip(range(1, 6), stiffness, rest, damping, strict=True)
    oil = [elements.Spring(f"joint{j}", *each) for j, *each in numbers]
    run = arm.simulate(POSE, rates, 0.3, elements=oil, integrator="rk23", record=0.1, rtol=1e-8, atol=1e-10)
    assert_close(run.q[-1], expected, COARSE_RUN)


def test_the_arm_turns_evenly_until_the_valve_closes():
    """Figure 5: the oil carries the weight from the start; without that preload the arm swings before the closure."""
    size = {"bore": 0.1, "rod": 0.05, "stroke": 0.6, "damping": 2e4, "hose": 2e-3}
    held = load("hydraulic").edit().lock(joint1=POSE[0], joint3=POSE[2], joint4=POSE[3], joint5=POSE[4]).done()
    held, q = held.without("friction", "damping"), POSE[1:2]

    def swing(preload):
        lift = Cylinder(
            *("lift", "lift_cylinder_base", "lift_cylinder_rod"), **size, speed=0.05, closure=0.2, preload=preload
        )
        seen = at_joint(held, q, lift, "joint2")
        run = held.simulate(q, [seen.rate], 0.6, elements=[lift], integrator="rk23", record=0.02)
        off = np.abs(run.v[:, 0] / seen.rate - 1)
        return seen.lever, off[run.t < 0.19].max(), off[run.t > 0.21].max(), np.abs(run.energy.residual).max()

    lever, relaxed, _, _ = swing(0.0)
    _, before, after, residual = swing(held.gravity(q)[0] / lever)
    assert before < 0.03 < 0.3 < relaxed and after > 0.5
    assert residual < UNACCOUNTED


@pytest.mark.parametrize(("factor", "survives"), [(0.98, True), (1.02, False)])
def test_the_longest_stable_step_of_a_spring(factor, survives):
    """10⁴ N·m/rad on 10⁻³ kg·m²: 3162 rad/s, so semi-implicit steps of 2/ω = 0.632 ms and no more."""
    builder = ModelBuilder("spring", gravity=(0, 0, 0))
    builder.add_body("link", parent="world", joint="revolute", mass=0.1, inertia=np.diag([1e-3] * 3), stiffness=1e4)
    robot = builder.build()
    advice = robot.step_advice([0.0])
    assert advice.frequency == pytest.approx(3162.3, rel=PRINTED) and advice.stable == pytest.approx(
        0.632e-3, rel=10 * PRINTED
    )
    end = robot.rollout([1e-3], [0.0], step=factor * advice.stable, steps=2000, check=False)
    assert bool((np.abs(end.q) < 1).all()) == survives
