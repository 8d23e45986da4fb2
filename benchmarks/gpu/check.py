"""Is everything right on this machine's GPU? `python benchmarks/gpu/check.py`; needs CuPy, PyTorch and JAX with CUDA.

With words, only the checks whose names have one of them, such as `check.py rollouts graphs`.

Every expression of tests/compiler/backends on the device in both precisions; methods of robots with arrays of each
library, in
several layouts; gradients; streams; bad states; rollouts. Prints a line per check and exits with 1 if one fails.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cupy
import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from rollouts import captured, gradients, motions

import dalembert
from compiler.backends.expressions import EXPRESSIONS, check
from dalembert.compiler.backends.cuda.kernel import Array, CudaKernel
from dalembert.compiler.backends.elementary import FAST_LIMIT
from dalembert.compiler.graph import Loop
from tolerances import RECURSION, RECURSION32, SOLVE, assert_close

jax.devices()  # before PyTorch is loaded: the other way round, some versions crash
REAL = {"double": np.float64, "float": np.float32}
ULPS = 6  # CUDA's elementary functions are within 2 to 3 ulp, division in float32 within 2


def expressions(real: str, columns: bool) -> None:
    for expression in EXPRESSIONS:
        trig = {"sin", "cos"} & expression.traced.operations().keys()
        largest = FAST_LIMIT[real] / 4 if trig else None

        def run(program, inputs, outputs, n):
            step = program.step if isinstance(program, Loop) else program
            results = [o for o, _ in program.results()] if isinstance(program, Loop) else list(step.outputs)
            kernel = CudaKernel(step.name, program.fingerprint(), lambda: program)
            count, arrays, kept = len(next(iter(inputs.values()))), [], []
            sequence = program.sequence if isinstance(program, Loop) else ()
            record = program.record if isinstance(program, Loop) else ()
            listed = [(inputs[i.name], i.name in sequence, i.size) for i in step.inputs]
            listed += [(outputs[o.name], o.name in record, len(o.nodes)) for o in results]
            for x, rows, size in listed:
                flat = cupy.asarray(x.reshape(count, n, size) if rows else x.reshape(count, size))
                if columns:
                    flat = cupy.moveaxis(cupy.ascontiguousarray(cupy.moveaxis(flat, 0, -1)), -1, 0)
                strides = [s // flat.itemsize for s in flat.strides]
                kept.append(flat)
                if size:
                    arrays.append(Array(flat.data.ptr, strides[0], strides[-1], strides[1] if rows else None))
            kernel.launch(real, count, arrays, passes=n)
            for output, flat in zip(results, kept[len(step.inputs) :], strict=True):
                outputs[output.name][...] = flat.get().reshape(outputs[output.name].shape)

        flush = real == "float"  # a division within 2 ulp takes subnormal numbers as zero
        check(expression, run, ULPS, REAL[real], largest=largest, flush=flush)


def arrays_of(library: str, dtype: type) -> tuple[Callable, Callable]:
    """NumPy array → array on the device, and back."""
    if library == "cupy":
        return lambda x: cupy.asarray(x, dtype), cupy.asnumpy
    if library == "torch":
        import torch

        return lambda x: torch.tensor(np.asarray(x, dtype), device="cuda"), lambda x: x.detach().cpu().numpy()
    jax.config.update("jax_enable_x64", True)
    return lambda x: jax.device_put(np.asarray(x, dtype), jax.devices("gpu")[0]), np.asarray


def methods(library: str, dtype: type) -> None:
    """Results of every kind, with broadcasting, several batch axes, and the batch last in memory."""
    put, get = arrays_of(library, dtype)
    tolerance = RECURSION if dtype is np.float64 else 100 * RECURSION32
    for name in ("ur5", "quadruped", "humanoid"):
        robot = dalembert.load(name)
        rng = np.random.default_rng(0)
        q, v, a = robot.random(rng, 300), *rng.normal(size=(2, 300, robot.nv))
        frame = robot.frames[-1].name
        for f in (
            lambda r, q, v, a: r.inverse_dynamics(q, v, a),
            lambda r, q, v, a: r.inverse_dynamics(q[0], v[0], a[0]),
            lambda r, q, v, a: r.forward_dynamics(q, v, a[0]),
            lambda r, q, v, a: r.inverse_dynamics(
                q.reshape(3, 100, -1), v.reshape(3, 100, -1), a.reshape(3, 100, -1)[0]
            ),
            lambda r, q, v, a: r.inverse_dynamics(q[::2], v[::2], a[::2]),
            lambda r, q, v, a: r.mass_matrix(q),
            lambda r, q, v, a: r.energy(q, v),
            lambda r, q, v, a: r.integrate(q, v, 0.1),
            lambda r, q, v, a, frame=frame: r.jacobian(q, frame),
            lambda r, q, v, a: r.inverse_dynamics_vjp(q, v, a, a).dv,
        ):
            got = f(robot, put(q), put(v), put(a))
            assert type(got) is type(put(q)), type(got)
            assert_close(get(got), f(robot, q, v, a), tolerance)
        if library != "jax":
            columns = [put(np.ascontiguousarray(x.T)).T for x in (q, v, a)]
            assert_close(get(robot.inverse_dynamics(*columns)), robot.inverse_dynamics(q, v, a), tolerance)


def gradients_torch() -> None:
    import torch

    robot = dalembert.load("3r")
    rng = np.random.default_rng(0)
    q, v, a = (torch.tensor(x, device="cuda", requires_grad=True) for x in rng.normal(size=(3, 4, 3)))
    assert torch.autograd.gradcheck(lambda *x: robot.inverse_dynamics(*x), (q, v, a))
    assert torch.autograd.gradcheck(lambda *x: robot.forward_dynamics(*x), (q, v, a))
    assert torch.autograd.gradgradcheck(lambda *x: robot.forward_dynamics(*x), (q[:1], v[:1], a[:1]))


def gradients_jax() -> None:
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)
    robot = dalembert.load("3r")
    rng = np.random.default_rng(0)
    state = tuple(jax.device_put(x, jax.devices("gpu")[0]) for x in rng.normal(size=(3, 4, 3)))
    check_grads(lambda *x: robot.forward_dynamics(*x), state, 1, modes=["rev"])
    want = robot.forward_dynamics(*map(np.asarray, state))
    assert_close(jax.jit(robot.forward_dynamics)(*state), want, SOLVE)


def streams() -> None:
    """Work is queued on the caller's stream, behind what it queued before."""
    import torch

    robot = dalembert.load("panda")
    q = torch.rand(1 << 18, 7, device="cuda", dtype=torch.float64)
    want = robot.gravity(q.cpu().numpy())
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        late = torch.zeros_like(q)
        torch.cuda._sleep(200_000_000)
        late += q
        got = robot.gravity(late)
    stream.synchronize()
    assert_close(got.cpu().numpy(), want, RECURSION)


