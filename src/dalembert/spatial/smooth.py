"""Functions of a rotation angle that are smooth through zero, without cancellation and without 0/0.

They take the squared angle x = θ², so that no root is taken at zero, and join a series to a closed form. The argument
of the side not taken is replaced by a harmless one, so that derivatives of the joined function stay finite as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any

from dalembert.math import atan2, cos, sin, sqrt, where

SERIES_BELOW = 1.0  # squared angle: above it the closed forms and their first derivatives lose a few ulp at most
# Nine terms: the first one dropped is below 1e-16 of the sum at SERIES_BELOW.
_COS, _SIN, _EXCESS = ([(-1) ** k / factorial(2 * k + first) for k in range(9)] for first in (0, 1, 3))
# 1 - (θ/2) cot(θ/2) = Σ |B₂ₙ| θ²ⁿ / (2n)! with the Bernoulli numbers; each term is 40 times smaller than the last
_BERNOULLI = (1 / 6, 1 / 30, 1 / 42, 1 / 30, 5 / 66, 691 / 2730, 7 / 6, 3617 / 510, 43867 / 798, 174611 / 330)
_COTANGENT = [b / factorial(2 * n) for n, b in enumerate(_BERNOULLI, start=1)]
_ATAN = [(-1) ** k / (2 * k + 1) for k in range(9)]
ATAN_BELOW = 0.01  # squared tangent


def half_angle(x: Any) -> tuple[Any, Any]:
    """sin(θ/2) / (θ/2) and cos(θ/2) of x = θ²."""
    y = 0.25 * x
    small = y < SERIES_BELOW
    t = sqrt(where(small, 1.0, y))
    y = where(small, y, 0.0)
    return where(small, _polynomial(_SIN, y), sin(t) / t), where(small, _polynomial(_COS, y), cos(t))


def sinc(x: Any) -> Any:
    """sin θ / θ of x = θ²."""
    s, c = half_angle(x)
    return s * c


def versine_ratio(x: Any) -> Any:
    """(1 - cos θ) / θ² of x = θ²."""
    s, _ = half_angle(x)
    return 0.5 * s * s


def sine_excess_ratio(x: Any) -> Any:
    """(θ - sin θ) / θ³ of x = θ²."""
    return _divided(1.0 - sinc(x), x, _EXCESS)


def cotangent_ratio(x: Any) -> Any:
    """(1 - (θ/2) cot(θ/2)) / θ² of x = θ², for θ < 2π."""
    s, c = half_angle(x)
    return _divided(1.0 - c / s, x, _COTANGENT)


def cotangent_ratio_slope(x: Any) -> Any:
    """Derivative of `cotangent_ratio` in x, for θ < 2π."""
    s, c = half_angle(x)
    g = c / s  # (θ/2) cot(θ/2), with the slope (g - 1/s²) / (2x)
    numerator = 0.5 * (1.0 / (s * s) - g) - (1.0 - g)
    small = x < SERIES_BELOW
    series = [n * b for n, b in enumerate(_COTANGENT)][1:]
    safe = where(small, 1.0, x)
    return where(small, _polynomial(series, where(small, x, 0.0)), numerator / (safe * safe))


def angle_ratio(x: Any, c: Any) -> Any:
    """atan2(s, c) / s of x = s² for s, c ≥ 0: an angle over its sine, when s and c are its sine and cosine."""
    small = x < ATAN_BELOW * c * c
    s, cosine = sqrt(where(small, 1.0, x)), where(small, c, 1.0)
    return where(small, _polynomial(_ATAN, x / (cosine * cosine)) / cosine, atan2(s, c) / s)


def _divided(numerator: Any, x: Any, series: Sequence[float]) -> Any:
    """numerator / x, by its series where x is small."""
    small = x < SERIES_BELOW
    return where(small, _polynomial(series, where(small, x, 0.0)), numerator / where(small, 1.0, x))


def _polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """Σ coefficients[k]·xᵏ by Horner's rule."""
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total
