"""Shapes that pass close by each other without touching are left alone; walls and faces in single precision."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot, Rollout
from dalembert.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Polyhedron, Shape, Sphere
from loose_bodies import G, standing
from tolerances import ACCUMULATED, COMPUTED, CONTACT_SOLVER, SINGLE, assert_close

STEP, SPEED, MU = 2e-3, 2.0, 0.3
STRUCK = 1e-5  # of a speed: contact counts from an overlap of 3e-8 of the size on, which leans the line of a graze
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
    [
        (Box([0.2] * 3), 0),
        (Box([0.2] * 3), 3),
        (CUBE, 0),
        (Cylinder(0.1, 0.2), 0),
        (Capsule(0.1, 0.2), 0),
        (Sphere(0.1), 0),
        (Sphere(0.1), 3),
        (Ellipsoid([0.1, 0.15, 0.1]), 0),
    ],
    ids=["box", "scene", "mesh", "cylinder", "capsule", "ball", "ball in a scene", "ellipsoid"],
)
def test_what_passes_over_an_edge_is_not_hit(shape: Shape, others: int) -> None:
    robot = over_blocks(shape, 0.0, others=others)
    high = 0.2 if isinstance(shape, Capsule) else 0.1
    q = np.tile(np.concatenate([standing(high)[0], *(standing(5.0 + k)[0] for k in range(others))]), (12, 1))
    q[:, 0] = np.linspace(-0.1, 0.05, 12)
    q[:, 2] += np.geomspace(1e-6, 2e-3, 12)
    v = np.zeros((12, robot.nv))
    v[:, 3] = SPEED
    motion = robot.rollout(q, v, step=STEP, steps=150, contact=Contact(friction=MU, ground=None, pairs="all"))
    assert np.abs(motion.v - v).max() < COMPUTED
    assert motion.q[:, 0].min() > 0.4  # beyond the edge


def past_a_corner(shape: Shape, target: Shape, depth: np.ndarray, restitution: float) -> tuple[Rollout, np.ndarray]:
    """Flights of a shape past the corner (0.1, 0.1, 0.1) of a cube, in 40 ms, in steps of 4 ms, at 10 m/s.

    depth (n,) [m]: how deep a ball of 0.05 m would come to the corner, below 0: by how much it misses it. Returns the
    motion, and where the centre starts (n, 3).
    """
    builder = ModelBuilder("past", gravity=(0.0, 0.0, 0.0))
    builder.add_body("target", parent="world", joint="fixed")
    builder.add_geometry(target, body="target", role="collision")
    builder.add_body("body", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * 1e-3)
    builder.add_geometry(shape, body="body", role="collision")
    robot, rng = builder.build(), np.random.default_rng(4)
    n, q, v = len(depth), np.zeros((len(depth), 7)), np.zeros((len(depth), 6))
    out = np.abs(rng.normal(size=(n, 3))) + 0.5
    out /= np.linalg.norm(out, axis=1)[:, None]
    along = np.cross(out, rng.normal(size=(n, 3)))
    along /= np.linalg.norm(along, axis=1)[:, None]
    nearest = 0.1 + (0.05 - depth)[:, None] * out
    q[:, :3], q[:, 3], v[:, 3:] = nearest - along * rng.uniform(0.15, 0.19, (n, 1)), 1.0, 10.0 * along
    contact = Contact(friction=0.0, restitution=restitution, rest_speed=1e-9, pairs=[("body", "target")])
    return robot.rollout(q, v, step=4e-3, steps=10, contact=contact, every=1), q[:, :3]


@pytest.mark.parametrize("target", [Box([0.2] * 3), CUBE], ids=["box", "mesh"])
@pytest.mark.parametrize("shape", [Sphere(0.05), Capsule(0.05, 0.05), Box([0.02] * 3)], ids=["ball", "capsule", "box"])
def test_what_flies_past_a_corner_is_not_hit(shape: Shape, target: Shape) -> None:
    beyond = {Sphere: 0.0, Capsule: 0.025, Box: np.sqrt(3) * 0.01 - 0.05}[type(shape)]  # how far it reaches at most
    motion, _ = past_a_corner(shape, target, -np.geomspace(1e-6, 2e-3, 40) - beyond, 0.0)
    assert np.abs(motion.v - motion.v[:, :1]).max() < COMPUTED
    assert np.linalg.norm(motion.v[:, 0], axis=1) == pytest.approx(10.0, rel=COMPUTED)


@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_a_ball_that_strikes_a_corner_leaves_along_the_line_from_it(restitution: float) -> None:
    motion, start = past_a_corner(Sphere(0.05), Box([0.2] * 3), np.geomspace(1e-4, 0.04, 40), restitution)
    along = motion.v[:, 0, 3:] / 10.0
    low = np.zeros((40, 1))
    high = np.sum((0.1 - start) * along, axis=1)[:, None]  # where the corner is beside it
    for _ in range(60):
        middle = 0.5 * (low + high)
        away = start + middle * along - np.clip(start + middle * along, -0.1, 0.1)
        touches = np.linalg.norm(away, axis=1)[:, None] < 0.05
        low, high = np.where(touches, low, middle), np.where(touches, middle, high)
    normal = away / 0.05
    expected = 10.0 * along - (1.0 + restitution) * 10.0 * np.sum(along * normal, axis=1)[:, None] * normal
    assert_close(motion.v[:, -1, 3:], expected, STRUCK)
    assert np.abs(motion.v[:, -1, :3]).max() < COMPUTED  # the line goes through its centre
    assert np.all(np.linalg.norm(motion.v[:, :, 3:], axis=2) < 10.0 + ACCUMULATED)


def test_two_balls_that_pass_each_other_do_not_touch_and_those_that_meet_exchange_what_they_should() -> None:
    builder = ModelBuilder("two balls", gravity=(0.0, 0.0, 0.0))
    for name in ("one", "two"):
        builder.add_body(name, parent="world", joint="free", mass=1.0, inertia=np.eye(3) * 1e-3)
        builder.add_geometry(Sphere(0.05), body=name, role="collision")
    robot, n = builder.build(), 40
    aside = np.concatenate([0.1 + np.geomspace(1e-6, 1e-2, n // 2), np.linspace(0.01, 0.0999, n // 2)])
    q, v = np.zeros((n, 14)), np.zeros((n, 12))
    q[:, 0], q[:, 1], q[:, [3, 10]], v[:, 3] = np.linspace(-0.3, -0.25, n), aside, 1.0, 10.0
    contact = Contact(friction=0.0, restitution=1.0, rest_speed=1e-9, pairs=[("one", "two")])
    end = robot.rollout(q, v, step=4e-3, steps=20, contact=contact).v
    assert np.abs(end[: n // 2] - v[: n // 2]).max() < COMPUTED
    sine = aside[n // 2 :] / 0.1
    along = np.stack([np.sqrt(1.0 - sine**2), -sine], axis=1)  # from the first to the second where they meet
    assert_close(end[n // 2 :, 9:11], 10.0 * along[:, :1] * along, STRUCK)
    assert np.abs(end[:, [0, 1, 2, 6, 7, 8]]).max() < STRUCK  # rough balls would turn at 100 rad/s


@pytest.mark.parametrize("shape", [Box([0.2] * 3), Cylinder(0.1, 0.2)], ids=["box", "cylinder"])
def test_a_body_slides_over_the_seam_of_two_blocks(shape: Shape) -> None:
    robot = over_blocks(shape, 0.0, 0.0, gravity=G)
    q, v = standing(0.1, SPEED, 0.0, 0.0)
    q[0] = 0.45
    contact = Contact(friction=MU, pairs=[("body0", "block0"), ("body0", "block1")])
    end = robot.rollout(q, v, step=STEP, steps=400, contact=contact)
    assert end.q[0] == pytest.approx(0.45 + SPEED**2 / (2.0 * MU * G), abs=SEAM)
    assert end.q[2] == pytest.approx(0.1, abs=CONTACT_SOLVER)


@pytest.mark.parametrize("friction", [0.0, MU])
@pytest.mark.parametrize("shape", [Sphere(0.1), Capsule(0.1, 0.2)], ids=["ball", "capsule"])
def test_what_rolls_over_a_seam_does_not_hop(shape: Shape, friction: float) -> None:
    robot = over_blocks(shape, 0.0, 0.0, gravity=G)
    q, v = np.zeros((12, 7)), np.zeros((12, 6))
    q[:, 0], q[:, 2], q[:, 3], q[:, 4] = np.linspace(0.6, 0.7, 12), 0.1, 1.0, float(isinstance(shape, Capsule))
    q, v[:, 3] = robot.normalize(q), SPEED
    contact = Contact(friction=friction, pairs=[("body0", "block0"), ("body0", "block1")])
    motion = robot.rollout(q, v, step=STEP, steps=120, contact=contact, every=1)
    assert motion.q[:, -1, 0].min() > 0.8
    assert np.abs(motion.q[..., 2] - 0.1).max() < CONTACT_SOLVER


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
