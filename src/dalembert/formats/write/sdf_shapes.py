"""Shapes of links as SDF visuals and collisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from lxml import etree

from dalembert.model import Geometry, Part, Surface
from dalembert.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Shape, Sphere
from dalembert.spatial import so3

from .layout import UniqueNames
from .losses import Losses
from .shapes import Package, stated_scale, written
from .text import Element, add, number, numbers, tidied


def add_shapes(link: Element, part: Part, shapes: Iterable[Geometry], losses: Losses, package: Package) -> None:
    """<visual> and <collision> of a link; SDF requires a name for each."""
    names = UniqueNames(())
    for geometry in written(part.name, shapes, {Mesh, *WORDS}, losses, package):
        element = add(link, geometry.role, name=names.new(geometry.name or f"{part.name}_{geometry.role}"))
        X = geometry.placement
        if np.any(X.matrix() != np.eye(4)):
            add(element, "pose", numbers([*X.p, *tidied(so3.to_rpy(X.R), 1.0)]))
        element.append(_shape(geometry.shape, package))
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


def _sizes(shape: Any) -> dict[str, str]:
    return {"radius": number(shape.radius), "length": number(shape.length)}


# class → the tag, and its children
WORDS: dict[type, tuple[str, Callable[[Any], dict[str, str]]]] = {
    Box: ("box", lambda shape: {"size": numbers(shape.size)}),
    Sphere: ("sphere", lambda shape: {"radius": number(shape.radius)}),
    Ellipsoid: ("ellipsoid", lambda shape: {"radii": numbers(shape.radii)}),
    Cylinder: ("cylinder", _sizes),
    Capsule: ("capsule", _sizes),
    Cone: ("cone", _sizes),
    Plane: ("plane", lambda shape: {"normal": numbers(shape.normal), "size": "1 1"}),
}


def _shape(shape: Shape, package: Package) -> Element:
    holder = etree.Element("geometry")
    if isinstance(shape, Mesh):
        element = add(holder, "mesh")
        add(element, "uri", package.uri(shape.file, "model"))
        if (scale := stated_scale(shape)) is not None:
            add(element, "scale", numbers(scale))
        return holder
    tag, children = WORDS[type(shape)]
    element = add(holder, tag)
    for name, text in children(shape).items():
        add(element, name, text)
    return holder
