"""Many candidates in few slots: the same motion as with a place for each, whatever touches."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot, elements, function
from dalembert.compiler.graph import jacobian
from dalembert.contact import candidates
from dalembert.contact.candidates import like
from dalembert.contact.gathering import points
from dalembert.dynamics.algorithms import poses
from dalembert.dynamics.collision import hull
from dalembert.model.geometry import Box, Capsule, Cylinder, Polyhedron
from dalembert.sim.elements import contact as element
from dalembert.sim.rigid_dynamics import rigid_dynamics, rigid_dynamics_in_slots
from tolerances import COMPUTED, CONTACT_SOLVER, ITERATED, assert_close

STEP = 2e-3
MISSED = 0.01  # of the steps of limp legs: those that may miss the tolerance
TIGHT = 1e-12  # [m/s] so that two ways to the same solution end at the same numbers


@cache
def tumbler() -> Robot:
    """A trunk with a swinging leg: 14 points that may touch the ground."""
    builder = ModelBuilder("tumbler")
    builder.add_body("trunk", parent="world", joint="free", mass=3.0, inertia=np.diag([0.03, 0.05, 0.06]))
    builder.add_geometry(Box([0.3, 0.2, 0.1]), body="trunk", role="collision")
    place = {"parent": "trunk", "joint": "revolute", "axis": (0, 1, 0), "xyz": (0.15, 0.1, 0.0)}
    builder.add_body("leg", mass=0.5, com=(0, 0, -0.1), inertia=np.diag([0.003, 0.003, 0.001]), **place)
    builder.add_geometry(Capsule(0.02, 0.2), body="leg", xyz=(0, 0, -0.1), role="collision")
    builder.add_geometry(Cylinder(0.03, 0.05), body="leg", xyz=(0, 0, -0.2), role="collision")
    return builder.build()


def thrown(n: int) -> tuple[np.ndarray, np.ndarray]:
    """States of n tumblers above the ground, all different."""
    robot, rng = tumbler(), np.random.default_rng(1)
    q = np.tile(robot.neutral(), (n, 1))
    q[:, 2], turn = 0.35, rng.standard_normal((n, 4))
    q[:, 3:7] = turn / np.linalg.norm(turn, axis=1)[:, None]
    return q, 0.5 * rng.standard_normal((n, robot.nv))


@pytest.fixture
def slots(monkeypatch):
    """A function that sets for how many contacts a step has room; 0: each candidate has its own place."""

    def use(count: int) -> None:
        monkeypatch.setattr(element, "SLOTS", count)
        monkeypatch.setattr(element, "SLOTS_PER_BODY", 0)
        monkeypatch.setattr(element, "FEW", -count if count else 1000)

    return use


CONTACT = Contact(friction=0.6, tolerance=TIGHT)


def test_slots_give_the_motion_of_a_place_for_each_candidate(slots):
    q, v = thrown(16)
    motions = []
    for count in (0, 2):  # 2: more than that touch in most of the motions
        slots(count)
        motions.append(tumbler().rollout(q, v, step=STEP, steps=200, contact=CONTACT))
    expected, gathered = motions
    assert np.abs(gathered.q - expected.q).max() < 10 * ITERATED
    assert (expected.q[:, 2] < 0.2).any()  # some lie on the ground


def test_neighbours_in_a_batch_do_not_matter(slots):
    slots(2)
    q, v = thrown(16)
    together = tumbler().rollout(q, v, step=STEP, steps=150, contact=CONTACT, threads=1)
    parts = [
        tumbler().rollout(q[at], v[at], step=STEP, steps=150, contact=CONTACT)
        for at in (slice(0, 3), slice(3, 9), slice(9, None))
    ]
    assert np.array_equal(np.concatenate([part.q for part in parts]), together.q)


def test_nothing_touches_in_flight(slots):
    q, v = thrown(3)
    q[:, 2] = 50.0
    ends = []
    for count in (0, 2):
        slots(count)
        ends.append(tumbler().rollout(q, v, step=STEP, steps=20, contact=CONTACT))
    assert np.abs(ends[1].q - ends[0].q).max() < COMPUTED
    assert not ends[1].contacts.unsettled.any()


def test_forces_and_heat_belong_to_their_candidates(slots):
    (q, v), contact = thrown(16), Contact(friction=0.6, restitution=0.4, tolerance=TIGHT)
    runs = []
    for count in (0, 2):
        slots(count)
        runs.append(tumbler().simulate(q[2], v[2], 0.5, step=STEP, record=STEP, contact=contact))
    expected, gathered = runs
    assert gathered.contacts.names == expected.contacts.names
    assert (expected.contacts.normal_force > 0.0).any(axis=0).sum() > 0
    assert_close(gathered.contacts.force, expected.contacts.force, ITERATED)
    assert_close(gathered.contacts.gap, expected.contacts.gap, ITERATED)
    for name, heat in expected.energy.heat.items():
        assert_close(gathered.energy.heat[name], heat, ITERATED)


@pytest.mark.long
def test_stops_and_moments_beside_slots(slots):
    (q, v), contact = thrown(4), Contact(friction=0.6, torsion=1e-3, tolerance=TIGHT)
    q[:, 2] = 0.2
    ends = []
    for count in (0, 2):
        slots(count)
        stop = elements.HardStop("leg", lower=-0.2, upper=0.2)
        step, x = tumbler().stepper(STEP, contact=contact, elements=[stop]), (q, v)
        for _ in range(60):
            x = step(*x)
        ends.append(x[0])
    assert np.abs(ends[1] - ends[0]).max() < CONTACT_SOLVER


@pytest.mark.long
def test_accelerations_of_a_state_in_slots_are_those_of_a_place_for_each_candidate():
    """Standing, lying, sliding, flying; of the forces, too, and of slopes where nothing is shared in many ways."""
    robot, rng = tumbler(), np.random.default_rng(3)
    model, patches = robot.model, candidates(robot.model, CONTACT)

    def compiled(law):
        def both(q, v, tau):
            a, force, gap = law(model, patches, {}, q, v, tau)
            return np.concatenate([a, force.ravel(), gap, jacobian(np.arange(1.0, 8.0) @ a, np.concatenate([v, tau]))])

        return function(both, robot)

    q, v = thrown(12)
    q[:4, 3:7], q[:4, 7] = [1.0, 0.0, 0.0, 0.0], np.pi / 2  # the box flat on the ground, the leg up
    v[:8], v[2:4, 3], tau = 0.0, 0.5, 0.3 * rng.standard_normal((12, model.nv))
    lowest = robot.contact_dynamics(q, v, tau, contact=CONTACT).gap.min(axis=1)
    q[:10, 2] -= lowest[:10]  # they touch, two of them fly
    each, slots = (compiled(law)(q, v, tau) for law in (rigid_dynamics, rigid_dynamics_in_slots))
    n, k = model.nv, model.nv + 4 * sum(len(patch.names) for patch in patches)
    assert (np.abs(each[:8, n:k]).max(axis=1) > 1.0).all()  # pushed
    assert_close(slots[:, :k], each[:, :k], CONTACT_SOLVER, scale=np.abs(each[:, :k]).max())
    assert_close(slots[4:, k:], each[4:, k:], CONTACT_SOLVER, scale=np.abs(each[4:, k:]).max())


def test_pairs_of_different_meshes_are_one_loop():
    """A robot of many meshes compiles once for all their pairs; the points are those of each pair alone."""
    rng, builder = np.random.default_rng(4), ModelBuilder("rocks")
    for k in range(4):
        builder.add_body(f"rock{k}", parent="world", joint="prismatic", axis=(0, 0, 1), mass=1.0, inertia=np.eye(3))
        corners = hull(rng.standard_normal((14 + k, 3)) * [0.2, 0.2, 0.1])
        builder.add_geometry(Polyhedron(corners.vertices, corners.triangles), body=f"rock{k}", role="collision")
    model = builder.build().model
    patches = [patch for patch in candidates(model, Contact(pairs="all")) if patch.ground is None]
    assert len(patches) == 6 and len({like(patch) for patch in patches}) == 1
    q = np.array([0.0, 0.13, 0.4, 0.49])
    X = poses(model, q)
    found = points(patches, X)
    each = [witness for patch in patches for witness in patch.witnesses(X)]
    assert_close(found.gap, [w.distance for w in each], COMPUTED)
    assert_close(found.position, [w.position for w in each], COMPUTED)
    assert_close(found.normal, [w.normal for w in each], COMPUTED)
    assert found.gap.min() < 0.0  # some overlap


def rounded_bar(radius: float, length: float) -> Polyhedron:
    """Along −z, with twelve sides and narrower ends, as meshes of legs are."""
    angles = np.arange(12) * np.pi / 6
    rings = [(0.0, 0.6), (-0.2 * radius, 1.0), (0.2 * radius - length, 1.0), (-length, 0.6)]
    points = [(radius * s * np.cos(a), radius * s * np.sin(a), z) for z, s in rings for a in angles]
    surface = hull(np.array(points))
    return Polyhedron(surface.vertices, surface.triangles)


@pytest.mark.long
def test_limp_legs_of_meshes_that_touch_with_many_points_settle() -> None:
    """What several points of legs did in the step before is no motion of the legs in this one."""
    builder = ModelBuilder("limp")
    builder.add_body("trunk", parent="world", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry(Box([0.3, 0.2, 0.06]), body="trunk", role="collision")
    for k in range(4):
        parent, place = "trunk", (0.14 if k < 2 else -0.14, 0.11 if k % 2 else -0.11, 0.0)
        for i, (axis, length) in enumerate((((1, 0, 0), 0.04), ((0, 1, 0), 0.14), ((0, 1, 0), 0.14))):
            name, mass = f"leg {k} {i}", 0.05 * (3 - i)
            inertia = mass * length**2 / 12 * np.eye(3)
            carried = {"mass": mass, "com": (0, 0, -0.5 * length), "inertia": inertia}
            builder.add_body(name, parent=parent, joint="revolute", axis=axis, xyz=place, **carried)
            builder.add_geometry(rounded_bar(0.02, length), body=name, role="collision")
            parent, place = name, (0.0, 0.0, -length)
    robot = builder.build()
    q, v = np.tile(robot.neutral(), (32, 1)), 0.3 * np.random.default_rng(0).standard_normal((32, robot.nv))
    q[:, 2] = 0.33
    contacts = robot.rollout(
        q, v, step=STEP, steps=250, contact=Contact(ground=0.0, friction=0.6), check=False
    ).contacts
    assert contacts.unsettled.sum() < MISSED * 32 * 250
