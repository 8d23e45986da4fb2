"""Sensors of MJCF files beside MuJoCo's sensordata of the same states, and accelerations of runs and rollouts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dalembert import Contact, DalembertError, Robot, load, load_run
from dalembert.formats.mjcf.reader import read_mjcf
from tolerances import COMPUTED, INTEGRATED, RECURSION, SOLVER_DEFAULT

mujoco = pytest.importorskip("mujoco")

THING = """<mujoco model="thing"><option timestep="0.001" gravity="0.3 -0.2 -9.7"><flag energy="enable"/></option>
<worldbody><site name="fix" pos="0.1 0.2 0.3" euler="10 20 30"/>
<body name="base" pos="0 0 1"><freejoint name="root"/><geom type="box" size=".2 .1 .05" mass="3"/>
 <site name="imu" pos=".05 .02 .01" euler="20 30 -40"/>
 <body name="arm" pos=".2 0 0"><joint name="sh" axis="0 1 0" damping=".2"/>
  <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" mass=".7"/><site name="wrist" pos=".1 0.01 0" euler="5 6 7"/>
  <body name="hand" pos=".3 0 0"><joint name="el" axis="0 0 1" stiffness="3"/>
   <geom name="palm" type="box" size=".05 .03 .02" pos=".04 0 0" mass=".3"/>
   <site name="tip" pos=".1 0 .02"/></body></body>
 <body name="head" pos="0 0 .1"><joint name="neck" type="ball"/><geom size=".06" pos="0 0 .07" mass=".5"/></body>
</body></worldbody>
<actuator><motor name="m1" joint="sh" gear="2"/><position name="m2" joint="el" kp="4" gear="1.5"/></actuator>
<sensor><accelerometer name="acc" site="imu"/><gyro site="imu"/><velocimeter site="imu"/>
<force name="f" site="wrist"/><torque name="tq" site="wrist"/>
<force name="f2" site="tip"/><torque name="t2" site="tip"/>
<jointpos joint="sh"/><jointvel joint="el"/><ballquat joint="neck"/><ballangvel joint="neck"/>
<actuatorpos actuator="m2"/><actuatorvel actuator="m1"/><actuatorfrc actuator="m1"/><actuatorfrc actuator="m2"/>
<jointactuatorfrc joint="sh"/><framepos objtype="site" objname="tip"/>
<framepos objtype="body" objname="hand" reftype="site" refname="imu"/><framequat objtype="xbody" objname="hand"/>
<framequat objtype="geom" objname="palm" reftype="body" refname="arm"/>
<framexaxis objtype="site" objname="tip" reftype="site" refname="fix"/><framezaxis objtype="body" objname="hand"/>
<framelinvel objtype="site" objname="tip"/><framelinvel objtype="site" objname="tip" reftype="xbody" refname="arm"/>
<frameangvel objtype="body" objname="hand" reftype="site" refname="imu"/><framelinacc objtype="site" objname="tip"/>
<framelinacc objtype="body" objname="hand"/><frameangacc objtype="xbody" objname="hand"/><subtreecom body="arm"/>
<subtreelinvel body="arm"/><subtreeangmom body="base"/><clock/><accelerometer name="cut" site="imu" cutoff="3"/>
<e_kinetic/><e_potential/><framepos objtype="site" objname="fix"/></sensor></mujoco>"""

BOX = """<mujoco model="box"><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 .1" {0}/>
<body name="box" pos="0 0 0.0999"><freejoint/><geom name="shell" type="box" size=".1 .1 .1" mass="2" {0}/>
 <site name="imu" euler="90 0 0"/><site name="sole" type="box" size=".12 .12 .02" pos="0 0 -.1"/>
 <site name="roof" type="box" size=".12 .12 .02" pos="0 0 .1"/>
 <body name="lid" pos="0 0 .1"><joint name="slide" type="slide" axis="0 0 1" stiffness="900" damping="20"/>
  <geom type="box" size=".05 .05 .01" pos="0 0 .02" mass=".5" contype="0" conaffinity="0"/><site name="joint"/></body>
