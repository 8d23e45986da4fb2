"""A few numbers in device memory that all states share, put there once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .kernel import Array, cupy, current_device

DTYPES: dict[str, np.dtype] = {"double": np.dtype(np.float64), "float": np.dtype(np.float32)}


class Constants:
    """Numbers that stay on every device they were used on."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self.numbers = list(numbers)
        self._on_devices: dict[tuple[str, int], Any] = {}

    def placed(self, element: str) -> Callable[[int], Array]:
        """The address of number k on the current device; a vector of two begins at the first."""
        key = element, current_device()
        if key not in self._on_devices:
            on_device = cupy().asarray(np.array(self.numbers, DTYPES[element]))
            cupy().cuda.get_current_stream().synchronize()  # whichever stream reads them
            self._on_devices[key] = on_device
        base, size = self._on_devices[key].data.ptr, DTYPES[element].itemsize
        return lambda k: Array(base + k * size, 0, 1)


def part(array: Array, element: str, begin: int, rows: int | None = None) -> Array:
    """The numbers of a state from `begin` on; rows: how many make one pass (negative: passes go backwards)."""
    place = array.address + begin * array.item * DTYPES[element].itemsize
    return Array(place, array.state, array.item, None if rows is None else rows * array.item)
