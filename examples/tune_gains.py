"""Tune a sampled PID by gradient: each round simulates 10 000 arms with other payloads, forwards and backwards.

The controller runs every 4 ms inside the compiled step, its answer acts 2 ms later, and its integral is part of the
state. The arms carry 0 to 1 kg that the controller does not know of. JAX asks the rollout for its gradient in the three
gains. Without JAX, differences stand in for it, with fewer arms.
"""

import importlib.util
import time

import numpy as np

from dalembert import Sampled, load

PERIOD, STEP, STEPS, ROUNDS = 4e-3, 2e-3, 300, 8
arm, goal = load("2r").without("friction"), np.array([0.6, -0.4])
with_jax = importlib.util.find_spec("jax") is not None
count = 10_000 if with_jax else 500
loads = np.linspace(0.0, 1.0, count)
bare, full = arm.live_values("inertia"), arm.edit().payload(1.0, frame="tool").done().live_values("inertia")
inertia = bare + loads[:, None] * (full - bare)
q0, v0 = np.zeros((count, 2)), np.zeros((count, 2))


def pid(t, q, v, state, gains):
    """gains: kp, kd, ki; state: the integral of the error."""
    state = state + PERIOD * (goal - q)
    return arm.gravity(q) + gains[0] * (goal - q) - gains[1] * v + gains[2] * state, state


controller = Sampled(pid, PERIOD, delay=2e-3, state=np.zeros(2))


def cost(gains, lib=np):
    """Mean square of what is left of the way, late errors counting most, and of the speed."""
    path = arm.rollout(lib.asarray(q0), lib.asarray(v0), controller, STEP, STEPS, every=10,
                       parameters={"gains": gains, "inertia": lib.asarray(inertia)})  # fmt: skip
    late = (path.t / path.t[-1])[:, None] ** 2
    return lib.mean(late * (path.q - goal) ** 2) + 1e-4 * lib.mean(path.v**2)


if with_jax:
    import jax

    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(jax.value_and_grad(lambda x: cost(jax.numpy.exp(x), jax.numpy)))

    def value_and_slope(x):
        return tuple(map(np.asarray, compiled(jax.numpy.asarray(x))))
else:

    def value_and_slope(x, h=1e-4):
        slope = [(cost(np.exp(x + h * e)) - cost(np.exp(x - h * e))) / (2.0 * h) for e in np.eye(3)]
        return cost(np.exp(x)), np.array(slope)


x = np.log([10.0, 2.0, 1.0])
first, _ = value_and_slope(x)  # compiles
begin, rate, best = time.perf_counter(), 0.3, np.inf
for _ in range(ROUNDS):  # steps of one size along the slope, shorter where they do not help
    value, slope = value_and_slope(x)
    if value < best:
        best, kept, direction = value, x, slope / np.linalg.norm(slope)
    else:
        rate *= 0.5
    x = kept - rate * direction
seconds = time.perf_counter() - begin
print(f"{ROUNDS} rounds of {count} arms in {seconds:.1f} s: cost {float(first):.4f} to {float(best):.4f}")
print("kp, kd, ki = " + ", ".join(f"{g:.3g}" for g in np.exp(kept)))
assert best < 0.7 * first
