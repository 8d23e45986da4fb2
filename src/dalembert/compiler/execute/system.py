"""The machine and its settings, for people who wonder why something is slow."""

from __future__ import annotations

import sys

import numpy as np

from .memory import limit as memory_limit
from .threads import limit as thread_limit


def system() -> dict[str, str]:
    """Item → its state in words."""
    import llvmlite  # loads the compiler

    from dalembert.compiler.backends import cache
    from dalembert.compiler.backends.llvm import fastcall, target

    folder, missing = cache.directory(), fastcall.missing()
    return {
        "Python": f"{sys.version.split()[0]} ({sys.implementation.name}, {64 if sys.maxsize > 2**32 else 32} bits)",
        "NumPy": np.__version__,
        "llvmlite": llvmlite.__version__,
        "processor": f"{target.llvm.get_host_cpu_name()}, {target.lanes('double')} states of float64 per vector",
        "threads": f"{thread_limit(None)} for a batch",
        "fast call": f"no: {missing}" if missing else "yes",
        "compiled code": "not kept" if folder is None else f"kept in {folder}",
        "result memory": f"up to {memory_limit() >> 20} MiB kept for reuse",
    }
