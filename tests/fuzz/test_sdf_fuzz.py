"""Mutated SDF files: a model or a DalembertError, nothing else, and soon."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from dalembert.formats import read_sdf
from formats.sdf.snippets import axis, joint, link, model, pose, random_mass, world
from fuzz.mutations import (
    SEED,
    check,
    double,
    drop,
    drop_attribute,
    flip_bytes,
    one,
    rounds,
    splice,
    swap,
    trial,
    truncate,
)

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


def swap_tag(data: bytes, rng: random.Random) -> bytes:
    old = rng.choice(TAGS).encode()
    return re.sub(rb"(?<=[</])" + old + rb"(?=[ />])", rng.choice(TAGS).encode(), data)


def add_element(data: bytes, rng: random.Random) -> bytes:
    tag, name, number = rng.choice(TAGS), rng.choice(NAMES), rng.choice(NUMBERS)
    inside = rng.choice([number, name, f"<{rng.choice(TAGS)}>{number}</{rng.choice(TAGS)}>"])
    attributes = f'name="{name}" relative_to="{rng.choice(NAMES)}" attached_to="{rng.choice(NAMES)}" type="{name}"'
    return one(rb"(?<=>)\n", data, rng, f"<{tag} {attributes}>{inside}</{tag}>".encode())


PAIR = rb"<(\w+)[^<>]*>[^<>]*</\1>|<joint.*?</joint>|<link.*?</link>"
MUTATIONS = {
    "flip_bytes": flip_bytes,
    "truncate": truncate,
    "splice": splice,
    "swap_number": swap(rb"(?<=[> \"])-?[0-9.]+(?:e-?\d+)?(?=[< \"])", NUMBERS),
    "swap_name": swap(rb'(?<=")[A-Za-z]\w*(?=")|(?<=>)[A-Za-z][\w:]*(?=<)', NAMES),
    "swap_kind": swap(rb'(?<=type=")\w+(?=")', KINDS),
    "swap_tag": swap_tag,
    "drop_attribute": drop_attribute,
    "drop_element": drop(PAIR),
    "double_element": double(PAIR + rb"|<frame.*?</frame>"),
    "add_element": add_element,
}
BREAK_ALL = ("truncate", "splice")  # XML seldom survives them


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_mutated_files_give_a_model_or_a_clear_error(mutation: str) -> None:
    trial(MUTATIONS[mutation], sources(), read_sdf, rounds(MUTATIONS), breaks_all=mutation in BREAK_ALL)


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
