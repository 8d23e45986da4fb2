"""A study in a TOML file: the robot, the space, and the function of a row in a file of Python beside it."""

from __future__ import annotations

import importlib.util
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalembert.errors import DalembertError, unknown
from dalembert.loading import load
from dalembert.robot import Robot
from dalembert.study.distributions import (
    cad_errors,
    choice,
    grid,
    linspace,
    lognormal,
    loguniform,
    model_errors,
    normal,
    states,
    triangular,
    uniform,
)
from dalembert.study.distributions.space import Space

from .job import Job, study
from .motion import Motion

KEYS = ("robot", "base", "mimic", "run", "samples", "method", "seed", "outputs", "limit", "folder", "report", "space")
KINDS: dict[str, Callable[..., Any]] = {
    "uniform": uniform, "normal": normal, "lognormal": lognormal, "loguniform": loguniform, "triangular": triangular,
    "choice": choice, "grid": grid, "linspace": linspace, "model_errors": model_errors, "cad_errors": cad_errors,
    "states": states,
}  # fmt: skip
EXAMPLE = "payload = { uniform = [0.0, 5.0] }"


@dataclass(frozen=True)
class StudyFile:
    """A study read from a file: the job, its folder, and the page that is written at the end, if one is asked for."""

    job: Job
    folder: Path
    report: Path | None


def read_study(path: str | os.PathLike[str]) -> StudyFile:
    """The study of a TOML file; other files are named relative to it."""
    path = Path(path)
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise DalembertError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DalembertError(f"{path}: is no TOML file: {error}") from None
    for key in given:
        if key not in KEYS:
            raise unknown("key", key, KEYS, str(path))
    for key in ("robot", "run", "space"):
        if key not in given:
            cure = {"run": 'run = "file.py:function"', "robot": 'robot = "panda"', "space": f"[space]\\n{EXAMPLE}"}[key]
            raise DalembertError(f"{path}: has no {key}: add {cure!r}")
    beside = path.parent
    named = str(given["robot"])
    source = str(beside / named) if (beside / named).is_file() else named
    robot = load(source, base=given.get("base"), mimic=given.get("mimic", "couple"))
    space = _space(path, robot, given["space"])
    run = _function(path, str(given["run"]))
    options = {key: given[key] for key in ("samples", "method", "seed", "outputs", "limit") if key in given}
    try:
        job = study(robot, space, run, **options)
    except DalembertError as error:
        raise DalembertError(f"{path}: {error}") from None
    report = beside / given["report"] if "report" in given else None
    return StudyFile(job, beside / str(given.get("folder", path.stem)), report)


def _space(path: Path, robot: Robot, given: Any) -> Space:
    if not isinstance(given, Mapping) or not given:
        raise DalembertError(f"{path}: [space] has no axis: add one, such as {EXAMPLE}")
    return Space(**{name: _axis(f"{path}: [space] {name}", robot, axis) for name, axis in given.items()})


def _axis(where: str, robot: Robot, given: Any) -> Any:
    """An axis: a list of values, or {uniform = [0, 5]} with options beside it."""
    if isinstance(given, list):
        given = {"grid": given}
    if not isinstance(given, Mapping):
        raise DalembertError(f"{where} is {given!r}, expected a list of values, or such as {{ uniform = [0.0, 5.0] }}")
    kinds = [key for key in given if key in KINDS]
    if len(kinds) != 1:
        other = next((key for key in given if key not in KINDS), "nothing")
        raise unknown("distribution", " and ".join(kinds) or other, KINDS, where)
    kind = kinds[0]
    options = {key: x for key, x in given.items() if key != kind}
    stated, arguments = given[kind], list[Any]()
    if isinstance(stated, Mapping):
        options = {**stated, **options}
    else:
        arguments = stated if isinstance(stated, list) else [stated]
    if kind == "states":
        arguments = [robot, *arguments]
    options = {key: tuple(x) if isinstance(x, list) and kind in ("model_errors", "cad_errors") else x
               for key, x in options.items()}  # fmt: skip
    try:
        return KINDS[kind](*arguments, **options)
    except TypeError as error:
        raise DalembertError(f"{where}: {kind}: {error}") from None
    except DalembertError as error:
        raise DalembertError(f"{where}: {error}") from None


def _function(path: Path, named: str) -> Any:
    """The function or motion `file.py:name`."""
    file, colon, name = named.rpartition(":")
    source = path.parent / file
    if not colon or not name.isidentifier():
        raise DalembertError(f"{path}: run is {named!r}, expected 'file.py:function'")
    if not source.is_file():
        raise DalembertError(f"{path}: run: there is no file {source}")
    module_name = f"study_{source.stem}"
    spec = importlib.util.spec_from_file_location(module_name, source)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    sys.path.insert(0, str(source.parent.resolve()))  # modules beside it
    try:
        spec.loader.exec_module(module)
    except DalembertError:
        raise
    except Exception as error:  # whatever the user's code raises
        raise DalembertError(f"{source}: {type(error).__name__}: {error}") from None
    finally:
        sys.path.pop(0)
    _send_by_value(module)
    found = getattr(module, name, None)
    if found is None:
        names = [
            x
            for x, each in vars(module).items()
            if not x.startswith("_") and (callable(each) or isinstance(each, Motion))
        ]
        raise unknown("function", name, names, str(source))
    return found


def _send_by_value(module: Any) -> None:
    """Let other processes get the functions of the module themselves, not its name."""
    try:
        import cloudpickle
    except ImportError:
        return
    cloudpickle.register_pickle_by_value(module)
