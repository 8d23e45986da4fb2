"""MJCF: what each word of the format becomes, checked against MuJoCo's own dynamics and poses of the same text."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, load
from dalembert.dynamics.algorithms import bias, frame_pose, mass_matrix, rnea
from dalembert.formats import read_mjcf
from dalembert.model import Coupled
from dalembert.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Mesh, Plane, Polyhedron, Sphere
from peers.mjcf_twin import FileTwin, mj
from tolerances import INTEGRATED, PEER, PRODUCT, assert_close
from trees import random_state

GEOM = '<geom type="box" size=".1 .2 .3" pos=".1 .2 -.1" euler="10 20 30"/>'


def mujoco(inside: str, before: str = "", after: str = "") -> str:
    return f'<mujoco model="m">{before}<worldbody>{inside}</worldbody>{after}</mujoco>'


def arm(joint: str, **sections: str) -> str:
    """A body on `joint` between two hinges."""
    tip = f'<body name="tip" pos="0 .3 .1" euler="0 40 0"><joint name="last" axis="1 1 0"/>{GEOM}</body>'
    middle = f'<body name="mid" pos=".3 .1 0" euler="30 0 10">{joint}{GEOM}{tip}<site name="s" pos="1 2 3"/></body>'
    first = '<joint name="first" axis="0 1 0"/>'
    return mujoco(f'<body name="root" pos="0 0 1" quat="1 .2 0 0">{first}{GEOM}{middle}</body>', **sections)


JOINTS = {
    "hinge": '<joint name="j" axis="0 1 2"/>',
    "hinge off its origin": '<joint name="j" axis="0 1 2" pos=".3 .2 .1"/>',
    "slide": '<joint name="j" type="slide" axis="1 0 1" pos=".3 .2 .1"/>',
    "ball": '<joint name="j" type="ball" pos=".1 .2 .3" stiffness="3" damping=".2" armature=".1"/>',
    "ref": '<joint name="j" axis="0 1 2" pos=".3 0 0" ref="40" springref="10" stiffness="2"/>',
    "ref of a slide": '<joint name="j" type="slide" axis="0 1 2" ref=".4" springref="-.1" stiffness="20"/>',
    "effects": '<joint name="j" axis="1 0 0" armature=".3" damping=".7" stiffness="2" springref="30"/>',
    "springdamper": '<joint name="j" axis="1 0 0" springdamper=".1 1"/>',
    "two slides, a hinge": '<joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>'
    '<joint name="j" pos=".1 .2 .3"/>',
    "three hinges": '<joint name="x" axis="1 0 0" pos=".1 0 0"/><joint name="y" axis="0 1 0" pos="0 .1 0" ref="20"/>'
    '<joint name="j" axis="0 0 1"/>',
    "hinge, slide": '<joint name="x" pos=".1 .2 .3" ref="30"/><joint name="j" type="slide" axis="1 1 0" ref="1"/>',
    "slide, ball": '<joint name="x" type="slide" axis="1 0 0"/><joint name="j" type="ball" pos=".1 0 .2"/>',
    "no joint": "",
}


def agree(text: str, **options) -> None:
    model, log = read_mjcf(text, **options)
    assert not [finding for finding in log if finding.severity == "warning"]
    twin, model, rng = FileTwin(text, model), model.without("friction"), np.random.default_rng(3)
    for _ in range(3):
        q, v, a = random_state(rng, model)
        assert_close(mass_matrix(model, q), twin.mass_matrix(q), PEER, scale=0.0)
        assert_close(bias(model, q, v), twin.inverse_dynamics(q, v, 0 * a), PEER, scale=0.0)
        assert_close(rnea(model, q, v, a), twin.inverse_dynamics(q, v, a), PEER, scale=0.0)
        for name, position in {**twin.bodies(), **twin.sites()}.items():
            assert_close(frame_pose(model, q, model.frame(name)).p, position, PEER)
        for i in range(1, twin.m.nbody):
            if name := twin.m.body(i).name:
                R = frame_pose(model, q, model.frame(name)).R
                assert_close(R, twin.data.xmat[i].reshape(3, 3), PEER)


@pytest.mark.parametrize("kind", JOINTS)
def test_joints(kind):
    agree(arm(JOINTS[kind]))


@pytest.mark.parametrize(
    "text",
    [
        arm(JOINTS["ref"], before='<compiler angle="radian" eulerseq="ZYX"/><option gravity="1 2 -3"/>'),
        arm(JOINTS["ref"], before='<option><flag gravity="disable" spring="disable" damper="disable"/></option>'),
        arm(JOINTS["effects"], before='<default><joint damping="2" armature=".5"/><geom density="300"/></default>'),
        arm(JOINTS["effects"], before='<compiler balanceinertia="true" boundmass="30" boundinertia="4"/>'),
        arm(JOINTS["effects"], before='<compiler settotalmass="7"/>'),
        arm(JOINTS["hinge"], after='<actuator><motor joint="j" gear="3" armature=".2" damping=".4"/></actuator>'),
        arm('<inertial mass="2" pos=".1 .2 .3" fullinertia="1 1.2 1.3 .1 -.2 .05"/>' + JOINTS["hinge"]),
        mujoco(
            f'<body name="a" pos="1 2 3"><freejoint/>{GEOM}<body name="b"><joint axis="1 0 0"/>{GEOM}</body></body>'
        ),
        mujoco(f'<body name="a"><joint type="free" damping=".3"/>{GEOM}</body><body><freejoint/>{GEOM}</body>'),
        mujoco(f'<frame pos="1 2 3" euler="20 0 0"><body name="a"><joint/>{GEOM}</body></frame><geom size="1"/>'),
        mujoco(f'<replicate count="3" euler="0 0 40"><body pos="1 0 0"><joint axis="1 0 0"/>{GEOM}</body></replicate>'),
        mujoco(f'<body name="a"><joint axis="1 0 0"/><body name="b">{GEOM}<body><joint/>{GEOM}</body></body></body>'),
    ],
)
def test_models(text):
    agree(text)


def test_coordinates_are_those_of_mujoco():
    model, _ = read_mjcf(arm(JOINTS["two slides, a hinge"]))
    assert [body.joint.name for body in model.bodies if body.joint.nv] == ["first", "x", "y", "j", "last"]
    assert [body.name for body in model.bodies] == ["world", "root", "mid:x", "mid:y", "mid:j", "tip"]
    assert model.frame("mid").body == 4


def test_limits_efforts_and_friction():
    joint = '<joint name="j" range="-90 45" frictionloss=".3" actuatorfrcrange="-20 20"/>'
    motors = '<motor joint="j" gear="-10" ctrlrange="-1 1"/><general joint="last" forcerange="-3 3" gear="2"/>'
    model, log = read_mjcf(arm(joint, after=f"<actuator>{motors}<motor joint='first'/></actuator>"))
    j, last, first = (model.joint(name).joint for name in ("j", "last", "first"))
    assert_close([*j.lower, *j.upper], [-np.pi / 2, np.pi / 4], PRODUCT)
    assert (j.effort_limit[0], last.effort_limit[0], first.effort_limit[0]) == (10.0, 6.0, np.inf)
    assert (j.friction[0], j.slip_speed) == (0.3, 0.01) and j.kind == "revolute" and first.kind == "continuous"
    assert any("frictionloss" in f.what and "slip_speed 0.01" in f.action and f.severity == "info" for f in log)


def test_linear_equality_is_a_coupling():
    joint = '<joint name="j" axis="0 1 2" ref="40"/>'
    law = '<equality><joint joint1="j" joint2="last" polycoef=".2 -1.5 0 0 0"/></equality>'
    model, log = read_mjcf(arm(joint, after=law))
    follower = model.joint("j").joint
    assert isinstance(follower, Coupled) and (follower.leader, follower.ratio) == ("last", -1.5)
    assert_close(follower.offset, 0.2 + np.radians(40), PRODUCT)
    assert model.nv == 2 and any("q = -1.5·q('last')" in f.what for f in log)
    free, log = read_mjcf(arm(joint, after=law), mimic="free")
    assert free.nv == 3 and any('mimic="free"' in f.action for f in log)


def test_coupled_dynamics_are_those_of_the_constrained_motion():
    """With G between the coordinates: tau = Gᵀ tau' of MuJoCo's independent joints, where its constraint is met."""
    law = '<equality><joint joint1="j" joint2="last" polycoef=".2 -1.5 0 0 0"/></equality>'
    text = arm('<joint name="j" axis="0 1 2" ref="40" stiffness="3"/>', after=law).replace("last", 'last" ref="-25', 1)
    model, rng = read_mjcf(text)[0], np.random.default_rng(2)
    twin = FileTwin(text, read_mjcf(text, mimic="free")[0])
    G = np.array([[1, 0], [0, -1.5], [0, 1]])
    offset = np.array([0, model.joint("j").joint.offset, 0])
    q, v, a = rng.normal(size=(3, 2))
    expected = G.T @ twin.inverse_dynamics(G @ q + offset, G @ v, G @ a)
    assert_close(rnea(model, q, v, a), expected, PEER, scale=0.0)
    assert_close(mass_matrix(model, q), G.T @ twin.mass_matrix(G @ q + offset) @ G, PEER, scale=0.0)
    m = mj.MjModel.from_xml_string(text)
    data = mj.MjData(m)
    data.qpos[:] = G @ q + offset
    mj.mj_forward(m, data)
    assert_close(data.efc_pos[0], 0.0, PEER)


def test_a_tendon_of_constant_length_over_two_joints_is_a_coupling():
    fixed = '<fixed name="t"><joint joint="first" coef="2"/><joint joint="last" coef="-4"/></fixed>'
    text = arm("", after=f"<tendon>{fixed}</tendon><equality><tendon tendon1='t' polycoef='.8 0 0 0 0'/></equality>")
    follower = read_mjcf(text)[0].joint("last").joint
    assert (follower.leader, follower.ratio, follower.offset) == ("first", 0.5, -0.2)


@pytest.mark.parametrize(
    "law",
    [
        '<joint joint1="j" joint2="last" polycoef=".2 -1.5 .3 .4 -.5"/>',
        '<joint joint1="j" polycoef=".2 0 0 0 0"/>',
        '<joint joint1="j" joint2="last" polycoef="0 0 1 0 0"/>',
    ],
)
def test_other_equalities_of_joints_are_equations(law):
    """The residual is MuJoCo's, at any position, whatever the reference positions are."""
    joint = '<joint name="j" axis="0 1 2" ref="40"/>'
    text = arm(joint, after=f"<equality>{law}</equality>").replace('name="last"', 'name="last" ref="-25"')
    (equation,) = read_mjcf(text)[0].closures
    m = mj.MjModel.from_xml_string(text)
    data, rng = mj.MjData(m), np.random.default_rng(1)
    data.qpos[:] = rng.uniform(-1, 1, 3)
    mj.mj_forward(m, data)
    leader = data.qpos[2] if equation.leader else 0.0
    assert_close(data.qpos[1] - equation.law(leader)[0], data.efc_pos[0], PEER)


