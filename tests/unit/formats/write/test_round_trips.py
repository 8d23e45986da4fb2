"""Robots after a journey through a file: same names, frames and dynamics; or the right error."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, load, robots
from dalembert.dynamics.algorithms import frame_pose
from dalembert.formats import read, write
from dalembert.model import Model, ModelBuilder
from dalembert.spatial import Pose
from saving import again, assert_same_dynamics, joint_names
from tolerances import COMPUTED, PRODUCT, ROUNDING
from trees import ALL_KINDS, random_axis, random_mass, random_model, random_pose, random_state, with_stribeck

SINGLE = ("revolute", "continuous", "prismatic")
URDF = (*SINGLE, "planar", "free")
SDF = (*SINGLE, "screw", "universal", "ball")
MJCF = (*SINGLE, "cylindrical", "universal", "planar")


def frames_agree(one: Model, two: Model, names: list[str] | None = None) -> None:
    q, _, _ = random_state(np.random.default_rng(1), one)
    for name in names or [frame.name for frame in one.frames]:
        there, back = (frame_pose(model, q, model.frame(name)) for model in (one, two))
        np.testing.assert_allclose(back.matrix(), there.matrix(), atol=COMPUTED, err_msg=name)


@pytest.mark.parametrize("name", robots())
def test_bundled_robots_through_urdf(tmp_path, name):
    model = load(name).model
    back = again(model, tmp_path / "robot.urdf")
    assert [f.name for f in back.frames] == [f.name for f in model.frames]
    assert joint_names(back) == joint_names(model) and back.name == model.name
    assert_same_dynamics(model, back)
    frames_agree(model, back)
    for body, other in zip(model.bodies, back.bodies, strict=True):
        assert body.joint.kind == other.joint.kind
        for field in ("lower", "upper", "velocity_limit", "effort_limit", "armature", "slip_speed"):
            np.testing.assert_array_equal(getattr(body.joint, field), getattr(other.joint, field))
        shapes = [[type(g.shape) for part in one.parts for g in part.geometry] for one in (body, other)]
        assert shapes[0] == shapes[1]


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(4))
def test_trees_through_urdf(tmp_path, seed, base, coupled):
    """Gravity, the base's place and all effects included, through <dalembert>."""
    model = with_stribeck(random_model(seed, n_bodies=10, kinds=URDF, base=base, coupled=coupled))
    back = again(model, tmp_path / "tree.urdf")
    assert {f.name for f in back.frames} == {f.name for f in model.frames}
    assert joint_names(back) == joint_names(model)
    assert_same_dynamics(model, back)
    frames_agree(model, back)


@pytest.mark.parametrize("ending", [".urdf", ".sdf"])
@pytest.mark.parametrize("seed", range(3))
def test_trees_in_pieces(tmp_path, seed, ending):
    """Joints that the format does not have, in a row: exact in the same coordinates, but only when asked for."""
    kinds = [kind for kind in ALL_KINDS if kind not in ("ball", "free")]
    model = random_model(seed, n_bodies=9, kinds=kinds, effects=ending == ".urdf", coupled=True)
    with pytest.raises(DalembertError, match="has no cylindrical joint; approximate=True: joints in a row"):
        write(model, tmp_path / f"tree{ending}")
    assert_same_dynamics(model, again(model, tmp_path / f"tree{ending}", approximate=True))


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(4))
def test_trees_through_sdf(tmp_path, seed, base):
    model = without_effects(random_model(seed, n_bodies=10, kinds=SDF, coupled=bool(seed % 2)), base)
    back = again(model, tmp_path / "tree.sdf")
    assert {f.name for f in back.frames} == {f.name for f in model.frames}
    assert joint_names(back) == joint_names(model)
    assert_same_dynamics(model, back)
    frames_agree(model, back)


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(4))
def test_trees_through_mjcf(tmp_path, seed, base):
    """Rotors, dampers and springs included; several joints in one body, and equalities for joints that follow."""
    pytest.importorskip("mujoco")
    model = random_model(seed, n_bodies=10, kinds=MJCF, coupled=bool(seed % 2)).without("friction")
    model = model if base == "fixed" else on_a_free_base(model)
    back = again(model, tmp_path / "tree.xml")
    assert {f.name for f in model.frames} <= {f.name for f in back.frames}
    assert_same_dynamics(model, back)
    frames_agree(model, back)


def without_effects(model: Model, base: str) -> Model:
    """SDF has dampers and springs of joints with axes only."""
    model = model.without("friction", "armature")
    balls = [body for body in model.bodies if body.joint.kind == "ball"]
    zeros = {"stiffness": np.zeros(3), "damping": np.zeros(3)}
    for body in balls:
        object.__setattr__(body, "joint", body.joint.with_values(**zeros))
    return model if base == "fixed" else on_a_free_base(model)


