"""`mass_properties`: mass, centre of mass and inertia of a shape, or of the shapes of a link, at a density."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Geometry, Part
from dalembert.model.geometry import Mesh, Plane, Polyhedron
from dalembert.spatial import Inertia

from .meshes import surface
from .polyhedra import turned_outward, unit_inertia_of_surface
from .primitives import unit_inertia

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
    if isinstance(solid, Mesh | Polyhedron):
        return _of_surface(solid)
    return unit_inertia(solid), ()


def plain_solid(shapes: Iterable[Geometry]) -> Inertia | None:
    """The inertia at density 1 kg/m³ of shapes with closed forms, in the link's frame.

    None when there are none to speak of, or some whose inside is not known without reading a file (meshes, planes).
    """
    whole = Inertia.zero()
    for geometry in shapes:
        try:
            whole = whole + unit_inertia(geometry.shape).transform(geometry.placement)
        except DalembertError:
            return None
    return whole if whole.mass > SPECK and np.trace(whole.about_com()) > 0.0 else None


def solids(link: Any) -> list[Geometry]:
    """The shapes of a link that have a volume: those to be touched, else those to be seen."""
    geometry = link.geometry if isinstance(link, Part) else link
    for other in geometry:
        if not isinstance(other, Geometry):
            raise DalembertError(f"mass_properties: expected shapes or Geometry, got {type(other).__name__}")
    bulky = [shape for shape in geometry if not isinstance(shape.shape, Plane)]
    return [shape for shape in bulky if shape.role == "collision"] or bulky


def _of_surface(shape: Mesh | Polyhedron) -> tuple[Inertia, tuple[str, ...]]:
    vertices, triangles, note = surface(shape)
    notes = [note] if note else []
    if unit_inertia_of_surface(vertices, triangles).mass < 0.0:
        triangles = triangles[:, ::-1]
        notes.append("its triangles are turned inside out: taken the other way round")
    triangles, turned, shells = turned_outward(vertices, triangles)
    if turned:
        which = f"{turned} of its {shells} shells {'is' if turned == 1 else 'are'} turned inside out"
        notes.append(f"{which}: taken the other way round")
    unit = unit_inertia_of_surface(vertices, triangles)
    size = float(np.max(np.ptp(vertices, axis=0)))
    if not unit.mass > 1e-12 * size**3:
        raise DalembertError(f"mass_properties: the surface encloses no volume ({unit.mass:.3g} m³)")
    name = shape.file if isinstance(shape, Mesh) else "polyhedron"
    return unit, tuple(f"{name}: {note}" for note in notes)
