"""The command line: what it prints, where it writes, and how it ends."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unicodedata import combining

import numpy as np
import pytest

from dalembert import cli, load, load_run
from dalembert.cli import demo
from dalembert.model.bundled import path
from tolerances import COMPUTED, INTEGRATED, ITERATED, REACHED, ROUGH_SLOPE, TIGHT_RUN


def run(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "dalembert.cli", *arguments], capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def demonstrated(tmp_path_factory):
    """The folder above that of a demo, and what it printed."""
    place, shown = tmp_path_factory.mktemp("demo"), io.StringIO()
    with contextlib.chdir(place), contextlib.redirect_stdout(shown):
        assert cli.main(["demo", "--out", "new", "--states", "500"]) == 0
    return place, shown.getvalue()


def test_demo_shows_torques_and_writes_a_plot(demonstrated):
    pytest.importorskip("matplotlib")
    place, shown = demonstrated
    assert "peak velocity 0.9375 rad/s, peak acceleration 2.887 rad/s²" in shown
    for word in ("shoulder_lift", "N·m", "peak |τ|", "one call from Python", "batch of 500, all threads"):
        assert word in shown
    assert max(map(len, shown.splitlines()[:-1])) <= 110
    assert (place / "new" / "ur5_torques.png").read_bytes().startswith(b"\x89PNG")


def test_demo_and_view_as_json(tmp_path, capsys, monkeypatch):
    assert cli.main(["demo", "--out", str(tmp_path), "--states", "100", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert len(facts["peak"]) == 6 and facts["residual"] < TIGHT_RUN and facts["call"] > 0
    viewer = pytest.importorskip("dalembert.view.viewer")
    monkeypatch.setattr(viewer.Viewer, "wait", lambda self: self.close())
    assert cli.main(["view", "2r", "--no-browser", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["url"].startswith("http://127.0.0.1:")


def test_quintic_rates_are_derivatives():
    t = np.linspace(0, 1, 2001)
    q, v, a = demo.quintic(t)
    np.testing.assert_allclose(np.gradient(q, t, axis=0)[1:-1], v[1:-1], atol=2 * INTEGRATED)
    np.testing.assert_allclose(np.gradient(v, t, axis=0)[1:-1], a[1:-1], atol=ROUGH_SLOPE)
    np.testing.assert_allclose(q[-1] - q[0], demo.MOVE)
    assert not v[[0, -1]].any() and np.abs(a[[0, -1]]).max() < COMPUTED


ROBOT_COMMANDS = [
    "info",
    "audit",
    "torques",
    "simulate",
    "plan",
    "control",
    "equations",
    "export",
    "convert",
    "compare",
    "view",
    "report",
]
COMMANDS = [*ROBOT_COMMANDS, "edit", "robots", "compile", "cache", "bench", "demo"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["bench", "ur55"], "ur5"),
        (["bench", "ur5", "--function", "inverse_dynamic"], "inverse_dynamics"),
        (["demo", "--out", "/dev/null/x", "--states", "10"], "/dev/null"),
        (["demo", "--states", "0"], "--states"),
        (["info", "ur55"], "did you mean 'ur5'"),
        (["info", "no/such.urdf"], "no such file"),
        (["info", "ur5", "--base", "flying"], "flying"),
        (["audit", "ur5", "--rule", "headrom"], "did you mean 'headroom'"),
        (["audit", "ur5", "--fail-on", "eror"], "did you mean 'error'"),
        (["audit", "ur5", "--accept", "no.toml"], "no.toml"),
        (["torques", "ur5", "no.csv"], "no such file"),
        (["simulate", "2r", "--q", "1,2,3"], "--q has 3 numbers, expected 2"),
        (["simulate", "2r", "--q", "one,two"], "expected 2 numbers"),
        (["simulate", "2r", "--integrator", "rk46"], "did you mean 'rk4'"),
        (["export", "2r", "gravty", "--out", "/dev/null/x"], "gravity"),
        (["convert", "2r", "x.stl"], ".stl"),
        (["equations", "2r", "--quantity", "mas_matrix"], "did you mean 'mass_matrix'"),
        (["equations", "2r", "--out", "x.doc"], "document formats: tex, md, html, py"),
        (["equations", "2r", "--rename", "q_1"], "expected OLD=NEW"),
        (["equations", "2r", "--rename", "q_3=x"], "unknown symbol 'q_3'"),
        (["equations", "2r", "--digits", "0"], "--digits"),
        (["equations", "panda"], "too long for paper"),
        (["compare", "2r", "3s"], "3s"),
        (["report", "2r", "--out", "/no/such/folder/r.html"], "/no/such/folder"),
        (["view", "2r", "--port", "-1"], "port"),
        (["simulate", "2r", "--plot", "x.xyz"], "unknown ending '.xyz': endings: .png"),
        (["simulate", "2r", "--out", "x.doc"], "unknown ending '.doc'"),
        (["simulate", "2r", "--out", "no/such/x.npz"], "--out no/such/x.npz: there is no folder 'no/such': make it"),
        (["torques", "2r", "--out", "no/such/x.csv"], "there is no folder 'no/such'"),
        (["audit", "2r", "--sarif", "no/such/x.json"], "there is no folder 'no/such'"),
        (["equations", "2r", "--out", "."], "--out . is a folder"),
        (["edit", "2r", "x.urdf", "--lock", "elbow"], "--lock elbow: expected JOINT=VALUE"),
        (["edit", "2r", "x.urdf", "--lock", "elbow=far"], "'far' is not a number"),
        (["edit", "2r", "x.urdf", "--lock", "elbw=0"], "did you mean 'elbow'"),
        (["edit", "2r", "x.urdf", "--gravity", "9.81"], "gravity"),
        (["nonsense"], "nonsense"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_mistakes_end_with_2_and_one_line(arguments, word, capsys):
    assert cli.main(arguments) == 2
    errors = capsys.readouterr().err
    assert word in errors
    assert "Traceback" not in errors


def test_the_program_itself_ends_so():
    code, _, errors = run("info", "ur55")
    assert (code, errors.count("\n")) == (2, 1) and errors.startswith("dalembert info: ")
    code, shown, _ = run("--help")
    assert code == 0 and all(f" {command} " in shown for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example_on_a_bundled_robot(command, capsys):
    assert cli.main([command, "--help"]) == 0
    assert f"Example: dalembert {command}" in capsys.readouterr().out


def test_info_tells_what_a_robot_is_made_of(capsys):
    assert cli.main(["info", "panda"]) == 0
    shown = capsys.readouterr().out
    assert "7 degrees of freedom (nq = 7), fixed base, 17.42 kg" in shown
    assert "panda_joint4  revolute" in shown and "panda_hand_tcp" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_info_tells_all_that_the_import_noted(tmp_path, capsys):
    file = tmp_path / "arm [1].urdf"
    text = path("3r").read_text("utf-8").replace("<robot ", "<!-- -->\n<robot ", 1)
    file.write_text(text.replace("</robot>", "<transmission name='[/b] [red]'/></robot>"), "utf-8")
    assert cli.main(["info", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "Import: 0 warnings, 1 remark\n" in shown
    assert "arm [1].urdf" in shown and "<transmission name='[/b] [red]'>" in shown


def test_info_shows_what_acts_in_the_joints(capsys):
    assert cli.main(["info", "delta"]) == 0
    shown = capsys.readouterr().out
    assert "3 loop equations" in shown and "gravity 0 0 -9.81 m/s²" in shown
    assert re.search(r"motor1 +0 +0 +0 +0\.02 +0\n", shown)
    assert "speed in rad/s or m/s, effort in N·m or N" in shown


def _no_constant(word):
    raise AssertionError(f"{word} is not JSON")


def test_json_has_no_infinities(capsys):
    assert cli.main(["info", "cartpole", "--json"]) == 0
    content = json.loads(capsys.readouterr().out, parse_constant=_no_constant)
    assert content["joints"][1]["upper"] == [None] and content["gravity"] == [0.0, 0.0, -9.81]


def test_version_and_bundled_robots(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("dalembert ")
    assert cli.main(["robots", "--json"]) == 0
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert found["delta"]["loop equations"] == 3 and found["ur5e"]["mass"] == pytest.approx(20.6)
    assert cli.main(["robots"]) == 0
    assert "quadruped  free" in capsys.readouterr().out


def test_arguments_of_xacro_files_and_mimic_joints(tmp_path, capsys):
    pytest.importorskip("xacrodoc")
    file = tmp_path / "arm.urdf.xacro"
    file.write_text(
        """<robot name="arm" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:arg name="prefix" default=""/>
        <link name="$(arg prefix)a"/><link name="b"/><joint name="j" type="fixed"><parent link="$(arg prefix)a"/>
        <child link="b"/></joint></robot>""",
        "utf-8",
    )
    for text in ("prefix:=left_", "prefix=left_"):
        assert cli.main(["info", str(file), "--arg", text]) == 0
        assert "left_a" in capsys.readouterr().out
    assert cli.main(["compare", str(file), str(file), "--arg", "prefix:=left_", "--mimic", "free"]) == 0
    assert cli.main(["info", "2r", "--arg", "prefix:=left_"]) == 2
    assert cli.main(["info", str(file), "--arg", "prefix"]) == 2
    assert cli.main(["info", "2r", "--mimic", "fre"]) == 2
    assert "did you mean 'free'" in capsys.readouterr().err


def test_torques_say_what_they_leave_out(capsys):
    assert cli.main(["torques", "four_bar"]) == 0
    assert "passive joints follow so that the loops stay closed" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["torques", "quadrotor", "--json"]) == 0
    assert "would have to hold it" in json.loads(capsys.readouterr().out)["log"][0]


def test_cures_of_many_findings_alike_are_said_once(capsys):
    assert cli.main(["audit", "panda", "--rule", "moments"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("info link") > 3 and shown.count("robot.check_inertia()") == 1


def test_info_as_json(capsys):
    assert cli.main(["info", "quadruped", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["nq"], content["nv"], content["base"], len(content["joints"])) == (19, 18, "free", 13)
    assert content["joints"][1]["name"] == "FL_abduction" and content["joints"][1]["q"] == [7, 8]


def test_audit_ends_with_1_on_errors(tmp_path, capsys):
    assert cli.main(["audit", "2r"]) == 0
    assert " checked, none failed: 0 errors, 0 warnings" in capsys.readouterr().out
    broken = tmp_path / "broken.urdf"
    broken.write_text(path("3r").read_text("utf-8").replace('ixx="', 'ixx="-', 2), "utf-8")
    sarif = tmp_path / "audit.sarif"
    assert cli.main(["audit", str(broken), "--rule", "inertia-possible", "--json", "--sarif", str(sarif)]) == 1
    assert not json.loads(capsys.readouterr().out)["ok"]
    assert json.loads(sarif.read_text("utf-8"))["runs"][0]["results"][0]["level"] == "error"
    assert cli.main(["audit", str(broken), "--rule", "inertia-possible", "--fail-on", "never"]) == 0


def test_equations_on_the_terminal(capsys):
    assert cli.main(["equations", "2r"]) == 0
    shown = capsys.readouterr().out
    assert "M₁₁ = 0.45 + 0.27⋅cos(q₂)" in shown and "g₁ = 10.3⋅cos(q₁) + 4.414⋅cos(q₁ + q₂)" in shown
    assert cli.main(["equations", "3r", "--symbols"]) == 0
    shown = capsys.readouterr().out
    assert "τ₃ = q̈₁⋅" in shown and "mass of link1" in shown
    columns = [sum(not combining(c) for c in line.rstrip()) for line in shown.splitlines()]
    assert max(columns) <= 80


def test_equations_as_json(capsys):
    assert cli.main(["equations", "2r", "--quantity", "gravity", "--symbols", "--json", "--short"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert "c_{12} g l_{c2} m_{2}" in content["equations"]["gravity"]["latex"]
    assert content["symbols"][0] == {"name": "m_1", "value": 2.0, "unit": "kg", "meaning": "mass of link1"}


@pytest.mark.parametrize("robot", ["2r", "scara"])
def test_equations_as_a_latex_document(robot, tmp_path):
    file = tmp_path / "arm.tex"
    assert cli.main(["equations", robot, "--symbols", "--short", "--out", str(file)]) == 0
    text = file.read_text("utf-8")
    assert text.startswith(r"\documentclass") and text.rstrip().endswith(r"\end{document}")
    assert text.count("{") == text.count("}") and text.count("$") % 2 == 0
    begun, ended = (re.findall(rf"\\{word}{{(\w+\*?)}}", text) for word in ("begin", "end"))
    assert sorted(begun) == sorted(ended) and begun.count("align*") == 4
    for line in text.split(r"\\"):  # a delimiter that stretches must close in its line
        assert line.count(r"\left") == line.count(r"\right")
    assert "$m_{1}$ & " in text and text.isascii()


def test_equations_as_other_documents(tmp_path):
    from lxml import html

    files = {kind: tmp_path / f"arm.{kind}" for kind in ("md", "html", "py")}
    for file in files.values():
        assert cli.main(["equations", "2r", "--symbols", "--rename", "q_2=theta", "--out", str(file)]) == 0
    assert files["md"].read_text("utf-8").count("$$") == 10
    page = html.fromstring(files["html"].read_text("utf-8"))
    assert len(page.xpath("//math[@display]")) == 11 and len(page.xpath("//tr")) == 7
    exec(files["py"].read_text("utf-8"), names := {})
    assert names["inverse_dynamics"].shape == (2, 1) and names["values"][names["g"]] == 9.81


def test_torques_reads_and_writes_motions(tmp_path, capsys):
    file = tmp_path / "motion.csv"
    assert cli.main(["torques", "ur5", "--out", str(file)]) == 0
    assert "shoulder_lift_joint" in capsys.readouterr().out
    assert cli.main(["torques", "ur5", str(file), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["joints"]
    assert rows[1]["speed"] == pytest.approx(0.9375)
    assert cli.main(["torques", "ur5", str(file)]) == 0
    assert capsys.readouterr().out.count("passed") == 6


def test_simulate_saves_a_run_and_a_figure(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    run_file, figure = tmp_path / "run.npz", tmp_path / "run.png"
    arguments = [
        "simulate",
        "2r",
        "--duration",
        "0.2",
        "--q",
        "0.5,-0.2",
        "--out",
        str(run_file),
        "--plot",
        str(figure),
    ]
    assert cli.main(arguments) == 0
    assert "rk45" in capsys.readouterr().out
    assert load_run(run_file).t[-1] == pytest.approx(0.2)
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_held_robot_stays(capsys):
    assert cli.main(["simulate", "2r", "--q", "0.5,0.2", "--hold", "--duration", "0.1", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    np.testing.assert_allclose(content["q"][-1], [0.5, 0.2], atol=ITERATED)


def test_export_writes_c(tmp_path, capsys):
    assert cli.main(["export", "2r", "gravity", "--out", str(tmp_path / "c")]) == 0
    files = capsys.readouterr().out.split()
    assert len(files) >= 2 and all(Path(file).is_file() for file in files)


def test_convert_and_compare(tmp_path, capsys):
    file = tmp_path / "arm.urdf"
    assert cli.main(["convert", "ur5", str(file)]) == 0
    assert cli.main(["compare", "ur5", str(file)]) == 0
    assert cli.main(["compare", "ur5", "ur5e"]) == 1
    capsys.readouterr()


def test_convert_says_what_it_left_out(tmp_path, capsys):
    target = tmp_path / "ur5.xml"
    assert cli.main(["convert", "ur5", str(target), "--no-geometry"]) == 0
    shown = capsys.readouterr().out
    assert "MJCF has no limits of speed; left out" in shown and "ur5 written to" in shown
    assert "<mujoco" in target.read_text() and "<geom" not in target.read_text()
    assert cli.main(["convert", str(tmp_path / "nothing.urdf"), str(target)]) == 2
    assert "no such file" in capsys.readouterr().err


def test_convert_asks_before_it_approximates(tmp_path, capsys):
    target = tmp_path / "panda.sdf"
    assert cli.main(["convert", "panda", str(target)]) == 2
    assert "the slip speed of friction" in capsys.readouterr().err and not target.exists()
    assert cli.main(["convert", "panda", str(target), "--approximate", "--base", "free", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["robot"] == "panda" and [f["severity"] for f in said["written"]] == ["warning"]
    assert "world" not in target.read_text().split("-->")[1]


def test_report_is_one_offline_page(tmp_path, capsys):
    for library in ("jinja2", "matplotlib", "viser"):
        pytest.importorskip(library)
    file = tmp_path / "report.html"
    assert cli.main(["report", "ur5", "--out", str(file), "--payload", "5"]) == 0
    assert str(file) in capsys.readouterr().out
    page = file.read_text("utf-8")
    assert "shoulder_lift_joint" in page and "<svg" in page and "srcdoc=" in page
    assert 'src="data:image/png;base64,iVBOR' in page
    body = re.sub(r'srcdoc="[^"]*"', "", page)
    assert not re.search(r'(src|href)="https?:', body)


def test_reports_of_robots_without_mass_or_joints(tmp_path, capsys):
    for library in ("jinja2", "matplotlib"):
        pytest.importorskip(library)
    links = '<link name="a"/><link name="b"/>'
    joint = '<joint name="j" type="{}"><parent link="a"/><child link="b"/></joint>'
    for kind, code in (("continuous", 0), ("fixed", 2)):
        file = tmp_path / f"{kind}.urdf"
        file.write_text(f'<robot name="r">{links}{joint.format(kind)}</robot>', "utf-8")
        out = tmp_path / f"{kind}.html"
        assert cli.main(["report", str(file), "--out", str(out), "--no-scene", "--json"]) == code
        assert out.exists() == (code == 0)
    captured = capsys.readouterr()
    assert json.loads(captured.out)["robot"] == "r" and "no moving joint" in captured.err


def test_an_audit_that_finds_nothing(capsys):
    assert cli.main(["audit", "2r", "--rule", "energy"]) == 0
    assert "1 of 1 checked, none failed: 0 errors, 0 warnings, 0 info" in capsys.readouterr().out


def test_sarif_names_file_and_line(tmp_path, capsys):
    link = '<link name="l"><inertial><mass>-1</mass></inertial></link>'
    file, sarif = tmp_path / "w.sdf", tmp_path / "w.sarif"
    file.write_text(f'<sdf version="1.9"><world name="w">\n<model name="m">{link}</model></world></sdf>', "utf-8")
    assert cli.main(["audit", f"{file}#m", "--rule", "import", "--sarif", str(sarif)]) == 0
    place = json.loads(sarif.read_text("utf-8"))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("/w.sdf") and place["region"] == {"startLine": 2}
    capsys.readouterr()


def test_edit_writes_the_changed_robot(tmp_path, capsys):
    file = tmp_path / "cell.urdf"
    options = ["--lock", "elbow_joint=0.5", "--remove", "tool0", "--attach", "2r", "--prefix", "g_", "--payload", "2"]
    arguments = ["edit", "ur5", str(file), *options, "--frame", "wrist_3_link", "--gravity", "0,0,-1.6"]
    assert cli.main(arguments) == 0
    shown = capsys.readouterr().out
    assert "joints locked: 'elbow_joint' at 0.5" in shown and "7 degrees of freedom (were 6)" in shown
    made, before = load(file), load("ur5")
    mass = [sum(body.mass for body in robot.bodies) for robot in (made, before, load("2r"))]
    assert mass[0] == pytest.approx(mass[1] + mass[2] + 2.0)
    assert made.model.gravity.tolist() == [0.0, 0.0, -1.6] and made.joints[-1].name == "g_elbow"
    assert cli.main(["edit", "2r", str(file), "--scale", "2", "--reroot", "link2", "--merge", "tool", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert len(content["edits"]) >= 3 and all(finding["where"] == "edit of '2r'" for finding in content["edits"])
    assert load(file).bodies[0].name == "link2"


def test_motions_that_need_a_hint(tmp_path, capsys):
    """Units, columns, bandwidth and topic come from the command line; what was decided is printed."""
    file = tmp_path / "log.csv"
    t = np.arange(300)
    noise = 1e-4 * np.random.default_rng(0).normal(size=len(t))
    rows = "\n".join(f"{k};{np.sin(0.003 * k) + noise[k]};{np.cos(0.002 * k)}" for k in t)
    file.write_text(f"t;a;elbow\n{rows}\n")
    assert cli.main(["torques", "2r", str(file)]) == 2
    assert "no column for q of shoulder" in capsys.readouterr().err
    hints = ["--unit", "t=ms", "--column", "q.shoulder=a", "--bandwidth", "8"]
    assert cli.main(["torques", "2r", str(file), *hints]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "cells are separated by semicolons" in shown and "bandwidth 8" in shown and "over 0.299 s" in shown
    assert cli.main(["torques", "2r", str(file), *hints, "--json"]) == 0
    assert any("bandwidth" in note for note in json.loads(capsys.readouterr().out)["log"])
    assert cli.main(["torques", "2r", str(file), "--unit", "ms"]) == 2
    assert "--unit ms: expected KIND=UNIT" in capsys.readouterr().err
    assert cli.main(["torques", "2r", str(file), "--topic", "/joint_states"]) == 2
    assert "have topics" in capsys.readouterr().err


def test_report_tells_how_the_motion_was_read(tmp_path, capsys):
    pytest.importorskip("jinja2")
    t = np.linspace(0, 1, 101)
    file = tmp_path / "a motion.csv"
    file.write_text("t;shoulder;elbow\n" + "\n".join(f"{x};{np.sin(x)};{x}" for x in t))
    page = tmp_path / "page.html"
    options = ["--trajectory", str(file), "--bandwidth", "5", "--no-scene", "--out", str(page)]
    assert cli.main(["report", "2r", *options]) == 0
    shown = capsys.readouterr().out
    assert "semicolons" in shown and "bandwidth 5 Hz" in " ".join(shown.split())
    text = page.read_text("utf-8").replace("&#39;", "'").replace("&#34;", '"')
    assert f"dalembert report 2r --trajectory '{file}' --bandwidth 5 --out report.html" in text


def test_export_in_single_precision(tmp_path, capsys):
    """For processors without doubles: nothing in the file is one, and its own test passes."""
    command = ["export", "ur5", "forward_dynamics", "--out", str(tmp_path), "--dtype"]
    assert cli.main([*command, "float32"]) == 0
    source = (tmp_path / "ur5_forward_dynamics.c").read_text()
    assert "double" not in source and "sinf(" in source
    if shutil.which("cc"):
        strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wdouble-promotion", "-Werror"]
        files = ["ur5_forward_dynamics.c", "ur5_forward_dynamics_test.c", "-lm"]
        subprocess.run(["cc", *strict, *files], cwd=tmp_path, check=True)
        subprocess.run([tmp_path / "a.out"], check=True)
    assert cli.main([*command, "half"]) == 2
    assert "dtype is half, expected float64 or float32" in capsys.readouterr().err


def test_export_of_a_frame(tmp_path, capsys):
    assert cli.main(["export", "2r", "pose", "--frame", "tool", "--out", str(tmp_path)]) == 0
    assert "pose" in (tmp_path / capsys.readouterr().out.split()[0]).name
    assert cli.main(["export", "2r", "pose", "--frame", "tol", "--out", str(tmp_path)]) == 2
    assert "did you mean 'tool'" in capsys.readouterr().err
    assert (
        cli.main(["export", "2r", "jacobian", "--frame", "tool", "--axes", "body", "--out", str(tmp_path), "--json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["operations"]


def test_counts_agree_with_their_nouns(tmp_path, capsys):
    file = tmp_path / "arm.urdf"
    file.write_text(path("3r").read_text("utf-8").replace("</robot>", "<transmission name='x'/></robot>"), "utf-8")
    assert cli.main(["info", str(file)]) == 0
    assert "Import: 0 warnings, 1 remark\n" in capsys.readouterr().out
    assert cli.main(["simulate", "2r", "--duration", "0.001", "--integrator", "rk4", "--step", "0.001"]) == 0
    assert "2r: 1 step of rk4" in capsys.readouterr().out


def test_zero_entries_are_stated(capsys):
    assert cli.main(["equations", "2r", "--quantity", "coriolis_matrix"]) == 0
    assert "C₂₂ = 0" in capsys.readouterr().out
    assert cli.main(["equations", "2r", "--quantity", "jacobian", "--frame", "tool"]) == 0
    assert "J₁₁ = J₁₂ = J₃₁ = J₃₂ = J₅₁ = J₅₂ = 0" in capsys.readouterr().out


def test_info_on_the_system():
    """Among other things, whether there is a fast call: a missing one costs a factor of a hundred in silence."""
    code, out, _ = run("info", "--system")
    assert code == 0 and "fast call: yes" in out and "compiled code:" in out
    assert json.loads(run("info", "--system", "--json")[1])["fast call"] == "yes"
    code, _, errors = run("info")
    assert code == 2 and "--system" in errors


def test_a_motion_in_a_file_is_followed(tmp_path, capsys):
    from dalembert import motion

    robot = load("2r")
    move = motion.quintic([0.0, 0.0], [0.5, -0.3], 0.4, robot=robot)
    move.save(tmp_path / "move.csv")
    assert cli.main(["simulate", "2r", "--motion", str(tmp_path / "move.csv"), "--json"]) == 0
    run = json.loads(capsys.readouterr().out)
    assert run["t"][-1] == pytest.approx(0.4)
    assert np.abs(np.array(run["q"]) - move.q(np.array(run["t"]))).max() < REACHED
    assert cli.main(["simulate", "2r", "--motion", str(tmp_path / "move.csv"), "--hold"]) != 0
    assert "--motion gives the torques" in capsys.readouterr().err


def test_simulate_on_the_ground(tmp_path, capsys):
    table = tmp_path / "table.xml"
    table.write_text(
        '<mujoco><worldbody><body name="ball"><freejoint/><geom name="ball" type="sphere" size=".05" mass="2"/></body>'
        '</worldbody><keyframe><key name="up" qpos="0 0 0.3 1 0 0 0"/></keyframe></mujoco>',
        "utf-8",
    )

    def last_height(*options):
        assert cli.main(["simulate", str(table), "--duration", "0.1", "--json", *options]) == 0
        return json.loads(capsys.readouterr().out)["q"][-1][2]

    assert last_height("--ground", "0.5") == pytest.approx(0.55, abs=ITERATED)  # half its height above the floor
    assert last_height("--ground", "0", "--keyframe", "up") == pytest.approx(0.3 - 0.5 * 9.81 * 0.01, abs=ITERATED)
    assert cli.main(["simulate", str(table), "--keyframe", "down"]) == 2
    assert "keyframe 'down'" in capsys.readouterr().err
    assert cli.main(["simulate", str(table), "--friction", "0.3"]) == 2
    assert "give its height with --ground" in capsys.readouterr().err
    assert cli.main(["simulate", str(table), "--duration", "0.1", "--ground", "0"]) == 0
    assert "1 of 1 point in touch at the end, 19.62 N in all" in capsys.readouterr().out


def test_friction_of_the_ground_is_that_of_the_file(tmp_path, capsys):
    puck = '<geom name="puck" type="sphere" size=".1" mass="2" friction="{} 0 0" condim="3"/>'
    robot = '<mujoco><worldbody><body name="puck"><freejoint/>{}</body></worldbody></mujoco>'
    file = tmp_path / "puck.xml"
    file.write_text(robot.format(puck.format(0.3)), "utf-8")

    sliding = ["--ground", "0", "--duration", "0.1", "--v", "0,0,0,3,0,0", "--json"]
    assert cli.main(["simulate", str(file), *sliding]) == 0
    speed = np.linalg.norm(json.loads(capsys.readouterr().out)["v"][-1][3:])
    assert speed == pytest.approx(3.0 - 0.3 * 9.81 * 0.1, rel=TIGHT_RUN)


def test_simulate_says_when_nothing_moved(capsys):
    cli.main(["simulate", "2r", "--q=1.5707963267948966,0", "--duration", "0.1", "--hold"])
    assert "nothing moved" in capsys.readouterr().out


def test_report_of_a_robot_with_loops(tmp_path):
    """Reactions and reach are those of the closed linkage, whose rocker turns about its pin only."""
    file = tmp_path / "report.html"
    assert cli.main(["report", "four_bar", "--out", str(file), "--no-scene"]) == 0
    text = file.read_text("utf-8")
    assert "Reaction peaks" in text and "coupler_joint" in text.split("Reaction peaks")[1]
    assert "Gravity torque</h2>" not in text  # two angles of one loop cannot be chosen


def test_the_command_on_the_page_of_the_demo_writes_its_numbers(demonstrated, monkeypatch, capsys):
    for library in ("jinja2", "matplotlib", "viser"):
        pytest.importorskip(library)
    place, _ = demonstrated
    monkeypatch.chdir(place)
    page = (place / "new" / "ur5.html").read_text("utf-8")
    command = re.search(r"<pre>dalembert (report ur5 --trajectory .*)</pre>", page)[1]
    again = command.replace("new/ur5.html", "again.html")
    assert cli.main(again.split()) == 0

    def numbers(text: str) -> list[str]:
        body = text.partition("one call from Python")[0]
        return re.findall(r'<td class="n">([^<]*)</td>', body)

    assert len(numbers(page)) > 50 and numbers(page) == numbers((place / "again.html").read_text("utf-8"))
