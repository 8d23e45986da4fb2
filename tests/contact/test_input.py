"""What `Contact` refuses, and what runs say without one."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, Robot, scene
from dalembert.contact.meshes import mesh_remarks
from dalembert.model.geometry import Box, Plane, Polyhedron, Sphere
from loose_bodies import ball, box, standing
from tolerances import CONTACT_SOLVER, ITERATED


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"friction": -0.1}, "friction is -0.1"),
        ({"friction": float("nan")}, "friction is nan"),
        ({"restitution": 1.1}, "restitution is 1.1, expected 0 … 1"),
        ({"friction": 0.6, "static_friction": 0.1}, "at least friction"),
        ({"friction": {("a", "b", "c"): 0.1}}, "a name or a pair of names"),
        ({"friction": {"a": -1.0}}, r"friction\['a'\] is -1.0"),
        ({"restitution": {("a", "b"): 0.5, ("b", "a"): 0.6}}, "two numbers for 'a' and 'b'"),
        ({"materials": {"foot": "rubbr"}}, "did you mean 'rubber'"),
        ({"materials": {"foot": 0.3}}, "a name or a Material"),
        ({"materials": "rubber"}, "expected a dict"),
        ({"ground": 0.0, "terrain": lambda x, y: 0.0}, "both given"),
        ({"terrain": 3.0}, "expected a function"),
        ({"ground": None}, "ground=None is no ground"),
        ({"ground": None, "pairs": [("a", "ground")]}, "ground=None is no ground"),
        ({"model": "mujco"}, "mujoco"),
        ({"pairs": "everything"}, "ground"),
        ({"pairs": [("a", "a")]}, "two different names"),
        ({"pairs": []}, "empty"),
        ({"stiffness": 0.0}, "above 0"),
        ({"tolerance": "tight"}, "finite number"),
    ],
)
def test_bad_numbers_and_words(options: dict, said: str) -> None:
    with pytest.raises(DalembertError, match=said):
        Contact(**options)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("rigid", {"stiffness": 1e4, "damping": 2.0, "slip_speed": 0.1, "friction_model": "bristle"}),
        ("compliant", {"restitution": 0.3, "rest_speed": 0.1, "tolerance": 1e-3, "recovery_speed": 0.2}),
        ("mujoco", {"static_friction": 0.9, "restitution": 0.3, "stiffness": 1e4, "damping": 2.0, "tolerance": 1e-3}),
        ("mujoco", {"torsion": 0.1, "rolling": 0.1, "materials": {"ball": "rubber"}, "friction_model": "bristle"}),
    ],
)
def test_options_that_a_model_does_not_have_are_refused(model: str, options: dict) -> None:
    for name, value in options.items():
        with pytest.raises(DalembertError, match=f"{name} belongs to model="):
            Contact(model=model, **{name: value})


def test_a_robot_without_shapes() -> None:
    builder = ModelBuilder("bare")
    builder.add_body("body", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
    with pytest.raises(DalembertError, match="no collision shapes"):
        builder.build().rollout(*standing(1.0), contact=Contact())


def test_unknown_names_and_integrators() -> None:
    with pytest.raises(DalembertError, match=r"'bx'.*'box'"):
        box().stepper(contact=Contact(pairs=[("bx", "ground")]))
    with pytest.raises(DalembertError, match=r"'grond'.*'ground'"):
        box().stepper(contact=Contact(pairs=[("box", "grond")]))
    with pytest.raises(DalembertError, match="time step of its own"):
        box().rollout(*standing(1.0), integrator="rk4", contact=Contact())
    with pytest.raises(DalembertError, match=r"expected a dalembert\.Contact"):
        box().rollout(*standing(1.0), contact=0.6)


def test_a_fall_without_ground_says_so() -> None:
    run = ball().simulate(*standing(1.0), duration=0.1)
    assert any("there is no ground: only torques and elements hold the base up" in line for line in run.log)
    assert run.contacts is None


def test_ground_at_a_height_and_terrain() -> None:
    end = ball().rollout(*standing(1.0), step=2e-3, steps=600, contact=Contact(ground=0.3))
    assert end.q[2] == pytest.approx(0.4, abs=ITERATED)
    hill = Contact(terrain=lambda x, y: 0.1 * x, friction=0.8)
    end = ball().rollout(*standing(0.5), step=2e-3, steps=300, contact=hill)
    assert end.q[0] < -0.05  # it rolls down
    distance = (end.q[2] - 0.1 * end.q[0]) / np.sqrt(1.01)
    assert distance == pytest.approx(0.1, abs=CONTACT_SOLVER)


def test_a_start_deep_in_compliant_ground_is_told() -> None:
    run = ball().simulate(*standing(0.05), duration=0.01, contact=Contact(model="compliant"))
    assert any("starts 50 mm deep" in line and "pushed out with 5e+03 N: start higher" in line for line in run.log)
    run = ball().simulate(*standing(0.1 - 5e-5), duration=0.01, contact=Contact(model="compliant"))
    assert not any("deep" in line for line in run.log)  # where it rests


def test_meshes_that_are_not_closed_or_have_hollows_are_told() -> None:
    """An open tetrahedron, and a cup: a cube with a cube taken out of it."""
    corners = np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.2, 0], [0, 0, 0.2]])
    sides = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    run = shell(Polyhedron(corners, np.array(sides[:3]))).simulate(*standing(1.0), 0.004, step=2e-3, contact=Contact())
    assert any("not closed surfaces" in line and "'shell'" in line for line in run.log)
    assert not mesh_remarks(shell(Polyhedron(corners, np.array(sides))).model, Contact())
    (remark,) = mesh_remarks(shell(cup()).model, Contact())
    assert "fills the hollows" in remark and "'shell' (1.5 times" in remark


def cup() -> Polyhedron:
    """The walls and the bottom of a cube of 0.2 m, with a pit of 0.14 by 0.14 by 0.14 m."""
    ring = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    levels = [(0.1, -0.1), (0.1, 0.1), (0.07, 0.1), (0.07, -0.04)]  # half width, height: outside up, inside down
    vertices = np.array([[*(half * xy), z] for half, z in levels for xy in ring])
    faces = [[0, 2, 1], [0, 3, 2], [12, 13, 14], [12, 14, 15]]
    for level in range(3):
        for k in range(4):
            a, b = 4 * level + k, 4 * level + (k + 1) % 4
            faces += [[a, b, b + 4], [a, b + 4, a + 4]]
    return Polyhedron(vertices, np.array(faces))


def shell(shape: Polyhedron) -> Robot:
    builder = ModelBuilder("shell")
    builder.add_body("shell", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * 0.01)
    builder.add_geometry(shape, body="shell", role="collision")
    return builder.build()


def test_a_mesh_without_volume_is_named() -> None:
    builder = ModelBuilder("plate")
    builder.add_body("plate", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
    flat = Polyhedron(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], float), np.array([[0, 2, 1], [1, 2, 3]]))
    builder.add_geometry(flat, body="plate", role="collision")
    with pytest.raises(DalembertError, match=r"collision shape 'plate': .* lie in one plane"):
        builder.build().stepper(contact=Contact())


def arm(*, lifts: bool) -> Robot:
    """A column that turns on the ground, with its foot in it; an arm on it that goes up and down, or around."""
    builder = ModelBuilder("arm")
    builder.add_body("column", parent="world", joint="revolute", axis=(0, 0, 1), mass=2.0, inertia=0.01 * np.eye(3))
    builder.add_geometry(Box([0.1, 0.2, 0.3]), body="column", xyz=(0, 0, 0.1), role="collision")
    axis = (0, 1, 0) if lifts else (0, 0, 1)
    builder.add_body("arm", parent="column", joint="revolute", axis=axis, mass=1.0, com=(0.3, 0, 0), xyz=(0, 0, 0.3))
    builder.add_geometry(Sphere(0.05), body="arm", xyz=(0.6, 0, 0), role="collision")
    return builder.build()


def test_links_that_cannot_leave_the_ground_are_no_candidates() -> None:
    run = arm(lifts=True).simulate([0.3, 0.2], [0.5, 0.0], duration=0.5, step=2e-3, contact=Contact())
    assert run.contacts.names == ("arm",)
    assert any("'column' stays in the ground" in line and "left out" in line for line in run.log)
    assert run.contacts.gap[-1, 0] == pytest.approx(0.0, abs=CONTACT_SOLVER)  # the arm fell onto it
    assert 0.0 < run.contacts.force[-1, 0, 2] < 20.0
    with pytest.raises(DalembertError, match="none of its links moves towards the ground"):
        arm(lifts=False).stepper(contact=Contact())
    on_terrain = arm(lifts=False).contact_dynamics(*np.zeros((3, 2)), contact=Contact(terrain=lambda x, y: 0.1 * x))
    assert on_terrain.gap.shape == (9,)  # it may come nearer there


def test_what_stands_in_the_world_and_is_not_touched_is_named() -> None:
    table = {"table": Box([1.0, 1.0, 0.1]), "at": {"table": (0.0, 0.0, 0.3)}}
    both = scene(ball=ball(), **table)
    q, v = standing(0.46)
    through = both.simulate(q, v, 0.01, step=2e-3, contact=Contact(ground=0.0))
    assert any("pairs='ground' leaves out what stands in the world ('table')" in line for line in through.log)
    on_it = both.simulate(q, v, 0.01, step=2e-3, contact=Contact(ground=0.0, pairs="all"))
    assert not any("leaves out" in line for line in on_it.log)


@pytest.mark.parametrize(
    ("terrain", "said"),
    [
        (lambda x, y: max(x, y), r"terrain: a traced value .* dalembert\.math\.where"),
        (lambda x: x, "terrain: .*takes 1 positional argument"),
        (lambda x, y: None, r"terrain: .*expected z\(x, y\)"),
    ],
)
def test_terrains_that_are_no_function_of_two_numbers(terrain, said: str) -> None:
    with pytest.raises(DalembertError, match=said):
        box().rollout(*standing(1.0), contact=Contact(terrain=terrain))


def test_no_ground_is_none() -> None:
    """Two balls without weight: one falls past z = 0."""
    builder = ModelBuilder("balls", gravity=(0.0, 0.0, 0.0))
    for k in range(2):
        builder.add_body(f"ball{k}", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
        builder.add_geometry(Sphere(0.1), body=f"ball{k}", role="collision")
    q, v = builder.build().neutral(), np.zeros(12)
    q[2], q[9], v[5] = 1.0, 5.0, -2.0
    end = builder.build().rollout(q, v, step=2e-3, steps=1000, contact=Contact(ground=None, pairs="all"))
    assert end.q[2] == pytest.approx(-3.0, abs=ITERATED)


def planar(*planes: tuple[tuple[float, ...], tuple[float, ...]]) -> Robot:
    """A ball of 0.1 m above planes, each with a point and a normal."""
    builder = ModelBuilder("planar")
    builder.add_body("room", parent="world", joint="fixed")
    for k, (point, normal) in enumerate(planes):
        builder.add_geometry(Plane(normal), body="room", xyz=point, name=f"plane{k}", role="collision")
    builder.add_body("ball", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * 4e-3)
    builder.add_geometry(Sphere(0.1), body="ball", role="collision")
    return builder.build()


@pytest.mark.parametrize("model", ["rigid", "compliant"])
def test_a_plane_of_the_file_is_the_ground(model: str) -> None:
    robot = planar(((0.0, 0.0, 0.5), (0.0, 0.0, 1.0)))
    assert robot.contact_dynamics(*standing(0.7), np.zeros(6), contact=Contact(model=model)).gap == pytest.approx(0.1)
    slope = planar(((0.0, 0.0, 0.0), (0.6, 0.0, 0.8)))
    found = slope.contact_dynamics(*standing(1.0), np.zeros(6), contact=Contact(model=model))
    assert found.gap == pytest.approx(0.7)
    run = robot.simulate(*standing(0.7), 0.01, contact=Contact(ground=0.0, model=model))
    assert any("'plane0', a plane of the robot's file" in line for line in run.log)
    assert run.contacts.gap[0, 0] == pytest.approx(0.6)


def test_the_plane_of_the_file_is_another_ground_than_a_floor_at_0() -> None:
    """Also for what is kept by equal settings, after a copy, and in another process."""
    robot, silent = planar(((0.0, 0.0, 0.5), (0.0, 0.0, 1.0))), Contact()
    assert silent != Contact(ground=0.0) and silent == Contact(ground="file")
    for same in (silent, pickle.loads(pickle.dumps(silent)), replace(silent, friction=0.3)):
        assert robot.contact_dynamics(*standing(0.7), np.zeros(6), contact=same).gap == pytest.approx(0.1)
    with pytest.raises(DalembertError, match="ground is 'flie', expected a finite number"):
        Contact(ground="flie")


def test_several_planes_are_refused() -> None:
    robot = planar(((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), ((-1.0, 0.0, 0.0), (1.0, 0.0, 0.0)))
    with pytest.raises(DalembertError, match="several planes"):
        robot.rollout(*standing(0.5), step=2e-3, steps=1, contact=Contact())
    assert robot.rollout(*standing(0.1), step=2e-3, steps=1, contact=Contact(ground=0.0)).q[2] > 0.09
