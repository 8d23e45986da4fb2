"""Robots go to other processes, and are copied, as their models: code is made or found again where it is used."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import pickle
import weakref

import numpy as np
import pytest

from dalembert import function, load
from robust.machines import tree

MAKERS = {"read from a file": lambda: load("ur5"), "built in code": tree}


def bias(task):
    r, q, v = task
    return r.bias(q, v)


def call(task):
    method, *arguments = task
    return method(*arguments)


def states(r, n):
    rng = np.random.default_rng(1)
    return r.random(rng, n), rng.normal(size=(n, r.nv))


@pytest.mark.parametrize("context", ["spawn", "fork"])
def test_robots_in_worker_processes(context):
    if context not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {context} on this platform")
    robots = [make() for make in MAKERS.values()]
    tasks = [(r, *states(r, n)) for r in robots for n in (1, 30_000)]
    right = [bias(task) for task in tasks]  # the pool of threads exists now, and a forked child must not count on it
    with multiprocessing.get_context(context).Pool(2) as workers:
        for mine, expected in zip(workers.map_async(bias, tasks).get(120), right, strict=True):
            assert np.array_equal(mine, expected)
        q, v = states(robots[0], 3)
        one, _ = workers.map_async(call, [(robots[0].bias, q, v), (robots[0].pose, q, "tool0")]).get(120)
    assert np.array_equal(one, robots[0].bias(q, v))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_copies(make, duplicate):
    r = make()
    q, v = states(r, 4)
    right = r.bias(q, v)
    other = duplicate(r)
    assert other == r and hash(other) == hash(r) and other is not r
    assert other.import_log == r.import_log and other.joints[0].name == r.joints[0].name
    r.model = None  # a copy lives on its own
    assert np.array_equal(other.bias(q, v), right)
    assert np.array_equal(other.bias(q[0], v[0]), right[0])


def test_a_method_is_pickled_with_its_robot():
    """Before its first call it is a Python method, afterwards a builtin; both travel."""
    r = load("ur5")
    q = r.neutral()
    for _ in range(2):
        travelled = pickle.loads(pickle.dumps(r.gravity))
        assert np.array_equal(travelled(q), r.gravity(q))
    assert copy.deepcopy(r.gravity) is not None


def test_a_function_of_one_s_own_does_not_travel():
    r = load("ur5")
    f = function(lambda q: 2.0 * r.gravity(q), r)
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        pickle.dumps(f)
    assert np.array_equal(f(r.neutral()), 2.0 * r.gravity(r.neutral()))


def test_robots_are_freed():
    """A robot and its builtins refer to each other; the collector takes them all, in any order."""
    gc.collect()
    gc.freeze()  # what other tests left alive need not be gone through ten times
    kept = []
    for _ in range(5):
        r = load("ur5")
        kept.append(r.gravity(r.neutral()))
        r.pose(r.neutral(), "tool0")
        watch = weakref.ref(r)
        gravity = r.gravity
        del r
        gc.collect()
        assert watch() is not None and np.array_equal(gravity(watch().neutral()), kept[0])
        del gravity
        gc.collect()
        assert watch() is None


def test_calls_of_frames_with_keywords_do_not_pile_up():
    r = load("ur5")
    out = np.empty((4, 4))
    for _ in range(50):
        r.pose(r.neutral(), "tool0", out=out)
    (call,) = r._calls.values()
    assert len(call.program.on("llvm")._tables) <= 2  # of the method, and of arrays alone
