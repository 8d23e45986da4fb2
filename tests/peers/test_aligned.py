"""Frames that a step with contact is written in, for robots whose files nobody here wrote."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert.dynamics import algorithms
from dalembert.model.aligned import aligned_frames
from peers.example_robots import EMPTY, files, folder
from tolerances import RECURSION


@pytest.mark.parametrize("file", sorted(set(files()) - EMPTY))
def test_aligned_frames_keep_the_inertia_of_all_robots(file: str) -> None:
    """Angles of files are rounded: see `aligned._roots`. Each entry beside those of its own joints."""
    robot = dalembert.load(folder() / file)
    aligned, q = aligned_frames(robot.model), robot.random(np.random.default_rng(0))
    M = algorithms.mass_matrix(robot.model, q)
    size = np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))  # some joints move no mass
    there = algorithms.mass_matrix(aligned.model, aligned.coordinates(q))
    np.testing.assert_allclose(there / np.outer(size, size), M / np.outer(size, size), atol=RECURSION)
