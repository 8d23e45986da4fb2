"""Archives of FMUs: what is in them, what is refused, and that nothing is written then."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dalembert import Contact, DalembertError, ModelBuilder, cli, control, load

COMPILER = shutil.which("cc") or shutil.which("gcc")


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_sources_compile_without_warnings_and_equal_exports_are_equal(tmp_path, version):
    robot = load("2r")
    paths = []
    for name in ("one.fmu", "other.fmu"):
        files = robot.export(
            "simulate", "fmu", tmp_path / name, version=version, kind="both", friction="smooth", binary=False
        )
        assert files.log == ("no binary: binary=False",)
        paths += files
    assert Path(paths[0]).read_bytes() == Path(paths[1]).read_bytes()
    with zipfile.ZipFile(paths[0]) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "unpacked")
    assert {"modelDescription.xml", "sources/model.c", "sources/model.h", "sources/fmi.c"} <= set(names)
    assert ("sources/buildDescription.xml" in names) == (version == "3.0")
    flags = ["-std=c99", "-O0", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fPIC", "-shared"]
    command = [COMPILER, *flags, "model.c", "fmi.c", "-lm", "-o", "library.so"]
    done = subprocess.run(command, cwd=tmp_path / "unpacked" / "sources", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_log_says_why_there_is_no_binary(tmp_path):
    files = load("2r").export("simulate", "fmu", tmp_path, compiler="no-such-compiler")
    assert "no C compiler was found (no-such-compiler)" in files.log[0]
    files = load("2r").export("simulate", "fmu", tmp_path, compiler="false")
    assert "ended with code" in files.log[0]
    with zipfile.ZipFile(files[0]) as archive:
        assert not any(name.startswith("binaries") for name in archive.namelist())


def test_names_with_markup_stay_in_the_description_alone(tmp_path):
    builder = ModelBuilder('../../*/ <b>robot\\ "x"')
    builder.add_body("a]]>", parent="world", joint="revolute", joint_name="<j>&\"'é\t", axis=(0, 1, 0), mass=1.0,
                     com=(0.1, 0, 0), inertia=np.eye(3))  # fmt: skip
    (path,) = builder.build().export("simulate", "fmu", tmp_path, live="inertia", binary=False)
    assert Path(path).parent == tmp_path
    with zipfile.ZipFile(path) as archive:
        assert all(".." not in name and not name.startswith("/") for name in archive.namelist())
        text = archive.read("modelDescription.xml").decode()
        assert "&lt;j&gt;&amp;" in text and "a]]&gt;" in text
        assert all(
            x not in archive.read(f"sources/{name}").decode() for name in ("model.c", "model.h") for x in ("<j>", "<b>")
        )


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"version": "1.0"}, "unknown version '1.0'"),
        ({"version": 3}, "unknown version '3'"),
        ({"kind": "cosim"}, "unknown kind 'cosim'.*co-simulation"),
        ({"steps": 1e-3}, "unknown option 'steps'.*step"),
        ({"step": 0.0}, "step is 0.0"),
        ({"step": np.nan}, "step is nan"),
        ({"step": 1e400}, "step is inf"),
        ({"q": [0.1]}, r"q has shape \(1,\)"),
        ({"q": [np.nan, 0.0]}, "q has shape .* expected finite"),
        ({"v": [1e400, 0.0]}, "v has shape .* expected finite"),
        ({"live": "inertias"}, "unknown live parameters 'inertias'"),
        ({"live": "contact_friction"}, "starts from one number"),
        ({"sensors": ["tol"]}, "tol.*tool"),
        ({"sensors": {"x": 3}}, "sensor 'x' is int"),
        ({"sensors": {"energy": "tool"}}, "is taken"),
        ({"sensors": {"energy.kinetic": lambda t, q, v: q[0]}}, "two variables would be named 'energy.kinetic'"),
        ({"torque": [1.0, 2.0]}, "torque is list"),
        ({"sensors": 5}, "sensors is 5, expected a list"),
        ({"live": None}, "live is None, expected a list"),
        ({"torque": lambda t, q, v: np.sin(float(q[0])) * q}, "cannot be traced|called back"),
        ({"controls": True}, "no actuators"),
        ({"contact": Contact()}, "no collision shapes"),
        ({"integrator": "verlet"}, "unknown integrator 'verlet'"),
        ({"frame": "tool"}, "frame, axes, external and float32"),
        ({"dtype": np.float32}, "frame, axes, external and float32"),
    ],
)
def test_bad_options_are_named_and_nothing_is_written(tmp_path, options, named):
    with pytest.raises(DalembertError, match=named):
        load("2r").export("simulate", "fmu", tmp_path / "x.fmu", **options)
    assert not list(tmp_path.iterdir())


def test_bad_paths_and_names_are_named(tmp_path):
    robot = load("2r")
    for path, named in (("x.zip", "no ending .fmu"), ("a/b.fmu", "there is no folder"), ("x\0.fmu", "no path")):
        with pytest.raises(DalembertError, match=named):
            robot.export("simulate", "fmu", f"{tmp_path}/{path}")
    with pytest.raises(DalembertError, match="no path"):
        robot.export("simulate", "fmu", None)
    with pytest.raises(DalembertError, match="an FMU is of 'simulate'"):
        robot.export("gravity", "fmu", tmp_path)
    with pytest.raises(DalembertError, match="an FMU is of 'simulate'"):
        robot.export("simulate", "c", tmp_path)
    assert not list(tmp_path.iterdir())


def test_more_than_one_law_is_refused(tmp_path):
    robot = load("2r")
    with pytest.raises(DalembertError, match="both drive"):
        robot.export("simulate", "fmu", tmp_path, controls=True, torque=control.pid(robot, [0.0, 0.0]))
    with pytest.raises(DalembertError, match="runs at a rate"):
        robot.export("simulate", "fmu", tmp_path, kind="both", friction="smooth", torque=control.pid(robot, [0.0, 0.0]))
    assert not list(tmp_path.iterdir())


def test_the_command_writes_an_fmu(tmp_path, capsys):
    out = tmp_path / "arm.fmu"
    assert (
        cli.main(["export", "2r", "simulate", "fmu", "--out", str(out), "--no-binary", "--json", "--fmi", "3.0"]) == 0
    )
    said = capsys.readouterr()
    assert json.loads(said.out) == {"files": [str(out)], "log": ["no binary: binary=False"]}
    assert "no binary" in said.err and zipfile.is_zipfile(out)
    assert cli.main(["export", "2r", "simulate", "fmu", "--out", str(out), "--fmi", "1"]) == 2
    assert "unknown version" in capsys.readouterr().err
