"""Bodies whose motion is prescribed: by a joint, free, and below something that they carry by friction."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert
from dalembert import Contact, DalembertError, ModelBuilder, Robot, elements, math
from dalembert.shapes import Box
from tolerances import COMPUTED, INTEGRATED

SLIPPED = 2e-3  # [m]: friction that is smooth at low speed


def carriage(joint: str) -> Robot:
    """A body on a joint, with a pendulum below it."""
    builder = ModelBuilder("carriage")
    builder.add_body("base", parent="world")
    axis = {"axis": (0, 0, 1)} if joint == "prismatic" else {}
    builder.add_body(
        "body", parent="base", joint=joint, mass=2.0, inertia=np.diag([0.1, 0.2, 0.3]), joint_name="lift", **axis
    )
    rod = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": np.diag([0.01, 0.1, 0.1])}
    builder.add_body("rod", parent="body", joint="revolute", axis=(0, 1, 0), joint_name="hinge", **rod)
    return Robot(builder.model())


def lifted(t):
    return 0.1 * math.sin(3.0 * t) + 0.2 * t


def test_a_joint_follows_its_motion_and_its_multiplier_works() -> None:
    robot = carriage("prismatic")
    lift = elements.Prescribed("body", lifted)
    run = robot.simulate(np.zeros(2), np.zeros(2), 2.0, elements=[lift])
    assert np.abs(run.q[:, 0] - lifted(run.t)).max() < INTEGRATED
    assert np.abs(run.v[:, 0] - 0.3 * np.cos(3.0 * run.t) - 0.2).max() < 10 * INTEGRATED
    assert run.audit().verdict == "good" and abs(run.energy.work["Prescribed(body)"][-1]) > 1.0
    reduced = carriage("prismatic")  # the pendulum alone, in the field of its accelerated pivot
    hinge = reduced.simulate(run.q[0], run.v[0], 2.0, lambda t, q, v: [reduced_force(reduced, t, q, v), 0.0])
    assert np.abs(hinge.q - run.q).max() < 100 * INTEGRATED
    steps = robot.rollout(np.zeros(2), np.array([0.5, 0.0]), step=1e-3, steps=2000, elements=[lift])
    np.testing.assert_allclose(steps.q[0], lifted(2.0), atol=COMPUTED)


def reduced_force(robot: Robot, t, q, v):
    """What a motor at the joint must give for the same motion, by the rows of M a + h = tau."""
    M, h = robot.mass_matrix(q), robot.inverse_dynamics(q, v, np.zeros(2))
    up = -0.9 * math.sin(3.0 * t)
    turn = (-h[1] - M[1, 0] * up) / M[1, 1]
    return M[0, 0] * up + M[0, 1] * turn + h[0]


def course(t):
    return [0.3 * math.cos(2 * t), 0.3 * math.sin(2 * t), 0.1 * t, math.cos(t), 0.0, 0.0, math.sin(t)]


@pytest.mark.parametrize("integrator", ["rk4", "semi-implicit", "implicit-velocity"])
def test_a_free_body_follows_place_and_rotation(integrator: str) -> None:
    robot = carriage("free")
    q = robot.neutral()
    options = {"elements": [elements.Prescribed("body", course)], "integrator": integrator, "step": 2e-3}
    run = robot.simulate(q, np.zeros(robot.nv), 1.0, **options)
    expected = np.array([[float(x) for x in course(t)] for t in run.t])
    np.testing.assert_allclose(run.q[:, :7], expected, atol=COMPUTED)
    level = elements.Prescribed("body", lambda t: [t, 0.0, 0.0])
    run = robot.simulate(q, np.zeros(robot.nv), 0.1, **options | {"elements": [level]})
    np.testing.assert_allclose(run.q[-1, :7], [0.1, 0, 0, 1, 0, 0, 0], atol=COMPUTED)


@pytest.mark.parametrize("model", ["compliant", pytest.param("rigid", marks=pytest.mark.long)])
def test_a_plate_carries_a_box_by_friction(model: str) -> None:
    builder = ModelBuilder("conveyor")
    builder.add_body("base", parent="world")
    one = {"mass": 1.0, "inertia": 0.01 * np.eye(3)}
    builder.add_body("plate", parent="base", joint="prismatic", axis=(1, 0, 0), joint_name="belt", **one)
    builder.add_body("box", parent="world", joint="free", joint_name="box", **one)
    builder.add_geometry(Box((1.0, 1.0, 0.1)), body="plate", role="collision", name="plate")
    builder.add_geometry(Box((0.2, 0.2, 0.2)), body="box", role="collision", name="box")
    robot = Robot(builder.model())
    q, place = robot.neutral(), robot.model.joint("box").q.start
    q[place + 2] = 0.15
    belt = elements.Prescribed("plate", lambda t: 0.05 * (1.0 - math.cos(2.0 * t)))
    contact = Contact(pairs=[("plate", "box")], friction=0.9, model=model)
    run = robot.simulate(q, np.zeros(robot.nv), 1.0, elements=[belt], contact=contact, step=1e-3)
    moved = 0.05 * (1.0 - np.cos(2.0 * run.t[-1]))
    assert abs(run.q[-1, 0] - moved) < INTEGRATED and abs(run.q[-1, place] - moved) < SLIPPED


def test_motions_that_cannot_be_are_refused() -> None:
    robot = carriage("free")
    start = robot.neutral(), np.zeros(robot.nv)
    with pytest.raises(DalembertError, match="returned 2 numbers, expected 3 numbers, or 7"):
        robot.simulate(*start, 0.1, elements=[elements.Prescribed("body", lambda t: [t, 0.0])])
    with pytest.raises(DalembertError, match="did you mean 'body'"):
        robot.simulate(*start, 0.1, elements=[elements.Prescribed("bodies", course)])
    fixed = dalembert.load("2r")
    held = elements.Prescribed(fixed.model.bodies[0].name, lifted)
    with pytest.raises(DalembertError, match="has 0 freedoms of its own"):
        fixed.simulate(np.zeros(2), np.zeros(2), 0.1, elements=[held])
