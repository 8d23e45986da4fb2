"""The whole benchmark: choose, measure, show, save. `dalembert bench` and benchmarks/run.py end here."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from dalembert.errors import unknown
from dalembert.files import write_text

from . import cases, peers, report, startup
from .report import Document
from .study import OURS, Settings, cores, study

PACKAGES = {"Pinocchio": "pin", "MuJoCo": "mujoco-core", "adam": "adam-robotics", "adam+CasADi": "casadi"}


def run(
    robots: Sequence[str] = (),
    functions: Sequence[str] = (),
    *,
    quick: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Document:
    """Measure and return the document that is written as JSON. Names default to everything available."""
    for name in functions:
        if name not in cases.FUNCTIONS:
            raise unknown("function", name, cases.FUNCTIONS, where="bench")
    chosen = cases.select(robots, quick)
    settings = (Settings.quick if quick else Settings)(functions or cases.FUNCTIONS)
    document: Document = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "versions": versions(),
        "unit": "seconds per state",
        "quick": quick,
        "import": startup.import_time(3 if quick else 9),
        "timings": [],
        "agreement": [],
        "skipped": [],
        "operations": [],
    }
    for case in chosen:
        result = study(case, settings, say)
        for part in ("timings", "agreement", "skipped", "operations"):
            document[part] += getattr(result, part)
    document["startup"] = startup.compile_times(chosen, settings.functions, say)
    return document


def main(
    robots: Sequence[str] = (),
    functions: Sequence[str] = (),
    *,
    quick: bool = False,
    out: Path | None = None,
    as_json: bool = False,
) -> int:
    """Run, print tables (or JSON), save bench.json, bench.txt and bench.png below `out`. 1 when answers disagree."""
    start = time.perf_counter()

    def say(line: str) -> None:
        print(f"[{time.perf_counter() - start:5.0f} s] {line}", file=sys.stderr, flush=True)

    document = run(robots, functions, quick=quick, say=say)
    shown = report.text(document)
    print(json.dumps(document, indent=1) if as_json else shown)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_text(out / "bench.json", json.dumps(document, indent=1) + "\n")
        write_text(out / "bench.txt", shown + "\n")
        if find_spec("matplotlib"):
            report.save_plot(document, out / "bench.png")
        else:
            say('no plot: matplotlib is missing (pip install "dalembert[plot]")')
        say(f"written to {out}/")
    return 1 if report.disagreements(document) else 0


def machine() -> dict[str, str | int]:
    return {"processor": processor(), "cores": cores(), "system": platform.platform(terse=True)}


def processor() -> str:
    """The processor's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Versions of dalembert, its dependencies and the installed peers."""
    listed = {OURS: metadata.version("dalembert")} if installed("dalembert") else {OURS: "from source"}
    listed |= {"Python": platform.python_version(), "numpy": metadata.version("numpy")}
    listed["llvmlite"] = metadata.version("llvmlite")
    listed |= {name: metadata.version(PACKAGES[name]) for name in peers.installed() if installed(PACKAGES[name])}
    return listed


def installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
