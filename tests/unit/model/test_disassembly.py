"""Models taken apart into links: put together again they are equal to the bit, and still say what sits on what."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import load, robots
from dalembert.model import ModelBuilder, disassemble, plan
from dalembert.model.geometry import Box
from dalembert.spatial import Pose
from trees import random_mass, random_model, random_pose


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(4))
def test_together_again_is_equal(seed, base, coupled):
    model = random_model(seed, n_bodies=14, base=base, coupled=coupled)
    again = disassemble(model).model()
    assert again == model
    assert [frame.name for frame in again.frames] == [frame.name for frame in model.frames]
    assert again.parameters().tobytes() == model.parameters().tobytes()


@pytest.mark.parametrize("name", robots())
def test_bundled_robots(name):
    model = load(name).model
    again = disassemble(model).model()
    assert again == model
    assert [part.mount for body in again.bodies for part in body.parts] == [
        part.mount for body in model.bodies for part in body.parts
    ]


def looped() -> ModelBuilder:
    rng = np.random.default_rng(0)
    builder = ModelBuilder("looped", gravity=(0, 1, 2))
    builder.add_body("a", parent="world", joint="revolute", **random_mass(rng))
    builder.add_body("hand", parent="a", joint_name="weld", placement=random_pose(rng), **random_mass(rng))
    builder.add_body("pad", parent="hand", placement=random_pose(rng), **random_mass(rng))
    builder.add_body("finger", parent="pad", joint="prismatic", joint_name="hand", **random_mass(rng))
    builder.add_frame("tip", body="pad", xyz=(0, 0, 0.1))
    builder.add_geometry(Box(np.ones(3)), body="pad")
    builder.add_closure("loop", "distance", a="world", b="tip", length=0.5, placement_a=Pose(np.eye(3), np.ones(3)))
    builder.add_equation("law", "hand", "a", coefficients=(0.1, 0.2, 0.3))
    return builder


def test_closures_equations_geometry_and_mounts_are_kept():
    model = looped().model()
    taken = plan(model)
    assert taken.model() == model
    assert taken.base.name == "world"
    assert taken.subtree("hand") == ["hand", "pad", "finger"]
    assert taken.mount(taken.links["pad"]) == "hand" and taken.links["pad"].parent == "a"
    assert taken.places["tip"].mount == "pad"
    assert taken.closings[0].mount_b == "pad"
    assert taken.links["hand"].joint.name != taken.links["finger"].joint.name
    assert isinstance(taken.links["pad"].geometry[0].shape, Box)
    assert plan(taken.model()).subtree("hand") == taken.subtree("hand")


def test_the_builder_takes_more():
    builder = disassemble(looped().model())
    builder.add_body("cap", parent="finger", joint="revolute", mass=1.0)
    assert builder.model().nv == 3


def test_a_copy_leaves_the_original_alone():
    first = plan(looped().model())
    second = first.copy()
    second.links.pop("finger")
    second.mimics["x"] = None
    assert "finger" in first.links and not first.mimics


def test_new_names_are_new():
    taken = plan(looped().model())
    assert taken.new_name("tip") == "tip_2" and taken.new_name("nib") == "nib"
    assert taken.new_joint_name("a") == "a_2"
