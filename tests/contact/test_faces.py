"""Bodies that touch at several points are solved for in the velocities of the bodies, not of the points."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot
from dalembert.contact import candidates
from dalembert.contact.rows import contact_rows, pair_motions
from dalembert.model.geometry import Box, Sphere
from loose_bodies import SIDE, G, box
from tolerances import COMPUTED, CONTACT_SOLVER, INTEGRATED, SETTLED

STEP = 2e-3
CONTACT = Contact(ground=0.0, friction=0.6, torsion=0.01)
SWAYS = 0.1  # of the weight: the mean over a part of a swing


def _pendulum(builder: ModelBuilder, parent: str, name: str, z: float = 0.0) -> None:
    builder.add_body(
        name, parent=parent, joint="revolute", joint_name=name, axis=(0, 1, 0), mass=0.2, com=(0, 0, -0.2),
        inertia=np.eye(3) * 1e-3, xyz=(0, 0, z), damping=0.05,
    )  # fmt: skip


@cache
def box_beside_a_pendulum() -> Robot:
    """A loose cube, and a pendulum that never meets it: the cube has fewer velocities than both."""
    builder = ModelBuilder("box and pendulum", gravity=(0.0, 0.0, -G))
    builder.add_body("box", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * SIDE**2 / 6.0)
    builder.add_geometry(Box([SIDE] * 3), body="box", role="collision")
    _pendulum(builder, "world", "pendulum", 5.0)
    return builder.build()


@cache
def flap(others: int) -> Robot:
    """A plate on one hinge, which moves its face in one way alone, and pendulums beside it."""
    builder = ModelBuilder("flap", gravity=(0.0, 0.0, -G))
    builder.add_body(
        "flap", parent="world", joint="revolute", joint_name="flap", axis=(0, 1, 0), mass=1.0, com=(0.25, 0, 0),
        inertia=0.01 * np.eye(3), xyz=(0, 0, 0.3),
    )  # fmt: skip
    for x in (0.4, 0.5):
        for y in (0.1, -0.1):
            builder.add_geometry(Sphere(0.05), body="flap", xyz=(x, y, 0), role="collision", name=f"corner {x} {y}")
    for k in range(others):
        _pendulum(builder, "world" if k == 0 else f"pendulum{k - 1}", f"pendulum{k}", 9.0 if k == 0 else -0.3)
    return builder.build()


@cache
def stilts() -> Robot:
    """A body on two feet with four points each, on legs of six joints."""
    builder = ModelBuilder("stilts", gravity=(0.0, 0.0, -G))
    builder.add_body("trunk", parent="world", joint="free", mass=5.0, inertia=0.05 * np.eye(3))
    for side, y in (("left", 0.1), ("right", -0.1)):
        parent, place = "trunk", (0.0, y, -0.1)
        for k, axis in enumerate([(0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 1, 0), (0, 1, 0), (1, 0, 0)]):
            builder.add_body(
                f"{side}{k}", parent=parent, joint="revolute", joint_name=f"{side}{k}", axis=axis, mass=0.5,
                com=(0, 0, -0.05), inertia=2e-3 * np.eye(3), xyz=place, damping=2.0, armature=0.01, stiffness=200.0,
            )  # fmt: skip
            parent, place = f"{side}{k}", (0.0, 0.0, -0.1)
        for i, (x, z) in enumerate([(0.1, 0.03), (0.1, -0.03), (-0.05, 0.03), (-0.05, -0.03)]):
            name = f"{side} corner {i}"
            builder.add_geometry(Sphere(0.005), body=parent, xyz=(x, z, -0.05), role="collision", name=name)
    return builder.build()


def test_rows_of_points_are_those_of_their_bodies() -> None:
    rng = np.random.default_rng(0)
    for robot in (box_beside_a_pendulum(), flap(2), stilts()):
        q, patches = robot.random(rng), candidates(robot.model, Contact(pairs="all"))
        rows = contact_rows(robot.model, q, patches)
        motions = pair_motions(robot.model, q, patches, rows)
        assert motions is not None and len(motions.B) < len(rows.J)
        np.testing.assert_allclose((motions.P @ motions.B).astype(float), rows.J.astype(float), atol=COMPUTED)
        np.testing.assert_allclose((motions.S @ motions.B).astype(float), rows.spin.astype(float), atol=COMPUTED)


def test_a_box_moves_the_same_beside_something_else() -> None:
    """Alone its own velocities are the fewest, beside a pendulum those of its pair with the ground."""
    rng = np.random.default_rng(1)
    q, v = np.tile([0, 0, 0.16, 1, 0, 0, 0], (6, 1)) + 0.0, rng.normal(size=(6, 6))
    q[:, 3:] += 0.3 * rng.normal(size=(6, 4))
    q = box().normalize(q)
    alone = box().rollout(q, v, step=STEP, steps=40, contact=CONTACT)
    beside = box_beside_a_pendulum().rollout(
        np.pad(q, ((0, 0), (0, 1))), np.pad(v, ((0, 0), (0, 1))), step=STEP, steps=40, contact=CONTACT
    )
    np.testing.assert_allclose(beside.q[:, :7], alone.q, atol=INTEGRATED)
    assert np.all(beside.contacts.unsettled == 0) and np.all(alone.contacts.unsettled == 0)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_face_that_moves_in_one_way_alone(kind: type) -> None:
    """Its six velocities depend on one joint, and are not solved for: it falls, meets the floor, and stays there."""
    alone, beside = flap(0), flap(8)
    start = np.full(9, 0.4, kind)
    start[0] = 0.0
    contact = Contact(friction=0.2)
    end = beside.rollout(start, np.zeros(9, kind), step=STEP, steps=400, contact=contact)
    other = alone.rollout(start[:1], np.zeros(1, kind), step=STEP, steps=400, contact=contact)
    assert end.q[0] == pytest.approx(other.q[0], abs=SETTLED)
    assert abs(end.v[0]) < (CONTACT_SOLVER if kind is np.float64 else SETTLED)
    assert kind is np.float32 or end.contacts.unsettled == other.contacts.unsettled


def test_a_robot_on_two_feet_keeps_to_the_laws() -> None:
    """It sways on springs, feet roll over their edges: nothing unsettled, loads carry the weight in the end."""
    robot = stilts()
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[2] = 0.1 + 0.6 + 0.055
    v[3:5] = 0.3, 0.1
    run = robot.simulate(q, v, duration=1.5, step=STEP, contact=Contact(friction=0.6))
    assert run.contacts.unsettled == 0
    late = run.t > 1.2
    mean = run.contacts.normal_force[late].sum(axis=1).mean()
    weight = G * sum(body.inertia.mass for body in robot.model.bodies)
    assert mean == pytest.approx(weight, rel=SWAYS)
