"""Actuators as drives: 1000 steps driven by controls, the same as MuJoCo's mj_step, with each of its integrators.

Without contact and limits: those are MuJoCo's constraints, which are switched off there.
"""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import integrators, load
from peers.example_robots import peer
from peers.mjcf_twin import wheel
from tolerances import COMPUTED, INTEGRATED

mj = peer("mujoco")

AGREEMENT = 1e-10  # beside the largest number, after 1000 steps
STEPS, STEP = 1000, 1e-3
SAME = {
    "semi-implicit-damped": "mjINT_EULER",
    "implicit-fast": "mjINT_IMPLICITFAST",
    "implicit-velocity": "mjINT_IMPLICIT",
    "rk4": "mjINT_RK4",
}
OFF = ("CONTACT", "LIMIT", "FRICTIONLOSS", "EQUALITY")

ARM = """<mujoco model="arm"><option timestep="0.001"/><worldbody><site name="ground" pos="0 0 0"/>
<body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" damping="0.1" stiffness="2"/>
 <inertial pos=".2 0 0" mass="1" diaginertia=".01 .02 .02"/><site name="on upper" pos=".1 0 .05"/>
<body name="fore" pos=".4 0 0"><joint name="elbow" axis="0 1 0" armature=".02" FORCES/>
 <inertial pos=".1 0 0" mass=".5" diaginertia=".01 .01 .01"/><site name="on fore" pos=".1 0 .05"/>
<body name="hand" pos=".2 0 0"><joint name="wrist" type="slide" axis="1 0 1" damping="3"/>
 <inertial pos="0 0 .1" mass=".2" diaginertia=".01 .02 .01"/>
 <site name="tip" pos="0 .02 .1" euler="20 30 40"/>
<body name="ball" pos=".1 0 .1"><joint name="gimbal" type="ball" damping=".02" armature=".001"/>
 <inertial pos=".01 0 .05" mass=".1" diaginertia=".002 .003 .001"/></body>
</body></body></body></worldbody>
<tendon><fixed name="both"><joint joint="shoulder" coef=".5"/><joint joint="wrist" coef="-2"/></fixed>
<spatial name="wire"><site site="ground"/><site site="on upper"/><site site="on fore"/></spatial></tendon>
<actuator>ACTUATOR</actuator></mujoco>"""

ACTUATORS = {
    "motor": '<motor joint="shoulder" gear="3" ctrlrange="-.5 .5" ctrllimited="true"/>',
    "position": '<position joint="shoulder" kp="40" kv="3" gear="2" forcerange="-5 6"/>',
    "velocity": '<velocity joint="wrist" kv="4"/>',
    "damper": '<damper joint="shoulder" kv="2" ctrlrange="0 1"/>',
    "general": '<general joint="wrist" gaintype="affine" gainprm="1 2 -3" biastype="affine" biasprm=".1 -.2 -.3"/>',
    "integrator": '<intvelocity joint="shoulder" kp="30" kv="2" actrange="-1 1"/>',
    "filter": '<general joint="shoulder" dyntype="filter" dynprm=".05" gainprm="4"/>',
    "filterexact": '<general joint="shoulder" dyntype="filterexact" dynprm=".05" gainprm="4"/>',
    "saturated": '<general joint="shoulder" dyntype="integrator" gainprm="4" actlimited="true" actrange="-.02 .02"/>',
    "joint limit": '<motor joint="elbow" gear="3"/><position joint="elbow" kp="9"/>',
    "tendon": '<position tendon="both" kp="30" kv="2"/>',
    "wire": '<position tendon="wire" kp="40" kv="4" gear="-1"/>',
    "site": '<general site="tip" gear="1 2 3 .1 .2 .3"/>',
    "site against": '<position site="tip" refsite="on upper" gear="0 0 1 0 0 0" kp="40" kv="3"/>',
    "turned against": '<position site="tip" refsite="on upper" gear="0 0 0 0 1 0" kp="2" kv=".3"/>',
    "ball": '<position joint="gimbal" gear="1 2 .5 0 0 0" kp=".3" kv=".02"/>',
    "several": '<position joint="shoulder" kp="50" kv="4"/><motor joint="wrist"/><velocity joint="elbow" kv="2"/>',
}
FILES = (
    "dm_control/locomotion/soccer/assets/boxhead/boxhead.xml",
    "dm_control/mjcf/test_assets/robot_arm.xml",
    "dm_control/mujoco/testing/assets/model_with_third_order_actuators.xml",
    "dm_control/suite/walker.xml",
    "gymnasium_robotics/envs/assets/hand/reach.xml",
    "gymnasium_robotics/envs/mujoco/assets/swimmer.xml",
    "robosuite/models/assets/grippers/bd_gripper.xml",
    "robosuite/models/assets/robots/panda/robot.xml",
)


