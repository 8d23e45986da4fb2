"""Runs: torque laws, failures that explain themselves, files, plots, advice."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dalembert import (
    DalembertError,
    Event,
    ModelBuilder,
    Robot,
    Sampled,
    SimulationError,
    elements,
    load,
    load_run,
    math,
)

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
        np.testing.assert_allclose(run.q, constant.q, atol=1e-8)
        np.testing.assert_allclose(run.tau, np.tile(tau, (51, 1)))
        np.testing.assert_allclose(run.energy.work["actuator " + run.freedoms[0]],
                                   constant.energy.work["actuator " + run.freedoms[0]], atol=1e-7)  # fmt: skip


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
        np.testing.assert_allclose(slow.q, fast.q, atol=1e-12)
        np.testing.assert_allclose(slow.energy.total, fast.energy.total, atol=1e-11)
    held = arm.simulate(Q, V, 0.2, called, "implicit-midpoint", 1e-3)
    np.testing.assert_array_equal(held.tau[0], called(0.0, Q, V))
    assert any("asked once per step" in line for line in held.log)
    np.testing.assert_allclose(held.q, arm.simulate(Q, V, 0.2, traced).q, atol=1e-3)


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
        np.testing.assert_allclose(whole.q, legs.q, atol=1e-7)
        np.testing.assert_allclose(whole.tau, legs.tau, atol=1e-12)
        np.testing.assert_allclose(whole.energy.total, legs.energy.total, atol=1e-7)
        assert abs(whole.steps - legs.steps) <= 0.2 * legs.steps


def test_rows_are_held_and_points_are_joined_by_lines(arm) -> None:
    rows = np.array([[1.0, 0.0], [-1.0, 0.5]])
    run = arm.simulate(Q, V, 1.0, rows, record=0.1)
    np.testing.assert_allclose(run.tau[1:5], np.tile(rows[0], (4, 1)))
    np.testing.assert_allclose(run.tau[6:], np.tile(rows[1], (5, 1)))
    first = arm.simulate(Q, V, 0.5, rows[0], record=0.5)
    second = arm.simulate(first.q[-1], first.v[-1], 0.5, rows[1], record=0.5)
    np.testing.assert_allclose(run.q[-1], second.q[-1], atol=1e-8)
    line = arm.simulate(Q, V, 1.0, ([0.2, 0.8], rows), record=0.1)
    expected = [[np.interp(t, [0.2, 0.8], rows[:, k]) for k in range(2)] for t in line.t]
    np.testing.assert_allclose(line.tau, expected, atol=1e-12)

    def joined(t, q, v):
        share = (math.minimum(math.maximum(t, 0.2), 0.8) - 0.2) / 0.6
        return rows[0] + share * (rows[1] - rows[0])

    np.testing.assert_allclose(line.q, arm.simulate(Q, V, 1.0, joined, record=0.1).q, atol=1e-5)


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
    assert np.abs(run.energy.residual).max() < 1e-3


@pytest.mark.parametrize("record", [None, 0.03, 0.25])
@pytest.mark.parametrize(("integrator", "step"), [("rk45", None), ("heun", 1e-2), ("implicit-midpoint", 1e-2)])
def test_recording_grid(arm, integrator, step, record) -> None:
    run = arm.simulate(Q, V, 0.2, None, integrator, step, record=record)
    assert run.t[0] == 0.0 and run.t[-1] == 0.2 and np.all(np.diff(run.t) > 0.0)
    if record is None:
        assert len(run.t) == run.steps + 1
    else:
        np.testing.assert_allclose(run.t[:-1], record * np.arange(len(run.t) - 1), atol=1e-15)
    np.testing.assert_array_equal(run.q[0], Q)
    fine = arm.simulate(Q, V, 0.2)
    np.testing.assert_allclose(run.q[-1], fine.q[-1], atol=1e-3)


def test_an_unstable_run_says_when_where_and_what_to_try(arm) -> None:
    stiff = [elements.Spring(joint.name, 1e5) for joint in arm.joints]
    with pytest.raises(SimulationError) as caught:
        arm.simulate(Q, V, 1.0, integrator="euler", step=1e-2, elements=stiff)
    text, run = str(caught.value), caught.value.run
    assert "stopped at t = " in text and "joint '" in text and "euler is unstable at every step" in text
    assert "implicit-midpoint" in text and run is not None
    assert 1 < len(run.t) < 101 and np.all(np.isfinite(run.q))
    calm = arm.simulate(Q, V, 0.1, integrator="implicit-midpoint", step=1e-2, elements=stiff)
    assert np.abs(calm.v).max() < 1e3


def test_stiff_damping_needs_no_small_step(arm) -> None:
    brakes = [elements.Damper(joint.name, 1e5) for joint in arm.joints]
    run = arm.simulate(Q, V, 0.1, integrator="implicit-velocity", step=1e-2, elements=brakes)
    assert np.abs(run.v[-1]).max() < 1e-3
    with pytest.raises(SimulationError, match="semi-implicit is stable up to"):
        arm.simulate(Q, V, 1.0, integrator="semi-implicit", step=1e-2, elements=brakes)


def test_a_law_that_returns_nan_is_named(arm) -> None:
    def law(t, q, v):
        return np.array([0.0, np.nan if float(t) > 0.1 else 0.0])

    said = rf"at t = 0\.1\d* s torque function law returned nan for joint '{arm.joints[1].name}'"
    with pytest.raises(SimulationError, match=said) as caught:
        arm.simulate(Q, V, 1.0, law)
    assert caught.value.run is not None and caught.value.run.t[-1] > 0.05


def test_a_force_that_ends_being_a_number_stops_the_steps(arm) -> None:
    with pytest.raises(SimulationError, match=r"stopped at t = 0\.5 s: .*the step became smaller") as caught:
        arm.simulate(Q, V, 1.0, lambda t, q, v: np.array([math.sqrt(0.5 - t), 0.0]))
    assert caught.value.run is not None and len(caught.value.run.t) > 20


def test_a_joint_without_mass_is_refused() -> None:
    builder = ModelBuilder("massless")
    builder.add_body("point", parent="world", joint="revolute", joint_name="turn", mass=1.0, inertia=np.zeros((3, 3)))
    with pytest.raises(DalembertError, match="joint 'turn' moves no mass"):
        builder.build().simulate([0.0], [0.0], 1.0)


def test_bad_settings_are_refused(arm) -> None:
    for arguments, said in (
        ({"duration": -1.0}, "duration is -1.0"),
        ({"step": 0.0}, "step is 0.0"),
        ({"rtol": "small"}, "rtol is 'small'"),
        ({"integrator": "rk455"}, "did you mean 'rk45'"),
        ({"torque": np.zeros(3)}, r"torque has shape \(3,\)"),
        ({"torque": np.array([np.nan, 0.0])}, "torque has NaN"),
        ({"torque": lambda t, q, v: q[:1]}, r"returned shape \(1,\)"),
        ({"q": np.zeros((4, 2))}, "`rollout` takes batches"),
    ):
        with pytest.raises(DalembertError, match=said):
            arm.simulate(**{"q": Q, "v": V, "duration": 1.0} | arguments)


def test_an_interrupt_keeps_what_was_computed(arm) -> None:
    def law(t, q, v):
        if float(t) > 0.05:
            raise KeyboardInterrupt
        return np.zeros(2)

    run = arm.simulate(Q, V, 10.0, law, "rk4", 1e-2, record=None)
    assert 0.02 < run.t[-1] < 0.06
    assert any("interrupted at t = " in line for line in run.log)


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet", "h5", "mcap"])
def test_what_is_saved_comes_back(arm, tmp_path, ending: str) -> None:
    for library in {"parquet": ["pyarrow"], "h5": ["h5py"], "mcap": ["mcap"]}.get(ending, []):
        pytest.importorskip(library)
    joint = arm.joints[1].name
    parts = [elements.HardStop(joint, 0.5, lower=-0.5, upper=0.5), elements.Friction(joint, 0.1, stiffness=1e3)]
    run = arm.simulate(Q, V, 0.5, np.array([1.0, 2.0]), elements=parts)
    run.save(tmp_path / f"run.{ending}")
    back = load_run(tmp_path / f"run.{ending}")
    for name in ("t", "q", "v", "tau", "states", "multipliers"):
        np.testing.assert_array_equal(getattr(back, name), getattr(run, name))
    np.testing.assert_array_equal(back.energy.residual, run.energy.residual)
    assert (back.robot, back.freedoms, back.log, back.steps, back.settings) == (
        run.robot, run.freedoms, run.log, run.steps, run.settings)  # fmt: skip
    assert (back.coordinate_units, back.freedom_units) == (("rad", "rad"), ("rad", "rad"))
    with pytest.raises(DalembertError, match="loaded without its robot"):
        back.view()
    assert len(run.events) and [e.t for e in back.events] == [e.t for e in run.events]


def test_files_that_are_no_runs_are_refused(arm, tmp_path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    for name, said in (("x.csv", "is not a run"), ("y.csv", "no such file"), ("x.doc", "no such file")):
        with pytest.raises(DalembertError, match=said):
            load_run(tmp_path / name)
    with pytest.raises(DalembertError, match=r"unknown ending '\.doc'"):
        arm.simulate(Q, V, 0.1).save(tmp_path / "x.doc")


def test_plots_have_names_and_units(arm, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    run = arm.simulate(Q, V, 0.2, np.array([1.0, 0.0]))
    figure = run.plot()
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "q [rad]", "v [rad/s]", "tau [N·m]", "energy [J]"]  # fmt: skip
    assert {t.get_text() for t in figure.axes[0].get_legend().get_texts()} == {j.name for j in arm.joints}
    figure.savefig(tmp_path / "run.png")
    cart = load("cartpole").simulate([0.0, 0.3], [0.0, 0.0], 0.1).plot()  # nothing drives it: no panel of forces
    assert [axes.get_ylabel() for axes in cart.axes] == ["q", "v", "energy [J]"]
    assert [t.get_text() for t in cart.axes[1].get_legend().get_texts()] == ["slider [m/s]", "hinge [rad/s]"]
    dog = load("quadruped")
    run = dog.simulate(dog.neutral(), np.zeros(dog.nv), 0.05)
    names = [t.get_text() for t in run.plot("q").axes[0].get_legend().get_texts()]
    assert names[2:4] == [f"{dog.joints[0].name}[2] [m]", f"{dog.joints[0].name}[3]"] and len(names) == dog.nq
    assert run.freedom_units == ("rad",) * 3 + ("m",) * 3 + ("rad",) * 12


def test_step_advice_is_two_over_the_fastest_frequency() -> None:
    builder = ModelBuilder("mass", gravity=(0.0, 0.0, 0.0))
    builder.add_body("mass", parent="world", joint="prismatic", joint_name="slide", mass=2.0)
    robot = builder.build()
    spring = [elements.Spring("slide", 800.0)]
    advice = robot.step_advice([0.0], elements=spring)
    assert advice.frequency == pytest.approx(20.0, rel=1e-6) and advice.joint == "slide"
    assert advice.stable == pytest.approx(2.0 / 20.0, rel=1e-6)
    for share, stable in ((0.98, True), (1.02, False)):
        made = robot.rollout([0.1], [0.0], None, share * advice.stable, 2000, elements=spring, check=False)
        assert (np.abs(made.q[0]) < 10.0) == stable


def test_a_long_run_shows_its_progress(arm, capsys, monkeypatch) -> None:
    from dalembert.sim import progress

    clock = iter(np.arange(0.0, 1e4, 0.5))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    arm.simulate(Q, V, 1.0, integrator="rk4", step=1e-4, progress=True)
    assert "simulating █" in capsys.readouterr().err


def test_runs_can_be_pickled(arm) -> None:
    run = arm.simulate(Q, V, 0.1)
    back = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(back.q, run.q)
    assert back.viewer is not None and back.log == run.log


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
    np.testing.assert_allclose(law.times, period * np.arange(21), atol=1e-12)
    acting = np.floor((run.t[1:-1] - delay - 1e-4) / period).astype(int)  # u at a time is what led there
    expected = np.array([law.answers[k] if k >= 0 else np.zeros(2) for k in acting])
    np.testing.assert_array_equal(run.tau[1:-1], expected)
    np.testing.assert_array_equal(run.tau[0], np.zeros(2) if delay else law.answers[0])
    rare = arm.simulate(Q, V, 0.1, Sampled(Integral(0.01), period, delay), integrator, step, record=0.05)
    np.testing.assert_array_equal(rare.tau[0], run.tau[0])
    assert run.t[-1] == 0.205 and run.audit().relative < 1e-4
    if delay == 0.0:
        rows = arm.simulate(Q, V, 0.2, np.array(law.answers[:20]), integrator, step, record=1e-3)
        np.testing.assert_allclose(run.q[:201], rows.q, atol=1e-9)


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
    with pytest.raises(DalembertError, match="only `simulate` does"):
        arm.rollout(Q, V, Sampled(lambda t, q, v: v, 0.01))


def test_limits_that_are_exceeded_are_told() -> None:
    builder = ModelBuilder("swing")
    builder.add_body(
        "rod", parent="world", joint="revolute", joint_name="pin", axis=(0, 1, 0), mass=1.0, com=(0.5, 0, 0),
        inertia=0.01 * np.eye(3), lower=-1.0, upper=0.5, velocity_limit=3.0, effort_limit=2.0,
    )  # fmt: skip
    robot = builder.build()
    free = robot.simulate([0.0], [0.0], 1.0, [3.0])
    assert [line.split(" exceeded")[0] for line in free.log] == ["range of 'pin'", "speed of 'pin'", "effort of 'pin'"]
    first = free.t[np.argmax(free.q[:, 0] > 0.5)]
    assert f"t = {first:.4g} s" in free.log[0] and "limit 0.5; it acts with elements.HardStop" in free.log[0]
    assert all(line in free.audit().text for line in free.log)
    ends = [elements.HardStop("pin"), elements.Motor("pin", 1.0, 100.0)]
    assert robot.simulate([0.0], [0.0], 0.1, [3.0], elements=ends).log == ()
    assert robot.simulate([0.5], [-1.0], 0.01).log == ()


def test_times_and_values_of_a_single_joint() -> None:
    builder = ModelBuilder("slide")
    builder.add_body("cart", parent="world", joint="prismatic", joint_name="rail", axis=(1, 0, 0), mass=2.0)
    robot = builder.build()
    run = robot.simulate([0.0], [0.0], 1.0, ([0.0, 1.0], [0.0, 6.0]))
    np.testing.assert_allclose(run.v[-1], 1.5, rtol=1e-9)
    np.testing.assert_allclose(run.q[-1], 0.5, rtol=1e-9)


def test_a_controller_that_explodes_stops_the_run() -> None:
    """Damping of 10 N·m·s/rad, asked every millisecond, on a joint of 1e-4 kg·m²: a hundred times too much."""
    robot = load("ur5")
    with pytest.raises(SimulationError, match=r"steps led only .* a torque law with too high gains.*joint '") as caught:
        robot.simulate(robot.neutral(), np.zeros(6), 1.0, Sampled(lambda t, q, v: -10.0 * v, 1e-3), record=1e-3)
    assert caught.value.run is not None and 0.0 < caught.value.run.t[-1] < 1.0
