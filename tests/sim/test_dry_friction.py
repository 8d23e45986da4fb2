"""Dry friction holds exactly: against closed forms, with every integrator."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import DalembertError, ModelBuilder, Robot, elements
from linkages import crossed, four_bar
from pucks import EVERY, FIRST_ORDER, slides
from tolerances import (
    COARSE_RUN,
    COMPUTED,
    CONVERGED,
    INTEGRATED,
    MILLISECOND_STEPS,
    PRODUCT,
    ROUGH_SLOPE,
    ROUNDING,
    TIGHT_RUN,
)

G = 9.81
FAST = ("rk45", "rk4", "semi-implicit", "implicit-midpoint")
every_integrator = pytest.mark.parametrize(
    "integrator", [name if name in FAST else pytest.param(name, marks=pytest.mark.long) for name in EVERY]
)


def near(integrator: str, exact: float = 1e-9, first_order: float = 5e-3) -> float:
    return first_order if integrator in FIRST_ORDER else exact


def named(name: str, load: float) -> tuple[Robot, list[elements.Element]]:
    """A puck under a load of 2 N friction: of an element, or of the model."""
    if name == "model":
        return slides([1.0], friction=2.0), []
    return slides([1.0]), [elements.Friction("slide0", 1.5, 2.0)]


@every_integrator
@pytest.mark.parametrize("name", ["element", "model"])
def test_what_is_loaded_from_the_start_stays(name: str, integrator: str) -> None:
    robot, friction = named(name, 1.9)
    run = robot.simulate([0.3], [0.0], 5.0, [1.9], integrator, EVERY[integrator] and 1e-2, elements=friction)
    np.testing.assert_allclose(run.q, 0.3, atol=PRODUCT)
    np.testing.assert_allclose(run.multipliers[-1], -1.9, rtol=COMPUTED)
    assert not run.events and sum(x[-1] for x in run.energy.heat.values()) == pytest.approx(0.0, abs=ROUNDING)


@every_integrator
def test_it_gives_way_beyond_its_friction(integrator: str) -> None:
    robot, _ = named("model", 2.1)
    run = robot.simulate([0.0], [0.0], 1.0, [2.1], integrator, EVERY[integrator])
    assert run.q[-1, 0] == pytest.approx(0.05, abs=near(integrator))
    assert run.energy.heat["friction slide0"][-1] == pytest.approx(2.0 * run.q[-1, 0], rel=near(integrator))
    assert np.abs(run.energy.residual).max() < near(integrator, 1e-10) * run.energy.scale


@every_integrator
def test_a_sliding_block_stops_and_stays(integrator: str) -> None:
    """x = v² / (2 μ) at t = v / μ; a push of the torque below the friction does not move it, one above does."""
    robot = slides([1.0], friction=2.0)
    rows = np.array([[0.0], [0.0], [1.5], [2.5]])
    run = robot.simulate([0.0], [1.0], 4.0, rows, integrator, EVERY[integrator])
    stopped = (run.t > 0.51) & (run.t <= 3.0)
    np.testing.assert_allclose(run.q[stopped, 0], 0.25, atol=near(integrator))
    assert np.ptp(run.q[stopped, 0]) < PRODUCT and np.abs(run.v[stopped]).max() < PRODUCT
    assert run.q[-1, 0] == pytest.approx(0.25 + 0.25, abs=near(integrator))


@every_integrator
def test_stick_slip_on_a_belt(integrator: str) -> None:
    """A block on a belt of speed V, held by a spring k: it sticks until k x = Fs, then slides as an oscillator.

    Slip: x(τ) = Fk/k + (Fs − Fk)/k cos ωτ + V/ω sin ωτ, until its speed is V again, at τ = (2/ω)(π − atan(b)) with
    b = (Fs − Fk) ω/(k V); then it sticks at x = Fk/k − (Fs − Fk)/k, and is carried to Fs/k with speed V.
    """
    k, V, static, kinetic, mass = 100.0, 0.1, 4.0, 3.0, 2.0
    w = np.sqrt(k / mass)
    slip = 2.0 / w * (np.pi - np.arctan((static - kinetic) * w / (k * V)))
    stick = 2.0 * (static - kinetic) / (k * V)
    robot = slides([mass])
    steep = 1e-4 if integrator == "variational" else 1e-6  # Newton's iteration must resolve it, else the run stops
    friction = elements.Friction("slide0", kinetic, static, stribeck_speed=steep, surface_speed=V)
    start = (2.0 * kinetic - static) / k
    step = None if EVERY[integrator] is None else 1e-4
    run = robot.simulate(
        [start], [V], stick + slip + 0.5 * stick, None, integrator, step,
        elements=[elements.Spring("slide0", k), friction],
    )  # fmt: skip
    assert [event.kind for event in run.events] == ["slips", "sticks"]
    np.testing.assert_allclose([event.t for event in run.events], [stick, stick + slip], atol=2 * MILLISECOND_STEPS)
    sticking = run.t < stick
    np.testing.assert_allclose(run.q[sticking, 0], start + V * run.t[sticking], atol=COMPUTED)
    tau = run.t - stick
    sliding = (tau > 0.0) & (tau < slip)
    expected = kinetic / k + (static - kinetic) / k * np.cos(w * tau) + V / w * np.sin(w * tau)
    np.testing.assert_allclose(run.q[sliding, 0], expected[sliding], atol=10 * COARSE_RUN + 2.0 * steep)
    assert np.ptp(run.v[run.t > stick + slip + 0.01, 0]) < COMPUTED
    assert np.abs(run.energy.residual).max() < near(integrator, 1e-6, 1e-3) * run.energy.scale


def test_frictions_of_one_joint_add_up() -> None:
    """2 N of the model, 1 N of an element: 2.9 N hold, 3.1 N do not; and a stop carries what friction does not."""
    robot, more = slides([1.0], friction=2.0), [elements.Friction("slide0", 1.0)]
    assert np.abs(robot.simulate([0.0], [0.0], 2.0, [2.9], elements=more).q).max() < PRODUCT
    moved = robot.simulate([0.0], [0.0], 2.0, [3.1], elements=more)
    assert moved.q[-1, 0] == pytest.approx(0.2, abs=TIGHT_RUN)
    both = robot.simulate([0.0], [0.0], 2.0, [[5.0], [-1.0], [-2.5]], elements=[elements.HardStop("slide0", upper=0.0)])
    assert both.q[-1, 0] == pytest.approx(-0.5 * 0.5 * (2.0 / 3.0) ** 2, rel=TIGHT_RUN)
    assert [event.kind for event in both.events] == ["leaves"]


def test_a_loop_with_friction_in_its_joints_holds() -> None:
    """A four-bar hangs where friction in its pins carries it: how they share the load is not unique, the motion is."""
    bare = four_bar()
    model = bare.model
    q, _ = bare.close_loops(crossed(1.0))
    torque = bare.loop_inverse_dynamics(q, np.zeros(3), np.zeros(3), actuated=["joint_A"]).tau[0]
    for share, holds in ((1.05, True), (0.9, False)):
        builder_model = _with_friction(model, [share * abs(torque), 0.0, 0.0])
        run = Robot(builder_model).simulate(q, np.zeros(3), 1.0)
        assert (np.abs(run.q - run.q[0]).max() < CONVERGED) == holds
    moving = bare.simulate(q, np.zeros(3), 1e-3).v[-1]
    share = 1.0 / np.abs(moving / moving[0]).sum()  # of equal friction in all pins, by virtual work
    for factor, holds in ((1.02, True), (0.98, False)):
        run = Robot(_with_friction(model, [factor * share * abs(torque)] * 3)).simulate(q, np.zeros(3), 1.0)
        assert (np.abs(run.q - run.q[0]).max() < CONVERGED) == holds


def _with_friction(model, levels):
    from dataclasses import replace

    rest = iter(levels)
    bodies = [replace(b, joint=b.joint.with_values(friction=next(rest))) if b.joint.nv else b for b in model.bodies]
    return replace(model, bodies=tuple(bodies))


def test_smooth_friction_is_the_models_law_and_says_so() -> None:
    robot = slides([1.0], friction=2.0)
    run = robot.simulate([0.0], [0.0], 5.0, [1.86], friction="smooth")
    assert run.q[-1, 0] > 0.05 and any("creep" in line for line in run.log)
    slow = robot.forward_dynamics(run.q[-1], run.v[-1], [1.86])
    assert abs(slow[0]) < INTEGRATED
    assert any("friction: dry" in line for line in robot.simulate([0.0], [0.0], 0.1).log)
    with pytest.raises(DalembertError, match="unknown friction 'wet'"):
        robot.simulate([0.0], [0.0], 0.1, friction="wet")


def test_every_freedom_of_a_free_body_has_its_friction() -> None:
    builder = ModelBuilder("free", gravity=(0.0, 0.0, 0.0))
    builder.add_body("body", parent="world", joint="free", joint_name="base", mass=1.0, inertia=np.eye(3), friction=0.5)
    robot = builder.build()
    q = robot.neutral()
    run = robot.simulate(q, np.zeros(6), 1.0, [0.4, 0.0, 0.0, 0.0, 0.0, 0.6])
    assert np.abs(robot.difference(q, run.q[-1])[:5]).max() < COMPUTED
    assert robot.difference(q, run.q[-1])[5] == pytest.approx(0.05, abs=TIGHT_RUN)


def test_elements_take_numpy_numbers() -> None:
    robot = slides([1.0])
    for kind in (np.float64, np.float32, np.int64):
        spring = elements.Spring("slide0", kind(4), damping=kind(1))
        assert spring == elements.Spring("slide0", 4.0, damping=1.0) and type(spring.stiffness) in (float, int)
        run = robot.simulate([1.0], [0.0], 0.1, elements=[spring])
        same = robot.simulate([1.0], [0.0], 0.1, elements=[elements.Spring("slide0", 4.0, damping=1.0)])
        np.testing.assert_array_equal(run.q, same.q)
    points = elements.PointSpring("puck0", stiffness=np.float64(2.0), damping=np.float64(0.5))
    assert points.loses is True and robot.simulate([1.0], [0.0], 0.1, elements=[points]).steps


def test_slopes_of_motions_that_stick_and_slide() -> None:
    """One joint sticks all the time, one slides, one turns round; against differences."""
    builder = ModelBuilder("rods")
    for k, friction in enumerate((0.5, 8.0, 0.3)):
        builder.add_body(
            f"rod{k}", parent=f"rod{k - 1}" if k else "world", joint="revolute", xyz=(0.5 if k else 0.0, 0, 0),
            axis=(0, 1, 0), mass=1.0 + k, com=(0.25, 0, 0.02), inertia=0.02 * np.eye(3), friction=friction,
        )  # fmt: skip
    robot = builder.build()
    q, v, steps = np.array([0.3, 0.2, -0.4]), np.array([0.5, 0.0, -1.0]), {"steps": 40, "step": 1e-2}

    def value(q, v):
        end = robot.rollout(q, v, **steps)
        return end.q @ end.q + 0.1 * end.v @ end.v

    end = robot.rollout(q, v, every=1, **steps).v
    assert not end[:, 1].any() and end[:, 0].all() and end[:, 2].min() < 0.0 < end[:, 2].max()
    slopes = robot.rollout_gradient(lambda t, q, v: q @ q + 0.1 * v @ v, q, v, **steps)
    for k, d in enumerate(1e-6 * np.eye(3)):
        assert slopes.q[k] == pytest.approx((value(q + d, v) - value(q - d, v)) / 2e-6, rel=ROUGH_SLOPE)
        if k != 1:  # which would no longer stick
            assert slopes.v[k] == pytest.approx((value(q, v + d) - value(q, v - d)) / 2e-6, rel=ROUGH_SLOPE)
