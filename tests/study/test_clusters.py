"""Studies on real workers: two processes of Dask, a local Ray, arrays of a stand-in for SLURM, with workers killed."""

from __future__ import annotations

import os
import signal
import stat
import threading
import time

import numpy as np
import pytest

import studied
from dalembert import DalembertError, load, study
from dalembert.study.dispatch import length
from tolerances import COMPUTED

pytest.importorskip("pyarrow")

# as SLURM does: the script is copied when it is submitted, each task of the array runs the copy with variables of its
# own, in an empty folder, and writes both streams to --output; options that it does not know end in an error
SBATCH = """#!/bin/sh
for word in "$@"; do
  case "$word" in
    --parsable|--job-name=*) ;;
    --array=0-*) last="${word#--array=0-}";;
    --output=*) output="${word#--output=}";;
    -*) echo "sbatch: unrecognized option '$word'" >&2; exit 1;;
    *) cp "$word" "@FOLDER@/spooled";;
  esac
done
head -c 2 "@FOLDER@/spooled" | grep -q '#!' || { echo 'sbatch: This does not look like a batch script' >&2; exit 1; }
echo '7;cluster'
mkdir -p "@FOLDER@/empty"; cd "@FOLDER@/empty"
for k in $(seq 0 "$last"); do
  log=$(echo "$output" | sed "s/%A/7/; s/%a/$k/")
  SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=$k SLURM_CPUS_PER_TASK=1 setsid sh "@FOLDER@/spooled" > "$log" 2>&1 &
  echo $! >> "@FOLDER@/jobs"
done
"""
SQUEUE = """#!/bin/sh
if test -e "@FOLDER@/busy"; then
  rm "@FOLDER@/busy"
  echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2
  exit 1
fi
for job in $(cat "@FOLDER@/jobs"); do kill -0 "$job" 2> /dev/null && echo "$job"; done
exit 0
"""
SCANCEL = """#!/bin/sh
echo "$@" > "@FOLDER@/cancelled"
for job in $(cat "@FOLDER@/jobs"); do kill "$job" 2> /dev/null; done
"""


@pytest.fixture(scope="module")
def robot():
    return load("2r")


@pytest.fixture(scope="module")
def whole(robot):
    return studied.calls(robot).run(workers=1)


def equal(one, two) -> bool:
    names = [name for name in one.table() if name != "seconds"]
    return all(
        np.array_equal(one.table()[n], two.table()[n], equal_nan=one.table()[n].dtype.kind == "f") for n in names
    )


def programs(folder, monkeypatch, sbatch=SBATCH):
    """A stand-in for SLURM that runs jobs on this machine, before all others on the path."""
    for name, text in (("sbatch", sbatch), ("squeue", SQUEUE), ("scancel", SCANCEL)):
        path = folder / name
        path.write_text(text.replace("@FOLDER@", str(folder)))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    (folder / "jobs").touch()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_chunks_are_as_long_as_the_one_who_gives_them_out_needs():
    assert length(0.0, 1) == 0.1 and length(0.0, 1000) == 5.0  # [s]
    assert length(200.0, 2) == 5.0 and length(1e9, 10) == 30.0


@pytest.mark.long
def test_arrays_of_slurm_fill_the_folder(robot, whole, tmp_path, monkeypatch):
    """One of two jobs is killed, the other does its rows; the queue does not answer at first."""
    place = tmp_path / "bin"
    place.mkdir()
    programs(place, monkeypatch)
    (place / "busy").touch()

    def kill() -> None:
        while not list((tmp_path / "s" / "parts").glob("rows-*")):
            time.sleep(0.01)
        os.kill(int((place / "jobs").read_text().split()[0]), signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    result = studied.calls(robot).run(tmp_path / "s", "slurm", workers=2)
    killer.join(20.0)
    assert not killer.is_alive() and equal(whole, result)
    assert len((place / "jobs").read_text().split()) == 2  # one array did it
    assert (place / "cancelled").read_text() == "7\n"


def test_slurm_that_is_missing_refuses_or_fails_is_named(robot, tmp_path, monkeypatch):
    job = studied.calls(robot, samples=4)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DalembertError, match="there is no sbatch here"):
        job.run(tmp_path / "a", "slurm")
    assert not (tmp_path / "a").exists()
    monkeypatch.undo()
    programs(tmp_path, monkeypatch, "#!/bin/sh\necho invalid partition >&2\nexit 1\n")
    with pytest.raises(DalembertError, match="give a folder that all nodes see"):
        job.run(None, "slurm")
    with pytest.raises(DalembertError, match="sbatch refused: invalid partition"):
        job.run(tmp_path / "b", "slurm")
    programs(tmp_path, monkeypatch, "#!/bin/sh\necho 7\n")
    (tmp_path / "b" / "logs" / "7_0.log").write_text("no module named dalembert")
    with pytest.raises(DalembertError, match="end without a row: no module named dalembert"):
        job.run(tmp_path / "b", "slurm")
    assert job.run(tmp_path / "b", workers=1).complete


