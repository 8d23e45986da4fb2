"""The cost of starting: import, first call with an empty cache, first call from the cache; each in fresh processes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from . import ours
from .cases import Case

IMPORT = """
from time import perf_counter
start = perf_counter()
import numpy
between = perf_counter()
import dalembert
after = perf_counter()
import llvmlite.binding
print(between - start, after - between, perf_counter() - after)
"""


def import_time(repeats: int) -> dict[str, float]:
    """Median seconds for `import numpy`, for `import dalembert` after it, and for LLVM, which the first call loads."""
    fresh_python("-c", IMPORT)  # brings files into the system's cache
    runs = [[float(x) for x in fresh_python("-c", IMPORT).split()] for _ in range(repeats)]
    numpy, dalembert, llvm = (statistics.median(column) for column in zip(*runs, strict=True))
    return {"numpy": numpy, "dalembert": dalembert, "llvm": llvm}


def compile_times(cases: Sequence[Case], functions: Sequence[str], say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Per robot and function: the probe's figures with a cache that is empty, then with the one it left."""
    rows = []
    for case in cases:
        for function in functions:
            say(f"{case.label}: first call of {function.replace('_', ' ')}")
            with tempfile.TemporaryDirectory(prefix="dalembert-bench-") as folder:
                arguments = ("-m", "dalembert.cli.benchmark.startup", str(case.path), case.base or "", function)
                cold, cached = (json.loads(fresh_python(*arguments, cache=folder)) for _ in range(2))
            rows.append({"robot": case.label, "function": function, "cold": cold, "cached": cached})
    return rows


def fresh_python(*arguments: str, cache: str = "off") -> str:
    """The output of a new interpreter; its cache directory is `cache`."""
    environment = os.environ | {"DALEMBERT_CACHE": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the start-up probe failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def first_calls(path: str, base: str, function: str) -> dict[str, float | None]:
    """Seconds to load, of the first call and the first batch; MB at the peak, and beyond the arrays of a batch.

    LLVM is loaded before: a process pays for it once, whatever it calls.
    """
    import llvmlite.binding  # noqa: F401

    start = perf_counter()
    robot = Case(path, Path(path), base or None).load()
    loaded = perf_counter() - start
    frame = robot.joints[-1].child
    q, v, u = ours.states(robot, 64, seed=0)
    one = ours.call(robot, function, frame, q, v, u)
    start = perf_counter()
    exec(one.code, dict(one.names))
    call = perf_counter() - start
    small = ours.batch(robot, function, frame, q, v, u)
    start = perf_counter()
    ours.answer(small)
    batch = perf_counter() - start
    peak = peak_memory()
    large = ours.batch(robot, function, frame, *(np.tile(x, (512, 1)) for x in (q, v, u)))
    before = peak_memory(reset=True)
    ours.answer(large)
    after = peak_memory()
    extra = after - before if before is not None and after is not None else None
    return {"load": loaded, "call": call, "batch": batch, "peak_mb": peak, "batch_extra_mb": extra}


def peak_memory(reset: bool = False) -> float | None:
    """Peak resident memory of this process in MB (after a reset: from now on). None where the system does not tell."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return None


if __name__ == "__main__":  # one of the fresh processes
    print(json.dumps(first_calls(*sys.argv[1:])))
