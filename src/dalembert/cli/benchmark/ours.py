"""dalembert's own side of the comparison: the same four calls, one state or a batch."""

from __future__ import annotations

import numpy as np

import dalembert

from .clock import Job

ARGUMENTS = {
    "inverse_dynamics": "q, v, u",
    "forward_dynamics": "q, v, u",
    "mass_matrix": "q",
    "jacobian": "q, frame",
}


def call(robot: dalembert.Robot, function: str, frame: str, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> Job:
    """One call on the first state."""
    names = {"robot": robot, "frame": frame, "q": q[0].copy(), "v": v[0].copy(), "u": u[0].copy()}
    return Job(f"y = robot.{function}({ARGUMENTS[function]})", names)


def batch(
    robot: dalembert.Robot,
    function: str,
    frame: str,
    q: np.ndarray,
    v: np.ndarray,
    u: np.ndarray,
    *,
    threads: int = 1,
) -> Job:
    """One call on all states, in their dtype, into an array that exists already."""
    out = np.full((len(q), *shape(robot, function)), np.nan, q.dtype)
    names = {"robot": robot, "frame": frame, "q": q, "v": v, "u": u, "out": out}
    return Job(f"robot.{function}({ARGUMENTS[function]}, out=out, threads={threads})", names, len(q), threads)


def answer(job: Job) -> np.ndarray:
    """The result of a batch job."""
    exec(job.code, dict(job.names))
    return job.names["out"]


def shape(robot: dalembert.Robot, function: str) -> tuple[int, ...]:
    """Shape of the result for one state."""
    return {"mass_matrix": (robot.nv, robot.nv), "jacobian": (6, robot.nv)}.get(function, (robot.nv,))


def states(robot: dalembert.Robot, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q (n, nq), v (n, nv) and u (n, nv), the last an acceleration or a force."""
    rng = np.random.default_rng(seed)
    return robot.random(rng, n), rng.standard_normal((n, robot.nv)), rng.standard_normal((n, robot.nv))
