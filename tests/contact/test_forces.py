"""Impacts of bodies on bodies, at whatever instant of a step: forces as reported, spins as the book has them."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot
from dalembert.model.geometry import Box, Capsule, Shape, Sphere
from dalembert.spatial import so3
from tolerances import ACCUMULATED, ITERATED

STEP, MU, RADIUS = 5e-3, 0.4, 0.02
PARTS = 0.02  # of a force: parts of a divided step push along normals of their own, and one is reported


def striker(shape: Shape, other: Shape, joint: str = "free", others: int = 0) -> Robot:
    """A body and what it strikes, without weight; others: balls far away, so that it is a scene of loose bodies."""
    builder = ModelBuilder("striker", gravity=(0.0, 0.0, 0.0))
    builder.add_body("a", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * 0.4 * RADIUS**2)
    builder.add_geometry(shape, body="a", role="collision")
    for k in range(others):
        builder.add_body(f"other{k}", parent="world", joint="free", mass=1.0, inertia=np.eye(3), xyz=(9.0, k, 0.0))
        builder.add_geometry(Sphere(0.01), body=f"other{k}", role="collision")
    builder.add_body("b", parent="world", joint=joint, mass=2.0, inertia=np.eye(3) * 0.01)
    builder.add_geometry(other, body="b", role="collision")
    return builder.build()


@pytest.mark.parametrize("others", [0, 2], ids=["alone", "scene"])
@pytest.mark.parametrize(
    ("shape", "other"),
    [(Sphere(0.05), Box([0.2] * 3)), (Sphere(0.05), Sphere(0.1)), (Capsule(0.03, 0.1), Box([0.2] * 3))],
    ids=["ball on box", "ball on ball", "capsule on box"],
)
def test_forces_of_impacts_are_what_changes_the_momentum(shape: Shape, other: Shape, others: int) -> None:
    robot, rng = striker(shape, other, others=others), np.random.default_rng(0)
    contact, struck = Contact(pairs="all", ground=None, friction=MU, restitution=0.5), 0
    for _ in range(5):
        q, v, way = robot.neutral(), np.zeros(robot.nv), rng.standard_normal(3)
        way /= np.linalg.norm(way)
        q[:3] = -0.5 * way + 0.05 * rng.standard_normal(3)
        v[3:6] = 5.0 * way
        run = robot.simulate(q, v, 0.2, step=STEP, record=STEP, contact=contact)
        turns = np.array([so3.from_quaternion(x).astype(float) for x in run.q[:, 3:7]])
        velocity = np.einsum("tij,tj->ti", turns, run.v[:, 3:6])
        signs = [(first == "a") - (second == "a") for first, second in run.contacts.bodies]
        force = np.einsum("k,tki->ti", np.array(signs, float), run.contacts.force)
        divided = isinstance(shape, Capsule) and isinstance(other, Box)
        bound = ACCUMULATED * 5.0 / STEP + (PARTS * np.abs(force).max() if divided else 0.0)
        assert np.abs(np.diff(velocity, axis=0) / STEP - force[1:]).max() < bound
        struck += bool(force.any())
    assert struck


@pytest.mark.parametrize("others", [0, 2], ids=["alone", "scene"])
@pytest.mark.parametrize(("joint", "shape"), [("fixed", Box([5.0, 5.0, 0.2])), ("free", Box([5.0, 5.0, 0.2]))])
def test_a_ball_that_strikes_a_table_rolls_whatever_the_step(joint: str, shape: Shape, others: int) -> None:
    """Friction holds the point that touches: of a slide v there is left 5/7 v as a roll, on any table."""
    robot, n = striker(Sphere(RADIUS), shape, joint, others), 16
    if joint == "free":
        robot = robot.edit().set_inertia("b", mass=1e6, com=(0, 0, 0), inertia=np.eye(3) * 1e6).done()
    q, v = np.tile(robot.neutral(), (n, 1)), np.zeros((n, robot.nv))
    q[:, 2] = 0.3 + np.linspace(0.0, 10.0 * STEP, n)
    v[:, 3], v[:, 5] = 3.0, -10.0
    contact = Contact(pairs=[("a", "b")], friction=2.0, restitution=0.5)
    motion = robot.rollout(q, v, step=STEP, steps=12, contact=contact)
    rolls = motion.v[:, 1] * RADIUS  # about y, along which it turns
    heavy = 0.0 if joint == "fixed" else 1e-5  # of the table, which gives way
    assert np.abs(rolls / (5.0 / 7.0 * 3.0) - 1.0).max() < 1e2 * ITERATED + heavy
