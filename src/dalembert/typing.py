"""Types of numbers in signatures.

Array: numbers as they come back, NumPy's where NumPy's went in; arrays of CuPy, PyTorch and JAX are typed like them.
ArrayLike: what calls take as numbers: arrays of any of these libraries, lists, single numbers. Scalar: one number of
one state, or an array (…,) of them for a batch.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

Array: TypeAlias = np.ndarray
Scalar: TypeAlias = float | np.ndarray

__all__ = ["Array", "ArrayLike", "Scalar"]
