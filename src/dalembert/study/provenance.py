"""Description of a study in its folder: enough to read it without its code, and to refuse rows of another one."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import platform
import secrets
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.compiler.execute.visible import visible_code
from dalembert.errors import DalembertError
from dalembert.files import write_text
from dalembert.model.content import is_own, leaves
from dalembert.robot import Robot
from dalembert.study.distributions.designs import GROWING
from dalembert.study.distributions.space import Draw
from dalembert.version import __version__

from .motion import Motion
from .parts import folder_of
from .rows import Chunked
from .work import Task

FILE = "study.json"
FORMAT = 1
PARTS = {  # what must agree, and how people call it
    "robot": "the robot",
    "function": "the function",
    "space": "the space",
    "method": "the method",
    "seed": "the seed",
    "outputs": "the outputs",
    "numbers": "the random numbers that the space gives (another version of SciPy or NumPy?)",
}
LIBRARIES = ("numpy", "scipy", "llvmlite", "pyarrow")


def described(task: Task) -> dict[str, Any]:
    """The study as it stands in `study.json`."""
    draw, run = task.draw, task.run
    return {
        "format": FORMAT,
        "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": " ".join(sys.argv),
        "versions": {"dalembert": __version__, "python": platform.python_version()} | _versions(),
        "machine": f"{platform.system()} {platform.machine()} {platform.processor()}".strip(),
        "name": task.robot.name,
        "robot": robot_digest(task.robot),
        "run": getattr(run, "__qualname__", type(run).__name__),
        "kind": run.kind if isinstance(run, Chunked) else "function",
        "function": function_digest(run),
        "source": _source(run),
        "axes": draw.space.plain(),
        "space": draw.space.digest() + ("" if draw.space.condition is None else function_digest(draw.space.condition)),
        "conditioned": draw.space.condition is not None,
        "method": draw.method,
        "seed": int(draw.seed),
        "samples": int(draw.samples),
        "outputs": None if task.outputs is None else list(task.outputs),
        "numbers": _numbers_digest(draw),
    }


def robot_digest(robot: Robot) -> str:
    """SHA-256 (hex) of the model with its shapes, which contacts depend on, and with the user's types of joints."""
    digest = hashlib.sha256(robot.model.fingerprint.encode())
    others = sorted(map(visible_code, (kind for kind in robot.model.types if not is_own(kind))))
    digest.update("".join(others).encode())
    for leaf in leaves(robot.model):
        if isinstance(leaf, (np.ndarray, np.generic, float)):
            digest.update(np.asarray(leaf).tobytes())
        elif isinstance(leaf, (str, int, type(None))):
            digest.update(repr(leaf).encode())
    return digest.hexdigest()


def function_digest(run: Any) -> str:
    """Digest of a function and of all that it uses, as far as that can be seen."""
    return visible_code(run)


def _source(run: Any) -> str:
    with suppress(OSError, TypeError):
        return inspect.getsource(run.torque if isinstance(run, Motion) else run)
    return ""


def _versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _numbers_digest(draw: Draw) -> str:
    """Digest of the values of the first sample, which a study of more samples has as well."""
    digest = hashlib.sha256()
    for name, x in draw.rows(0, min(len(draw), draw.per_sample, 64)).items():
        digest.update(name.encode())
        digest.update(repr(x.tolist()).encode() if x.dtype.kind == "U" else x.tobytes())
    return digest.hexdigest()


def read(folder: Path) -> dict[str, Any]:
    """The study in a folder."""
    path = folder / FILE
    if not path.is_file():
        what = "is no folder of a study: it has no study.json" if folder.is_dir() else "no such folder: check the path"
        raise DalembertError(f"{folder}: {what}")
    try:
        facts = json.loads(path.read_text("utf-8"))
        kind = facts["format"]
    except (ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise DalembertError(f"{path}: cannot be read ({type(error).__name__}): is it a study's?") from None
    if kind != FORMAT:
        raise DalembertError(f"{path}: format {kind!r}, expected {FORMAT}: it is of another version of dalembert")
    return facts


def claim(folder: Path, task: Task) -> dict[str, Any]:
    """Write the study into a new folder, or compare it with the one there; more samples are added to that one."""
    facts = described(task)
    try:
        folder_of(folder).mkdir(parents=True, exist_ok=True)
        if not (folder / FILE).exists():
            if any(folder_of(folder).iterdir()) or [p for p in folder.iterdir() if p.name != "parts"]:
                raise DalembertError(
                    f"{folder}: holds other files, and no study.json: give a new folder, or an empty one"
                )
            if _written_first(folder, facts):
                return facts
    except OSError as error:
        raise DalembertError(f"{folder}: cannot be written: {error.strerror or error}") from None
    before = read(folder)
    _compare(folder, before, facts)
    if facts["samples"] > before["samples"]:
        before["samples"] = facts["samples"]
        write_text(folder / FILE, json.dumps(before, indent=1))
    return before


def _written_first(folder: Path, facts: Mapping[str, Any]) -> bool:
    """Whether this process is the one that writes the study's file: of several, one is."""
    temporary = folder / f".{secrets.token_hex(8)}.json"
    temporary.write_text(json.dumps(facts, indent=1), "utf-8")
    try:
        os.link(temporary, folder / FILE)
    except FileExistsError:
        return False
    except OSError:  # no links on this file system
        os.replace(temporary, folder / FILE)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _compare(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    wrong = [word for key, word in PARTS.items() if before[key] != now[key]]
    if not wrong:
        return
    if wrong == [PARTS["numbers"]] and now["method"] not in GROWING and before["samples"] != now["samples"]:
        raise DalembertError(
            f"{folder}: has {before['samples']} samples of a Latin hypercube, whose number cannot change: give a new "
            "folder, or use method='sobol'"
        )
    if len(wrong) > 1:  # other axes have other numbers
        wrong = [word for word in wrong if word != PARTS["numbers"]]
    changed = " and ".join([", ".join(wrong[:-1]), wrong[-1]] if len(wrong) > 1 else wrong)
    pythons = [each["versions"]["python"] for each in (before, now)]
    note = "" if pythons[0] == pythons[1] else f" (it was made with Python {pythons[0]}, this is {pythons[1]})"
    raise DalembertError(
        f"{folder}: is the folder of another study: {changed} changed{note}. Rows of both are never mixed: give a new "
        "folder, or restore what changed"
    )
