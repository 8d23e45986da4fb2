"""Arrays by name as columns of one table, of which loops over items read and write whole rows (`math.visit`)."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np


class Columns:
    """Where arrays (…, *shape) by name lie in a table (…, width): one behind the other in its last axis.

    shapes: of one row; () for a number.
    """

    def __init__(self, **shapes: tuple[int, ...]) -> None:
        self.shapes = shapes
        self.sizes = {name: prod(shape) for name, shape in shapes.items()}
        self.width = sum(self.sizes.values())

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> Columns:
        """Columns from arrays (k, …), whose first axis counts the rows of the table."""
        return cls(**{name: np.shape(x)[1:] for name, x in arrays.items()})

    def row(self, **values: Any) -> np.ndarray:
        """One row (width,)."""
        return np.concatenate([np.ravel(values[name]) for name in self.shapes])

    def table(self, **arrays: np.ndarray) -> np.ndarray:
        """All rows (k, width) of arrays (k, …)."""
        return np.concatenate([arrays[x].reshape(len(arrays[x]), n) for x, n in self.sizes.items()], axis=1)

    def named(self, table: np.ndarray) -> dict[str, Any]:
        """The arrays (…, *shape) of a table, or the values of one row."""
        parts = np.split(table, np.cumsum(list(self.sizes.values()))[:-1], axis=-1)
        rows = zip(self.shapes.items(), parts, strict=True)
        return {name: part.reshape((*table.shape[:-1], *shape))[()] for (name, shape), part in rows}
