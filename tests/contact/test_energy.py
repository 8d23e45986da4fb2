"""Energy never rises above that of the start: bodies of every shape, thrown anyhow, any restitution and friction."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot
from dalembert.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from dalembert.model.solids import mass_properties
from loose_bodies import G
from tolerances import INTEGRATED, ITERATED

MOTIONS = 32
KEPT = 1e-3  # of the kinetic energy, by impacts of a chain that turns fast, at steps of 0.5 ms
LANDED = 0.07  # of the energy of a box that lands nearly flat, where a corner that waits rebounds beside another one
SELDOM = 0.2  # of such landings that lose more than rounding
BELOW = 1e-3  # [m]: what lies flat may be that thick


def thrown(shape: Shape, rng: np.random.Generator) -> tuple[Robot, np.ndarray, np.ndarray]:
    """A solid body, and how it is thrown: fast, turning about all axes, from below 1 m."""
    builder = ModelBuilder("solid", gravity=(0.0, 0.0, -G))
    solid = mass_properties(shape, mass=float(10.0 ** rng.uniform(-1.0, 1.0)))
    builder.add_body("solid", parent="world", joint="free", mass=solid.mass, inertia=solid.inertia)
    builder.add_geometry(shape, body="solid", role="collision")
    robot, q = builder.build(), np.zeros((MOTIONS, 7))
    q[:, 2], q[:, 3:] = rng.uniform(0.35, 1.0, MOTIONS), rng.normal(size=(MOTIONS, 4))
    return robot, robot.normalize(q), rng.normal(size=(MOTIONS, 6)) * [10.0, 10.0, 10.0, 3.0, 3.0, 3.0]


def gain(shape: Shape, contact: Contact, step: float, rng: np.random.Generator) -> float:
    """The largest energy of 1.5 s above that of the start, per kinetic energy of the start."""
    robot, q, v = thrown(shape, rng)
    motion = robot.rollout(q, v, step=step, steps=round(1.5 / step), every=1, contact=contact)
    assert np.isfinite(motion.q).all() and motion.q[..., 2].min() > BELOW  # none falls through
    above = robot.energy(motion.q, motion.v).max(axis=-1) - robot.energy(q, v)
    return float((above / robot.kinetic_energy(q, v)).max())


def test_a_capsule_never_gains_energy() -> None:
    rng = np.random.default_rng(3)
    assert gain(Capsule(0.05, 0.2), Contact(friction=0.7, restitution=0.6), 4e-3, rng) < ITERATED


def landed(dims: list[float], step: float, restitution: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Energies (n, times), as parts of those of the start, of boxes that land nearly flat, without friction."""
    solid = mass_properties(Box(dims), mass=1.0)
    builder = ModelBuilder("box", gravity=(0.0, 0.0, -G))
    builder.add_body("box", parent="world", joint="free", mass=1.0, inertia=solid.inertia)
    builder.add_geometry(Box(dims), body="box", role="collision")
    robot, q, v = builder.build(), np.zeros((count, 7)), np.zeros((count, 6))
    half, about = 0.5 * 10.0 ** rng.uniform(-6.0, -2.0, count), rng.uniform(0.0, 2.0 * np.pi, count)
    q[:, 2] = 0.5 * dims[2] + rng.uniform(0.1, 0.3, count)
    q[:, 3], q[:, 4], q[:, 5] = np.cos(half), np.sin(half) * np.cos(about), np.sin(half) * np.sin(about)
    contact = Contact(friction=0.0, restitution=restitution)
    motion = robot.rollout(q, v, step=step, steps=round(0.35 / step), every=1, contact=contact)
    floor = 0.5 * dims[2] * G
    return (robot.energy(motion.q, motion.v) - floor) / (robot.energy(q, v) - floor)[:, None]


@pytest.mark.parametrize("step", [1e-3, 5e-3])
def test_a_box_that_lands_nearly_flat_keeps_its_energy(step: float) -> None:
    """Corners that strike one after the other, in one step and the next, whatever the tilt."""
    energy = landed([0.3, 0.2, 0.1], step, 1.0, 100, np.random.default_rng(5))
    assert energy[:, -1].min() > 1.0 - LANDED
    assert np.mean(energy[:, -1] < 1.0 - INTEGRATED) < SELDOM
    assert energy.max() < 1.0 + 10 * ITERATED


