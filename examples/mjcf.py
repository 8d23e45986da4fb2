"""An MJCF file, read as MuJoCo means it: classes, angles in degrees, two joints in a body, a coupling, and the log."""

import tempfile
from pathlib import Path

import numpy as np

from dalembert import DalembertError, load

MJCF = """<mujoco model="crane">
  <default>
    <joint damping="0.5"/>
    <default class="finger"><geom type="box" size="0.01 0.01 0.05" mass="0.1"/></default>
  </default>
  <option density="1.2"/>
  <worldbody>
    <body name="trolley" pos="0 0 2">
      <joint name="rail" type="slide" axis="1 0 0" range="-1 1" frictionloss="2"/>
      <joint name="swing" axis="0 1 0" ref="90" armature="0.01"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02" mass="2"/>
      <body name="left" pos="0 0.03 -0.5">
        <joint name="left" axis="1 0 0" range="-30 30"/><geom class="finger"/>
      </body>
      <body name="right" pos="0 -0.03 -0.5">
        <joint name="right" axis="1 0 0" range="-30 30"/><geom class="finger"/>
      </body>
      <site name="hook" pos="0 0 -0.5"/>
    </body>
  </worldbody>
  <equality><joint joint1="right" joint2="left" polycoef="0 -1 0 0 0"/></equality>
  <actuator><motor joint="rail" gear="50" ctrlrange="-2 2"/></actuator>
</mujoco>
"""

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "crane.xml")
    file.write_text(MJCF)
    robot = load(file)
    for joint in robot.joints:
        print(f"{joint.name:6} {joint.kind:10} in {joint.child:13}", f"follows {joint.leader}" if joint.leader else "")
    for finding in robot.import_log:
        print(str(finding).replace(folder, ""))
    try:
        load(file, strict=True)
    except DalembertError as error:
        assert "a fluid around the bodies (density 1.2)" in str(error)  # its drag is not in the model

assert robot.nv == 3 and robot.joint("rail").effort_limit[0] == 100.0

# a coordinate is MuJoCo's qpos: at its reference of 90 degrees the arm hangs straight down, and holds still
q = np.array([0.3, np.pi / 2, 0.0])
np.testing.assert_allclose(robot.pose(q, "hook")[:3, 3], [0.3, 0, 1.5], atol=1e-12)
np.testing.assert_allclose(robot.gravity(q), 0, atol=1e-12)

# everything hangs on the rail, and friction and damping hold the trolley back
v, a = np.array([0.4, 0.0, 0.0]), np.array([1.5, 0.0, 0.0])
force = robot.inverse_dynamics(q, v, a)[0]
print("force on the rail", round(force, 4))
np.testing.assert_allclose(force, 2.2 * 1.5 + 0.5 * 0.4 + 2 * np.tanh(0.4 / 0.01), rtol=1e-12)
