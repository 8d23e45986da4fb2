"""URDF links: name, inertia and geometry as the file states them, with findings where they cannot be physical."""

from __future__ import annotations

import numpy as np

from dalembert.spatial import Inertia, Pose

from ..diagnosis import report_inertia
from ..ledger import Ledger
from ..robot import FileLink
from ..xml import Document
from .elements import ANYTHING, Element, origin, report_unknown, single
from .geometry import ROLES, GeometryReader

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
