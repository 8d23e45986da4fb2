"""A function compiled for a graphics processor: NVRTC when first needed, machine code kept on disk, launches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dalembert.backends import cache
from dalembert.backends.progress import announced
from dalembert.errors import DalembertError
from dalembert.graph import Function, Loop

from . import emit

SIZE = {"double": 8, "float": 4}
STAGED = 1300  # bytes of shared memory per thread up to which rows go through it: two blocks of 64 on one processor
SHORT = 64  # bytes of a row up to which it does not: neighbouring threads still find their numbers in the same lines
FEW = 16384  # states up to which small blocks spread the work over more processors
BLOCK_SHARED = 98304  # bytes of shared memory for one block, so that a processor holds two
SHARED_LIMIT = 8  # CUDA's number of the function attribute for the largest dynamic shared memory
# A division within 2 ulp instead of 0.5: it needs no branch.
OPTIONS = ("-std=c++17", "-prec-div=false")


class Array(NamedTuple):
    """Numbers in device memory: address, distances in elements between states, items and (of a loop) passes."""

    address: int
    state: int
    item: int
    pass_: int | None = None


@dataclass(frozen=True)
class Loaded:
    """A kernel on one device."""

    function: Any
    threads: int
    shared: int  # bytes per thread


class Kernel:
    """One traced function or loop, compiled per element type, layout and device.

    identity: text that determines the function, so that a cached kernel needs no tracing; build: traces it.
    sizes: of its inputs and then of its outputs, flat.
    """

    def __init__(self, name: str, identity: str, sizes: Sequence[int], build: Callable[[], Function | Loop]) -> None:
        self.name, self.identity, self.sizes, self._build = name, identity, list(sizes), build
        self._made: dict[tuple[str, str, int], Loaded] = {}
        self._lock = threading.RLock()

    def launch(
        self, element: str, count: int, arrays: Sequence[Array], stream: int | None = None, passes: int | None = None
    ) -> None:
        """Compute `count` states: inputs and outputs in order, those without elements left out. Does not wait.

        stream: the address of the CUDA stream, by default CuPy's current one. passes: of a loop.
        """
        if not count:
            return
        cupy = library()
        sizes = [size for size in self.sizes if size]
        dense = passes is None and all(
            a.state == size and (a.item == 1 or size == 1) for a, size in zip(arrays, sizes, strict=True)
        )
        long = max(sizes) * SIZE[element] > SHORT
        staged = dense and long and sum(size | 1 for size in sizes) * SIZE[element] <= STAGED
        loaded = self._loaded(element, "rows" if staged else "strided")
        threads = 32 if count <= FEW else loaded.threads
        head = (count,) if passes is None else (count, passes)
        if staged:
            arguments = (*head, *(a.address for a in arrays))
        else:
            arguments = (*head, *(x for a in arrays for x in (a if a.pass_ is not None else a[:3])))
        order = None if stream is None else cupy.cuda.ExternalStream(stream)
        loaded.function((-(-count // threads),), (threads,), arguments, loaded.shared * threads, order)

    def _loaded(self, element: str, layout: str) -> Loaded:
        device = library().cuda.runtime.getDevice()
        made = self._made.get((element, layout, device))
        if made is None:
            with self._lock:
                made = self._made.get((element, layout, device))
                if made is None:
                    made = self._made[element, layout, device] = self._load(element, layout)
        return made

    def _load(self, element: str, layout: str) -> Loaded:
        from cupy.cuda import driver, function

        entry = self.code(element, layout, library().cuda.Device().compute_capability)
        module = function.Module()
        module.load(entry.code)
        made = module.get_function(entry.facts["name"])
        shared = entry.facts["shared"] * SIZE[element]
        threads = entry.facts["threads"]
        while shared * threads > BLOCK_SHARED:
            threads //= 2
        if shared * threads > 49152:
            driver.funcSetAttribute(made.ptr, SHARED_LIMIT, shared * threads)
        return Loaded(made, threads, shared)

    def code(self, element: str, layout: str, capability: str) -> cache.Entry:
        """Machine code for processors of a compute capability such as "90": from the disk, or compiled now."""
        library()
        from cupy.cuda import nvrtc

        version = ".".join(map(str, nvrtc.getVersion()))
        key = cache.key(self.identity, "cuda", element, layout, capability, version, *OPTIONS)
        entry = cache.read(key)
        if entry is None:
            with announced(f"compiling {self.name} for CUDA"):
                source = emit(self._build(), "dalembert_kernel", element, layout)
                code = _compile(nvrtc, source.text, capability)
            entry = cache.Entry(code, {"name": source.name, "threads": source.threads, "shared": source.shared})
            cache.write(key, entry)
        return entry


def _compile(nvrtc: Any, text: str, capability: str) -> bytes:
    program = nvrtc.createProgram(text, "dalembert.cu", (), ())
    try:
        nvrtc.compileProgram(program, (f"-arch=sm_{capability}", *OPTIONS))
        return nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError as error:
        log = nvrtc.getProgramLog(program)
        raise DalembertError(f"NVRTC cannot compile a kernel ({error}): {log[:2000]}") from None
    finally:
        nvrtc.destroyProgram(program)


def library() -> Any:
    """CuPy, loaded when used."""
    try:
        import cupy
    except ImportError:
        raise DalembertError("arrays on a GPU need CuPy: pip install 'dalembert[cuda]'") from None
    return cupy
