"""Mutated URDF files: a model or a DalembertError, nothing else, and soon."""

from __future__ import annotations

import random

import pytest

from dalembert.errors import DalembertError
from dalembert.formats import read_urdf
from dalembert.model.bundled import names, path
from fuzz.mutations import SEED, double, drop, drop_attribute, flip_bytes, one, rounds, splice, swap, trial, truncate

NUMBERS = ["0", "-0", "-1", "1e30", "1e31", "1e-320", "nan", "inf", "1e999", "", " ", "x", "1 2", "1 2 3", "0 0 0", "٣"]
NAMES = ["world", "base", "link1", "", "\t", "free", "fixed", "floating", "planar", "true", "${x}"]
TAGS = [
    "mimic", "inertial", "dalembert", "link", "joint", "gazebo", "xacro:x", "limit", "axis", "origin", "robot", "loop",
    "equation", "loop_joint", "visual", "collision", "geometry", "box", "mesh", "material", "color",
]  # fmt: skip
BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
SHAPES = """<visual><origin xyz="0 0 1"/><geometry><mesh filename="package://a/b.stl" scale="1 1 1"/></geometry>
<material name="red"><color rgba="1 0 0 1"/></material></visual>
<collision><geometry><capsule radius="0.1" length="0.3"/></geometry></collision>"""
LOOPED = f"""<robot name="bars">
<link name="base"/><link name="one">{BODY}{SHAPES}</link><link name="two">{BODY}</link>
<joint name="j1" type="continuous"><parent link="base"/><child link="one"/><axis xyz="0 0 1"/></joint>
<joint name="j2" type="continuous"><parent link="base"/><child link="two"/><axis xyz="0 0 1"/></joint>
<dalembert base="fixed" gravity="0 0 -9.81">
<loop name="pin" kind="revolute" a="one" b="two" xyz_a="1 0 0" rpy_b="0 0 1" axis="0 0 1"/>
<loop name="rope" kind="distance" a="world" b="two" length="0.5"/>
<equation name="gear" follower="j2" leader="j1" coefficients="0 -2"/>
</dalembert>
<loop_joint name="old" type="spherical"><link1 link="one" xyz="0 0 1"/><link2 link="two"/></loop_joint>
</robot>""".encode()


def add_element(data: bytes, rng: random.Random) -> bytes:
    tag, name, number = rng.choice(TAGS), rng.choice(NAMES), rng.choice(NUMBERS)
    element = f'<{tag} name="{name}" joint="{name}" xyz="{number}" armature="{number}" lower="{number}"/>'
    return one(rb"(?<=>)\n", data, rng, element.encode())


EMPTY = rb"<\w+ [^<>]*/>"
MUTATIONS = {
    "flip_bytes": flip_bytes,
    "truncate": truncate,
    "splice": splice,
    "drop_attribute": drop_attribute,
    "swap_number": swap(rb"(?<=[\" ])-?[0-9.]+(?:e-?\d+)?(?=[\" ])", NUMBERS),
    "swap_name": swap(rb'(?<=")[A-Za-z]\w*(?=")', NAMES),
    "swap_tag": swap(rb"(?<=<)[a-z]+(?=[ />])", TAGS),
    "drop_element": drop(EMPTY),
    "double_element": double(EMPTY + rb"|<link[^\n]*?</link>|<joint[^\n]*?</joint>"),
    "add_element": add_element,
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_mutated_files_give_a_model_or_a_clear_error(mutation: str) -> None:
    sources = [LOOPED, *(path(name).read_bytes() for name in names() if name != "humanoid")]
    trial(MUTATIONS[mutation], sources, read_urdf, rounds(MUTATIONS), breaks_all=mutation == "truncate")


def test_random_bytes() -> None:
    rng = random.Random(SEED)
    for _ in range(300):
        data = rng.randbytes(rng.randrange(200))
        for start in (b"", b"<robot>", b'<?xml version="1.0"?><robot name="r">'):
            with pytest.raises(DalembertError):
                read_urdf(start + data)
