"""Calls on a device, without one: NumPy's memory stands for a GPU's, kernels are compiled for the host.

What is tested is everything between a method's arguments and a launch: addresses, distances, broadcasting, layouts.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from compiler.backends.test_cuda import build, needs_compiler
from dalembert import DalembertError, load
from dalembert.compiler.backends import cuda
from dalembert.compiler.backends.cuda import kernel as cuda_kernel
from dalembert.compiler.execute import device
from dalembert.compiler.graph import poisoned, trace
from dalembert.compiler.interop import kinds
from dalembert.quantities import compiled
from tolerances import RECURSION, assert_close

pytestmark = needs_compiler


class HostKernel:
    """Launches a kernel that was compiled for the host."""

    def __init__(self, function, folder):
        self.run = build([cuda.emit(function, "f")], folder).run_f
        self.layouts = []

    def launch(self, element, count, arrays, stream=None, passes=None):
        self.layouts.append([(a.state, a.item) for a in arrays])
        numbers = [] if passes is None else [ctypes.c_longlong(passes)]
        for a in arrays:
            numbers += [ctypes.c_void_p(a.address), *(ctypes.c_longlong(x) for x in a[1:] if x is not None)]
        self.run(ctypes.c_uint(32), ctypes.c_longlong(count), *numbers)


class Host(kinds.Cupy):
    """NumPy arrays in the place of CuPy's."""

    def __init__(self):
        self.module, self.place = np, 0

    def address(self, x):
        return x.ctypes.data

    def empty(self, shape, dtype):
        return np.full(shape, np.nan, dtype)


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """name → call(*arrays) of a quadruped on the stand-in for a device."""
    robot = load("quadruped")
    made, calls = {}, {}

    def run(name, *arrays, out=None):
        call = compiled(robot, name)
        if name not in made:
            made[name] = HostKernel(poisoned(call.function()), tmp_path_factory.mktemp(name))
        stand_in = SimpleNamespace(
            name=name,
            sizes=call.sizes,
            shapes=call.shapes,
            scratch=(),
            operators={},
            device_kernel=lambda check: made[name],
        )
        calls[name] = stand_in
        (result,) = device.run(stand_in, Host(), arrays, out, True)
        return result, made[name].layouts[-1]

    run.calls = calls
    return robot, run


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(device, "on_device", lambda place: nullcontext())


@pytest.fixture
def state(called):
    rng = np.random.default_rng(0)
    return called[0].random(rng, 12), *rng.normal(size=(2, 12, called[0].nv))


def test_layouts(called, state):
    """Rows, columns, views with gaps or backwards, several batch axes, broadcasting: the same numbers."""
    robot, run = called
    q, v, a = state
    want = robot.inverse_dynamics(q, v, a)
    columns = [np.asfortranarray(x) for x in state]
    backwards = [np.ascontiguousarray(x[::-1])[::-1] for x in state]
    for given in (state, columns, [np.repeat(x, 2, axis=0)[::2] for x in state], backwards):
        assert_close(run("inverse_dynamics", *given)[0], want, RECURSION)
    assert run("inverse_dynamics", *columns)[0].strides[0] == 8  # results lie as the inputs do
    assert run("inverse_dynamics", *state)[0].flags.c_contiguous
    blocks = [x.reshape(3, 4, -1) for x in state]
    assert_close(run("inverse_dynamics", *blocks)[0], want.reshape(3, 4, -1), RECURSION)
    moved = [np.ascontiguousarray(x.swapaxes(0, 1)).swapaxes(0, 1) for x in blocks]  # no one distance between states
    assert_close(run("inverse_dynamics", *moved)[0], want.reshape(3, 4, -1), RECURSION)
    result, layout = run("inverse_dynamics", q, v[0], a[:1])
    assert layout[1][0] == layout[2][0] == 0  # one state for all, not copied
    assert_close(result, robot.inverse_dynamics(q, v[0], a[:1]), RECURSION)
    outer = run("inverse_dynamics", q[:, None], v[:3], a[0])[0]
    assert_close(outer, robot.inverse_dynamics(q[:, None], v[:3], a[0]), RECURSION)


def test_one_state_and_none(called, state):
    robot, run = called
    one = [x[0] for x in state]
    assert_close(run("inverse_dynamics", *one)[0], robot.inverse_dynamics(*one), RECURSION)
    assert run("inverse_dynamics", *(x[:0] for x in state))[0].shape == (0, robot.nv)


def test_long_results_have_the_batch_last_in_memory(called, state):
    robot, run = called
    result, _ = run("mass_matrix", state[0])
    assert result.shape == (12, robot.nv, robot.nv) and result.strides[0] == 8
    assert_close(result, robot.mass_matrix(state[0]), RECURSION)


def test_given_arrays_are_written(called, state):
    robot, run = called
    out = np.full((12, robot.nv), np.nan)
    assert run("inverse_dynamics", *state, out=out)[0] is out
    assert_close(out, robot.inverse_dynamics(*state), RECURSION)
    with pytest.raises(DalembertError, match="out does not fit"):
        run("inverse_dynamics", *state, out=out[:3])


