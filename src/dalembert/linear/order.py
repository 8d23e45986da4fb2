"""In which order to eliminate the unknowns of a symmetric system, so that its factor stays sparse."""

from __future__ import annotations

from functools import lru_cache

import numpy as np


def elimination_order(pattern: np.ndarray) -> tuple[int, ...]:
    """The unknowns (n,) of a symmetric matrix with that pattern (n, n) of booleans, by minimum degree.

    The next unknown is the one with the fewest neighbours left; among equals the one that waits for the fewest others,
    so that a chain is taken from both ends, then the one that comes first. Only the lower triangle is read. A pattern
    is ordered once.
    """
    n = len(pattern)
    return _ordered(n, np.packbits(np.tril(pattern, -1)).tobytes())


@lru_cache(maxsize=256)
def _ordered(n: int, packed: bytes) -> tuple[int, ...]:
    below = np.unpackbits(np.frombuffer(packed, np.uint8), count=n * n).reshape(n, n)
    neighbours: list[set[int]] = [set(np.flatnonzero(row)) for row in below + below.T]
    waits, order, left = [0] * n, [], set(range(n))
    while left:
        k = min(left, key=lambda i: (len(neighbours[i]), waits[i], i))
        left.discard(k)
        order.append(k)
        for i in neighbours[k]:  # they become neighbours of each other
            neighbours[i] |= neighbours[k]
            neighbours[i] -= {i, k}
            waits[i] = max(waits[i], waits[k] + 1)
    return tuple(order)
