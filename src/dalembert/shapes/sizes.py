"""The numbers of a shape: by which shapes of one kind differ, and shapes with other numbers, which may be traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from .box import Box
from .capsule import Capsule
from .cone import Cone
from .cylinder import Cylinder
from .ellipsoid import Ellipsoid
from .sphere import Sphere

SIZES: dict[type, tuple[str, ...]] = {
    Sphere: ("radius",),
    Capsule: ("radius", "length"),
    Cylinder: ("radius", "length"),
    Cone: ("radius", "length"),
    Box: ("size",),
    Ellipsoid: ("radii",),
}


def sizes_of(shape: Any) -> list[Any]:
    """The numbers that tell a shape apart from others of its kind; see `resized`."""
    return [x for name in SIZES[type(shape)] for x in np.atleast_1d(getattr(shape, name))]


def resized(shape: Any, sizes: np.ndarray) -> Any:
    """A shape of the same kind with sizes that may be traced, which its constructor would refuse."""
    other = object.__new__(type(shape))
    names = SIZES[type(shape)]
    values = [np.array(sizes)] if names[0] in ("size", "radii") else list(sizes)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(other, name, value)
    return other
