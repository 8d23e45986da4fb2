"""A link that swings against the floor or past it: friction that jams a rebound, and paths that only graze."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot
from dalembert.model.geometry import Sphere
from loose_bodies import G
from tolerances import DEFAULT_RUN

LENGTH, RADIUS, FLOOR = 1.0, 0.05, 0.01
MU, STEP = 0.3, 1e-3
STRUCK = 0.1  # of an impulse: one step brings the gap to zero, and the next one takes the rest of the speed


def pendulum(clearance: float, balls: int = 0) -> Robot:
    """A point mass on a hinge with a ball at its tip, which passes the floor by so much [m], or meets it; and balls."""
    builder = ModelBuilder("pendulum", gravity=(0.0, 0.0, -G))
    place = {"joint": "revolute", "axis": (0, 1, 0), "xyz": (0, 0, FLOOR + LENGTH + RADIUS + clearance)}
    builder.add_body("arm", parent="world", mass=1.0, com=(0, 0, -LENGTH), inertia=np.zeros((3, 3)), **place)
    builder.add_geometry(Sphere(RADIUS), body="arm", xyz=(0, 0, -LENGTH), role="collision")
    for k in range(balls):
        builder.add_body(f"ball{k}", parent="world", joint="free", mass=1.0, inertia=0.1 * np.eye(3))
        builder.add_geometry(Sphere(RADIUS), body=f"ball{k}", role="collision")
    return builder.build()


@pytest.mark.parametrize("restitution", [0.0, 0.3])
def test_a_tip_that_wedges_itself_stops_at_the_impulse_that_takes(restitution: float) -> None:
    """Both the normal and friction act against the swing; no impulse in the cone makes it rebound."""
    contact = Contact(ground=FLOOR, friction=MU, restitution=restitution)
    run = pendulum(-0.01).simulate(np.array([1.0]), np.zeros(1), 1.0, step=STEP, record=STEP, contact=contact)
    angle = np.arccos(1.0 - 0.01 / LENGTH)
    speed = np.sqrt(2.0 * G * LENGTH * (np.cos(angle) - np.cos(1.0)))
    impulse = speed / (np.sin(angle) + MU * np.cos(angle))
    assert run.contacts.force[..., 2].max() * STEP == pytest.approx(impulse, rel=STRUCK)
    assert abs(run.q[-1, 0] - angle) < 10 * STEP * speed and abs(run.v[-1, 0]) < DEFAULT_RUN
    heat = np.array([run.energy.heat[name] for name in run.energy.heat])
    assert np.abs(heat).max() < 0.5 * speed**2
    assert run.contacts.unsettled == 0


@pytest.mark.parametrize(("clearance", "balls"), [(1e-7, 0), (1e-4, 0), (1e-5, 2)])
def test_a_tip_that_clears_the_floor_swings_on(clearance: float, balls: int) -> None:
    """A straight way would meet the floor up to h² v² / 2 r = 80 µm above it; also beside balls that fall."""
    contact = Contact(ground=FLOOR, friction=MU, restitution=0.5, pairs="all" if balls else "ground")
    robot = pendulum(clearance, balls)
    start = np.concatenate([[1.0], *([10.0 + k, 0.0, 50.0, 1.0, 0.0, 0.0, 0.0] for k in range(balls))])
    settings = {"step": 4 * STEP, "record": 4 * STEP, "contact": contact}
    run = robot.simulate(start, np.zeros(robot.nv), 1.6, **settings)
    assert not run.contacts.force.any()
    assert run.q[:, 0].min() == pytest.approx(-1.0, abs=4 * STEP)
