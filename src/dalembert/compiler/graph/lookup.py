"""Tables of constants that expressions look numbers up in."""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from dalembert.math.tables import taken

if TYPE_CHECKING:
    from .scalar import Scalar


class ConstantTable:
    """Constants (n, m). A node "lookup" is number `column` of row floor(index), its value is (table, column)."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = np.ascontiguousarray(numbers, float)

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of shape and numbers."""
        return sha256(repr(self.numbers.shape).encode() + self.numbers.tobytes()).hexdigest()


def lookup(index: Scalar, table: ConstantTable, column: int) -> Scalar:
    """The node of a lookup; a constant where the index is. A column of equal numbers stays a lookup: NaN gives NaN."""
    numbers = table.numbers[:, column]
    if index.op == "const":
        return index.graph.constant(taken(numbers, np.asarray(index.value)))
    return index.graph.make(("lookup", table.digest, column, index.id), "lookup", (index,), (table, column))
