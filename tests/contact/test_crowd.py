"""Robots among many loose bodies: the same motion as with a place for each candidate, statics, momentum, room."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, Robot, elements
from dalembert.contact import scene
from dalembert.model.geometry import Box, Sphere
from loose_bodies import SIDE, G
from tolerances import COMPUTED, CONTACT_SOLVER, assert_close

STEP = 2e-3
TIGHT = 1e-11  # [m/s] so that two ways to the same solution end at the same numbers
RADIUS = 0.05


@cache
def arm_and_balls(balls: int = 2) -> Robot:
    """An arm with two limp joints that falls among balls."""
    builder = ModelBuilder("arm and balls", gravity=(0.0, 0.0, -G))
    place = {"parent": "world", "joint": "revolute", "axis": (0, 1, 0), "xyz": (0, 0, 0.3), "damping": 0.05}
    builder.add_body("upper", mass=2.0, com=(0.2, 0, 0), inertia=0.02 * np.eye(3), **place)
    place |= {"parent": "upper", "xyz": (0.4, 0, 0)}
    builder.add_body("lower", mass=1.0, com=(0.15, 0, 0), inertia=0.01 * np.eye(3), **place)
    builder.add_geometry(Sphere(RADIUS), body="lower", xyz=(0.3, 0, 0), role="collision")
    for k in range(balls):
        inertia = 0.4 * 0.5 * RADIUS**2 * np.eye(3)
        builder.add_body(f"ball{k}", parent="world", joint="free", mass=0.5, inertia=inertia)
        builder.add_geometry(Sphere(RADIUS), body=f"ball{k}", role="collision")
    return builder.build()


def beside_the_arm(n: int) -> tuple[np.ndarray, np.ndarray]:
    """States in which the balls lie where the arm falls, all different."""
    robot, rng = arm_and_balls(), np.random.default_rng(3)
    q = np.tile(robot.neutral(), (n, 1))
    for k in range(2):
        places = rng.uniform(-0.03, 0.03, (n, 3))
        q[:, 2 + 7 * k : 5 + 7 * k] = np.array([0.45 + 0.13 * k, 0.0, RADIUS + 0.03]) + places
    return q, 0.3 * rng.standard_normal((n, robot.nv))


@cache
def sled(cubes: int) -> Robot:
    """A floating trunk with a rudder, and cubes."""
    builder = ModelBuilder("sled", gravity=(0.0, 0.0, -G))
    builder.add_body("trunk", parent="world", joint="free", mass=3.0, inertia=np.diag([0.03, 0.05, 0.06]))
    builder.add_geometry(Box([0.4, 0.3, 0.1]), body="trunk", role="collision")
    place = {"parent": "trunk", "joint": "revolute", "axis": (0, 0, 1), "xyz": (0.3, 0.0, 0.0), "damping": 0.05}
    builder.add_body("rudder", mass=0.5, com=(0.1, 0, 0), inertia=np.diag([1e-3, 3e-3, 3e-3]), **place)
    builder.add_geometry(Sphere(0.03), body="rudder", xyz=(0.15, 0, 0), role="collision")
    for k in range(cubes):
        builder.add_body(f"cube{k}", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * SIDE**2 / 6.0)
        builder.add_geometry(Box([SIDE] * 3), body=f"cube{k}", role="collision")
    return builder.build()


@pytest.fixture
def crowd(monkeypatch):
    """A function that sets from how many loose bodies on they are looped over."""

    def use(least: int) -> None:
        monkeypatch.setattr(scene, "LOOPED", least)
        scene._recent.clear()

    yield use
    scene._recent.clear()


CONTACT = Contact(friction=0.5, pairs="all", tolerance=TIGHT)


def test_steps_of_a_crowd_are_those_with_a_place_for_each_candidate(crowd):
    """Single steps with one ball: what contacts remember of rolling is not the same."""
    crowd(1)
    robot = arm_and_balls(1)
    start = (x[:, :size] for x, size in zip(beside_the_arm(8), (robot.nq, robot.nv), strict=True))
    motion = robot.rollout(*start, step=STEP, steps=150, every=5, contact=CONTACT)
    q, v = motion.q.reshape(-1, robot.nq), motion.v.reshape(-1, robot.nv)
    assert (np.abs(motion.v[:, -1, 2:]).max(axis=1) > 1.0).sum() > 4  # the arm has hit the ball
    ends = []
    for least in (2, 1):
        crowd(least)
        ends.append(robot.rollout(q, v, step=STEP, steps=1, contact=CONTACT))
    each, looped = ends
    settled = (each.contacts.unsettled == 0) & (looped.contacts.unsettled == 0)
    assert settled.mean() > 0.98  # where the arm wedges its tip on the floor, 1e-11 m/s is not always reached
    assert np.abs(looped.v - each.v)[settled].max() < CONTACT_SOLVER


def test_neighbours_in_a_batch_and_threads_do_not_matter(crowd):
    crowd(2)
    q, v = beside_the_arm(8)
    together = arm_and_balls().rollout(q, v, step=STEP, steps=150, contact=CONTACT, threads=1)
    parts = [
        arm_and_balls().rollout(q[at], v[at], step=STEP, steps=150, contact=CONTACT, threads=2)
        for at in (slice(0, 1), slice(1, 4), slice(4, None))
    ]
    assert np.array_equal(np.concatenate([part.q for part in parts]), together.q)


def test_a_cube_on_a_robots_back_weighs_on_it():
    robot = sled(4)
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[2] = 0.05
    for k, place in enumerate([(0.0, 0.0, 0.1 + SIDE / 2), (1.0, 0.0, SIDE / 2), (2.0, 0.0, SIDE / 2)]):
        q[8 + 7 * k : 11 + 7 * k] = place
    q[29:32] = 2.0, 0.0, 1.5 * SIDE  # on the last one
    contact = Contact(friction=0.6, pairs="all")
    run = robot.simulate(q, v, 1.0, step=STEP, contact=contact)
    assert run.contacts.unsettled == run.contacts.crowded == 0
    force, bodies = run.contacts.force[-1], run.contacts.bodies
    on_trunk = sum(f[2] for f, pair in zip(force, bodies, strict=True) if set(pair) == {"cube0", "trunk"})
    on_cube = sum(f[2] for f, pair in zip(force, bodies, strict=True) if set(pair) == {"cube2", "cube3"})
    on_ground = force[[second == "ground" for _, second in bodies]].sum(axis=0)
    weight = G * sum(body.inertia.mass for body in robot.model.bodies)
    assert_close(abs(on_trunk), G, CONTACT_SOLVER)
    assert_close(abs(on_cube), G, CONTACT_SOLVER)
    assert_close(on_ground, [0.0, 0.0, weight], CONTACT_SOLVER)
    assert np.abs(run.energy.residual).max() < CONTACT_SOLVER
    assert np.abs(run.v[-1]).max() < CONTACT_SOLVER


def test_a_box_bounces_beside_a_robot_as_without_one():
    """Elastic, nearly flat: corners that others throw down wait for their rebounds and get their energy back."""
    contact, energies = Contact(friction=0.0, restitution=1.0, pairs=[("cube0", "ground"), ("cube1", "ground")]), []
    for arm in (False, True):
        builder = ModelBuilder("boxes", gravity=(0.0, 0.0, -G))
        for k in range(2):
            builder.add_body(f"cube{k}", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * SIDE**2 / 6.0)
            builder.add_geometry(Box([SIDE] * 3), body=f"cube{k}", role="collision")
        if arm:
            builder.add_body("arm", parent="world", joint="revolute", axis=(0, 1, 0), mass=1.0, inertia=np.eye(3))
        robot = builder.build()
        q, v = robot.neutral(), np.zeros(robot.nv)
        for k, tilt in enumerate((1e-3, 1e-2)):
            q[7 * k : 7 * k + 7] = [k, 0.0, 0.12, np.cos(tilt / 2), np.sin(tilt / 2), 0.0, 0.0]
        run = robot.simulate(q, v, 0.3, step=STEP, contact=contact)
        assert (run.contacts.normal_force > 0.0).any()
        energies.append(run.energy.kinetic + run.energy.potential)
    assert_close(energies[1] - energies[1][0], energies[0] - energies[0][0], COMPUTED)


def test_momentum_in_flight_changes_by_gravity_alone():
    robot = sled(4)
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[2] = 50.0
    for k, (x, y) in enumerate([(0.1, 0.1), (0.1, -0.1), (-0.1, 0.1), (-0.1, -0.1)]):
        q[8 + 7 * k : 11 + 7 * k] = x, y, 50.2
        v[7 + 6 * k + 5] = -1.0  # down onto the trunk, which falls with them
    contact = Contact(friction=0.6, pairs="all")
    run = robot.simulate(q, v, 0.2, step=STEP, contact=contact)
    assert (run.contacts.normal_force > 0.0).any()  # they have met
    before, after = (robot.centroidal_momentum(*x) for x in ((q, v), (run.q[-1], run.v[-1])))
    mass = sum(body.inertia.mass for body in robot.model.bodies)
    moved = after[4:] - before[4:]  # along x the error of the trunk's rotation in a step shows, some 1e-5
    assert_close(moved, [0.0, -mass * G * 0.2], CONTACT_SOLVER)


@pytest.mark.long
def test_stops_and_friction_of_joints_act_beside_loose_bodies(crowd):
    stops = [elements.HardStop("lower", lower=-0.2, upper=0.2)]
    settings = {"step": STEP, "contact": CONTACT, "elements": stops}
    crowd(2)
    motion = arm_and_balls().rollout(*beside_the_arm(4), steps=150, every=5, **settings)
    q, v, ends = motion.q.reshape(-1, 16), motion.v.reshape(-1, 14), []
    for least in (1000, 2):
        crowd(least)
        ends.append(arm_and_balls().rollout(q, v, steps=1, **settings))
    assert np.abs(ends[1].v - ends[0].v).max() < CONTACT_SOLVER
    assert 0.2 - CONTACT_SOLVER < np.abs(q[:, 1]).max() < 0.2 + CONTACT_SOLVER  # it has been at its stop


def test_constraints_on_one_of_many_loose_bodies_are_refused(crowd):
    crowd(2)
    q, v = beside_the_arm(1)
    rail = elements.Holonomic("rail", lambda q: q[3:4])
    with pytest.raises(DalembertError, match=r"'ball0', which is one of many loose bodies .* some damping"):
        arm_and_balls().rollout(q, v, step=STEP, steps=1, contact=CONTACT, elements=[rail])


def test_the_room_for_contacts_grows(monkeypatch, crowd):
    crowd(2)
    for name, room in {"POINTS_OF_LINKS": 1, "MORE": 0, "POINTS_PER_BODY": {True: 1, False: 1}}.items():
        monkeypatch.setattr(scene, name, room)
    q = arm_and_balls().neutral()
    q[2:5], q[9:12] = (0.5, 0.0, RADIUS), (0.6, 0.0, RADIUS)  # both on the ground, and against each other
    contact = Contact(friction=0.51, pairs="all")
    end = arm_and_balls().rollout(q, np.zeros(14), step=STEP, steps=3, contact=contact)
    assert end.contacts.unsettled == end.contacts.crowded == 0
