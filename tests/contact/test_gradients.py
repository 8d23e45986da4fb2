"""Slopes of motions with rigid contact: those of differences, with a place for each candidate and in slots."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, Robot
from dalembert.model.geometry import Sphere
from dalembert.sim.elements import contact as element
from loose_bodies import table
from tolerances import CONTACT_SOLVER, DIFFERENCE, ROUGH_SLOPE, assert_close

STEP = 2e-3
NUDGE = 1e-6


@cache
def swinger() -> Robot:
    """A ball with a ball at the end of a swinging leg."""
    builder = ModelBuilder("swinger")
    builder.add_body("trunk", parent="world", joint="free", mass=3.0, inertia=np.diag([0.03, 0.05, 0.06]))
    builder.add_geometry(Sphere(0.1), body="trunk", role="collision")
    place = {"parent": "trunk", "joint": "revolute", "axis": (0, 1, 0), "xyz": (0.15, 0.1, 0.0)}
    builder.add_body("leg", mass=0.5, com=(0, 0, -0.1), inertia=np.diag([0.003, 0.003, 0.001]), **place)
    builder.add_geometry(Sphere(0.02), body="leg", xyz=(0, 0, -0.2), role="collision")
    return builder.build()


def thrown(height: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """States of n swingers, all different."""
    rng = np.random.default_rng(1)
    q, v = np.tile(swinger().neutral(), (n, 1)), rng.standard_normal((n, swinger().nv))
    q[:, 2], turn = height, rng.standard_normal((n, 4))
    q[:, 3:7] = turn / np.linalg.norm(turn, axis=1)[:, None]
    return q, v


def slopes(q: np.ndarray, v: np.ndarray, steps: int, contact: Contact) -> tuple[np.ndarray, np.ndarray]:
    """(n, nv): of a number of the last state in the velocities at the start, and by differences."""
    robot = swinger()
    weights = np.arange(1.0, robot.nv + 1.0)
    settings = {"step": STEP, "steps": steps, "contact": contact}
    gradient = robot.rollout_gradient(lambda t, q, v: q[0] + 2.0 * q[1] + weights @ v, q, v, **settings)

    def loss(v: np.ndarray) -> np.ndarray:
        end = robot.rollout(np.broadcast_to(q, (*v.shape[:-1], robot.nq)), v, **settings)
        assert not end.contacts.unsettled.any()
        return end.q[..., 0] + 2.0 * end.q[..., 1] + end.v @ weights

    nudges = NUDGE * np.eye(robot.nv)[:, None]
    return gradient.v, (loss(v + nudges) - loss(v - nudges)).T / (2.0 * NUDGE)


CONTACT = Contact(friction=0.6, torsion=0.01)


def test_what_flies_feels_no_friction_of_contacts() -> None:
    slope, difference = slopes(*thrown(2.0, 8), 1, CONTACT)
    assert np.abs(slope - difference).max() < DIFFERENCE * np.abs(difference).max()


@pytest.mark.long
@pytest.mark.parametrize("count", [0, 1])  # 1: fewer than touch at a time
def test_slopes_of_a_landing_are_those_of_differences(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    for name, value in {"SLOTS": count, "SLOTS_PER_BODY": 0, "FEW": -count if count else 1000}.items():
        monkeypatch.setattr(element, name, value)
    states = thrown(0.3, 8)
    slope, difference = slopes(*states, 150, CONTACT)
    assert np.abs(slope - difference).max() < ROUGH_SLOPE * np.abs(difference).max()
    motions = swinger().rollout(*states, step=STEP, steps=150, every=1, contact=CONTACT)
    assert (motions.q[..., 2].min(axis=1) < 0.1 + CONTACT_SOLVER).any()  # some are on the ground


def test_a_gradient_reports_its_contacts() -> None:
    gradient = swinger().rollout_gradient(lambda t, q, v: v[5], *thrown(2.0, 8), step=STEP, steps=1, contact=CONTACT)
    assert gradient.rollout.contacts.names == ("trunk", "leg")
    assert gradient.rollout.contacts.unsettled.shape == (8,) and not gradient.rollout.contacts.unsettled.any()


@cache
def tripod() -> Robot:
    """A body on three feet: nine forces, of which six can be told apart."""
    builder = ModelBuilder("tripod")
    builder.add_body("top", parent="world", joint="free", mass=2.0, inertia=np.diag([0.03, 0.05, 0.06]))
    for k, (x, y) in enumerate([(0.2, 0.0), (-0.1, 0.15), (-0.1, -0.15)]):
        builder.add_geometry(Sphere(0.02), body="top", xyz=(x, y, -0.3), role="collision", name=f"foot{k}")
    return builder.build()


def test_velocities_have_slopes_where_forces_are_shared_in_many_ways() -> None:
    """At rest, pushed over the ground, turning on it: how the feet share the load makes no difference to the motion."""
    robot, weights = tripod(), np.arange(1.0, 7.0)
    q = np.tile([0.0, 0.0, 0.32, 1.0, 0.0, 0.0, 0.0], (3, 1))
    v = np.array([[0.0] * 6, [0.0, 0.0, 0.0, 1.0, 0.3, 0.0], [0.0, 0.0, 4.0, 0.4, 0.0, 0.0]])
    push = np.array([0.0, 0.0, 0.3, 2.0, 1.0, 0.5])  # within the friction
    settings = {"step": STEP, "steps": 6, "contact": Contact(friction=0.6, tolerance=1e-12)}
    gradient = robot.rollout_gradient(lambda t, q, v: q[0] + weights @ v, q, v, push, **settings)

    def loss(push: np.ndarray) -> np.ndarray:
        end = robot.rollout(q, v, push, **settings)
        return end.q[..., 0] + end.v @ weights

    nudges = 1e-3 * np.eye(6)
    difference = np.array([(loss(push + nudge) - loss(push - nudge)) / 2e-3 for nudge in nudges]).T
    assert np.abs(gradient.torque - difference).max() < ROUGH_SLOPE * np.abs(difference).max()


def test_steps_that_did_not_settle_have_no_slopes(monkeypatch: pytest.MonkeyPatch) -> None:
    from dalembert.contact.solver import iteration

    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    monkeypatch.setattr(iteration, "SWEEPS", 1)
    monkeypatch.setattr(iteration, "STEPS", 1)
    monkeypatch.setattr(iteration, "FIRST", 10.0)
    monkeypatch.setattr(iteration, "NEW", 10.0)
    q, v = np.array([0.0, 0.0, 0.32, 1.0, 0.0, 0.0, 0.0]), np.array([0.1, 0.2, 4.0, 0.4, 0.1, -0.5])
    settings = {"step": STEP, "steps": 1, "contact": Contact(friction=0.6, tolerance=1e-15)}
    with pytest.raises(DalembertError, match=r"motion 0 has no gradient: 1 of its steps did not settle"):
        table(2).rollout_gradient(lambda t, q, v: v[3], q, v, **settings)


@pytest.mark.long
def test_gradients_are_those_of_solutions_to_rounding() -> None:
    """Of motions that land on a ball and a leg, at the default tolerance of 1e-6 m/s."""
    (q, v), settings, weights = thrown(0.3, 8), {"step": STEP, "steps": 150}, np.arange(1.0, 8.0)

    def gradient(contact: Contact) -> np.ndarray:
        return swinger().rollout_gradient(lambda t, q, v: weights @ v, q, v, contact=contact, **settings).v

    tight = gradient(Contact(friction=0.6, tolerance=1e-12))
    assert_close(gradient(Contact(friction=0.6)), tight, CONTACT_SOLVER)


def test_a_missing_gradient_is_refused() -> None:
    """A table that spins on four feet which resist turning, in more ways than it can turn."""
    v = np.array([0.0, 0.0, 4.0, 0.4, 0.0, 0.0])
    q, contact = np.array([0.0, 0.0, 0.32, 1.0, 0.0, 0.0, 0.0]), Contact(friction=0.6, torsion=0.01)
    with pytest.raises(DalembertError, match=r"motion 0 has no gradient: .* turns on more points than it needs"):
        table().rollout_gradient(lambda t, q, v: v[2] + v[3], q, v, step=STEP, steps=6, contact=contact)
