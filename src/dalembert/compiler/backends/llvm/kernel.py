"""A function compiled for this machine: kernels compiled when first needed, kept on disk; the fast call from Python."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache as memoize
from typing import Any

import numpy as np

from dalembert.compiler.backends import cache
from dalembert.compiler.backends.signature import Parameter, View
from dalembert.compiler.graph import Function, Loop, uncollected
from dalembert.compiler.graph.traces import bound
from dalembert.progress import Progress

from . import builtin, fastcall, target
from .rare import Branch, registered

ELEMENT = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}
_ADDRESS, _NUMBER = ctypes.c_void_p, ctypes.c_int64
_TYPES = {
    "one": ctypes.CFUNCTYPE(_NUMBER, _ADDRESS, _ADDRESS),
    "batch": ctypes.CFUNCTYPE(_NUMBER, _ADDRESS, _ADDRESS, _ADDRESS, _NUMBER, _NUMBER, _NUMBER),
}


@dataclass(frozen=True)
class MachineCode:
    """Code in memory: how to call it, where it is, its operation count, and the engine and branches that it needs."""

    call: Callable[..., int]
    address: int
    operations: int
    engine: Any = field(repr=False)
    branches: list[Branch] = field(repr=False)

    def complete(self) -> None:
        """Compile the rare branches before any is taken."""
        for branch in self.branches:
            branch.address()


class LlvmKernel:
    """One traced function, compiled per kind ("one" state or "batch") and precision.

    identity: text that determines the function, so that a cached kernel needs no tracing; build: traces it.
    sizes, shapes: of its inputs and outputs. lanes: states computed together in a batch, by default as many as a vector
    of the processor holds; 1 is faster for loops over a single state.
    """

    def __init__(
        self,
        name: str,
        identity: str,
        sizes: Sequence[int],
        shapes: Sequence[tuple[int, ...]],
        build: Callable[[], Function | Loop],
        lanes: int | None = None,
    ) -> None:
        self.lanes = lanes
        self.name, self.identity, self.sizes, self.shapes, self._build = (
            name,
            identity,
            list(sizes),
            list(shapes),
            build,
        )
        self._executables: dict[tuple[str, str], MachineCode] = {}
        self._tables: list[weakref.ref[fastcall.CallTable]] = []  # a builtin that is not used any more is freed
        self._lock = threading.RLock()

    def executable(self, kind: str, element: str) -> MachineCode:
        """The code of a kind and element type: from memory, from the disk, or compiled now."""
        executable = self._executables.get((kind, element))
        if executable is None:
            with self._lock:
                executable = self._executables.get((kind, element))
                if executable is None:
                    executable = self._executables[kind, element] = self._make(kind, element)
                    for table in self._live_tables():
                        fastcall.enter(table, element, kind, executable.address, executable.operations, executable)
        return executable

    def _live_tables(self) -> list[fastcall.CallTable]:
        return [table for reference in self._tables if (table := reference()) is not None]

    def _make(self, kind: str, element: str) -> MachineCode:
        vector = target.lanes(element)
        lanes = self.lanes or vector
        name = cache.key(self.identity, f"{kind} {lanes}", element, target.description())
        entry = cache.read(name)
        if entry is None:
            with Progress(f"compiling {self.name}"), uncollected():
                from . import compilation  # not needed for kernels from the disk cache

                function = self._build()
                if kind == "one":
                    assert isinstance(function, Function), "a loop has no kernel for one state"
                    compiled = compilation.one_object(function, element, vector)
                else:
                    compiled = compilation.batch_objects(function, element, lanes, vector)
                operations = sum(function.operations().values())
                del function
                bound()  # before the garbage collector looks at its graphs
            facts = {
                "operations": operations,
                "lengths": [len(each) for each in compiled.objects],
                "rare": {digest: len(text) for digest, text in compiled.rare.items()},
            }
            entry = cache.CacheEntry(b"".join([*compiled.objects, *compiled.rare.values()]), facts)
            cache.write(name, entry)
        lengths, digests = entry.facts["lengths"], entry.facts["rare"]
        parts = entry.split([*lengths, *digests.values()])
        branches = registered(dict(zip(digests, parts[len(lengths) :], strict=True)), self.name)
        engine = target.load_object(*parts[: len(lengths)])
        address = engine.get_function_address(kind)
        return MachineCode(_TYPES[kind](address), address, entry.facts["operations"], engine, branches)

    def builtin(self, name: str, doc: str, slow: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
        """The fast call of arrays with these names, with `slow` behind it; `slow` itself where none can be built."""
        table = self.variant(range(len(names)))
        address = fast_address()
        if table is None or address is None:
            return slow
        parameters = [Parameter(each) for each in names]
        function = fastcall.entry(name, doc, parameters, len(names), slow, address)
        fastcall.lead(function, (), table)
        return function

    def variant(
        self, places: Sequence[int], kind: type[tuple] | None = None, views: Sequence[View] = ()
    ) -> fastcall.CallTable | None:
        """A table for fast calls of this kernel, which gets its code as it is compiled; see `fastcall.variant`."""
        lonely = kind is not None and len(self.shapes) == 1 and not views  # a tuple of one array
        if lonely or not fastcall.fits(self.sizes, self.shapes, len(views)):
            return None
        table = fastcall.variant(self.sizes, places, self.shapes, kind, views)
        with self._lock:
            self._tables = [weakref.ref(x) for x in (*self._live_tables(), table)]
            for (kind_, element), executable in self._executables.items():
                fastcall.enter(table, element, kind_, executable.address, executable.operations, executable)
        return table


_fast_lock = threading.Lock()


def fast_address() -> int | None:
    """Address of the code of all builtins; None where it is switched off or the interpreter's layout is another one."""
    with _fast_lock:  # of two engines created at once one would be dropped while its address is in use
        engine = _fast_engine()
    return None if engine is None else engine.get_function_address("call")


@memoize  # which also keeps it alive
def _fast_engine() -> Any:
    symbols = fastcall.symbols()
    if symbols is None:
        fastcall.warn_if_missing()
        return None
    for name, address in symbols.items():
        target.add_symbol(name, address)
    text = builtin.source()
    name = cache.key("fastcall", text, target.description())
    entry = cache.read(name)
    if entry is None:
        entry = cache.CacheEntry(target.compile_object(text), {})
        cache.write(name, entry)
    return target.load_object(entry.code)
