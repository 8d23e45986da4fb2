"""Studies: the same rows from any executor and after any interruption, failures as rows, mistakes named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import studied
from dalembert import DalembertError, Interrupted, load, study
from dalembert.model import tool_frame
from dalembert.study.parts import parts
from tolerances import COARSE_RUN, COMPUTED

pytest.importorskip("pyarrow")
STEP_OF_FIRST_ORDER = 0.05  # [J] of 2 kg that swing for 0.1 s in steps of 2 ms


@pytest.fixture(scope="module")
def robot():
    return load("2r")


def same(one, two) -> bool:
    """Whether two results have the same bits in every column but the time."""
    names = [name for name in one.table() if name != "seconds"]
    assert names == [name for name in two.table() if name != "seconds"]
    return all(
        np.array_equal(one.table()[n], two.table()[n], equal_nan=one.table()[n].dtype.kind == "f") for n in names
    )


@pytest.fixture(scope="module")
def called(robot, tmp_path_factory):
    """A study of a function, whole."""
    return studied.calls(robot).run(tmp_path_factory.mktemp("called") / "s", workers=1)


@pytest.fixture(scope="module")
def moved(robot, tmp_path_factory):
    """A study of motions, whole."""
    return studied.motions(robot).run(tmp_path_factory.mktemp("moved") / "s", workers=1)


def test_a_study_is_a_table(called, robot):
    table = called.table()
    assert called.complete and called.outputs == ("torque", "energy") and table["torque"].shape == (300, 2)
    np.testing.assert_array_equal(table["row"], np.arange(300))
    row = studied.calls(robot).task.draw.rows(17, 18)
    assert table["mass"][17] == row["mass"][0] and called.failed.rows.tolist() == [7]
    assert np.isnan(table["energy"][7]) and "RuntimeError: no way (studied.py:" in table["failed"][7]
    assert "no way" in str(called.failed) and len(called.failed) == 1
    worst = called.worst("energy", 3)
    order = np.argsort(-np.where(np.isnan(table["energy"]), -np.inf, table["energy"]))
    assert [each["row"] for each in worst] == order[:3].tolist()
    assert called.repeat(17)["energy"] == pytest.approx(table["energy"][17], rel=COMPUTED)


def test_the_folder_opens_without_the_code(called, moved):
    for result in (called, moved):
        again = study.open(result.folder)
        assert same(again, result) and repr(again) == repr(result)
        with pytest.raises(DalembertError, match="needs the function"):
            again.repeat(3)
        assert again.sensitivity(again.outputs[-1], 0).factors


def test_threads_processes_and_chunks_give_the_same_bits(called, moved, robot, tmp_path):
    context = get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        for k, (whole, job) in enumerate(((called, studied.calls(robot)), (moved, studied.motions(robot)))):
            assert same(whole, job.run(tmp_path / f"threads {k}", workers=3))
            assert same(whole, job.run(tmp_path / f"processes {k}", pool))


def test_the_rows_of_a_motion_are_those_of_a_rollout(moved, robot):
    table = moved.table()
    q = np.tile(robot.neutral(), (len(table["row"]), 1)) + table["start"]
    parameters = {"payload": table["load"][:, None], "k": table["gain"][:, None]}
    end = robot.rollout(q, 0.0 * q, studied.spring, step=2e-3, steps=50, every=1, parameters=parameters)
    np.testing.assert_array_equal(table["end"], end.q[:, -1])
    tau = np.concatenate([(-table["gain"][:, None] * q)[:, None], -table["gain"][:, None, None] * end.q], axis=1)
    tau[:, 1:] -= 0.5 * end.v
    np.testing.assert_allclose(table["peak"], np.abs(tau[:, :-1]).max(axis=1), rtol=COMPUTED)
    speeds = np.concatenate([np.zeros((len(q), 1)), (end.v**2).sum(axis=-1)], axis=1)
    np.testing.assert_allclose(table["speed"], speeds.mean(axis=1), rtol=COMPUTED)
    heavier = robot.edit().payload(float(table["load"][3]), frame=tool_frame(robot.model).name).done()
    alone = heavier.rollout(q[3:5], 0.0 * q[3:5], studied.spring, 2e-3, 50, parameters={"k": table["gain"][3:4]})
    np.testing.assert_allclose(table["end"][3], alone.q[0], atol=COMPUTED)


def test_a_row_runs_again_with_its_ledger(moved):
    run = moved.repeat(11)
    np.testing.assert_allclose(run.q[-1], moved.table()["end"][11], atol=COARSE_RUN)
    assert len(run.t) == 51 and abs(run.energy.residual[-1]) < STEP_OF_FIRST_ORDER


def test_a_study_with_errors_of_the_model(robot, tmp_path):
    space = study.Space(model=study.cad_errors(), start=study.states(robot, 0.2))
    motion = study.motion(step=2e-3, steps=50, measure={"end": lambda q: q}, reduce="last")
    job = robot.study(space, motion, samples=20)
    result = job.run(tmp_path / "s")
    run = result.repeat(5)
    np.testing.assert_allclose(run.q[-1], result.table()["end"][5], atol=COARSE_RUN)

    def swing(own, row):
        q, v = row["start"]
        again = row.nominal.rollout(q[None], v[None], None, 2e-3, 50, parameters=row.live)
        return {"end": again.q[0], "mass": own.total_mass}

    called = robot.study(space, swing, samples=3).run(tmp_path / "t")
    np.testing.assert_allclose(called.table()["end"], result.table()["end"][:3], atol=COMPUTED)
    assert len(set(called.table()["mass"])) == 3 and called.table()["model"].shape == (3, 16)
    assert called.table().labels["model"][0].startswith("model.lump.")


def test_errors_of_the_model_leave_other_groups_to_axes(robot):
    errors = study.Space(model=study.model_errors(mass=0.1), rub=study.uniform(0.0, 1.0))
    motion = study.motion(
        steps=5, measure={"end": lambda q: q}, parameters={"friction": "rub"}, start=([0.1, 0.2], [1, 2])
    )
    assert not robot.study(errors, motion, samples=3).run(workers=1).failed
    twice = study.Space(model=study.model_errors(friction=0.1), rub=study.uniform(0.0, 1.0))
    with pytest.raises(DalembertError, match="friction is given twice"):
        robot.study(twice, motion, samples=3)


def test_more_samples_are_added(robot, tmp_path, called):
    assert studied.calls(robot, samples=1).run(tmp_path / "s").table().rows == 1
    few = studied.calls(robot, samples=40).run(tmp_path / "s")
    assert few.table().rows == 40
    assert studied.calls(robot, samples=3).run(tmp_path / "s").table().rows == 40
    before = {path: path.stat().st_mtime_ns for _, _, path in parts(few.folder)}
    assert same(studied.calls(robot).run(tmp_path / "s"), called)
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    job = studied.calls(robot, samples=40, method="lhs")
    job.run(tmp_path / "lhs")
    with pytest.raises(DalembertError, match="number cannot change"):
        studied.calls(robot, samples=41, method="lhs").run(tmp_path / "lhs")


def test_a_second_run_computes_what_is_missing_alone(robot, tmp_path, called):
    job = studied.calls(robot)
    job.run(tmp_path / "s")
    files = parts(tmp_path / "s")
    files[1][2].unlink()
    files[2][2].write_bytes(files[2][2].read_bytes()[:-9])  # cut off
    kept = files[0][2].stat().st_mtime_ns
    assert not study.open(tmp_path / "s").complete
    assert same(job.run(tmp_path / "s"), called) and files[0][2].stat().st_mtime_ns == kept


def test_a_killed_study_goes_on(tmp_path, called, robot):
    """kill -9 in the middle, then two processes at once."""
    command = [sys.executable, studied.__file__, str(tmp_path / "s")]
    process = subprocess.Popen(command)
    while len(parts(tmp_path / "s")) < 3 and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    rows = sum(end - begin for begin, end, _ in parts(tmp_path / "s"))
    assert 0 < rows < 300
    both = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert same(study.open(tmp_path / "s"), called)


def test_ctrl_c_keeps_what_is_done(tmp_path, called, robot):
    process = subprocess.Popen(
        [sys.executable, studied.__file__, str(tmp_path / "s")], stderr=subprocess.PIPE, text=True
    )
    while len(parts(tmp_path / "s")) < 3:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    text = process.communicate()[1]
    assert process.returncode == 130 and "of 300 rows are in" in text and "the same run again goes on" in text
    done = study.open(tmp_path / "s").table().rows
    assert 0 < done < 300
    assert same(studied.calls(robot).run(tmp_path / "s"), called)


def test_a_worker_that_dies_is_replaced(robot, tmp_path, called):
    marks = tmp_path / "marks"
    marks.mkdir()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        result = studied.deaths(robot, str(marks), always=False).run(tmp_path / "once", pool)
    assert len(list(marks.iterdir())) == 1
    np.testing.assert_array_equal(result.table()["energy"], called.table()["energy"][:24])


@pytest.mark.long
def test_a_row_that_kills_its_worker_is_found(robot, tmp_path, called):
    marks = tmp_path / "marks"
    marks.mkdir()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        result = studied.deaths(robot, str(marks), always=True).run(tmp_path / "always", pool)
    assert result.failed.rows.tolist() == [7, 13] and "the worker died" in result.table()["failed"][13]
    others = np.arange(24) != 13
    np.testing.assert_array_equal(result.table()["energy"][others], called.table()["energy"][:24][others])


def test_rows_that_hang_diverge_or_return_nonsense_are_rows(robot, tmp_path):
    result = studied.troubles(robot).run(tmp_path / "s", workers=2)
    texts = result.table()["failed"]
    expected = {
        2: "TimeLimit: took longer than 0.5 s",
        3: "TimeLimit: took longer than 0.5 s, and does not end",
        4: "output 'y' is NaN",
        5: "the function returned no 'y', but 'z'",
        6: "output 'y' is of type str, expected a number or an array of numbers",
        7: "output 'y' has shape (2,), that of other rows ()",
        8: "the function returned NoneType, expected a dict of numbers",
        9: "SystemExit: 3",
        10: "SimulationError: ",
        11: "the function returned 'more', which other rows do not have",
    }
    for row in range(14):
        assert texts[row].startswith(expected.get(row, "")) and bool(texts[row]) == (row in expected), texts[row]
    np.testing.assert_array_equal(result.table()["y"][[0, 1, 12, 13]], [0.0, 1.0, 12.0, 13.0])


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"mass": 1.0}, "'mass', which is an axis or a column"),
        ({"row": 1.0}, "'row', which is an axis or a column"),
        ({1: 1.0}, "the name 1, expected a text"),
        ({"y": []}, "'y' is an array without numbers"),
        ({"y": np.ma.masked_equal([1.0, 2.0], 1.0)}, "'y' is NaN"),
    ],
)
def test_outputs_that_no_table_can_have_are_failures(robot, answer, text):
    table = robot.study(studied.SPACE, lambda robot, row: answer, samples=2).run(workers=1).table()
    assert all(text in reason for reason in table["failed"]) and (table["mass"] != 1.0).all()


def test_motions_that_diverge_are_rows(robot, tmp_path):
    space = study.Space(gain=study.grid(1.0, 1e9, 2.0))
    motion = study.motion(
        studied.spring, step=2e-3, steps=100, parameters={"k": "gain"}, measure={"end": lambda q: q[0]},
        reduce="last", start=([0.5, 0.1], [0.0, 0.0]),
    )  # fmt: skip
    result = robot.study(space, motion).run(tmp_path / "s")
    assert result.failed.rows.tolist() == [1] and "diverged" in str(result.failed)
    alone = robot.study(study.Space(gain=study.grid(2.0)), motion).run(tmp_path / "t")
    assert alone.table()["end"][0] == result.table()["end"][2]  # one row has the bits of many


def test_values_that_no_robot_can_have_are_rows(robot):
    space = study.Space(load=study.grid(1.0, -1.0, 2.0, axis="a"), rub=study.grid(0.1, 0.2, -0.1, axis="a"))
    motion = study.motion(
        step=2e-3, steps=5, parameters={"payload": "load", "friction": "rub"}, measure={"end": lambda q: q}
    )
    table = robot.study(space, motion).run(workers=1).table()
    assert table["failed"][0] == "" and "payload is -1, expected 0 or more" in table["failed"][1]
    assert "friction of joint 'shoulder' is negative" in table["failed"][2]


def test_infinite_outputs_are_the_worst(robot):
    answer = {0.0: -np.inf, 1.0: 3.0, 2.0: np.inf}
    result = robot.study(study.Space(a=study.grid(0, 1, 2)), lambda robot, row: {"y": answer[row["a"]]}).run(workers=1)
    assert [each["row"] for each in result.worst("y")] == [2, 1, 0]
    assert [each["row"] for each in result.worst("y", 1, smallest=True)] == [0]


def test_what_changed_is_named(robot, tmp_path):
    folder = tmp_path / "s"
    studied.calls(robot, samples=4).run(folder)
    others = {
        "the function": robot.study(studied.SPACE, studied.another, samples=4, method="sobol", seed=3),
        "the seed": studied.calls(robot, samples=4, seed=4),
        "the method": studied.calls(robot, samples=4, method="random"),
        "the robot": studied.calls(robot.edit().payload(1.0, frame="link2").done(), samples=4),
        "the outputs": robot.study(
            studied.SPACE, studied.energies, samples=4, method="sobol", seed=3, outputs=["energy"]
        ),
        "the space": robot.study(
            study.Space(mass=study.uniform(0, 2), speed=study.normal(0, 1)), studied.energies, samples=4,
            method="sobol", seed=3,
        ),
    }  # fmt: skip
    for word, job in others.items():
        with pytest.raises(DalembertError, match=f"another study: {word} changed.*new folder"):
            job.run(folder)
    assert study.open(folder).table().rows == 4


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda r: r.study({"a": 1}, studied.energies), "space is of type dict"),
        (lambda r: r.study(studied.SPACE, 3, samples=1), "run is of type int"),
        (lambda r: r.study(studied.SPACE, studied.energies), "pass samples"),
        (lambda r: r.study(studied.SPACE, studied.energies, samples=2, limit=0), "limit is 0"),
        (lambda r: r.study(studied.SPACE, studied.energies, samples=2, outputs=()), "expected names"),
        (lambda r: r.study(studied.SPACE, studied.energies, samples=2, outputs=("mass",)), "name of an axis"),
        (lambda r: r.study(studied.SPACE, studied.energies, samples=2, outputs=(3,)), "expected names"),
        (lambda r: studied.calls(r, samples=2).run().worst("energy", -1), "count is -1"),
        (lambda r: studied.calls(r, samples=2).run().repeat(1.5), "row 1.5, expected a number from 0 to 1"),
        (lambda r: studied.motions(r, parameters={"payloa": "load", "k": "gain"}), "did you mean 'payload'"),
        (lambda r: studied.motions(r, parameters={"payload": "lod", "k": "gain"}), "did you mean 'load'"),
        (lambda r: studied.motions(r, parameters={"payload": "load"}), "axis 'gain' is used by nothing"),
        (lambda r: studied.motions(r, parameters={"payload": "start"}), "acts by itself"),
        (lambda r: study.motion(measure={}), "measure is empty"),
        (lambda r: study.motion(measure={"a": lambda q: q}, reduce="most"), "unknown reduction 'most'"),
        (lambda r: study.motion(measure={"a": lambda q: q}, steps=0), "steps is 0"),
        (lambda r: studied.calls(r).run("/proc/study"), "cannot be written"),
        (lambda r: studied.calls(r).run(Path(__file__).parent), "holds other files"),
        (lambda r: studied.calls(r).run(None, "dusk"), "unknown executor 'dusk'"),
        (lambda r: studied.calls(r).run(None, 3.0), "executor is of type float"),
        (lambda r: study.open(Path(__file__).parent), "no folder of a study"),
        (lambda r: study.open("/nowhere"), "no such folder"),
    ],
)
def test_mistakes_are_named(robot, make, text):
    with pytest.raises(DalembertError, match=text):
        make(robot)


def test_measures_with_mistakes_are_named(robot, tmp_path):
    for function, text in (
        (lambda x: x, "unknown argument 'x'"),
        (lambda q: "a", "rows 0 to"),
        (lambda q: [], "no number"),
    ):
        job = robot.study(
            study.Space(start=study.states(robot)), study.motion(measure={"m": function}, steps=2), samples=4
        )
        with pytest.raises(DalembertError, match=text):
            job.run(tmp_path / text[:3])


def test_a_full_disk_keeps_what_is_there(tmp_path, robot, called):
    """The system lets no file of the process grow beyond some bytes, as a full disk would."""
    done = subprocess.run(
        [sys.executable, studied.__file__, str(tmp_path / "s"), "2600"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2 and "cannot be written" in done.stderr and "rows are kept in" in done.stderr
    assert 0 < study.open(tmp_path / "s").table().rows < 300
    assert same(studied.calls(robot).run(tmp_path / "s"), called)


def test_other_libraries_read_the_table(called, tmp_path):
    called.table().to_parquet(tmp_path / "all.parquet")
    energy = called.table()["energy"]
    polars = pytest.importorskip("polars")
    for source in (tmp_path / "all.parquet", called.folder / "parts" / "*.parquet"):
        frame = polars.read_parquet(source).sort("row")
        np.testing.assert_array_equal(frame["energy"].to_numpy(), energy)
        assert frame["torque"].to_numpy().shape == (300, 2) and frame["failed"].null_count() == 299
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(tmp_path / "all.parquet")
    np.testing.assert_array_equal(frame["energy"], energy)
    pytest.importorskip("xarray")
    data = called.table().to_xarray()
    assert data["torque"].dims == ("row", "torque_1") and np.isnan(data["energy"].sel(row=7))


def test_explain_runs_nothing_and_predicts_the_rows(robot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forecast = studied.motions(robot, samples=25_000).explain(workers=1)
    assert forecast.rows == 50_000 and forecast.kind == "motion" and forecast.chunks >= 1
    assert forecast.seconds > 0.0 and "compiled rollout" in str(forecast) and not list(tmp_path.iterdir())
    assert "one call of the function" in str(studied.calls(robot).explain())


def test_a_temporary_folder_goes_with_the_result(robot):
    result = studied.calls(robot, samples=4).run()
    folder = result.folder
    assert folder.is_dir() and result.table().rows == 4
    del result
    assert not folder.exists()


def test_figures_and_the_page(called, moved, tmp_path):
    pytest.importorskip("matplotlib")
    assert len(called.plot().axes) == 4
    page = moved.report(tmp_path / "study.html", replays=0).read_text("utf-8")
    for word in ("peak", "largest |end|", "Correlations", "Spearman", "load"):
        assert word in page
    assert called.report(tmp_path / "called.html").read_text("utf-8").count("RuntimeError: no way") == 1
    with pytest.raises(DalembertError, match="there is no folder"):
        moved.report(tmp_path / "no" / "x.html")


def test_dask_gives_the_same_bits(called, robot, tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="inproc"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert same(called, studied.calls(robot).run(tmp_path / "s", client))


def test_jobs_that_are_no_futures_are_followed(called, robot, tmp_path):
    """As submitit's: `submit` returns something with `done` and `result`."""

    class Submitted:
        def __init__(self, function, arguments):
            self.answer = function(*arguments)

        def done(self):
            return True

        def result(self):
            return self.answer

    class Scheduler:
        def submit(self, function, *arguments):
            return Submitted(function, arguments)

    assert same(called, studied.calls(robot).run(tmp_path / "s", Scheduler(), workers=1))


def test_interrupts_carry_the_result(robot, tmp_path, monkeypatch):
    from dalembert.study import job as jobs

    write, count = jobs.parts.write_part, 0

    def interrupted(folder, chunk):
        nonlocal count
        write(folder, chunk)
        count += 1
        if count == 2:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(jobs.parts, "write_part", interrupted)
    with pytest.raises(Interrupted) as caught:
        studied.calls(robot).run(tmp_path / "s")
    assert 0 < caught.value.result.table().rows < 300
