"""Convex parts in the place of concave collision meshes, by approximate convex decomposition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, is_number
from dalembert.model import Geometry, LinkPlan
from dalembert.shapes import Polyhedron

from .change import Change


def convex_parts(plan: LinkPlan, name: str, concavity: float) -> Change:
    """Divide the collision meshes of a link into convex parts.   Wei, Liu, Ling, Su 2022 (CoACD)"""
    link = plan.link(name, "convex_parts")
    if not (is_number(concavity) and 0.0 < float(concavity) <= 1.0):
        raise DalembertError(f"convex_parts: concavity is {concavity!r}, expected above 0 and at most 1")
    geometry: list[Geometry] = []
    counts = []
    for shape in link.geometry:
        if shape.role != "collision" or not shape.shape.is_mesh:
            geometry.append(shape)
            continue
        parts = _divided(shape, float(concavity), f"convex_parts: link {name!r}")
        counts.append(len(parts))
        geometry += parts
    if not counts:
        raise DalembertError(f"convex_parts: link {name!r} has no collision mesh")
    plan.links[name] = replace(link, geometry=tuple(geometry))
    meshes = "1 collision mesh" if len(counts) == 1 else f"{len(counts)} collision meshes"
    return Change(plan, f"{meshes} of link {name!r}", f"divided into {sum(counts)} convex parts")


def _divided(shape: Geometry, concavity: float, where: str) -> list[Geometry]:
    try:
        import coacd
    except ImportError:
        raise DalembertError(f"{where}: convex decomposition needs CoACD: pip install 'dalembert[convex]'") from None
    vertices, triangles = shape.shape.surface()
    coacd.set_log_level("error")
    mesh = coacd.Mesh(np.asarray(vertices, float), np.asarray(triangles, np.int32))
    parts: list[Any] = coacd.run_coacd(mesh, threshold=concavity, seed=0)
    names = [f"{shape.name or 'part'}_{k}" for k in range(len(parts))]
    surfaces = [Polyhedron(np.asarray(v, float), np.asarray(f, int)) for v, f in parts]
    return [replace(shape, shape=part, name=each) for part, each in zip(surfaces, names, strict=True)]