@pytest.mark.long
def test_two_processes_of_dask_of_which_one_is_killed(robot, whole, tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        killed = threading.Event()

        def kill() -> None:
            while not list((tmp_path / "s" / "parts").glob("rows-*")):
                time.sleep(0.01)
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
            killed.set()

        threading.Thread(target=kill, daemon=True).start()
        slow = studied.calls(robot)
        result = slow.run(tmp_path / "s", client)
        assert equal(whole, result) and killed.wait(20.0)
        moved = studied.motions(robot, samples=400)
        assert equal(moved.run(), moved.run(tmp_path / "m", client))


@pytest.mark.long
def test_a_local_ray_gives_the_same_bits_though_a_worker_dies(robot, whole, tmp_path):
    ray = pytest.importorskip("ray")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        assert equal(whole, studied.calls(robot).run(tmp_path / "s", "ray"))
        marks = tmp_path / "marks"
        marks.mkdir()
        died = studied.deaths(robot, str(marks), always=False).run(tmp_path / "d", "ray")
        np.testing.assert_array_equal(died.table()["energy"], whole.table()["energy"][:24])
        assert len(list(marks.iterdir())) == 1
        moved = studied.motions(robot, samples=400)
        assert equal(moved.run(), moved.run(tmp_path / "m", "ray"))
    finally:
        ray.shutdown()


@pytest.mark.parametrize("executor", ["joblib", "submitit"])
def test_other_libraries_executors(robot, whole, tmp_path, executor):
    if executor == "joblib":
        loky = pytest.importorskip("joblib.externals.loky")
        pool = loky.get_reusable_executor(max_workers=2)
    else:
        submitit = pytest.importorskip("submitit")
        pool = submitit.AutoExecutor(folder=tmp_path / "jobs", cluster="debug")
    job = studied.calls(robot, samples=24)
    result = job.run(tmp_path / "s", pool, workers=2)
    np.testing.assert_array_equal(result.table()["energy"], whole.table()["energy"][:24])


def test_the_command_runs_a_file(tmp_path, capsys):
    from dalembert.cli import main

    (tmp_path / "rows.py").write_text(
        "def hold(robot, row):\n    return {'torque': row['scale'] * robot.gravity([row['q'], 0.1])}\n"
    )
    text = (
        'robot = "2r"\nrun = "rows.py:hold"\nsamples = 20\nmethod = "sobol"\n'
        "[space]\nscale = [1.0, 2.0]\nq = { normal = [0.0, 1.0], low = -1.0 }\n"
    )
    file = tmp_path / "holding.toml"
    file.write_text(text)
    assert main(["study", str(file), "--workers", "1"]) == 0
    assert "40 rows in" in capsys.readouterr().out
    table = study.open(tmp_path / "holding").table()
    robot = load("2r")
    expected = table["scale"][:, None] * robot.gravity(np.stack([table["q"], np.full(40, 0.1)], axis=1))
    np.testing.assert_allclose(table["torque"], expected, rtol=COMPUTED)
    assert main(["study", str(file)]) == 2 and "pass --resume" in capsys.readouterr().err
    assert main(["study", str(file), "--resume", "--json"]) == 0 and '"rows": 40' in capsys.readouterr().out
    assert main(["study", str(file), "--explain"]) == 0 and "40 rows" in capsys.readouterr().out
    for wrong, word in (
        (text.replace("samples", "sample"), "did you mean 'samples'"),
        (text.replace("normal", "norml"), "did you mean 'normal'"),
        (text.replace("rows.py:hold", "rows.py:holds"), "did you mean 'hold'"),
        (text.replace("rows.py:hold", "row.py:hold"), "there is no file"),
        (text.replace("rows.py:hold", "rows.py"), "file.py:function"),
        (text.replace("[0.0, 1.0], low", "[0.0, 1.0], lower"), "unexpected keyword argument 'lower'"),
        (text.replace("scale = [1.0, 2.0]", "scale = 1.0"), "expected a list of values"),
        (text.replace("samples = 20", "samples = 0"), "samples is 0"),
        (text.replace("robot =", "robt ="), "did you mean 'robot'"),
        (text.split("[space]")[0], "has no space"),
        ("robot = [", "is no TOML file"),
    ):
        file.write_text(wrong)
        assert main(["study", str(file), "--folder", str(tmp_path / "other")]) == 2
        assert word in capsys.readouterr().err, wrong
