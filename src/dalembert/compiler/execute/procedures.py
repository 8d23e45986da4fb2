"""Procedures, which are loops over arrays in plain Python, compiled: see `backends.llvm.procedures`."""

from __future__ import annotations

import ctypes
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.compiler.backends.llvm.procedure_values import F32, F64, I32, I64, U8  # noqa: F401 for callers

KINDS = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64, "U8": np.uint8}
NUMBERS = {"int": ctypes.c_int64, "float": ctypes.c_double}
_lock = threading.Lock()


class Procedures:
    """Functions of one module, compiled at the first call of one of them, or taken from the disk cache.

    `procedures.NAME(…)` runs one, without the interpreter lock. Arrays must be contiguous and of the stated kind.
    """

    def __init__(self, *functions: Callable[..., None]) -> None:
        self._functions: tuple[Callable[..., None], ...] = functions
        self._ready: dict[str, Callable[..., None]] = {}

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name not in {function.__name__ for function in self._functions}:
            raise AttributeError(name)
        with _lock:
            if not self._ready:
                self._ready = _prepared(self._functions)
        return self._ready[name]


def _prepared(functions: Sequence[Callable[..., None]]) -> dict[str, Callable[..., None]]:
    from dalembert.compiler.backends import cache
    from dalembert.compiler.backends.llvm import procedures, target

    module = inspect.getmodule(functions[0])
    assert module is not None
    text = inspect.getsource(module)
    compiler = "".join(inspect.getsource(each) for each in (procedures, procedures.procedure_values))
    name = cache.key("procedures", text, compiler, target.description(), *(f.__name__ for f in functions))
    entry = cache.read(name)
    if entry is None:
        entry = cache.CacheEntry(procedures.compiled(functions), {})
        cache.write(name, entry)
    engine = target.load_object(entry.code)
    return {f.__name__: _call(engine, f) for f in functions}


def _call(engine: Any, function: Callable[..., None]) -> Callable[..., None]:
    """A function of arrays and numbers that runs the code; it keeps the engine."""
    words = list(inspect.signature(function).parameters.values())
    kinds: list[Any] = [NUMBERS.get(word.annotation, ctypes.c_void_p) for word in words]
    code = ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address(function.__name__))
    places = [(k, KINDS[word.annotation], word.name) for k, word in enumerate(words) if word.annotation in KINDS]

    def call(*arguments: Any, keep: Any = engine) -> None:
        given = list(arguments)
        for k, kind, name in places:
            array = given[k]
            if array.dtype != kind or not array.flags.c_contiguous:
                raise TypeError(f"{function.__name__}: {name} is {array.dtype}, expected contiguous {kind.__name__}")
            given[k] = array.ctypes.data
        code(*given)

    return call
