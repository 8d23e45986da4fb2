"""A parallelogram in URDF: a tree of three links, and a loop that <dalembert><loop/></dalembert> closes."""

import numpy as np

from dalembert import load

BODY = '<inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'
JOINT = '<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/><origin xyz="{}"/>{}</joint>'
LINKS = "".join(f'<link name="{name}">{BODY}</link>' for name in ("base", "crank", "coupler", "rocker"))
JOINTS = "".join(
    JOINT.format(*words, '<axis xyz="0 0 1"/>')
    for words in (
        ("drive", "base", "crank", "0 0 0"),
        ("knee", "crank", "coupler", "0 1 0"),
        ("swing", "base", "rocker", "2 0 0"),
    )
)
LOOP = '<loop name="pin" kind="revolute" a="coupler" b="rocker" xyz_a="2 0 0" xyz_b="0 1 0" axis="0 0 1"/>'
robot = load(f'<robot name="parallelogram">{LINKS}{JOINTS}<dalembert>{LOOP}</dalembert></robot>', strict=True)

(closure,) = robot.model.closures
print(f"{robot.name}: {robot.nv} joints, {closure.count} conditions of the {closure.kind} closure '{closure.name}'")

# the loop stays closed along q = (t, -t, t); poses do not need it, forces on the tree alone would be wrong
tree = robot.without("loops")
for t in (0.0, 0.5, -1.0):
    q = np.array([t, -t, t])
    ends = [tree.pose(q, frame) @ np.array([*p, 1.0]) for frame, p in (("coupler", (2, 0, 0)), ("rocker", (0, 1, 0)))]
    print(f"t = {t:4.1f}: the ends meet at", ends[0][:2].round(3))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)
