"""How contact takes meshes: each counts as its convex hull, and the log of a run says where that matters."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dalembert.model import Model
from dalembert.shapes import Shape
from dalembert.shapes.hull import deviation
from dalembert.shapes.polyhedra import is_closed, joined, unit_inertia_of_surface

from .contact import Contact
from .touching import touching

SHOWN = 4  # names in a line
FILLED = 1.1  # volume of a hull per volume of the mesh from which on its hollows are worth a word
MISSED = 1e-3  # [m]: by which a hull with fewer vertices misses a mesh, from which on it is worth a word


def mesh_remarks(model: Model, contact: Contact) -> list[str]:
    """Which meshes are not closed, which have hollows that contact fills, and by how much a hull is smaller."""
    pairs, _ = touching(model, contact)
    shapes = {each.name: each.geometry.shape for pair in pairs for each in (pair.a, pair.b) if each is not None}
    meshes = {name: shape for name, shape in shapes.items() if shape.is_mesh}
    volumes = {name: _volume(shape) for name, shape in meshes.items()}
    hulls = {name: shape.convex() for name, shape in meshes.items()}
    hollow, missed = [], []
    for name, shape in meshes.items():
        filled = unit_inertia_of_surface(hulls[name].vertices, hulls[name].triangles).mass
        volume = volumes[name]
        if volume is not None and filled > FILLED * volume:
            hollow.append(f"{name!r} ({filled / volume:.1f} times its volume)")
        if (beyond := deviation(shape.surface()[0], hulls[name])) > MISSED:
            missed.append(f"{name!r} ({1e3 * beyond:.1f} mm)")
    is_open = [repr(name) for name, volume in volumes.items() if volume is None]
    said = {
        "not closed surfaces, contact takes their convex hulls": is_open,
        "contact fills the hollows of meshes, which count as their convex hulls: use several convex shapes where "
        "something goes inside, as robot.edit().convex_parts makes": hollow,
        "meshes reach beyond the hulls of few vertices that contact takes for them": missed,
    }
    return [f"contact: {remark}: {_listed(names)}" for remark, names in said.items() if names]


def _volume(shape: Shape) -> float | None:
    """Volume that a mesh encloses [m³]; None: it is not closed."""
    vertices, triangles = shape.surface()
    vertices, triangles = joined(np.asarray(vertices, float), np.asarray(triangles, int))
    return abs(unit_inertia_of_surface(vertices, triangles).mass) if is_closed(triangles) else None


def _listed(names: Iterable[str]) -> str:
    (*every,) = names
    return ", ".join(every[:SHOWN]) + (f" and {len(every) - SHOWN} more" if len(every) > SHOWN else "")