@pytest.mark.parametrize(
    ("tie", "kind"),
    [
        ('<connect body1="mid" body2="b" anchor=".1 .2 .3"/>', "point"),
        ('<connect site1="s" site2="t"/>', "point"),
        ('<connect body1="tip" anchor=".1 .2 .3"/>', "point"),
        ('<weld body1="mid" body2="b"/>', "weld"),
        ('<weld body1="mid" body2="b" anchor=".1 .2 .3" relpose=".1 .3 .2 1 .1 .2 .3"/>', "weld"),
        ('<weld site1="s" site2="t"/>', "weld"),
        ('<weld body1="tip"/>', "weld"),
    ],
)
def test_connect_and_weld_close_loops(tie, kind):
    """Positions and the turn that must vanish are those of MuJoCo's constraint, along other axes."""
    other = f'<body name="b" pos="1 0 0"><joint name="jb"/>{GEOM}<site name="t" pos=".1 0 0" euler="10 20 30"/></body>'
    text = arm("", after=f"<equality>{tie}</equality>").replace("</worldbody>", other + "</worldbody>")
    model, log = read_mjcf(text)
    (closure,) = model.closures
    assert closure.kind == kind and any("tied in a loop" in f.what for f in log)
    m = mj.MjModel.from_xml_string(text)
    data = mj.MjData(m)
    q = data.qpos[:] = np.random.default_rng(1).uniform(-1, 1, m.nq)
    mj.mj_forward(m, data)
    ends = [frame_pose(model, q, f) if f.body >= 0 else f.placement for f in (closure.a, closure.b)]
    X = ends[0].inverse() @ ends[1]
    found = closure.residual(X)
    assert_close(np.linalg.norm(found[-3:]), np.linalg.norm(data.efc_pos[:3]), PEER)
    if kind == "weld":  # MuJoCo takes half the sine of half the angle along the axis, twice
        angle = np.arccos(np.clip((np.trace(X.R) - 1) / 2, -1, 1))
        assert_close(np.linalg.norm(found[:3]), np.sin(angle), PEER)
        assert_close(np.linalg.norm(data.efc_pos[3:]), np.sin(angle / 2), PEER)


