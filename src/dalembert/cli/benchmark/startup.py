"""The cost of starting: import, first call with an empty cache, first call from the cache; each in fresh processes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

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
                arguments = ("-m", "dalembert.cli.benchmark.probe", str(case.path), case.base or "", function)
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
