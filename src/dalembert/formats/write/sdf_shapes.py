"""Shapes of links as SDF visuals and collisions."""

from __future__ import annotations

import numpy as np
from lxml import etree

from dalembert.model import Geometry, Part, Surface
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Sphere
from dalembert.spatial import so3

from .layout import UniqueNames
from .losses import Losses
from .shapes import Package, stated_scale
from .text import Element, add, number, numbers, tidied


def add_shapes(link: Element, part: Part, losses: Losses, package: Package) -> None:
    """<visual> and <collision> of a link; SDF requires a name for each."""
    names = UniqueNames(())
    for geometry in part.geometry:
        drawn = _shape(geometry, package)
        if drawn is None:
            what = f"SDF has no {type(geometry.shape).__name__.lower()} among its shapes"
            losses.note("link", part.name, what, "left out: it does not affect the motion")
            continue
        element = add(link, geometry.role, name=names.new(geometry.name or f"{part.name}_{geometry.role}"))
        X = geometry.placement
        if np.any(X.matrix() != np.eye(4)):
            add(element, "pose", numbers([*X.p, *tidied(so3.to_rpy(X.R), 1.0)]))
        element.append(drawn)
        if geometry.surface is not None and geometry.role == "collision":
            _add_surface(element, geometry.surface)
        if geometry.color is not None and geometry.role == "visual":
            material = add(element, "material")
            add(material, "ambient", numbers(geometry.color))
            add(material, "diffuse", numbers(geometry.color))


def _add_surface(collision: Element, stated: Surface) -> None:
    """<surface>, as far as it has words."""
    if {stated.friction, stated.restitution, stated.stiffness, stated.damping} == {None}:
        return
    surface = add(collision, "surface")
    if stated.friction is not None:
        ode = add(add(surface, "friction"), "ode")
        add(ode, "mu", number(stated.friction))
        add(ode, "mu2", number(stated.friction))
    if stated.restitution is not None:
        add(add(surface, "bounce"), "restitution_coefficient", number(stated.restitution))
    if stated.stiffness is not None or stated.damping is not None:
        ode = add(add(surface, "contact"), "ode")
        for tag, value in (("kp", stated.stiffness), ("kd", stated.damping)):
            if value is not None:
                add(ode, tag, number(value))


def _shape(geometry: Geometry, package: Package) -> Element | None:
    holder = etree.Element("geometry")
    shape = geometry.shape
    if isinstance(shape, Box):
        add(add(holder, "box"), "size", numbers(shape.size))
    elif isinstance(shape, Sphere):
        add(add(holder, "sphere"), "radius", number(shape.radius))
    elif isinstance(shape, Ellipsoid):
        add(add(holder, "ellipsoid"), "radii", numbers(shape.radii))
    elif isinstance(shape, Cylinder | Capsule | Cone):
        element = add(holder, type(shape).__name__.lower())
        add(element, "radius", number(shape.radius))
        add(element, "length", number(shape.length))
    elif isinstance(shape, Plane):
        element = add(holder, "plane")
        add(element, "normal", numbers(shape.normal))
        add(element, "size", "1 1")
    elif isinstance(shape, Mesh):
        element = add(holder, "mesh")
        add(element, "uri", package.uri(shape.file, "model"))
        if (scale := stated_scale(shape)) is not None:
            add(element, "scale", numbers(scale))
    else:
        return None
    return holder
