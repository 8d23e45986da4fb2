"""Memory and contact forces of rollouts: parts of a rollout are the whole, forces and moments balance the weight."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError
from loose_bodies import G, ball, box, standing, table
from tolerances import CONTACT_SOLVER, assert_close

STEP = 2e-3
SLOPE = 0.1  # [rad]


def test_rollouts_with_memory_are_one_rollout() -> None:
    (q, v), contact = standing(0.321, 0.3, 0.1, 0.0), Contact(friction=0.6)
    whole = table().rollout(q, v, step=STEP, steps=60, contact=contact)
    parts = table().rollout(q, v, step=STEP, steps=15, contact=contact)
    for _ in range(3):
        parts = table().rollout(parts.q, parts.v, step=STEP, steps=15, contact=contact, memory=parts.memory)
    assert np.array_equal(parts.q, whole.q) and np.array_equal(parts.v, whole.v)
    assert np.array_equal(parts.memory, whole.memory)
    with pytest.raises(DalembertError, match=r"memory has shape \(3,\), expected"):
        table().rollout(q, v, step=STEP, steps=15, contact=contact, memory=np.zeros(3))


def test_forces_of_a_batch_carry_the_weight() -> None:
    q, v = standing(0.32)
    states = np.tile(q, (3, 1)), np.tile(v, (3, 1))
    settings = {"step": STEP, "steps": 20, "every": 10, "contact": Contact(friction=0.6)}
    last = table().rollout(*states, forces="last", **settings).contacts
    every = table().rollout(*states, forces="every", **settings).contacts
    assert last.force.shape == last.moment.shape == (3, 4, 3)
    assert every.force.shape == (3, 2, 4, 3)
    assert_close(every.force[:, -1], last.force, CONTACT_SOLVER)
    assert_close(last.by_body["top"], np.tile([0.0, 0.0, 12.0 * G], (3, 1)), CONTACT_SOLVER)
    run = table().simulate(q, v, 20 * STEP, step=STEP, contact=Contact(friction=0.6))
    assert_close(last.force[0], run.contacts.force[-1], CONTACT_SOLVER)


def test_moments_of_friction_close_the_balance_at_rest() -> None:
    """A ball that rolling friction holds on a slope, which leans by gravity along x."""
    robot = ball().edit().gravity([G * np.sin(SLOPE), 0.0, -G * np.cos(SLOPE)]).done()
    contact = Contact(friction=0.6, rolling=0.02, torsion=0.01)
    run = robot.simulate(*standing(0.1), 0.2, step=STEP, contact=contact)
    lever = run.contacts.position[-1, 0] - run.q[-1, :3]
    assert_close(np.cross(lever, run.contacts.force[-1, 0]) + run.contacts.moment[-1, 0], np.zeros(3), CONTACT_SOLVER)
    assert np.linalg.norm(run.contacts.moment[-1, 0]) > 0.05
    end = robot.rollout(*standing(0.1), step=STEP, steps=100, contact=contact, forces="last")
    assert_close(end.contacts.moment[0], run.contacts.moment[-1, 0], CONTACT_SOLVER)


def test_forces_belong_to_rigid_contact() -> None:
    with pytest.raises(DalembertError, match="forces: expected contact="):
        box().rollout(*standing(0.1), step=STEP, steps=1, forces="last")
    with pytest.raises(DalembertError, match=r"unknown forces 'all'"):
        box().rollout(*standing(0.1), step=STEP, steps=1, forces="all")
