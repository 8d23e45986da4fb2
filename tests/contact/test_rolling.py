"""Bodies that roll without slipping: nothing takes energy from them, and nothing may add any."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from dalembert import Contact, ModelBuilder, Robot
from dalembert.model.geometry import Cylinder
from loose_bodies import G
from tolerances import ITERATED, REORDERED, assert_close

RADIUS, HALF, MASS = 0.02, 0.001, 0.01
ACROSS, ALONG = MASS * (RADIUS**2 / 4 + HALF**2 / 3), MASS * RADIUS**2 / 2  # moments of inertia
ROUGH = Contact(friction=2.0)
CIRCLE = 2e-4  # of radius, height and energy: what steps of 1 ms lose in 1.5 s, to second order
LOST = 0.02  # of the energy: the same, of a coin that goes round five times as fast
FRICTION_WORK = 1e-4  # of the energy: what friction at rest may do in one step


@cache
def coin(count: int = 1) -> Robot:
    """A flat cylinder whose axis is z, or some of them."""
    builder = ModelBuilder("coin", gravity=(0.0, 0.0, -G))
    for name in (f"coin {k}" for k in range(count)):
        builder.add_body(name, parent="world", joint="free", mass=MASS, inertia=np.diag([ACROSS, ACROSS, ALONG]))
        builder.add_geometry(Cylinder(RADIUS, 2 * HALF), body=name, role="collision")
    return builder.build()


class OnItsRim(NamedTuple):
    """A coin whose axis leans by `lean` [rad] towards −y, turning with w (3,), in its axes, on its lowest point."""

    lean: float
    w: tuple[float, float, float]

    @property
    def height(self) -> float:
        return RADIUS * np.sin(self.lean) + HALF * np.cos(self.lean)

    @property
    def q(self) -> np.ndarray:
        return np.array([0.0, 0.0, self.height, np.cos(self.lean / 2), np.sin(self.lean / 2), 0.0, 0.0])

    @property
    def v(self) -> np.ndarray:
        return np.concatenate([self.w, np.cross(self.w, [0.0, RADIUS, HALF])])


def circling(lean: float, precession: float) -> tuple[OnItsRim, float]:
    """The steady motion in a circle, and its radius [m].

    In axes e1 level, e2 up along the face, e3 the axis of the coin, the vertical is k = sin(lean) e2 + cos(lean) e3 and
    the lowest point r = −R e2 − c e3. Rolling, the centre moves with s e1, s = c Ω sin(lean) − R ω₃. About it,
    Ω k × L = m r × (Ω k × s e1 + g k) along e1, which is linear in the spin ω₃.
    """
    sine, cosine = np.sin(lean), np.cos(lean)

    def imbalance(spin: float) -> float:
        s = HALF * precession * sine - RADIUS * spin
        lever = RADIUS * (G * cosine - s * precession * sine) - HALF * (s * precession * cosine + G * sine)
        return (ALONG * spin - ACROSS * precession * cosine) * precession * sine + MASS * lever

    spin = -imbalance(0.0) / (imbalance(1.0) - imbalance(0.0))
    speed = HALF * precession * sine - RADIUS * spin
    return OnItsRim(lean, (0.0, precession * sine, spin)), abs(speed / precession)


def test_a_coin_rolls_in_a_circle() -> None:
    start, radius = circling(lean=1.2, precession=4.0)
    for step, error in ((2e-3, 4 * CIRCLE), (1e-3, CIRCLE)):
        run = coin().simulate(start.q, start.v, 1.5, step=step, record=step, contact=ROUGH)
        centre = np.array([0.0, np.sign(run.q[5, 1]) * radius])
        np.testing.assert_allclose(np.linalg.norm(run.q[:, :2] - centre, axis=1), radius, rtol=error)
        np.testing.assert_allclose(run.q[:, 2], start.height, rtol=error)
        total = run.energy.total / run.energy.total[0] - 1.0
        assert total.max() <= ITERATED and total.min() > -error


def test_a_coin_rolls_as_if_another_were_not_there() -> None:
    """Whatever one contact needs to know of others is of those on the same bodies."""
    start, _ = circling(lean=1.2, precession=4.0)
    alone = coin().rollout(start.q, start.v, step=1e-3, steps=200, contact=ROUGH)
    both = coin(2).rollout(np.tile(start.q, 2), np.tile(start.v, 2), step=1e-3, steps=200, contact=ROUGH)
    assert_close(both.q, np.tile(alone.q, 2), ITERATED)


@pytest.mark.parametrize("step", [5e-4, 1e-3, 2e-3])
def test_a_coin_that_rolls_round_on_its_rim_gains_no_energy(step: float) -> None:
    start = OnItsRim(0.7, (0.0, 20.0, 0.0))
    run = coin().simulate(start.q, start.v, 1.0, step=step, record=step, contact=ROUGH)
    total = run.energy.total / run.energy.total[0] - 1.0
    assert run.contacts.ratio.max() < 0.9  # it never slips
    assert total.max() <= ITERATED
    assert total.min() > -LOST * (step / 1e-3) ** 2
    assert np.diff(run.energy.heat["contact friction"][1:]).min() > -FRICTION_WORK * run.energy.total[0]


def test_steps_that_remember_are_those_of_a_rollout() -> None:
    start, _ = circling(lean=1.2, precession=4.0)
    step, q, v = coin().stepper(1e-3, contact=ROUGH), start.q, start.v
    z = step.start(q, v)
    for _ in range(200):
        q, v, z = step(q, v, np.zeros(6), z)
    end = coin().rollout(start.q, start.v, step=1e-3, steps=200, contact=ROUGH)
    assert_close(np.concatenate([q, v]), np.concatenate([end.q, end.v]), REORDERED)
    controlled, (q, v) = coin().stepper(1e-3, torque=lambda t, q, v: np.zeros(6), contact=ROUGH), (start.q, start.v)
    memory = controlled.start(q, v)
    for _ in range(200):
        q, v, memory = controlled(q, v, memory)
    assert_close(q, end.q, REORDERED)