def test_bad_states_are_nan(called, state):
    _, run = called
    state[0][4, 3:7] *= 1.1
    result, _ = run("inverse_dynamics", *state)
    assert np.array_equal(np.isnan(result).any(axis=1), np.arange(12) == 4)


def test_plans_are_found_again(called, state, monkeypatch):
    """By the layout of the arrays, whichever numbers are in them; other layouts and other libraries have none."""
    robot, run = called
    monkeypatch.setitem(kinds.LAYOUTS, np.ndarray, lambda x: (x.shape, x.strides, x.dtype))
    run("inverse_dynamics", *state)
    call = run.calls["inverse_dynamics"]
    others = [x[::-1].copy() for x in state]
    (result,) = device.known(call, others, True).run(others)
    assert_close(result, robot.inverse_dynamics(*others), RECURSION)
    assert device.known(call, [np.asfortranarray(x) for x in state], True) is None
    assert device.known(call, [x[:3] for x in state], True) is None
    assert device.known(call, state, False) is None
    assert device.known(call, [*state[:2], state[2].tolist()], True) is None


def pool():
    return SimpleNamespace(free_bytes=lambda: 0)


def test_launch_hands_over_its_arguments(monkeypatch):
    """One buffer of 64-bit words, of which the driver is told by address and size."""
    seen = []

    def launched(function, bx, by, bz, tx, ty, tz, shared, stream, parameters, extra):
        head = (ctypes.c_longlong * 6).from_address(extra)
        assert (head[0], head[2], head[4], parameters) == (1, 2, 0, 0)
        size = ctypes.c_longlong.from_address(head[3]).value
        seen.append((function, bx, tx, stream, list((ctypes.c_longlong * (size // 8)).from_address(head[1]))))

    runtime = SimpleNamespace(getDevice=lambda: 0, free=lambda address: None)
    cuda_module = SimpleNamespace(driver=SimpleNamespace(launchKernel=launched), runtime=runtime)
    monkeypatch.setattr(cuda_kernel, "cupy", lambda: SimpleNamespace(cuda=cuda_module))
    made = cuda_kernel.CudaKernel("f", "identity", lambda: None)
    monkeypatch.setattr(made, "_load", lambda element: [cuda_kernel.Loaded(None, 77, 128, 0, 0)])
    made.launch("double", 100, [cuda_kernel.Array(1000, 1, 2), cuda_kernel.Array(2000, 3, 4, -5)], 9, passes=6)
    made.launch("double", 20_000, [cuda_kernel.Array(1000, 1, 2)], 9)
    assert seen == [(77, 4, 32, 9, [100, 6, 1000, 1, 2, 2000, 3, 4, -5]), (77, 157, 128, 9, [20_000, 1000, 1, 2])]

    runtime.memsetAsync = lambda *_: None
    runtime.getDeviceProperties = lambda device: {"multiProcessorCount": 2}
    runtime.memGetInfo = lambda: (1 << 30, 1 << 30)
    cuda_kernel.cupy().cuda.alloc = lambda size: SimpleNamespace(ptr=size, mem=SimpleNamespace(size=size))
    monkeypatch.setattr(cuda_kernel, "cupy", lambda: SimpleNamespace(cuda=cuda_module, get_default_memory_pool=pool))
    both = [cuda_kernel.Loaded(None, 77, 128, 0, 3), cuda_kernel.Loaded(None, 88, 128, 1000, 0)]
    made = cuda_kernel.CudaKernel("f", "identity", lambda: None)
    monkeypatch.setattr(made, "_load", lambda element: both)
    seen.clear()
    made.launch("float", 20_000, [cuda_kernel.Array(1, 2, 3)], 9, passes=10)
    width = 2 * cuda_kernel.CROWD * 128  # threads of the rare kernel: what the processors take at a time
    room, listed, waiting, held, at = width * 4000, 8, 80_000, 240_000, 80_000
    rounds = [(77, 157, 128, []), (88, width // 32, 32, [room])]
    assert seen == [
        (name, blocks, threads, 9, [20_000, 10, 1, 2, 3, *own, listed + 4 * k, waiting, held, at, k])
        for k in range(2)
        for name, blocks, threads, own in rounds
    ]


def test_missing_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DalembertError, match=r"pip install 'dalembert\[cuda\]'"):
        cuda_kernel.cupy()


def test_machine_code_is_kept(monkeypatch, tmp_path):
    """NVRTC needs no GPU; the second time nothing is traced."""
    pytest.importorskip("cupy")
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    built = []

    def make():
        built.append(1)
        return trace(lambda x: x[0].sin() / x[1], {"x": 2})

    codes = [
        cuda_kernel.CudaKernel("f", "identity", make).code(element, "90").code for element in ("float", "double") * 2
    ]
    assert len(built) == 2 and codes[:2] == codes[2:] and codes[0] != codes[1]