def test_base():
    held = mujoco(f'<body name="a" pos="1 2 3"><geom size=".1"/><body name="b"><joint name="j"/>{GEOM}</body></body>')
    model, log = read_mjcf(held, base="free")
    assert model.bodies[0].name == "a" and model.bodies[0].joint.kind == "free" and model.nv == 7
    assert any("floats by the joint 'a_joint'" in f.action for f in log)
    floating = held.replace('<geom size=".1"/>', '<freejoint/><geom size=".1"/>')
    assert read_mjcf(floating)[0].nv == 7 == read_mjcf(floating, base="free")[0].nv
    model, _ = read_mjcf(floating, base="fixed")
    assert model.nv == 1
    assert_close(frame_pose(model, np.zeros(1), model.frame("b")).p, [1, 2, 3], PRODUCT)
    two = mujoco(f"<body name='a'><freejoint/>{GEOM}</body><body name='b'><freejoint/>{GEOM}</body>")
    for base in ("fixed", "free"):
        with pytest.raises(DalembertError, match=r"<body name='a'>: base=.*'a', 'b', of which 2 float; omit base"):
            read_mjcf(two, base=base)


def test_what_mujoco_hides_is_not_drawn():
    top = """<geom name="ball" size=".1"/>
    <geom name="ballast" type="box" size=".1 .1 .1" contype="0" conaffinity="0" group="3"/>"""
    model, _ = read_mjcf(mujoco(top))
    assert [(g.name, g.role) for g in model.bodies[0].parts[0].geometry] == [("ball", "visual"), ("ball", "collision")]
    alone, _ = read_mjcf(mujoco(top.split("/>")[1] + "/>"))
    assert [g.role for g in alone.bodies[0].parts[0].geometry] == ["visual"]


