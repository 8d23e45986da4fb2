"""The same MJCF file here and in MuJoCo: with `Contact(model="mujoco")` a motion made here is the motion made there."""

import numpy as np

import dalembert

FILE = """<mujoco><option timestep="0.002" cone="elliptic" impratio="10"/><worldbody>
<geom name="floor" type="plane" size="2 2 0.1" friction="0.7 0.01 0.001"/>
<body name="cart" pos="0 0 0.15"><freejoint/><geom name="cart" type="box" size="0.2 0.1 0.05"/>
  <body name="arm" pos="0.1 0 0.05"><joint name="hinge" axis="0 1 0" damping="0.02" frictionloss="0.01"/>
    <geom name="arm" type="capsule" fromto="0 0 0.02 0 0 0.3" size="0.02"/></body></body>
<body name="ball" pos="0.5 0 0.08"><freejoint/><geom name="ball" size="0.08" condim="6"/></body>
</worldbody></mujoco>"""
STEPS = 500

robot = dalembert.load(FILE)
q, v = robot.neutral(), np.zeros(robot.nv)
q[:3], q[8:11] = [0.0, 0.0, 0.15], [0.5, 0.0, 0.08]  # cart (7 numbers), hinge, ball (7)
v[3] = 2.5  # [m/s]: the cart slides towards the ball, and its arm falls
contact = dalembert.Contact(model="mujoco")
motion = robot.rollout(q, v, step=0.002, steps=STEPS, every=1, contact=contact)
print(f"{len(robot.joints)} joints; after {0.002 * STEPS:g} s the ball is at x = {motion.q[-1, 8]:.3f} m")

try:
    import mujoco
except ImportError:
    print("MuJoCo is not installed, so that nothing is compared: pip install mujoco")
else:
    model = mujoco.MjModel.from_xml_string(FILE)
    model.opt.tolerance = 0.0  # solve to rounding, as here
    data = mujoco.MjData(model)
    data.qvel[0] = 2.5  # a free joint of MuJoCo has its linear velocity first
    theirs = []
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
        theirs.append(data.qpos.copy())
    difference = np.abs(motion.q - np.array(theirs)).max(axis=1)
    print(f"largest difference to mj_step: {difference[99]:.1e} after 0.2 s, {difference[-1]:.1e} after 1 s [m, rad]")
    assert difference.max() < 1e-6
