"""Results in one line, as interactive sessions show them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

FEW = 8  # numbers up to which a vector is written out


def one_line(result: Any) -> str:
    """Name and fields of a result, a NamedTuple or dataclass: short vectors in full, other arrays by their shape."""
    names = [f.name for f in fields(result) if f.repr] if is_dataclass(result) else list(result._fields)
    parts = [f"{name}{_shown(getattr(result, name))}" for name in names]
    return f"{type(result).__name__}({', '.join(parts)})"


def _shown(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if isinstance(value, np.ndarray) and value.ndim <= 1 and value.size <= FEW:
        return f"={np.array2string(value, precision=5, separator=', ', max_line_width=10_000)}"
    if shape:
        return f" {tuple(shape)}"
    if isinstance(value, (float, np.floating)):
        return f"={float(value):.6g}"
    if isinstance(value, (str, int, bool, type(None), np.generic)):
        return f"={value}"
    if isinstance(value, (tuple, list, dict)) and not hasattr(value, "_fields"):
        return f" of {len(value)}"
    return f"={value!r}" if "\n" not in repr(value) else f" {type(value).__name__}"
