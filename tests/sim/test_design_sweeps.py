"""Placements of joints, sizes and placements of shapes as live parameters of rollouts, beside robots rebuilt."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, Robot, load
from dalembert.quantities.live import GROUPS
from dalembert.shapes import Capsule, Ellipsoid, Sphere
from tolerances import ACCUMULATED

STANCE = np.tile([0.0, 0.8, -1.6], 4)


@pytest.fixture(scope="module")
def dog():
    return load("quadruped")


def designs(robot, count):
    """Joints of legs moved by centimetres and turned by a tenth of a radian."""
    rng, x = np.random.default_rng(0), np.zeros((count, len(robot.model.bodies), 6))
    legs = [body.index for body in robot.model.bodies if body.parent >= 0 and body.joint.nv == 1]
    x[:, legs, :3] = rng.uniform(-0.03, 0.03, (count, len(legs), 3))
    x[:, legs, 3:] = rng.uniform(-0.1, 0.1, (count, len(legs), 3))
    return x.reshape(count, -1)


def test_a_design_moves_as_the_robot_rebuilt(dog):
    """One of three that share a batch, on rigid ground, with feet where the design puts them."""
    q, v, x, contact = dog.neutral(), np.zeros(dog.nv), designs(dog, 3), Contact(ground=0.0)
    q[2], q[7:] = 0.36, STANCE
    options = {"step": 2e-3, "steps": 100, "every": 50, "contact": contact}
    swept = dog.rollout(q, v, parameters={"placement": x}, **options)
    rebuilt = Robot(GROUPS["placement"].put(dog.model, x[1])).rollout(q, v, **options)
    np.testing.assert_allclose(swept.q[1], rebuilt.q, atol=ACCUMULATED)
    np.testing.assert_allclose(swept.v[1], rebuilt.v, atol=10 * ACCUMULATED)
    assert np.abs(swept.q[0] - swept.q[1]).max() > 0.05


def test_the_displacement_of_an_elbow_is_a_longer_link():
    """Beside a model that was edited: set_placement of the same joint."""
    arm = load("2r")
    elbow = (
        arm.model.joint("joint2") if any(b.joint.name == "joint2" for b in arm.model.bodies) else arm.model.bodies[-1]
    )
    x = np.zeros((len(arm.model.bodies), 6))
    x[elbow.index, 0] = 0.1
    place = (elbow.placement.p + elbow.placement.R @ [0.1, 0.0, 0.0]).tolist()
    longer = arm.edit().set_placement(elbow.name, xyz=place).done()
    q, v = np.array([0.3, 0.4]), np.array([1.0, -0.5])
    swept = arm.rollout(q, v, steps=200, parameters={"placement": x.ravel()})
    np.testing.assert_allclose(swept.q, longer.rollout(q, v, steps=200).q, atol=ACCUMULATED)
    assert np.abs(swept.q - arm.rollout(q, v, steps=200).q).max() > 0.001


@pytest.fixture(scope="module")
def dumbbell():
    builder = ModelBuilder("dumbbell")
    builder.add_body("bar", parent="world", joint="free", mass=2.0, inertia=np.diag([0.02, 0.02, 0.01]))
    shapes = {"rod": (Capsule(0.02, 0.3), (0.0, 0.0, 0.0)), "ball": (Sphere(0.06), (0.0, 0.0, 0.15))}
    for name, (shape, xyz) in (shapes | {"egg": (Ellipsoid((0.06, 0.05, 0.04)), (0.0, 0.0, -0.15))}).items():
        builder.add_geometry(shape, body="bar", xyz=xyz, role="collision", name=name)
    return builder.build()


TOSSED = np.array([0.0, 0.0, 0.25, np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0]), np.array([0.5, 1.0, 3.0, 1.0, 0.0, -1.0])


@pytest.mark.parametrize(
    "contact",
    [Contact(ground=0.0), Contact(ground=0.0, model="compliant", stiffness=2e4), Contact(ground=0.0, model="mujoco")],
    ids=lambda contact: contact.model,
)
def test_shapes_of_other_sizes_and_places_touch_as_rebuilt(dumbbell, contact):
    rng, options = np.random.default_rng(0), {"step": 1e-3, "steps": 400, "contact": contact}
    size, moved = dumbbell.live_values("shape_size"), dumbbell.live_values("shape_placement")
    size = np.array([size, size * rng.uniform(0.7, 1.4, size.shape)])
    moved = np.array([moved, rng.uniform(-0.02, 0.02, moved.shape)])
    swept = dumbbell.rollout(*TOSSED, parameters={"shape_size": size, "shape_placement": moved}, **options)
    rebuilt = GROUPS["shape_placement"].put(GROUPS["shape_size"].put(dumbbell.model, size[1]), moved[1])
    for q, robot in zip(swept.q, (dumbbell, Robot(rebuilt)), strict=True):
        np.testing.assert_allclose(q, robot.rollout(*TOSSED, **options).q, atol=ACCUMULATED)
    assert np.abs(swept.q[0] - swept.q[1]).max() > 0.01


def test_sizes_that_bounds_do_not_cover_are_refused(dumbbell):
    size, options = dumbbell.live_values("shape_size"), {"steps": 2, "contact": Contact(ground=0.0)}
    for factor in (2.5, 0.3, np.nan):
        with pytest.raises(
            DalembertError, match=r"a size of 'rod' is not between half and twice that of the file, 0.02 m"
        ):
            dumbbell.rollout(*TOSSED, parameters={"shape_size": factor * size}, **options)
    with pytest.raises(DalembertError, match=r"the displacement of 'rod' is above 0\.08\d+ m"):
        dumbbell.rollout(*TOSSED, parameters={"shape_placement": np.full(18, 0.1)}, **options)
