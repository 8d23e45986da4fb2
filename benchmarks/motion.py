"""Time-optimal motions beside toppra, on the same paths and limits: duration, CPU time, violations between grid points.

    python benchmarks/motion.py

Needs toppra (pip install toppra) for the comparison; without it only this package's figures are printed. Times are CPU
times, best of several, of everything from a path to a motion that can be evaluated.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import numpy as np

import dalembert
from dalembert import motion

VELOCITY, ACCELERATION = 2.0, 10.0
CASES = ((6, 5, 100), (7, 5, 100), (6, 10, 200), (7, 10, 200), (6, 10, 1000), (7, 10, 1000), (7, 5, 2000))
EFFORT = np.array([87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0])


def best(function: Any, repeats: int = 15, times: int = 5) -> float:
    """CPU time of a call [s], best of several."""
    function()
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(times):
            function()
        spent.append((time.process_time() - start) / times)
    return min(spent)


def peers_path(curves: motion.Polynomials) -> Any:
    """The same piecewise polynomials as a path of toppra's."""
    import toppra
    from scipy.interpolate import PPoly

    powers = np.arange(curves.coefficients.shape[1])
    scale = np.diff(curves.times)[:, None, None] ** -powers[None, :, None].astype(float)
    table = np.swapaxes(curves.coefficients * scale, 0, 1)[::-1]
    pieces = [PPoly(table, curves.times).derivative(k) if k else PPoly(table, curves.times) for k in range(3)]

    class Path(toppra.interpolator.AbstractGeometricPath):
        def __call__(self, positions: Any, order: int = 0) -> np.ndarray:
            return pieces[order](positions)

        dof = curves.count
        path_interval = curves.times[[0, -1]]
        waypoints = None

    return Path()


def violation(move: Any, times: np.ndarray) -> float:
    """Largest share by which a limit is exceeded."""
    v, a = np.abs(move(times, 1)).max(), np.abs(move(times, 2)).max()
    return max(v / VELOCITY, a / ACCELERATION) - 1.0


def main() -> None:
    logging.disable(logging.CRITICAL)
    try:
        import toppra
        import toppra.algorithm
        import toppra.constraint
    except ImportError:
        toppra = None
        print("toppra is not installed (pip install toppra): no comparison")
    rng = np.random.default_rng(0)
    limits = motion.Limits(velocity=VELOCITY, acceleration=ACCELERATION)
    print("joints points  grid   duration ours [s]   toppra      ours [us]  toppra [us]  ratio   excess ours   toppra")
    for joints, points, grid in CASES:
        path = motion.path(rng.uniform(-1.5, 1.5, (points, joints)))
        move = motion.time_optimal(path, limits, grid=grid)
        ours = best(lambda p=path, g=grid: motion.time_optimal(p, limits, grid=g))
        fine = np.linspace(0.0, move.duration, 10 * grid * points)
        row = f"{joints:6d} {points:6d} {grid:5d}   {move.duration:17.6f}"
        if toppra is None:
            print(f"{row}{'':13}{1e6 * ours:10.0f}{'':28}{violation(move.derivative, fine):14.1e}")
            continue
        line = peers_path(path.curves)
        bounds = [np.full((joints, 1), x) * [-1.0, 1.0] for x in (VELOCITY, ACCELERATION)]
        constraints = [
            toppra.constraint.JointVelocityConstraint(bounds[0]),
            toppra.constraint.JointAccelerationConstraint(bounds[1]),
        ]
        places = np.linspace(*line.path_interval, grid + 1)

        def theirs(constraints: Any = constraints, line: Any = line, places: Any = places) -> Any:
            task = toppra.algorithm.TOPPRA(constraints, line, gridpoints=places, solver_wrapper="seidel")
            return task.compute_trajectory(0.0, 0.0)

        peer = theirs()
        spent = best(theirs, 5, 1)
        peers_fine = np.linspace(0.0, peer.duration, 10 * grid * points)
        print(
            f"{row}   {peer.duration:10.6f}{1e6 * ours:14.0f}{1e6 * spent:12.0f}{spent / ours:8.1f}"
            f"{violation(move.derivative, fine):14.1e}{violation(peer, peers_fine):10.1e}"
        )
    with_jerk()
    with_torques()


def with_jerk() -> None:
    """Limited jerk: along a line beside the closed form, along paths beside the fastest without that limit."""
    bounds = {"velocity": VELOCITY, "acceleration": ACCELERATION, "jerk": 200.0}
    limits = motion.Limits(**bounds)
    line = np.array([np.zeros(6), np.linspace(1.0, -0.6, 6)])
    exact = motion.s_curve(*line, **bounds).duration
    for grid in (100, 200, 400):
        spent = best(lambda g=grid: motion.time_optimal(line, limits, grid=g), 3, 1)
        excess = motion.time_optimal(line, limits, grid=grid).duration / exact - 1.0
        print(f"line, limited jerk, grid {grid}: {excess:.1e} above the s-curve, in {1e3 * spent:.0f} ms")
    points = np.random.default_rng(5).uniform(-1.5, 1.5, (5, 6))
    for grid in (200, 400):
        move = motion.time_optimal(points, limits, grid=grid)
        free = motion.time_optimal(points, motion.Limits(velocity=VELOCITY, acceleration=ACCELERATION), grid=grid)
        fine = np.linspace(0.0, move.duration, 10 * grid)
        over = np.max(np.abs(move.jerk(fine))) / bounds["jerk"] - 1.0
        spent = best(lambda g=grid: motion.time_optimal(points, limits, grid=g), 3, 1)
        print(
            f"6 joints, limited jerk, grid {grid}: {move.duration:.4f} s, without {free.duration:.4f} s, in "
            f"{1e3 * spent:.0f} ms, excess {max(over, violation(move.derivative, fine)):.1e}"
        )


def with_torques() -> None:
    """Torque limits of a Panda: only this package's figures, checked at ten times the grid."""
    robot = dalembert.load("panda")
    middle = 0.5 * (robot.limits.lower + robot.limits.upper)
    points = middle + 0.5 * (robot.random(np.random.default_rng(1), 5) - middle)
    limits = motion.Limits(robot=robot, acceleration=ACCELERATION, torque=EFFORT)
    for grid in (100, 200, 1000):
        move = motion.time_optimal(points, limits, grid=grid)
        t = np.linspace(0.0, move.duration, 10 * grid)
        excess = np.max(np.abs(robot.inverse_dynamics(*move.at(t))) / EFFORT) - 1.0
        spent = best(lambda g=grid: motion.time_optimal(points, limits, grid=g), 5, 2)
        print(
            f"panda, torque limits, grid {grid:5d}: {move.duration:.6f} s in {1e6 * spent:.0f} us, excess {excess:.1e}"
        )


if __name__ == "__main__":
    main()
