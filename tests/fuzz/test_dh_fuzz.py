"""Mutated DH tables: a model or a DalembertError, nothing else, and soon."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dalembert.formats import read_dh
from fuzz.mutations import double, drop, flip_bytes, one, rounds, splice, swap, trial, truncate

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


def move_header(data: bytes, rng: random.Random) -> bytes:
    header = rng.choice(
        [b"[[joint]]\n", b"[base]\n", b"[tool]\n", b"[[loop]]\n", b"[joint]\n", b"[[joint.geometry]]\n"]
    )
    return one(rb"(?m)^(?=\w)", data, rng, header)


LINE = rb"(?m)^[^\n]*\n"
MUTATIONS = {
    "flip_bytes": flip_bytes,
    "truncate": truncate,
    "splice": splice,
    "swap_number": swap(rb"(?<=[ \[])-?[0-9][0-9.]*(?=[,\]\n])", NUMBERS),
    "swap_word": swap(rb'(?<=")[a-z]\w*(?=")', WORDS),
    "swap_key": swap(rb"(?m)^\w+(?= =)|(?<=\[)[a-z]+(?=\])", KEYS),
    "drop_line": drop(LINE),
    "double_line": double(LINE),
    "move_header": move_header,
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_mutated_tables_give_a_model_or_a_clear_error(mutation: str) -> None:
    sources = [SMALL, FULL.read_bytes()]
    trial(MUTATIONS[mutation], sources, read_dh, rounds(MUTATIONS), breaks_all=mutation == "truncate")
