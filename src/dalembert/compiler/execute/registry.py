"""The backends that run programs, by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dalembert.compiler.graph import Function, Loop
from dalembert.errors import DalembertError, unknown

if TYPE_CHECKING:
    from .program import Program

_usual = ContextVar("backend", default="llvm")
SLOW = 1e-3  # [s]: assumed duration of a pass on an unknown backend
NOT_FINITE, GUARD_FAILED = 1, 2  # bits of a status: an input is not finite; a condition on the inputs does not hold

Run = Callable[[Mapping[str, np.ndarray], int | None], Mapping[str, Any]]
Compile = Callable[[Function | Loop], Run]


class Executable(Protocol):
    """A program as prepared by a backend."""

    def run(
        self,
        arrays: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
        shape: tuple[int, ...],
        passes: int = 1,
        threads: int | None = None,
    ) -> int:
        """Compute and return the status.

        arrays (*some batch, size), of a loop's sequences (*some batch, rows · size), broadcast to the batch `shape`;
        results (*shape, …), of a loop's records (*shape, passes, …), are of one float type and are written. A loop
        makes `passes` ≥ 1. threads: the most to use, None for the default.
        """

    def seconds(self, dtype: np.dtype, rows: int, threads: int | None) -> tuple[float, float]:
        """Roughly how long one pass takes: of all rows, and of the fewest that are computed together."""


_executables: dict[str, Callable[[Program], Executable]] = {}


def register_backend(name: str, compile: Compile) -> None:
    """Add a backend, or replace the one of that name; programs that used the old one are prepared again.

    compile(function) gets a traced `Function` or `Loop` and returns run(inputs, passes) → results. inputs: name →
    array (*batch, size), a loop's sequences (*batch, rows, size), whose batch shapes broadcast; passes: of a loop, else
    None. results: name → array (*batch, *shape), a loop's records (*batch, passes, *shape). See docs/extending.md.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise DalembertError(f"register_backend: name is {name!r}, expected an identifier such as 'mine'")
    if name in _BUILT_IN:
        raise DalembertError(f"register_backend: {name!r} is a backend of dalembert itself: choose another name")
    if not callable(compile):
        raise DalembertError(f"register_backend: compile is of type {type(compile).__name__}, expected a function")
    _executables[name] = lambda program: Evaluated(program, compile)


def backend_names() -> tuple[str, ...]:
    """Names of the available backends."""
    return tuple(_executables)


def preparation(name: str | None) -> Callable[[Program], Executable]:
    """The function that prepares a program for the backend of that name; None: the default one."""
    try:
        return _executables[_usual.get() if name is None else name]
    except (KeyError, TypeError):
        raise unknown("backend", name, _executables, "execute") from None


def usual_backend() -> str:
    """The name of the backend of programs that are run without naming one: "llvm", unless `running_on` says else."""
    return _usual.get()


@contextmanager
def running_on(name: str | None) -> Iterator[None]:
    """Inside, programs run on the backend of that name where they do not name one; None: no change."""
    if name is None:
        yield
        return
    preparation(name)  # an unknown name is an error
    token = _usual.set(name)
    try:
        yield
    finally:
        _usual.reset(token)


class Evaluated:
    """A program as a function of named arrays: for backends that do not implement batches and checks."""

    def __init__(self, program: Program, compile: Compile) -> None:
        self.program = program
        self.compute = compile(program.function())

    def run(
        self,
        arrays: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
        shape: tuple[int, ...],
        passes: int = 1,
        threads: int | None = None,
    ) -> int:
        """See `Executable`."""
        dtype, name, repetition = results[0].dtype, self.program.name, self.program.repetition
        inputs = with_rows(self.program, arrays, dtype, shape)
        computed = self.compute(inputs, passes if repetition else None)
        recorded = repetition.record if repetition else ()
        for (output, size), result in zip(self.program.shapes.items(), results, strict=True):
            if output not in computed:
                raise DalembertError(f"{name}: the backend returned no {output!r}")
            value = np.asarray(computed[output])
            if value.dtype.kind == "f" and value.dtype.itemsize < dtype.itemsize:
                raise DalembertError(
                    f"{name}: the backend computed {output!r} in {value.dtype}, expected {dtype}: for JAX, "
                    'jax.config.update("jax_enable_x64", True); or pass float32 arrays'
                )
            expected = (*shape, passes, *size) if output in recorded else (*shape, *size)
            if value.shape != expected:
                raise DalembertError(
                    f"{name}: the backend returned {output!r} of shape {value.shape}, expected {expected}"
                )
            result[...] = value.reshape(result.shape)
        return status_of(self.program.function(), inputs, passes, dtype)

    def seconds(self, dtype: np.dtype, rows: int, threads: int | None) -> tuple[float, float]:
        """See `Executable`."""
        return SLOW, SLOW


def status_of(function: Function | Loop, inputs: Mapping[str, np.ndarray], passes: int, dtype: np.dtype) -> int:
    """The status of inputs shaped as for `Run`, computed with NumPy."""
    from dalembert.compiler.backends import interpreter

    status = 0 if all(np.isfinite(x).all() for x in inputs.values()) else NOT_FINITE
    loop = isinstance(function, Loop)
    step = function.step if isinstance(function, Loop) else function
    if step.guards and not interpreter.guards_hold(function, inputs, passes if loop else None, dtype=dtype).all():
        status |= GUARD_FAILED
    return status


def with_rows(
    program: Program, arrays: Sequence[np.ndarray], dtype: np.dtype, batch: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """The inputs of a program by name (*batch, size), those of a loop's sequences (*batch, rows, size)."""
    inputs = {}
    for (name, size), array in zip(program.sizes.items(), arrays, strict=True):
        x = np.broadcast_to(np.asarray(array, dtype), (*batch, np.shape(array)[-1]))
        rows = program.repetition is not None and name in program.repetition.sequence
        inputs[name] = x.reshape(*batch, -1, size) if rows else x
    return inputs


def has_32_bits() -> bool:
    """Whether this Python is one that compiled code cannot be used with."""
    return sys.maxsize < 2**32


def _llvm(program: Program) -> Executable:
    if has_32_bits():
        raise DalembertError(
            "compiled code needs a 64-bit Python, and this one has 32 bits: install a 64-bit Python, or pass "
            'backend="interpreter"'
        )
    from .host import NativeKernel

    sizes, shapes = list(program.sizes.values()), list(program.shapes.values())
    return NativeKernel(program.name, program.identity, sizes, shapes, program.function, program.lanes)


def _interpreter(program: Program) -> Executable:
    from dalembert.compiler.backends import interpreter

    def compile(function: Function | Loop) -> Run:
        def run(inputs: Mapping[str, np.ndarray], passes: int | None) -> Mapping[str, Any]:
            dtype = np.result_type(*inputs.values()) if inputs else np.dtype(float)
            return interpreter.run(function, inputs, passes, dtype=dtype)

        return run

    return Evaluated(program, compile)


def _cuda(program: Program) -> Executable:
    from .device import DeviceProgram

    return DeviceProgram(program)


def _array_library(name: str) -> Callable[[Program], Executable]:
    """The backend that evaluates with the operations of JAX or PyTorch."""

    def prepare(program: Program) -> Executable:
        from importlib import import_module

        return Evaluated(program, import_module(f"dalembert.compiler.backends.{name}").prepared)

    return prepare


_BUILT_IN = {
    "llvm": _llvm,
    "interpreter": _interpreter,
    "cuda": _cuda,
    "jax": _array_library("jax"),
    "torch": _array_library("torch"),
}
_executables.update(_BUILT_IN)