def on_a_free_base(model: Model) -> Model:
    """The same tree floating, its base measured from the world's origin."""
    builder = ModelBuilder(model.name, model.gravity)
    carried = random_model(5, n_bodies=6, kinds=SINGLE)
    builder.add_body("trunk", parent="world", joint="free", **random_mass(np.random.default_rng(3)))
    for body in carried.bodies[1:]:
        parent = carried.bodies[body.parent].name
        own = {key: getattr(body.joint, key) for key in ("axis", "damping", "stiffness", "rest", "lower", "upper")}
        builder.add_body(
            body.name,
            parent="trunk" if parent == "base" else parent,
            joint=body.joint.kind,
            joint_name=body.joint.name,
            placement=body.placement,
            inertia_object=body.inertia,
            **own,
        )
    return builder.model()


@pytest.mark.parametrize("ending", [".urdf", ".xml", ".sdf", ".dh.toml"])
@pytest.mark.parametrize("seed", range(3))
def test_any_tree_is_written_or_refused_with_names(tmp_path, seed, ending):
    model = random_model(seed, n_bodies=11)
    with pytest.raises(DalembertError, match="the robot cannot be written as") as caught:
        write(model, tmp_path / f"tree{ending}")
    assert all(line.startswith(("  joint", "  link")) for line in str(caught.value).splitlines()[1:])


# ---- DH tables


def chain(seed: int, base: str = "fixed") -> Model:
    rng = np.random.default_rng(seed)
    builder = ModelBuilder("chain", gravity=rng.normal(size=3))
    builder.add_body("base", parent="world", joint=base, placement=random_pose(rng), **random_mass(rng))
    parent = "base"
    effects = {"armature": 0.1, "stiffness": 2.0, "rest": 0.3, "damping": 0.1, "friction": 0.2, "slip_speed": 0.3}
    effects |= {"stribeck": 0.1, "stribeck_speed": 0.4, "continuous_limit": 2.0}
    for i in range(7):
        kind, turn = SINGLE[rng.integers(3)], random_pose(rng)
        mimic = ("j0", 0.5, 0.1) if i == 4 else None
        own = {"joint": kind, "joint_name": f"j{i}", "axis": random_axis(rng), "mimic": mimic, **effects}
        builder.add_body(f"l{i}", parent=parent, placement=turn, **own, **random_mass(rng))
        parent = f"l{i}"
        if rng.random() < 0.3:
            builder.add_body(f"f{i}", parent=parent, placement=random_pose(rng), **random_mass(rng))
            parent = f"f{i}"
    builder.add_frame("tool", body=parent, placement=random_pose(rng))
    return builder.model()


@pytest.mark.parametrize("seed", range(20))
def test_chains_through_dh_tables(tmp_path, seed):
    """Parallel, intersecting, coincident and skew axes: coordinates keep zeros and signs, the tool its pose."""
    model = chain(seed)
    back = again(model, tmp_path / "chain.dh.toml")
    assert joint_names(back) == joint_names(model)
    assert_same_dynamics(model, back)
    frames_agree(model, back, ["tool"])


def test_a_robot_made_of_dh_frames_keeps_them(tmp_path):
    """The Panda's frames are those of its published table, modified convention: a, α, d of Franka's documentation."""
    model = load("panda").model
    back = again(model, tmp_path / "panda.dh.toml")
    frames_agree(model, back, [body.name for body in model.bodies])
    text = (tmp_path / "panda.dh.toml").read_text()
    rows = [float(line.split("=")[1]) for line in text.splitlines() if line.startswith("a = ")]
    assert rows == [0, 0, 0, 0.0825, -0.0825, 0, 0.088]
    assert [float(x.split("=")[1]) for x in text.splitlines() if x.startswith("d = ")] == [
        0.333,
        0,
        0.316,
        0,
        0.384,
        0,
        0,
    ]


