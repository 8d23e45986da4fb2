"""Bodies in water beside closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, elements
from tolerances import DEFAULT_RUN, SETTLED, TIGHT_RUN

G, WATER, RADIUS, MASS = 9.81, 1000.0, 0.1, 3.0
VOLUME = 4.0 / 3.0 * np.pi * RADIUS**3


def ball(mass=MASS):
    builder = ModelBuilder("ball", gravity=(0, 0, -G))
    up = {"joint": "prismatic", "joint_name": "up", "axis": (0, 0, 1)}
    builder.add_body("ball", parent="world", **up, mass=mass, inertia=0.01 * np.eye(3))
    return builder.build()


def test_a_ball_rises_with_the_water_around_it() -> None:
    """(ρ V − m) g / (m + ½ ρ V): Stokes' added mass of a ball."""
    run = ball().simulate([0.0], [0.0], 1.0, elements=[elements.Buoyancy("ball", VOLUME, added=0.5)])
    rate = (WATER * VOLUME - MASS) * G / (MASS + 0.5 * WATER * VOLUME)
    np.testing.assert_allclose(run.v[:, 0], rate * run.t, atol=TIGHT_RUN)
    assert np.abs(run.energy.residual).max() < DEFAULT_RUN


def test_a_pendulum_swings_slower_under_water() -> None:
    """ω² = (m − ρ V) g l / (I + (m + ½ ρ V) l²) for small swings, and the energy of lift and water is accounted for."""
    builder, length, mass = ModelBuilder("pendulum", gravity=(0, 0, -G)), 0.8, 12.0
    builder.add_body(
        "bob", parent="world", joint="revolute", joint_name="pin", axis=(0, 1, 0), mass=mass, com=(0, 0, -length),
        inertia=0.02 * np.eye(3)
    )  # fmt: skip
    builder.add_frame("middle", body="bob", xyz=(0.0, 0.0, -length + 0.1))
    water = elements.Buoyancy("middle", VOLUME, point=(0.0, 0.0, -0.1), added=0.5)
    w = np.sqrt((mass - WATER * VOLUME) * G * length / (0.02 + (mass + 0.5 * WATER * VOLUME) * length**2))
    start = 1e-3
    run = builder.build().simulate([start], [0.0], 3.0, elements=[water], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(run.q[:, 0], start * np.cos(w * run.t), atol=start * SETTLED)
    assert np.abs(run.energy.residual).max() < TIGHT_RUN


def test_a_float_heaves_about_its_waterline() -> None:
    """A ball of half the density of water floats half out; small heaves at ω² = ρ g π r² / m; thrown, it leaves it."""
    mass, heave, level = 0.5 * WATER * VOLUME, 1e-4, 0.3
    robot, water = ball(mass), elements.Buoyancy("ball", VOLUME, surface=level)
    w = np.sqrt(WATER * G * np.pi * RADIUS**2 / mass)
    run = robot.simulate([level + heave], [0.0], 2.0, elements=[water], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(run.q[:, 0] - level, heave * np.cos(w * run.t), atol=heave * SETTLED)
    deep = robot.simulate([level - 1.0], [0.0], 1.5, elements=[water], rtol=1e-10, atol=1e-13)
    up = (deep.q[:, 0] > level + RADIUS) & (deep.v[:, 0] > 0.0)
    assert up.any() and deep.q[:, 0].max() > level + 0.5
    np.testing.assert_allclose(robot.energy(deep.q, deep.v)[up], robot.energy(deep.q, deep.v)[up][0], rtol=DEFAULT_RUN)
    assert np.abs(deep.energy.residual).max() < 10 * DEFAULT_RUN


def test_a_vehicle_of_the_density_of_water_stays_upright() -> None:
    """A free body hangs under its centre of buoyancy: it rolls as a pendulum of length BG."""
    builder, mass, height = ModelBuilder("vehicle", gravity=(0, 0, -G)), WATER * VOLUME, 0.02
    builder.add_body("hull", parent="world", joint="free", mass=mass, inertia=np.diag([0.05, 0.06, 0.07]))
    robot = builder.build()
    q, v = robot.neutral(), np.zeros(6)
    v[0] = 1e-3
    water = elements.Buoyancy("hull", VOLUME, point=(0.0, 0.0, height))
    run = robot.simulate(q, v, 2.0, elements=[water], rtol=1e-10, atol=1e-13)
    w = np.sqrt(mass * G * height / 0.05)
    np.testing.assert_allclose(run.v[:, 0], 1e-3 * np.cos(w * run.t), atol=1e-3 * SETTLED)
    np.testing.assert_allclose(run.q[:, :3], 0.0, atol=TIGHT_RUN)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"volume": 0.0}, "volume is 0.0, expected a number above 0"),
        ({"volume": 1.0, "added": 0.5, "surface": 0.0}, "leave one of them out"),
    ],
)
def test_numbers_are_checked(numbers, message) -> None:
    with pytest.raises(DalembertError, match=message):
        ball().simulate([0.0], [0.0], 0.1, elements=[elements.Buoyancy("ball", **numbers)])
    weightless = ModelBuilder("ball", gravity=(0, 0, 0))
    weightless.add_body("ball", parent="world", joint="prismatic", mass=1.0)
    with pytest.raises(DalembertError, match="has no gravity"):
        weightless.build().simulate([0.0], [0.0], 0.1, elements=[elements.Buoyancy("ball", 1.0)])
