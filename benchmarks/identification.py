"""Identification beside cvxpy and clarabel: `python benchmarks/identification.py`. Times are CPU seconds, one thread.

The same rows, the same cone (pseudo-inertia ⪰ 0, friction ≥ 0) and the same quadratic prior for both; the entropic
prior, which is the default, has no counterpart there.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import time
from dataclasses import dataclass

import numpy as np

from dalembert import identify, load
from dalembert.identify import physical
from dalembert.identify.base import base_of
from dalembert.identify.columns import columns
from dalembert.identify.compression import Samples, compress
from dalembert.identify.fit import _bounds
from dalembert.identify.least_squares import weighted
from dalembert.identify.optimum import Information
from dalembert.identify.series import Fourier, joint_limits
from dalembert.spatial.pseudo_inertia import BASIS

FRICTION = ("viscous", "coulomb", "offset")


@dataclass
class Log:
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


def simulated(robot, duration, rate, seed=0):
    """Torques with friction and noise along an exciting motion."""
    motion = identify.excitation(robot, duration=duration, rate=rate, harmonics=10, starts=1)
    q, v, a = motion.q, motion.v, motion.a
    noise = np.random.default_rng(seed).normal(0.0, 0.5, v.shape)
    tau = robot.inverse_dynamics(q, v, a) + 0.8 * v + noise  # the model has Coulomb friction of its own
    return Log(motion.t, q, v, a, tau)


def clock(work, repeats=3):
    """The shortest CPU time of some repetitions, and the result."""
    best, result = np.inf, None
    for _ in range(repeats):
        begin = time.process_time()
        result = work()
        best = min(best, time.process_time() - begin)
    return best, result


def beside_clarabel(robot, log):
    """The quadratic prior by our Newton path and by cvxpy with clarabel on the same triangle."""
    try:
        import cvxpy as cp
    except ImportError:
        print("cvxpy is not installed: pip install cvxpy clarabel")
        return
    parameters = columns(robot, FRICTION)
    data = compress(parameters, [Samples(log.q, log.v, log.a, log.tau)])
    sigma = weighted(data, parameters.prior())[1]
    R, z, _ = data.stacked(sigma)
    bodies, _ = physical.possible(parameters.prior()[: parameters.inertial].reshape(-1, 10))
    G = _bounds(parameters, bodies)
    problem = physical.Problem(R, z, len(bodies), bodies.ravel(), G, strength=0.0, weight=1.0)
    ours, solution = clock(lambda: physical.solve(problem))

    def reference():
        x = cp.Variable(R.shape[1])
        cones = [sum(x[10 * b + k] * BASIS[k] for k in range(10)) >> 0 for b in range(len(bodies))]
        cost = 0.5 * cp.sum_squares(R @ x - z) + 0.5 * cp.sum_squares(x[: bodies.size] - bodies.ravel())
        cp.Problem(cp.Minimize(cost), [*cones, G @ x >= 0]).solve(
            solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9
        )
        return x.value

    theirs, x = clock(reference)

    def cost(x):
        return 0.5 * np.sum((R @ x - z) ** 2) + 0.5 * np.sum((x[: bodies.size] - bodies.ravel()) ** 2)

    print(f"quadratic prior: ours {1e3 * ours:.0f} ms, cvxpy + clarabel {1e3 * theirs:.0f} ms ({theirs / ours:.1f}x)")
    difference = cost(solution.x) / cost(x) - 1.0
    print(f"  cost {cost(solution.x):.9g} beside {cost(x):.9g}: relative difference {difference:.1e}")


def beside_random_series(robot, count=1000):
    """The default excitation and the best of many random series under the same limits."""
    begin = time.process_time()
    motion = identify.excitation(robot)
    seconds = time.process_time() - begin
    limits = joint_limits(robot, 0.05, None, None, None, None)
    family = Fourier(5, motion.series.period)
    information = Information(base_of(columns(robot)), limits, family)
    rng = np.random.default_rng(1)
    drawn = (family.scaled(rng.normal(size=(robot.nv, family.size)), limits).motion for _ in range(count))
    best = min(information.condition_of(series) for series in drawn)
    print(
        f"excitation of {robot.name}: {seconds:.1f} s with compiling, condition {motion.condition:.2f}; "
        f"best of {count} random series {best:.2f}: {motion.condition / best:.2f}"
    )


def main() -> None:
    robot = load("panda")
    log = simulated(robot, 60.0, 500.0)
    identify.fit(robot, log)
    seconds, fit = clock(lambda: identify.fit(robot, log))
    print(f"{len(log.t)} samples of {robot.nv} joints: physical fit {seconds:.3f} s, {fit}")
    seconds, _ = clock(lambda: identify.fit(robot, log, method="weighted"))
    print(f"  weighted least squares {seconds:.3f} s")
    beside_clarabel(robot, log)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    minute = simulated(robot, 60.0, 500.0)
    begin = time.process_time()
    identify.fit(robot, (minute for _ in range(60)))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = time.process_time() - begin
    print(f"an hour at 500 Hz, minute by minute: {seconds:.1f} s, peak {after:.0f} MB ({before:.0f} MB before)")
    for name in ("ur5", "ur10e", "panda", "iiwa14"):
        beside_random_series(load(name))


if __name__ == "__main__":
    main()
