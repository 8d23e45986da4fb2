"""Every kernel compiles for every kind of machine, and calls nothing but what a process there is known to have."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import pytest

from compiler.backends.expressions import EXPRESSIONS
from dalembert import DalembertError, math
from dalembert.compiler.backends.llvm import builtin, emit, objects, target
from dalembert.compiler.graph import Function, trace
from dalembert.quantities import compiled
from robust.machines import robot

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()

# name: triple, processor, features, bytes of a vector
TARGETS = {
    "x86-64": ("x86_64-unknown-linux-gnu", "x86-64", "", 16),
    "AVX2": ("x86_64-unknown-linux-gnu", "haswell", "", 32),
    "AVX-512": ("x86_64-unknown-linux-gnu", "skylake-avx512", "-prefer-256-bit", 64),
    "aarch64": ("aarch64-unknown-linux-gnu", "generic", "", 16),
    "macOS aarch64": ("arm64-apple-darwin", "apple-m1", "", 16),
    "macOS x86-64": ("x86_64-apple-darwin", "haswell", "", 32),
    "Windows": ("x86_64-pc-windows-msvc", "x86-64", "", 16),
    "Windows AVX-512": ("x86_64-pc-windows-msvc", "skylake-avx512", "-prefer-256-bit", 64),
    "RISC-V": ("riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", 16),
}
LEAST = {"double": 8, "float": 4}
APART = ("several", "calls", "table", "sincos")  # results of several shapes, subroutines, tables


def elementary(x):
    """Every operation once."""
    one = (math.sqrt, math.sin, math.cos, math.tan, math.asin, math.acos, math.atan, math.exp, math.log, math.tanh)
    one += (math.abs, math.sign, math.floor)
    two = (math.atan2, math.minimum, math.maximum)
    picked = math.where((x[0] < x[1]) & ~(x[1] == 2.0) | (x[0] >= 1.0), x[0] / x[1], math.abs(x[0]) ** x[1])
    return [*(f(x[0]) for f in one), *(f(x[0], x[1]) for f in two), picked, x[0] ** 7, x[0] * x[1] - x[0]]


@pytest.fixture(scope="module")
def functions() -> list:
    """Every operation, expressions of each shape, loops, and dynamics of a tree."""
    apart = [e.traced for e in EXPRESSIONS if e.loop is not None or e.name in APART]
    dynamics = compiled(robot("tree"), "inverse_dynamics").function()
    return [trace(elementary, {"x": 2}), *apart, dynamics]


def kernels(functions, element: str, width: int):
    """The IR of every kernel."""
    vector = width // LEAST[element]
    for function in functions:
        if isinstance(function, Function):
            yield emit.batch_kernel(function, element, vector, vector).text()
            yield emit.one_kernel(function, element, vector).text()
        else:
            plan, step = emit.step_of_loop(function.step, element, vector, vector)
            yield from (step.text(), emit.loop_kernel(function, plan, element, vector).text())


@pytest.mark.parametrize("element", ["double", "float"])
@pytest.mark.parametrize("name", TARGETS)
def test_nothing_unknown_is_called(name, element, functions):
    triple, cpu, features, width = TARGETS[name]
    machine = target.machine(cpu, features, triple)
    for text in kernels(functions, element, width):
        needed = objects.undefined(target.compile_object(text, machine)) - {target.STEP}
        assert needed <= objects.EXPECTED, (name, needed - objects.EXPECTED)


@pytest.mark.parametrize("name", TARGETS)
def test_the_builtins(name):
    """The fast call takes the functions of Python and NumPy that are given to it, and no others."""
    triple, cpu, features, _ = TARGETS[name]
    needed = objects.undefined(target.compile_object(builtin.source(), target.machine(cpu, features, triple)))
    given = {f"dalembert_{name}" for name in ("array_new", "set_base", "allocate", "vectorcall", "float", "integer")}
    given |= {f"dalembert_{name}" for name in ("getitem", "clear_error", "incref", "decref")}
    assert given <= needed <= given | objects.EXPECTED


CALLS = """
declare double @sin(double)
declare double @no_such_function(double)
@no_such_number = external global double
define double @f(double %x) {
  %y = call double @sin(double %x)
  %z = call double @no_such_function(double %y)
  %w = load double, ptr @no_such_number
  %u = fadd double %z, %w
  ret double %u
}
"""


@pytest.mark.parametrize("name", TARGETS)
def test_undefined_symbols_are_read(name):
    triple, cpu, features, _ = TARGETS[name]
    code = target.compile_object(CALLS, target.machine(cpu, features, triple))
    assert objects.undefined(code) == {"sin", "no_such_function", "no_such_number"}


def test_an_unknown_symbol_is_an_error():
    """Never a call of a null pointer."""
    with pytest.raises(DalembertError, match="no_such_function"):
        target.load_object(target.compile_object(CALLS))


def test_this_process_has_all_that_kernels_call():
    target.load_object(target.compile_object(""))  # with an engine LLVM knows the process's symbols
    for name in objects.EXPECTED - {"__chkstk"}:
        assert llvm.address_of_symbol(name), name
    text = "declare double @fma(double, double, double)\ndefine double @f(double %x) {\n"
    text += "  %y = call double @fma(double %x, double %x, double 1.0)\n  ret double %y\n}\n"
    engine = target.load_object(target.compile_object(text))
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(engine.get_function_address("f"))
    assert function(3.0) == 10.0
