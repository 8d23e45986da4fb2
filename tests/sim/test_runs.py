"""Runs: failures that explain themselves, files, plots, advice."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dalembert import (
    DalembertError,
    ModelBuilder,
    Robot,
    SimulationError,
    elements,
    load,
    load_run,
    math,
)
from dalembert.compiler.backends.llvm import target
from tolerances import INTEGRATED, MILLISECOND_STEPS, ROUNDING

Q, V = np.array([0.4, -0.3]), np.array([0.1, 0.2])


@pytest.fixture(scope="module")
def arm() -> Robot:
    return load("2r")


@pytest.mark.parametrize("record", [None, 0.03, 0.25])
@pytest.mark.parametrize(("integrator", "step"), [("rk45", None), ("heun", 1e-2), ("implicit-midpoint", 1e-2)])
def test_recording_grid(arm, integrator, step, record) -> None:
    run = arm.simulate(Q, V, 0.2, None, integrator, step, record=record)
    assert run.t[0] == 0.0 and run.t[-1] == 0.2 and np.all(np.diff(run.t) > 0.0)
    if record is None:
        assert len(run.t) == run.steps + 1
    else:
        np.testing.assert_allclose(run.t[:-1], record * np.arange(len(run.t) - 1), atol=ROUNDING)
    np.testing.assert_array_equal(run.q[0], Q)
    fine = arm.simulate(Q, V, 0.2)
    np.testing.assert_allclose(run.q[-1], fine.q[-1], atol=MILLISECOND_STEPS)


def test_an_unstable_run_says_when_where_and_what_to_try(arm) -> None:
    stiff = [elements.Spring(joint.name, 1e5) for joint in arm.joints]
    with pytest.raises(SimulationError) as caught:
        arm.simulate(Q, V, 1.0, integrator="euler", step=1e-2, elements=stiff)
    text, run = str(caught.value), caught.value.run
    assert "stopped at t = " in text and "joint '" in text and "euler is unstable at every step" in text
    assert "'rodas'" in text and run is not None
    assert 1 < len(run.t) < 101 and np.all(np.isfinite(run.q))
    calm = arm.simulate(Q, V, 0.1, integrator="implicit-midpoint", step=1e-2, elements=stiff)
    assert np.abs(calm.v).max() < 1e3


def test_stiff_damping_needs_no_small_step(arm) -> None:
    brakes = [elements.Damper(joint.name, 1e5) for joint in arm.joints]
    run = arm.simulate(Q, V, 0.1, integrator="implicit-velocity", step=1e-2, elements=brakes)
    assert np.abs(run.v[-1]).max() < MILLISECOND_STEPS
    with pytest.raises(SimulationError, match="semi-implicit is stable up to"):
        arm.simulate(Q, V, 1.0, integrator="semi-implicit", step=1e-2, elements=brakes)


def test_a_force_that_ends_being_a_number_stops_the_steps(arm) -> None:
    with pytest.raises(SimulationError, match=r"stopped at t = 0\.5 s: .*the step became smaller") as caught:
        arm.simulate(Q, V, 1.0, lambda t, q, v: np.array([math.sqrt(0.5 - t), 0.0]))
    assert caught.value.run is not None and len(caught.value.run.t) > 20


def test_a_joint_without_mass_is_refused() -> None:
    builder = ModelBuilder("massless")
    builder.add_body("point", parent="world", joint="revolute", joint_name="turn", mass=1.0, inertia=np.zeros((3, 3)))
    with pytest.raises(DalembertError, match="joint 'turn' moves no mass"):
        Robot(builder.model()).simulate([0.0], [0.0], 1.0)


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
    base = dog.joints[0].name
    assert names[2:4] == [f"{base} z [m]", f"{base} qw"] and len(names) == dog.nq
    assert run.freedom_units == ("rad",) * 3 + ("m",) * 3 + ("rad",) * 12


@pytest.mark.parametrize(
    ("q", "what"),
    [
        ([0.0], r"shape \(1,\), expected \(2,\)"),
        ([0.0, np.nan], r"q\[1\] is not finite"),
        (None, "not an array of real"),
    ],
)
def test_step_advice_refuses_what_is_no_state(q, what) -> None:
    with pytest.raises(DalembertError, match=f"step_advice: q.*{what}|step_advice: {what}"):
        load("2r").step_advice(q)


@pytest.mark.filterwarnings("ignore:invalid value")  # NaN is folded while the law is traced
def test_a_law_that_gives_nan_is_named(arm) -> None:
    with pytest.raises(SimulationError, match="the torque at joint 'elbow' is nan: correct the law"):
        arm.simulate(Q, V, 0.1, torque=lambda t, q, v: [0.0, np.nan * q[0]])


def test_step_advice_is_two_over_the_fastest_frequency() -> None:
    builder = ModelBuilder("mass", gravity=(0.0, 0.0, 0.0))
    builder.add_body("mass", parent="world", joint="prismatic", joint_name="slide", mass=2.0)
    robot = builder.build()
    spring = [elements.Spring("slide", 800.0)]
    advice = robot.step_advice([0.0], elements=spring)
    assert advice.frequency == pytest.approx(20.0, rel=INTEGRATED) and advice.joint == "slide"
    assert advice.stable == pytest.approx(2.0 / 20.0, rel=INTEGRATED)
    for share, stable in ((0.98, True), (1.02, False)):
        made = robot.rollout([0.1], [0.0], None, share * advice.stable, 2000, elements=spring, check=False)
        assert (np.abs(made.q[0]) < 10.0) == stable


def test_a_long_run_shows_its_progress(arm, capsys, monkeypatch) -> None:
    from dalembert import progress

    clock = iter(np.arange(0.0, 1e4, 0.5))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    arm.simulate(Q, V, 1.0, integrator="rk4", step=1e-4, progress=True)
    assert "simulating █" in capsys.readouterr().err


def test_runs_can_be_pickled(arm) -> None:
    run = arm.simulate(Q, V, 0.1)
    back = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(back.q, run.q)
    assert back.viewer is not None and back.log == run.log


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
    assert (
        f"t = {first:.4g} s" in free.log[0] and "limit 0.5; limits act only with elements=robot.stops()" in free.log[0]
    )
    assert all(line in free.audit().text for line in free.log)
    ends = [elements.HardStop("pin"), elements.Motor("pin", 1.0, 100.0)]
    assert robot.simulate([0.0], [0.0], 0.1, [3.0], elements=ends).log == ()
    assert robot.simulate([0.5], [-1.0], 0.01).log == ()


def test_programs_that_integrators_have_in_common_are_compiled_once(tmp_path, monkeypatch) -> None:
    """Energies and event functions are those of the system; steps with and without records are one."""
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))  # empty
    texts, compile_object = [], target.compile_object
    monkeypatch.setattr(target, "compile_object", lambda text: texts.append(text) or compile_object(text))
    builder = ModelBuilder("bob")
    builder.add_body(
        "bob", parent="world", joint="revolute", mass=1.2345, com=(0.3, 0.0, 0.1), inertia=np.eye(3) * 0.02
    )
    stop = [elements.HardStop("bob", lower=-0.2, upper=0.2)]
    counts = []
    for integrator in ("rk4", "implicit-midpoint"):
        for record in (None, 0.05):
            builder.build().simulate([0.15], [1.0], 0.1, None, integrator, 1e-2, record=record, elements=stop)
            counts.append(len(texts))
    steps = [text for text in texts if f"@{target.STEP}(" in text]
    others = [text for text in texts if text not in steps]
    assert len(others) == len(set(others)) >= 2
    assert len({text for text in steps if "define void" in text}) == sum("define void" in text for text in steps) >= 2
    assert counts[0] < counts[2]  # the other integrator has a step of its own
