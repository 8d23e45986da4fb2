"""A state's result has the same bits whatever it is computed with: alone, in any batch, on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import load
from robust.machines import tree

DTYPES = [np.float64, np.float32]
COUNT = 3001  # of states: no multiple of any vector width, and enough for threads


@pytest.fixture(scope="module", params=["ur5", "quadruped", "tree"])
def r(request):
    return tree() if request.param == "tree" else load(request.param)


@pytest.fixture(params=DTYPES, ids=lambda t: t.__name__)
def sample(r, request):
    rng = np.random.default_rng(2)
    x = r.normalize(r.random(rng, COUNT)), *rng.normal(size=(2, COUNT, r.nv))
    return [s.astype(request.param) for s in x]


def quantities(r):
    return [
        r.inverse_dynamics,
        r.forward_dynamics,
        lambda q, v, a, **k: r.mass_matrix(q, **k),
        lambda q, v, a, **k: r.energy(q, v, **k),
        lambda q, v, a, **k: r.acceleration(q, v, a, r.frames[-1].name, **k),
        lambda q, v, a, **k: r.integrate(q, v, 0.25, **k),
    ]


def test_alone_or_in_a_batch(r, sample):
    some = [x[:40] for x in sample]
    for f in quantities(r):
        alone = np.array([f(*s) for s in zip(*some, strict=True)])
        assert same_bits(f(*some), alone)


def test_any_split(r, sample):
    for f in quantities(r):
        whole = f(*sample)
        for size in (1, 3, 7, 8, 16, 31, 500):
            parts = [f(*[x[i : i + size] for x in sample]) for i in range(0, 600, size)]
            assert same_bits(np.concatenate(parts)[:600], whole[:600])
        assert same_bits(f(*[x[5:] for x in sample]), whole[5:])
        assert same_bits(f(*[x[::-1] for x in sample])[::-1], whole)


def test_any_number_of_threads(r, sample):
    for f in quantities(r):
        whole = f(*sample, threads=1)
        for threads in (2, 3, 4, 64):
            assert same_bits(f(*sample, threads=threads), whole)


def test_any_layout(r, sample):
    for f in quantities(r):
        whole = f(*sample)
        spread = [np.repeat(x, 2, axis=0)[::2] for x in sample]
        turned = [np.asfortranarray(x) for x in sample]
        swapped = [x.astype(x.dtype.newbyteorder()) for x in sample]
        for other in (spread, turned, swapped):
            assert same_bits(f(*other), whole)
        q, v, a = sample
        repeated = f(np.repeat(q[:1], COUNT, 0), v, np.repeat(a[7:8], COUNT, 0))
        assert same_bits(np.broadcast_to(f(q[0], v, a[7]), repeated.shape), repeated)


def test_repeated(r, sample):
    for f in quantities(r):
        assert same_bits(f(*sample), f(*sample))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_bad_states_leave_their_neighbours_alone(r, sample, bad):
    """Numbers that are not finite, or far beyond the range of the fast sine, sit in every lane in turn."""
    for f in quantities(r):
        right = f(*sample)
        for x in range(3):
            spoiled = [s.copy() for s in sample]
            spoiled[x][::5, -1] = bad
            good = np.arange(COUNT) % 5 != 0
            found = f(*spoiled, check=False, threads=2)
            assert same_bits(found[good], right[good])


def test_a_nan_shows_in_its_own_state(r, sample):
    q, v, a = (s[:20].copy() for s in sample)
    a[3, -1] = np.nan
    found = r.inverse_dynamics(q, v, a, check=False)
    assert np.isnan(found[3, -1]) and np.isfinite(np.delete(found, 3, 0)).all()
    assert same_bits(r.inverse_dynamics(q[3], v[3], a[3], check=False), found[3])


def same_bits(x: np.ndarray, y: np.ndarray) -> bool:
    """Equal, zeros with their signs and NaN where there is NaN."""
    x, y = np.asarray(x), np.asarray(y)
    numbers = ~(np.isnan(x) & np.isnan(y))
    return x.dtype == y.dtype and x.shape == y.shape and x[numbers].tobytes() == y[numbers].tobytes()
