"""Registers, spills and stack of kernels beside the stored table, where NVRTC is installed; no graphics processor."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "gpu" / "registers.py"
MARGINS = {"registers": 16, "stack": 128, "stores": 256, "loads": 256, "bytes": 8_000}


@pytest.mark.long
def test_kernels_take_no_more_than_stored():
    spec = importlib.util.spec_from_file_location("registers", SCRIPT)
    registers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(registers)
    nvrtc = registers.library()
    if nvrtc is None:
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12")
    stored, rows = json.loads(registers.STORED.read_text()), registers.table(nvrtc)
    assert stored.keys() == rows.keys()
    worse = [
        f"{name}: {fact} {rows[name][fact]}, stored {old}; renew by benchmarks/gpu/registers.py --write"
        for name, row in stored.items()
        for fact, old in row.items()
        if rows[name][fact] > 1.1 * old + MARGINS[fact]
    ]
    assert not worse, "\n".join(worse)