def test_a_floating_chain(tmp_path):
    builder = ModelBuilder("arm")
    builder.add_body("base", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
    builder.add_body("one", parent="base", joint="revolute", xyz=(0, 0, 0.2), mass=1.0, inertia=np.eye(3))
    assert_same_dynamics(builder.model(), again(builder.model(), tmp_path / "arm.dh.toml"))
    with pytest.raises(DalembertError, match="is not on the first axis as a DH table needs it, and it floats"):
        write(chain(3, "free"), tmp_path / "arm.dh.toml")


def test_what_is_no_chain(tmp_path):
    with pytest.raises(DalembertError, match="it branches off, and a DH table is one chain"):
        write(load("quadruped").model, tmp_path / "q.dh.toml")
    builder = ModelBuilder("near")
    builder.add_body("a", parent="world", joint="revolute", mass=1.0, inertia=np.eye(3))
    builder.add_body(
        "b", parent="a", joint="revolute", axis=(1e-7, 0, 1), xyz=(0.3, 0.2, 0), mass=1.0, inertia=np.eye(3)
    )
    with pytest.raises(DalembertError, match="nearly parallel"):
        write(builder.model(), tmp_path / "near.dh.toml")
    builder = ModelBuilder("still")
    builder.add_body("a", parent="world", mass=1.0)
    with pytest.raises(DalembertError, match="it has no joints"):
        write(builder.model(), tmp_path / "still.dh.toml")


# ---- loops

AXIAL = {"axis": (0.0, 1.0, 0.0)}
CLOSURES = [
    ("weld", {}), ("point", {}), ("revolute", AXIAL), ("prismatic", AXIAL), ("cylindrical", AXIAL), ("planar", AXIAL),
    ("universal", AXIAL | {"axis2": (1.0, 0.0, 0.0)}), ("point-on-line", AXIAL), ("point-on-plane", AXIAL),
    ("distance", {"length": 0.5}),
]  # fmt: skip


def looped(kind: str, shape: dict, closed: bool = True, world: bool = False) -> Model:
    builder = ModelBuilder("loop")
    heavy = {"mass": 1.0, "inertia": np.eye(3)}
    builder.add_body("base", parent="world", **heavy)
    builder.add_body("a", parent="base", joint="revolute", axis=(0, 1, 0), xyz=(0.1, 0, 0.3), **heavy)
    builder.add_body("b", parent="a", joint="revolute", axis=(0, 1, 0), xyz=(0.4, 0, 0.1), rpy=(0, 0.3, 0), **heavy)
    X_WB = Pose.from_xyz_rpy((0.1, 0, 0.3)) @ Pose.from_xyz_rpy((0.4, 0, 0.1), (0, 0.3, 0))
    tip = Pose.from_xyz_rpy((0.1, 0, 0.2), (0.2, 0, 0))
    place = X_WB @ tip if closed else Pose.identity()
    end = "world" if world else "base"
    builder.add_closure("tie", kind, a=end, b="b", placement_a=place, placement_b=tip, **shape)
    return builder.model()


def same_closure(one: Model, two: Model) -> None:
    (a,), (b,) = one.closures, two.closures
    assert (a.name, a.kind) == (b.name, b.kind)
    X = Pose.from_xyz_rpy((0.3, -0.2, 0.1), (0.4, 0.5, -0.6))
    for end in ("a", "b"):
        assert one.bodies[getattr(a, end).body].name == two.bodies[getattr(b, end).body].name
        placements = getattr(a, end).placement.matrix(), getattr(b, end).placement.matrix()
        np.testing.assert_allclose(*placements, atol=PRODUCT)
    np.testing.assert_allclose(a.residual(X), b.residual(X), atol=PRODUCT)


@pytest.mark.parametrize(("kind", "shape"), CLOSURES)
@pytest.mark.parametrize("ending", [".urdf", ".dh.toml"])
def test_loops_of_every_kind(tmp_path, kind, shape, ending):
    model = looped(kind, shape, closed=False)
    back = again(model, tmp_path / f"loop{ending}")
    if ending == ".urdf":
        same_closure(model, back)
    assert [(c.name, c.kind) for c in back.closures] == [("tie", kind)]
    assert_same_dynamics(model, back)


@pytest.mark.parametrize(("kind", "shape"), CLOSURES)
def test_loops_through_sdf(tmp_path, kind, shape):
    model = looped(kind, shape)
    if kind in ("weld", "point", "revolute", "prismatic", "universal"):
        back = again(model, tmp_path / "loop.sdf")
        same_closure(model, back)
        assert_same_dynamics(model, back)
        with pytest.raises(DalembertError, match="not closed in the robot's zero position"):
            write(looped(kind, shape, closed=False), tmp_path / "loop.sdf")
    else:
        with pytest.raises(DalembertError, match=f"SDF has no {kind} joint to close a loop"):
            write(model, tmp_path / "loop.sdf")


@pytest.mark.parametrize(("kind", "shape"), CLOSURES)
def test_loops_through_mjcf(tmp_path, kind, shape):
    pytest.importorskip("mujoco")
    model = looped(kind, shape, closed=False)
    if kind in ("weld", "point"):
        findings = write(model, tmp_path / "loop.xml")
        assert any("MuJoCo holds softly" in finding.action for finding in findings)
        back = read(tmp_path / "loop.xml")[0]
        assert_same_dynamics(model, back)
        assert [closure.kind for closure in back.closures] == [kind]
    elif kind == "revolute":
        with pytest.raises(DalembertError, match="two points of the axis, 1 m apart, are connected"):
            write(model, tmp_path / "loop.xml")
        back = again(model, tmp_path / "loop.xml", approximate=True)
        assert [closure.kind for closure in back.closures] == ["point", "point"]
    else:
        with pytest.raises(DalembertError, match=f"MJCF has no {kind} closure"):
            write(model, tmp_path / "loop.xml")


def test_equations_between_joints(tmp_path):
    builder = ModelBuilder("cam")
    for name in ("a", "b"):
        builder.add_body(name, parent="world", joint="revolute", joint_name=f"{name}_turn", mass=1.0, inertia=np.eye(3))
    builder.add_equation("cam", "b_turn", "a_turn", coefficients=[0.1, 0.5, -0.2])
    model = builder.model()
    for ending in (".urdf", ".xml"):
        (law,) = again(model, tmp_path / f"cam{ending}").closures
        assert (law.follower, law.leader) == ("b_turn", "a_turn")
        np.testing.assert_allclose(law.law(0.3), model.closures[0].law(0.3), rtol=ROUNDING)
    for ending in (".sdf", ".dh.toml"):
        with pytest.raises(DalembertError, match="'cam'"):
            write(model, tmp_path / f"cam{ending}")
