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

NAME = "dalembert_kernel"
FEW = 16384  # states up to which small blocks spread the work over more processors
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
    """A kernel on one device, and how many threads its blocks may have."""

    function: Any
    threads: int


class Kernel:
    """One traced function or loop, compiled per element type and device.

    identity: text that determines the function, so that a cached kernel needs no tracing; build: traces it.
    """

    def __init__(self, name: str, identity: str, build: Callable[[], Function | Loop]) -> None:
        self.name, self.identity, self._build = name, identity, build
        self._made: dict[tuple[str, int], Loaded] = {}
        self._lock = threading.RLock()

    def launch(
        self, element: str, count: int, arrays: Sequence[Array], stream: int | None = None, passes: int | None = None
    ) -> None:
        """Compute `count` states: inputs and outputs in order, those without elements left out. Does not wait.

        stream: the address of the CUDA stream, by default CuPy's current one. passes: of a loop.
        """
        if not count:
            return
        loaded = self._loaded(element)
        threads = 32 if count <= FEW else loaded.threads
        arguments = [count] if passes is None else [count, passes]
        for array in arrays:
            arguments += [x for x in array if x is not None]
        order = None if stream is None else cupy().cuda.ExternalStream(stream)
        loaded.function((-(-count // threads),), (threads,), tuple(arguments), 0, order)

    def _loaded(self, element: str) -> Loaded:
        device = cupy().cuda.runtime.getDevice()
        made = self._made.get((element, device))
        if made is None:
            with self._lock:
                made = self._made.get((element, device))
                if made is None:
                    made = self._made[element, device] = self._load(element)
        return made

    def _load(self, element: str) -> Loaded:
        entry = self.code(element, cupy().cuda.Device().compute_capability)
        from cupy.cuda import function

        module = function.Module()
        module.load(entry.code)
        return Loaded(module.get_function(NAME), entry.facts["threads"])

    def code(self, element: str, capability: str) -> cache.Entry:
        """Machine code for processors of a compute capability such as "90": from the disk, or compiled now."""
        cupy()
        from cupy.cuda import nvrtc

        version = ".".join(map(str, nvrtc.getVersion()))
        key = cache.key(self.identity, "cuda", element, capability, version, *OPTIONS)
        entry = cache.read(key)
        if entry is None:
            with announced(f"compiling {self.name} for CUDA"):
                source = emit(self._build(), NAME, element)
                code = _compile(nvrtc, source.text, capability)
            entry = cache.Entry(code, {"threads": source.threads})
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


def cupy() -> Any:
    """CuPy, loaded when used."""
    try:
        import cupy
    except ImportError:
        raise DalembertError("arrays on a GPU need CuPy: pip install 'dalembert[cuda]'") from None
    return cupy