@pytest.mark.long
@pytest.mark.parametrize("restitution", [0.3, 0.7, 1.0])
@pytest.mark.parametrize("dims", [[0.2, 0.2, 0.2], [0.3, 0.2, 0.1], [0.4, 0.3, 0.05]], ids=["cube", "box", "plate"])
def test_boxes_that_land_nearly_flat_gain_nothing(dims: list[float], restitution: float) -> None:
    rng = np.random.default_rng(6)
    for step in (5e-4, 1e-3, 2e-3, 5e-3):
        energy = landed(dims, step, restitution, 200, rng)
        assert energy.max() < 1.0 + 10 * ITERATED
        if restitution == 1.0:
            assert energy[:, -1].min() > 1.0 - LANDED


def test_a_chain_that_rebounds_keeps_its_energy_to_second_order() -> None:
    """Forces of inertia are others after an impact: a first-order error would gain some percent in each."""
    builder = ModelBuilder("chain", gravity=(0.0, 0.0, -G))
    for k, (parent, joint) in enumerate((("world", "free"), ("link0", "revolute"))):
        axis = {} if joint == "free" else {"axis": (1, 0, 0), "xyz": (0, 0, 0.15), "com": (0, 0, 0.15)}
        inertia = {"mass": 0.6, "inertia": np.diag([0.003, 0.003, 0.0005])}
        builder.add_body(f"link{k}", parent=parent, joint=joint, **inertia, **axis)
        builder.add_geometry(Capsule(0.03, 0.2), body=f"link{k}", xyz=(0, 0, 0.15 * k), role="collision")
    robot, rng = builder.build(), np.random.default_rng(1)
    q, v = np.zeros((MOTIONS, 8)), np.concatenate([rng.normal(size=(MOTIONS, 3)) * 5.0, np.zeros((MOTIONS, 4))], axis=1)
    q[:, 2], q[:, 3:7] = 0.25, rng.normal(size=(MOTIONS, 4))
    q, v[:, 5] = robot.normalize(q), -3.0
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        end = robot.rollout(q, v, step=step, steps=round(0.1 / step), contact=Contact(friction=0.0, restitution=1.0))
        errors.append(np.abs(robot.energy(end.q, end.v) - robot.energy(q, v)).max() / robot.kinetic_energy(q, v).max())
        assert not end.contacts.unsettled.any()
    assert errors[2] < KEPT and errors[2] < 0.5 * errors[1] < 0.25 * errors[0]


@pytest.mark.long
@pytest.mark.parametrize("restitution", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("kind", ["box", "sphere", "capsule", "cylinder", "ellipsoid"])
def test_nothing_ever_gains_energy(kind: str, restitution: float) -> None:
    rng = np.random.default_rng([len(kind), int(10 * restitution)])
    shape = {
        "box": lambda: Box(rng.uniform(0.05, 0.3, 3)),
        "sphere": lambda: Sphere(rng.uniform(0.03, 0.15)),
        "capsule": lambda: Capsule(rng.uniform(0.02, 0.08), rng.uniform(0.05, 0.4)),
        "cylinder": lambda: Cylinder(rng.uniform(0.03, 0.15), rng.uniform(0.01, 0.3)),
        "ellipsoid": lambda: Ellipsoid(rng.uniform(0.04, 0.2, 3)),
    }[kind]()
    contact = Contact(friction=float(rng.choice([0.0, 0.1, 0.6, 1.5])), restitution=restitution)
    for step in (1e-3, 4e-3):
        assert gain(shape, contact, step, rng) < ITERATED


def test_the_audit_tells_the_order_where_joints_move_over_contacts() -> None:
    """A limp leg that slides: its error halves with the step, and the advice leaves room for that."""
    builder = ModelBuilder("leg", gravity=(0.0, 0.0, -G))
    builder.add_body("trunk", parent="world", joint="free", mass=1.0, inertia=np.eye(3) * 0.01)
    shank = {"mass": 0.3, "com": (0, 0, -0.1), "inertia": np.eye(3) * 2e-3}
    builder.add_body("shank", parent="trunk", joint="revolute", axis=(0, 1, 0), **shank)
    builder.add_geometry(Sphere(0.02), body="shank", xyz=(0, 0, -0.3), role="collision")
    leg, tilt = builder.build(), 0.3
    q = np.array([0.0, 0.0, 0.3 * np.cos(tilt) + 0.02, np.cos(tilt / 2), 0.0, np.sin(tilt / 2), 0.0, 0.0])
    long, short = (
        leg.simulate(q, np.zeros(7), 0.2, step=step, contact=Contact(friction=0.0)).audit() for step in (1e-3, 5e-4)
    )
    assert 1.8 < long.residual / short.residual < 2.2
    assert f"of order 1 where joints move over contacts: a step of {1e-9 / long.relative:.2g} to" in long.text
