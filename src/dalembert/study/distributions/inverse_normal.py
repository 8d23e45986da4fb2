"""The inverse of the normal distribution function. Wichura, algorithm AS 241 (PPND16), Applied Statistics 37, 1988."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import log, minimum, sqrt, where

CENTRAL, SHIFT, FAR = 0.425, 1.6, 5.0
MIDDLE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.3871328727963666080),
    (5226.4952788528545610, 28729.085735721942674, 39307.895800092710610, 21213.794301586595867,
     5394.1960214247511077, 687.18700749205790830, 42.313330701600911252, 1.0),
)  # fmt: skip
TAIL = (
    (7.74545014278341407640e-4, 0.0227238449892691845833, 0.241780725177450611770, 1.27045825245236838258,
     3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.148103976427480074590,
     0.689767334985100004550, 1.67638483018380384940, 2.05319162663775882187, 1.0),
)  # fmt: skip
FAR_TAIL = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 0.0265321895265761230930,
     0.296560571828504891230, 1.78482653991729133580, 5.46378491116411436990, 6.65790464350110377720),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     0.0148753612908506148525, 0.136929880922735805310, 0.599832206555887937690, 1.0),
)  # fmt: skip


def inverse_normal(u: Any) -> Any:
    """Standard normal numbers with the probabilities u in (0, 1), to about 1e-15 relative: floats, arrays or traced."""
    q = u - 0.5
    r = sqrt(-log(minimum(u, 1.0 - u)))
    tail = where(less(r, FAR), _ratio(TAIL, r - SHIFT), _ratio(FAR_TAIL, r - FAR))
    middle = q * _ratio(MIDDLE, CENTRAL * CENTRAL - q * q)
    return where(less(CENTRAL, absolute(q)), where(less(q, 0.0), -tail, tail), middle)


def less(a: Any, b: Any) -> Any:
    """Whether a < b, of floats, arrays, and arrays of traced values, which NumPy would ask for their truth."""
    traced = any(np.asarray(x).dtype == object for x in (a, b))
    return np.less(a, b, dtype=object) if traced else a < b


def _ratio(coefficients: tuple[tuple[float, ...], ...], r: Any) -> Any:
    """The quotient of two polynomials, highest powers first."""
    parts = []
    for row in coefficients:
        total = 0.0 * r + row[0]
        for c in row[1:]:
            total = total * r + c
        parts.append(total)
    return parts[0] / parts[1]
