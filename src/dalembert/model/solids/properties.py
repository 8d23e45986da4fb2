"""`mass_properties`: mass, centre of mass and inertia of a shape, or of the shapes of a link, at a density."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Geometry, Part
from dalembert.shapes import Shape
from dalembert.spatial import Inertia

SPECK = 1e-15  # m³: less does not count as a shape


@dataclass(frozen=True)
class MassProperties:
    """Mass properties of a solid of uniform density.

    volume [m³]; mass [kg]; com (3,) [m]; inertia (3, 3) [kg·m²] about the com, all in the frame of what was asked for:
    the shape's own for a shape, the link's for a geometry or link. notes: what was not taken as given.
    """

    volume: float
    mass: float
    com: np.ndarray
    inertia: np.ndarray
    notes: tuple[str, ...] = ()


def mass_properties(solid: Any, *, density: float | None = None, mass: float | None = None) -> MassProperties:
    """Mass, centre of mass and inertia of a shape, a geometry, or a link (its shapes), of uniform density.

    solid: Box, Sphere, Ellipsoid, Cylinder, Capsule, Cone, Polyhedron, Mesh; a Geometry (a shape placed in a link); a
    Part of a model's body or any list of Geometry, of which those to be touched ("collision") count, or, where there
    are none, those to be seen; where they overlap they count twice. density [kg/m³], or mass [kg] of the whole.
    """
    if (density is None) == (mass is None):
        raise DalembertError("mass_properties: give density=… [kg/m³] or mass=… [kg]")
    amount = float(density if density is not None else mass)  # type: ignore[arg-type]
    if not np.isfinite(amount) or amount <= 0.0:
        raise DalembertError(f"mass_properties: {'density' if mass is None else 'mass'} is {amount}, expected above 0")
    unit, notes = unit_properties(solid)
    volume = float(unit.mass)
    rho = amount if mass is None else amount / volume
    return MassProperties(volume, rho * volume, unit.com, rho * unit.about_com(), notes)


def unit_properties(solid: Any) -> tuple[Inertia, tuple[str, ...]]:
    """The inertia at density 1 kg/m³, and notes."""
    if isinstance(solid, Geometry):
        unit, notes = unit_properties(solid.shape)
        return unit.transform(solid.placement), notes
    if isinstance(solid, Part | list | tuple):
        shapes = solids(solid)
        if not shapes:
            name = f"link {solid.name!r}" if isinstance(solid, Part) else "an empty list"
            raise DalembertError(f"mass_properties: {name} has no shapes with a volume: add one, or state its inertia")
        parts = [unit_properties(shape) for shape in shapes]
        total = sum((unit for unit, _ in parts), Inertia.zero())
        return total, tuple(note for _, notes in parts for note in notes)
    if isinstance(solid, Shape):
        return solid.solid()
    raise DalembertError(f"mass_properties: no solid is known for {type(solid).__name__}")


def plain_solid(shapes: Iterable[Geometry]) -> Inertia | None:
    """The inertia at density 1 kg/m³ of shapes with closed forms, in the link's frame.

    None when there are none to speak of, or some whose inside is not known without reading a file (meshes, planes).
    """
    whole = Inertia.zero()
    for geometry in shapes:
        try:
            if geometry.shape.is_mesh:
                return None
            whole = whole + geometry.shape.unit_inertia().transform(geometry.placement)
        except DalembertError:
            return None
    return whole if whole.mass > SPECK and np.trace(whole.about_com()) > 0.0 else None


def solids(link: Any) -> list[Geometry]:
    """The shapes of a link that have a volume: those to be touched, else those to be seen."""
    geometry = link.geometry if isinstance(link, Part) else link
    for other in geometry:
        if not isinstance(other, Geometry):
            raise DalembertError(f"mass_properties: expected shapes or Geometry, got {type(other).__name__}")
    bulky = [shape for shape in geometry if shape.shape.is_bounded]
    return [shape for shape in bulky if shape.role == "collision"] or bulky
