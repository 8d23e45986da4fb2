"""Implicit integrators under constraints: order, energy, hard stops, stiff damping, redundant and impossible rows."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import ModelBuilder, Robot, SimulationError, elements
from dalembert.dynamics import algorithms
from dalembert.sim.integrators import INTEGRATORS
from linkages import at, crossed, four_bar
from tolerances import COARSE_RUN, COMPUTED, INTEGRATED, ITERATED, MILLISECOND_STEPS, PRODUCT, TIGHT_RUN

BETWEEN_RECORDS = 0.05  # the next record is up to 10 ms after the impact [rad/s]

NEWTON = ("implicit-midpoint", "variational")
IMPLICIT = (*NEWTON, "implicit-velocity")
STEP = {"implicit-midpoint": 1e-3, "variational": 1e-3, "implicit-velocity": 1e-4}
NEAR = {"implicit-midpoint": 1e-5, "variational": 1e-5, "implicit-velocity": 1e-3}
DURATION = 0.4
OPEN = np.deg2rad([60.0, 110.0, 80.0])  # near a closed four-bar


def spatial() -> Robot:
    """A free body with a ball joint and a hinge, whose limbs are tied to each other and to the world."""
    builder = ModelBuilder("spatial", gravity=(0.0, 0.0, -9.81))
    shape = {"inertia": np.diag([0.02, 0.03, 0.04])}
    builder.add_body("base", parent="world", joint="free", mass=3.0, com=(0.05, 0.1, 0.0), **shape)
    builder.add_body("arm", parent="base", joint="ball", xyz=(0.2, 0, 0), mass=1.0, com=(0.2, 0.0, 0.02), **shape)
    builder.add_body(
        "leg", parent="base", joint="revolute", axis=(0, 0.6, 0.8), xyz=(-0.2, 0.1, 0), mass=1.0, com=(0.1, 0.1, 0),
        **shape,
    )  # fmt: skip
    builder.add_closure("rod", "distance", a="arm", b="leg", placement_a=at(0.4), placement_b=at(0.3), length=0.5)
    builder.add_closure("tether", "point", a="world", b="leg", placement_b=at(0.1))
    return builder.build()


@pytest.fixture(scope="module")
def tied() -> tuple:
    """The robot, a state of it, and where it is after DURATION."""
    robot, rng = spatial(), np.random.default_rng(0)
    q, v = robot.close_loops(robot.random(rng), rng.normal(size=robot.nv))
    exact = robot.simulate(q, v, DURATION, integrator="rk4", step=DURATION / 4000, record=DURATION)
    return robot, q, v, exact


@pytest.mark.parametrize(
    "integrator", ["implicit-midpoint", "implicit-velocity", pytest.param("variational", marks=pytest.mark.long)]
)
def test_measured_order_in_a_loop_with_ball_and_free_joints(tied, integrator: str) -> None:
    robot, q, v, exact = tied
    errors = []
    for steps in (32, 64):
        run = robot.simulate(q, v, DURATION, integrator=integrator, step=DURATION / steps, record=DURATION)
        moved, sped = robot.difference(exact.q[-1], run.q[-1]), run.v[-1] - exact.v[-1]
        errors.append(max(np.abs(moved).max(), np.abs(sped).max()))
    assert abs(np.log2(errors[0] / errors[1]) - INTEGRATORS[integrator].order) < 0.1
    there = algorithms.constraints(robot.model, run.q[-1], run.v[-1])
    assert np.abs(there.residual).max() < (1e-14 if integrator in NEWTON else 1e-9)
    if integrator in NEWTON:
        assert np.abs(there.J @ run.v[-1]).max() < PRODUCT
    np.testing.assert_allclose(run.multipliers[-1], exact.multipliers[-1], atol=NEAR[integrator] * 1e3)


@pytest.mark.parametrize("integrator", NEWTON)
def test_energy_of_a_loop_stays_bounded(integrator: str) -> None:
    """The four-bar swings for 100 000 steps, of which 150 make a period."""
    run = four_bar().simulate(crossed(1.0), np.zeros(3), 1e3, integrator=integrator, step=1e-2, record=1.0)
    drift = np.abs(run.energy.residual)
    assert run.steps == 100_000 and np.ptp(run.q[:, 0]) > 0.5
    assert drift.max() < 10 * COARSE_RUN * run.energy.scale
    assert drift[-200:].max() < 1.1 * drift[:200].max()


@pytest.mark.parametrize("integrator", IMPLICIT)
def test_a_block_bounces_and_comes_to_rest(integrator: str) -> None:
    builder = ModelBuilder("block", gravity=(0.0, 0.0, -9.81))
    builder.add_body(
        "block", parent="world", joint="prismatic", joint_name="slide", axis=(0, 0, 1), mass=2.0, inertia=np.eye(3)
    )
    stop = [elements.HardStop("slide", 0.5, lower=0.0)]
    run = builder.build().simulate([1.0], [0.0], 3.0, integrator=integrator, step=STEP[integrator], elements=stop)
    fall = np.sqrt(2.0 / 9.81)
    bounces = fall * np.array([1.0, 2.0, 2.5, 2.75])
    near = 1e-9 if integrator in NEWTON else 1e-3  # a parabola is exact at order 2
    np.testing.assert_allclose([event.t for event in run.events[:4]], bounces, atol=near)
    assert abs(run.q[-1, 0]) < COMPUTED and abs(run.v[-1, 0]) < COMPUTED and run.states[-1, 0] == -1.0
    assert run.multipliers[-1, 0] == pytest.approx(2.0 * 9.81)
    assert np.abs(run.energy.residual).max() < NEAR[integrator] * run.energy.scale


@pytest.mark.parametrize("integrator", ["rk45", *IMPLICIT])
def test_a_joint_leaves_its_stop_when_it_is_pulled(integrator: str) -> None:
    builder = ModelBuilder("block", gravity=(0.0, 0.0, 0.0))
    builder.add_body("block", parent="world", joint="prismatic", joint_name="slide", mass=2.0, inertia=np.eye(3))
    run = builder.build().simulate(
        [0.1], [-1.0], 1.0, lambda t, q, v: [8.0 * (t - 0.5)], integrator, STEP.get(integrator),
        elements=[elements.HardStop("slide", lower=0.0)],
    )  # fmt: skip
    meets, leaves = run.events
    near = 1e-9 if integrator == "rk45" else NEAR[integrator]
    assert leaves.t == pytest.approx(0.5, abs=near) and 0.09 < meets.t < 0.1
    assert run.q[-1, 0] == pytest.approx(4.0 / 6.0 * 0.5**3, abs=near)


@pytest.mark.parametrize("restitution", [0.5, pytest.param(0.0, marks=pytest.mark.long)])
def test_stops_within_a_loop_are_met_alike(restitution: float) -> None:
    """The impulse goes through the loop: all speeds turn round together, and at restitution 0 all of it rests."""
    robot = four_bar()
    q, v = robot.close_loops(OPEN, [0.5, 0.0, 0.0])
    stops = [elements.HardStop("joint_A", restitution, upper=1.2), elements.HardStop("joint_C", upper=1.9)]
    exact = robot.simulate(q, v, 1.5, elements=stops, rtol=1e-10, atol=1e-12)
    assert [event.name for event in exact.events] == ["HardStop(joint_A)"]
    before, after = exact.events[0].v, exact.v[np.searchsorted(exact.t, exact.events[0].t)]
    np.testing.assert_allclose(after, -restitution * before, atol=BETWEEN_RECORDS)
    lost = (1.0 - restitution**2) * 0.5 * before @ robot.without("loops").mass_matrix(exact.events[0].q) @ before
    assert exact.energy.heat["HardStop(joint_A)"][-1] == pytest.approx(lost, rel=INTEGRATED, abs=ITERATED)
    assert np.abs(exact.energy.residual).max() < TIGHT_RUN * exact.energy.scale
    for integrator in IMPLICIT:
        run = robot.simulate(q, v, 1.5, None, integrator, STEP[integrator], elements=stops)
        assert run.events[0].t == pytest.approx(exact.events[0].t, abs=NEAR[integrator])
        np.testing.assert_allclose(run.q[-1], exact.q[-1], atol=NEAR[integrator])
        np.testing.assert_allclose(run.multipliers[-1], exact.multipliers[-1], atol=10.0 * NEAR[integrator])
        assert np.abs(run.energy.residual).max() < NEAR[integrator] * run.energy.scale


def test_stiff_damping_in_a_loop_stays_stable() -> None:
    robot = four_bar()
    q, v = robot.close_loops(OPEN, [0.5, 0.0, 0.0])
    stiff = {"elements": [elements.Damper("joint_B", 1e6)]}
    exact = robot.simulate(q, v, 1.0, integrator="rk4", step=1e-5, record=1.0, **stiff)
    for integrator in IMPLICIT:
        run = robot.simulate(q, v, 1.0, integrator=integrator, step=1e-2, **stiff)
        np.testing.assert_allclose(run.q[-1], exact.q[-1], atol=COARSE_RUN)
        np.testing.assert_allclose(run.v[-1], exact.v[-1], atol=COARSE_RUN)
    with pytest.raises(SimulationError, match="the motion grew beyond all numbers"):
        robot.simulate(q, v, 1.0, integrator="semi-implicit", step=1e-2, **stiff)


@pytest.mark.parametrize("integrator", IMPLICIT)
def test_a_bar_too_many_changes_nothing(integrator: str) -> None:
    """A parallelogram with a third crank: its hinge says, in five equations, what the others say already."""
    ends = []
    for cranks in (2, 3):
        builder = ModelBuilder("parallel", gravity=(0.0, 0.0, -9.81))
        bar = {"joint": "revolute", "axis": (0, 1, 0), "mass": 1.0, "com": (0.5, 0, 0), "inertia": 0.1 * np.eye(3)}
        builder.add_body("crank", parent="world", joint_name="crank", **bar)
        builder.add_body("coupler", parent="crank", joint_name="coupler", xyz=(1, 0, 0), **bar | {"mass": 5.0})
        for k in range(1, cranks):
            light = bar | {"mass": 1e-3 if k == 2 else 1.0, "inertia": (1e-4 if k == 2 else 0.1) * np.eye(3)}
            builder.add_body(f"rocker{k}", parent="world", joint_name=f"rocker{k}", xyz=(1.0 / k, 0, 0), **light)
            builder.add_closure(
                f"pin{k}", "revolute", a="coupler", b=f"rocker{k}", placement_a=at(1.0 / k), placement_b=at(1.0),
                axis=(0, 1, 0),
            )  # fmt: skip
        q = np.array([0.6, -0.6, *[0.6] * (cranks - 1)])
        ends.append(builder.build().simulate(q, np.zeros(len(q)), 1.0, integrator=integrator, step=1e-3))
    assert ends[1].multipliers.shape[1] == 10 and np.abs(ends[0].q[-1] - ends[0].q[0]).max() > 0.5
    np.testing.assert_allclose(ends[1].q[:, :3], ends[0].q, atol=2 * MILLISECOND_STEPS)
    np.testing.assert_allclose(ends[1].q[:, 3], ends[1].q[:, 2], atol=COMPUTED)
    assert np.abs(ends[1].energy.residual).max() < (1e-4 if integrator in NEWTON else 1e-2) * ends[1].energy.scale


@pytest.mark.parametrize("integrator", IMPLICIT)
def test_a_loop_that_cannot_close_is_an_error(integrator: str) -> None:
    builder = ModelBuilder("rod", gravity=(0.0, 0.0, -9.81))
    builder.add_body("bob", parent="world", joint="free", mass=2.0, inertia=0.01 * np.eye(3))
    builder.add_closure("rod", "distance", a="world", b="bob", length=1.5)
    robot = builder.build()
    with pytest.raises(SimulationError, match="no configuration near q closes the loop 'rod'"):
        robot.simulate(robot.neutral(), np.zeros(6), 1.0, integrator=integrator)
    q = robot.neutral()
    q[2] = -1.5
    if integrator in NEWTON:  # the step leads farther than the rod's end can turn
        with pytest.raises(SimulationError, match=r"Newton's iteration did not settle.*try a smaller step"):
            robot.simulate(q, [0, 0, 0, 50, 0, 0], 1.0, integrator=integrator, step=0.1, record=0.1)
