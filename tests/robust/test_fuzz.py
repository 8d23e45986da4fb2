"""Whatever is passed, the right answer or a clear error: the process lives on and loses no memory.

DALEMBERT_FUZZ=1000000 makes so many calls.
"""

from __future__ import annotations

import gc
import os
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest

from dalembert import DalembertError
from robust.fuzz import trials
from robust.machines import robot

CALLS = int(os.environ.get("DALEMBERT_FUZZ", 30_000))
GROWTH = 16e6  # bytes that the process may grow by, whatever the number of calls


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3))])
def test_random_calls(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy has its say about ragged lists and overflowing casts
        for trial in trials(seed + 100, CALLS // 40):  # everything is compiled, every path taken once
            trial.run()
        before = resident()
        for trial in trials(seed, CALLS // 4):
            trial.run()
    assert resident() - before < GROWTH


def resident() -> int:
    """Bytes of memory that this process occupies."""
    gc.collect()
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


@pytest.mark.parametrize("name", ["mass_matrix", "potential_energy"])
def test_results_thrown_away_are_freed(name):
    """The fast call has made the result when it finds that the state was bad."""
    r = robot("arm")
    q, out = np.full(r.nq, np.nan), np.empty(36)[: 36 if name == "mass_matrix" else 1]
    out = out.reshape((6, 6) if name == "mass_matrix" else ())
    call = getattr(r, name)
    for keywords in ({}, {"out": out}):
        references = sys.getrefcount(out), sys.getrefcount(q)
        tracemalloc.start()
        for k in range(3000):
            if k == 1000:
                before, _ = tracemalloc.get_traced_memory()
            with pytest.raises(DalembertError, match="is nan"):
                call(q, **keywords)
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert after - before < 50_000
        assert (sys.getrefcount(out), sys.getrefcount(q)) == references


@pytest.mark.parametrize("batch", [(2**40, 2**20), (10**9, 10**9)])
def test_a_result_that_no_memory_can_hold(batch):
    """Broadcast views describe batches of any size in a few bytes."""
    r = robot("arm")
    q = np.broadcast_to(r.neutral(), (batch[0], 1, r.nq))
    v = np.broadcast_to(r.neutral(), (batch[1], r.nq))
    with pytest.raises((DalembertError, MemoryError)):
        r.bias(q, v)


def test_a_batch_of_views_of_one_state():
    r = robot("arm")
    q = np.broadcast_to(r.neutral() + 0.3, (50_000, r.nq))
    result = r.gravity(q)
    assert np.array_equal(result, np.broadcast_to(r.gravity(q[0]), result.shape))


def test_an_argument_that_changes_another_while_it_is_read():
    r = robot("arm")
    q = np.zeros((1000, r.nq))

    class Saboteur:
        def __array__(self, dtype=None, copy=None):
            q.resize((2, 2), refcheck=False)
            return np.zeros((1000, r.nv))

    with pytest.raises(DalembertError, match=r"q has shape \(2, 2\)"):
        r.bias(q, Saboteur())
