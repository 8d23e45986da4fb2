"""Closed loops in motion: four-bar linkages against one coordinate, redundant and impossible closures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dalembert import DalembertError, ModelBuilder, SimulationError, elements, load
from dalembert.dynamics import algorithms
from linkages import LINK, at, crossed, four_bar
from tolerances import COMPUTED, CONVERGED, INTEGRATED, ITERATED, MILLISECOND_STEPS, TIGHT_RUN

TIGHT = {"integrator": "rk8", "rtol": 1e-11, "atol": 1e-13}
START, DURATION = 1.6, 1.5  # of the four-bar's crank [rad], from rest [s]


def test_the_equilibrium_of_drakes_four_bar() -> None:
    q = np.deg2rad([75.52248781407008, 104.47751218592992, 104.47751218592992])
    run = four_bar().simulate(q, np.zeros(3), 5.0, **TIGHT)
    np.testing.assert_allclose(run.q, np.tile(q, (len(run.t), 1)), atol=TIGHT_RUN)
    assert not run.log


@pytest.fixture(scope="module")
def reduced() -> np.ndarray:
    """Angle and speed of the crank after DURATION from rest at START, by an equation of one coordinate.

    With q = f(s), s the crank's angle: m(s) s̈ + ½ m'(s) ṡ² + u'(s) = 0, m = f'ᵀ M f', u the potential energy.
    """
    robot = four_bar()
    tree = robot.without("loops")

    def slope(s: float) -> np.ndarray:
        J = algorithms.constraints(robot.model, crossed(s), np.zeros(3)).J
        moving = np.linalg.svd(J)[2][-1]
        return moving / moving[0]

    def energy_slope(s: float) -> float:
        return tree.gravity(crossed(s)) @ slope(s)

    def inertia(s: float) -> float:
        return slope(s) @ tree.mass_matrix(crossed(s)) @ slope(s)

    def rate(t, y):
        h = 1e-4
        dm = (inertia(y[0] + h) - inertia(y[0] - h)) / (2 * h) * 4 / 3 - (
            inertia(y[0] + 2 * h) - inertia(y[0] - 2 * h)
        ) / (12 * h)
        return [y[1], -(0.5 * dm * y[1] ** 2 + energy_slope(y[0])) / inertia(y[0])]

    return solve_ivp(rate, (0.0, DURATION), [START, 0.0], method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]


@pytest.mark.parametrize(
    ("settings", "near", "adds_up"),
    [
        (TIGHT, 1e-8, 1e-8),
        ({"integrator": "implicit-midpoint", "step": 1e-3}, 3e-6, 1e-6),
        ({"integrator": "variational", "step": 1e-3}, 3e-6, 1e-6),
        ({"integrator": "implicit-velocity", "step": 1e-4}, 1e-3, 1e-3),
    ],
)
def test_the_motion_of_a_four_bar_is_that_of_one_coordinate(
    reduced: np.ndarray, settings: dict, near: float, adds_up: float
) -> None:
    robot = four_bar()
    run = robot.simulate(crossed(START), np.zeros(3), DURATION, **settings)
    assert run.q[-1, 0] == pytest.approx(reduced[0], abs=near)
    assert run.v[-1, 0] == pytest.approx(reduced[1], abs=near)
    assert abs(run.q[-1, 0] - START) > 0.1
    there = [algorithms.constraints(robot.model, q, v) for q, v in zip(run.q, run.v, strict=True)]
    assert max(np.abs(x.residual).max() for x in there) < ITERATED
    assert np.abs(run.energy.residual).max() < adds_up * run.energy.scale
    forces = robot.loop_dynamics(run.q[-1], run.v[-1], np.zeros(3)).multipliers
    np.testing.assert_allclose(run.multipliers[-1], forces, atol=MILLISECOND_STEPS)


def test_redundant_closures_are_tolerated() -> None:
    """A planar linkage closed by a hinge (five equations, two of them needed), a weld of what follows, or a point."""
    q = np.deg2rad([60.0, 110.0, 80.0])
    ends = [four_bar(kind).simulate(q, np.zeros(3), 0.5, **TIGHT) for kind in ("revolute", "point")]
    np.testing.assert_allclose(ends[0].q, ends[1].q, atol=ITERATED)
    assert ends[0].multipliers.shape[1] == 5 and ends[1].multipliers.shape[1] == 3
    assert any("q was moved" in line for line in ends[0].log)


def test_a_loop_that_cannot_close_is_an_error() -> None:
    builder = ModelBuilder("short", gravity=(0.0, 0.0, -9.8))
    builder.add_body("arm", parent="world", joint="revolute", axis=(0, 1, 0), **LINK)
    builder.add_closure("rope", "distance", a="world", b="arm", placement_a=at(10.0), placement_b=at(4.0), length=1.0)
    with pytest.raises(SimulationError, match=r"no configuration near q closes the loop 'rope'.*are missing"):
        builder.build().simulate([0.1], [0.0], 1.0)


def test_a_rod_makes_a_pendulum_of_a_free_body() -> None:
    builder = ModelBuilder("rod", gravity=(0.0, 0.0, -9.81))
    builder.add_body("bob", parent="world", joint="free", mass=2.0, inertia=0.01 * np.eye(3))
    builder.add_closure("rod", "distance", a="world", b="bob", length=1.5)
    robot = builder.build()
    q = robot.neutral()
    q[:3] = [1.5 * np.sin(0.5), 0.0, -1.5 * np.cos(0.5)]
    run = robot.simulate(q, np.zeros(6), 3.0, **TIGHT)
    exact = solve_ivp(lambda t, y: [y[1], -9.81 / 1.5 * np.sin(y[0])], (0, 3), [0.5, 0], rtol=1e-12, atol=1e-12)
    angle = np.arctan2(run.q[-1, 0], -run.q[-1, 2])
    assert angle == pytest.approx(exact.y[0, -1], abs=TIGHT_RUN)
    tension = -2.0 * (9.81 * np.cos(angle) + 1.5 * exact.y[1, -1] ** 2)
    assert run.multipliers[-1, 0] == pytest.approx(tension, abs=INTEGRATED)


def test_a_gear_of_two_wheels_moves_as_one() -> None:
    builder = ModelBuilder("gears", gravity=(0.0, 0.0, 0.0))
    for name, inertia in (("small", 0.1), ("large", 0.8)):
        builder.add_body(name, parent="world", joint="revolute", joint_name=name, mass=1.0, inertia=inertia * np.eye(3))
    builder.add_equation("mesh", "small", "large", coefficients=[0.0, -4.0])
    run = builder.build().simulate([0.0, 0.0], [0.0, 0.0], 1.0, np.array([0.3, 0.0]))
    a = -4.0 * 0.3 / (0.8 + 16.0 * 0.1)
    np.testing.assert_allclose(run.q[:, 1], 0.5 * a * run.t**2, atol=ITERATED)
    np.testing.assert_allclose(run.q[:, 0], -4.0 * run.q[:, 1], atol=ITERATED)


def test_an_expression_may_hold_the_motion() -> None:
    """The tip of a planar arm on a circle about its shoulder: the elbow is held, and the arm swings as one body."""
    arm = load("2r").without("friction", "damping", "armature", "springs")
    tip = arm.frames[-1].name
    reach = float(np.sum(arm.pose([0.3, 0.8], tip)[:3, 3] ** 2))
    circle = elements.Holonomic("circle", lambda q: [arm.pose(q, tip)[:3, 3] @ arm.pose(q, tip)[:3, 3] - reach])
    run = arm.simulate([0.3, 0.8], [1.0, 0.0], 1.0, elements=[circle], **TIGHT)
    np.testing.assert_allclose(run.q[:, 1], 0.8, atol=TIGHT_RUN)
    assert np.ptp(run.q[:, 0]) > 0.3 and np.abs(run.energy.residual).max() < TIGHT_RUN * run.energy.scale
    assert run.multipliers.shape[1] == 1 and np.abs(run.multipliers).max() > 0.1
    apart = elements.Holonomic("too far", lambda q: [arm.pose(q, tip)[:3, 3] @ arm.pose(q, tip)[:3, 3] - 1e3])
    with pytest.raises(SimulationError, match="closes the loop 'too far'"):
        arm.simulate([0.3, 0.8], [1.0, 0.0], 1.0, elements=[apart])


def test_forces_through_a_loop_cause_what_they_should() -> None:
    robot = four_bar()
    q, v = robot.close_loops(np.deg2rad([60.0, 110.0, 80.0]), np.array([0.5, 0.0, 0.0]))
    tau = np.array([50.0, 0.0, 0.0])
    a, forces = robot.loop_dynamics(q, v, tau)
    there = algorithms.constraints(robot.model, q, v)
    np.testing.assert_allclose(there.residual, 0.0, atol=ITERATED)
    np.testing.assert_allclose(there.J @ v, 0.0, atol=COMPUTED)
    np.testing.assert_allclose(there.J @ a + there.bias, 0.0, atol=CONVERGED)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), tau + there.J.T @ forces, atol=TIGHT_RUN)
    back = robot.loop_inverse_dynamics(q, v, a, actuated=["joint_A"])
    np.testing.assert_allclose(back.tau, tau, atol=TIGHT_RUN)
    other = robot.loop_inverse_dynamics(q, v, a, actuated=["joint_C"])  # another drive, the same power
    assert other.tau @ v == pytest.approx(tau @ v) and not other.tau[:2].any()
    both = robot.loop_inverse_dynamics(q, v, a, actuated=["joint_A", "joint_C"])
    assert both.tau @ v == pytest.approx(tau @ v) and np.linalg.norm(both.tau) < np.linalg.norm(back.tau)
    batch = robot.loop_dynamics(np.tile(q, (9, 1)), v, tau)
    np.testing.assert_allclose(batch.a, np.tile(a, (9, 1)), atol=COMPUTED)
    with pytest.raises(DalembertError, match="the acceleration opens a loop"):
        robot.loop_inverse_dynamics(q, v, a + np.array([1.0, 0.0, 0.0]), actuated=["joint_A", "joint_B", "joint_C"])
    with pytest.raises(DalembertError, match="cannot cause it"):
        robot.loop_inverse_dynamics(q, v, a, actuated=[])
    with pytest.raises(DalembertError, match="has no loops"):
        robot.without("loops").loop_dynamics(q, v, tau)


def test_what_loops_would_change_is_refused() -> None:
    robot = load("four_bar")
    q, v = robot.neutral(), np.zeros(3)
    for call in (
        lambda: robot.forward_dynamics(q, v, v),
        lambda: robot.reaction_wrenches(q, v, v),
        lambda: robot.peak_reactions(q[None], v[None], v[None]),
    ):
        with pytest.raises(DalembertError, match=r"has loops, closed by 'pin'.*without\('loops'\) is the tree"):
            call()
    assert robot.without("loops").reaction_wrenches(q, v, v).shape == (4, 6)


def test_the_nearest_closed_configuration():
    """Of all closed configurations that are known, the one found for q is the nearest, and none beside it is nearer."""
    robot, rng = load("four_bar"), np.random.default_rng(1)
    asked = [robot.random(rng) for _ in range(12)]
    closed = np.array([robot.close_loops(q).q for q in asked])
    for q, found in zip(asked, closed, strict=True):
        way = np.linalg.norm(robot.difference(q, found))
        assert way <= min(np.linalg.norm(robot.difference(q, other)) for other in closed) + ITERATED
        beside = [robot.close_loops(found + 1e-3 * rng.normal(size=robot.nq)).q for _ in range(4)]
        assert way <= min(np.linalg.norm(robot.difference(q, other)) for other in beside) + ITERATED


def test_a_closed_configuration_stays_where_it_is():
    robot = load("four_bar")
    q = robot.close_loops(robot.neutral()).q
    assert np.array_equal(robot.close_loops(q).q, q)
