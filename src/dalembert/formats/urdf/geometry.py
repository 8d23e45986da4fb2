"""URDF links: inertia, <visual> and <collision>, with shapes, placements and colours for viewers and contact.

URDF 1.0 has no capsules: a cylinder with a ball of its radius at each end is read as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from dalembert.model import Surface
from dalembert.model.geometry import Box, Capsule, Cylinder, Geometry, Mesh, Shape, Sphere
from dalembert.spatial import Inertia, Pose

from ..diagnosis import report_inertia
from ..ledger import Ledger
from ..resources import Resources
from ..robot import FileLink
from ..xml import Document, children, tag_of
from .elements import ANYTHING, CAPSULES, Element, origin, report_unknown, single, version_of
from .extras import CONTACT

ROLES = {"visual", "collision"}
SHAPES = {"box": {"size"}, "sphere": {"radius"}, "cylinder": {"radius", "length"}, "capsule": {"radius", "length"}}
Color: TypeAlias = tuple[float, float, float, float]

KEPT = 'kept; ROS passes over it, unless the file says <robot version="1.1">'
LEFT_OUT = "left out of the geometry, which dynamics does not use"


class GeometryReader:
    """Reads the geometry of every link of one document."""

    def __init__(self, document: Document, ledger: Ledger) -> None:
        self._document = document
        self._ledger = ledger
        self._resources = Resources(document.folder)
        self._colors = dict(_colors(document))
        self._surfaces = read_surfaces(document, ledger)

    def read(self, link: Element) -> tuple[Geometry, ...]:
        """The shapes of a link, in file order; capsules written in pieces are whole again."""
        elements = [child for child in children(link) if tag_of(child) in ROLES]
        return with_capsules([shape for element in elements if (shape := self._geometry(element)) is not None])

    def _geometry(self, element: Element) -> Geometry | None:
        document, ledger, role = self._document, self._ledger, tag_of(element)
        tags = {"origin", "geometry", "material"} if role == "visual" else {"origin", "geometry"}
        report_unknown(document, element, ledger, tags=tags, attributes={"name"}, physical=set())
        holder = single(document, element, "geometry", ledger)
        shape = self._shape(element, holder)
        if shape is None:
            return None
        color = self._color(element) if role == "visual" else None
        placement = origin(document, element, ledger)
        name = element.get("name", "")
        if role == "visual":
            return Geometry(shape, placement, "visual", color, name)
        link = (element.getparent().get("name") or "").strip()
        return Geometry(shape, placement, "collision", None, name, self._surfaces.get(link))

    def _shape(self, element: Element, holder: Element | None) -> Shape | None:
        """The shape inside <geometry>; None if it cannot be kept."""
        document, ledger = self._document, self._ledger
        shapes = list(children(holder)) if holder is not None else []
        if not shapes:
            ledger.count(document.where(element), f"<{tag_of(element)}> without a shape", LEFT_OUT)
            return None
        for extra in shapes[1:]:
            ledger.info(document.where(extra), "a second shape in one <geometry>", "the first one is used")
        shape = shapes[0]
        tag = tag_of(shape)
        if tag == "mesh":
            return self._mesh(shape)
        if tag not in SHAPES:
            ledger.count(document.where(shape), f"<{tag}> is not a shape of URDF", LEFT_OUT)
            return None
        report_unknown(document, shape, ledger, tags=set(), attributes=SHAPES[tag], physical=set())
        if tag == "capsule" and version_of(document) < CAPSULES:
            ledger.count(document.where(shape), "<capsule>, a word of URDF 1.1, in a file of version 1.0", KEPT)
        sizes: dict[str, float] = {}
        if tag == "box":
            document.text(shape, "size")
            sizes = dict(zip("xyz", document.triple(shape, "size"), strict=True))
        else:
            sizes = {name: document.number(shape, name) for name in sorted(SHAPES[tag])}
        if min(sizes.values()) <= 0.0:
            ledger.info(document.where(shape), "its size is not above 0", LEFT_OUT)
            return None
        if tag == "box":
            return Box(np.array([*sizes.values()]))
        if tag == "sphere":
            return Sphere(sizes["radius"])
        return (Cylinder if tag == "cylinder" else Capsule)(sizes["radius"], sizes["length"])

    def _mesh(self, element: Element) -> Mesh:
        document, ledger = self._document, self._ledger
        report_unknown(document, element, ledger, tags=set(), attributes={"filename", "scale"}, physical=set())
        stated = document.text(element, "filename").strip()
        scale = document.triple(element, "scale") if element.get("scale") is not None else (1.0, 1.0, 1.0)
        file = self._resources.find(stated)
        if file is None:
            fetched = stated.partition("://")[0] in ("http", "https", "ftp", "fuel")
            why = "mesh on the network, which is never fetched" if fetched else "mesh file that was not found"
            ledger.count(document.where(element), why, "kept by name: dynamics does not use it")
        return Mesh(file or stated, np.array(scale))

    def _color(self, visual: Element) -> Color | None:
        """The colour of <material>: its own, or that of the material of the same name elsewhere in the file."""
        material = single(self._document, visual, "material", self._ledger)
        if material is None:
            return None
        color = _color(material)
        return self._colors.get(material.get("name", "")) if color is None else color


def read_surfaces(document: Document, ledger: Ledger) -> dict[str, Surface]:
    """Link → friction and stiffness of contacts, which <gazebo reference="…"> states as mu1, mu2, kp and kd."""
    surfaces: dict[str, Surface] = {}
    for element in children(document.root):
        link = (element.get("reference") or "").strip()
        if tag_of(element) != "gazebo" or not link:
            continue
        stated: dict[str, Any] = {}
        for child in children(element):
            name = CONTACT.get(tag_of(child))
            text = (child.text or "").strip() or child.get("value", "")
            try:
                number = float(text)
            except ValueError:
                continue
            if name and np.isfinite(number) and number >= 0.0:
                stated.setdefault(name, number)
        if stated:
            surfaces[link] = replace(surfaces.get(link, Surface()), **stated)
            ledger.count(document.where(element), f"<gazebo> that states {', '.join(stated)}", "kept, for contacts")
    return surfaces


def report_materials(document: Document, ledger: Ledger) -> None:
    """Log invalid colours, and textures, anywhere in the file."""
    for material in document.root.iter("material"):
        for child in children(material):
            if tag_of(child) == "texture":
                ledger.count(document.where(material), "<texture> of a material", "not used: colours alone are kept")
            elif tag_of(child) == "color" and _color(material) is None:
                what = f'rgba="{child.get("rgba")}" is not a colour, expected four numbers from 0 to 1'
                ledger.info(document.where(material), what, "no colour")


def _colors(document: Document) -> Iterator[tuple[str, Color]]:
    """Colours by material name; those stated in <robot> come last, so that they win."""
    top_level = [child for child in children(document.root) if tag_of(child) == "material"]
    inside = [material for material in document.root.iter("material") if material.getparent() is not document.root]
    for material in (*reversed(inside), *reversed(top_level)):
        if (color := _color(material)) is not None:
            yield material.get("name", ""), color


def _color(material: Element) -> Color | None:
    """The <color rgba> of a <material>, if it is one."""
    for child in children(material):
        if tag_of(child) == "color":
            try:
                red, green, blue, opacity = (float(word) for word in (child.get("rgba") or "").split())
            except ValueError:
                return None
            if all(0.0 <= part <= 1.0 for part in (red, green, blue, opacity)):
                return red, green, blue, opacity
    return None


CENTRED = 1e-9  # how far a ball may be from the end of the cylinder, as a fraction of the capsule's size


def with_capsules(shapes: Sequence[Geometry]) -> tuple[Geometry, ...]:
    """The shapes of a link, with each cylinder whose two ends follow it as balls turned into one capsule.

    A capsule fills the same space and has one distance to other shapes where the three pieces have three. Pieces that
    have names of their own stay as they are, since the names would be lost.
    """
    joined: list[Geometry] = []
    position = 0
    while position < len(shapes):
        capsule = _capsule(shapes[position : position + 3])
        joined.append(capsule or shapes[position])
        position += 3 if capsule else 1
    return tuple(joined)


def _capsule(pieces: Sequence[Geometry]) -> Geometry | None:
    """The capsule that a cylinder and two balls make; None if they are anything else."""
    tube = pieces[0]
    if len(pieces) < 3 or not isinstance(tube.shape, Cylinder):
        return None
    radius, length = tube.shape.radius, tube.shape.length
    for ball in pieces[1:]:
        alike = (ball.role, ball.color, ball.surface) == (tube.role, tube.color, tube.surface)
        if not (isinstance(ball.shape, Sphere) and ball.shape.radius == radius and alike and not ball.name):
            return None
    end = 0.5 * length * tube.placement.R[:, 2]
    offsets = [ball.placement.p - tube.placement.p for ball in pieces[1:]]
    misplaced = min(max(np.abs(offsets[k] - end).max(), np.abs(offsets[1 - k] + end).max()) for k in (0, 1))
    if misplaced > CENTRED * (radius + length):
        return None
    return Geometry(Capsule(radius, length), tube.placement, tube.role, tube.color, tube.name, tube.surface)


ATTRIBUTES = {"name"}
# Words a simulator might use for physics that dynamics would need, and that plain URDF links do not have.
MOMENTS = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"}
PHYSICAL = {"mass", "inertia", "origin", "gravity", "damping", "velocity_decay", "kinematic"}


def read_link(document: Document, element: Element, shapes: GeometryReader, ledger: Ledger) -> FileLink:
    """Read one <link>: without <inertial> its inertia is zero."""
    name, where, still = document.text(element, "name"), document.where(element), Pose.identity()
    report_unknown(document, element, ledger, tags={"inertial"} | ROLES, attributes=ATTRIBUTES, physical=PHYSICAL)
    geometry = shapes.read(element)
    inertial = single(document, element, "inertial", ledger)
    if inertial is None:
        return FileLink(name, Inertia.zero(), where, still, geometry, stated=False)
    at_com, X = _inertia(document, inertial, ledger)
    report_inertia(ledger, where, name, at_com)
    return FileLink(name, at_com.transform(X), where, still, geometry)


def _inertia(document: Document, inertial: Element, ledger: Ledger) -> tuple[Inertia, Pose]:
    """<inertial>: the inertia about the centre of mass in the axes of <origin>, and X_LC, where that is in the link."""
    report_unknown(
        document, inertial, ledger, tags={"origin", "mass", "inertia"}, attributes=set(), physical={"com", "density"}
    )
    mass_element = single(document, inertial, "mass", ledger)
    tensor = single(document, inertial, "inertia", ledger)
    if mass_element is None:
        raise document.error(inertial, 'has no <mass>; add <mass value="…"/> in kg, or remove <inertial>')
    if tensor is None:
        raise document.error(
            inertial, 'has no <inertia>; add <inertia ixx="…" ixy="…" ixz="…" iyy="…" iyz="…" izz="…"/> (0 for a point)'
        )
    for part, known in ((mass_element, {"value"}), (tensor, MOMENTS)):
        report_unknown(document, part, ledger, tags=set(), attributes=known, physical=ANYTHING)
    for missing in [product for product in ("ixy", "ixz", "iyz") if tensor.get(product) is None]:
        ledger.warning(document.where(tensor), f"product of inertia '{missing}' is missing", "taken as 0")
    xx, yy, zz = (document.number(tensor, moment) for moment in ("ixx", "iyy", "izz"))
    xy, xz, yz = (document.number(tensor, product, 0.0) for product in ("ixy", "ixz", "iyz"))
    I_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Inertia(document.number(mass_element, "value"), np.zeros(3), I_com), origin(document, inertial, ledger)
