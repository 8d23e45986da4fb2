"""Every tolerance of the tests: named multiples of the machine epsilon, relative to the size of what is compared."""

from __future__ import annotations

from typing import Any

import numpy as np

EPS = float(np.finfo(np.float64).eps)

ROUNDING = 8 * EPS  # one formula: a few operations of half an ulp each
PRODUCT = 64 * EPS  # chains of a few 3 × 3 or 6 × 6 products: some ten operations per entry
RECURSION = 4096 * EPS  # passes along a tree of tens of bodies: hundreds of operations, sums of unlike sizes
SOLVE = 1e6 * EPS  # linear solves with a mass matrix, whose condition number is 1e4 to 1e6 for uneven trees
PEER = RECURSION  # other libraries from the same file: their own recursion in another order
COMPUTED = 1e-12  # numbers of order 1 to 100 after hundreds of operations in one or two formulas
ITERATED = 1e-9  # converged iterations and fits, times of events, and numbers that went through text with ten digits
INTEGRATED = 1e-6  # integration over seconds at the usual tolerances, slopes of motions, numbers printed with 7 digits
PRINTED = 1e-4  # numbers printed with five digits

STEP = EPS ** (1 / 3)  # step of central differences: truncation h² and round-off eps/h balance
DIFFERENCE = 100 * EPS ** (
    2 / 3
)  # central differences with that step of functions whose third derivative is of order 10

EPS32 = float(np.finfo(np.float32).eps)
RECURSION32 = 256 * EPS32  # as RECURSION; fewer multiples, since float32 errors seldom all add up
SOLVE32 = 1e5 * EPS32


def assert_close(actual: Any, expected: Any, tolerance: float, scale: float = 1.0) -> None:
    """Same shape, no NaN, and |actual - expected| ≤ tolerance · max(scale, |expected|), entries sharing one size."""
    actual, expected = np.asarray(actual, float), np.asarray(expected, float)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    if actual.size == 0:
        return
    bound = tolerance * max(scale, float(np.max(np.abs(expected))))
    error = float(np.max(np.abs(actual - expected)))
    assert error <= bound, f"differs by {error:.3g} > {bound:.3g}\nactual {actual}\nexpected {expected}"
