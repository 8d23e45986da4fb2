"""Speed on a GPU: states per second, latency, and how far from the roofs of memory and arithmetic.

`python benchmarks/gpu/run.py [--quick] [--urdf FOLDER] [--json FILE] [robot …]`; needs CuPy, and JAX and PyTorch for
the baselines (left out where they are missing). Every answer is checked against the interpreter before it is timed.
FOLDER holds the robots of example-robot-data where that package is not installed. Columns: device time is taken from a
recorded graph over several sets of inputs, larger than the cache together, with the batch last in memory ([n][B]) and
then with dense rows ([B][n]); the call is from Python until the result is there, dense rows on the device, and so is
`robot.rollout`; roof is the larger of bytes / measured bandwidth and operations / measured arithmetic.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import baselines
import clock
import cupy
import numpy as np

import dalembert
from dalembert.cli.benchmark import cases
from dalembert.compiler.backends import interpreter
from dalembert.compiler.backends.cuda.kernel import Array, CudaKernel
from dalembert.compiler.graph import Function, Loop, trace
from dalembert.quantities import compiled

SIZES = (1, 1024, 1 << 14, 1 << 18, 1 << 20)
QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_dynamics_derivatives")
ARGUMENTS = {"mass_matrix": ("q",)}
COST = {"sin": 20, "cos": 20, "div": 8, "sqrt": 8, "tanh": 30}  # operations on the device; others count as one
STEPS = 100
TOLERANCE = {"float64": 1e-9, "float32": 2e-3}
CACHE = 1 << 28  # bytes that the sets of inputs and outputs have together, several times the L2 cache


@dataclass
class Roofs:
    """Bytes and operations per second, measured."""

    bytes: float
    operations: dict[str, float]


def robots(folder: Path | None, names: list[str]) -> dict[str, dalembert.Robot]:
    """The four robots of the benchmark, bare of friction."""
    base = folder or cases.example_folder()
    if base is None:
        raise SystemExit("example-robot-data is not installed: pass --urdf FOLDER")
    listed = {label: cases.Case(label, base / file, kind) for label, file, kind in cases.EXAMPLES}
    return {label: case.load() for label, case in listed.items() if not names or label in names}


def states(robot: dalembert.Robot, dtype: str, count: int) -> dict[str, Any]:
    """Random states [n][B] on the device: the batch last in memory, as (B, n) views."""
    rng = np.random.default_rng(0)
    some = {
        "q": robot.random(rng, 4096),
        "v": rng.normal(size=(4096, robot.nv)),
        "u": rng.normal(size=(4096, robot.nv)),
    }
    some["dt"] = np.full((4096, 1), 1e-3)
    return {k: cupy.asarray(np.resize(x, (count, x.shape[1])).T.copy(), dtype).T for k, x in some.items()}


def place(x: Any) -> Array:
    return Array(x.data.ptr, x.strides[0] // x.itemsize, x.strides[1] // x.itemsize)


def rollout(robot: dalembert.Robot) -> Loop:
    """Semi-implicit Euler: forward dynamics and integration, looped inside one kernel."""

    def step(q: Any, v: Any, tau: Any, dt: Any) -> dict[str, Any]:
        v = v + dt[0] * robot.forward_dynamics(q, v, tau)
        return {"q": robot.integrate(q, v, dt[0]), "v": v}

    sizes = {"q": robot.nq, "v": robot.nv, "tau": robot.nv, "dt": 1}
    return Loop(trace(step, sizes, name="rollout"), carry=(("q", "q"), ("v", "v")))


def operations(program: Function | Loop) -> int:
    return sum(count * COST.get(op, 1) for op, count in program.operations().items())


def measure(
    robot: dalembert.Robot, name: str, dtype: str, count: int, roofs: Roofs, steps: int | None = None
) -> dict[str, Any]:
    """One row of the table; the answer is compared with the interpreter's first."""
    if steps is None:
        call = compiled(robot, name)
        program: Function | Loop = call.function()
        kernel, names = call.device_kernel(True), ARGUMENTS.get(name, ("q", "v", "u"))
    else:
        program, names = rollout(robot), ("q", "v", "u", "dt")
        kernel = CudaKernel(name, program.fingerprint(), lambda: program)
    function = program.step if isinstance(program, Loop) else program
    shapes = [len(o.nodes) for o in function.outputs]
    moved = (sum(i.size for i in function.inputs) + sum(shapes)) * np.dtype(dtype).itemsize
    sets = []
    for _ in range(max(1, min(8, CACHE // (moved * count) + 1))):
        given = states(robot, dtype, count)
        made = [cupy.full((n, count), cupy.nan, dtype).T for n in shapes]
        sets.append(([given[n] for n in names], made))
    element = "float" if dtype == "float32" else "double"

    def job(inputs: list[Any], made: list[Any]) -> Callable[[], None]:
        arrays = [place(x) for x in (*inputs, *made)]
        return lambda: kernel.launch(element, count, arrays, passes=steps)

    jobs = [job(*each) for each in sets]
    jobs[-1]()
    error = compare(program, function, sets[-1], count, steps)
    assert error <= TOLERANCE[dtype], f"{name} {dtype}: differs by {error:.2g} from the interpreter"
    repeated = 1 if count >= 1 << 18 else 20
    seconds = clock.device_time(jobs * repeated)
    dense = [
        ([cupy.ascontiguousarray(x) for x in each], [cupy.empty(x.shape, dtype) for x in made]) for each, made in sets
    ]
    rows_seconds = clock.device_time([job(*each) for each in dense] * repeated)
    done = count * (steps or 1)
    floor = max(moved * count / roofs.bytes, operations(program) * done / roofs.operations[dtype])
    row = {"device_s": seconds, "rows_s": rows_seconds, "rate": done / seconds, "roof": floor / seconds, "error": error}
    if steps is None:
        method = getattr(robot, name)
        row["call_s"] = clock.wall_time(lambda: method(*dense[0][0]), cupy.cuda.runtime.deviceSynchronize)
    return row


def needed(robot: dalembert.Robot, name: str, dtype: str, count: int) -> int:
    """Bytes of one row of the table: results as columns, as dense rows, and those of a call."""
    nv = robot.nv
    numbers = {"mass_matrix": nv**2, "inverse_dynamics_derivatives": 3 * nv**2}.get(name, nv)
    return 5 * (numbers + 3 * robot.nq) * count * np.dtype(dtype).itemsize


def free_memory() -> int:
    """Bytes that may be taken: other libraries may hold a part of the card."""
    cupy.get_default_memory_pool().free_all_blocks()
    return int(cupy.cuda.runtime.memGetInfo()[0])


def compare(program: Function | Loop, function: Function, arrays: Any, count: int, steps: int | None) -> float:
    """Largest error over the largest value, of some states at both ends of the batch."""
    chosen = np.unique(np.concatenate([np.arange(min(64, count)), np.arange(max(0, count - 64), count)]))
    inputs, made = arrays
    given = {i.name: x[chosen].get().astype(float) for i, x in zip(function.inputs, inputs, strict=True)}
    want = interpreter.run(program, given, steps)
    got = [x[chosen].get().astype(float) for x in made]
    flat = [want[o.name].reshape(len(chosen), -1) for o in function.outputs]
    return max(float(np.max(np.abs(a - b)) / max(1.0, np.max(np.abs(b)))) for a, b in zip(got, flat, strict=True))


def others(robot: dalembert.Robot, dtype: str, count: int) -> dict[str, float]:
    """Seconds of inverse dynamics as one writes it in JAX (vmap, jit) and in PyTorch (batched, eager)."""
    given = [cupy.ascontiguousarray(x) for k, x in states(robot, dtype, count).items() if k != "dt"]
    want = robot.inverse_dynamics(*given).get()
    found = {}
    try:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else JAX takes three quarters of the card
        import jax

        jax.config.update("jax_enable_x64", True)
        compute = baselines.inverse_dynamics(robot, jax.numpy, lambda x: jax.numpy.asarray(x, dtype))
        compiled = jax.jit(jax.vmap(compute))
        arrays = [jax.dlpack.from_dlpack(x) for x in given]
        found["jax"] = clock.wall_time(lambda: compiled(*arrays).block_until_ready(), lambda: None)
        np.testing.assert_allclose(compiled(*arrays), want, rtol=1e-2, atol=1e-2 * np.abs(want).max())
    except ImportError:
        pass
    try:
        import torch

        kind = torch.float32 if dtype == "float32" else torch.float64
        compute = baselines.inverse_dynamics(
            robot, torch, lambda x: torch.tensor(np.asarray(x, float), dtype=kind, device="cuda")
        )
        tensors = [torch.from_dlpack(x) for x in given]
        found["torch"] = clock.wall_time(lambda: compute(*tensors), torch.cuda.synchronize)
        np.testing.assert_allclose(compute(*tensors).cpu(), want, rtol=1e-2, atol=1e-2 * np.abs(want).max())
    except ImportError:
        pass
    return found


def end_to_end(robot: dalembert.Robot, dtype: str, count: int) -> dict[str, Any]:
    """`robot.rollout` from CuPy arrays as people call it, dense rows in and out, until the result is there."""
    given = [cupy.ascontiguousarray(x) for k, x in states(robot, dtype, count).items() if k != "dt"]

    def work() -> Any:
        return robot.rollout(*given, step=1e-3, steps=STEPS)

    got, few = work(), slice(0, 64)
    want = robot.rollout(*(x[few].get().astype(float) for x in given), step=1e-3, steps=STEPS)
    error = max(
        float(np.max(np.abs(a[few].get() - b)) / np.max(np.abs(b))) for a, b in zip(got[1:], want[1:], strict=True)
    )
    assert error <= TOLERANCE[dtype], f"rollout {dtype}: differs by {error:.2g} from the processor's"
    seconds = clock.wall_time(work, cupy.cuda.runtime.deviceSynchronize)
    return {"call_s": seconds, "rate": count * STEPS / seconds, "error": error}


def show(label: str, name: str, dtype: str, count: int, row: dict[str, Any]) -> None:
    called = f"{row['call_s'] * 1e6:10.1f}" if "call_s" in row else " " * 10
    print(
        f"{label:7s} {name:29s} {dtype:8s} {count:8d} {row['device_s'] * 1e6:11.2f} {row['rate'] / 1e9:8.3f} "
        f"{100 * row['roof']:5.0f} % {row['rows_s'] * 1e6:11.2f} {called} {row['error']:8.1e}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*")
    parser.add_argument("--quick", action="store_true", help="only the largest and the smallest batches")
    parser.add_argument("--urdf", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    roofs = Roofs(clock.bandwidth(), {t: clock.arithmetic(t) for t in ("float32", "float64")})
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    speed = ", ".join(f"{t} {x / 1e12:.1f} TFLOP/s" for t, x in roofs.operations.items())
    print(f"{device}: copy {roofs.bytes / 1e12:.2f} TB/s, {speed}")
    head = ("robot", "function", "dtype", "states", "device µs", "G/s", "roof", "rows µs", "call µs", "error")
    print("{:7s} {:29s} {:8s} {:>8s} {:>11s} {:>8s} {:>7s} {:>11s} {:>10s} {:>8s}".format(*head))
    rows = []
    for label, robot in robots(given.urdf, given.robots).items():
        for dtype in ("float32", "float64"):
            for count in (1024, 1 << 20) if given.quick else SIZES:
                jobs = [(name, None) for name in QUANTITIES] + [(f"rollout of {STEPS}", STEPS)]
                for name, steps in jobs:
                    if needed(robot, name, dtype, count) > free_memory():
                        continue
                    row = measure(robot, name, dtype, count, roofs, steps)
                    rows.append({"robot": label, "function": name, "dtype": dtype, "states": count, **row})
                    show(label, name, dtype, count, row)
            for count in (1 << 16, 1 << 18, 1 << 20):
                row = end_to_end(robot, dtype, count)
                rows.append({"robot": label, "function": "robot.rollout", "dtype": dtype, "states": count, **row})
                print(f"{label:7s} {f'robot.rollout of {STEPS}':29s} {dtype:8s} {count:8d} {row['call_s'] * 1e6:11.2f} "
                      f"{row['rate'] / 1e9:8.3f} {row['error']:8.1e}", flush=True)  # fmt: skip
                cupy.get_default_memory_pool().free_all_blocks()
            count = 1 << 18
            for library, seconds in others(robot, dtype, count).items():
                rows.append({"robot": label, "function": library, "dtype": dtype, "states": count, "call_s": seconds})
                print(f"{label:7s} {library + ', by hand':29s} {dtype:8s} {count:8d} {seconds * 1e6:11.2f} "
                      f"{count / seconds / 1e9:8.3f}", flush=True)  # fmt: skip
            if given.json:
                given.json.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
