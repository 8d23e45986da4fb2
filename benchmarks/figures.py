"""Measure the figures of README.md and docs/performance.md, and save them: `python benchmarks/figures.py [part …]`.

Parts: speed, calls, reach, cold, scenes, robots, first, simulation, swings, quantities; default all. Each is one run of
both sides and becomes benchmarks/results/PART.json, with the date, the processor, the versions and the machine's load;
`python benchmarks/update_readme.py` writes the pages from these files. `--models FOLDER` has go1.xml of MuJoCo
Menagerie, which "robots" needs. Times are processor time where one thread works, so that other work on the machine
counts little.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np

from dalembert.cli.benchmark import cases, ours, peers
from dalembert.cli.benchmark.run import machine, versions
from dalembert.cli.benchmark.study import OURS, Settings, study

RESULTS = Path(__file__).parent / "results"
sys.path.insert(0, str(Path(__file__).parent))
BATCH, STATES = 4096, 512  # states of our batch, and of the peers' loops
FLUSH = 32 << 20  # bytes that are touched between cold calls: more than the processor's own caches hold


def saved(name: str, begin: float, rows: list[dict], **more: object) -> None:
    """Write a result: what was measured, when, on what, and how busy that was."""
    document = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "versions": versions(),
        "load": {"before": begin, "after": os.getloadavg()[0]},
        **more,
        "rows": rows,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    print(f"{name}: {len(rows)} rows", flush=True)


def examples() -> list[cases.Case]:
    """UR5, Panda, ANYmal and Talos of example-robot-data."""
    return cases.select([label for label, *_ in cases.EXAMPLES])


def speed(options: argparse.Namespace) -> list[dict]:
    """One call, a batch of ours, a Python loop of theirs, and Pinocchio's own batch call, all on one thread."""
    rows = []
    for case in examples():
        settings = Settings(cases.FUNCTIONS, batches=(BATCH,), rounds=9, round_time=1e-3, loop_states=STATES)
        rows += study(case, settings, lambda line: print(line, flush=True)).timings
    return rows


def calls(options: argparse.Namespace) -> list[dict]:
    """One call in all ways in which people write it."""
    import calls as ways

    return [row for case in cases.select(["UR5", "ANYmal", "Talos"]) for row in ways.measure(case, 9)]


def reach(options: argparse.Namespace) -> list[dict]:
    """One call of inverse kinematics from a start near a solution."""
    import calls as ways

    return ways.reach(15)


def cold(options: argparse.Namespace) -> list[dict]:
    """One call of inverse dynamics between other work, which fills the caches: elapsed time, median of many."""
    rows, other = [], np.zeros(FLUSH // 8)
    for case in examples():
        robot = case.load()
        frame = robot.joints[-1].child
        rival = peers.build("Pinocchio", case, robot, frame)
        state = ours.states(robot, 1, 1)
        jobs = {OURS: ours.call(robot, "inverse_dynamics", frame, *state)}
        jobs["Pinocchio"] = rival.call("inverse_dynamics", *state)
        for system, job in jobs.items():
            code = compile(job.code, "call", "exec")
            names = dict(job.names)
            times = {"warm": [], "cold": []}
            for kind in ("warm", "cold"):
                for _ in range(300):
                    exec(code, names)
                    if kind == "cold":
                        other += 1.0
                    begin = time.perf_counter_ns()
                    exec(code, names)
                    times[kind].append(time.perf_counter_ns() - begin)
            rows.append({"robot": case.label, "system": system} | {k: median(x) * 1e-9 for k, x in times.items()})
    return rows


def scenes(options: argparse.Namespace) -> list[dict]:
    """Loose bodies that lie on each other, beside MuJoCo."""
    import contact_scenes

    rows = []
    for kind, n in (("stack", 4), ("bin", 30)):
        (one, eight), theirs = contact_scenes.measured(kind, n), contact_scenes.peer(kind, n)
        rows.append({"scene": f"{kind}{n}", "alone": one, "eight": eight, "MuJoCo": theirs, "unit": "µs per step"})
    return rows


def robots(options: argparse.Namespace) -> list[dict]:
    """A Go1 that stands, trots and lies limp, all as its file says and feet alone, beside MuJoCo."""
    import contact

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        contact.speed(Path(options.models) / "go1.xml", 3, batch=16, steps=200)
    rows = []
    for line in printed.getvalue().splitlines():
        if found := re.match(r"  (dalembert|MuJoCo), (.*?) +([\d.]+)(?: +([\d.]+))?(?:  .*)?$", line):
            system, setting, first, second = found.groups()
            rows.append({"robot": "Go1", "system": system, "setting": setting, "unit": "µs per step"})
            tasks = {"limp": float(first)} if second is None else {"stands": float(first), "trots": float(second)}
            rows[-1] |= {"tasks": tasks, "printed": line.strip()}
    return rows


def first(options: argparse.Namespace) -> list[dict]:
    """Fresh processes from import to the first answer, with an empty and a filled cache."""
    import tempfile

    import first_call

    rows = []
    for name in ("UR5", "quadruped", "Talos"):
        robot, more = first_call.ROBOTS[name]
        for label, call in first_call.CALLS.items():
            left_out = call is None or not first_call.fits(name, call) or call == first_call.THROWN
            if left_out or (name == "Talos" and label.startswith("contact")):
                continue
            with tempfile.TemporaryDirectory() as folder:
                numbers = [first_call.measured(first_call.code_of(call, robot, more), folder) for _ in range(2)]
            rows.append({"robot": name, "call": label})
            empty, filled = ({"loops": x[0], "seconds": x[1]} for x in numbers)
            rows[-1] |= {"empty": empty, "filled": filled}
            print(rows[-1], flush=True)
    return rows


def simulation(options: argparse.Namespace) -> list[dict]:
    """Rollouts beside MuJoCo's, which keep every state: a batch and one motion alone."""
    import simulation as motions

    sizes = (64, 1)
    return [{"robot": case.label, "batch": n} | motions.rollouts(case, n, 5) for case in examples() for n in sizes]


def swings(options: argparse.Namespace) -> list[dict]:
    """Adaptive runs of a UR5, beside SciPy on Pinocchio's dynamics; both keep the same tolerances."""
    import simulation as motions

    found = [(seconds, motions.swings(3, "UR5", seconds)) for seconds in (1.0, 5.0)]
    return [{"seconds": seconds, "methods": name} | row for seconds, rows in found for name, row in rows.items()]


def quantities(options: argparse.Namespace) -> list[dict]:
    """Derivatives, matrices and regressors: one call, and a batch beside Pinocchio's Python loop."""
    import quantities as measured

    return [row for case in examples() for row in measured.measure(case, 1024, 5)]


PARTS = {
    part.__name__: part for part in (speed, calls, reach, cold, scenes, robots, first, simulation, swings, quantities)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--models", help="folder of go1.xml")
    options = parser.parse_args()
    for part in options.parts:
        if part == "robots" and not options.models:
            print("robots: left out, name the folder of go1.xml by --models")
            continue
        begin = os.getloadavg()[0]
        saved(part, begin, PARTS[part](options))


if __name__ == "__main__":
    main()
