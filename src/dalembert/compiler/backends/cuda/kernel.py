"""A function compiled for a graphics processor: NVRTC when first needed, machine code kept on disk, launches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from ctypes import addressof, c_longlong
from dataclasses import dataclass
from typing import Any, NamedTuple

from dalembert.compiler.backends import cache
from dalembert.compiler.graph import Function, Loop
from dalembert.errors import DalembertError
from dalembert.progress import Progress

from . import emit

NAME = "dalembert_kernel"
END, BUFFER, SIZE = 0, 1, 2  # CU_LAUNCH_PARAM_…: the driver's keys for arguments in one buffer
HEAD = 6  # words before the arguments
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
    """A kernel on one device, where its code is, and how many threads its blocks may have."""

    function: Any
    address: int
    threads: int


class CudaKernel:
    """One traced function or loop, compiled per element type and device.

    identity: text that determines the function, so that a cached kernel needs no tracing; build: traces it.
    """

    def __init__(self, name: str, identity: str, build: Callable[[], Function | Loop]) -> None:
        self.name, self.identity, self._build = name, identity, build
        self._modules: dict[tuple[str, int], Loaded] = {}
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
            arguments += array[:3]
            if array.pass_ is not None:
                arguments.append(array.pass_)
        if stream is None:
            stream = cupy().cuda.get_current_stream().ptr
        # All arguments in one buffer, and the keys that tell the driver. CuPy's launch takes 20 µs for as many numbers.
        size = len(arguments)
        words = (c_longlong * (HEAD + size))(BUFFER, 0, SIZE, 0, END, 8 * size, *arguments)
        here = addressof(words)
        words[1], words[3] = here + 8 * HEAD, here + 8 * (HEAD - 1)
        cupy().cuda.driver.launchKernel(loaded.address, -(-count // threads), 1, 1, threads, 1, 1, 0, stream, 0, here)

    def _loaded(self, element: str) -> Loaded:
        device = current_device()
        loaded = self._modules.get((element, device))
        if loaded is None:
            with self._lock:
                loaded = self._modules.get((element, device))
                if loaded is None:
                    loaded = self._modules[element, device] = self._load(element)
        return loaded

    def _load(self, element: str) -> Loaded:
        entry = self.code(element, cupy().cuda.Device().compute_capability)
        from cupy.cuda import function

        module = function.Module()
        module.load(entry.code)
        function_handle = module.get_function(NAME)
        return Loaded(function_handle, function_handle.ptr, entry.facts["threads"])

    def code(self, element: str, capability: str) -> cache.CacheEntry:
        """Machine code for processors of a compute capability such as "90": from the disk, or compiled now."""
        cupy()
        from cupy.cuda import nvrtc

        version = ".".join(map(str, nvrtc.getVersion()))
        key = cache.key(self.identity, "cuda", element, capability, version, *OPTIONS)
        entry = cache.read(key)
        if entry is None:
            with Progress(f"compiling {self.name} for CUDA"):
                source = emit(self._build(), NAME, element)
                code = _compile(nvrtc, source.text, capability)
            entry = cache.CacheEntry(code, {"threads": source.threads})
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


_ready = threading.local()


def current_device() -> int:
    """The number of the current device; the first call in a thread initialises it."""
    runtime = cupy().cuda.runtime
    device = runtime.getDevice()
    try:
        known = _ready.devices
    except AttributeError:
        known = _ready.devices = set()
    if device not in known:
        runtime.free(0)  # the runtime makes its context that of the thread; the driver's launch needs one
        known.add(device)
    return device


_HERE = nullcontext()


def on_device(place: int | None) -> AbstractContextManager[Any]:
    """Make this the current device within the context."""
    return _HERE if place is None or place == cupy().cuda.runtime.getDevice() else cupy().cuda.Device(place)
