"""Robots made from robots: a payload, locked joints, another base, two arms on a torso; each checks itself."""

import numpy as np

from dalembert import ModelBuilder, compare, load
from dalembert.spatial import so3

arm = load("ur5")
q, v, a = np.array([0.3, -1.2, 1.0, -0.4, 0.9, 0.1]), np.full(6, 0.5), np.full(6, 2.0)

# 3 kg in the hand
loaded = arm.edit().payload(3.0, frame="tool0", com=(0, 0, 0.05)).done()
print(f"{arm.total_mass:.3f} kg -> {loaded.total_mass:.3f} kg")
extra = loaded.gravity(q) - arm.gravity(q)
J = arm.jacobian(q, "tool0", point=(0, 0, 0.05))[3:]
np.testing.assert_allclose(extra, J.T @ [0, 0, 3.0 * 9.81], atol=1e-9)

# the wrist locked: the other joints feel the same robot, and nothing is lost
wrist = {"wrist_1_joint": q[3], "wrist_2_joint": q[4], "wrist_3_joint": q[5]}
stiff = loaded.edit().lock(wrist).done()
assert stiff.nv == 3 and abs(stiff.total_mass - loaded.total_mass) < 1e-12
still = np.array([1, 1, 1, 0, 0, 0])
np.testing.assert_allclose(
    stiff.inverse_dynamics(q[:3], v[:3], a[:3]), loaded.inverse_dynamics(q, v * still, a * still)[:3], atol=1e-9
)

# a quadruped seen from its foot: the same robot, so the same energy; joint coordinates keep their names
dog = load("quadruped")
foot = dog.edit().reroot("FL_shank").done()
rng = np.random.default_rng(0)
x, w = dog.random(rng), rng.normal(size=dog.nv)
y, u = np.zeros(foot.nq), np.zeros(foot.nv)
for joint in foot.joints[1:]:
    y[joint.q], u[joint.v] = x[dog.joint(joint.name).q], w[dog.joint(joint.name).v]
X = dog.pose(x, "FL_shank")
free = foot.joints[0]
y[free.q] = [*X[:3, 3], *so3.to_quaternion(X[:3, :3])]
u[free.v] = dog.velocity(x, w, "FL_shank", axes="body")
print(f"energy from trunk and from foot: {dog.energy(x, w):.6f} J, {foot.energy(y, u):.6f} J")
np.testing.assert_allclose(foot.energy(y, u), dog.energy(x, w), rtol=1e-9)

# two arms on a torso
torso = ModelBuilder("torso")
torso.add_body("trunk", parent="world", joint="free", mass=20.0, inertia=np.eye(3))
torso.add_frame("left", body="trunk", xyz=(0, 0.3, 0.4))
torso.add_frame("right", body="trunk", xyz=(0, -0.3, 0.4))
both = torso.build().edit().attach(arm, frame="left", prefix="l_").attach(arm, frame="right", prefix="r_").done()
assert both.nv == 18 and abs(both.total_mass - 20.0 - 2 * arm.total_mass) < 1e-12

# twice as long at the same density: torques × 16 on the motion slowed by √2
large = arm.edit().scale(2.0).done()
slow = np.sqrt(2.0)
np.testing.assert_allclose(
    large.inverse_dynamics(q, v / slow, a / slow**2), 16.0 * arm.inverse_dynamics(q, v, a), rtol=1e-9
)

# what was done is in the log, and compare finds it
for finding in both.import_log[-2:]:
    print(finding)
found = compare(arm, loaded)
print(found)
assert not found.same and found.of("body")[0].quantity == "mass [kg]"
assert compare(both, both.edit().rename(prefix="robot1/").done()).same