</body></worldbody><sensor><accelerometer name="acc" site="imu"/><touch name="sole" site="sole"/>
<touch name="roof" site="roof"/><force name="force" site="joint"/><touch name="most" site="sole" cutoff="3"/></sensor>
</mujoco>"""


def robot_of(text):
    model, log = read_mjcf(text)
    return Robot(model, log)


def mujoco_readings(model, robot, t, q, v, ctrl):
    """MuJoCo's sensordata of a state of a robot with one floating body, by name of the sensor's number."""
    data = mujoco.MjData(model)
    R = robot.pose(q, robot.bodies[-1].name if robot.bodies[0].name == "world" and robot.nv == 6 else _floating(robot))
    data.time, data.qpos[:], data.qvel[:] = t, q, v
    data.qvel[:3], data.qvel[3:6] = R[:3, :3] @ v[3:6], v[:3]
    if model.nu:
        data.ctrl[:] = ctrl
    for _ in range(2):  # the energy is one call behind
        mujoco.mj_forward(model, data)
    return [data.sensordata[a : a + n].copy() for a, n in zip(model.sensor_adr, model.sensor_dim, strict=True)]


def _floating(robot):
    return next(body.child for body in robot.joints if body.kind == "free")


def test_every_kind_equals_mujocos():
    robot, model = robot_of(THING), mujoco.MjModel.from_xml_string(THING)
    rng = np.random.default_rng(1)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    run = robot.simulate(q, v, 0.2, controls=lambda t, q, v: [0.5 + t, 0.3], record=0.05)
    assert len(run.sensors) == model.nsensor == 36
    for k, t in enumerate(run.t):
        theirs = mujoco_readings(model, robot, t, run.q[k], run.v[k], [0.5 + t, 0.3])
        for (name, ours), x in zip(run.sensors.items(), theirs, strict=True):
            y = np.atleast_1d(ours[k])
            y = y if "quat" not in name or x @ y > 0 else -y
            assert np.abs(x - y).max() <= 10 * RECURSION * (1.0 + np.abs(x).max()), name
    assert np.abs(run.sensors["cut"]).max() == 3.0


def test_contact_of_mujocos_model_equals_mujocos():
    """On the way down and at rest: what the ground pushes is part of accelerations, forces and touch."""
    text = BOX.format("")
    robot, model = robot_of(text), mujoco.MjModel.from_xml_string(text)
    q = np.array([0, 0, 0.12, 1.0, 0, 0, 0, 0])
    run = robot.simulate(q, np.zeros(7), 0.3, contact=Contact(model="mujoco", pairs="file"), record=0.02)
    for k, t in enumerate(run.t):
        theirs = mujoco_readings(model, robot, t, run.q[k], run.v[k], None)
        for (name, ours), x in zip(run.sensors.items(), theirs, strict=True):
            np.testing.assert_allclose(np.atleast_1d(ours[k]), x, atol=SOLVER_DEFAULT * 100, err_msg=f"{name} at {t}")
    assert run.sensors["sole"].max() > 20 and run.sensors["roof"].max() == 0.0 and run.sensors["most"].max() == 3.0


@pytest.mark.parametrize("model", ["rigid", "mujoco", pytest.param("compliant", marks=pytest.mark.long)])
def test_at_rest_an_accelerometer_reads_gravity_and_touch_the_weight(model):
    robot = robot_of(BOX.format(""))
    contact = Contact(model=model, pairs="file") if model == "mujoco" else Contact(model=model, ground=0.0)
    q = np.array([0, 0, 0.1, 1.0, 0, 0, 0, -0.5 * 9.81 / 900])
    run = robot.simulate(q, np.zeros(7), 1.5, contact=contact, record=0.1)
    acceleration = {name: x[-1] for name, x in run.sensors.items()}
    np.testing.assert_allclose(acceleration["acc"], [0.0, 9.81, 0.0], atol=RESTING)  # the site's y points up
    np.testing.assert_allclose(acceleration["sole"], 2.5 * 9.81, rtol=RESTING)
    np.testing.assert_allclose(acceleration["force"], [0.0, 0.0, 0.5 * 9.81], atol=RESTING)
    np.testing.assert_allclose(run.a[-1], 0.0, atol=RESTING)


RESTING = 0.005  # what is left of the motion after 1.5 s


def test_accelerations_are_rates_of_velocities():
    robot = load("2r")
    run = robot.simulate([0.3, 0.4], np.ones(2), 0.2, lambda t, q, v: -0.1 * v, rtol=1e-11, atol=1e-13, record=1e-3)
    np.testing.assert_allclose(run.a, robot.forward_dynamics(run.q, run.v, run.tau), rtol=COMPUTED, atol=COMPUTED * 100)
    slopes = (run.v[2:] - run.v[:-2]) / 2e-3
    assert np.abs(run.a[1:-1] - slopes).max() < 100 * INTEGRATED * np.abs(run.a).max()


def test_runs_of_called_laws_and_pickled_ones():
    robot = load("2r")

    def called(t, q, v):
        return [float(np.sin(float(q[0]))), 0.0]

    run = robot.simulate([0.3, 0.4], [0.0, 0.0], 0.05, called, integrator="rk4", step=1e-3)
    expected = robot.forward_dynamics(run.q, run.v, np.stack([np.sin(run.q[:, 0]), np.zeros(len(run.t))], 1))
    np.testing.assert_allclose(run.a, expected, atol=COMPUTED * 100)
    assert run.sensors == {}
    plain = robot.simulate([0.3, 0.4], [0.0, 0.0], 0.05)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(plain.accelerations))(), plain.a)


def test_a_loaded_run_has_none(tmp_path):
    load("2r").simulate([0.3, 0.4], [0.0, 0.0], 0.05).save(tmp_path / "run.npz")
    with pytest.raises(DalembertError, match="no accelerations"):
        _ = load_run(tmp_path / "run.npz").a
    assert load_run(tmp_path / "run.npz").sensors == {}


ROWS = np.linspace(0.0, 1.0, 20).reshape(10, 2)


@pytest.mark.parametrize("times", [1, 4])  # planned, and ready
def test_accelerations_of_rollouts(times):
    robot, q, v = load("2r"), np.array([0.3, 0.4]), np.array([0.1, 0.2])
    gains, qs = np.array([[1.0], [2.0]]), np.array([[0.3, 0.4], [0.1, 0.2]])
    for _ in range(times):
        motion = robot.rollout(q, v, ROWS[0], steps=10, every=2)
        rows = robot.rollout(qs, v, ROWS[None], steps=10, every=2)
        law = robot.rollout(qs, v, _law, steps=10, parameters={"k": gains})
    for a, expected in (
        (motion.a, robot.forward_dynamics(motion.q, motion.v, ROWS[0])),
        (rows.a, robot.forward_dynamics(rows.q, rows.v, ROWS[[2, 4, 6, 8, 9]])),
        (law.a, robot.forward_dynamics(law.q, law.v, 0.01 - gains * law.q)),
    ):
        np.testing.assert_allclose(a, expected, atol=COMPUTED * 100)


def _law(t, q, v, k):
    return t - k[0] * q


def test_a_resting_box_does_not_accelerate_in_rollouts():
    robot = robot_of(BOX.format(""))
    q = np.array([0, 0, 0.1, 1.0, 0, 0, 0, -0.5 * 9.81 / 900])
    motion = robot.rollout(q, np.zeros(7), step=2e-3, steps=500, contact=Contact(ground=0.0))
    np.testing.assert_allclose(motion.a, 0.0, atol=RESTING)


def test_edits_keep_sensors_that_still_have_a_place():
    robot = robot_of(THING)
    count = len(robot.model.sensors)
    assert len(robot.edit().payload(1.0, frame="hand").done().model.sensors) == count
    kept = robot.edit().lock(sh=0.0, el=0.0).done().model.sensors
    assert 0 < len(kept) < count and not any(s.joint in ("sh", "el") for s in kept)
