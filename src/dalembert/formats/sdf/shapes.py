"""Shapes of SDF links, for drawing and contact, and inertia computed from them for inertial auto="true"."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import Geometry, Surface
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Role, Shape, Sphere
from dalembert.model.solids.properties import plain_solid
from dalembert.spatial import Inertia, Pose

from ..robot import FileShape
from ..xml import children, tag_of
from .include import locate
from .scope import SdfScope
from .source import Element, SdfFile

WATER = 1000.0  # [kg/m³] SDF's default density
IDLE = {
    "laser_retro", "max_contacts", "cast_shadows", "visibility_flags", "meta", "plugin", "lighting",
    "auto_inertia_params",
}  # fmt: skip
KNOWN = {"pose", "geometry", "material", "transparency", "density", "surface"}
# where <surface> states what, in the order in which a later one counts
SURFACE = {
    "friction": (("friction", "bullet", "friction"), ("friction", "ode", "mu")),
    "restitution": (("bounce", "restitution_coefficient"),),
    "stiffness": (("contact", "bullet", "kp"), ("contact", "ode", "kp")),
    "damping": (("contact", "bullet", "kd"), ("contact", "ode", "kd")),
}
COLORS = {"script", "shader", "lighting", "emissive", "specular", "pbr", "render_order", "double_sided", "shininess"}


def read_shapes(scope: SdfScope, link: Element) -> list[FileShape]:
    """The <visual> and <collision> shapes of a link, in its frame."""
    shapes = []
    for element in children(link):
        role: Role = "visual" if tag_of(element) == "visual" else "collision"
        if tag_of(element) != role:
            continue
        source = scope.source
        source.report(element, tags=KNOWN, attributes={"name"}, idle=IDLE, why="not used: contact and appearance")
        geometry = source.child(element, "geometry")
        shape = None if geometry is None else _shape(source, geometry)
        if shape is None:
            continue
        density = None if source.child(element, "density") is None else source.number(element, "density", WATER)
        color = _color(source, element) if role == "visual" else None
        placement = _placement(scope, link, element)
        surface = _surface(source, element) if role == "collision" else None
        name = element.get("name") or ""
        shapes.append(FileShape(shape, placement, role, color, name, surface, element, density))
    return shapes


def _surface(source: SdfFile, collision: Element) -> Surface | None:
    """<surface>: friction, bounce and stiffness of contacts, as far as it states them."""
    surface = source.child(collision, "surface")
    if surface is None:
        return None
    stated: dict[str, Any] = {}
    for name, path in SURFACE.items():
        for way in path:
            inner: Element | None = surface
            for tag in way[:-1]:
                inner = None if inner is None else source.child(inner, tag)
            if inner is not None and source.child(inner, way[-1]) is not None:
                stated[name] = source.number(inner, way[-1], 0.0)
    if not stated:
        source.ledger.count(source.where(surface), "<surface> in <collision>", "not used: no numbers of contacts")
        return None
    source.ledger.count(source.where(surface), f"<surface> that states {', '.join(stated)}", "kept, for contacts")
    return Surface(**stated)


def _placement(scope: SdfScope, link: Element, element: Element) -> Pose:
    X, base = scope.source.pose(element)
    if not base:
        return X
    where = scope.source.where(element)
    return scope.pose(link.get("name") or "", where).inverse() @ scope.pose(base, where) @ X


def _shape(source: SdfFile, geometry: Element) -> Shape | None:
    """The shape in <geometry>; None, with a line in the log, for kinds that are not kept."""
    for element in children(geometry):
        kind = tag_of(element)
        if kind == "mesh":
            return _mesh(source, element)
        if kind == "plane":
            normal = source.child(element, "normal")
            return Plane(np.array([0.0, 0.0, 1.0]) if normal is None else source.vector(normal, 3))
        if kind not in SIZES:
            source.ledger.count(source.where(element), f"<{kind}> geometry", "passed over: not drawn")
            return None
        sizes = [_size(source, element, tag, count) for tag, count in SIZES[kind]]
        if any(np.any(size <= 0.0) for size in sizes):
            source.ledger.count(
                source.where(element), f"a <{kind}> whose size is not positive", "passed over: not drawn"
            )
            return None
        return _primitive(kind, sizes)
    return None


SIZES = {
    "box": (("size", 3),),
    "sphere": (("radius", 1),),
    "ellipsoid": (("radii", 3),),
    "cylinder": (("radius", 1), ("length", 1)),
    "capsule": (("radius", 1), ("length", 1)),
    "cone": (("radius", 1), ("length", 1)),
}


def _size(source: SdfFile, element: Element, tag: str, count: int) -> np.ndarray:
    child = source.child(element, tag)
    if child is None:
        raise source.error(element, f"has no <{tag}>; add it, in m")
    return source.vector(child, count)


def _primitive(kind: str, sizes: list[np.ndarray]) -> Shape:
    if kind == "box":
        return Box(sizes[0])
    if kind == "ellipsoid":
        return Ellipsoid(sizes[0])
    if kind == "sphere":
        return Sphere(float(sizes[0][0]))
    radius, length = (float(size[0]) for size in sizes)
    if kind == "cylinder":
        return Cylinder(radius, length)
    return Capsule(radius, length) if kind == "capsule" else Cone(radius, length)


def _mesh(source: SdfFile, element: Element) -> Mesh:
    uri = source.word(element, "uri")
    if uri is None:
        raise source.error(element, "has no <uri>; name the file of the mesh")
    scale = source.child(element, "scale")
    path = locate(source, uri)
    if path is None:
        source.ledger.count(source.where(element), "mesh whose file does not exist", "kept by name: it cannot be drawn")
    return Mesh(uri if path is None else str(path), np.ones(3) if scale is None else source.vector(scale, 3))


def _color(source: SdfFile, visual: Element) -> tuple[float, float, float, float] | None:
    """The <diffuse> colour of a visual, else <ambient>; <transparency> thins it."""
    material = source.child(visual, "material")
    if material is None:
        return None
    why = "not used: the plain colour is"
    source.report(material, tags={"diffuse", "ambient"}, attributes=set(), idle=COLORS, why=why)
    stated = next((c for tag in ("diffuse", "ambient") if (c := source.child(material, tag)) is not None), None)
    if stated is None:
        return None
    words = source.text(stated).split()
    rgba = source.vector(stated, 4) if len(words) != 3 else np.append(source.vector(stated, 3), 1.0)
    rgba[3] *= 1.0 - source.number(visual, "transparency", 0.0)
    red, green, blue, opacity = np.clip(rgba, 0.0, 1.0).tolist()
    return red, green, blue, opacity


def inertia_of(source: SdfFile, inertial: Element, shapes: list[FileShape]) -> Inertia:
    """Inertia in the link's frame of its collision shapes at their densities; scaled to <mass> where that is stated."""
    default = source.number(inertial, "density", WATER)
    total = Inertia.zero()
    for placed in shapes:
        if placed.role == "collision":
            volume = plain_solid([Geometry(placed.shape, Pose.identity())])
            if volume is None:
                what = 'inertial auto="true" needs solid primitives, not this shape; state <mass>, <inertia>'
                raise source.error(placed.element, what)
            density = default if placed.density is None else placed.density
            total += scaled(volume, density).transform(placed.placement)
    if not total.mass > 0.0:
        raise source.error(inertial, 'auto="true" but no <collision> shape has mass; state <mass> and <inertia>')
    return scaled(total, source.number(inertial, "mass", total.mass) / total.mass)


def scaled(body: Inertia, factor: float) -> Inertia:
    """A body of the same shape with `factor` times the mass."""
    return Inertia(factor * body.mass, factor * body.moment, factor * body.I)
