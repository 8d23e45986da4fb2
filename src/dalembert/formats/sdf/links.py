"""SDF links: inertia as the file states it, or computed from the shapes, and shapes for drawing and contact."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import Geometry, Surface
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Role, Shape, Sphere
from dalembert.model.solids.properties import plain_solid
from dalembert.spatial import Inertia, Pose

from ..diagnosis import report_inertia
from ..robot import FileLink, FileShape
from ..xml import children, tag_of
from .include import locate
from .scope import SdfScope
from .source import Element, SdfFile

KNOWN = {"pose", "inertial", "visual", "collision", "gravity", "velocity_decay", "kinematic", "must_be_base_link"}
IDLE = {
    "sensor", "light", "self_collide", "plugin", "audio_sink", "audio_source", "battery", "particle_emitter",
    "projector", "enable_wind", "frame",
}  # fmt: skip
NOT_USED = "not used: it carries no dynamics of the robot"
MOMENTS, PRODUCTS = ("ixx", "iyy", "izz"), ("ixy", "ixz", "iyz")


def read_link(scope: SdfScope, element: Element, X: Pose) -> FileLink:
    """Read one <link>, at X in the world."""
    source = scope.source
    source.report(element, tags=KNOWN, attributes={"name"}, idle=IDLE, why=NOT_USED)
    name = scope.prefix + (element.get("name") or "")
    shapes = read_shapes(scope, element)
    _report_forces(source, element)
    gravity = source.child(element, "gravity")
    weightless = gravity is not None and not source.flag(element, "gravity") and not scope.static
    if weightless:
        action = "so in simulations; inverse dynamics and gravity count its weight"
        source.ledger.warning(source.where(gravity), "gravity does not act on this link", action)
    inertial = source.child(element, "inertial")
    inertia = _assumed(scope, element) if inertial is None else _inertia(source, element, name, inertial, shapes)
    return FileLink(name, inertia, source.where(element), X, shapes, weightless)


def _assumed(scope: SdfScope, element: Element) -> Inertia:
    if not scope.static:
        what = "no <inertial>"
        scope.source.ledger.warning(
            scope.source.where(element),
            what,
            "1 kg and 1 kg·m² about each axis, the default of SDF; state the <inertial>",
        )
    return Inertia(1.0, np.zeros(3), np.eye(3))


def _report_forces(source: SdfFile, element: Element) -> None:
    """Physics of links that the model has no words for."""
    for tag in ("kinematic", "must_be_base_link"):
        if source.flag(element, tag):
            source.ledger.warning(source.where(element), f"<{tag}> is true", "not used")
    decay = source.child(element, "velocity_decay")
    if decay is not None and any(source.number(decay, tag, 0.0) for tag in ("linear", "angular")):
        source.ledger.warning(source.where(decay), "the link is damped by <velocity_decay>", "not used")


def _inertia(source: SdfFile, link: Element, name: str, inertial: Element, shapes: list[FileShape]) -> Inertia:
    """<inertial>: the inertia in the link's frame."""
    known = {"pose", "mass", "inertia", "density", "fluid_added_mass", "auto_inertia_params"}
    source.report(inertial, tags=known, attributes={"auto"})
    added = source.child(inertial, "fluid_added_mass")
    if added is not None and any(source.number(added, tag, 0.0) for tag in map(tag_of, children(added))):
        source.ledger.warning(source.where(added), "mass of the fluid that moves along", "not used")
    if source.truth(inertial, inertial.get("auto", "false")):
        computed = inertia_of(source, inertial, shapes)
        action = f"computed from the collision shapes: {computed.mass:g} kg"
        source.ledger.info(source.where(inertial), 'inertial auto="true"', action)
        for child in children(inertial):
            if tag_of(child) in ("inertia", "pose"):
                source.ledger.info(source.where(child), f'<{tag_of(child)}> beside auto="true"', "computed instead")
        return computed
    X, base = source.pose(inertial)
    if base:
        raise source.error(inertial, "the <pose> of <inertial> is always in the link; remove relative_to")
    at_com = Inertia(_mass(source, inertial), np.zeros(3), _tensor(source, inertial))
    report_inertia(source.ledger, source.where(link), name, at_com)
    return at_com.transform(X)


def _mass(source: SdfFile, inertial: Element) -> float:
    if source.child(inertial, "mass") is None:
        source.ledger.count(source.where(inertial), "no <mass> in <inertial>", "taken as 1 kg, the default of SDF")
    return source.number(inertial, "mass", 1.0)


def _tensor(source: SdfFile, inertial: Element) -> np.ndarray:
    """The inertia (3, 3) about the centre of mass, in the axes of the <pose> of <inertial>."""
    element = source.child(inertial, "inertia")
    if element is None:
        what, action = "no <inertia>", "taken as 1 kg·m² about each axis, the default of SDF; state it"
        source.ledger.warning(source.where(inertial), what, action)
        return np.eye(3)
    source.report(element, tags={*MOMENTS, *PRODUCTS}, attributes=set())
    present = {tag_of(child) for child in children(element)}
    if missing := [moment for moment in MOMENTS if moment not in present]:
        action = "taken as 1 kg·m², the default of SDF; state it"
        source.ledger.warning(source.where(element), f"no {', '.join(missing)}", action)
    if missing := [product for product in PRODUCTS if product not in present]:
        source.ledger.count(source.where(element), f"no {', '.join(missing)}", "taken as 0, the default of SDF")
    xx, yy, zz = (source.number(element, moment, 1.0) for moment in MOMENTS)
    xy, xz, yz = (source.number(element, product, 0.0) for product in PRODUCTS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


WATER = 1000.0  # [kg/m³] SDF's default density
IDLE_IN_SHAPE = {
    "laser_retro", "max_contacts", "cast_shadows", "visibility_flags", "meta", "plugin", "lighting",
    "auto_inertia_params",
}  # fmt: skip
IN_SHAPE = {"pose", "geometry", "material", "transparency", "density", "surface"}
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
        source.report(
            element, tags=IN_SHAPE, attributes={"name"}, idle=IDLE_IN_SHAPE, why="not used: contact and appearance"
        )
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
