"""Building models: numbering, merging of fixed links, the base, and what is refused and how."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.errors import DalembertError
from dalembert.model import ModelBuilder
from dalembert.shapes import Box
from dalembert.spatial import Inertia, Pose, so3
from tolerances import PRODUCT, ROUNDING, assert_close
from trees import random_mass, random_pose


def chain(*links: tuple[str, str, str]) -> ModelBuilder:
    """A builder with links (name, parent, joint kind)."""
    builder = ModelBuilder("robot")
    for name, parent, kind in links:
        builder.add_body(name, parent=parent, joint=kind)
    return builder


def names(model) -> list[str]:
    return [body.name for body in model.bodies]


def test_numbering_is_depth_first_with_siblings_as_added():
    model = chain(
        ("base", "world", "fixed"),
        ("a", "base", "revolute"),
        ("b", "base", "ball"),
        ("a1", "a", "prismatic"),
        ("b1", "b", "free"),
        ("a2", "a", "revolute"),
        ("a11", "a1", "planar"),
    ).model()
    assert names(model) == ["base", "a", "a1", "a11", "a2", "b", "b1"]
    assert [body.parent for body in model.bodies] == [-1, 0, 1, 2, 1, 0, 5]
    assert [body.index for body in model.bodies] == list(range(7))
    assert [(body.q.start, body.q.stop) for body in model.bodies] == [
        (0, 0), (0, 1), (1, 2), (2, 5), (5, 6), (6, 10), (10, 17)
    ]  # fmt: skip
    assert [(body.v.start, body.v.stop) for body in model.bodies] == [
        (0, 0), (0, 1), (1, 2), (2, 5), (5, 6), (6, 9), (9, 15)
    ]  # fmt: skip
    assert (model.nq, model.nv) == (17, 15)
    assert model.children(0) == (1, 5) and model.children(1) == (2, 4) and model.children(3) == ()


def test_children_of_a_fixed_link_take_its_place_among_the_siblings():
    model = chain(
        ("base", "world", "free"),
        ("rib", "base", "fixed"),
        ("late", "base", "revolute"),
        ("early", "rib", "revolute"),
    ).model()
    assert names(model) == ["base", "early", "late"]


@pytest.mark.parametrize("kind", ["fixed", "free"])
def test_a_single_root_fixed_or_free_is_the_base(kind):
    model = chain(("trunk", "world", kind), ("arm", "trunk", "revolute")).model()
    assert names(model) == ["trunk", "arm"]
    assert model.bodies[0].joint.kind == kind and model.bodies[0].parent == -1


def test_otherwise_the_world_is_a_massless_base():
    for links in ([("arm", "world", "revolute")], [("a", "world", "free"), ("b", "world", "free")]):
        model = chain(*links).model()
        assert names(model)[0] == "world" and model.bodies[0].joint.kind == "fixed"
        assert model.bodies[0].inertia.mass == 0.0
        assert [body.parent for body in model.bodies[1:]] == [0] * len(links)
    mixed = chain(("floor", "world", "fixed"), ("arm", "floor", "revolute"), ("ball", "world", "free")).model()
    assert names(mixed) == ["world", "arm", "ball"] and mixed.frame("floor").body == 0


def test_a_first_body_called_world_is_the_world():
    model = chain(("world", "world", "fixed"), ("a", "world", "revolute"), ("b", "world", "free")).model()
    assert names(model) == ["world", "a", "b"]


def test_a_long_chain_needs_no_recursion():
    builder = ModelBuilder("chain")
    builder.add_body("b0", parent="world")
    for i in range(1, 3000):
        builder.add_body(f"b{i}", parent=f"b{i - 1}", joint="revolute")
    assert builder.model().nv == 2999


def test_merging_keeps_mass_centre_and_inertia_and_remembers_the_parts():
    rng = np.random.default_rng(3)
    masses = {name: random_mass(rng) for name in ("base", "arm", "plate", "tool", "tip")}
    poses = {name: random_pose(rng) for name in masses}
    builder = ModelBuilder("robot")
    builder.add_body("base", parent="world", placement=poses["base"], **masses["base"])
    builder.add_body("arm", parent="base", joint="revolute", placement=poses["arm"], **masses["arm"])
    builder.add_body("plate", parent="arm", placement=poses["plate"], **masses["plate"])
    builder.add_body("tool", parent="plate", placement=poses["tool"], **masses["tool"])
    builder.add_body("tip", parent="tool", joint="ball", placement=poses["tip"], **masses["tip"])
    model = builder.model()
    arm = model.body("arm")
    assert names(model) == ["base", "arm", "tip"]
    assert [part.name for part in arm.parts] == ["arm", "plate", "tool"]
    X_arm_tool = poses["plate"] @ poses["tool"]
    placements = [Pose.identity(), poses["plate"], X_arm_tool]
    mass, moment, I = 0.0, np.zeros(3), np.zeros((3, 3))
    for part, X in zip(arm.parts, placements, strict=True):
        assert_close(part.placement.matrix(), X.matrix(), ROUNDING)
        own = masses[part.name]
        assert_close(part.inertia.com, own["com"], ROUNDING)
        assert_close(part.inertia.about_com(), own["inertia"], PRODUCT)
        c = X.point(own["com"])
        mass, moment = mass + own["mass"], moment + own["mass"] * c
        I = I + X.R @ own["inertia"] @ X.R.T + own["mass"] * (c @ c * np.eye(3) - np.outer(c, c))
    assert_close(arm.inertia.mass, mass, ROUNDING)
    assert_close(arm.inertia.moment, moment, PRODUCT)
    assert_close(arm.inertia.I, I, PRODUCT)
    assert_close(model.body("tip").placement.matrix(), (X_arm_tool @ poses["tip"]).matrix(), PRODUCT)
    assert [part.name for part in model.body("tip").parts] == ["tip"]


def test_frames_are_bodies_first_then_fixed_links_and_extra_frames_as_added():
    builder = ModelBuilder("robot")
    builder.add_body("base", parent="world")
    builder.add_body("flange", parent="base", xyz=(1, 0, 0))
    builder.add_frame("camera", body="flange", xyz=(0, 2, 0), rpy=(0, 0, np.pi / 2))
    builder.add_body("arm", parent="flange", joint="revolute", xyz=(0, 0, 3))
    builder.add_body("hand", parent="arm", xyz=(0, 0, 4))
    model = builder.model()
    assert [frame.name for frame in model.frames] == ["base", "arm", "flange", "camera", "hand"]
    assert [frame.body for frame in model.frames] == [0, 1, 0, 0, 1]
    assert_close(model.frame("camera").placement.p, [1.0, 2.0, 0.0], 0.0)
    assert_close(model.frame("arm").placement.matrix(), np.eye(4), 0.0)
    assert_close(model.body("arm").placement.p, [1.0, 0.0, 3.0], 0.0)


def test_quarter_turns_are_exact():
    builder = ModelBuilder("robot")
    builder.add_body("base", parent="world", rpy=(np.pi / 2, -np.pi, np.pi / 2))
    R = builder.model().bodies[0].placement.R
    assert np.array_equal(R, np.round(R)) and np.linalg.det(R) == 1.0
    builder.add_body("next", parent="base", joint="revolute", rpy=(1.5707, 0, 0))  # what is written is kept
    assert_close(builder.model().bodies[1].placement.R, so3.from_rpy(1.5707, 0, 0), 0.0)
    builder.add_body("wedge", parent="next", rpy=(np.pi / 3, 0, 0))  # two links make a quarter turn together
    builder.add_body("last", parent="wedge", joint="revolute", rpy=(np.pi / 6, 0, 0))
    assert np.array_equal(builder.model().bodies[2].placement.R, [[1, 0, 0], [0, 0, -1], [0, 1, 0]])


def test_joint_name_defaults_to_the_body_and_effects_reach_the_joint():
    builder = ModelBuilder("robot")
    builder.add_body(
        "arm", parent="world", joint="universal", axis=(0, 1, 0), axis2=(0, 0, 1), damping=(1, 2), rest=0.3
    )
    joint = builder.model().joint("arm").joint
    assert_close(joint.damping, [1.0, 2.0], 0.0)
    assert_close(joint.rest, [0.3, 0.3], 0.0)
    assert_close(joint.axis2, [0.0, 0.0, 1.0], 0.0)


def test_the_builder_can_go_on_after_a_model_was_made():
    builder = chain(("base", "world", "fixed"))
    first = builder.model()
    builder.add_body("arm", parent="base", joint="revolute")
    assert first.nv == 0 and builder.model().nv == 1


def test_callers_arrays_are_copied():
    com, R, p = np.zeros(3), np.eye(3), np.zeros(3)
    builder = ModelBuilder("robot")
    builder.add_body("base", parent="world", mass=1.0, com=com, placement=Pose(R, p))
    model = builder.model()
    com[0] = p[0] = R[0, 0] = 7.0
    assert model.bodies[0].placement.p[0] == 0.0 and model.bodies[0].placement.R[0, 0] == 1.0


def test_inertia_object_need_only_be_finite():
    impossible = Inertia.from_com(1.0, (0, 0, 0), np.diag([1.0, 1.0, 5.0]))
    builder = ModelBuilder("robot")
    builder.add_body("base", parent="world", inertia_object=impossible)
    assert_close(builder.model().bodies[0].inertia.parameters(), impossible.parameters(), 0.0)
    assert impossible.I.flags.writeable  # the caller's arrays stay the caller's
    with pytest.raises(DalembertError, match=r"inertia_object is .* finite"):
        builder.add_body("bad", parent="base", inertia_object=Inertia(np.nan, np.zeros(3), np.eye(3)))


TWISTED = Pose(np.diag([1.0, 1.0, -1.0]), np.zeros(3))
REFUSED = [
    ({"name": "base"}, "body 'base': there is already a body or frame"),
    ({"name": "tool"}, "body 'tool': there is already a body or frame"),
    ({"name": ""}, "name must be text"),
    ({"name": "world"}, "that name is the world's own"),
    ({"parent": "bas"}, "body 'arm': unknown parent 'bas': did you mean 'base'.*add a parent before its children"),
    ({"joint": "revolut"}, "body 'arm': unknown joint kind 'revolut': did you mean 'revolute'"),
    ({"joint": "revolute", "joint_name": "base"}, "already a joint 'base': give another joint_name"),
    ({"joint": "revolute", "axis": (0, 0, 0)}, "joint 'arm': axis is .* expected a direction"),
    ({"joint": "revolute", "pitch": 0.1}, "use joint='screw'"),
    ({"joint": "revolute", "dampin": 0.1}, "unknown argument 'dampin': did you mean 'damping'"),
    ({"xyz": (0, np.nan, 0)}, "body 'arm': xyz is .* finite"),
    ({"rpy": (0, 0)}, r"body 'arm': rpy has shape \(2,\), expected \(3,\)"),
    ({"xyz": "here"}, "body 'arm': xyz is 'here', expected numbers"),
    ({"placement": TWISTED}, "not a rotation matrix"),
    ({"placement": Pose(2 * np.eye(3), np.zeros(3))}, "not a rotation matrix"),
    ({"placement": Pose.identity(), "xyz": (1, 0, 0)}, "give one of them"),
    ({"mass": -1.0}, "body 'arm': mass is negative"),
    ({"mass": np.nan}, "body 'arm': mass is nan, expected finite"),
    ({"mass": 1.0, "inertia": np.diag([1, 1, 3])}, "triangle inequality"),
    ({"mass": 1.0, "inertia": np.diag([1, 1, -1])}, "negative principal moment"),
    ({"mass": 1.0, "inertia": [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]}, "not symmetric"),
    ({"mass": 1.0, "inertia": (1, 1, 1)}, r"inertia has shape \(3,\), expected \(3, 3\)"),
    ({"inertia": np.eye(3)}, "mass is 0 but the inertia is not"),
    ({"mass": 1.0, "com": (0, 0)}, r"com has shape \(2,\)"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_bad_bodies_are_refused_and_leave_the_builder_as_it_was(arguments, message):
    builder = chain(("base", "world", "fixed"))
    builder.add_frame("tool", body="base")
    before = builder.model()
    with pytest.raises(DalembertError, match=message):
        builder.add_body(**{"name": "arm", "parent": "base", **arguments})
    assert builder.model() == before


def test_other_refusals():
    builder = chain(("base", "world", "fixed"))
    with pytest.raises(DalembertError, match="frame 'tool': unknown body 'bse': did you mean 'base'"):
        builder.add_frame("tool", body="bse")
    with pytest.raises(DalembertError, match="already a body or frame"):
        builder.add_frame("base", body="base")
    with pytest.raises(DalembertError, match="has no bodies"):
        ModelBuilder("empty").model()
    with pytest.raises(DalembertError, match="model 'm': gravity"):
        ModelBuilder("m", gravity=(0, 0))


def test_shapes_stand_in_the_world():
    """A link of the world comes first, whenever its first shape is added; the others stay as they are."""
    builder = ModelBuilder("bin")
    builder.add_body("ball", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
    for height in (0.0, 1.0):
        builder.add_geometry(Box(np.ones(3)), body="world", xyz=(0, 0, height), role="collision")
    model = builder.model()
    assert [(body.name, len(body.parts[0].geometry)) for body in model.bodies] == [("world", 2), ("ball", 0)]
    assert model.nq == 7 and model.bodies[1].mount == "world"
