"""Mutations that suit any text format, and what must hold of a model that was accepted."""

from __future__ import annotations

import random
import re

import numpy as np

from dalembert.model import Model

SEED = 20260101
SLOWEST = 2.0  # [s] for one file of at most 40 kB


def flip_bytes(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def splice(data: bytes, rng: random.Random) -> bytes:
    """A stretch of the file again, somewhere else."""
    a, b, at = (rng.randrange(len(data)) for _ in range(3))
    return data[:at] + data[min(a, b) : max(a, b)][:2000] + data[at:]


def one(pattern: bytes, data: bytes, rng: random.Random, replacement: bytes) -> bytes:
    """Replace one match, chosen at random."""
    found = list(re.finditer(pattern, data))
    if not found:
        return data
    match = rng.choice(found)
    return data[: match.start()] + replacement.replace(b"\\0", match.group()) + data[match.end() :]


def check(model: Model) -> None:
    """What was accepted is a sound tree of finite numbers."""
    assert all(body.parent < body.index for body in model.bodies)
    for body in model.bodies:
        assert np.all(np.isfinite(body.inertia.parameters()))
        assert np.all(np.isfinite(body.placement.matrix()))
