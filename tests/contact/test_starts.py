"""Starts that steps of rigid contact cannot follow, and motions that are hard to follow: nothing is lost in silence."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, Robot
from dalembert.model.geometry import Box, Capsule, Ellipsoid, Shape, Sphere
from dalembert.model.solids import mass_properties
from loose_bodies import G, ball, standing
from tolerances import ITERATED, REACHED

STEP = 2e-3
SLOWLY = 20.0  # [rad/s]: an arm that comes out of the ground without being thrown
SHALLOW = 2e-5  # [m]: what a body that turns by 0.02 rad in a step may sink in
SPIN = 10.0  # [rad/s]


def solid(shape: Shape, mass: float = 1.0) -> ModelBuilder:
    """A loose body."""
    builder, inertia = ModelBuilder("solid", gravity=(0.0, 0.0, -G)), mass_properties(shape, mass=mass).inertia
    builder.add_body("solid", parent="world", joint="free", mass=mass, inertia=inertia)
    builder.add_geometry(shape, body="solid", role="collision")
    return builder


def walled() -> Robot:
    """A marble of 1 cm before a wall as thick."""
    builder = solid(Sphere(0.005), 0.001)
    builder.add_body("wall", parent="world", joint="fixed", mass=1.0, inertia=np.eye(3), xyz=(0.5, 0, 0.5))
    builder.add_geometry(Box([0.01, 1.0, 1.0]), body="wall", role="collision")
    return builder.build()


def test_what_passes_into_the_ground_before_the_first_step_acts_is_said() -> None:
    fast = standing(0.15, 0.0, 0.0, -100.0)
    run = ball().simulate(*fast, 0.02, step=STEP, contact=Contact())
    assert "meets what it touches within half a step" in run.log[0] and "take steps of at most 0.00" in run.log[0]
    many = ball().rollout(*fast, step=STEP, steps=10, contact=Contact())
    assert many.contacts.unsettled == 1 and many.contacts.worst > 1.0
    slower = ball().rollout(*standing(0.25, 0.0, 0.0, -100.0), step=STEP, steps=10, every=1, contact=Contact())
    assert slower.contacts.unsettled == 0 and slower.q[:, 2].min() > 0.1 - ITERATED


def test_a_fast_marble_does_not_pass_a_thin_wall_and_falls_along_it() -> None:
    contact, (q, v) = Contact(friction=0.3, pairs=[("solid", "wall")]), standing(0.5, 100.0, 7.0, 0.0)
    motion = walled().rollout(q, v, step=STEP, steps=60, every=1, contact=contact)
    assert motion.q[:, 0].max() < 0.49 + ITERATED
    assert motion.q[-1, 0] == pytest.approx(0.49, abs=REACHED)
    assert motion.contacts.unsettled == 0
    q[0] = 0.45
    run = walled().simulate(q, v, 0.02, step=STEP, contact=contact)
    assert "'solid on wall' meets what it touches within half a step" in run.log[0]


def test_what_starts_inside_and_leaves_fast_was_not_passed_through() -> None:
    """A foot that starts in the ground and is pulled out."""
    up = solid(Box([0.2, 0.2, 0.2])).build()
    many = up.rollout(*standing(0.099, 0.0, 0.0, 0.35), step=STEP, steps=5, contact=Contact())
    assert many.contacts.unsettled == 0 and many.contacts.worst < ITERATED


def test_a_body_that_turns_fast_does_not_sink_in() -> None:
    q, v = standing(0.07)
    v[0] = SPIN
    robot = solid(Ellipsoid([0.2, 0.04, 0.07])).build()
    run = robot.simulate(q, v, 0.3, step=STEP, contact=Contact(friction=0.6))
    assert run.contacts.gap.min() > -SHALLOW
    energy = robot.energy(run.q, run.v)
    assert energy.max() <= energy[0] + ITERATED


@pytest.mark.parametrize("bent", [0.0, 1e-9, 1e-6, 1e-3])
def test_an_arm_stretched_into_the_ground_is_not_thrown(bent: float) -> None:
    arm, place = ModelBuilder("arm", gravity=(0.0, 0.0, -G)), (0.0, 0.0, 0.5)
    for name, parent in (("upper", "world"), ("lower", "upper")):
        inertia = {"mass": 1.0, "com": (0, 0, -0.15), "inertia": np.diag([0.008, 0.008, 0.001])}
        arm.add_body(name, parent=parent, joint="revolute", axis=(0, 1, 0), xyz=place, **inertia)
        arm.add_geometry(Capsule(0.03, 0.3), body=name, xyz=(0, 0, -0.15), role="collision")
        place = (0.0, 0.0, -0.3)
    run = arm.build().simulate([0.0, bent], np.zeros(2), 1.0, step=STEP, contact=Contact(friction=0.6))
    assert np.abs(run.v).max() < SLOWLY


def test_links_that_overlap_about_their_joints_are_held_where_nothing_lets_them_come_out() -> None:
    """A box on two crossed hinges within the face that it shares with its base: not all four corners can rise."""
    builder, box = ModelBuilder("wedge", gravity=(0.0, 0.0, -G)), Box([0.1, 0.1, 0.1])
    solid = {"mass": 0.5, "com": (0, 0, 0.05), "inertia": np.eye(3) * 1e-3}
    builder.add_body("base", parent="world", joint="fixed", mass=1.0, inertia=np.eye(3))
    builder.add_geometry(box, body="base", role="collision")
    builder.add_body("middle", parent="base", joint="revolute", axis=(1, 0, 0), xyz=(0.02, 0.01, 0.05), **solid)
    builder.add_body("tip", parent="middle", joint="revolute", axis=(0, 1, 0), **solid)
    builder.add_geometry(box, body="tip", xyz=(0, 0, 0.04), role="collision")
    contact = Contact(friction=0.6, pairs=[("tip", "base")])
    run = builder.build().simulate([0.01, -0.02], np.zeros(2), 0.02, step=STEP, contact=contact)
    assert np.abs(run.v).max() < ITERATED and run.contacts.unsettled == 0
    assert "leave the pair out of pairs" in run.log[0]


@pytest.mark.parametrize("model", ["rigid", "compliant"])
def test_a_terrain_without_a_height_below_the_start_is_named(model: str) -> None:
    nowhere = Contact(model=model, terrain=lambda x, y: x * np.nan)
    with pytest.raises(
        DalembertError, match="the gap of 'ball' is not a number at the start: the terrain needs a height"
    ):
        ball().simulate(*standing(0.15), 0.02, step=STEP, contact=nowhere)
