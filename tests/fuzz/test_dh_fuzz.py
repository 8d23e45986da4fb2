"""Mutated DH tables: a model or a DalembertError, nothing else, and soon."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from dalembert.errors import DalembertError
from dalembert.formats import read_dh
from fuzz.mutations import SEED, SLOWEST, check, flip_bytes, one, splice, truncate

ROUNDS = 150
NUMBERS = [
    "0",
    "-0",
    "-1",
    "1e30",
    "1e31",
    "1e-320",
    "nan",
    "-inf",
    "1e999",
    "",
    "x",
    '"1"',
    "[1, 2]",
    "true",
    "1" * 400,
]
WORDS = [
    "world",
    "base",
    "link1",
    "joint1",
    "",
    "free",
    "fixed",
    "standard",
    "modified",
    "rad",
    "revolute",
    "prismatic",
]
KEYS = ["a", "d", "mass", "com", "inertia", "joint", "base", "tool", "loop", "mimic", "geometry", "lower", "link", "x"]

FULL = Path(__file__).parents[1] / "refs" / "data" / "puma560.dh.toml"
SMALL = b"""name = "crane"
convention = "modified"
angles = "rad"
gravity = [0, 0, -9.81]

[base]
kind = "free"
xyz = [0, 0, 1]
mass = 5.0
inertia = [1, 1, 1]

[[joint]]
name = "swing"
type = "revolute"
a = 0.5
alpha = 1.5
d = 0.1
lower = -1.0
upper = 1.0
mass = 2.0
com = [0.1, 0, 0]
inertia = [[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]

[[joint.geometry]]
shape = "box"
size = [1, 2, 3]

[[joint]]
name = "lift"
type = "prismatic"
a = 0.5
alpha = 0.0
theta = 0.3
mimic = { joint = "swing", ratio = 2.0 }
mass = 1.0

[tool]
xyz = [0, 0, 0.1]

[[loop]]
name = "rope"
kind = "distance"
a = "world"
b = "tool"
length = 2.0
"""


def swap_number(data: bytes, rng: random.Random) -> bytes:
    return one(rb"(?<=[ \[])-?[0-9][0-9.]*(?=[,\]\n])", data, rng, rng.choice(NUMBERS).encode())


def swap_word(data: bytes, rng: random.Random) -> bytes:
    return one(rb'(?<=")[a-z]\w*(?=")', data, rng, rng.choice(WORDS).encode())


def swap_key(data: bytes, rng: random.Random) -> bytes:
    return one(rb"(?m)^\w+(?= =)|(?<=\[)[a-z]+(?=\])", data, rng, rng.choice(KEYS).encode())


def drop_line(data: bytes, rng: random.Random) -> bytes:
    return one(rb"(?m)^.*\n", data, rng, b"")


def double_line(data: bytes, rng: random.Random) -> bytes:
    return one(rb"(?m)^.*\n", data, rng, rb"\0\0")


def move_header(data: bytes, rng: random.Random) -> bytes:
    header = rng.choice(
        [b"[[joint]]\n", b"[base]\n", b"[tool]\n", b"[[loop]]\n", b"[joint]\n", b"[[joint.geometry]]\n"]
    )
    return one(rb"(?m)^(?=\w)", data, rng, header)


MUTATIONS = [flip_bytes, truncate, splice, swap_number, swap_word, swap_key, drop_line, double_line, move_header]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_mutated_tables_give_a_model_or_a_clear_error(mutation) -> None:
    rng = random.Random(SEED)
    sources = [SMALL, FULL.read_bytes()]
    outcomes = {"model": 0, "error": 0}
    for _ in range(ROUNDS):
        data = rng.choice(sources)
        for _ in range(rng.choice((1, 1, 3))):
            data = mutation(data, rng) or b"#"
        options = {"base": rng.choice((None, "free")), "mimic": rng.choice(("couple", "free"))}
        started = time.perf_counter()
        try:
            model, log = read_dh(data, strict=rng.random() < 0.3, **options)
        except DalembertError as error:
            assert str(error).startswith(("<bytes>", "strict=True")), error
            outcomes["error"] += 1
        else:
            check(model)
            assert all(finding.where.startswith("<bytes>") for finding in log)
            outcomes["model"] += 1
        assert time.perf_counter() - started < SLOWEST
    assert outcomes["error"] > 0, "the mutations must reach the errors"
    assert outcomes["model"] > 0 or mutation is truncate, "and must not break every file"
