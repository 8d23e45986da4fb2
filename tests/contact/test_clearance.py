"""Shapes out of reach of the ground: bounds that hold for all of their points, and steps that rely on them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot
from dalembert.contact import candidates
from dalembert.contact.clearance import Clearance, is_bounded
from dalembert.contact.gathering import Gathering, Motions, points
from dalembert.dynamics.algorithms import integrate, neutral, poses
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Polyhedron, Sphere
from dalembert.sim.elements import contact as element
from tolerances import COMPUTED, ITERATED

CORNERS = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.2, 0], [0, 0, 0.1]])
TETRAHEDRON = Polyhedron(CORNERS, np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]))
SHAPES = (Sphere(0.1), Capsule(0.05, 0.2), Cylinder(0.07, 0.1), Cone(0.1, 0.2), Box([0.1, 0.2, 0.3]),
          Ellipsoid([0.1, 0.2, 0.05]), TETRAHEDRON)  # fmt: skip
REACHED = (Sphere, Capsule, Box, Ellipsoid)  # some candidate is the lowest point of the shape, wherever it is
TIGHT = Contact(friction=0.6, tolerance=1e-11)


@cache
def assorted() -> Robot:
    """A free body with an arm, both with a shape of each kind."""
    builder = ModelBuilder("assorted")
    builder.add_body("base", parent="world", joint="free", mass=1.0, inertia=np.eye(3))
    builder.add_body(
        "arm", parent="base", joint="revolute", axis=(1, 2, 0), xyz=(0.3, 0, 0.1), mass=1.0, inertia=np.eye(3)
    )
    for body in ("base", "arm"):
        for k, shape in enumerate(SHAPES):
            place = {"xyz": (0.1 * k, -0.2, 0.05 * k), "rpy": (0.3 * k, 0.5, -0.2 * k)}
            builder.add_geometry(shape, body=body, role="collision", name=f"{body} {k}", **place)
    return builder.build()


@pytest.mark.parametrize("time", [0.0, 2e-3, 0.1])
def test_no_point_is_lower_than_the_bound_of_its_shape(time):
    model, rng = assorted().model, np.random.default_rng(0)
    patches = candidates(model, Contact(ground=0.2, friction=0.6))
    assert all(map(is_bounded, patches))
    gathering = Gathering(model, patches)
    for _ in range(20):
        q = np.asarray(integrate(model, neutral(model), rng.standard_normal(model.nv)), float)
        v, X = 10.0 * rng.standard_normal(model.nv), poses(model, q)
        motions, found = Motions(model, X, q), points(patches, X)
        heights = np.asarray(found.gap + time * gathering.speeds(found, motions, v), float)
        for patch, bound in zip(patches, Clearance(patches, X, motions).least(time, v), strict=True):
            lowest = min(h for h, owner in zip(heights, gathering.owner, strict=True) if owner is patch)
            assert bound <= lowest + COMPUTED
            if time == 0.0 and isinstance(patch.shape, REACHED):
                assert bound >= lowest - COMPUTED


def test_terrain_and_pairs_have_no_bounds():
    model = assorted().model
    hills = candidates(model, Contact(terrain=lambda x, y: 0.1 * x * y, friction=0.6))
    pair = candidates(model, Contact(ground=None, pairs=[("base 0", "arm 0")], friction=0.6))
    assert not any(map(is_bounded, [*hills, *pair]))


@cache
def flail() -> Robot:
    """A trunk on two ball feet with a long bar that hangs from it on a hinge: nothing but the feet is near at first."""
    builder = ModelBuilder("flail")
    builder.add_body("trunk", parent="world", joint="free", mass=4.0, inertia=np.diag([0.05, 0.06, 0.07]))
    builder.add_geometry(Capsule(0.05, 0.3), body="trunk", rpy=(0, np.pi / 2, 0), role="collision")
    for name, x in (("front", 0.15), ("rear", -0.15)):
        hinge = {"joint": "revolute", "axis": (0, 1, 0), "xyz": (x, 0.0, 0.0), "friction": 0.3, "damping": 0.05}
        builder.add_body(name, parent="trunk", mass=0.5, com=(0, 0, -0.1), inertia=np.eye(3) * 0.003, **hinge)
        builder.add_geometry(Capsule(0.02, 0.1), body=name, xyz=(0, 0, -0.1), role="collision")
        builder.add_geometry(Sphere(0.03), body=name, xyz=(0, 0, -0.35), role="collision")
    swing = {"joint": "revolute", "axis": (0, 1, 0), "xyz": (0.0, 0.2, 0.0)}
    builder.add_body("bar", parent="trunk", mass=0.3, com=(0, 0, 0.15), inertia=np.eye(3) * 0.002, **swing)
    builder.add_geometry(Capsule(0.02, 0.6), body="bar", xyz=(0, 0, 0.15), role="collision")
    return builder.build()


@pytest.fixture
def slots(monkeypatch):
    """A function that chooses between slots, before which feet come, and a place for each candidate."""

    def use(count: int) -> None:
        monkeypatch.setattr(element, "SLOTS", count)
        monkeypatch.setattr(element, "SLOTS_PER_BODY", 0)
        monkeypatch.setattr(element, "FEW", -count if count else 1000)

    return use


@pytest.mark.parametrize(
    ("restitution", "step"), [(0.0, 2e-3), (0.0, 0.03), pytest.param(0.5, 0.01, marks=pytest.mark.long)]
)
def test_what_is_fast_or_far_is_never_passed_through(slots, restitution, step):
    """Bars that turn by radians in a step, and trunks that fall by more than their height, as with room for all."""
    robot, rng, n = flail(), np.random.default_rng(3), 12
    q = np.tile(robot.neutral(), (n, 1))
    q[:, 2] = 0.45
    v = 0.2 * rng.standard_normal((n, robot.nv))
    v[:, -1] = np.linspace(-100.0, 100.0, n)  # [rad/s] of the bar
    v[::3, 2] = -20.0  # [m/s]
    contact = Contact(friction=0.6, restitution=restitution, tolerance=TIGHT.tolerance)
    ends = []
    for count in (0, 5):
        slots(count)
        ends.append([robot.rollout(q, v, step=step, steps=steps, contact=contact) for steps in (1, 2, 4)])
    for expected, bounded in zip(*ends, strict=True):
        assert np.abs(bounded.v - expected.v).max() < ITERATED * np.abs(v).max()
        assert bounded.contacts.unsettled.sum() == expected.contacts.unsettled.sum()
