"""Links that may touch each other in very many pairs: the same motion as with a place for each candidate."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot, elements
from dalembert.contact import scene
from dalembert.model.geometry import Box, Capsule, Sphere
from dalembert.sim.elements import contact as element
from tolerances import CONTACT_SOLVER, ITERATED, assert_close

STEP = 2e-3
TIGHT = 1e-12  # [m/s] so that two ways to the same solution end at the same numbers


@cache
def crab() -> Robot:
    """A trunk with two limp claws, which fold onto it and onto each other."""
    builder = ModelBuilder("crab")
    builder.add_body("trunk", parent="world", joint="free", mass=3.0, inertia=np.diag([0.03, 0.05, 0.06]))
    builder.add_geometry(Box([0.3, 0.2, 0.1]), body="trunk", role="collision")
    for side, y in (("left", 0.06), ("right", -0.06)):
        place = {"parent": "trunk", "joint": "revolute", "axis": (0, 1, 0), "xyz": (0.2, y, 0.0), "damping": 0.02}
        builder.add_body(f"{side}_arm", mass=0.5, com=(0, 0, 0.1), inertia=np.diag([3e-3, 3e-3, 1e-3]), **place)
        if side == "left":
            builder.add_geometry(Capsule(0.02, 0.2), body="left_arm", xyz=(0, 0, 0.12), role="collision")
        place = {"parent": f"{side}_arm", "joint": "revolute", "axis": (1, 0, 0), "xyz": (0, 0, 0.27), "damping": 2e-3}
        builder.add_body(f"{side}_hand", mass=0.3, com=(0, 0, 0.05), inertia=5e-4 * np.eye(3), **place)
        builder.add_geometry(Sphere(0.04), body=f"{side}_hand", xyz=(0, 0, 0.06), role="collision")
    return builder.build()


def thrown(n: int) -> tuple[np.ndarray, np.ndarray]:
    """States of n crabs above the ground whose hands move towards each other and the trunk."""
    robot, rng = crab(), np.random.default_rng(2)
    q = np.tile(robot.neutral(), (n, 1))
    q[:, 2], turn = 0.3, 0.4 * rng.standard_normal((n, 4)) + [1.0, 0.0, 0.0, 0.0]
    q[:, 3:7] = turn / np.linalg.norm(turn, axis=1)[:, None]
    v = 0.3 * rng.standard_normal((n, robot.nv))
    v[:, 6:] += [-2.0, 5.0, -2.0, -5.0]
    return q, v


@pytest.fixture
def paired(monkeypatch):
    """A function that sets whether near pairs are listed first."""

    def use(listed: bool) -> None:
        monkeypatch.setattr(element, "PAIR_POINTS", -1 if listed else 1000)
        monkeypatch.setattr(element, "FEW", 1000)

    return use


CONTACT = Contact(friction=0.6, pairs="all", tolerance=TIGHT)


def test_listed_pairs_give_the_motion_of_a_place_for_each_candidate(paired):
    q, v = thrown(8)
    motions = []
    for listed in (False, True):
        paired(listed)
        motions.append(crab().rollout(q, v, step=STEP, steps=100, contact=CONTACT))
    expected, found = motions
    assert np.abs(found.q - expected.q).max() < CONTACT_SOLVER
    assert not found.contacts.crowded.any()
    paired(True)
    alone = crab().rollout(q, v, step=STEP, steps=100, contact=Contact(friction=0.6, tolerance=TIGHT))
    assert (np.abs(found.q - alone.q).max(axis=1) > 0.01).sum() > 4  # in most of them links touched each other


def test_neighbours_in_a_batch_and_threads_do_not_matter(paired):
    paired(True)
    q, v = thrown(8)
    together = crab().rollout(q, v, step=STEP, steps=100, contact=CONTACT, threads=1)
    parts = [
        crab().rollout(q[at], v[at], step=STEP, steps=100, contact=CONTACT, threads=2)
        for at in (slice(0, 3), slice(3, 4), slice(4, None))
    ]
    assert np.array_equal(np.concatenate([part.q for part in parts]), together.q)


def test_forces_and_heat_belong_to_their_candidates(paired):
    (q, v), runs = thrown(1), []
    for listed in (False, True):
        paired(listed)
        stop = elements.HardStop("left_hand", lower=-0.3, upper=0.3)
        runs.append(crab().simulate(q[0], v[0], 0.2, step=STEP, record=STEP, contact=CONTACT, elements=[stop]))
    expected, found = runs
    assert found.contacts.names == expected.contacts.names
    between = np.array([" on " in name for name in expected.contacts.names])
    assert (expected.contacts.normal_force[:, between] > 0.0).any()
    assert_close(found.contacts.force, expected.contacts.force, CONTACT_SOLVER)
    assert_close(found.contacts.gap, expected.contacts.gap, ITERATED)
    for name, heat in expected.energy.heat.items():
        assert_close(found.energy.heat[name], heat, ITERATED)
    assert_close(found.energy.residual, expected.energy.residual, ITERATED)


def test_a_robot_at_rest_pushes_the_ground_with_its_weight(paired):
    paired(True)
    q, v = crab().neutral(), np.zeros(crab().nv)
    q[2], q[7:] = 0.05, [1.2, 0.4, 1.0, -0.4]  # not upright, where claws balance on their joints
    contact = Contact(friction=0.6, pairs="all")
    run = crab().simulate(q, v, 4.0, step=STEP, contact=contact)
    weight = 9.81 * sum(body.inertia.mass for body in crab().model.bodies)
    grounded = [second == "ground" for _, second in run.contacts.bodies]
    assert_close(run.contacts.normal_force[-1, grounded].sum(), weight, 5 * CONTACT_SOLVER)


def test_the_room_for_contacts_grows(paired, monkeypatch):
    paired(True)
    for name in ("POINTS_OF_LINKS", "MORE"):
        monkeypatch.setattr(scene, name, 1)
    scene._recent.clear()
    q, v = crab().neutral(), np.zeros(crab().nv)
    q[2] = 0.05
    end = crab().rollout(q, v, step=STEP, steps=3, contact=Contact(friction=0.61, pairs="all"))
    scene._recent.clear()
    assert end.contacts.unsettled == end.contacts.crowded == 0
