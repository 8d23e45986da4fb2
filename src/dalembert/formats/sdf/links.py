"""SDF links: inertia as the file states it, with findings where it is left out, assumed or cannot be physical."""

from __future__ import annotations

import numpy as np

from dalembert.spatial import Inertia, Pose

from ..diagnosis import report_inertia
from ..robot import FileLink, FileShape
from ..xml import children, tag_of
from .scope import SdfScope
from .shapes import inertia_of, read_shapes
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