def test_shapes():
    shapes = """<geom name="p" type="plane" size="1 1 1"/><geom name="s" size=".1" rgba="1 0 0 .5"/>
    <geom name="c" type="capsule" fromto="0 0 0 0 0 2" size=".1" contype="0" conaffinity="0" material="m"/>
    <geom name="y" type="cylinder" size=".1 .3"/><geom name="b" type="box" size=".1 .2 .3"/>
    <geom name="e" type="ellipsoid" size=".1 .2 .3"/>"""
    model, _ = read_mjcf(mujoco(shapes, before='<asset><material name="m" rgba="0 1 0 1"/></asset>'))
    (part,) = model.bodies[0].parts
    found = {(g.name, g.role): g for g in part.geometry}
    assert sorted(found) == [(n, "visual" if n == "c" else "collision") for n in "bcepsy"]
    kinds = {"p": Plane, "s": Sphere, "c": Capsule, "y": Cylinder, "b": Box, "e": Ellipsoid}
    assert all(type(g.shape) is kinds[name] for (name, _), g in found.items())
    capsule = found["c", "visual"]
    assert_close([capsule.shape.radius, capsule.shape.length, *capsule.placement.p], [0.1, 2, 0, 0, 1], PRODUCT)
    assert_close(found["b", "collision"].shape.size, [0.2, 0.4, 0.6], PRODUCT)
    assert_close(found["y", "collision"].shape.length, 0.6, PRODUCT)
    assert capsule.color == (0, 1, 0, 1) and found["s", "collision"].color == (1, 0, 0, 0.5)
    assert found["b", "collision"].color is None


def test_collision_geometry_is_seen_where_nothing_else_is():
    model, _ = read_mjcf(mujoco('<geom size="1"/>'))
    assert sorted(g.role for g in model.bodies[0].parts[0].geometry) == ["collision", "visual"]


CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3.0]])
OBJ = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS) + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


WORDS = ["", 'scale="2 1 .5"', 'scale="-1 1 1"', 'inertia="shell"', 'refpos="1 2 3"', 'class="main"']


