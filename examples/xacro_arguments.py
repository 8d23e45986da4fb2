"""A xacro file with arguments, expanded and read. Load xacro only from people you trust: it is a program."""

import math
import tempfile
from pathlib import Path

from dalembert import load

TEXT = """<robot name="pendulum" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="length" default="1.0"/>
  <xacro:property name="l" value="$(arg length)"/>
  <xacro:property name="k" value="${l**2 / 12}"/>
  <xacro:macro name="rod" params="name mass">
    <link name="${name}"><inertial><origin xyz="0 0 ${-l / 2}"/><mass value="${mass}"/>
      <inertia ixx="${mass * k}" ixy="0" ixz="0" iyy="${mass * k}" iyz="0" izz="1e-4"/></inertial></link>
  </xacro:macro>
  <link name="base"/>
  <xacro:rod name="rod" mass="2"/>
  <joint name="pivot" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
</robot>"""

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "pendulum.urdf.xacro"
    file.write_text(TEXT, encoding="utf-8")
    for length in (1.0, 0.5):
        robot = load(file, arguments={"length": length})
        M = robot.mass_matrix([0.0])[0, 0]
        print(f"length {length} m: inertia about the pivot {M:.4f} kg·m²")
        assert math.isclose(M, 2 * length**2 / 3, rel_tol=1e-12)
