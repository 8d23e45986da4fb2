"""Run in a fresh process by `startup`: prints, as JSON, what the first calls of one function of one robot cost."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter

import llvmlite.binding  # noqa: F401
import numpy as np

from . import ours
from .cases import Case


def first_calls(path: str, base: str, function: str) -> dict[str, float | None]:
    """Seconds to load, of the first call and the first batch; MB at the peak, and beyond the arrays of a batch.

    LLVM is loaded before: a process pays for it once, whatever it calls.
    """
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


if __name__ == "__main__":
    print(json.dumps(first_calls(*sys.argv[1:])))