@pytest.mark.parametrize("words", WORDS)
def test_a_mesh_lies_where_its_author_drew_it(tmp_path, words):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes/t.obj").write_text(OBJ)
    compiler = '<compiler meshdir="meshes" strippath="true"/>'
    mesh = f'{compiler}<asset><mesh name="t" file="elsewhere/t.obj" {words}/></asset>'
    body = '<body><geom type="mesh" mesh="t" pos=".1 .2 .3" euler="10 20 30"/></body>'
    (tmp_path / "robot.xml").write_text(mujoco(body, before=mesh))
    made = load(tmp_path / "robot.xml").model.bodies[0].parts[0].geometry[0]
    m = mj.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    data = mj.MjData(m)
    mj.mj_forward(m, data)
    expected = m.mesh_vert @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
    if "ref" in words:
        assert isinstance(made.shape, Polyhedron)
        found = made.shape.vertices
    else:
        assert isinstance(made.shape, Mesh) and made.shape.file == str(tmp_path / "meshes/t.obj")
        found = CORNERS * made.shape.scale
    found = found @ made.placement.R.T + made.placement.p
    gaps = np.linalg.norm(found[:, None] - expected[None], axis=2).min(axis=1)
    assert np.max(gaps) < INTEGRATED, "MuJoCo keeps vertices in float32"


def test_a_mesh_without_a_file_is_kept_as_vertices():
    mesh = '<asset><mesh name="t" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'
    model, _ = read_mjcf(mujoco('<body><geom type="mesh" mesh="t"/></body>', before=mesh))
    shape = model.bodies[0].parts[0].geometry[0].shape
    assert isinstance(shape, Polyhedron) and shape.vertices.shape == shape.triangles.shape == (4, 3)


def test_includes_and_their_lines(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/arm.xml").write_text(
        f'<mujocoinclude>\n<body name="a">\n<joint name="j" frictionloss="1"/>{GEOM}\n<include file="hand.xml"/></body>'
        "</mujocoinclude>"
    )
    (tmp_path / "parts/hand.xml").write_text(f'<mujoco>\n\n<body name="h"><joint/>{GEOM}</body></mujoco>')
    (tmp_path / "robot.xml").write_text(mujoco('<include file="parts/arm.xml"/>'))
    robot = load(tmp_path / "robot.xml")
    assert robot.nv == 2 and robot.name == "m"
    where = {f.what.split()[0]: f.where for f in robot.import_log}
    assert where["frictionloss"] == f"{tmp_path / 'parts/arm.xml'}:3 <joint name='j'>"
    assert where["joint"].startswith(f"{tmp_path / 'parts/hand.xml'}:3 <joint>")


def test_attached_models(tmp_path):
    (tmp_path / "sub.xml").write_text(arm(JOINTS["three hinges"]))
    asset = '<asset><model name="s" file="sub.xml"/></asset>'
    frame = '<frame pos="0 0 1"><attach model="s" body="root" prefix="p_"/></frame>'
    (tmp_path / "robot.xml").write_text(mujoco(f'<body name="t"><joint/>{GEOM}{frame}</body>', before=asset))
    model, log = read_mjcf(tmp_path / "robot.xml")
    twin, rng = FileTwin(tmp_path / "robot.xml", model), np.random.default_rng(3)
    q, v, a = random_state(rng, model)
    assert model.nv == 6 and model.joint("p_last").name == "p_tip"
    assert_close(rnea(model, q, v, a), twin.inverse_dynamics(q, v, a), PEER, scale=0.0)
    assert {finding.where.split(" ")[1] for finding in log if "several joints" in finding.what} == {"<mujoco>"}


def test_the_root_element_tells_the_format(tmp_path):
    urdf = '<?xml version="1.0"?>\n<!-- <mujoco> --><robot name="u"><link name="a"/></robot>'
    (tmp_path / "u.xml").write_text(urdf)
    assert load(tmp_path / "u.xml").name == "u" == load(urdf).name
    assert load(arm("")).name == "m"
    (tmp_path / "m.urdf").write_text(arm(""))
    with pytest.raises(DalembertError, match=r"root element is <mujoco> \(this is MJCF"):
        load(tmp_path / "m.urdf")
    with pytest.raises(DalembertError, match=r"root element is <robot> \(this is URDF: name it .urdf\)"):
        read_mjcf(urdf)


def test_it_compiles():
    robot = load(arm(JOINTS["ball"]))
    twin, rng = FileTwin(arm(JOINTS["ball"]), robot.model), np.random.default_rng(0)
    q, v, a = random_state(rng, robot.model)
    assert_close(robot.inverse_dynamics(q, v, a), twin.inverse_dynamics(q, v, a), PEER, scale=0.0)
