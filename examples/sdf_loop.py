"""An SDF model with a loop: a parallelogram of four bars, kept as a tree and a closure, and the log that says so."""

import numpy as np

from dalembert import load


def bar(name, pose):
    inertia = "<ixx>0.34</ixx><iyy>0.34</iyy><izz>0.01</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz>"
    inertial = f"<inertial><pose>0 0 0.5 0 0 0</pose><mass>4</mass><inertia>{inertia}</inertia></inertial>"
    return f'<link name="{name}"><pose>{pose}</pose>{inertial}</link>'


def hinge(name, parent, child, at):
    place = f'<pose relative_to="__model__">{at} 0 0 0</pose>'
    axis = '<axis><xyz expressed_in="__model__">0 1 0</xyz></axis>'
    return f'<joint name="{name}" type="revolute"><parent>{parent}</parent><child>{child}</child>{place}{axis}</joint>'


robot = load(f"""<sdf version="1.9"><model name="parallelogram">
  {bar("crank", "0 0 0 0 0 0")} {bar("rocker", "1 0 0 0 0 0")}
  {bar("coupler", "0 0 1 0 1.5707963267948966 0")}
  {hinge("crank_foot", "world", "crank", "0 0 0")}
  {hinge("rocker_foot", "world", "rocker", "1 0 0")}
  {hinge("crank_head", "crank", "coupler", "0 0 1")}
  {hinge("rocker_head", "rocker", "coupler", "1 0 1")}
</model></sdf>""")
for finding in robot.import_log:
    print(finding)
(loop,) = robot.model.closures
print(f"{robot.nv} hinges in the tree, and the {loop.kind} closure {loop.name!r} with {loop.count} equations")
assert (robot.nv, loop.name, loop.kind) == (3, "rocker_head", "revolute")

# the loop stays closed when crank and rocker turn alike and the coupler keeps its direction
angle = 0.4
q = np.zeros(3)
for name, value in (("crank_foot", angle), ("rocker_foot", angle), ("crank_head", -angle)):
    q[robot.joint(name).q] = value
tips = [robot.pose(q, link) @ [0, 0, 1, 1] for link in ("coupler", "rocker")]
print("end of the coupler", tips[0][:3].round(4), "end of the rocker", tips[1][:3].round(4))
np.testing.assert_allclose(tips[0], tips[1], atol=1e-12)

# energy of the closed motion: two bars that turn, one that only shifts
v = np.zeros(3)
for name, rate in (("crank_foot", 1.0), ("rocker_foot", 1.0), ("crank_head", -1.0)):
    v[robot.joint(name).v] = rate
turning = 0.34 + 4 * 0.5**2
np.testing.assert_allclose(robot.kinetic_energy(q, v), 0.5 * (2 * turning + 4 * 1.0**2), rtol=1e-12)
