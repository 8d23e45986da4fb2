"""Mutations that suit any text format, and the trial: a model or a DalembertError, nothing else, and soon.

DALEMBERT_FUZZ sets the number of files of each format.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Model

Mutation = Callable[[bytes, random.Random], bytes]

SEED = 20260101
SLOWEST = 2.0  # [s] for one file of at most 40 kB


def flip_bytes(data: bytes, rng: random.Random) -> bytes:
    """Other bytes, mostly letters: the rest seldom gets past a parser."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 8))):
        changed[rng.randrange(len(changed))] = rng.randrange(256) if rng.random() < 0.2 else rng.randrange(32, 127)
    return bytes(changed)


def truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def splice(data: bytes, rng: random.Random) -> bytes:
    """A stretch of the file again, somewhere else."""
    a, b, at = (rng.randrange(len(data)) for _ in range(3))
    return data[:at] + data[min(a, b) : max(a, b)][:2000] + data[at:]


def one(pattern: bytes, data: bytes, rng: random.Random, replacement: bytes) -> bytes:
    """Replace one match, chosen at random."""
    found = list(re.finditer(pattern, data, re.DOTALL))
    if not found:
        return data
    match = rng.choice(found)
    return data[: match.start()] + replacement.replace(b"\\0", match.group()) + data[match.end() :]


def drop_attribute(data: bytes, rng: random.Random) -> bytes:
    """XML without one of its attributes."""
    return one(rb' \w+="[^"]*"', data, rng, b"")


def swap(pattern: bytes, words: Sequence[str]) -> Mutation:
    """One match of the pattern becomes one of the words."""
    return lambda data, rng: one(pattern, data, rng, rng.choice(words).encode())


def drop(pattern: bytes) -> Mutation:
    return lambda data, rng: one(pattern, data, rng, b"")


def double(pattern: bytes) -> Mutation:
    return lambda data, rng: one(pattern, data, rng, rb"\0\0")


def rounds(mutations: Sequence[Any], default: int = 1500) -> int:
    """How many files each mutation makes."""
    return max(1, int(os.environ.get("DALEMBERT_FUZZ", default)) // len(mutations))


def trial(
    mutation: Mutation, sources: Sequence[bytes], read: Callable[..., Any], count: int, breaks_all: bool = False
) -> None:
    """Mutate and read `count` files. `breaks_all`: the mutation need not leave any file readable."""
    rng = random.Random(SEED)
    outcomes = {"model": 0, "error": 0}
    for _ in range(count):
        data = rng.choice(sources)
        for _ in range(rng.choice((1, 1, 3))):
            data = mutation(data, rng) or b"<"
        options = {"base": rng.choice((None, None, "free", "fixed")), "mimic": rng.choice(("couple", "free"))}
        started = time.perf_counter()
        try:
            model, log = read(data, strict=rng.random() < 0.3, **options)
        except DalembertError as error:
            assert str(error).startswith(("<bytes>", "strict=True")), error
            outcomes["error"] += 1
        else:
            check(model)
            assert all(finding.where.startswith("<bytes>") for finding in log)
            outcomes["model"] += 1
        assert time.perf_counter() - started < SLOWEST, data
    assert outcomes["error"] > 0, "the mutations must reach the errors"
    assert outcomes["model"] > 0 or breaks_all, "and must not break every file"


def check(model: Model) -> None:
    """What was accepted is a sound tree of finite numbers."""
    assert all(body.parent < body.index for body in model.bodies)
    for body in model.bodies:
        assert np.all(np.isfinite(body.inertia.parameters()))
        assert np.all(np.isfinite(body.placement.matrix()))
