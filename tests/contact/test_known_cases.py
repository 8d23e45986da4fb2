"""Cases that engines are compared by: a spinning coin, dominoes, balls that fall onto each other."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot
from dalembert.model.geometry import Box, Capsule, Cylinder, Shape, Sphere
from loose_bodies import G
from tolerances import COARSE_RUN, CONTACT_SOLVER, ITERATED

RARELY, SLIGHTLY = 2e-4, 1e-3  # steps that miss the laws where friction jams, and by how much [m/s]
BOUNCES = 0.02  # energy that a bounce within a step loses, over 2 s of them


def loose(shapes: dict[str, tuple[Shape, float, list[float]]]) -> Robot:
    """Loose bodies: name → shape, mass, principal moments."""
    builder = ModelBuilder("loose", gravity=(0.0, 0.0, -G))
    for name, (shape, mass, moments) in shapes.items():
        builder.add_body(name, parent="world", joint="free", mass=mass, inertia=np.diag(moments))
        builder.add_geometry(shape, body=name, role="collision")
    return builder.build()


def upright(*places: tuple[float, float, float]) -> np.ndarray:
    return np.concatenate([[*place, 1.0, 0.0, 0.0, 0.0] for place in places])


@pytest.mark.long
def test_a_spinning_coin_loses_energy_and_sinks() -> None:
    coin = loose({"coin": (Cylinder(0.02, 0.002), 0.01, [1e-6, 1e-6, 2e-6])})
    q = np.array([0.0, 0.0, 0.0201, np.cos(0.7), np.sin(0.7), 0.0, 0.0])
    contact = Contact(friction=0.3, torsion=1e-4, rolling=1e-5)
    run = coin.simulate(q, [0, 20.0, 0, 0.02, 0, 0], 3.0, step=5e-4, contact=contact)
    assert run.energy.total.max() <= run.energy.total[0] * (1.0 + CONTACT_SOLVER)
    assert run.q[-1, 2] < 0.012


@pytest.mark.parametrize("friction", [1.0, 3.0])
def test_a_rod_pushed_over_the_ground_gains_no_energy(friction: float) -> None:
    """Painlevé's rod: above a friction of 4/3 no finite force keeps its tip on the ground, and it jams."""
    rod = loose({"rod": (Capsule(0.001, 1.0), 1.0, [1 / 12, 1 / 12, 1e-4])})
    tilt = np.linspace(0.2, 1.2, 16)
    q, v = np.zeros((16, 7)), np.zeros((16, 6))
    q[:, 2], q[:, 3], q[:, 5] = 0.5 * np.cos(tilt) + 0.001, np.cos(tilt / 2), np.sin(tilt / 2)
    v[:, 3], v[:, 5] = -3.0 * np.cos(tilt), -3.0 * np.sin(tilt)  # 3 m/s along the ground
    motion = rod.rollout(q, v, step=2e-3, steps=500, every=1, contact=Contact(friction=friction))
    energy = rod.energy(motion.q, motion.v)
    assert (energy.max(axis=1) <= energy[:, 0] + CONTACT_SOLVER * energy.max()).all()
    assert np.median(energy[:, -1]) == pytest.approx(0.001 * G, rel=COARSE_RUN)  # it lies on the ground


def test_boxes_that_tumble_with_friction_2_hardly_ever_miss_the_laws() -> None:
    """Their corners jam: friction times the mobility of the normal by a tangent is above that of the normal."""
    box, rng = loose({"box": (Box([0.2, 0.2, 0.2]), 1.0, [0.04 / 6] * 3)}), np.random.default_rng(0)
    q, v = np.zeros((32, 7)), rng.standard_normal((32, 6)) * [5, 5, 5, 2, 2, 2]
    q[:, 2], turns = 0.5, rng.standard_normal((32, 4))
    q[:, 3:] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    motion = box.rollout(q, v, step=2e-3, steps=600, every=1, contact=Contact(friction=2.0))
    assert motion.contacts.unsettled.sum() <= RARELY * 32 * 600 and motion.contacts.worst.max() < SLIGHTLY
    energy = box.energy(motion.q, motion.v)
    assert (energy.max(axis=1) <= energy[:, 0] * (1.0 + ITERATED)).all()


@pytest.mark.long
def test_dominoes_fall_one_after_the_other() -> None:
    row = loose({f"d{k}": (Box([0.01, 0.04, 0.08]), 0.03, [2e-5, 1.6e-5, 4e-6]) for k in range(3)})
    q, v = upright(*((0.04 * k, 0.0, 0.04) for k in range(3))), np.zeros(18)
    v[1], v[3] = 3.0, 0.12
    pairs = [*((f"d{k}", "ground") for k in range(3)), ("d0", "d1"), ("d1", "d2")]
    motion = row.rollout(q, v, step=1e-3, steps=1000, every=1, contact=Contact(pairs=pairs, friction=0.4))
    heights = motion.q[:, [2, 9, 16]]
    assert (heights[-1] < 0.035).all()
    falls = [int(np.argmax(heights[:, k] < 0.035)) for k in range(3)]
    assert falls == sorted(falls) and falls[0] < falls[-1]


@pytest.mark.long
def test_a_column_of_elastic_balls_keeps_its_energy_and_its_axis() -> None:
    """As SimBenchmark's grid of balls, one column of it: nothing is lost where nothing can be, or moves aside."""
    balls = loose({f"b{k}": (Sphere(0.1), 1.0, [0.004] * 3) for k in range(3)})
    q = upright(*((0.0, 0.0, 0.3 + 0.35 * k) for k in range(3)))
    contact = Contact(pairs=[("b0", "ground"), ("b0", "b1"), ("b1", "b2")], restitution=1.0, friction=0.5)
    run = balls.simulate(q, np.zeros(18), 2.0, step=1e-3, contact=contact)
    assert run.energy.total.max() <= run.energy.total[0] * (1.0 + ITERATED)
    assert run.energy.total[-1] == pytest.approx(run.energy.total[0], rel=BOUNCES)
    assert np.abs(run.q[:, [0, 1, 7, 8, 14, 15]]).max() < ITERATED
    assert run.contacts.gap.min() > -CONTACT_SOLVER


def test_pushed_aslant_a_ball_rolls_and_a_puck_slides_straight() -> None:
    """SimBenchmark's rolling: friction has no direction of its own, so that nothing drifts off the line of the push."""
    mu, push, along = 0.4, 6.0, np.array([np.cos(0.3), np.sin(0.3), 0.0])
    builder = ModelBuilder("pushed", gravity=push * along - [0.0, 0.0, G])  # per mass
    for name, inertia in (("ball", 0.004), ("puck", 1e9)):  # the puck does not turn
        builder.add_body(name, parent="world", joint="free", mass=1.0, inertia=np.eye(3) * inertia)
        builder.add_geometry(Sphere(0.1), body=name, role="collision")
    robot, q = builder.build(), upright((0.0, 0.0, 0.1), (0.0, 1.0, 0.1))
    end = robot.rollout(q, np.zeros(12), step=2e-3, steps=500, contact=Contact(friction=mu))
    ways = np.array([end.q[:3], end.q[7:10] - [0.0, 1.0, 0.0]]) - [0.0, 0.0, 0.1]
    accelerations = np.array([push / 1.4, push - mu * G])
    np.testing.assert_allclose(ways, 0.5 * accelerations[:, None] * along, atol=CONTACT_SOLVER)