def stepped(m, integrator: str, q: np.ndarray, v: np.ndarray, controls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's q and v after as many steps as there are rows of controls."""
    m.opt.integrator, m.opt.timestep = getattr(mj.mjtIntegrator, SAME[integrator]), STEP
    for flag in OFF:
        m.opt.disableflags |= getattr(mj.mjtDisableBit, f"mjDSBL_{flag}")
    d = mj.MjData(m)
    d.qpos[:], d.qvel[:] = q, v
    for row in controls:
        d.ctrl[:] = row
        mj.mj_step(m, d)
    return d.qpos.copy(), d.qvel.copy()


def commands(robot, seed: int) -> np.ndarray:
    """Rows of controls (steps, nu) that swing, one frequency for each actuator."""
    rng = np.random.default_rng(seed)
    rate, phase = rng.uniform(2.0, 9.0, (2, len(robot.actuators)))
    return 0.7 * np.sin(rate * np.arange(STEPS)[:, None] * STEP + phase)


def assert_same(ours: np.ndarray, theirs: np.ndarray) -> None:
    assert np.abs(ours - theirs).max() <= AGREEMENT * max(1.0, np.abs(theirs).max())


@pytest.mark.parametrize("integrator", SAME)
@pytest.mark.parametrize("kind", ACTUATORS)
def test_each_kind_of_actuator(kind: str, integrator: str) -> None:
    if kind in ("filterexact", "saturated") and integrator == "rk4":
        pytest.skip(
            "MuJoCo takes the solution of the filter, and limits of activations, only at the end of an RK4 step"
        )
    # while these limits cut a force, MuJoCo's implicit integrators go by the slope without them
    limited = 'actuatorfrcrange="-1.5 2.5"' if kind == "joint limit" or not integrator.startswith("implicit") else ""
    text = ARM.replace("FORCES", limited).replace("ACTUATOR", ACTUATORS[kind])
    m, robot = mj.MjModel.from_xml_string(text), load(text)
    rng = np.random.default_rng(3)
    q, v = robot.random(rng), 0.3 * rng.normal(size=robot.nv)
    q[:3] *= 0.2
    controls = commands(robot, 5)
    theirs = stepped(m, integrator, q, v, controls)
    ours = robot.rollout(q, v, controls=controls, step=STEP, steps=STEPS, integrator=integrator)
    assert_same(ours.q, theirs[0])
    assert_same(ours.v, theirs[1])
    without = robot.rollout(q, v, step=STEP, steps=STEPS, integrator=integrator)
    assert np.abs(ours.q - without.q).max() > 1e-3  # the actuator does something


@pytest.mark.parametrize("integrator", SAME)
@pytest.mark.parametrize("path", FILES)
def test_files_of_other_projects(path: str, integrator: str) -> None:
    m = mj.MjModel.from_xml_path(str(wheel(path)))
    robot = load(wheel(path), mimic="free").without("friction", "loops")
    assert len(robot.actuators) == m.nu and not np.any(m.jnt_type == mj.mjtJoint.mjJNT_FREE)
    q, v = 0.1 * np.random.default_rng(1).normal(size=(2, robot.nv)) + [m.qpos0, np.zeros(robot.nv)]
    low, high = np.where(m.actuator_ctrllimited[:, None], m.actuator_ctrlrange, [-1.0, 1.0]).T
    share = 0.5 if any(actuator.is_servo for actuator in robot.actuators) else 0.01  # motors at full force race away
    controls = 0.5 * (low + high) + share * (high - low) * commands(robot, 2)
    theirs = stepped(m, integrator, q, v, controls)
    ours = robot.rollout(q, v, controls=controls, step=STEP, steps=STEPS, integrator=integrator, friction="smooth")
    assert_same(ours.q, theirs[0])
    assert_same(ours.v, theirs[1])


SWIMMER = """<mujoco><option density="1000" viscosity=".5" wind=".3 -.2 .1"/><worldbody>
<body name="a" pos="0 0 1" gravcomp=".7"><joint name="one" type="slide" axis="1 0 0"/>
<joint name="two" axis="0 1 0" damping=".1"/><geom type="box" size=".05 .1 .2" pos=".1 0 0" FLUID/>
<body name="b" pos=".3 0 0"><joint name="three" type="ball" damping=".01"/>
<geom type="capsule" size=".03 .2" pos=".1 .02 .1" euler="30 20 10" density="700" FLUID/>
<body name="c" pos="0 0 .4" gravcomp="1.5"><joint name="four" axis="1 1 0"/>
<geom type="ellipsoid" size=".02 .2 .1" FLUID/></body></body></body></worldbody>
<actuator><position joint="four" kp="3" kv=".1"/><motor joint="two"/></actuator></mujoco>"""


@pytest.mark.parametrize("integrator", SAME)
@pytest.mark.parametrize("fluid", ["", 'fluidshape="ellipsoid"', 'fluidshape="ellipsoid" fluidcoef=".3 .4 1.2 .8 .9"'])
def test_fluids_and_balanced_gravity(fluid: str, integrator: str) -> None:
    text = SWIMMER.replace("FLUID", fluid)
    m, robot = mj.MjModel.from_xml_string(text), load(text)
    rng = np.random.default_rng(4)
    q, v, controls = robot.random(rng), rng.normal(size=robot.nv), commands(robot, 6)
    theirs = stepped(m, integrator, q, v, controls)
    ours = robot.rollout(q, v, controls=controls, step=STEP, steps=STEPS, integrator=integrator)
    assert_same(ours.q, theirs[0])
    assert_same(ours.v, theirs[1])
    dry = robot.without("surroundings").rollout(q, v, controls=controls, step=STEP, steps=STEPS, integrator=integrator)
    assert np.abs(ours.v - dry.v).max() > 0.1


def test_a_ledger_in_a_fluid_adds_up() -> None:
    for fluid in ("", 'fluidshape="ellipsoid"'):
        robot = load(SWIMMER.replace("FLUID", fluid))
        rng = np.random.default_rng(4)
        run = robot.simulate(robot.random(rng), rng.normal(size=robot.nv), 0.5)
        assert np.abs(run.energy.residual).max() < INTEGRATED
        assert run.energy.heat["Fluid"][-1] > 0.1


LOOSE = """<mujoco model="loose"><option timestep="0.001"/><worldbody><body name="trunk" pos="0 0 1"><freejoint/>
<inertial pos=".02 .01 -.03" mass="4" diaginertia=".03 .05 .06"/>
<body name="arm" pos=".2 0 0"><joint name="shoulder" axis="0 1 0" damping=".2"/>
 <inertial pos=".1 0 0" mass=".8" diaginertia=".004 .006 .005"/>
<body name="hand" pos=".2 0 0"><joint name="gimbal" type="ball" damping=".02" armature=".001"/>
 <inertial pos="0 .01 -.1" mass=".3" diaginertia=".002 .003 .001"/></body></body>
<body name="leg" pos="-.2 0 0"><joint name="slide" type="slide" axis="1 0 1" damping="2"/>
 <inertial pos="0 0 -.1" mass=".5" diaginertia=".003 .003 .001"/></body></body></worldbody>
<actuator><position joint="shoulder" kp="30" kv="2"/><position joint="slide" kp="200" kv="5"/></actuator></mujoco>"""


@pytest.mark.parametrize("integrator", SAME)
def test_a_free_base(integrator: str) -> None:
    """Its linear velocity is along world axes there, and changes along them here as well."""
    m, robot = mj.MjModel.from_xml_string(LOOSE), load(LOOSE)
    q = robot.neutral()
    qvel = np.array([0.5, -0.3, 2.0, 1.0, -2.0, 1.5, 0.2, 0.3, -0.4, 0.5, 0.6])
    v = np.concatenate([qvel[3:6], qvel[:3], qvel[6:]])  # the base is not turned
    controls = commands(robot, 4)
    theirs = stepped(m, integrator, q, qvel, controls)
    method = integrators.MUJOCO["RK4"] if integrator == "rk4" else integrator  # "rk4" moves it by screws
    ours = robot.rollout(q, v, controls=controls, step=STEP, steps=STEPS, integrator=method)
    assert_same(ours.q, theirs[0])


SPINNING = """<mujoco><option timestep="0.001" FLUID/><worldbody>
<body pos="0 0 1"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia=".1 .2 .25"/></body>
<body pos="3 0 0"><joint type="free" damping=".4"/><inertial pos=".3 -.2 .1" euler="20 30 40" mass="1"
 diaginertia=".1 .2 .25"/><body pos=".1 .2 .3"><inertial pos="0 .1 0" mass=".5" diaginertia=".01 .02 .025"/>
</body></body>
<body pos="6 0 0"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia=".1 .2 .25"/>
<body><joint/><inertial pos=".3 -.2 .1" mass="1" diaginertia=".1 .2 .25"/></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize("integrator", ["implicit-fast", "implicit-velocity"])
@pytest.mark.parametrize("fluid", ["", 'density="100" viscosity=".3"'])
def test_free_bodies_that_spin(fluid: str, integrator: str) -> None:
    """One alone, one with a welded part, off its centre and damped, and one with a joint on it."""
    text, steps = SPINNING.replace("FLUID", fluid), 100
    m, robot = mj.MjModel.from_xml_string(text), load(text)
    q = robot.neutral()
    qvel = 3.0 * np.random.default_rng(1).normal(size=m.nv)
    v = qvel.copy()  # the bodies are not turned
    for at in (0, 6, 12):
        v[at : at + 6] = np.roll(qvel[at : at + 6], 3)
    theirs = stepped(m, integrator, q, qvel, np.zeros((steps, 0)))
    ours = robot.rollout(q, v, np.zeros(robot.nv), step=STEP, steps=steps, integrator=integrator)
    assert np.abs(ours.q - theirs[0]).max() <= COMPUTED


TENDONS = """<tendon><fixed name="sum" stiffness="40" damping="2" springlength="-.1 .05">
<joint joint="shoulder" coef="1"/><joint joint="slide" coef="-2"/></fixed>
<spatial name="wire" stiffness="90" damping="3"><site site="on arm"/>
<site site="on leg"/></spatial></tendon><actuator>"""


def test_tendons_with_springs_and_dampers() -> None:
    """Its implicit integrators leave out the damping between limbs, which is there here."""
    integrator = "semi-implicit-damped"
    text = LOOSE.replace("<actuator>", TENDONS)
    for body, site in (("arm", "on arm"), ("leg", "on leg")):
        place = text.index("<inertial", text.index(f'<body name="{body}"'))
        text = f'{text[:place]}<site name="{site}" pos=".05 .02 -.04"/>{text[place:]}'
    m, robot = mj.MjModel.from_xml_string(text), load(text)
    q, v = robot.neutral(), np.zeros(robot.nv)
    controls = commands(robot, 4)
    theirs = stepped(m, integrator, q, v, controls)
    ours = robot.rollout(q, v, controls=controls, step=STEP, steps=STEPS, integrator=integrator)
    assert_same(ours.q, theirs[0])
    run = robot.simulate(q, v, 0.1, controls=controls[0], step=STEP, integrator=integrator)
    assert {"tendon sum", "tendon wire"} <= set(run.energy.heat)
