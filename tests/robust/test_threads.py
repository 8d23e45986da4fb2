"""Many Python threads on one robot: compiled once, right for everyone, and no thread can stop the others."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dalembert import DalembertError, load
from dalembert.compiler.backends.llvm import target
from dalembert.compiler.execute import threads
from robust import processes
from robust.machines import robot, tree

THREADS = 8


def at_once(work):
    """work(k) on eight threads that start together; returns their results, raises what they raised."""
    barrier = threading.Barrier(THREADS)

    def begin(k):
        barrier.wait()
        return work(k)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


@pytest.fixture(autouse=True)
def often():
    """Switch between threads as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def uncached(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")


@pytest.mark.parametrize("kind", ["one", "batch", "mixed"])
def test_first_calls_race(kind, uncached, monkeypatch):
    """All of them find the robot without code: one compiles, all answer right."""
    compiled = []
    compile_object = target.compile_object
    monkeypatch.setattr(target, "compile_object", lambda text: compiled.append(text) or compile_object(text))
    r, expected = tree(), robot("tree")
    rng = np.random.default_rng(3)
    q, v = r.random(rng, 40), rng.normal(size=(40, r.nv))

    def work(k):
        state = slice(None) if kind == "batch" or (kind == "mixed" and k % 2) else k
        return r.bias(q[state], v[state]), q[state], v[state]

    answers = at_once(work)
    assert len(compiled) - ("@call" in "".join(compiled)) == (2 if kind == "mixed" else 1)
    for mine, q, v in answers:
        assert np.array_equal(mine, expected.bias(q, v))


def test_first_calls_of_a_process_race():
    """Each robot gets its builtin when none has been made; all must be over code that stays."""
    code = """
import gc, sys, threading
import numpy as np
from dalembert import load
sys.setswitchinterval(1e-6)
robots = [load("2r") for _ in range(8)]
barrier = threading.Barrier(8)
def work(r):
    barrier.wait()
    r.gravity([0.1, 0.2])
threads = [threading.Thread(target=work, args=[r]) for r in robots]
for t in threads: t.start()
for t in threads: t.join()
gc.collect()
q = np.array([0.1, 0.2])
print(len({r.gravity(q).tobytes() for r in robots for _ in range(100)}))
"""
    assert processes.run(code, cache="off")[0] == "1"


def test_different_functions_compile_at_once(uncached):
    r, expected = tree(), robot("tree")
    q = r.random(np.random.default_rng(4), 5)
    names = ["mass_matrix", "gravity", "potential_energy", "center_of_mass", "normalize", "poses"]

    def work(k):
        name = names[k % len(names)]
        return getattr(r, name)(q), getattr(expected, name)(q)

    for mine, right in at_once(work):
        assert np.array_equal(mine, right)


def test_steady_calls():
    """Single states, batches on several threads, `out=`, errors: all at the same time."""
    r = load("ur5")
    rng = np.random.default_rng(5)
    q, v, a = rng.normal(size=(3, 3000, r.nv))
    right = r.inverse_dynamics(q, v, a, threads=1)

    def work(k):
        out = np.empty(r.nv)
        for i in range(k, 3000, THREADS):
            assert np.array_equal(r.inverse_dynamics(q[i], v[i], a[i]), right[i])
            r.inverse_dynamics(q[i], v[i], a[i], out=out)
            assert np.array_equal(out, right[i])
            if i % 50 == k:
                assert np.array_equal(r.inverse_dynamics(q, v, a, threads=3), right)
                with pytest.raises(DalembertError, match=r"q\[2\] is nan"):
                    r.inverse_dynamics([0, 0, np.nan, 0, 0, 0], v[i], a[i])
        return True

    assert all(at_once(work))


def test_an_error_in_one_thread_s_batch_names_its_own_state():
    r = load("ur5")
    r.gravity(np.zeros((2, r.nq)))

    def work(k):
        q = np.zeros((20_000, r.nq))
        q[1000 * k + 7, k % r.nq] = np.inf
        with pytest.raises(DalembertError, match=rf"q\[{k % r.nq}\] of state {1000 * k + 7} is inf"):
            r.gravity(q, threads=2)
        return True

    assert all(at_once(work))


def test_more_threads_than_there_can_be():
    r = load("ur5")
    q = np.random.default_rng(6).normal(size=(100_000, r.nq))
    assert np.array_equal(r.gravity(q, threads=10**9), r.gravity(q, threads=1))
    assert threads.limit(10**9) == max(64, threads.available())


def test_batches_work_while_the_interpreter_shuts_down():
    """The pool takes no work any more then: the calling thread does it alone."""
    code = """
import atexit, numpy as np
from dalembert import load
r = load("ur5")
q = np.zeros((200_000, r.nq))
right = r.gravity(q, threads=4)
atexit.register(lambda: print("same", np.array_equal(r.gravity(q, threads=4), right)))
"""
    assert processes.run(code)[0] == "same True"


def test_daemon_threads_in_calls_do_not_hinder_the_end():
    code = """
import threading, numpy as np
from dalembert import load
r = load("ur5")
q = np.zeros((100_000, r.nq))
r.gravity(q)
def forever():
    while True:
        r.gravity(q, threads=2)
        r.gravity(q[0])
for _ in range(4):
    threading.Thread(target=forever, daemon=True).start()
print("end")
"""
    assert processes.run(code)[0] == "end"
