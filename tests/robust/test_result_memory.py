"""Memory of large results is used again, and never while anybody can still see the old result."""

from __future__ import annotations

import gc
import os
import pickle
import threading
from functools import cache

import numpy as np
import pytest

from dalembert import DalembertError, load
from dalembert.compiler.backends.limits import LARGE_RESULT
from dalembert.compiler.execute import memory
from robust import processes

STATES = 20_000  # mass matrices of a UR5: 5.8 MB


@cache
def states(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-3, 3, (STATES, 6))


@cache
def robot():
    return load("ur5")


@cache
def right(seed: int) -> np.ndarray:
    out = np.full((STATES, 6, 6), np.nan)
    robot().mass_matrix(states(seed), out=out)
    out.setflags(write=False)
    return out


def result(seed: int = 0, **keywords) -> np.ndarray:
    M = robot().mass_matrix(states(seed), **keywords)
    assert isinstance(M.base, memory.Lease), "large enough to come from the store"
    return M


def place(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


@pytest.fixture(scope="module", autouse=True)
def other_tests_are_past():
    """What they left alive need not be gone through in each of the many collections here."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_waits():
    gc.collect()
    memory._store.clear()


@pytest.mark.parametrize("threads", [1, None])  # the fast call and the general one
def test_it_is_used_again(threads):
    first = result(threads=threads)
    where = place(first)
    del first
    second = result(1, threads=threads)
    assert place(second) == where and np.array_equal(second, right(1))


def test_what_is_kept_is_not_overwritten():
    kept = [result(k % 3) for k in range(6)]
    assert len({place(x) for x in kept}) == 6
    for k, x in enumerate(kept):
        assert np.array_equal(x, right(k % 3))


VIEWS = {
    "slice": lambda x: x[5:7],
    "row": lambda x: x[3],
    "transposed": lambda x: x.T,
    "reshaped": lambda x: x.reshape(-1, 36),
    "strided": lambda x: x[::7, 1:, ::2],
    "backwards": lambda x: x[::-1],
    "bytes": lambda x: x.view(np.uint8),
    "flat iterator": lambda x: x.flat,
    "memoryview": lambda x: memoryview(x),
    "memoryview of a view": lambda x: memoryview(x[2]),
    "another array": lambda x: np.asarray(x),
    "subclass": lambda x: x.view(np.recarray),
    "masked": lambda x: np.ma.masked_array(x),
    "broadcast": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "as strided": lambda x: np.lib.stride_tricks.as_strided(x, (3, 3), (8, 16)),
    "from buffer": lambda x: np.frombuffer(x),
    "ctypes": lambda x: np.ctypeslib.as_ctypes(x),
    "dlpack": lambda x: np.from_dlpack(x),
    "capsule": lambda x: x.__dlpack__(),
    "interface": lambda x: np.asarray(type("Holder", (), {"x": x, "__array_interface__": x.__array_interface__})()),
}


@pytest.mark.parametrize("view", [v for v in VIEWS if v != "capsule"])
def test_a_view_keeps_it(view):
    """The array itself is dropped, in either order; then other results are computed."""
    x = result()
    seen = VIEWS[view](x)
    before = np.array(seen)
    del x
    gc.collect()
    others = [result(k) for k in (1, 2, 1)]
    assert np.array_equal(np.array(seen), before)
    del others, seen


def test_an_unused_dlpack_capsule():
    x = result()
    where, capsule = place(x), VIEWS["capsule"](x)
    del x
    assert place(result(1)) != where
    del capsule
    gc.collect()
    assert where in {place(result(1)), place(result(2))}


def test_jax(jax):
    seen = jax.numpy.asarray(result())
    for k in (1, 2, 1):
        result(k)
    assert np.array_equal(np.asarray(seen), right(0))


def test_torch(torch):
    seen = torch.from_numpy(result())
    for k in (1, 2, 1):
        result(k)
    assert np.array_equal(seen.numpy(), right(0))


def test_flags_and_resize():
    """Such an array does not own its memory, so that it cannot be resized in place; np.resize and copies can."""
    x = result()
    assert x.flags.writeable and x.flags.c_contiguous and x.flags.aligned and not x.flags.owndata
    with pytest.raises(ValueError, match="does not own"):
        x.resize(3)
    assert x.copy().flags.owndata and np.array_equal(np.resize(x, 36), x.ravel()[:36])
    x.setflags(write=False)
    del x
    assert result().flags.writeable


def test_pickled_and_copied():
    x = result()
    copies = [pickle.loads(pickle.dumps(x)), x.copy(), np.array(x)]
    del x
    result(1)
    for copy in copies:
        assert np.array_equal(copy, right(0)) and not isinstance(copy.base, memory.Lease)


def test_cycles():
    """Dropped by the garbage collector, perhaps while a block is being taken."""
    for k in range(6):
        holder: list = [result(k % 3)]
        holder.append(holder)
        del holder
        assert np.array_equal(result(k % 3), right(k % 3))
    gc.collect()
    assert np.array_equal(result(1), right(1))


def test_threads():
    """Each thread computes, keeps some results and drops others."""
    wrong = []

    def work(seed: int) -> None:
        kept = []
        for k in range(8):
            kept.append(((seed + k) % 3, result((seed + k) % 3, threads=1)))
            if len(kept) > 2:
                kept.pop(0)
            wrong.extend(s for s, x in kept if not np.array_equal(x, right(s)))

    for seed in range(3):
        right(seed)
    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_while_the_lock_is_held():
    """A block that is dropped or taken then is not kept, or new; nothing waits for the lock."""
    x = result()
    with memory._store.lock:
        del x
        y = result(1)
        assert np.array_equal(y, right(1))
    assert memory._store.waiting == 0


def test_no_more_waits_than_allowed(monkeypatch):
    x = [result() for _ in range(3)]
    size = len(x[0].base.block)
    monkeypatch.setattr(memory, "limit", lambda: 2 * size)
    del x
    assert memory._store.waiting == sum(map(len, memory._store.blocks)) == 2 * size
    monkeypatch.setattr(memory, "limit", lambda: 0)
    x = robot().mass_matrix(states(0))
    assert x.base is None
    y = memory.empty((3,))
    assert y.base is None


def test_small_results_are_usual_arrays():
    M = robot().mass_matrix(states(0)[:10])
    assert M.flags.owndata and M.base is None


@pytest.mark.parametrize("size", [LARGE_RESULT // 8 - 1, LARGE_RESULT // 8, LARGE_RESULT // 8 + 1, 10**6, 2**20 + 1])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_size(size, dtype):
    x = memory.empty((size,), dtype)
    assert x.shape == (size,) and x.dtype == dtype
    x[:] = np.arange(size) % 1000
    assert x[-1] == (size - 1) % 1000


def test_the_setting():
    code = "from dalembert.compiler.execute import memory; print(memory.limit())"
    assert processes.run(code, DALEMBERT_KEEP="7")[0] == str(7 << 20)
    assert int(processes.run(code, DALEMBERT_KEEP=None)[0]) <= 1 << 30
    assert processes.run(code, DALEMBERT_KEEP="0")[0] == "0"
    with pytest.raises(AssertionError, match="DALEMBERT_KEEP is '-1'"):
        processes.run(code, DALEMBERT_KEEP="-1")
    assert issubclass(DalembertError, ValueError)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork():
    """A child has its own memory: what it computes is not seen by the parent, and the reverse."""
    code = """
import os, sys, numpy as np
sys.path.insert(0, "TESTS")
from robust.test_result_memory import memory, result, right
x, y = result(0), result(1)
expected = right(0).copy(), right(2).copy()
del y
memory._store.lock.acquire()  # as if a thread that is not in the child held it
child = os.fork()
if not child:
    z = [result(2) for _ in range(3)]
    good = np.array_equal(x, expected[0]) and all(np.array_equal(w, expected[1]) for w in z)
    os._exit(0 if good and not memory._store.lock.locked() else 1)
memory._store.lock.release()
z = result(2)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(status, np.array_equal(x, expected[0]), np.array_equal(z, expected[1]))
"""
    assert processes.run(code.replace("TESTS", str(processes.TESTS)))[0] == "0 True True"


def test_results_that_live_to_the_end():
    """The interpreter shuts down while results, views and cycles are held everywhere."""
    code = """
import atexit, sys, threading
sys.path.insert(0, "TESTS")
from robust.test_result_memory import result
import builtins, numpy
held = [result(0), result(1)[3:]]
cycle = [held]; cycle.append(cycle)
builtins.kept = result(2)
numpy.kept = result(1).T
class Late:
    def __init__(self): self.x = result(0)
    def __del__(self): print("late", self.x.shape[0])
late = Late()
late.myself = late
atexit.register(lambda: print(result(1).shape[0]))
thread = threading.Thread(target=lambda: [result(0) for _ in range(100)], daemon=True); thread.start()
del held
"""
    out, errors = processes.run(code.replace("TESTS", str(processes.TESTS)))
    assert out.split()[0] == str(STATES) and not errors.replace("Exception ignored", "").strip(), errors
