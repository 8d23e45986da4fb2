"""Bodies that turn too far for a step, or swing into something thin: steps divide themselves, and nothing passes."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import Contact, ModelBuilder, Robot
from dalembert.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from dalembert.model.solids import mass_properties
from dalembert.sim.elements import contact as element
from dalembert.spatial import so3
from tolerances import ACCUMULATED

STEP, WALL, FRICTION = 2e-3, 0.005, 0.6
MOST_SUSPECTED = 5  # of 500 cubes: the shortest parts may look as if something had passed
SLIDES = 1e-6  # of a speed, by the tolerance of the steps that brake it


def thrown(shape: Shape, count: int = 1, arm: bool = False) -> Robot:
    """Bodies with a shape, without weight, before a thin wall at x = 0; arm: with a robot far away from them."""
    builder = ModelBuilder("thrown", gravity=(0.0, 0.0, 0.0))
    builder.add_body("wall", parent="world", joint="fixed")
    builder.add_geometry(Box([WALL, 20.0, 20.0]), body="wall", role="collision")
    for k in range(count):
        builder.add_body(
            f"body{k}", parent="world", joint="free", mass=1.0, inertia=mass_properties(shape, mass=1.0).inertia
        )
        builder.add_geometry(shape, body=f"body{k}", role="collision")
    if arm:
        builder.add_body(
            "arm", parent="world", joint="revolute", axis=(0, 0, 1), mass=1.0, inertia=np.eye(3), xyz=(-50, 0, 0)
        )
        builder.add_geometry(Sphere(0.1), body="arm", xyz=(1, 0, 0), role="collision")
    return builder.build()


def starts(robot: Robot, count: int, speed: float, spin: float, n: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """n states, each with some bodies that fly at the wall in any direction of their axes."""
    rng = np.random.default_rng(0)
    q, v = np.tile(robot.neutral(), (n, 1)), np.zeros((n, robot.nv))
    for k in range(count):
        turns = rng.standard_normal((n, 4))
        turns /= np.linalg.norm(turns, axis=1, keepdims=True)
        q[:, 7 * k : 7 * k + 3] = np.stack([-0.5 - rng.uniform(0.0, 0.3, n), np.full(n, 1.5 * k), np.zeros(n)], axis=1)
        q[:, 7 * k + 3 : 7 * k + 7] = turns
        v[:, 6 * k : 6 * k + 3] = spin * rng.standard_normal((n, 3))
        v[:, 6 * k + 3 : 6 * k + 6] = [so3.from_quaternion(x).astype(float).T @ [speed, 0.0, 0.0] for x in turns]
    return q, v


def beyond_and_passed(robot: Robot, count: int, speed: float, spin: float, **settings) -> tuple[np.ndarray, np.ndarray]:
    """Which motions have a body beyond the wall at the end, and in how many steps of each something may have passed."""
    pairs = [(f"body{k}", "wall") for k in range(count)] + settings.pop("pairs", [])
    q, v = starts(robot, count, speed, spin)
    contact = Contact(pairs=pairs, friction=FRICTION, **settings)
    steps = int(1.2 / (speed * STEP)) + 20
    motion = robot.rollout(q, v, step=STEP, steps=steps, contact=contact, check=False)
    beyond = motion.q[:, : 7 * count].reshape(len(q), count, 7)[..., 0] > 0.5 * WALL
    return beyond.any(axis=1), motion.contacts.passed


@pytest.mark.parametrize("restitution", [0.0, 0.7])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("shape", "speed", "spin"),
    [
        (Box([0.01] * 3), 100.0, 0.0),
        (Box([0.05, 0.05, 0.004]), 10.0, 100.0),
        (Capsule(0.005, 0.05), 10.0, 100.0),
        pytest.param(Box([0.1, 0.01, 0.01]), 3.0, 500.0, marks=pytest.mark.long),
        pytest.param(Cylinder(0.02, 0.01), 10.0, 100.0, marks=pytest.mark.long),
        pytest.param(Ellipsoid([0.03, 0.01, 0.005]), 100.0, 0.0, marks=pytest.mark.long),
    ],
    ids=["cube", "plate", "capsule", "rod", "coin", "ellipsoid"],
)
def test_nothing_passes_a_thin_wall(shape: Shape, speed: float, spin: float, count: int, restitution: float) -> None:
    robot = thrown(shape, count)
    beyond, passed = beyond_and_passed(robot, count, speed, spin, restitution=restitution)
    assert not beyond.any() and np.count_nonzero(passed) <= MOST_SUSPECTED // 5  # of 100


def test_whole_steps_let_cubes_pass_and_count_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tests above show: without divided steps a fifth of the cubes goes through."""
    monkeypatch.setattr(element.RigidContact, "divides", False)
    beyond, passed = beyond_and_passed(thrown(Box([0.02] * 3)), 1, 100.0, 0.0, tolerance=2e-6)
    assert beyond.mean() > 0.1 and np.all(passed[beyond] > 0)


