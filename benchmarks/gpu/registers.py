"""Registers, spills, stack and code size of kernels, by NVRTC, without a graphics processor.

`python benchmarks/gpu/registers.py [--write]` prints the table, and with --write renews registers.json beside it, with
which `make test-long` compares. Needs NVRTC 12 or 13: pip install nvidia-cuda-nvrtc-cu12.
"""

from __future__ import annotations

import ctypes
import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dalembert
from dalembert.compiler.backends import cuda
from dalembert.compiler.graph import poisoned
from dalembert.quantities import compiled

STORED = Path(__file__).with_name("registers.json")
ARCHITECTURE = "sm_90"
ROBOTS = ("ur5", "panda", "quadruped")
QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
OPTIONS = ("-std=c++17", "-prec-div=false", f"-arch={ARCHITECTURE}", "--ptxas-options=-v")
FACTS = {
    "registers": r"Used (\d+) registers",
    "stack": r"(\d+) bytes stack frame",
    "stores": r"(\d+) bytes spill stores",
    "loads": r"(\d+) bytes spill loads",
}


def library() -> ctypes.CDLL | None:
    """NVRTC of the package, or None."""
    found = find_spec("nvidia")
    for folder in [] if found is None else found.submodule_search_locations or []:
        for path in sorted(Path(folder).rglob("libnvrtc.so.1[0-9]")):
            return ctypes.CDLL(str(path))
    return None


def facts(nvrtc: ctypes.CDLL, text: str) -> dict[str, int]:
    """Resources of the kernel in a source."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    options = (ctypes.c_char_p * len(OPTIONS))(*(x.encode() for x in OPTIONS))
    status = nvrtc.nvrtcCompileProgram(program, len(OPTIONS), options)
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    said = log.value.decode()
    assert status == 0, said
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    found = {name: max(map(int, re.findall(pattern, said)), default=0) for name, pattern in FACTS.items()}
    return found | {"bytes": size.value}


def table(nvrtc: ctypes.CDLL) -> dict[str, dict[str, int]]:
    """The resources of every kernel, by robot, quantity and type."""
    rows: dict[str, dict[str, int]] = {}
    for name in ROBOTS:
        robot: Any = dalembert.load(name)
        for quantity in QUANTITIES:
            function = poisoned(compiled(robot, quantity).function())
            for real in cuda.REALS:
                rows[f"{name} {quantity} {real}"] = facts(nvrtc, cuda.emit(function, "kernel", real).text)
    return rows


def main() -> None:
    nvrtc = library()
    if nvrtc is None:
        raise SystemExit("NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12")
    rows = table(nvrtc)
    for name, row in rows.items():
        print(f"{name:40s} {row}")
    if "--write" in sys.argv:
        STORED.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
