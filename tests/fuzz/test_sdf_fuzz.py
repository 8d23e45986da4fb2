"""Mutated SDF files: a model or a DalembertError, nothing else, and soon. DALEMBERT_FUZZ sets the number of files."""

from __future__ import annotations

import os
import random
import re
import time

import numpy as np
import pytest

from dalembert.errors import DalembertError
from dalembert.formats import read_sdf
from dalembert.model import Model
from sdf.snippets import axis, joint, link, model, pose, random_mass, world

SEED = 20260102
SLOWEST = 2.0  # [s] for one file of at most 40 kB
BODY = random_mass(np.random.default_rng(0))

NUMBERS = ["0", "-0", "-1", "1e30", "1e31", "1e16", "1e-320", "nan", "inf", "1e999", "", " ", "x", "1 2", "0 0 0", "٣"]
NAMES = ["world", "__model__", "a", "b", "m::c", "m", "::", "f", "", "j", "k", "true", "quat_xyzw", "1.4", "1.6", "1.9"]
TAGS = [
    "mimic", "inertial", "link", "joint", "frame", "model", "include", "axis", "axis2", "pose", "limit", "mass", "uri",
    "gearbox_ratio", "thread_pitch", "static", "dynamics", "world", "sdf", "gravity", "parent", "child",
]  # fmt: skip
KINDS = ["revolute", "prismatic", "ball", "universal", "revolute2", "screw", "gearbox", "fixed", "continuous"]
DYNAMICS = "<dynamics><damping>1</damping><spring_stiffness>2</spring_stiffness></dynamics>"
LIMIT = "<limit><lower>-1</lower><upper>1e16</upper><effort>5</effort></limit>"
SHAPE = '<visual name="v"><geometry><cylinder><radius>1</radius><length>2</length></cylinder></geometry></visual>'
AUTO = '<inertial auto="true"/><collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision>'
Z = axis((0, 0, 1), DYNAMICS + LIMIT)
X2 = axis((1, 0, 0), tag="axis2")


def sources() -> list[bytes]:
    """One file for each part of the format."""
    a, b, c = link("a", BODY), link("b", BODY, [1, 0, 0, 0, 0, 0.5], inside=SHAPE), link("c", BODY, [0, 1, 0, 0, 0, 0])
    hold = joint("hold", "fixed", "world", "a")
    frames = f'<frame name="f" attached_to="b">{pose([0, 0, 1, 0, 0, 0])}</frame><frame name="g" attached_to="f"/>'
    at = pose([0, 0, 0.1, 0, 0, 0], 'relative_to="a"')
    pitch = "<screw_thread_pitch>0.1</screw_thread_pitch>"
    gear = "<gearbox_ratio>5</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>"
    mimic = axis((0, 0, 1), '<mimic joint="j" axis="axis"><multiplier>2</multiplier></mimic>')
    kinds = "".join(
        link(f"l{k}", BODY) + joint(f"j{k}", kind, "a", f"l{k}", Z + X2 + pitch + gear + pose([0.1, 0, 0, 0, 0, 0]))
        for k, kind in enumerate(KINDS)
    )
    loop = a + b + c + hold + joint("j", "revolute", "a", "b", Z) + joint("k", "revolute", "b", "c", Z)
    nested = f'<model name="m" placement_frame="f">{c}<frame name="f" attached_to="c"/></model>'
    return [text.encode() for text in (
        model(a + kinds, "1.6"),
        model(a + b + c + hold + frames + joint("j", "revolute", "a", "b", Z + at), "1.9", "r", 'canonical_link="a"'),
        model(loop + joint("l", "ball", "a", "c"), "1.7"),
        model(a + b + c + joint("j", "revolute", "a", "b", Z) + joint("k", "revolute", "a", "c", mimic), "1.11"),
        model(a + nested + hold + joint("j", "prismatic", "a", "m::c", Z), "1.10"),
        world(f'<gravity>0 0 -9</gravity><model name="g"><static>1</static></model><model name="r">{a}</model>', "1.5"),
        model(f'<link name="a">{AUTO}</link>{b}{joint("j", "screw", "b", "a", Z)}', "1.4"),
        model(f'<include><uri>model://x</uri><name>y</name></include>{a}'),
    )]  # fmt: skip


def one(pattern: bytes, data: bytes, rng: random.Random, replacement: bytes) -> bytes:
    """Replace one match, chosen at random."""
    found = list(re.finditer(pattern, data, re.DOTALL))
    if not found:
        return data
    match = rng.choice(found)
    return data[: match.start()] + replacement.replace(b"\\0", match.group()) + data[match.end() :]


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


