"""A throw that hits a mark after a bounce, found by gradients through the contact.

The contact is compliant, so that where the ball is after 0.75 s is a smooth function of how it was thrown. Steps are
short beside the impact, which lasts 30 ms: slopes are those of the steps. JAX, if it is installed, takes the gradient
of the whole motion; otherwise differences do.
"""

import importlib.util

import numpy as np

from dalembert import Contact, ModelBuilder
from dalembert.shapes import Sphere

builder = ModelBuilder("ball")
builder.add_body("ball", parent="world", joint="free", mass=0.5, inertia=np.eye(3) * 0.002)
builder.add_geometry(Sphere(0.1), body="ball", role="collision")
robot = builder.build()
contact = Contact(friction=0.4, model="compliant", stiffness=5e3, damping=0.1, slip_speed=0.05)
start, mark = np.array([0, 0, 1.0, 1, 0, 0, 0]), np.array([1.3, 0.5])


def missed(throw, array=np.array, stack=np.stack):
    """Where the ball is beside the mark (x, z) [m], thrown with (vx, vz) [m/s]."""
    zero = 0.0 * throw[0]
    v = stack([zero, zero, zero, throw[0], zero, throw[1]])
    q = robot.rollout(array(start), v, step=1e-4, steps=7500, integrator="rk4", contact=contact).q
    return stack([q[0] - mark[0], q[2] - mark[1]])


if importlib.util.find_spec("jax"):
    import jax

    jax.config.update("jax_enable_x64", True)
    slopes = jax.jacrev(lambda throw: missed(throw, jax.numpy.asarray, jax.numpy.stack))
else:

    def slopes(throw):
        steps = 1e-5 * np.eye(2)
        return np.stack([(missed(throw + d) - missed(throw - d)) / 2e-5 for d in steps], axis=1)


throw = np.array([1.0, 0.5])
for k in range(12):
    error = np.asarray(missed(throw))
    print(f"{k}: throw {throw.round(4)} m/s misses by {1e3 * np.linalg.norm(error):.3f} mm")
    if np.linalg.norm(error) < 1e-6:
        break
    step = np.linalg.solve(np.asarray(slopes(throw)), error)
    throw = throw - step * min(1.0, 0.5 / np.linalg.norm(step))
assert np.linalg.norm(np.asarray(missed(throw))) < 1e-5
