"""Every tolerance of the tests, named by its reason: rounding, iterations that stop, integration, differences, digits.

They are relative to the size of what is compared, or absolute for things of order 1. A multiple such as 3 * DIFFERENCE
is the same reason in a harder case. What one test expects of physics or noise ("within 2 % of the mass") is a constant
at the top of that test's file, with its reason. `tests/test_form.py` refuses numbers without a name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

EPS = float(np.finfo(np.float64).eps)
EPS32 = float(np.finfo(np.float32).eps)

# rounding
ROUNDING = 8 * EPS  # one formula: a few operations of half an ulp each
PRODUCT = 64 * EPS  # chains of a few 3 × 3 or 6 × 6 products: some ten operations per entry
REORDERED = 512 * EPS  # the same steps in another order: one motion and a batch, a formula and its graph
RECURSION = 4096 * EPS  # passes along a tree of tens of bodies: hundreds of operations, sums of unlike sizes
SOLVE = 1e6 * EPS  # linear solves with a mass matrix, whose condition number is 1e4 to 1e6 for uneven trees
PEER = RECURSION  # other libraries from the same file: their own recursion in another order
COMPUTED = 1e-12  # numbers of order 1 to 100 after hundreds of operations in one or two formulas
ACCUMULATED = 1e-11  # rounding that hundreds of time steps, or gains of order ten, have magnified
RECURSION32 = 256 * EPS32  # as RECURSION; fewer multiples, since float32 errors seldom all add up
SOLVE32 = 1e5 * EPS32
SINGLE = 1e-5  # results of order 1 in float32, after hundreds of operations

# iterations
CONVERGED = 1e-10  # Newton's method run to its end: closed loops, times of impacts, conditions of an optimum
ITERATED = 1e-9  # converged iterations and fits, times of events, and numbers that went through text with ten digits
SOLVER_DEFAULT = 1e-8  # solvers at their default tolerance: inverse kinematics, equilibria, plans, closed loops
CONTACT_SOLVER = 1e-6  # rigid contact: its iteration over all impulses stops at about this share of them
OPTIMAL = 1e-6  # paths and costs of plans and time-optimal moves: the cost is flat at its minimum

# integration
TIGHT_RUN = 1e-8  # about a second at rtol 1e-10 or below, or of motions that the method follows nearly exactly
DEFAULT_RUN = 1e-7  # about a second at the default tolerances (rtol 1e-8)
INTEGRATED = 1e-6  # integration over seconds at the usual tolerances, slopes of motions, numbers printed with 7 digits
COARSE_RUN = 1e-5  # looser tolerances, or fixed steps of second order; stiff contacts and springs
MILLISECOND_STEPS = 1e-3  # fixed steps of about 1 ms of first order: the error is about one step [s]
ORDER = 0.1  # of a measured order of convergence: log2 of the ratio of errors of two steps

# differences
STEP = EPS ** (1 / 3)  # step of central differences: truncation h² and round-off eps/h balance
DIFFERENCE = 100 * EPS ** (2 / 3)  # with that step, of functions whose third derivative is of order 10
SLOPE = 1e-7  # central differences with steps of about 1e-6, or of functions that are not so smooth
ROUGH_SLOPE = 1e-5  # second differences, and differences of iterated results or of samples

# digits and goals
PRINTED = 1e-4  # numbers printed with five digits
SETTLED = 1e-4  # motions that have died out, but for the rest of an exponential
REACHED = 1e-3  # goals of controllers and plans: a millimetre, a milliradian


def assert_close(actual: Any, expected: Any, tolerance: float, scale: float = 1.0) -> None:
    """Same shape, no NaN, and |actual - expected| ≤ tolerance · max(scale, |expected|), entries sharing one size."""
    actual, expected = np.asarray(actual, float), np.asarray(expected, float)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    if actual.size == 0:
        return
    bound = tolerance * max(scale, float(np.max(np.abs(expected))))
    error = float(np.max(np.abs(actual - expected)))
    assert error <= bound, f"differs by {error:.3g} > {bound:.3g}\nactual {actual}\nexpected {expected}"
