"""The surroundings that act on a robot's links: a fluid, and the share of gravity that is balanced. As data."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.spatial import Pose


class Compensation(NamedTuple):
    """The share of a link's weight that is balanced at its centre of mass: 1 floats, above 1 rises."""

    link: str
    share: float


@dataclass(frozen=True, eq=False, kw_only=True)
class FluidShape:
    """The shape of a link in a fluid: a box, or an ellipsoid.

    placement: of its centre and axes in the link; size (3,): edges of the box, or half axes of the ellipsoid [m].
    coefficients: () for a box; for an ellipsoid (blunt drag, slender drag, angular drag, Kutta lift, Magnus lift), then
    virtual_mass (3,) [m³] and virtual_inertia (3,) [m⁵], per density, along its axes; share: of its forces that act.
    """

    link: str
    placement: Pose
    size: np.ndarray
    coefficients: tuple[float, ...] = ()
    virtual_mass: tuple[float, ...] = (0.0, 0.0, 0.0)
    virtual_inertia: tuple[float, ...] = (0.0, 0.0, 0.0)
    share: float = 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Medium:
    """A fluid around all links: density [kg/m³], viscosity [Pa·s], wind (3,) in the world [m/s], and their shapes."""

    density: float
    viscosity: float
    wind: np.ndarray
    shapes: tuple[FluidShape, ...]

    def __post_init__(self) -> None:
        for name in ("density", "viscosity"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise DalembertError(f"medium: {name} is {getattr(self, name)!r}, expected a number ≥ 0")


@dataclass(frozen=True, eq=False)
class Surroundings:
    """All of them; without medium and compensations, nothing."""

    medium: Medium | None = None
    compensations: tuple[Compensation, ...] = ()

    def __bool__(self) -> bool:
        return self.medium is not None or bool(self.compensations)

    def kept(self, links: Collection[str]) -> Surroundings:
        """The surroundings of these links alone."""
        medium = self.medium
        if medium is not None:
            medium = replace(medium, shapes=tuple(shape for shape in medium.shapes if shape.link in links))
        return Surroundings(medium, tuple(each for each in self.compensations if each.link in links))

    def renamed(self, links: Mapping[str, str]) -> Surroundings:
        """The same with other names of links."""
        medium = self.medium
        if medium is not None:
            shapes = (replace(shape, link=links.get(shape.link, shape.link)) for shape in medium.shapes)
            medium = replace(medium, shapes=tuple(shapes))
        balanced = (each._replace(link=links.get(each.link, each.link)) for each in self.compensations)
        return Surroundings(medium, tuple(balanced))
