"""Shapes that pass close by each other without touching are left alone; walls and faces in single precision."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot
from dalembert.model.geometry import Box, Capsule, Cylinder, Polyhedron, Shape, Sphere
from loose_bodies import G, standing
from tolerances import COMPUTED, CONTACT_SOLVER, SINGLE

STEP, SPEED, MU = 2e-3, 2.0, 0.3
SEAM = 1e-5  # [m]: of the place where a box stops after it has slid over a seam, as without one
CORNERS = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
QUADS = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
CUBE = Polyhedron(CORNERS, np.array([t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))]))


def over_blocks(shape: Shape, *tops: float, others: int = 0, gravity: float = 0.0) -> Robot:
    """A body with a shape, and blocks of 0.5 m side by side from x = 0.25 m on, with these heights of their tops.

    others: boxes far away, so that it is a scene of loose bodies.
    """
    builder = ModelBuilder("passing", gravity=(0.0, 0.0, -gravity))
    for k, top in enumerate(tops):
        builder.add_body(f"block{k}", parent="world", joint="fixed", xyz=(0.5 * (k + 1), 0.0, top - 0.1))
        builder.add_geometry(Box([0.5, 0.5, 0.2]), body=f"block{k}", role="collision")
    for k in range(1 + others):
        builder.add_body(f"body{k}", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * 0.04 / 6.0)
        builder.add_geometry(shape if k == 0 else Box([0.2] * 3), body=f"body{k}", role="collision")
    return builder.build()


@pytest.mark.parametrize(
    ("shape", "others"),
    [(Box([0.2] * 3), 0), (Box([0.2] * 3), 3), (CUBE, 0), (Cylinder(0.1, 0.2), 0), (Capsule(0.1, 0.2), 0)],
    ids=["box", "scene", "mesh", "cylinder", "capsule"],
)
def test_what_passes_over_an_edge_is_not_hit(shape: Shape, others: int) -> None:
    robot = over_blocks(shape, 0.0, others=others)
    high = 0.2 if isinstance(shape, Capsule) else 0.1
    q = np.tile(np.concatenate([standing(high)[0], *(standing(5.0 + k)[0] for k in range(others))]), (12, 1))
    q[:, 0] = np.linspace(-0.1, 0.05, 12)
    q[:, 2] += np.geomspace(1e-3 if isinstance(shape, Capsule) else 1e-6, 2e-3, 12)
    v = np.zeros((12, robot.nv))
    v[:, 3] = SPEED
    motion = robot.rollout(q, v, step=STEP, steps=150, contact=Contact(friction=MU, ground=None, pairs="all"))
    assert np.abs(motion.v - v).max() < COMPUTED
    assert motion.q[:, 0].min() > 0.4  # beyond the edge


@pytest.mark.parametrize("shape", [Box([0.2] * 3), Cylinder(0.1, 0.2)], ids=["box", "cylinder"])
def test_a_body_slides_over_the_seam_of_two_blocks(shape: Shape) -> None:
    robot = over_blocks(shape, 0.0, 0.0, gravity=G)
    q, v = standing(0.1, SPEED, 0.0, 0.0)
    q[0] = 0.45
    contact = Contact(friction=MU, pairs=[("body0", "block0"), ("body0", "block1")])
    end = robot.rollout(q, v, step=STEP, steps=400, contact=contact)
    assert end.q[0] == pytest.approx(0.45 + SPEED**2 / (2.0 * MU * G), abs=SEAM)
    assert end.q[2] == pytest.approx(0.1, abs=CONTACT_SOLVER)


def test_walls_are_met_all_the_same() -> None:
    robot = over_blocks(Box([0.2] * 3), 0.1)  # its side is in the way, half as high as the box
    q, v = standing(0.1, SPEED, 0.0, 0.0)
    end = robot.rollout(q, v, step=STEP, steps=150, contact=Contact(friction=0.0, pairs=[("body0", "block0")]))
    assert end.q[0] < 0.2


def test_a_wall_in_single_precision() -> None:
    """Its normal has no vertical part at all."""
    robot = over_blocks(Sphere(0.1), 0.1)
    q, v = standing(0.0, 0.5, 0.0, 0.0)
    contact = Contact(friction=MU, pairs=[("body0", "block0")])
    end = robot.rollout(q.astype(np.float32), v.astype(np.float32), step=STEP, steps=400, contact=contact)
    assert end.q[0] == pytest.approx(0.15, abs=10 * SINGLE)
    assert np.all(np.isfinite(end.v))


def test_in_single_precision_a_box_on_its_like_touches_at_four_corners() -> None:
    builder = ModelBuilder("two", gravity=(0.0, 0.0, -G))
    for name in ("lower", "upper"):
        builder.add_body(name, parent="world", joint="free", mass=1.0, inertia=np.eye(3) * 0.04 / 6.0)
        builder.add_geometry(Box([0.2] * 3), body=name, role="collision")
    robot, yaws = builder.build(), np.linspace(0.0, np.pi, 500)
    q = np.tile(np.concatenate([standing(0.1)[0], standing(0.3)[0]]), (len(yaws), 1))
    q[:, [3, 10]], q[:, [6, 13]] = np.cos(yaws)[:, None], np.sin(yaws)[:, None]
    q = q.astype(np.float32)
    contact = Contact(friction=MU, pairs=[("upper", "lower")])
    still = np.zeros((len(q), 12), np.float32)
    gaps = robot.contact_dynamics(q, still, still, contact=contact).gap
    assert np.all(np.abs(gaps) < SINGLE)
