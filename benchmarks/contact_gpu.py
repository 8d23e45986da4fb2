"""Contact on a GPU: a quadruped that trots on the ground, many motions at once in float32, steps per second.

Accuracy beside it: how well the laws of contact were kept on the GPU, and how far its motions are from those of the
same steps in float64 on the CPU. Needs CuPy and a CUDA device; prints what is missing otherwise.

    python benchmarks/contact_gpu.py [robot.xml] [--motions 262144] [--steps 500]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import dalembert
from contact import ROBOTS, STEP, Quadruped, feet_of, trot
from dalembert import Contact

BUNDLED = Quadruped((), 0.4, np.array([0.0, 0.8, -1.6] * 4), np.full(12, 40.0))
NEAR = 50  # steps after which motions are compared: later ones differ by chaos, not by accuracy


def quadruped(path: Path | None):
    """(robot without joint friction, law of the trot, state that stands, contact)."""
    robot = dalembert.load("quadruped" if path is None else path).without("friction")
    spec = BUNDLED if path is None else ROBOTS[path.stem]
    names = feet_of(robot, spec.feet)
    phase = np.array([0.0, np.pi, np.pi, 0.0])
    _, trotting = trot(spec.home, phase, slice(1, None, 3), slice(2, None, 3), spec.gain, spec.limit, 0.25, 6)
    feet = [(name, "ground") for name in names]
    contact = Contact(friction=spec.friction, torsion=0.0, rolling=0.0, pairs=feet)
    q = np.concatenate([[0.0, 0.0, spec.height, 1.0, 0.0, 0.0, 0.0], spec.home])
    q[2] -= robot.contact_dynamics(q, np.zeros(robot.nv), np.zeros(robot.nv), contact=contact).gap.min()
    return robot, trotting, q, contact


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robot", nargs="?", type=Path, help="go1.xml; without it the quadruped of the package")
    parser.add_argument("--motions", type=int, default=1 << 18)
    parser.add_argument("--steps", type=int, default=500)
    arguments = parser.parse_args()
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # no CuPy, no driver, no device
        print(f"no GPU to measure on ({error}): install CuPy for your CUDA version and run this on a CUDA device")
        return
    robot, law, q, contact = quadruped(arguments.robot)
    rng, n = np.random.default_rng(0), arguments.motions
    start = np.tile(q, (n, 1))
    start[:, 7:] += 0.01 * rng.standard_normal((n, 12))

    def run(q, v, steps):
        return robot.rollout(q, v, law, step=STEP, steps=steps, contact=contact)

    for kind in (np.float32, np.float64):
        q0, v0 = cupy.asarray(start, kind), cupy.zeros((n, robot.nv), kind)
        end = run(q0, v0, arguments.steps)  # compiles
        cupy.cuda.Device().synchronize()
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            run(q0, v0, arguments.steps)
            cupy.cuda.Device().synchronize()
            times.append(time.perf_counter() - begin)
        rate = n * arguments.steps / min(times)
        unsettled = float(end.contacts.unsettled.sum()) / (n * arguments.steps)
        worst = np.asarray(cupy.asnumpy(end.contacts.worst), float)
        name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        print(f"{robot.name} trot, {name}, {np.dtype(kind).name}, {n} motions: {rate / 1e6:.0f} M steps/s")
        print(
            f"  steps beyond the tolerance: {unsettled:.1e}; largest law error of a motion, m/s: median "
            f"{np.median(worst):.1e}, 99.9 % {np.percentile(worst, 99.9):.1e}, max {worst.max():.1e}"
        )
        few = slice(0, 256)
        here = run(start[few], np.zeros((256, robot.nv)), NEAR)
        there = run(q0[few], v0[few], NEAR)
        apart = np.abs(cupy.asnumpy(there.q) - here.q).max(axis=-1)
        median, most = np.median(apart), apart.max()
        print(f"  from float64 on the CPU after {NEAR} steps: median {median:.1e}, at most {most:.1e} m or rad")


if __name__ == "__main__":
    main()
