"""The benchmark: conventions are translated, disagreement is found, tables are readable, a run leaves its files."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.cli.benchmark import cases, clock, ours, peers, report, run, study
from dalembert.cli.benchmark.peers.layout import Layout
from dalembert.cli.benchmark.peers.rival import Rival
from tolerances import PRODUCT, ROUNDING

SMALL = study.Settings(
    ("inverse_dynamics", "forward_dynamics", "mass_matrix", "jacobian"),
    batches=(8,),
    rounds=2,
    round_time=1e-5,
    loop_states=8,
    check_states=5,
)


def joint(kind: str, q: int, nq: int, v: int, nv: int) -> SimpleNamespace:
    return SimpleNamespace(name=kind, kind=kind, q=slice(q, q + nq), v=slice(v, v + nv))


def test_layout_translates_order_quaternion_and_angles():
    layout = Layout(10, 8, scalar_first=False)
    layout.add(joint("free", 0, 7, 0, 6), 3, 2)
    layout.add(joint("revolute", 7, 1, 6, 1), 0, 0)
    layout.add(joint("continuous", 8, 1, 7, 1), 1, 1, circle=True)
    q = np.array([[1.0, 2, 3, 0.5, -0.5, 0.5, 0.5, 0.7, np.pi / 2]])
    np.testing.assert_allclose(layout.positions(q)[0], [0.7, 0, 1, 1, 2, 3, -0.5, 0.5, 0.5, 0.5], atol=ROUNDING)
    v = np.arange(1.0, 9.0)  # ω 1 2 3, v 4 5 6, then 7 and 8
    np.testing.assert_allclose(layout.transform(q)[0] @ v, [7, 8, 4, 5, 6, 1, 2, 3])


def test_layout_in_world_axes_keeps_power_and_turns_with_the_body():
    layout = Layout(7, 6, linear="world", angular="world")
    layout.add(joint("free", 0, 7, 0, 6), 0, 0)
    q = np.array([[0.0, 0, 0, np.sqrt(0.5), 0, 0, np.sqrt(0.5)]])  # a quarter turn about z
    T = layout.transform(q)[0]
    np.testing.assert_allclose(T.T @ T, np.eye(6), atol=ROUNDING)
    np.testing.assert_allclose(T @ [1, 0, 0, 0, 1, 0], [-1, 0, 0, 0, 1, 0], atol=ROUNDING)
    v = np.array([[0.0, 0, 2, 3, 0, 0]])  # ω × v = (0, 6, 0) in the body, (−6, 0, 0) in the world
    np.testing.assert_allclose(layout.drift(q, v)[0], [-6, 0, 0, 0, 0, 0], atol=PRODUCT)


def test_layout_refuses_what_it_cannot_translate():
    with pytest.raises(peers.Unavailable, match="ball"):
        Layout(4, 3).add(joint("ball", 0, 4, 0, 3), 0, 0)


def test_jobs_are_run_in_turn():
    log: list[str] = []
    jobs = {name: clock.Job(f"log.append({name!r})", {"log": log}, states=2) for name in "ab"}
    samples = clock.race(jobs, rounds=5, round_time=0.0)
    assert log[-10:] == list("ab" * 5)
    assert all(0 < s.best <= s.low <= s.median <= s.high and s.rounds == 5 for s in samples.values())


def test_time_is_per_state():
    samples = clock.race({n: clock.Job("sum(range(2000))", {}, n) for n in (1, 100)}, rounds=9, round_time=1e-4)
    assert 30 < samples[1].best / samples[100].best < 300


@pytest.fixture(scope="module")
def planar() -> cases.Case:
    return cases.available()["2r"]


def mirror(robot, frame: str, spoil: float = 0.0) -> Rival:
    """A peer that is dalembert itself, wrong by a factor when spoilt."""
    layout = Layout(robot.nq, robot.nv)
    for each in robot.joints:
        layout.add(each, each.q.start, each.v.start)
    code = {name: f"y = {1 + spoil} * robot.{name}({ours.ARGUMENTS[name]})" for name in cases.FUNCTIONS}
    code["jacobian"] = f"y = {1 + spoil} * np.roll(robot.jacobian(q, frame), 3, axis=0)"
    return Rival("mirror", "1", layout, code, {"robot": robot, "frame": frame, "np": np})


@pytest.mark.parametrize("function", cases.FUNCTIONS)
def test_disagreement_is_found(planar, function):
    robot = planar.load()
    frame = robot.joints[-1].child
    rivals = {"good": mirror(robot, frame), "bad": mirror(robot, frame, 1e-6)}
    rows = {row["system"]: row for row in study.agreement(robot, frame, rivals, function, SMALL)}
    assert rows["good"]["error"] <= rows["good"]["tolerance"]
    assert rows["bad"]["error"] > rows["bad"]["tolerance"]
    assert 0 < rows["dalembert float32"]["error"] <= rows["dalembert float32"]["tolerance"]


def test_a_peer_that_fails_or_gives_nan_disagrees(planar):
    robot = planar.load()
    rivals = {name: mirror(robot, robot.joints[-1].child) for name in ("failing", "silent")}
    rivals["failing"].code["mass_matrix"] = "y = 1 / 0"
    rivals["silent"].code["mass_matrix"] = "y = np.full((2, 2), np.nan)"
    rows = study.agreement(robot, "", rivals, "mass_matrix", SMALL)
    assert [row["error"] for row in rows[:2]] == [float("inf")] * 2
    assert "division by zero" in rows[0]["reason"]


@pytest.mark.parametrize("label", ["2r", "UR5", "ANYmal", pytest.param("quadruped", marks=pytest.mark.long)])
def test_installed_peers_agree(label):
    found = cases.available()
    if label not in found:
        pytest.skip("example-robot-data is not installed")
    result = study.study(found[label], SMALL, lambda line: None)
    if not any(row["system"] == "Pinocchio" for row in result.agreement):
        pytest.skip("Pinocchio is not installed")
    for row in result.agreement:
        assert row["error"] <= row["tolerance"], row
    systems = {(row["system"], row["mode"]) for row in result.timings}
    assert {("dalembert", "call"), ("dalembert", "batch"), ("Pinocchio", "call"), ("Pinocchio", "loop")} <= systems


def test_unknown_robot_names_the_nearest():
    with pytest.raises(ValueError, match="quadruped"):
        cases.select(["quadrupd"])


def test_quick_run_leaves_tables_json_and_plot(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert run.main(["2r"], ["inverse_dynamics", "jacobian"], quick=True, out=tmp_path) == 0
    shown = capsys.readouterr().out
    assert (tmp_path / "bench.txt").read_text() == shown
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")
    document = json.loads((tmp_path / "bench.json").read_text())
    assert report.text(document) + "\n" == shown
    assert max(map(len, shown.splitlines())) <= 100
    for word in (
        "Inverse dynamics",
        "operations",
        "4096",
        "float32",
        "import dalembert adds",
        "cached call",
        "checked",
    ):
        assert word in shown
    assert document["startup"][0]["cached"]["call"] > 0
    assert {row["function"] for row in document["operations"]} == {"inverse_dynamics", "jacobian"}


def test_disagreement_ends_with_1_and_is_shown(monkeypatch, capsys):
    document = {"timings": [], "versions": {}, "machine": {"processor": "x", "cores": 2, "system": "y"}, "startup": []}
    document |= {"import": {"numpy": 0.1, "dalembert": 0.05, "llvm": 0.03}, "skipped": []}
    document["agreement"] = [
        {"robot": "r", "function": "jacobian", "system": "P", "error": 0.1, "tolerance": 1e-10},
    ]
    monkeypatch.setattr(run, "run", lambda *args, **kwargs: document)
    assert run.main() == 1
    assert "DISAGREES, not timed: P, jacobian of r" in capsys.readouterr().out


def test_readme_table_has_every_robot_and_function():
    times = {"best": 1e-6, "median": 1e-6, "low": 0.9e-6, "high": 1.1e-6, "dtype": "float64", "threads": 1, "nv": 6}
    rows = []
    for function in cases.FUNCTIONS:
        for system, mode, batch in (
            ("dalembert", "call", 1),
            ("dalembert", "batch", 4096),
            ("Pinocchio", "loop", 4096),
        ):
            rows.append({"robot": "UR5", "function": function, "system": system, "mode": mode, "batch": batch} | times)
    document = {"timings": rows, "machine": {"processor": "cpu"}, "versions": {"dalembert": "0"}, "date": "2026-01-02"}
    lines = report.markdown(document, "Pinocchio", ["UR5"]).splitlines()
    assert "2026-01-02" in lines[-1]
    assert len(lines) == 2 + len(cases.FUNCTIONS) + 2
    assert lines[2] == "| UR5 | inverse dynamics | 1 | - | - | 1 | 1 | 1.0 | - | - |"


def test_readme_has_the_least_and_the_most_of_all_functions():
    rows = []
    for function, batch_time, loop_time in (("inverse_dynamics", 1e-6, 20e-6), ("jacobian", 2e-6, 100e-6)):
        for system, mode, batch, median in (
            ("dalembert", "call", 1, 1e-6),
            ("dalembert", "batch", 4096, batch_time),
            ("Pinocchio", "loop", 4096, loop_time),
        ):
            row = {"robot": "UR5", "function": function, "system": system, "mode": mode, "batch": batch}
            rows.append(
                row
                | {"best": median, "median": median, "low": median, "high": median, "dtype": "float64", "threads": 1}
            )
    lines = report.summary({"timings": rows}, "Pinocchio", ["UR5"]).splitlines()
    assert lines[2] == "| UR5 | - | 20–50× | - |"


def test_shares_of_a_control_period(capsys):
    from dalembert.cli import main

    assert main(["bench", "2r", "--rate", "100", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["2r"]
    assert {each["call"] for each in listed} >= {"inverse_dynamics", "mass_matrix", "pose"}
    assert all(each["share"] == pytest.approx(100.0 * each["seconds"]) for each in listed)
    assert main(["bench", "2r", "--rate", "1e9", "--function", "gravity"]) == 1
    assert "of the period" in capsys.readouterr().out
    for wrong, text in (
        (["2r", "--rate", "0"], "rate is 0.0"),
        (["2r", "--rate", "5", "--function", "gravty"], "did you mean 'gravity'"),
        (["--rate", "5"], "of which robot"),
    ):
        assert main(["bench", *wrong]) == 2
        assert text in capsys.readouterr().err
