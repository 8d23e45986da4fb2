"""What is particular to MJCF: inertias that MuJoCo takes, several joints in a body, free joints, soft equalities."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder
from dalembert.formats import read, write
from dalembert.model.geometry import Polyhedron
from dalembert.spatial import Inertia
from saving import again, assert_same_dynamics
from tolerances import PRODUCT
from trees import random_mass, random_model

mujoco = pytest.importorskip("mujoco")

HEAVY = {"mass": 1.0, "com": (0.1, 0, 0), "inertia": np.diag([0.02, 0.03, 0.04])}


def pendulum(**body) -> ModelBuilder:
    builder = ModelBuilder("pendulum")
    builder.add_body("rod", parent="world", joint="revolute", joint_name="pivot", axis=(0, 1, 0), **body)
    return builder


def test_point_masses_that_make_a_body_together(tmp_path):
    """MuJoCo asks every moving body for an inertia; three point masses have one only together."""
    builder = pendulum(mass=1.0)
    for k, xyz in enumerate(np.eye(3)):
        builder.add_body(f"ball{k}", parent="rod", xyz=xyz, mass=0.5)
    findings = write(builder.model(), tmp_path / "p.xml")
    assert any("it gets the sum" in finding.action for finding in findings)
    back = read(tmp_path / "p.xml")[0]
    assert {"ball0", "ball1", "ball2"} <= {frame.name for frame in back.frames}
    assert_same_dynamics(builder.model(), back)


def test_a_thin_rod_and_a_flat_plate(tmp_path):
    """Moments of 0, and the triangle inequality met exactly, as MuJoCo compiles them."""
    builder = pendulum(**HEAVY)
    builder.add_body("plate", parent="rod", joint="revolute", mass=1.0, inertia=np.diag([0.1, 0.2, 0.3]))
    builder.add_body("thin", parent="plate", xyz=(0.3, 0, 0), mass=1.0, inertia=np.diag([0.0, 0.1, 0.1]))
    assert_same_dynamics(builder.model(), again(builder.model(), tmp_path / "p.xml"))


def test_impossible_inertias(tmp_path):
    wide = Inertia(1.0, np.zeros(3), np.diag([0.1, 0.1, 0.3]))
    model = pendulum(inertia_object=wide).model()
    with pytest.raises(DalembertError, match="link 'rod': its principal moments break the triangle inequality"):
        write(model, tmp_path / "p.xml")
    (finding,) = write(model, tmp_path / "p.xml", approximate=True)
    assert finding.action == "the largest moment is lowered to the sum of the others"
    np.testing.assert_allclose(
        read(tmp_path / "p.xml")[0].body("rod").inertia.I, np.diag([0.1, 0.1, 0.2]), atol=PRODUCT
    )
    for inertia, words in (
        (Inertia(1.0, np.zeros(3), np.diag([-0.1, 0.1, 0.1])), "has no mass or no inertia about some axis"),
        (Inertia(-1.0, np.zeros(3), np.eye(3)), "has no mass or no inertia"),
        (Inertia.zero(), "has no mass or no inertia"),
    ):
        with pytest.raises(DalembertError, match=words):
            write(pendulum(inertia_object=inertia).model(), tmp_path / "p.xml", approximate=True)


def test_a_base_that_floats_from_elsewhere(tmp_path):
    builder = ModelBuilder("box")
    builder.add_body("box", parent="world", joint="free", xyz=(0, 0, 1), damping=0.3, **HEAVY)
    with pytest.raises(
        DalembertError, match="MuJoCo measures a free joint from there; approximate=True: q is the pose"
    ):
        write(builder.model(), tmp_path / "box.xml")
    write(builder.model(), tmp_path / "box.xml", approximate=True)
    compiled = mujoco.MjModel.from_xml_path(str(tmp_path / "box.xml"))
    np.testing.assert_allclose(compiled.qpos0, [0, 0, 1, 1, 0, 0, 0])
    assert set(compiled.dof_damping) == {0.3}


def test_two_bodies_that_float_in_the_world(tmp_path):
    builder = ModelBuilder("two")
    for name in ("one", "two"):
        builder.add_body(name, parent="world", joint="free", **HEAVY)
    assert_same_dynamics(builder.model(), again(builder.model(), tmp_path / "two.xml"))
    builder.add_body("three", parent="two", joint="free", **HEAVY)
    with pytest.raises(DalembertError, match="joint 'three': MuJoCo lets only bodies in the world float"):
        write(builder.model(), tmp_path / "two.xml", approximate=True)


def test_ball_joints(tmp_path):
    effects = {"armature": 0.1, "damping": 0.2, "stiffness": 3.0}
    builder = ModelBuilder("wrist")
    builder.add_body("hand", parent="world", joint="ball", **effects, **HEAVY)
    assert_same_dynamics(builder.model(), again(builder.model(), tmp_path / "wrist.xml"))
    builder = ModelBuilder("wrist")
    builder.add_body("hand", parent="world", joint="ball", damping=(0.1, 0.2, 0.3), **HEAVY)
    with pytest.raises(DalembertError, match="damping is not the same for all freedoms"):
        write(builder.model(), tmp_path / "wrist.xml")
    (finding,) = write(builder.model(), tmp_path / "wrist.xml", approximate=True)
    assert finding.action == "their mean"
    np.testing.assert_allclose(read(tmp_path / "wrist.xml")[0].body("hand").joint.damping, np.full(3, 0.2))


def test_a_screw_is_a_hinge_and_a_slide_tied_to_it(tmp_path):
    model = random_model(2, n_bodies=6, kinds=("screw", "revolute"), coupled=True).without("friction")
    with pytest.raises(DalembertError, match="MJCF has no screw joint"):
        write(model, tmp_path / "screw.xml")
    assert_same_dynamics(model, again(model, tmp_path / "screw.xml", approximate=True))


def test_limits_on_one_side(tmp_path):
    builder = pendulum(upper=1.0, effort_limit=5.0, **HEAVY)
    write(builder.model(), tmp_path / "p.xml")
    compiled = mujoco.MjModel.from_xml_path(str(tmp_path / "p.xml"))
    assert compiled.jnt_limited[0] and compiled.jnt_range[0, 1] == 1.0 and compiled.jnt_range[0, 0] < -1e20
    assert list(compiled.jnt_actfrcrange[0]) == [-5.0, 5.0]


def test_frames_and_shapes_of_the_world(tmp_path):
    builder = pendulum(**HEAVY)
    builder.add_body("post", parent="world", xyz=(1, 0, 0), **random_mass(np.random.default_rng(0)))
    builder.add_frame("mark", body="post", xyz=(0, 0, 2))
    model = builder.model()
    back = again(model, tmp_path / "p.xml")
    assert {"world", "rod", "post", "mark"} == {frame.name for frame in back.frames}
    np.testing.assert_allclose(back.frame("mark").placement.p, (1, 0, 2))


HOPPER = """<mujoco model="hopper"><compiler angle="radian"/><worldbody><body name="torso" pos="0 0 1.2">
  <joint name="x" type="slide" axis="1 0 0" armature="0.1"/><joint name="z" type="slide" axis="0 0 1" damping="0.3"/>
  <joint name="pitch" axis="0 1 0" pos="0.1 0 0.2"/><geom type="sphere" size="0.1" mass="3"/>
  <body name="leg" pos="0 0 -0.5" euler="0.1 0.2 0.3"><joint name="knee" axis="0 1 0" pos="0 0 0.1" range="-1 1"/>
  <joint name="ankle" axis="1 0 0" pos="0.2 0 0"/><geom type="box" size=".1 .2 .3" mass="1"/><site name="toe"/></body>
