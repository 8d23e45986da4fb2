"""Time on the device, and the two roofs: memory traffic and arithmetic."""

from __future__ import annotations

import time
from collections.abc import Callable

import cupy
import numpy as np

PEAK = r"""
extern "C" __global__ void peak(T *out, int rounds)
{
    T x[16];
    for (int k = 0; k < 16; ++k) x[k] = out[threadIdx.x] + k;
    for (int r = 0; r < rounds; ++r)
        #pragma unroll
        for (int k = 0; k < 16; ++k) x[k] = x[k] * (T)0.999 + (T)0.001;
    T sum = 0;
    for (int k = 0; k < 16; ++k) sum += x[k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def device_time(jobs: list[Callable[[], None]], seconds: float = 0.03) -> float:
    """Seconds per job on the device: the jobs, in turn, as one recorded graph, replayed; median of five rounds."""
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for job in jobs:
            job()
        stream.synchronize()
        stream.begin_capture()
        for job in jobs:
            job()
        graph = stream.end_capture()
        graph.launch()
        once = _between(stream, lambda: graph.launch())
        rounds = max(1, min(200, int(seconds / 5 / max(once, 1e-7))))

        def several() -> None:
            for _ in range(rounds):
                graph.launch()

        times = [_between(stream, several) / rounds / len(jobs) for _ in range(5)]
    return float(np.median(times))


def _between(stream: cupy.cuda.Stream, work: Callable[[], None]) -> float:
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record(stream)
    work()
    end.record(stream)
    end.synchronize()
    return cupy.cuda.get_elapsed_time(start, end) * 1e-3


def wall_time(work: Callable[[], object], wait: Callable[[], object], seconds: float = 0.05) -> float:
    """Seconds from the call in Python until the result is there; median."""
    work(), wait()
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < 7 or (time.perf_counter() - begin < seconds and len(times) < 300):
        start = time.perf_counter()
        work(), wait()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


COPY = r"""
extern "C" __global__ void copy(double2 *to, const double2 *from)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i];
}
"""


def bandwidth() -> float:
    """Bytes per second, read and written, of a large copy on the device."""
    a = cupy.random.random(1 << 28)
    b = cupy.empty_like(a)
    kernel = cupy.RawKernel(COPY, "copy")
    return 2 * a.nbytes / device_time([lambda: kernel((a.size // 2 // 256,), (256,), (b, a))])


def arithmetic(dtype: str) -> float:
    """Fused multiply-adds per second, counted as two operations each."""
    name = "float" if dtype == "float32" else "double"
    kernel = cupy.RawKernel(
        PEAK.replace("T *", f"{name} *").replace("(T)", f"({name})").replace("T ", f"{name} "), "peak"
    )
    out, blocks, rounds = cupy.ones(132 * 16 * 256, dtype), 132 * 16, 2000
    return 2.0 * 16 * rounds * out.size / device_time([lambda: kernel((blocks,), (256,), (out, np.int32(rounds)))])
