"""Contact of robots with loops, of several robots in one scene, and on height fields."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq

from dalembert import Contact, ModelBuilder, Robot, scene
from dalembert.dynamics.collision import HeightField
from dalembert.model.geometry import Box, Sphere
from dalembert.spatial import Pose
from loose_bodies import G, ball, standing
from tolerances import COARSE_RUN, CONTACT_SOLVER, ITERATED, MILLISECOND_STEPS, SETTLED, TIGHT_RUN

TRUNK, CRANK, FOOT = 8.0, 0.5, 0.4  # masses [kg]
LENGTH, RADIUS = 0.4, 0.05  # of the cranks, and of the foot [m]
STIFFNESS, REST = 60.0, 0.4  # of the spring at the hip [N·m/rad, rad]


@cache
def leg() -> Robot:
    """A trunk on a vertical slide; two parallel cranks carry a foot that stays level: a four-bar, with a sprung hip."""
    builder = ModelBuilder("leg", gravity=(0.0, 0.0, -G))
    builder.add_body("trunk", parent="world", joint="prismatic", axis=(0, 0, 1), mass=TRUNK, inertia=np.eye(3) * 0.1)
    crank = {"mass": CRANK, "com": (0, 0, -0.5 * LENGTH), "inertia": np.eye(3) * 1e-3, "joint": "revolute"}
    spring = {"stiffness": STIFFNESS, "rest": REST, "damping": 6.0}
    builder.add_body("front", parent="trunk", axis=(0, 1, 0), xyz=(0.1, 0, 0), joint_name="hip", **crank, **spring)
    builder.add_body("back", parent="trunk", axis=(0, 1, 0), xyz=(-0.1, 0, 0), **crank)
    builder.add_body(
        "foot", parent="front", joint="revolute", axis=(0, 1, 0), xyz=(0, 0, -LENGTH), mass=FOOT, com=(-0.1, 0, 0),
        inertia=np.eye(3) * 1e-3,
    )  # fmt: skip
    pins = (Pose(np.eye(3), np.array([-0.2, 0.0, 0.0])), Pose(np.eye(3), np.array([0.0, 0.0, -LENGTH])))
    builder.add_closure(
        "ankle", "revolute", a="foot", b="back", placement_a=pins[0], placement_b=pins[1], axis=(0, 1, 0)
    )
    builder.add_geometry(Sphere(RADIUS), body="foot", xyz=(-0.1, 0, 0), role="collision")
    return builder.build()


@pytest.mark.parametrize("model", ["rigid", "compliant"])
def test_a_four_bar_leg_stands_as_its_spring_says(model: str) -> None:
    """At rest k (θ − θ0) = (trunk + crank) g l sin θ, by its potential energy; the ground carries all weight."""
    robot = leg()
    contact = Contact(friction=0.0, model=model, **({"stiffness": 1e5} if model == "compliant" else {}))
    angle = 0.3
    q = np.array([RADIUS + LENGTH * np.cos(angle), angle, -angle, angle])  # trunk, front, foot, back
    run = robot.simulate(q, np.zeros(4), 3.0, contact=contact, **({"step": 2e-3} if model == "rigid" else {}))
    end = run.q[-1]
    moment = (TRUNK + CRANK) * G * LENGTH
    expected = brentq(lambda x: STIFFNESS * (x - REST) - moment * np.sin(x), 0.4, 1.5)
    assert end[1] == pytest.approx(expected, abs=2 * COARSE_RUN)
    assert end[1:] == pytest.approx([end[1], -end[1], end[1]], abs=ITERATED)  # the loop is closed
    weight = (TRUNK + 2 * CRANK + FOOT) * G
    assert run.contacts.force[-1].sum(axis=0) == pytest.approx([0.0, 0.0, weight], rel=SETTLED, abs=MILLISECOND_STEPS)
    sunk = 0.0 if model == "rigid" else weight / 1e5
    assert end[0] == pytest.approx(RADIUS - sunk + LENGTH * np.cos(end[1]), abs=TIGHT_RUN)
    assert np.abs(run.energy.residual).max() < 0.02 * run.energy.scale


def test_two_robots_and_an_obstacle_in_one_scene() -> None:
    """One ball lands on a step that is fixed in the world, the other on the floor beside it."""
    room = scene(red=ball(), blue=ball(), step=Box([0.4, 0.4, 0.2]), at={"step": (0.0, 0.0, 0.1)})
    q = room.neutral()
    q[room.joint("red_ball").q] = [0.05, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0]
    q[room.joint("blue_ball").q] = [1.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0]
    run = room.simulate(q, np.zeros(room.nv), 0.6, step=2e-3, contact=Contact(pairs="all"))
    heights = [run.q[-1, room.joint(name).q][2] for name in ("red_ball", "blue_ball")]
    assert heights == pytest.approx([0.3, 0.1], abs=CONTACT_SOLVER)
    loads = dict(zip(run.contacts.names, run.contacts.normal_force[-1], strict=True))
    assert sum(loads.values()) == pytest.approx(2.0 * G, rel=ITERATED)


def test_a_height_field_carries_like_the_plane_that_it_is_a_grid_of() -> None:
    slope, grid = 0.2, np.linspace(-2.0, 2.0, 5)
    field = HeightField(grid, grid, np.array([[slope * x for _ in grid] for x in grid]))
    contacts = Contact(terrain=field, friction=0.8), Contact(terrain=lambda x, y: slope * x, friction=0.8)
    start = standing(0.1 * np.sqrt(1.0 + slope**2) + 1e-9)
    grids, plane = (ball().rollout(*start, step=2e-3, steps=200, contact=contact) for contact in contacts)
    assert grids.q == pytest.approx(plane.q, abs=ITERATED)
    acceleration = G * slope / np.sqrt(1.0 + slope**2) / 1.4  # a solid ball that rolls
    along = -grids.q[0] * np.sqrt(1.0 + slope**2)
    assert along == pytest.approx(0.5 * acceleration * 0.4**2, rel=MILLISECOND_STEPS)


def test_a_robot_that_cannot_move_across_a_plane() -> None:
    """A block on two slides, along x and z: nothing moves along y. The frame of the x slide does not press."""
    builder = ModelBuilder("slides", gravity=(0.0, 0.0, -G))
    builder.add_body("frame", parent="world", joint="prismatic", axis=(1, 0, 0), mass=0.1, inertia=np.eye(3))
    builder.add_body("block", parent="frame", joint="prismatic", axis=(0, 0, 1), mass=0.9, inertia=np.eye(3))
    builder.add_geometry(Sphere(0.1), body="block", role="collision")
    robot, mu, speed = builder.build(), 0.5, 2.0
    run = robot.simulate(np.array([0.0, 0.1]), np.array([speed, 0.0]), 1.0, step=2e-3, contact=Contact(friction=mu))
    assert run.q[-1] == pytest.approx([speed**2 / (2 * mu * 0.9 * G), 0.1], rel=2 * MILLISECOND_STEPS)
    assert run.contacts.force[-1, 0] == pytest.approx([0.0, 0.0, 0.9 * G], abs=ITERATED)
