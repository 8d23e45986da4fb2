"""FMUs for co-simulation in fmpy beside `rollout`: inputs, stops, friction, contact, parameters, saved states."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, load, robots
from dalembert.shapes import Sphere
from fmu.importer import Instance, co_simulated, names_of, signal
from tolerances import ITERATED, REORDERED, assert_close

pytest.importorskip("fmpy")

STEP = 1e-3
VERSIONS = pytest.mark.parametrize("version", ["2.0", "3.0"])


def pendulum():
    builder = ModelBuilder("pendulum <&\"'")
    builder.add_body(
        "bob", parent="world", joint="revolute", joint_name="hinge <b>&\"'é", axis=(0.0, 1.0, 0.0), mass=1.0,
        com=(0.0, 0.0, -0.5), inertia=1e-3 * np.eye(3), lower=-0.6, upper=0.8,
    )  # fmt: skip
    return builder.build()


def problems(path):
    from fmpy.validation import validate_fmu

    return validate_fmu(str(path))


@VERSIONS
def test_a_pendulum_between_stops(tmp_path, version):
    robot = pendulum()
    options = {"q": [0.5], "v": [3.5], "elements": robot.stops(0.6)}
    (path,) = robot.export("simulate", "fmu", tmp_path, version=version, **options)
    assert problems(path) == []
    got = co_simulated(path, robot, 1500)
    want = robot.rollout([0.5], [3.5], step=STEP, steps=1500, every=1, elements=robot.stops(0.6))
    assert_close(got, np.concatenate([want.q, want.v], 1), ITERATED)
    assert want.q.max() > 0.79 and want.q.min() < -0.59


def test_a_ball_that_slides_and_rolls_with_another_friction(tmp_path):
    builder = ModelBuilder("ball")
    builder.add_body("ball", parent="world", joint="free", joint_name="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry(Sphere(0.1), body="ball", role="collision")
    robot, contact = builder.build(), Contact(friction=0.4)
    q, v = np.array([0.0, 0.0, 0.13, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, 5.0, 0.0, 0.5, 0.2, 0.0])
    (path,) = robot.export("simulate", "fmu", tmp_path, contact=contact, q=q, v=v, live="contact_friction")
    assert problems(path) == []
    got = co_simulated(path, robot, 500, start_values={"contact_friction": 0.05})
    own = {"contact_friction": np.array([0.05])}
    want = robot.rollout(q, v, None, STEP, 500, every=1, contact=contact, parameters=own)
    assert_close(got, np.concatenate([want.q, want.v], 1), ITERATED)
    assert want.q[-1, 2] < 0.11


@pytest.mark.long
@VERSIONS
def test_an_arm_with_dry_friction_under_inputs(tmp_path, version):
    robot = load("ur5")
    robot = robot.edit().set_joint("elbow_joint", friction=2.0).done()
    q, n = np.array([0.3, -1.2, 1.4, -0.8, -1.2, 0.2]), 300
    bias = robot.gravity(q)
    tau = np.array([bias + np.sin(0.02 * k + np.arange(6)) * [5.0, 5.0, 5.0, 0.5, 0.5, 0.2] for k in range(n)])
    (path,) = robot.export("simulate", "fmu", tmp_path / "arm.fmu", version=version, q=q, sensors=["tool0"])
    assert problems(path) == []
    got = co_simulated(path, robot, n, input=signal([f"tau.{x}" for x in robot.model.freedom_names], tau, STEP))
    want = robot.rollout(q, np.zeros(6), tau, STEP, n, every=1)
    assert_close(got, np.concatenate([want.q, want.v], 1), ITERATED)
    assert np.ptp(want.q, axis=0).max() > 0.05


@pytest.mark.long
@VERSIONS
def test_a_robot_with_legs_in_contact(tmp_path, version):
    robot = load("quadruped")
    q, n, rng = robot.neutral(), 400, np.random.default_rng(0)
    q[2], q[7:] = 0.44, 0.1 * rng.normal(size=12)  # where legs are alike, rounding decides ties of the solver
    options = {"contact": Contact()}
    tau = np.zeros((n, robot.nv))
    tau[:, 6:] = 2.0 * np.sin(0.05 * np.arange(n))[:, None] + rng.normal(size=12)
    (path,) = robot.export("simulate", "fmu", tmp_path / "legs.fmu", version=version, q=q, **options)
    assert problems(path) == []
    got = co_simulated(path, robot, n, input=signal([f"tau.{x}" for x in robot.model.freedom_names], tau, STEP))
    want = robot.rollout(q, np.zeros(robot.nv), tau, STEP, n, every=1, **options)
    assert_close(got, np.concatenate([want.q, want.v], 1), ITERATED)
    assert want.q[-1, 2] < 0.42


@VERSIONS
def test_parameters_starts_outputs_and_saved_states(tmp_path, version):
    robot = load("2r").without("friction")
    sensors = {"tip": "tool", "sum": lambda t, q, v: q[0] + q[1]}
    options = {"live": ("gravity", "damping", "payload"), "sensors": sensors}
    (path,) = robot.export("simulate", "fmu", tmp_path / "arm.fmu", version=version, **options)
    assert problems(path) == []
    start = {"q.shoulder": 0.4, "q.elbow": -0.3, "v.shoulder": 1.0}
    own = {"gravity.x": 0.0, "gravity.y": 0.0, "gravity.z": -3.7, "damping.shoulder": 0.0, "damping.elbow": 0.2}
    instance = Instance(path, tmp_path / "unpacked", start=start | own | {"payload": 0.5})
    q, v = np.array([0.4, -0.3]), np.array([1.0, 0.0])
    loaded = robot.edit().payload(0.5, frame="tool").done()
    assert_close(instance.get("energy.kinetic"), [loaded.kinetic_energy(q, v)], REORDERED)
    assert_close(instance.get("tip.position.x", "tip.position.z"), robot.pose(q, "tool")[[0, 2], 3], REORDERED)
    assert_close(instance.get("tip.rotation.y", "tip.velocity.x"), robot.velocity(q, v, "tool")[[1, 3]], REORDERED)
    assert_close(instance.get("sum"), [0.1], REORDERED)
    live = {"gravity": [0.0, 0.0, -3.7], "damping": [0.0, 0.2], "payload": [0.5]}
    want = robot.rollout(q, v, np.array([0.0, 1.5]), STEP, 60, every=1, parameters=live)
    early, late = ([*want.q[k], *want.v[k]] for k in (19, 59))
    instance.set({"tau.elbow": 1.5})
    instance.step(0.0, 20 * STEP)
    assert_close(instance.get(*names_of(robot)), early, ITERATED)
    saved = instance.fmu.getFMUState()
    instance.step(20 * STEP, 40 * STEP)
    assert_close(instance.get(*names_of(robot)), late, ITERATED)
    instance.fmu.setFMUState(instance.fmu.deserializeFMUState(instance.fmu.serializeFMUState(saved)))
    assert_close(instance.get(*names_of(robot)), early, ITERATED)
    instance.step(20 * STEP, 40 * STEP)
    assert_close(instance.get(*names_of(robot)), late, ITERATED)
    for refused in ({"tau.elbow": np.nan}, {"q.elbow": 0.0}, {"energy.kinetic": 1.0}):
        with pytest.raises(Exception, match="Set"):
            instance.set(refused)
    with pytest.raises(Exception, match="DoStep"):
        instance.step(60 * STEP, 0.4 * STEP)
    instance.fmu.freeFMUState(saved)
    instance.close()


def test_controls_of_actuators_and_their_states(tmp_path):
    builder = ModelBuilder("motor")
    builder.add_body("rotor", parent="world", joint="continuous", joint_name="shaft", mass=1.0, inertia=0.1 * np.eye(3))
    builder.add_actuator("servo", joint="shaft", dynamics="filter", time_constant=0.05, gain=(2.0, 0.0, 0.0))
    robot = builder.build()
    (path,) = robot.export("simulate", "fmu", tmp_path / "motor.fmu", controls=True)
    assert problems(path) == []
    rows = np.sin(0.05 * np.arange(200))[:, None]
    got = co_simulated(path, robot, 200, input=signal(["control.servo"], rows, STEP))
    want = robot.rollout([0.0], [0.0], step=STEP, steps=200, every=1, controls=rows)
    assert_close(got, np.concatenate([want.q, want.v], 1), ITERATED)
    assert np.abs(want.v).max() > 0.1


def test_a_law_that_runs_at_a_rate_is_part_of_the_fmu(tmp_path):
    from dalembert import control

    robot = load("2r")
    law = control.pid(robot, [0.6, -0.4], period=2e-3, delay=1e-3)
    (path,) = robot.export("simulate", "fmu", tmp_path / "loop.fmu", torque=law)
    assert problems(path) == []
    got = co_simulated(path, robot, 300)
    want = robot.rollout([0.0, 0.0], [0.0, 0.0], law, STEP, 300, every=1)
    assert_close(got, np.concatenate([want.q, want.v], 1), ITERATED)
    assert want.q[-1, 0] > 0.3


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in robots() if name != "humanoid"])
def test_every_bundled_robot(tmp_path, name):
    robot, rng = load(name), np.random.default_rng(1)
    q, v = robot.random(rng), 0.3 * rng.normal(size=robot.nv)
    if robot.model.closures:
        q, v = robot.close_loops(robot.neutral(), 0.1 * v)
    (path,) = robot.export("simulate", "fmu", tmp_path / "robot.fmu", version="3.0", q=q, v=v)
    assert problems(path) == []
    want = robot.rollout(q, v, None, STEP, 50, every=1)
    assert_close(co_simulated(path, robot, 50), np.concatenate([want.q, want.v], 1), ITERATED)