</body></worldbody></mujoco>"""


def test_several_joints_of_a_body_stay_joints_of_that_body(tmp_path):
    """A body with several joints is read as a chain of links without mass, which MuJoCo would refuse."""
    model = read(HOPPER)[0]
    assert write(model, tmp_path / "hopper.xml") == ()
    back = read(tmp_path / "hopper.xml")[0]
    assert [frame.name for frame in back.frames] == [frame.name for frame in model.frames]
    assert_same_dynamics(model, back)
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "hopper.xml"))
    assert [m.body(i).name for i in range(m.nbody)] == ["world", "torso", "leg"]
    assert m.joint("pitch").pos.tolist() == [0.1, 0.0, 0.2] and m.body("torso").jntnum.tolist() == [3]


def test_links_without_mass_become_joints_of_what_they_carry(tmp_path):
    """Each with a joint frame of its own, turned and off the axis; the last one a universal joint, then a ball."""
    builder = ModelBuilder("arm")
    turned = {"xyz": (0.1, 0.2, 0.3), "rpy": (0.3, -0.2, 0.5)}
    builder.add_body("base", parent="world", **HEAVY)
    builder.add_body("a", parent="base", joint="revolute", axis=(1, 0, 0), armature=0.1, **turned)
    builder.add_body("b", parent="a", joint="prismatic", axis=(0, 1, 0), damping=0.2, **turned)
    builder.add_body("c", parent="b", joint="universal", **turned)
    builder.add_body("d", parent="c", joint="revolute", axis=(0, 0, 1), **turned, **HEAVY)
    builder.add_body("e", parent="d", joint="prismatic", axis=(0, 0, 1), **turned)
    builder.add_body("f", parent="e", joint="ball", **turned, **HEAVY)
    builder.add_frame("tool", body="f", xyz=(0, 0, 1))
    model = builder.model()
    findings = write(model, tmp_path / "arm.xml")
    assert any("'a', 'b', 'c'" in f.where and "one of the body 'd'" in f.action for f in findings)
    back = read(tmp_path / "arm.xml")[0]
    assert_same_dynamics(model, back)
    assert {"base", "d", "f", "tool"} <= {frame.name for frame in back.frames}


def test_links_without_mass_that_carry_frames_or_loops_are_refused(tmp_path):
    for what in ("frame", "loop"):
        builder = ModelBuilder("arm")
        builder.add_body("base", parent="world", **HEAVY)
        builder.add_body("a", parent="base", joint="revolute", axis=(1, 0, 0))
        builder.add_body("b", parent="a", joint="revolute", axis=(0, 1, 0), **HEAVY)
        if what == "frame":
            builder.add_frame("on_a", body="a")
        else:
            builder.add_closure("loop", "point", a="base", b="a")
        with pytest.raises(DalembertError, match="link 'a': it moves and has no mass"):
            write(builder.model(), tmp_path / "arm.xml")


def test_polyhedra_too_large_for_an_attribute_are_left_out(tmp_path):
    builder = pendulum(**HEAVY)
    vertices = np.random.default_rng(0).normal(size=(100_001, 3))
    builder.add_geometry(Polyhedron(vertices, np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])), body="rod")
    (finding,) = write(builder.model(), tmp_path / "p.xml")
    assert "100001 vertices" in finding.what and "left out" in finding.action
    assert not read(tmp_path / "p.xml")[0].body("rod").parts[0].geometry
