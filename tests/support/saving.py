"""Writing a model and reading it back, and how far two models are apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dalembert.dynamics.algorithms import gravity, mass_matrix, rnea
from dalembert.formats import read, write
from dalembert.model import Model, Part
from dalembert.model.geometry import Capsule
from trees import random_state

ROUND_TRIP = 1e-12  # what a file and its reader may change in M, g and torques, of the largest entry


def again(model: Model, path: Path, **options: Any) -> Model:
    """The model after a journey through a file."""
    write(model, path, **options)
    return read(path)[0]


def urdf_shapes(part: Part) -> int:
    """How many shapes of a link are in a URDF file, where a capsule is a cylinder and two balls."""
    return sum(3 if isinstance(geometry.shape, Capsule) else 1 for geometry in part.geometry)


def joint_names(model: Model) -> list[str]:
    """Names of the moving joints, in order."""
    return [body.joint.name for body in model.bodies if body.joint.nv]


def assert_same_dynamics(one: Model, two: Model, seed: int = 0, states: int = 2) -> None:
    """Mass matrix, gravity and torques agree at random states, in the same coordinates."""
    assert (one.nq, one.nv) == (two.nq, two.nv)
    rng = np.random.default_rng(seed)
    for _ in range(states if one.nv else 0):
        q, v, a = random_state(rng, one)
        for function, arguments in ((mass_matrix, (q,)), (gravity, (q,)), (rnea, (q, v, a))):
            expected, found = function(one, *arguments), function(two, *arguments)
            bound = ROUND_TRIP * max(np.max(np.abs(expected)), 1e-3)
            assert np.max(np.abs(found - expected)) <= bound, f"{function.__name__}: {found} is not {expected}"
