"""What drives a run: numbers, rows, tables, functions that are traced, called back or sampled."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import (
    Contact,
    DalembertError,
    Event,
    ModelBuilder,
    Robot,
    Sampled,
    SimulationError,
    elements,
    load,
    math,
)
from dalembert.model.geometry import Sphere
from tolerances import ACCUMULATED, COARSE_RUN, COMPUTED, DEFAULT_RUN, ITERATED, MILLISECOND_STEPS, ORDER, TIGHT_RUN

Q, V = np.array([0.4, -0.3]), np.array([0.1, 0.2])


@pytest.fixture(scope="module")
def arm() -> Robot:
    return load("2r")


def test_laws_that_say_the_same_give_the_same(arm) -> None:
    tau = np.array([0.3, -0.1])
    constant = arm.simulate(Q, V, 0.5, tau)
    for law in (
        np.tile(tau, (5, 1)),
        ([0.0, 1.0], np.tile(tau, (2, 1))),
        lambda t, q, v: tau,
        lambda t, q, v: tau if float(t) >= 0.0 else None,
    ):
        run = arm.simulate(Q, V, 0.5, law)
        np.testing.assert_allclose(run.q, constant.q, atol=TIGHT_RUN)
        np.testing.assert_allclose(run.tau, np.tile(tau, (51, 1)))
        np.testing.assert_allclose(run.energy.work["actuator " + run.freedoms[0]],
                                   constant.energy.work["actuator " + run.freedoms[0]], atol=DEFAULT_RUN)  # fmt: skip


def test_a_function_is_traced_where_it_can_be_and_called_back_where_not(arm) -> None:
    def traced(t, q, v):
        return np.array([math.sin(3.0 * t), -0.5 * v[1]]) + 0.1 * arm.gravity(q)

    def called(t, q, v):
        return np.array([np.sin(3.0 * float(t)), -0.5 * float(v[1])]) + 0.1 * arm.gravity(q)

    for integrator, step in (("rk45", None), ("rk4", 1e-2), ("semi-implicit", 1e-2)):
        fast = arm.simulate(Q, V, 0.2, traced, integrator, step)
        slow = arm.simulate(Q, V, 0.2, called, integrator, step)
        assert not any("called back" in line for line in fast.log)
        assert any("called cannot be traced" in line and "called back" in line for line in slow.log)
        np.testing.assert_allclose(slow.q, fast.q, atol=COMPUTED)
        np.testing.assert_allclose(slow.energy.total, fast.energy.total, atol=ACCUMULATED)
    held = arm.simulate(Q, V, 0.2, called, "implicit-midpoint", 1e-3)
    np.testing.assert_array_equal(held.tau[0], called(5e-4, arm.integrate(Q, 5e-4 * np.asarray(V)), V))
    assert any("evaluated once per step, in its predicted middle, then held" in line for line in held.log)
    np.testing.assert_allclose(held.q, arm.simulate(Q, V, 0.2, traced).q, atol=MILLISECOND_STEPS)


@pytest.mark.parametrize("integrator", ["implicit-midpoint", "variational"])
def test_a_called_law_leaves_a_symmetric_method_its_order(arm, integrator) -> None:
    """It was evaluated at the beginning of each step, and made the method one of order 1 without a word."""

    def called(t, q, v):
        return np.array([np.sin(9.0 * float(t)), -0.5 * float(v[1]) - 2.0 * float(q[0])])

    exact = arm.simulate(Q, V, 0.4, lambda t, q, v: np.array([math.sin(9.0 * t), -0.5 * v[1] - 2.0 * q[0]])).q[-1]
    runs = [arm.simulate(Q, V, 0.4, called, integrator, step) for step in (1e-2, 5e-3, 2.5e-3)]
    errors = [np.abs(run.q[-1] - exact).max() for run in runs]
    assert np.log2(errors[0] / errors[1]) > 2.0 - ORDER and np.log2(errors[1] / errors[2]) > 2.0 - ORDER
    assert runs[0].settings["order"] == 2


def test_a_method_that_a_called_law_makes_of_order_1_says_so() -> None:
    builder = ModelBuilder("ball")
    builder.add_body("ball", parent="world", joint="prismatic", axis=(0, 0, 1), mass=1.0)
    builder.add_geometry(Sphere(0.1), body="ball", role="collision")
    run = builder.build().simulate(
        [1.0], [0.0], 0.05, lambda t, q, v: np.array([-float(v[0])]), step=1e-2, contact=Contact(ground=0.0)
    )
    assert any("then held (time-stepping, which makes it of order 1)" in line for line in run.log)
    assert run.settings["order"] == 1


@pytest.mark.parametrize("integrator", ["rk45", "rk8", "rk23"])
def test_legs_of_a_table_run_in_one_loop_as_they_do_one_by_one(arm, integrator) -> None:
    """An event makes the run go from leg to leg; without one, all legs are rows of a compiled loop.

    Records are further apart than legs: where there are events, no step is longer than a record.
    """
    rng = np.random.default_rng(0)
    never = Event("never", lambda t, q, v: t + 10.0)
    for torque in (rng.normal(size=(30, 2)), (np.linspace(0.0, 1.0, 31), rng.normal(size=(31, 2)))):
        whole = arm.simulate(Q, V, 1.0, torque, integrator, record=0.037)
        legs = arm.simulate(Q, V, 1.0, torque, integrator, record=0.037, events=[never])
        np.testing.assert_allclose(whole.q, legs.q, atol=DEFAULT_RUN)
        np.testing.assert_allclose(whole.tau, legs.tau, atol=COMPUTED)
        np.testing.assert_allclose(whole.energy.total, legs.energy.total, atol=DEFAULT_RUN)
        assert abs(whole.steps - legs.steps) <= 0.2 * legs.steps


def test_rows_are_held_and_points_are_joined_by_lines(arm) -> None:
    rows = np.array([[1.0, 0.0], [-1.0, 0.5]])
    run = arm.simulate(Q, V, 1.0, rows, record=0.1)
    np.testing.assert_allclose(run.tau[1:5], np.tile(rows[0], (4, 1)))
    np.testing.assert_allclose(run.tau[6:], np.tile(rows[1], (5, 1)))
    first = arm.simulate(Q, V, 0.5, rows[0], record=0.5)
    second = arm.simulate(first.q[-1], first.v[-1], 0.5, rows[1], record=0.5)
    np.testing.assert_allclose(run.q[-1], second.q[-1], atol=TIGHT_RUN)
    line = arm.simulate(Q, V, 1.0, ([0.2, 0.8], rows), record=0.1)
    expected = [[np.interp(t, [0.2, 0.8], rows[:, k]) for k in range(2)] for t in line.t]
    np.testing.assert_allclose(line.tau, expected, atol=COMPUTED)

    def joined(t, q, v):
        share = (math.minimum(math.maximum(t, 0.2), 0.8) - 0.2) / 0.6
        return rows[0] + share * (rows[1] - rows[0])

    np.testing.assert_allclose(line.q, arm.simulate(Q, V, 1.0, joined, record=0.1).q, atol=COARSE_RUN)


def test_what_a_function_refers_to_may_change(arm) -> None:
    gains = {"k": 1.0}

    def law(t, q, v):
        return -gains["k"] * q

    def thrust(t):
        return gains["k"]

    pushed = [elements.Thruster(arm.frames[-1].name, thrust)]
    for made in (
        lambda: arm.simulate(Q, V, 0.1, law),
        lambda: arm.simulate(Q, V, 0.1, elements=pushed),
        lambda: arm.rollout(Q, V, law, 1e-3, 100),
        lambda: arm.rollout(Q, V, None, elements=pushed),
    ):
        gains["k"] = 1.0
        one = np.atleast_2d(made().q)[-1]
        gains["k"] = 30.0
        other = np.atleast_2d(made().q)[-1]
        gains["k"] = 1.0
        assert np.abs(other - one).max() > 1e-4
        np.testing.assert_array_equal(np.atleast_2d(made().q)[-1], one)


@pytest.mark.parametrize("record", [None, 0.01, 0.05, 0.015])
def test_rows_of_torque_drive_fixed_steps(arm, record) -> None:
    """A row per step, several steps per row, and records that do not fit: the same motion as leg after leg."""
    rows = np.sin(np.arange(40.0)).reshape(20, 2)
    run = arm.simulate(Q, V, 0.2, rows, "rk4", 5e-3, record=record)
    q, v = Q, V
    for row in rows:
        leg = arm.simulate(q, v, 0.01, row, "rk4", 5e-3, record=0.01)
        q, v = leg.q[-1], leg.v[-1]
    np.testing.assert_allclose(run.q[-1], q, atol=1e-13 if record != 0.015 else 1e-6)
    held = np.maximum(np.ceil(run.t / 0.01 - 1e-9).astype(int) - 1, 0)
    np.testing.assert_array_equal(run.tau, rows[held])
    assert np.abs(run.energy.residual).max() < MILLISECOND_STEPS


def test_a_law_that_returns_nan_is_named(arm) -> None:
    def law(t, q, v):
        return np.array([0.0, np.nan if float(t) > 0.1 else 0.0])

    said = rf"at t = 0\.1\d* s torque function law returned nan for joint '{arm.joints[1].name}'"
    with pytest.raises(SimulationError, match=said) as caught:
        arm.simulate(Q, V, 1.0, law)
    assert caught.value.run is not None and caught.value.run.t[-1] > 0.05


class Integral:
    """A controller with a state."""

    def __init__(self, period: float) -> None:
        self.period, self.sum, self.times, self.answers = period, np.zeros(2), [], []

    def __call__(self, t, q, v):
        self.sum = self.sum + (1.0 - q) * self.period
        self.times.append(t)
        self.answers.append(np.clip(20.0 * (1.0 - q) - 2.0 * v + 10.0 * self.sum, -30.0, 30.0))
        return self.answers[-1]


@pytest.mark.parametrize(("integrator", "step"), [("rk45", None), ("rk4", 1e-3), ("implicit-midpoint", 1e-3)])
@pytest.mark.parametrize("delay", [0.0, 0.01, 0.013])
def test_a_sampled_controller_is_asked_once_per_period_and_in_order(arm, integrator, step, delay) -> None:
    law, period = Integral(0.01), 0.01
    run = arm.simulate(Q, V, 0.205, Sampled(law, period, delay), integrator, step, record=1e-3)
    np.testing.assert_allclose(law.times, period * np.arange(21), atol=COMPUTED)
    acting = np.floor((run.t[1:-1] - delay - 1e-4) / period).astype(int)  # u at a time is what led there
    expected = np.array([law.answers[k] if k >= 0 else np.zeros(2) for k in acting])
    np.testing.assert_array_equal(run.tau[1:-1], expected)
    np.testing.assert_array_equal(run.tau[0], np.zeros(2) if delay else law.answers[0])
    rare = arm.simulate(Q, V, 0.1, Sampled(Integral(0.01), period, delay), integrator, step, record=0.05)
    np.testing.assert_array_equal(rare.tau[0], run.tau[0])
    assert run.t[-1] == 0.205 and run.audit().relative < 10 * COARSE_RUN
    if delay == 0.0:
        rows = arm.simulate(Q, V, 0.2, np.array(law.answers[:20]), integrator, step, record=1e-3)
        np.testing.assert_allclose(run.q[:201], rows.q, atol=ITERATED)


def test_a_sampled_controller_stops_with_the_run(arm) -> None:
    law = Integral(0.01)
    hit = Event("there", lambda t, q, v: t - 0.0834, terminal=True)
    run = arm.simulate(Q, V, 1.0, Sampled(law, 0.01), events=[hit])
    assert len(law.times) == 9 and run.t[-1] == pytest.approx(0.0834)


def test_laws_that_keep_a_state_are_refused_unless_sampled(arm) -> None:
    rng, law = np.random.default_rng(0), Integral(0.01)
    counted = [0]

    def counting(t, q, v):
        counted[0] += 1
        return -v * counted[0]

    def kept_and_untraceable(t, q, v):
        return law(t, q, v) if float(t) >= 0.0 else v

    for changing in (
        counting,
        Integral(0.01),
        kept_and_untraceable,
        lambda t, q, v: rng.normal(size=2),
        lambda t, q, v: rng.normal(size=2) + 0.0 * float(t),
    ):
        with pytest.raises(SimulationError, match=r"another answer.*dalembert\.Sampled"):
            arm.simulate(Q, V, 0.1, changing)
    noisy = arm.simulate(Q, V, 0.1, Sampled(lambda t, q, v: rng.normal(size=2), 0.01))
    assert len(np.unique(noisy.tau[:, 0])) == 10


def test_bad_samplers_say_what_is_wrong(arm) -> None:
    with pytest.raises(DalembertError, match="law is of type list"):
        Sampled([1.0, 2.0], 0.01)
    for period, delay in ((0.0, 0.0), (-1.0, 0.0), ("fast", 0.0), (np.inf, 0.0), (0.01, -1.0), (0.01, np.nan)):
        with pytest.raises(DalembertError, match="expected a time"):
            Sampled(lambda t, q, v: v, period, delay)
    with pytest.raises(SimulationError, match=r"returned is of type NoneType.*expected \(2,\)"):
        arm.simulate(Q, V, 0.1, Sampled(lambda t, q, v: None, 0.01))
    with pytest.raises(DalembertError, match="cannot be traced"):
        arm.rollout(Q, V, Sampled(lambda t, q, v: v * float(t), 0.01))


def test_times_and_values_of_a_single_joint() -> None:
    builder = ModelBuilder("slide")
    builder.add_body("cart", parent="world", joint="prismatic", joint_name="rail", axis=(1, 0, 0), mass=2.0)
    robot = builder.build()
    run = robot.simulate([0.0], [0.0], 1.0, ([0.0, 1.0], [0.0, 6.0]))
    np.testing.assert_allclose(run.v[-1], 1.5, rtol=ITERATED)
    np.testing.assert_allclose(run.q[-1], 0.5, rtol=ITERATED)


def test_a_controller_that_explodes_stops_the_run() -> None:
    """Damping of 10 N·m·s/rad, evaluated every millisecond, on a joint of 1e-4 kg·m²: a hundred times too much."""
    robot = load("ur5")
    with pytest.raises(SimulationError, match=r"steps led only .* a torque law with too high gains.*joint '") as caught:
        robot.simulate(robot.neutral(), np.zeros(6), 1.0, Sampled(lambda t, q, v: -10.0 * v, 1e-3), record=1e-3)
    assert caught.value.run is not None and 0.0 < caught.value.run.t[-1] < 1.0


def test_why_a_law_is_called_back_is_said_in_full():
    """The reason ends with what to do, which must not be cut off."""

    def law(t, q, v):
        return [1.0 if q[0] > 0 else 0.0, 0.0]

    note = load("2r").simulate([0.1, 0.2], [0.0, 0.0], 0.01, torque=law).log[0]
    assert "…" not in note and "where(" in note and note.endswith("called back from Python, which is slower")
