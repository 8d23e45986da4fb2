"""Where frames are, how they move, how that depends on the configuration; steps and differences of configurations."""

import numpy as np

from dalembert import load

robot = load("quadruped")  # a free base: q has a quaternion, v is in body axes
rng = np.random.default_rng(0)
q, v, a = robot.random(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
foot = robot.frames[-1].name

# Steps along velocities and back; halfway is half the step.
moved = robot.integrate(q, v, 0.1)
np.testing.assert_allclose(robot.difference(q, moved), 0.1 * v, atol=1e-12)
np.testing.assert_allclose(robot.interpolate(q, moved, 0.5), robot.integrate(q, v, 0.05), atol=1e-12)
np.testing.assert_allclose(robot.normalize(q * (1 + 1e-3))[3:7], q[3:7], atol=1e-12)  # quaternion w x y z

# All poses at once, or one; velocities and accelerations are J v and J a + J̇ v, for any point along any axes.
np.testing.assert_allclose(robot.poses(q)[-1], robot.pose(q, foot), atol=1e-12)
where = {"point": (0.0, 0.01, -0.02), "axes": robot.frames[0].name}
J, Jdot = robot.jacobian(q, foot, **where), robot.jacobian_rate(q, v, foot, **where)
np.testing.assert_allclose(robot.velocity(q, v, foot, **where), J @ v, atol=1e-12)
np.testing.assert_allclose(robot.acceleration(q, v, a, foot, **where), J @ a + Jdot @ v, atol=1e-10)
print("foot [m]", robot.pose(q, foot)[:3, 3].round(3), " [m/s]", robot.velocity(q, v, foot)[3:].round(3))

# Derivatives in q are along velocities: contracted with v they are rates.
h = 1e-5
ahead, behind = robot.integrate(q, v, h), robot.integrate(q, v, -h)
rate = (robot.pose(ahead, foot) - robot.pose(behind, foot)) / (2 * h)
np.testing.assert_allclose(robot.pose_derivative(q, foot) @ v, rate, atol=1e-7)
np.testing.assert_allclose(robot.jacobian_derivative(q, foot) @ v, robot.jacobian_rate(q, v, foot), atol=1e-10)

# Several frames at once, some of their rows; a frame as seen from another one; the centre of mass and its velocity.
feet = [frame.name for frame in robot.frames[-2:]]
np.testing.assert_array_equal(robot.jacobian(q, feet, rows="position")[3:], robot.jacobian(q, foot)[3:])
seen = robot.pose(q, foot, relative_to=robot.frames[0].name)
np.testing.assert_allclose(robot.pose(q, robot.frames[0].name) @ seen, robot.pose(q, foot), atol=1e-12)
rate = (robot.center_of_mass(ahead) - robot.center_of_mass(behind)) / (2 * h)
np.testing.assert_allclose(robot.center_of_mass_jacobian(q) @ v, rate, atol=1e-7)
