"""Friction and the other numbers of a contact by pair, name, material, and as the robot's file states them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, Robot, load
from dalembert.contact import MATERIALS, ContactLaw, Material, candidates, materials
from dalembert.model.geometry import Box, MujocoContact, Sphere, Surface
from loose_bodies import SIDE, G
from tolerances import MILLISECOND_STEPS


@cache
def two_boxes() -> Robot:
    """Boxes "red" and "blue" on one floor; the red one has a shape called "sole"."""
    builder = ModelBuilder("boxes", gravity=(0.0, 0.0, -G))
    for name in ("red", "blue"):
        builder.add_body(name, parent="world", joint="free", mass=1.0, inertia=np.eye(3) * SIDE**2 / 6.0)
        shape = {"name": "sole"} if name == "red" else {}
        builder.add_geometry(Box([SIDE] * 3), body=name, role="collision", **shape)
    return builder.build()


def laws(contact: Contact, robot: Robot | None = None) -> dict[str, ContactLaw]:
    """The law of each pair, by the name of its first point."""
    patches = candidates((two_boxes() if robot is None else robot).model, contact)
    return {patch.names[0].removesuffix(" 1"): patch.law for patch in patches}


def frictions(friction: object, **options: object) -> tuple[float, float, float]:
    """(red on the ground, blue on the ground, red on blue)."""
    each = laws(Contact(friction=friction, pairs="all", **options))
    return each["sole"].friction, each["blue"].friction, each["sole on blue"].friction


def test_the_most_particular_number_is_taken() -> None:
    assert frictions(None) == (0.6, 0.6, 0.6)
    assert frictions(0.3) == (0.3, 0.3, 0.3)
    assert frictions({"red": 0.2}) == (0.2, 0.6, 0.2)
    assert frictions({"red": 0.2, "default": 0.4}) == (0.2, 0.4, 0.2)
    assert frictions({("ground", "red"): 0.2, "red": 0.8}) == (0.2, 0.6, 0.8)
    assert frictions({"sole": 0.1, "red": 0.8}) == (0.1, 0.6, 0.1)
    assert frictions({("sole", "ground"): 0.1, ("red", "ground"): 0.8}) == (0.1, 0.6, 0.6)
    assert frictions({"red": 0.4, "blue": 0.9}) == (0.4, 0.9, pytest.approx(0.6))  # of both: the geometric mean


def test_materials_of_bodies_and_of_the_ground() -> None:
    made = {"red": "rubber", "blue": "steel", "ground": "concrete"}
    concrete_on_steel = np.sqrt(MATERIALS["concrete"].friction * MATERIALS["steel"].friction)
    rubber_on_steel = np.sqrt(MATERIALS["rubber"].friction * MATERIALS["steel"].friction)
    expected = (0.8, pytest.approx(concrete_on_steel), pytest.approx(rubber_on_steel))
    assert frictions(None, materials=made) == expected
    assert frictions(0.1, materials=made) == expected  # a number for all is less particular
    assert frictions({("rubber", "concrete"): 0.9}, materials=made) == (0.9, *expected[1:])
    assert frictions(0.1, materials={"red": "ice"}) == (0.03, 0.1, 0.03)  # against itself where the other has none
    own = Material(0.5, 0.7, 0.2, 1e4)
    law = laws(Contact(materials={"red": own}))["sole"]
    assert (law.friction, law.static_friction, law.restitution, law.stiffness) == (0.5, 0.7, 0.2, 5e3)
    assert law.damping == pytest.approx(1.2)


def test_friction_at_rest_follows_friction_unless_it_is_as_particular() -> None:
    law = laws(Contact(friction={"red": 1.2}, materials={"red": "rubber"}))["sole"]
    assert (law.friction, law.static_friction) == (1.2, 1.2)
    law = laws(Contact(friction={"red": 1.2}, static_friction={"red": 1.4}, materials={"red": "rubber"}))["sole"]
    assert (law.friction, law.static_friction) == (1.2, 1.4)
    with pytest.raises(
        DalembertError, match=r"static_friction of 'sole' on 'ground' is 0\.2, expected at least friction"
    ):
        laws(Contact(friction={"red": 0.5}, static_friction={"red": 0.2}))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"friction": {"rde": 0.5}}, "friction: unknown body, shape or material 'rde': did you mean 'red'"),
        ({"friction": {("red", "grund"): 0.5}}, "'grund': did you mean 'ground'"),
        ({"restitution": {"rubbr": 0.5}}, "'rubbr': did you mean 'rubber'"),
        ({"materials": {"bleu": "rubber"}}, "materials: unknown body or shape 'bleu': did you mean 'blue'"),
        ({"friction": {("red", "ground"): 0.5, ("red", "ice"): 0.1}, "materials": {"ground": "ice"}}, None),
    ],
)
def test_names_that_nothing_has(options: dict, said: str | None) -> None:
    if said is None:
        assert laws(Contact(**options))["sole"].friction == 0.5
        return
    with pytest.raises(DalembertError, match=said):
        laws(Contact(**options))


def test_two_entries_as_particular_as_each_other_are_refused() -> None:
    table = {("rubber", "ground"): 0.5, ("red", "concrete"): 0.4}
    contact = Contact(friction=table, materials={"blue": "rubber", "red": "rubber", "ground": "concrete"})
    with pytest.raises(DalembertError, match="2 entries for 'sole' on 'ground'"):
        laws(contact)


def test_each_puck_stops_by_its_own_friction_and_bounces_by_its_own_restitution() -> None:
    builder = ModelBuilder("pucks", gravity=(0.0, 0.0, -G))
    for name in ("red", "blue"):
        builder.add_body(name, parent="world", joint="free", mass=1.0, inertia=np.eye(3) * 1e9)  # hardly turns
        builder.add_geometry(Sphere(0.1), body=name, role="collision")
    robot = builder.build()
    contact = Contact(friction={"red": 0.5, "blue": 0.25}, restitution={("blue", "ground"): 0.5}, torsion={"red": 0.01})
    q = np.concatenate([[0.0, 0.0, 0.1, 1, 0, 0, 0], [0.0, 1.0, 0.1, 1, 0, 0, 0]])
    run = robot.simulate(q, np.array([0.0, 0, 0, 2.0, 0, 0] * 2), 1.0, step=2e-3, contact=contact)
    for start, mu in ((0, 0.5), (7, 0.25)):
        assert run.q[-1, start] == pytest.approx(2.0**2 / (2 * mu * G), rel=2 * MILLISECOND_STEPS)
    assert (run.contacts.friction == [0.5, 0.25]).all()
    q[[2, 9]] = 0.6
    run = robot.simulate(q, np.zeros(12), 0.53, step=2e-3, contact=contact)
    top = run.q[run.t > 0.4][:, [2, 9]].max(axis=0) - 0.1
    assert top == pytest.approx([0.0, 0.5 * 0.25], abs=MILLISECOND_STEPS)


URDF = """<robot name="puck"><link name="puck"><inertial><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<gazebo reference="puck"><mu1>0.35</mu1><mu2>0.35</mu2><kp>20000</kp><kd>10</kd></gazebo></robot>"""
SDF = """<sdf version="1.9"><model name="puck"><link name="puck"><inertial><mass>2</mass>
<inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
<collision name="skin"><geometry><sphere><radius>0.1</radius></sphere></geometry>
<surface><friction><ode><mu>0.35</mu></ode></friction><bounce><restitution_coefficient>0.4</restitution_coefficient>
</bounce></surface></collision></link></model></sdf>"""
MJCF = """<mujoco><worldbody><body name="puck"><freejoint/>
<geom name="skin" type="sphere" size="0.1" mass="2" friction="0.35 0.02 0.003" condim="{condim}"/>
</body></worldbody></mujoco>"""


def load_text(text: str, path: Path) -> Robot:
    path.write_text(text)
    return load(path)


def test_numbers_of_the_file_are_used_and_named(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    robots = {
        "urdf": load_text(URDF, tmp_path / "puck.urdf").edit().base("free").done(),
        "sdf": load_text(SDF, tmp_path / "puck.sdf"),
        "mjcf": load_text(MJCF.format(condim=6), tmp_path / "puck.xml"),
    }
    for name, robot in robots.items():
        (law,) = laws(Contact(), robot).values()
        assert law.friction == law.static_friction == 0.35, name
        (law,) = laws(Contact(friction=0.7), robot).values()
        assert law.friction == 0.7, name
        run = robot.simulate(robot.neutral(), np.zeros(6), 0.01, step=1e-3, contact=Contact(ground=-1.0))
        assert any("friction 0.35 from the robot's file" in line for line in run.log), name
    (law,) = laws(Contact(model="compliant"), robots["urdf"]).values()
    assert law.stiffness == 20000.0 and law.damping == pytest.approx(10.0 / (2.0 * G))
    assert next(iter(laws(Contact(), robots["sdf"]).values())).restitution == 0.4
    (law,) = laws(Contact(), robots["mjcf"]).values()
    assert (law.torsion, law.rolling) == (0.02, 0.003)
    plain = load_text(MJCF.format(condim=3), tmp_path / "plain.xml")
    (law,) = laws(Contact(), plain).values()
    assert (law.torsion, law.rolling) == (0.0, 0.0)


def test_two_surfaces_of_a_file() -> None:
    def pair_law(first: Surface, second: Surface) -> ContactLaw:
        builder = ModelBuilder("two")
        for name, surface in (("a", first), ("b", second)):
            builder.add_body(name, parent="world", joint="free", mass=1.0, inertia=np.eye(3))
            builder.add_geometry(Sphere(0.1), body=name, role="collision", surface=surface)
        return laws(Contact(pairs=[("a", "b")]), builder.build())["a on b"]

    gazebo = pair_law(Surface(friction=0.3, stiffness=1e4), Surface(friction=0.5, stiffness=1e4))
    assert (gazebo.friction, gazebo.stiffness) == (0.3, 5e3)
    assert pair_law(Surface(friction=0.3), Surface()).friction == 0.3
    plain = MujocoContact((1.0, 0.005, 0.0001), (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0), 0.0, 0.0, 3, 0, 1.0)
    slippery = replace(plain, friction=(0.3, 0.02, 0.003))
    states = Surface(friction=0.3, torsion=0.02, rolling=0.003, mujoco=slippery)
    assert pair_law(states, Surface(mujoco=plain)).friction == 1.0
    first = replace(states, mujoco=replace(slippery, priority=1, condim=4))
    law = pair_law(first, Surface(mujoco=plain))
    assert (law.friction, law.torsion, law.rolling) == (0.3, 0.02, 0.0)


def test_materials_and_their_pairs() -> None:
    for name, each in MATERIALS.items():
        same = materials.pair(name, name)
        assert same.friction == pytest.approx(each.friction)
        assert same.stiffness == pytest.approx(0.5 * each.stiffness)
    rubber, ice = materials.pair("rubber", "ice"), materials.pair("ice", "rubber")
    assert rubber == ice and (rubber.friction, rubber.restitution) == (0.05, 0.3)
    with pytest.raises(DalembertError, match="unknown material 'rubbr'"):
        materials.material("rubbr")
    with pytest.raises(DalembertError, match="at least friction"):
        Material(0.5, 0.4, 0.0, 1.0)
    with pytest.raises(DalembertError, match="stiffness is 0"):
        Material(0.5, 0.5, 0.0, 0.0)
