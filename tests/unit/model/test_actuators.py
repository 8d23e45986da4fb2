"""Actuators and keyframes: read from MJCF, kept through edits and files, used by hand as MuJoCo uses them."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, load
from tolerances import DEFAULT_RUN, PRODUCT, assert_close

FIRST_ORDER = 0.03  # a fast servo with steps of 1 ms of first order

mujoco = pytest.importorskip("mujoco")

ARM = """<mujoco model="arm"><option timestep="0.001"/><worldbody>
<body name="base" pos="0 0 1"><freejoint name="root"/><inertial pos="0 0 0" mass="2" diaginertia=".1 .1 .1"/>
<body name="upper"><joint name="shoulder" axis="0 1 0" damping="0.1"/>
 <inertial pos=".2 0 0" mass="1" diaginertia=".01 .02 .02"/>
<body name="fore" pos=".4 0 0"><joint name="elbow" type="slide" axis="1 0 0" armature=".02"/>
 <inertial pos=".1 0 0" mass=".5" diaginertia=".01 .01 .01"/>
<body name="hand" pos=".2 0 0"><joint name="wrist" type="ball"/>
 <inertial pos="0 0 .1" mass=".2" diaginertia=".01 .01 .01"/>
</body></body></body></body></worldbody>
<actuator><position name="servo" joint="shoulder" kp="40" kv="3" gear="2" ctrlrange="-1 1" forcerange="-5 6"/>
<motor joint="elbow" gear="-7" ctrlrange="-2 2" ctrllimited="true"/>
<velocity name="spin" joint="shoulder" kv="4"/>
<general name="odd" joint="elbow" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm=".1 .2 .3"/>
<motor name="gimbal" joint="wrist" gear="0 1 0 0 0 0"/></actuator>
<keyframe><key name="home" qpos="1 2 3 0.7071067811865476 0 0.7071067811865476 0 .5 .1 1 0 0 0"
 qvel="1 2 3 .4 .5 .6 .7 .8 .9 1 1.1"/><key name="start"/><key name="bad" qpos="1 2"/></keyframe></mujoco>"""


@pytest.fixture(scope="module")
def robot():
    return load(ARM)


def forces(robot, control, q, v):
    """Generalised forces (nv,) of the actuators on joints with one coordinate, each with its command."""
    tau = np.zeros(robot.nv)
    for actuator, u in zip(robot.actuators, control, strict=False):
        joint = robot.joint(actuator.joint)
        tau[joint.v] += actuator.force(actuator.limited(u), q[joint.q][0], v[joint.v][0])
    return tau


def test_forces_are_those_of_mujoco(robot):
    assert [actuator.name for actuator in robot.actuators] == ["servo", "elbow", "spin", "odd", "gimbal"]
    assert [actuator.is_servo for actuator in robot.actuators] == [True, False, True, True, False]
    m = mujoco.MjModel.from_xml_string(ARM.replace('<key name="bad" qpos="1 2"/>', ""))
    d = mujoco.MjData(m)
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v = robot.random(rng), rng.normal(size=robot.nv)
        control = rng.normal(size=5) * 3.0
        control[4] = 0.0
        d.qpos[:], d.qvel[:], d.ctrl[:] = q, 0.0, control
        shoulder, elbow = robot.joint("shoulder"), robot.joint("elbow")
        d.qvel[6], d.qvel[7] = v[shoulder.v][0], v[elbow.v][0]
        mujoco.mj_forward(m, d)
        tau = forces(robot, control[:4], q, v)
        assert_close([tau[shoulder.v][0], tau[elbow.v][0]], d.qfrc_actuator[6:8], PRODUCT)


def test_keyframes_are_states(robot):
    q, v = robot.keyframes["home"]
    m = mujoco.MjModel.from_xml_string(ARM.replace('<key name="bad" qpos="1 2"/>', ""))
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_forward(m, d)
    hand = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_BODY, "hand")
    assert_close(robot.pose(q, "hand")[:3, 3], d.xpos[hand], PRODUCT)
    twist = np.zeros(6)
    mujoco.mj_objectVelocity(m, d, mujoco.mjtObj.mjOBJ_XBODY, hand, twist, 0)
    assert_close(robot.velocity(q, v, "hand"), twist, 10 * PRODUCT)
    assert_close(robot.keyframes["start"].q[:3], [0, 0, 1], PRODUCT)
    assert list(robot.keyframes) == ["home", "start"]
    assert any("has 2 and 11 numbers, expected 13" in finding.what for finding in robot.import_log)


def test_a_round_trip(robot, tmp_path):
    robot.save(tmp_path / "arm.xml")
    again = load(tmp_path / "arm.xml")
    for one, two in zip(robot.actuators, again.actuators, strict=True):
        assert (one.name, one.joint, one.dynamics) == (two.name, two.joint, two.dynamics)
        for field in ("gear", "gain", "bias", "control_limits", "force_limits"):
            assert np.array_equal(getattr(one, field), getattr(two, field))
    for name, state in robot.keyframes.items():
        assert_close(again.keyframes[name].q, state.q, PRODUCT)
        assert_close(again.keyframes[name].v, state.v, PRODUCT)
    notes = robot.save(tmp_path / "arm.sdf", approximate=True)
    assert any("actuator" in note.what for note in notes) and any("keyframe" in note.what for note in notes)


def test_edits_keep_what_they_can(robot):
    held = robot.edit().lock(shoulder=0.3).rename({}, joints={"elbow": "slide"}).done()
    assert [(actuator.name, actuator.joint) for actuator in held.actuators] == [
        ("elbow", "slide"),
        ("odd", "slide"),
        ("gimbal", "wrist"),
    ]
    q, _ = held.keyframes["home"]
    assert q[held.joint("slide").q] == robot.keyframes["home"].q[robot.joint("elbow").q]
    turned = robot.edit().reroot("hand").done()
    wrist = turned.joint("wrist")
    assert_close(turned.pose(turned.keyframes["home"].q, "fore")[3], [0, 0, 0, 1], PRODUCT)
    assert wrist.name == "wrist"
    assert robot.model == load(ARM).model


def test_mistakes_are_named():
    b = ModelBuilder("m")
    b.add_body("a", parent="world", joint="revolute", mass=1.0, com=(0.1, 0, 0))
    b.add_body("b", parent="a", joint="ball", mass=1.0, inertia=np.eye(3))
    with pytest.raises(DalembertError, match="unknown argument 'gearing'"):
        b.add_actuator("m", "a", gearing=3)
    with pytest.raises(DalembertError, match=r"gear is 1.0|joint 'b' has 3 freedoms"):
        b.add_actuator("m", "b")
    with pytest.raises(DalembertError, match="unknown joint 'c'"):
        b.add_actuator("m", "c")
    with pytest.raises(DalembertError, match="swap them"):
        b.add_actuator("m", "a", force_limits=(1, -1))
    with pytest.raises(DalembertError, match=r"q of joint 'b' is .*, expected 4 finite"):
        b.add_keyframe("k", {"b": (1, 0)})
    b.add_keyframe("k", {"a": 0.2})
    with pytest.raises(DalembertError, match="already one of that name"):
        b.add_keyframe("k", {})


DRIVEN = """<mujoco model="driven"><worldbody><site name="ground"/>
<body name="a"><joint name="one" axis="0 1 0" actuatorfrcrange="-2 3"/><geom size=".1" pos=".3 0 0"/>
<site name="elbow" pos=".5 0 .1"/>
<body name="b" pos=".5 0 0"><joint name="two" type="slide" axis="1 0 0"/><geom size=".1"/><site name="tip"/></body>
</body></worldbody><tendon><fixed name="sum"><joint joint="one" coef="1"/><joint joint="two" coef="-2"/></fixed>
<spatial name="wire"><site site="ground"/><site site="elbow"/><site site="tip"/></spatial></tendon>
<actuator><position name="a" tendon="sum" kp="3"/><motor name="b" tendon="wire" gear="2"/>
<general name="c" site="tip" refsite="elbow" gear="1 2 3 4 5 6" dyntype="integrator" actlimited="true" actrange="-1 2"/>
</actuator></mujoco>"""


def test_transmissions_survive_files_and_names(tmp_path):
    robot = load(DRIVEN)
    robot.save(tmp_path / "driven.xml")
    again = load(tmp_path / "driven.xml")
    q, v, u = [0.3, 0.2], [0.1, -0.4], [0.5, 1.0, 0.7]
    ends = [each.rollout(q, v, controls=u, steps=100) for each in (robot, again)]
    assert_close(ends[0].q, ends[1].q, PRODUCT)
    assert again.model.joint_force_limits[0] == ("one", -2.0, 3.0)
    other = robot.edit().rename({"tip": "end"}, joints={"one": "first"}, prefix="").done()
    assert other.actuators[0].tendon == (("first", 1.0), ("two", -2.0))
    assert other.actuators[1].path == ("ground", "elbow", "end") and other.actuators[2].site == "end"
    assert other.model.joint_force_limits[0].joint == "first"
    assert_close(other.rollout(q, v, controls=u, steps=100).q, ends[0].q, PRODUCT)


def test_every_way_of_stepping_agrees():
    """Simulate, rollout and stepper take the same steps, with rows, functions and activations."""
    robot = load(DRIVEN)
    q, v, u = np.array([0.3, 0.2]), np.array([0.1, -0.4]), np.array([0.5, 1.0, 0.7])
    options = {"step": 1e-3, "integrator": "implicit-fast"}
    run = robot.simulate(q, v, 0.1, controls=lambda t, q, v: u, record=0.1, **options)
    rows = robot.rollout(q, v, controls=np.tile(u, (100, 1)), steps=100, **options)
    stepper = robot.stepper(1e-3, "implicit-fast", inputs="controls")
    x, w, z = q, v, stepper.start(q, v)
    for _ in range(100):
        x, w, z = stepper(x, w, u, z)
    assert_close(run.q[-1], rows.q, 100 * PRODUCT)
    assert_close(x, rows.q, 100 * PRODUCT)
    assert_close(run.states[-1], z, 100 * PRODUCT)
    assert z[0] == pytest.approx(0.07)  # an integrator of 0.7 over 0.1 s
    assert run.tau[:, 0].max() <= 3.0 and run.tau[:, 0].min() >= -2.0
    accurate = robot.simulate(q, v, 0.1, controls=u)
    assert np.abs(accurate.energy.residual).max() < DEFAULT_RUN
    assert_close(accurate.q[-1], run.q[-1], FIRST_ORDER)


def test_what_cannot_be_driven_is_told():
    robot = load(DRIVEN)
    with pytest.raises(DalembertError, match="got both torque and controls"):
        robot.simulate([0, 0], [0, 0], 0.1, torque=[0, 0], controls=[0, 0, 0])
    with pytest.raises(DalembertError, match=r"controls has shape \(2,\), expected \(3,\)"):
        robot.simulate([0, 0], [0, 0], 0.1, controls=[0, 0])
    with pytest.raises(DalembertError, match=r"controls has shape \(2,\), expected \(…, 3\)"):
        robot.rollout([0, 0], [0, 0], controls=[0, 0], steps=3)
    with pytest.raises(DalembertError, match="no actuators for controls to drive"):
        load("2r").rollout([0, 0], [0, 0], controls=[0, 0], steps=3)
    with pytest.raises(DalembertError, match="states of their own: write q, v, z"):
        robot.stepper(inputs="controls")([0.1, 0.0], [0, 0], [0, 0, 0])
    muscle = load(DRIVEN.replace('<motor name="b" tendon="wire" gear="2"/>', '<muscle name="b" tendon="wire"/>'))
    assert [actuator.name for actuator in muscle.actuators] == ["a", "b", "c"]
    with pytest.raises(DalembertError, match=r"actuator 'b' .* cannot be driven: its gain is of type muscle"):
        muscle.simulate([0.1, 0], [0, 0], 0.1, controls=[0, 0, 0])
    log = robot.simulate([0.1, 0], [0, 0], 0.01).log
    assert any("the 3 of the model are off" in line for line in log)
    assert any("torque acts in their place" in line for line in robot.simulate([0.1, 0], [0, 0], 0.01, [0, 0]).log)
