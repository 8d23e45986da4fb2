"""Random numbers inside compiled programs: a function of (seed, environment, episode, name, counter), in arithmetic.

Compiled graphs have no integers. A Feistel network on two residues modulo a prime needs none: its round function is a
cube modulo the prime, and all its products are whole numbers below 2⁵³, which doubles hold exactly. The same code runs
on floats, on NumPy arrays and on traced values, and gives the same numbers.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

from dalembert.math import cos, floor, log, sin, sqrt, where

from .laws import Distribution

PRIME = 33554393.0  # the largest prime below 2²⁵: (2 PRIME)² is below 2⁵³
ROUNDS = 8
KEYS = [float(int.from_bytes(hashlib.sha256(bytes([k])).digest()[:8], "little") % int(PRIME)) for k in range(ROUNDS)]


def _near(x: Any) -> Any:
    """x modulo PRIME for whole |x| < 2⁵³, up to one PRIME too little or too much."""
    return x - floor(x * (1.0 / PRIME)) * PRIME


def _residue(x: Any) -> Any:
    """x modulo PRIME, in [0, PRIME)."""
    r = _near(x)
    r = where(r < 0.0, r + PRIME, r)
    return where(r >= PRIME, r - PRIME, r)


def permuted(a: Any, b: Any, left: Any, right: Any) -> tuple[Any, Any]:
    """The residues (left, right) under the permutation with the key (a, b), all whole numbers in [0, PRIME)."""
    for k in range(ROUNDS):
        y = _near(right + (KEYS[k] + (b if k % 2 else a)))
        left, right = right, left + _near(_near(y * y) * y)
    return _residue(left), _residue(right)


def words(*parts: Any) -> tuple[float, float]:
    """Two residues that stand for some numbers and texts: a seed, a name."""
    digest = hashlib.sha256(" ".join(map(str, parts)).encode()).digest()
    first, second = (int.from_bytes(digest[8 * k : 8 * k + 8], "little") % int(PRIME) for k in range(2))
    return float(first), float(second)


class Stream(NamedTuple):
    """The random numbers of one episode of one environment: residues that are its key."""

    a: Any
    b: Any

    @classmethod
    def of(cls, seed: Any, number: Any, episode: Any) -> Stream:
        """The stream of an environment's episode; seed: two residues, see `words`; number and episode: whole."""
        return cls(*permuted(seed[0], seed[1], _residue(number), _residue(episode)))

    def uniforms(self, name: str, count: int, counter: Any = 0.0) -> np.ndarray:
        """Numbers (count,) between 0 and 1, neither of which occurs; counter: the time at which they are drawn."""
        pairs = self._pairs(name, count, counter)
        return np.array([(left + (right + 0.5) * (1.0 / PRIME)) * (1.0 / PRIME) for left, right in pairs])

    def normals(self, name: str, count: int, counter: Any = 0.0) -> np.ndarray:
        """Standard normal numbers (count,), in pairs from the transformation of Box and Muller."""
        numbers: list[Any] = []
        for left, right in self._pairs(f"{name} normal", (count + 1) // 2, counter):
            radius, angle = sqrt(-2.0 * log((left + 0.5) * (1.0 / PRIME))), right * (2.0 * np.pi / PRIME)
            numbers += [radius * cos(angle), radius * sin(angle)]
        return np.array(numbers[:count])

    def draw(self, name: str, distribution: Distribution, counter: Any = 0.0) -> np.ndarray:
        """A value (size,) of a distribution; (1,) of one number."""
        return np.atleast_1d(distribution.values(self.uniforms(name, distribution.width, counter)[None])[0])

    def _pairs(self, name: str, count: int, counter: Any) -> list[tuple[Any, Any]]:
        first, second = words(name)
        return [permuted(self.a, self.b, _residue(counter + first), _residue(second + float(k))) for k in range(count)]
