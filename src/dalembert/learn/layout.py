"""The memory of an environment: one vector of named parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


class Layout:
    """Where each part lies in the memory (size,); parts by name, in order, with their sizes."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = dict(sizes)
        ends = np.cumsum([0, *self.sizes.values()]).tolist()
        self.places = {name: slice(a, b) for name, a, b in zip(self.sizes, ends[:-1], ends[1:], strict=True)}
        self.size = ends[-1]

    def parts(self, x: Any) -> dict[str, Any]:
        """The parts of memories (…, size) by name."""
        return {name: x[..., place] for name, place in self.places.items()}

    def flat(self, parts: Mapping[str, Any]) -> np.ndarray:
        """A memory (size,) of its parts."""
        return np.concatenate([np.asarray(parts[name], object).reshape(size) for name, size in self.sizes.items()])
