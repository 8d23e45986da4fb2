"""The host: its processor, its vector width, and IR text → object code."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from dalembert.errors import DalembertError

from .objects import undefined

STEP = "step_of_loop"  # the function that computes the step of a loop, in an object of its own
LARGE = 4 << 20  # characters: modules whose code generation gets a stack of its own
DEEP = 512 << 20  # bytes of that stack, of which only what is used takes memory
_STACK_SIZE = threading.Lock()  # the size of new threads' stacks is one for the process

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

# The context of the empty module that each engine starts with. It must outlive every engine: the garbage collector
# would finalise an engine and its own context in any order, and disposing of an engine after its context is a use
# after free.
_ENGINE_CONTEXT = llvm.create_context()


@cache
def features() -> dict[str, bool]:
    return dict(llvm.get_host_cpu_features())


@cache
def vector_bytes() -> int:
    """Width of the host's vector registers: 64 (AVX-512), 32 (AVX2 with FMA), otherwise 16 (SSE, NEON)."""
    f = features()
    if f.get("avx512f") and f.get("avx512dq") and f.get("avx512vl"):
        return 64
    return 32 if f.get("avx2") and f.get("fma") else 16


def lanes(element: str) -> int:
    """States that one vector of `element` ("double" or "float") holds."""
    return vector_bytes() // (8 if element == "double" else 4)


def machine(cpu: str | None = None, features: str | None = None, triple: str | None = None) -> llvm.TargetMachine:
    """A new target machine (each engine takes ownership of one), for this host unless another is named."""
    if features is None:
        features = llvm.get_host_cpu_features().flatten()
        if vector_bytes() == 64:  # LLVM prefers 256-bit vectors on AVX-512 hosts; here every operation is a full vector
            features += ",-prefer-256-bit"
    target = llvm.Target.from_triple(triple or llvm.get_process_triple())
    # Level 2 schedules once more after register allocation: a third more time to compile, and the code is no faster.
    return target.create_target_machine(cpu=cpu or llvm.get_host_cpu_name(), features=features, opt=1, jit=True)


@cache
def description() -> str:
    """Everything that decides whether object code compiled here runs on another machine."""
    version = ".".join(str(v) for v in llvm.llvm_version_info)
    names = ",".join(sorted(name for name, on in features().items() if on))
    return (
        f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {names} llvmlite {llvmlite.__version__} LLVM {version}"
    )


def compile_object(text: str, to: llvm.TargetMachine | None = None) -> bytes:
    """Object code of a module, for this host unless `to` is another machine.

    The IR is final: no optimisation passes run, only code generation. That of large modules recurses deeper than the
    stack of a usual thread, which would end the process.
    """
    if len(text) < LARGE:
        return _emitted(text, to)
    with _STACK_SIZE, ThreadPoolExecutor(1) as deep:
        before = threading.stack_size(DEEP)
        try:
            code = deep.submit(_emitted, text, to)  # starts the thread
        finally:
            threading.stack_size(before)
    return code.result()


def _emitted(text: str, to: llvm.TargetMachine | None) -> bytes:
    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
        return (to or machine()).emit_object(module)


def load_object(code: bytes, step: bytes | None = None) -> Any:
    """An engine that holds the functions of an object; `engine.get_function_address(name)`.

    step: the object with the function STEP that it calls.
    """
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly("", context=_ENGINE_CONTEXT), machine())
    codes = [code] if step is None else [code, step]
    needed = set[str]().union(*map(undefined, codes))
    for name in sorted(needed - ({STEP} if step else set())):  # LLVM resolves an unknown symbol to a null pointer
        if llvm.address_of_symbol(name) is None:  # finds the process's symbols once an engine exists
            raise DalembertError(f"compiled code calls {name!r}, which this process does not have")
    for each in codes:
        engine.add_object_file(llvm.ObjectFileRef.from_data(each))
    engine.finalize_object()
    return engine


def add_symbol(name: str, address: int) -> None:
    """Make a symbol known to the object code that is loaded from now on."""
    llvm.add_symbol(name, address)
