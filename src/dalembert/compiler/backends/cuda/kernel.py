"""A function compiled for a graphics processor: NVRTC when first needed, machine code kept on disk, launches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from ctypes import addressof, c_longlong
from dataclasses import dataclass
from typing import Any, NamedTuple

from dalembert.compiler.backends import cache
from dalembert.compiler.graph import Function, Loop
from dalembert.errors import DalembertError
from dalembert.progress import Progress

from . import CROWD, FIRST, emit

NAME = "dalembert_kernel"
END, BUFFER, SIZE = 0, 1, 2  # CU_LAUNCH_PARAM_…: the driver's keys for arguments in one buffer
HEAD = 6  # words before the arguments
FEW = 16384  # states up to which small blocks spread the work over more processors
# A division within 2 ulp instead of 0.5: it needs no branch.
OPTIONS = ("-std=c++17", "-prec-div=false")
QUICKLY = ("--Ofast-compile=min",)  # of rare kernels and long ones: half of the time, or a third
LONG = 60_000  # lines


class Array(NamedTuple):
    """Numbers in device memory: address, distances in elements between states, items and (of a loop) passes."""

    address: int
    state: int
    item: int
    pass_: int | None = None


@dataclass(frozen=True)
class Loaded:
    """A kernel on one device: where its code is, and what `CudaSource` says of it."""

    function: Any
    address: int
    threads: int
    room: int
    held: int


class CudaKernel:
    """One traced function or loop, compiled per element type and device.

    identity: text that determines the function, so that a cached kernel needs no tracing; build: traces it.
    """

    def __init__(self, name: str, identity: str, build: Callable[[], Function | Loop]) -> None:
        self.name, self.identity, self._build = name, identity, build
        self._modules: dict[tuple[str, int], list[Loaded]] = {}
        self._memory: dict[tuple[str, int, int], Any] = {}  # by use, device and stream
        self._lock = threading.RLock()

    def launch(
        self, element: str, count: int, arrays: Sequence[Array], stream: int | None = None, passes: int | None = None
    ) -> None:
        """Compute `count` states: inputs and outputs in order, those without elements left out. Does not wait.

        stream: the address of the CUDA stream, by default CuPy's current one. passes: of a loop.
        """
        if not count:
            return
        kernels = self._loaded(element)
        numbers = [count] if passes is None else [count, passes]
        for array in arrays:
            numbers += array[:3]
            if array.pass_ is not None:
                numbers.append(array.pass_)
        if stream is None:
            stream = cupy().cuda.get_current_stream().ptr
        main = kernels[0]
        if len(kernels) == 1 and not main.room:
            _start(main, numbers, count, stream)
            return
        size = 8 if element == "double" else 4
        widths = [self._width(x, count, size) if x.room else count for x in kernels]
        room = max(width * x.room * size for x, width in zip(kernels, widths, strict=True))
        rooms = [self._reserved("room", room, stream) if x.room else 0 for x in kernels]
        if len(kernels) == 1:
            _start(main, [*numbers, rooms[0]], widths[0], stream)
            return
        rounds = 1 if passes is None else (-(-passes // FIRST)).bit_length()
        listed = self._reserved("listed", 4 * rounds, stream)
        cupy().cuda.runtime.memsetAsync(listed, 0, 4 * rounds, stream)
        lists = [self._reserved("list", 4 * count, stream)]
        if passes is not None:
            lists += [
                self._reserved("held", main.held * count * size, stream), self._reserved("at", 4 * count, stream)
            ]  # fmt: skip
        for k in range(rounds):  # states that need a rare branch wait for it, then go on
            for kernel, place, width in zip(kernels, rooms, widths, strict=True):
                further = [*([place] if kernel.room else []), listed + 4 * k, *lists]
                _start(kernel, [*numbers, *further, *([] if passes is None else [k])], width, stream)

    def _width(self, kernel: Loaded, count: int, size: int) -> int:
        """How many threads a kernel with a room gets: two blocks for each processor, within half of the free memory."""
        runtime = cupy().cuda.runtime
        processors = runtime.getDeviceProperties(current_device())["multiProcessorCount"]
        unit = kernel.threads
        width = min(-(-count // unit) * unit, CROWD * processors * unit)
        free = runtime.memGetInfo()[0] + cupy().get_default_memory_pool().free_bytes()
        known = [x.mem.size for (use, *_), x in self._memory.items() if use == "room"]
        most = max(free // 2, *known, 0) // (kernel.room * size)
        if most < unit:
            needed = unit * kernel.room * size >> 20
            raise DalembertError(f"{self.name}: {needed} MB of GPU memory needed, {free >> 20} MB free")
        return min(width, most // unit * unit)

    def _reserved(self, use: str, size: int, stream: int) -> int:
        """The address of so many bytes that stay with this kernel and stream."""
        key = use, current_device(), stream
        known = self._memory.get(key)
        if known is None or known.mem.size < size:
            if self._memory.pop(key, None) is not None:
                cupy().cuda.runtime.streamSynchronize(stream)  # what was queued reads the old memory
            self._memory[key] = known = cupy().cuda.alloc(size)
        return known.ptr

    def _loaded(self, element: str) -> list[Loaded]:
        device = current_device()
        loaded = self._modules.get((element, device))
        if loaded is None:
            with self._lock:
                loaded = self._modules.get((element, device))
                if loaded is None:
                    loaded = self._modules[element, device] = self._load(element)
        return loaded

    def _load(self, element: str) -> list[Loaded]:
        entry = self.code(element, cupy().cuda.Device().compute_capability)
        from cupy.cuda import function

        loaded = []
        for code, facts in zip(entry.split(entry.facts["lengths"]), entry.facts["kernels"], strict=True):
            module = function.Module()
            module.load(code)
            handle = module.get_function(facts["name"])
            loaded.append(Loaded(handle, handle.ptr, facts["threads"], facts["room"], facts["held"]))
        return loaded

    def code(self, element: str, capability: str) -> cache.CacheEntry:
        """Machine code for processors of a compute capability such as "90": from the disk, or compiled now."""
        cupy()
        from cupy.cuda import nvrtc

        version = ".".join(map(str, nvrtc.getVersion()))
        key = cache.key(self.identity, "cuda kernels", element, capability, version, *OPTIONS)
        entry = cache.read(key)
        if entry is None:
            with Progress(f"compiling {self.name} for CUDA"):
                source = emit(self._build(), NAME, element)
                sources = [source, *([source.rare] if source.rare else [])]
                options = [_options(nvrtc, x.text, x is not source) for x in sources]
                with ThreadPoolExecutor(len(sources)) as pool:
                    codes = list(pool.map(lambda x, o: _compile(nvrtc, x.text, capability, o), sources, options))
            facts = [{"name": x.name, "threads": x.threads, "room": x.room, "held": x.held} for x in sources]
            entry = cache.CacheEntry(b"".join(codes), {"lengths": [len(x) for x in codes], "kernels": facts})
            cache.write(key, entry)
        return entry


def _start(kernel: Loaded, numbers: Sequence[int], count: int, stream: int) -> None:
    """Launch a kernel for so many threads.

    All arguments in one buffer, and the keys that tell the driver. CuPy's launch takes 20 µs for as many numbers.
    """
    threads = 32 if count <= FEW else kernel.threads
    size = len(numbers)
    words = (c_longlong * (HEAD + size))(BUFFER, 0, SIZE, 0, END, 8 * size, *numbers)
    here = addressof(words)
    words[1], words[3] = here + 8 * HEAD, here + 8 * (HEAD - 1)
    cupy().cuda.driver.launchKernel(kernel.address, -(-count // threads), 1, 1, threads, 1, 1, 0, stream, 0, here)


def _options(nvrtc: Any, text: str, rare: bool) -> Sequence[str]:
    """Options for a source: what is long or rare is compiled quickly, by versions that can."""
    quickly = (rare or text.count("\n") > LONG) and nvrtc.getVersion() >= (12, 9)
    return (*OPTIONS, *QUICKLY) if quickly else OPTIONS


def _compile(nvrtc: Any, text: str, capability: str, options: Sequence[str]) -> bytes:
    program = nvrtc.createProgram(text, "dalembert.cu", (), ())
    try:
        nvrtc.compileProgram(program, (f"-arch=sm_{capability}", *options))
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
