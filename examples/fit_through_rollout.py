"""Fit masses and joint damping to recorded motions, with gradients through the whole simulated motion.

A two-link arm is simulated with parameters that the fit does not know: semi-implicit Euler, 40 steps, 16 motions at
once. `robot.rollout` takes inertia and damping as inputs, and PyTorch or JAX, whichever is installed, has its gradient:
a compiled loop forwards and one backwards. With PyTorch and CuPy both run on the GPU. With neither library, differences
stand in for the gradient.
"""

import importlib.util
import time

import numpy as np

from dalembert import load

STEPS, STEP, MOTIONS, ROUNDS = 40, 0.01, 16, 120
robot = load("2r")
own = robot.live_values("inertia")  # ten numbers per body; the last two bodies move
rng = np.random.default_rng(0)
q0, v0 = rng.uniform(-1, 1, (MOTIONS, 2)), rng.normal(size=(MOTIONS, 2))
torque = 3.0 * rng.normal(size=(MOTIONS, STEPS, 2))
truth = np.array([1.3, 0.8, 0.4, 0.2])  # factors of the two bodies' inertia, damping of the two joints
start = np.array([1.0, 1.0, 0.05, 0.05])


def motion(x, join, put):
    """Positions (MOTIONS, STEPS, 2) for parameters x (4,), in the arrays of any library."""
    first, upper, lower = put(own[:-20]), put(own[-20:-10]), put(own[-10:])
    live = {"inertia": join([first, x[0] * upper, x[1] * lower]), "damping": x[2:]}
    return robot.rollout(put(q0), put(v0), put(torque), STEP, STEPS, every=1, parameters=live).q


recorded = motion(truth, np.concatenate, np.asarray)


def with_torch():
    import torch

    device = "cuda" if torch.cuda.is_available() and importlib.util.find_spec("cupy") else "cpu"
    target = torch.tensor(recorded, device=device)

    def value_and_slope(x):
        x = torch.tensor(x, device=device, requires_grad=True)
        path = motion(x, torch.cat, lambda a: torch.tensor(a, device=device))
        error = ((path - target) ** 2).mean()
        error.backward()
        return error.item(), x.grad.cpu().numpy()

    return value_and_slope, f"PyTorch on {device}"


def with_jax():
    import jax

    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def error(x):
        return jnp.mean((motion(x, jnp.concatenate, jnp.asarray) - recorded) ** 2)

    compiled = jax.jit(jax.value_and_grad(error))
    return lambda x: tuple(map(np.asarray, compiled(x))), "JAX"


def with_differences():
    def error(x):
        return float(np.mean((motion(x, np.concatenate, np.asarray) - recorded) ** 2))

    def value_and_slope(x, h=1e-6):
        return error(x), np.array([(error(x + h * e) - error(x - h * e)) / (2 * h) for e in np.eye(4)])

    return value_and_slope, "differences"


found = [make for name, make in (("torch", with_torch), ("jax", with_jax)) if importlib.util.find_spec(name)]
value_and_slope, how = (found or [with_differences])[0]()
x, mean, spread, begin = start.copy(), np.zeros(4), np.zeros(4), time.perf_counter()
for k in range(1, ROUNDS + 1):  # Adam
    error, slope = value_and_slope(x)
    mean, spread = 0.9 * mean + 0.1 * slope, 0.95 * spread + 0.05 * slope**2
    x = x - 0.06 * 0.97**k * (mean / (1 - 0.9**k)) / (np.sqrt(spread / (1 - 0.95**k)) + 1e-12)
    if k in (1, 30, 60, ROUNDS):
        print(f"round {k:3d}: mean square error {float(error):.1e} rad², parameters {x.round(3)}")
print(f"{how}: {ROUNDS} rounds in {time.perf_counter() - begin:.1f} s; the truth is {truth}")
np.testing.assert_allclose(x, truth, atol=0.02)
