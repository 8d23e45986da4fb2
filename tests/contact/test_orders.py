"""Orders of convergence of impacts on every path of a step, and momentum of free pairs.

The energy error of a bounce with joints falls by 4 when the step is halved: forces of inertia are others after an
impact. Means over many starts, since within a step the instant of the impact decides how large the error is.
`tests/golden/test_contact.py` shows that runs, rollouts alone and in lanes, and steppers end at the same numbers, so
one way of running is measured here, and float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot
from dalembert.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from loose_bodies import G
from tolerances import ACCUMULATED, COMPUTED

STARTS = 32
SECOND_ORDER = (3.7, 4.3)  # ratio of the errors of two steps, one twice the other
STEPS = (2e-3, 1e-3, 5e-4)  # [s]
STEPS_SINGLE = (1.6e-2, 8e-3)  # [s]: coarse enough for their errors to exceed rounding of float32
RAISED = 2.0  # [rad/s]: the arm moves up faster than this after the bounce


def arm(balls: int = 0, shapes: int = 0, blocks: int = 0) -> Robot:
    """Two links that fall onto a ball at their tip, and what chooses the path of a step.

    balls: loose bodies far away; shapes: boxes on the links that touch nothing; blocks: fixed boxes far away.
    """
    builder = ModelBuilder("arm", gravity=(0.0, 0.0, -G))
    link: dict[str, Any] = {"joint": "revolute", "axis": (0, 1, 0), "mass": 1.0, "inertia": 0.01 * np.eye(3)}
    builder.add_body("upper", parent="world", xyz=(0, 0, 0.5), com=(0.2, 0, 0), **link)
    builder.add_body("lower", parent="upper", xyz=(0.4, 0, 0), com=(0.15, 0, 0), **link)
    builder.add_geometry(Sphere(0.05), body="lower", xyz=(0.3, 0, 0), role="collision")
    for k in range(shapes):
        builder.add_geometry(Box([0.02] * 3), body="lower", xyz=(0.02 * k, 0, 0.05), role="collision")
    for k in range(blocks):
        builder.add_body(f"block{k}", parent="world", joint="fixed", mass=1.0)
        builder.add_geometry(Box([0.1] * 3), body=f"block{k}", xyz=(10.0 + k, 0, 0), role="collision")
    for k in range(balls):
        builder.add_body(f"ball{k}", parent="world", joint="free", mass=1.0, inertia=1e-3 * np.eye(3))
        builder.add_geometry(Sphere(0.05), body=f"ball{k}", role="collision")
    return builder.build()


def energy_errors(robot: Robot, steps: tuple[float, ...], pairs: str, dtype: type = float) -> np.ndarray:
    """The mean error [J] of the energy after a bounce, for each step [s]."""
    rng, q = np.random.default_rng(0), np.tile(robot.neutral(), (STARTS, 1))
    place = {body.name: body.q.start for body in robot.model.bodies if body.joint.nv}
    q[:, place["upper"]] = rng.uniform(-0.3, 0.1, STARTS)
    q[:, place["lower"]] = rng.uniform(0.0, 0.3, STARTS)
    for k, name in enumerate(name for name in place if name.startswith("ball")):
        q[:, place[name] : place[name] + 3] = 10.0 + k, 0.0, 50.0
    v, errors = np.zeros((STARTS, robot.nv)), []
    contact = Contact(ground=0.0, friction=0.0, restitution=1.0, pairs=pairs)
    for step in steps:
        count = round(0.32 / step)
        end = robot.rollout(q.astype(dtype), v.astype(dtype), step=step, steps=count, contact=contact)
        assert np.abs(end.v[:, -2:]).max(axis=1).min() > RAISED
        errors.append(np.abs(robot.energy(end.q.astype(float), end.v.astype(float)) - robot.energy(q, v)).mean())
    return np.array(errors)


PATHS = {
    "each": lambda: (arm(), "ground"),
    "slots": lambda: (arm(shapes=8), "ground"),
    "paired": lambda: (arm(shapes=4, blocks=4), "all"),
    "1 bystander": lambda: (arm(balls=1), "all"),
    "4 bystanders": lambda: (arm(balls=4), "all"),
}


@pytest.mark.parametrize(
    "path",
    [
        "each",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("slots", "paired", "1 bystander", "4 bystanders")),
    ],
)
def test_the_energy_error_of_a_bounce_with_joints_is_of_second_order(path: str) -> None:
    robot, pairs = PATHS[path]()
    errors = energy_errors(robot, STEPS, pairs)
    ratios = errors[:-1] / errors[1:]
    assert np.all((SECOND_ORDER[0] < ratios) & (ratios < SECOND_ORDER[1]))


def test_the_energy_error_of_a_bounce_in_float32_is_of_second_order() -> None:
    coarse, fine = energy_errors(arm(), STEPS_SINGLE, "ground", np.float32)
    assert SECOND_ORDER[0] < coarse / fine < SECOND_ORDER[1]


SHAPES: dict[str, Shape] = {
    "ball": Sphere(0.1),
    "ellipsoid": Ellipsoid([0.1, 0.12, 0.08]),
    "box": Box([0.2, 0.24, 0.16]),
    "capsule": Capsule(0.08, 0.15),
    "cylinder": Cylinder(0.1, 0.2),
}


def changes_of_momentum(first: str, second: str, bystanders: int, step: float) -> tuple[np.ndarray, np.ndarray]:
    """By how much momentum (6,) changes at most when two free bodies meet, per its size, and gains of energy [J]."""
    builder = ModelBuilder("pair", gravity=(0.0, 0.0, 0.0))
    shapes = [SHAPES[first], SHAPES[second], *[SHAPES["ball"]] * bystanders]
    for k, shape in enumerate(shapes):
        builder.add_body(f"body{k}", parent="world", joint="free", mass=1.0, inertia=np.diag([0.003, 0.004, 0.005]))
        builder.add_geometry(shape, body=f"body{k}", role="collision")
    robot, rng = builder.build(), np.random.default_rng(0)
    q, v = np.zeros((STARTS, robot.nq)), np.zeros((STARTS, robot.nv))
    for k in range(len(shapes)):
        q[:, 7 * k + 3 : 7 * k + 7], v[:, 6 * k : 6 * k + 3] = (
            rng.normal(size=(STARTS, 4)),
            rng.normal(size=(STARTS, 3)),
        )
        q[:, 7 * k] = 0.5 * k if k < 2 else 10.0 * k
    q[:, 8:10] = rng.uniform(-0.07, 0.07, (STARTS, 2))
    q = robot.normalize(q)
    axes = robot.pose(q, "body0")[..., :3, :3]
    v[:, 3:6] = 2.0 * axes[:, 0, :]  # along x of the world
    contact = Contact(ground=None, friction=0.0, restitution=1.0, pairs="all")
    end = robot.rollout(q, v, step=step, steps=round(0.32 / step), contact=contact)
    assert np.linalg.norm(end.v[:, 3:6] - v[:, 3:6], axis=1).min() > 0.1  # all have met
    before, after = (robot.centroidal_momentum(*x) for x in ((q, v), (end.q, end.v)))
    size = np.repeat([np.abs(before[:, :3]).max(), np.abs(before[:, 3:]).max()], 3)
    return np.abs(after - before).max(axis=0) / size, robot.energy(end.q, end.v) - robot.energy(q, v)


@pytest.mark.parametrize(
    ("first", "second", "bystanders"),
    [
        ("ball", "ball", 0),
        pytest.param("box", "box", 0, marks=pytest.mark.long),
        pytest.param("box", "ball", 0, marks=pytest.mark.long),
        pytest.param("box", "ellipsoid", 0, marks=pytest.mark.long),
        pytest.param("ellipsoid", "ellipsoid", 0, marks=pytest.mark.long),
        pytest.param("ball", "ball", 2, marks=pytest.mark.long),
        pytest.param("box", "box", 2, marks=pytest.mark.long),
    ],
)
def test_momentum_of_a_free_pair_is_kept(first: str, second: str, bystanders: int) -> None:
    change, energy = changes_of_momentum(first, second, bystanders, 1e-3)
    assert change[3:].max() < COMPUTED
    assert energy.max() < COMPUTED
    assert change[:3].max() < 10 * ACCUMULATED  # about an origin that bystanders far away share