def graphs() -> None:
    """A call that PyTorch has recorded is replayed with other numbers in the same tensors."""
    import torch

    robot = dalembert.load("ur5")
    q, v, a = (torch.rand(1024, 6, device="cuda") for _ in range(3))
    robot.inverse_dynamics(q, v, a)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tau = robot.inverse_dynamics(q, v, a)
    q.copy_(torch.rand(1024, 6, device="cuda"))
    graph.replay()
    torch.cuda.synchronize()
    assert_close(tau.cpu().numpy(), robot.inverse_dynamics(*(x.cpu().numpy() for x in (q, v, a))), RECURSION32)


def bad_states() -> None:
    """A quaternion that is not of unit length, NaN and angles beyond the range of sine give NaN, only in their rows."""
    robot = dalembert.load("quadruped")
    rng = np.random.default_rng(0)
    q = robot.random(rng, 8)
    q[1, 3:7] *= 1.1
    q[3, 9], q[5, 9] = np.nan, 1e12
    got = cupy.asnumpy(robot.gravity(cupy.asarray(q)))
    assert np.array_equal(np.isnan(got).any(axis=1), np.isin(np.arange(8), [1, 3, 5]))
    unchecked = cupy.asnumpy(robot.gravity(cupy.asarray(q), check=False))
    assert np.isfinite(unchecked[1]).all()


def main() -> int:
    checks: dict[str, Callable[[], None]] = {}
    for real in REAL:
        for columns in (False, True):
            checks[f"expressions, {real}, {'[n][B]' if columns else '[B][n]'}"] = lambda r=real, c=columns: expressions(
                r, c
            )
    for library in ("cupy", "torch", "jax"):
        for dtype in (np.float64, np.float32):
            checks[f"methods, {library}, {dtype.__name__}"] = lambda n=library, t=dtype: methods(n, t)
    checks |= {
        "gradients, torch": gradients_torch,
        "gradients, jax": gradients_jax,
        "streams": streams,
        "graphs": graphs,
    }
    checks["bad states"] = bad_states
    for library in ("cupy", "torch", "jax"):
        for dtype in (np.float64, np.float32):
            checks[f"rollouts, {library}, {dtype.__name__}"] = lambda n=library, t=dtype: motions(*arrays_of(n, t), t)
    checks |= {f"gradients of rollouts, {library}": partial(gradients, library) for library in ("torch", "jax")}
    checks["rollouts in graphs"] = captured
    failed = 0
    for name, run in checks.items():
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        try:
            run()
            print(f"ok      {name}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()[-1800:]}", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
