"""Motions from samples: a file, or arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.logs import Trajectory, read_trajectory
from dalembert.robot import Robot

from .manifold import chart_rates
from .motion import PolynomialMotion, on_manifold
from .points import configurations, rising
from .polynomials import hermite


def load(path: str | os.PathLike[str], robot: Robot, **options: Any) -> PolynomialMotion:
    """A motion from a file: .csv .npz .parquet .h5 .mcap, with columns as of `dalembert.read_trajectory`.

    options: topic, columns, units, bandwidth of `read_trajectory`, which also says what it does about rates that are
    missing and about noise.
    """
    return from_samples(read_trajectory(path, robot, **options), robot)


def from_samples(samples: Trajectory, robot: Robot) -> PolynomialMotion:
    """The quintic polynomials between samples that have their positions, velocities and accelerations."""
    if len(samples.t) < 2:
        raise DalembertError(f"motion: there is {len(samples.t)} sample, expected two or more")
    t = rising("motion", samples.t, len(samples.t))
    q = configurations("motion", "q", samples.q, robot)
    h = np.diff(t)[:, None]
    step = robot.difference(q[:-1], q[1:])
    rate, bend = samples.v[1:], samples.a[1:]
    if not robot.model.flat:
        rate, bend = chart_rates(robot, step, samples.v[1:], samples.a[1:])
    first = np.stack([np.zeros_like(step), samples.v[:-1] * h, samples.a[:-1] * h**2], axis=1)
    coefficients = hermite(first, np.stack([step, rate * h, bend * h**2], axis=1))
    lines = coefficients.copy()
    for body in robot.model.independent:
        if body.joint.flat:
            lines[:, 0, body.v] = q[:-1, body.q]
    return on_manifold(robot, t, q[:-1], lines, coefficients, samples.title or "samples")
