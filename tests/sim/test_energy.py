"""The energy ledger adds up: for every element, and over a million steps where the integrator promises it."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, Robot, elements, load, math
from tolerances import COARSE_RUN, DEFAULT_RUN, INTEGRATED, ITERATED, MILLISECOND_STEPS
from trees import random_model, random_state

DRIFT = 5e-4  # of an integrator of low order over seconds


def free_arm() -> Robot:
    builder = ModelBuilder("arm", gravity=(0.0, 0.0, 0.0))
    for k in range(3):
        builder.add_body(
            f"link{k}",
            parent=f"link{k - 1}" if k else "world",
            joint="revolute",
            joint_name=f"joint{k}",
            axis=(0, 1, 0),
            xyz=(0.5 if k else 0.0, 0, 0),
            mass=1.0,
            com=(0.25, 0, 0),
            inertia=np.diag([0.001, 0.02, 0.02]),
        )
    return builder.build()


@pytest.mark.parametrize("integrator", ["implicit-midpoint", "variational"])
def test_energy_stays_bounded_over_a_million_steps(integrator: str) -> None:
    run = free_arm().simulate([0.0, 0.5, -0.5], [1.0, -2.0, 3.0], 1e4, integrator=integrator, step=1e-2, record=10.0)
    drift = np.abs(run.energy.residual)
    assert run.steps == 1_000_000
    assert drift.max() < DRIFT * run.energy.kinetic[0]
    assert drift[-200:].max() < 1.5 * drift[:200].max()


UR5 = {
    "spring": [elements.Spring("shoulder_pan_joint", 20.0, 0.3, 2.0), elements.Spring("elbow_joint", 50.0)],
    "damper": [elements.Damper("elbow_joint", 1.0)],
    "backlash": [elements.Backlash("shoulder_pan_joint", 0.2, 50.0, 1.0)],
    "friction": [
        elements.Friction("elbow_joint", 1.0, 1.5, 0.1, stribeck_speed=0.1, stiffness=1e3, bristle_damping=1.0)
    ],
    "motor": [elements.Motor("elbow_joint", 5.0, 10.0, gear=20.0, rotor_inertia=1e-4)],
    "flexible": [elements.FlexibleJoint("shoulder_lift_joint", 500.0, 1.0, 1.0, backlash=0.01, viscous=0.1)],
    "points": [
        elements.PointSpring("tool0", "world", 50.0, 0.3, damping=2.0, other_point=(0.5, 0.5, 0.5)),
        elements.PointSpring("tool0", "forearm_link", 50.0),
    ],
    "soft": [elements.SoftLimit("shoulder_lift_joint", 1e4, 0.5, lower=-1.2, upper=-0.8)],
    "hard": [
        elements.HardStop("shoulder_lift_joint", 0.5, lower=-1.2, upper=-0.8),
        elements.HardStop("elbow_joint", 0.5, lower=0.5, upper=1.5),
    ],
    "drag": [elements.Drag("tool0", area=0.5, wind=(3.0, 0.0, 0.0), angular=0.1, linear=0.2)],
    "thruster": [elements.Thruster("tool0", lambda t: 10.0 * math.sin(3.0 * t), axis=(1.0, 1.0, 0.0))],
    "gravity": [elements.CentralGravity(100.0, (0.0, 0.0, 5.0))],
    "field": [elements.GravityField(lambda p: np.array([-p[1], p[0], 0.0]))],
}
STATE = np.array([0.0, -1.0, 1.0, 0.0, 0.5, 0.0]), np.zeros(6)


def torque(t, q, v):
    return np.array([2.0 * math.sin(2.0 * t + k) for k in range(4)] + [0.0, 0.0])


@pytest.mark.parametrize("name", UR5)
def test_every_element_balances(name: str) -> None:
    robot = load("ur5")
    run = robot.simulate(*STATE, 0.5, torque, elements=UR5[name], rtol=1e-9, atol=1e-11)
    bare = robot.simulate(*STATE, 0.5, torque)
    assert np.abs(run.q[-1] - bare.q[-1]).max() > 1e-4  # it does something
    assert np.abs(run.energy.residual).max() < INTEGRATED * run.energy.scale
    for label, heat in run.energy.heat.items():
        assert np.all(np.diff(heat) > -ITERATED), f"{label} gave back heat"
    assert not run.audit().relative > 1e-6


@pytest.mark.parametrize("seed", [2, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2))])
def test_joint_effects_of_random_trees_balance(seed: int) -> None:
    model = random_model(seed, n_bodies=5, coupled=seed == 2)
    q, v, _ = random_state(np.random.default_rng(seed), model)
    run = Robot(model).simulate(q, v, 0.3, torque=0.1 * np.ones(model.nv), rtol=1e-10, atol=1e-12)
    assert np.abs(run.energy.residual).max() < DEFAULT_RUN * run.energy.scale
    assert any(name.startswith("damping") for name in run.energy.heat)
    assert any(name.startswith("friction") for name in run.energy.heat)
    assert sum(name.startswith("actuator") for name in run.energy.work) == model.nv


def test_the_ledger_follows_work_and_heat_with_every_integrator() -> None:
    robot = load("2r")
    for integrator in ("heun", "rk4", "implicit-midpoint", "variational", "semi-implicit", "implicit-velocity"):
        run = robot.simulate(
            [0.3, 0.2], [0.0, 0.0], 1.0, np.array([0.3, 0.1]), integrator, 1e-4,
            elements=[elements.Damper(joint.name, 0.05) for joint in robot.joints],
        )  # fmt: skip
        assert np.abs(run.energy.residual).max() < MILLISECOND_STEPS * run.energy.scale, integrator


def test_audit_tells_which_step_would_do() -> None:
    robot = load("2r")
    rough = robot.simulate([0.3, 0.2], [0.0, 0.0], 2.0, integrator="rk4", step=0.05, record=0.1)
    verdict = rough.audit()
    assert "rk4 is of order 4" in verdict.text and verdict.relative > 1e-6
    step = float(verdict.text.split("a step of ")[1].split(" s")[0])
    fine = robot.simulate([0.3, 0.2], [0.0, 0.0], 2.0, integrator="rk4", step=step, record=0.1)
    assert fine.audit().relative < COARSE_RUN
    assert "good" in robot.simulate([0.3, 0.2], [0.0, 0.0], 2.0).audit().text


def test_audit_names_the_accounts_that_moved() -> None:
    text = load("2r").simulate([0.3, 0.2], [0.0, 0.0], 0.1, np.array([1.0, 0.0])).audit().text
    assert "actuator shoulder: " in text and "actuator elbow" not in text and "1 more account: 0 J put in" in text


def test_a_point_damper_takes_its_damping_third() -> None:
    robot = load("2r")
    q, v = np.array([0.3, 0.4]), np.array([1.0, -0.5])
    alone = robot.simulate(q, v, 0.2, elements=[elements.PointDamper("tool", "world", 5.0)])
    spring = robot.simulate(q, v, 0.2, elements=[elements.PointSpring("tool", "world", damping=5.0)])
    np.testing.assert_array_equal(alone.q, spring.q)
    assert alone.energy.heat["PointDamper(tool)"][-1] > 0.01 and np.abs(alone.energy.elastic).max() == 0.0


def test_numbers_of_elements_are_looked_at() -> None:
    robot = load("2r")
    for make, said in (
        (lambda: elements.Damper("elbow", "soft"), r"Damper\(elbow\): damping is 'soft', expected a number"),
        (lambda: elements.Spring("elbow", 1.0, rest=np.nan), "rest is nan"),
        (lambda: elements.Motor("elbow", 1.0, 0.0), "no_load_speed is 0.0, expected a number above 0"),
        (lambda: elements.FlexibleJoint("elbow", 1.0, 0.0), "inertia is 0.0, expected a number above 0"),
        (lambda: elements.Holonomic("path", lambda q: q[0], 2), r"Holonomic\(path\): function returned shape \(1,\)"),
    ):
        with pytest.raises(DalembertError, match=said):
            robot.simulate(np.zeros(2), np.zeros(2), 0.1, elements=[make()])


def test_elements_refuse_what_they_cannot_act_on() -> None:
    robot = load("quadruped")
    q, v = robot.neutral(), np.zeros(robot.nv)
    for element, said in (
        (elements.Spring("elbw", 1.0), "unknown joint 'elbw'"),
        (elements.Spring(robot.joints[0].name, 1.0), "expected one with a single"),
        (elements.PointSpring("nowhere", stiffness=1.0), "unknown frame 'nowhere'"),
        (elements.Damper(robot.joints[1].name, -1.0), "expected a number ≥ 0"),
        (elements.HardStop(robot.joints[1].name, 1.5, lower=-1.0), "restitution is 1.5"),
        ("spring", "expected force elements"),
    ):
        with pytest.raises(DalembertError, match=said):
            robot.simulate(q, v, 0.1, elements=[element])
