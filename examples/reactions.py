"""What the joints and the ground must hold: reaction wrenches, at rest and over a move, and where a robot tips."""

import numpy as np

from dalembert import Wrench, load, zero_moment_point

robot = load("ur5")
rest = np.zeros(robot.nv)
q = np.array([0.3, -1.2, 1.0, -0.4, 0.9, 0.1])

# at rest (v = a = 0), with 2 kg in the hand: the ground carries the weight of the arm and of the load
load_2kg = Wrench(force=(0, 0, -2 * 9.81), frame=robot.bodies[-1].name, axes="world")
F = robot.reaction_wrenches(q, rest, rest, external=[load_2kg], axes="world")  # (nb, 6) rows [τ; f]
print("ground on base, force [N]", F[0, 3:].round(3))
np.testing.assert_allclose(F[0, 3:], [0, 0, 9.81 * (robot.total_mass + 2)], atol=1e-9)

# the part along a joint's axis is the torque of its motor (bare joints: friction acts inside the joint)
F = robot.reaction_wrenches(q, rest, rest)  # in the axes of each body
bare = robot.without("friction", "damping", "armature", "springs")
for body, F_i in zip(robot.model.bodies, F, strict=True):
    S = body.joint.subspace(q[body.q])
    np.testing.assert_allclose(S.T @ F_i, bare.inverse_dynamics(q, rest, rest)[body.v], atol=1e-9)

# one second of a swing: the largest force and moment of each joint, and when
t = np.linspace(0, 1, 201)[:, None]
phase = np.pi * t + np.arange(robot.nv)
peaks = robot.peak_reactions(np.sin(phase), np.pi * np.cos(phase), -(np.pi**2) * np.sin(phase))
print(peaks)
worst = max(peaks, key=lambda peak: peak.moment)
print(f"largest moment: {worst.joint or worst.body}, {worst.moment:.1f} N·m at sample {worst.moment_sample}")
assert np.isclose(np.linalg.norm(worst.moment_wrench[:3]), worst.moment)

# a standing quadruped: the ground's wrench acts below the centre of mass, and elsewhere when it accelerates
dog = load("quadruped")
q, rest = dog.neutral(), np.zeros(dog.nv)
q[2] = 0.4  # height of the base [m]
base = dog.bodies[0].name
origin = dog.pose(q, base)[:3, 3]
ground = dog.reaction_wrenches(q, rest, rest, axes="world")[0]
p = zero_moment_point(ground, at=origin)
print("standing: zero-moment point [m]", p.round(4))
np.testing.assert_allclose(p[:2], dog.center_of_mass(q)[:2], atol=1e-9)

forward = np.zeros(dog.nv)
forward[3] = 2.0  # base along its x axis, 2 m/s²
ground = dog.reaction_wrenches(q, rest, forward, axes="world")[0]
moved = zero_moment_point(ground, at=origin) - p
c = dog.center_of_mass(q)
np.testing.assert_allclose(moved[0], -2.0 / 9.81 * c[2], atol=1e-9)
print("accelerating by 2 m/s²: it moves back by", -moved[0].round(4), "m")
assert moved[0] < 0