def swap_number(data: bytes, rng: random.Random) -> bytes:
    return one(rb"(?<=[> \"])-?[0-9.]+(?:e-?\d+)?(?=[< \"])", data, rng, rng.choice(NUMBERS).encode())


def swap_name(data: bytes, rng: random.Random) -> bytes:
    return one(rb'(?<=")[A-Za-z]\w*(?=")|(?<=>)[A-Za-z][\w:]*(?=<)', data, rng, rng.choice(NAMES).encode())


def swap_kind(data: bytes, rng: random.Random) -> bytes:
    return one(rb'(?<=type=")\w+(?=")', data, rng, rng.choice(KINDS).encode())


def swap_tag(data: bytes, rng: random.Random) -> bytes:
    old = rng.choice(TAGS).encode()
    return re.sub(rb"(?<=[</])" + old + rb"(?=[ />])", rng.choice(TAGS).encode(), data)


def drop_attribute(data: bytes, rng: random.Random) -> bytes:
    return one(rb' \w+="[^"]*"', data, rng, b"")


def drop_element(data: bytes, rng: random.Random) -> bytes:
    return one(rb"<(\w+)[^<>]*>[^<>]*</\1>|<joint.*?</joint>|<link.*?</link>", data, rng, b"")


def double_element(data: bytes, rng: random.Random) -> bytes:
    return one(rb"<(\w+)[^<>]*>[^<>]*</\1>|<joint.*?</joint>|<link.*?</link>|<frame.*?</frame>", data, rng, rb"\0\0")


def add_element(data: bytes, rng: random.Random) -> bytes:
    tag, name, number = rng.choice(TAGS), rng.choice(NAMES), rng.choice(NUMBERS)
    inside = rng.choice([number, name, f"<{rng.choice(TAGS)}>{number}</{rng.choice(TAGS)}>"])
    attributes = f'name="{name}" relative_to="{rng.choice(NAMES)}" attached_to="{rng.choice(NAMES)}" type="{name}"'
    return one(rb"(?<=>)\n", data, rng, f"<{tag} {attributes}>{inside}</{tag}>".encode())


MUTATIONS = [
    flip_bytes, truncate, splice, swap_number, swap_name, swap_kind, swap_tag, drop_attribute, drop_element,
    double_element, add_element,
]  # fmt: skip
ROUNDS = max(1, int(os.environ.get("DALEMBERT_FUZZ", "1650")) // len(MUTATIONS))
BREAK_ALL = (truncate, splice)  # XML seldom survives them


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_mutated_files_give_a_model_or_a_clear_error(mutation) -> None:
    rng = random.Random(SEED)
    files = sources()
    outcomes = {"model": 0, "error": 0}
    for _ in range(ROUNDS):
        data = rng.choice(files)
        for _ in range(rng.choice((1, 1, 3))):
            data = mutation(data, rng) or b"<"
        options = {"base": rng.choice((None, None, "free", "fixed")), "mimic": rng.choice(("couple", "free"))}
        started = time.perf_counter()
        try:
            made, log = read_sdf(data, strict=rng.random() < 0.3, **options)
        except DalembertError as error:
            assert str(error).startswith(("<bytes>", "strict=True")), error
            outcomes["error"] += 1
        else:
            check(made)
            assert all(finding.where.startswith("<bytes>:") for finding in log)
            outcomes["model"] += 1
        assert time.perf_counter() - started < SLOWEST
    assert outcomes["error"] > 0, "the mutations must reach the errors"
    assert outcomes["model"] > 0 or mutation in BREAK_ALL, "and must not break every file"


def check(made: Model) -> None:
    """What was accepted is a sound tree of finite numbers."""
    assert all(body.parent < body.index for body in made.bodies)
    for body in made.bodies:
        assert np.all(np.isfinite(body.inertia.parameters()))
        assert np.all(np.isfinite(body.placement.matrix()))


def test_the_files_themselves_are_sound() -> None:
    for data in sources()[:-1]:  # the last one includes a file that is not there
        check(read_sdf(data)[0])


def test_long_chains_against_their_direction() -> None:
    """Every joint points to the root, and the links come in no order."""
    n = 1200
    order = random.Random(SEED).sample(range(n), n)
    text = "".join(f'<link name="l{k}"/>' for k in order)
    text += "".join(joint(f"j{k}", "revolute", f"l{k + 1}", f"l{k}", axis((0, 0, 1))) for k in order if k < n - 1)
    assert read_sdf(model(text))[0].nv == 6 + n - 1
