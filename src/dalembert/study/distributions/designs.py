"""How rows are spread over the unit cube: at random, as a Latin hypercube, by Sobol's sequence, for Saltelli's indices.

Each is a function of (seed, begin, end) that gives the rows of any chunk, without those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dalembert.errors import DalembertError

from .counter import shuffled, uniforms

SOBOL_BITS = 30  # of SciPy's generator: 2³⁰ points
SOBOL_MOST = 21201  # columns of Joe and Kuo's table

METHODS = ("random", "lhs", "sobol", "saltelli")
GROWING = ("random", "sobol", "saltelli")  # rows stay what they are when more are added


def random(seed: int, widths: Mapping[str, int], begin: int, end: int) -> np.ndarray:
    """Independent numbers (end − begin, columns); each axis has a stream of its own."""
    return np.concatenate([uniforms(seed, name, begin, end, width) for name, width in widths.items()], axis=1)


def latin(seed: int, widths: Mapping[str, int], begin: int, end: int, count: int) -> np.ndarray:
    """A Latin hypercube of `count` rows: in each column every interval of length 1/count has one of them."""
    index, columns = np.arange(begin, end), []
    inside = random(seed, widths, begin, end)
    for name, width in widths.items():
        columns += [shuffled(seed, f"{name} {k}", index, count) for k in range(width)]
    return np.minimum((np.stack(columns, axis=1) + inside) / count, 1.0 - 2.0**-53)


def sobol(seed: int, columns: int, begin: int, end: int) -> np.ndarray:
    """Points of Sobol's sequence (end − begin, columns), each column shifted by random digits (Owen 2003)."""
    try:
        from scipy.stats import qmc
    except ImportError:
        raise DalembertError(
            "method 'sobol' and 'saltelli' need SciPy: pip install 'dalembert[study]', or method='random'"
        ) from None
    if columns > SOBOL_MOST:
        raise DalembertError(f"method 'sobol': {columns} columns, of at most {SOBOL_MOST}: use method='random'")
    if end > 1 << SOBOL_BITS:
        raise DalembertError(f"method 'sobol': {end} points, of at most 2^{SOBOL_BITS}: use method='random'")
    engine = qmc.Sobol(columns, scramble=False, bits=SOBOL_BITS)
    points = []
    if begin:
        engine.fast_forward(begin)
    elif end:
        points.append(engine.random(1))  # by itself: of other counts than powers of 2 SciPy would warn
    points.append(engine.random(end - begin - len(points)) if end - begin > len(points) else np.empty((0, columns)))
    digits = (np.concatenate(points) * 2.0**SOBOL_BITS).astype(np.int64)
    shift = (uniforms(seed, "digits of Sobol's points", 0, columns)[:, 0] * 2.0**SOBOL_BITS).astype(np.int64)
    return ((digits ^ shift) + 0.5) * 2.0**-SOBOL_BITS


def saltelli(
    base: Callable[[int, int], np.ndarray], factors: list[np.ndarray], columns: int, begin: int, end: int
) -> np.ndarray:
    """Rows begin … end − 1 of A, B, A with factor 0 of B, A with factor 1 of B, …, point after point.

    base(first, last): points (last − first, 2 columns). factors: the columns of each. Saltelli et al. 2010.
    """
    block = len(factors) + 2
    first, last = begin // block, -(-end // block)
    both = base(first, last)
    A, B = both[:, :columns], both[:, columns:]
    rows = np.repeat(A[:, None], block, axis=1)
    rows[:, 1] = B
    for k, places in enumerate(factors):
        rows[:, 2 + k, places] = B[:, places]
    return rows.reshape(-1, columns)[begin - first * block : end - first * block]
