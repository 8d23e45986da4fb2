"""Robots and their compiled code can be dropped at any moment, also by the garbage collector; the process lives on."""

from __future__ import annotations

import subprocess
import sys

import pytest

from compiler.backends.expressions import EXPRESSIONS
from dalembert.compiler.backends.llvm import builtin, compilation, target

DROPPED_IN_CYCLES = """
import gc
from dalembert.compiler.backends.llvm import target

code = target.compile_object("define i64 @three() {\\n ret i64 3\\n}")
for _ in range(200):
    cycle = [target.load_object(code)]
    cycle.append(cycle)
    del cycle
gc.collect()
print("alive")
"""


def test_engines_in_reference_cycles_are_disposed_of_safely():
    """The collector finalises the parts of a cycle in any order: an engine after its context would be a crash."""
    run = subprocess.run([sys.executable, "-c", DROPPED_IN_CYCLES], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "alive"


NAMES = ("sin", "cos", "exp", "log", "tanh", "atan2", "loop")


@pytest.mark.parametrize("expression", [e for e in EXPRESSIONS if e.name in NAMES], ids=str)
def test_code_registers_nothing_for_unwinding(expression):
    """What is registered for an engine's code outlives it on some systems, and the next walk of the stack crashes."""
    for code in compilation.batch_objects(expression.traced, "double", *[target.lanes("double")] * 2):
        assert b"eh_frame" not in code


def test_the_builtin_registers_nothing_for_unwinding():
    assert b"eh_frame" not in target.compile_object(builtin.source())
