"""Constraints defined outside the package, with public names only: simulated, stepped, edited, and seen edited."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import dalembert as da
from dalembert import elements
from tolerances import CONVERGED, INTEGRATED, ITERATED, MILLISECOND_STEPS, ROUNDING

ARM = da.load("2r").without("friction", "damping")
TIP = ARM.frames[-1].name
START = np.array([-0.4, 0.3])


def height(q: np.ndarray) -> float:
    """Of the tip [m]."""
    return ARM.pose(q, TIP)[2, 3]


@dataclass(frozen=True)
class Floor(elements.Element):
    """The tip of the arm stays above a level [m], and bounces off it."""

    loses = True
    level: float
    restitution: float = 0.0

    def constraints(self, model):
        def rows(s):
            z = ARM.pose(s.q, TIP)[2:3, 3]
            J = ARM.jacobian(s.q, TIP)[5:6]
            bias = ARM.acceleration(s.q, s.v, 0.0 * s.v, TIP)[5:6]
            return elements.Rows(z, J, bias, np.zeros(1))

        kept = elements.Range(self.level, np.inf)
        return (elements.Constraint("floor", 1, rows, kept, elements.Impact(self.restitution)),)

    def act(self, s):
        return elements.Action()


def test_the_tip_lands_on_the_floor_in_runs_and_in_steps() -> None:
    level = float(height(START)) - 0.15
    exact = ARM.simulate(START, np.zeros(2), 1.0, elements=[Floor(level)], record=0.01)
    assert [event.name for event in exact.events][:1] == ["floor"]
    heights = np.array([height(q) for q in exact.q])
    assert heights.min() > level - ITERATED and heights[-1] < level + INTEGRATED
    assert min(height(q) for q in ARM.simulate(START, np.zeros(2), 1.0).q) < level - 0.1  # without a floor
    errors = []
    for steps in (1000, 4000):
        run = ARM.rollout(START, np.zeros(2), step=1.0 / steps, steps=steps, elements=[Floor(level)], every=steps // 20)
        below = level - np.array([height(q) for q in run.q]).min()
        assert below < 3.0 / steps**2  # one step of bending of the path
        errors.append(np.abs(run.q[-1] - exact.q[-1]).max())
    assert errors[1] < 0.5 * errors[0] and errors[1] < 5 * MILLISECOND_STEPS
    stepper, state = ARM.stepper(1e-3, elements=[Floor(level)]), (START, np.zeros(2))
    for _ in range(1000):
        state = stepper(*state)
    ends = ARM.rollout(START, np.zeros(2), step=1e-3, steps=1000, elements=[Floor(level)])
    np.testing.assert_allclose(state[0], ends.q, atol=CONVERGED)


def pushed_to(wall: float, way: float = 1.0):
    """An element whose code is edited: a puck may not pass a wall at way · wall."""

    class Wall(elements.Element):
        def constraints(self, model):
            def rows(s):
                return elements.joint_rows(model.nv, 0, way * s.q[0])

            return (elements.Constraint("wall", 1, rows, elements.Range(-np.inf, wall)),)

        def act(self, s):
            return elements.Action()

    return Wall()


def test_an_edit_is_seen() -> None:
    builder = da.ModelBuilder("puck", gravity=(0.0, 0.0, 0.0))
    builder.add_body("puck", parent="world", joint="prismatic", joint_name="x", mass=1.0, inertia=np.eye(3))
    robot = builder.build()
    for wall in (0.5, 0.25, 0.75):
        for end in (
            robot.rollout([0.0], [1.0], step=1e-3, steps=2000, elements=[pushed_to(wall)]).q[0],
            robot.simulate([0.0], [1.0], 2.0, elements=[pushed_to(wall)], record=None).q[-1, 0],
        ):
            assert end == pytest.approx(wall, abs=ITERATED)
    assert robot.rollout([0.0], [1.0], step=1e-3, steps=900, elements=[pushed_to(0.5, -1.0)]).q[0] == pytest.approx(0.9)


@dataclass(frozen=True)
class OneWay:
    """A set of one's own, for steps: the row may move one way only, as a ratchet does."""

    switches, lower, upper, static = True, -np.inf, np.inf, 0.0

    def law(self, h, coordinate, rate, bias, free, impact):
        return elements.Law(low=0.0)


@dataclass(frozen=True)
class Ratchet(elements.Element):
    joint: str

    def constraints(self, model):
        freedom = model.joint(self.joint).v.start
        return (elements.Constraint("ratchet", 1, lambda s: elements.joint_rows(model.nv, freedom), OneWay()),)

    def act(self, s):
        return elements.Action()


def test_a_set_of_ones_own() -> None:
    builder = da.ModelBuilder("drum", gravity=(0.0, 0.0, 0.0))
    builder.add_body("drum", parent="world", joint="continuous", joint_name="turn", mass=1.0, inertia=np.eye(3))
    robot, torque = builder.build(), np.repeat([1.0, -1.0], 500)[:, None]
    free = robot.rollout([0.0], [0.0], torque, step=1e-3, steps=1000)
    assert free.v[0] == pytest.approx(0.0, abs=ITERATED)
    run = robot.rollout([0.0], [0.0], np.roll(torque, 700), step=1e-3, steps=1000, elements=[Ratchet("turn")], every=1)
    assert np.all(np.diff(run.q[:, 0]) >= -ROUNDING) and run.v[:, 0].min() > -ROUNDING
    assert run.q[-1, 0] > 0.01