@pytest.mark.parametrize("count", [1, 5], ids=["beside a robot", "many beside a robot"])
def test_nor_beside_robots(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(element, "FEW", -100)  # in slots
    robot = thrown(Box([0.01] * 3), count, arm=True)
    beyond, passed = beyond_and_passed(robot, count, 100.0, 0.0, pairs=[("arm", "wall")])
    assert not beyond.any() and (passed > 0).sum() <= MOST_SUSPECTED


def test_a_run_divides_its_steps_and_keeps_the_count(tmp_path) -> None:
    robot = thrown(Box([0.02] * 3))
    q, v = starts(robot, 1, 100.0, 0.0, n=20)
    contact = Contact(pairs=[("body0", "wall")], friction=FRICTION)
    motion = robot.rollout(q, v, step=STEP, steps=20, contact=contact)
    for k in (0, 10):  # wherever it strikes, the run goes as the rollout does
        run = robot.simulate(q[k], v[k], 20 * STEP, step=STEP, contact=contact)
        assert run.q[:, 0].max() < 0.0 and run.contacts.passed == 0 and run.contacts.turned is None
        assert run.q[-1] == pytest.approx(motion.q[k], abs=ACCUMULATED)
    run.save(tmp_path / "run.npz")
    assert dalembert.load_run(tmp_path / "run.npz").contacts.passed == 0


def test_a_run_names_the_body_and_the_step_that_would_do(tmp_path) -> None:
    """On the ground, which nothing passes through, steps are not divided."""
    robot = thrown(Box([0.02] * 3))
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[2], v[0], v[5] = 0.1, 900.0, -5.0
    contact = Contact(ground=0.0, pairs=[("body0", "ground")], friction=FRICTION)
    run = robot.simulate(q, v, 30 * STEP, step=STEP, contact=contact)
    name, angle = run.contacts.turned
    assert name == "body0" and angle > 1.0 and run.contacts.unsettled > 0 and run.contacts.passed > 0
    assert any("'body0' turns by up to" in line and "Take steps of at most" in line for line in run.log)
    run.save(tmp_path / "run.npz")
    kept = dalembert.load_run(tmp_path / "run.npz").contacts
    assert kept.turned == run.contacts.turned and kept.log == run.contacts.log and kept.passed == run.contacts.passed
    again = robot.simulate(q, v, 30 * STEP, step=0.25 * STEP / angle, contact=contact)
    assert again.contacts.turned is None


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("shape", "height", "spin"),
    [
        (Box([0.01] * 3), 0.5, (900.0, 700.0, 800.0)),  # far away from the ground
        (Sphere(0.01), 0.01, (0.0, 2000.0, 0.0)),  # balls keep their shape
    ],
    ids=["far away", "ball"],
)
def test_what_keeps_its_shape_or_its_distance_is_not_counted(
    shape: Shape, height: float, spin: tuple[float, ...], count: int
) -> None:
    robot = thrown(shape, count).edit().gravity([0.0, 0.0, -9.81]).done()
    q, v = robot.neutral(), np.zeros(robot.nv)
    for k in range(count):
        q[7 * k : 7 * k + 3] = -1.0, 3.0 * k, height
        v[6 * k : 6 * k + 3] = spin
    pairs = [(f"body{k}", "ground") for k in range(count)]
    motion = robot.rollout(q, v, step=STEP, steps=50, contact=Contact(ground=0.0, pairs=pairs, friction=FRICTION))
    assert motion.contacts.unsettled == 0
    if height < 0.1:
        assert motion.q[2] == pytest.approx(height, abs=ACCUMULATED)


def test_a_wheel_may_turn_as_fast_as_it_likes() -> None:
    builder = ModelBuilder("wheel", gravity=(0.0, 0.0, -9.81))
    builder.add_body("fork", parent="world", joint="prismatic", axis=(0, 0, 1), mass=1.0)
    builder.add_body("wheel", parent="fork", joint="continuous", axis=(0, 1, 0), mass=0.1, inertia=np.eye(3) * 1e-5)
    builder.add_geometry(Cylinder(0.01, 0.01), body="wheel", rpy=(np.pi / 2, 0, 0), role="collision")
    contact = Contact(ground=0.0, friction=FRICTION)
    motion = builder.build().rollout([0.01, 0.0], [0.0, 5000.0], step=STEP, steps=100, contact=contact)
    assert motion.contacts.unsettled == 0 and motion.q[0] == pytest.approx(0.01, abs=ACCUMULATED)
    assert motion.v[1] == pytest.approx(5000.0 - FRICTION * 1.1 * 9.81 * 0.01 / 1e-5 * 100 * STEP, rel=SLIDES)
