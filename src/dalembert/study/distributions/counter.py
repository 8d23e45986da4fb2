"""Random numbers by row: a counter-based generator (Philox 4×64), evaluated for whole chunks of rows."""

from __future__ import annotations

import hashlib

import numpy as np

WORDS = 4  # of 64 bits in a block of Philox, which has one value of the counter
BITS = 52  # of a number; with the half added below, 53 bits hold it exactly


def uniforms(seed: int, stream: str, begin: int, end: int, width: int = 1) -> np.ndarray:
    """Numbers (end − begin, width) between 0 and 1, neither of which occurs.

    Row i depends on (seed, stream, i) and on the width, and on nothing else: not on where the chunk begins.
    """
    count, first = (end - begin) * width, begin * width
    key = np.frombuffer(hashlib.sha256(f"{seed} {stream}".encode()).digest()[:16], "<u8")
    words = np.random.Philox(key=key, counter=first // WORDS).random_raw(first % WORDS + count)[first % WORDS :]
    numbers = (words >> np.uint64(64 - BITS)).astype(float)
    numbers += 0.5
    numbers *= 2.0**-BITS
    return numbers.reshape(end - begin, width)


def shuffled(seed: int, stream: str, index: np.ndarray, count: int) -> np.ndarray:
    """A permutation of 0 … count − 1 at some places (n,), without the rest of it: a Feistel network, walked in cycles.

    Black and Rogaway, "Ciphers with arbitrary finite domains", 2002.
    """
    half = np.uint64(max(1, (max(count - 1, 1).bit_length() + 1) // 2))
    mask = np.uint64((1 << int(half)) - 1)
    digest = hashlib.sha256(f"{seed} {stream} {count}".encode()).digest()
    keys = np.frombuffer(digest, "<u8")
    x = np.asarray(index, np.uint64).copy()
    outside = np.ones(x.shape, bool)
    while outside.any():
        part = x[outside]
        left, right = part >> half, part & mask
        for key in (*keys, *keys[::-1]):
            left, right = right, left ^ (_mixed(right ^ key) & mask)
        x[outside] = (left << half) | right
        outside = x >= np.uint64(count)
    return x.astype(np.int64)


def _mixed(x: np.ndarray) -> np.ndarray:
    """Every bit of x (n,) of 64 bits spread over all others (the finalizer of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
