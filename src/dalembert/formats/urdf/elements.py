"""What every URDF element has in common: single children, <origin>, and tags or attributes nobody asked for."""

from __future__ import annotations

from collections.abc import Set
from typing import TypeAlias

import numpy as np
from lxml import etree

from dalembert.errors import unknown
from dalembert.spatial import Pose

from ..diagnosis import report_angles
from ..ledger import Ledger
from ..xml import Document, children, meant_by, tag_of

Element: TypeAlias = etree._Element
HARMLESS = {"name", "visual", "collision", "material", "calibration", "safety_controller", "scale", "filename"}


def single(document: Document, parent: Element, tag: str, ledger: Ledger) -> Element | None:
    """The first child with this tag, or None; further ones are logged, since only one can hold."""
    found = [child for child in children(parent) if tag_of(child) == tag]
    for extra in found[1:]:
        ledger.warning(document.where(extra), f"a second <{tag}> in <{tag_of(parent)}>", "the first one is used")
    return found[0] if found else None


def origin(document: Document, parent: Element, ledger: Ledger) -> Pose:
    """The <origin xyz rpy> of an element: its pose in its parent's frame; identity when absent."""
    element = single(document, parent, "origin", ledger)
    if element is None:
        return Pose.identity()
    report_unknown(document, element, ledger, tags=set(), attributes={"xyz", "rpy"}, physical={"quat_xyzw", "quat"})
    xyz, rpy = document.triple(element, "xyz"), document.triple(element, "rpy")
    report_angles(ledger, document.where(element), rpy)
    return Pose.from_xyz_rpy(xyz, rpy) if any(rpy) else Pose(np.eye(3), np.array(xyz))


def report_unknown(
    document: Document, element: Element, ledger: Ledger, *, tags: Set[str], attributes: Set[str], physical: Set[str]
) -> None:
    """Log children and attributes outside URDF; a warning where that may change the dynamics.

    Those are the ones named in `physical`, and misspelt names of what the element does not have otherwise.
    """
    here = tag_of(element)
    present = {tag_of(child) for child in children(element)}
    for child in children(element):
        tag = tag_of(child)
        if tag in tags:
            continue
        where, what = document.where(child), f"<{tag}> in <{here}> is not URDF"
        if tag in physical:
            ledger.warning(where, f"{what} and may carry physics", "not used")
        elif meant := meant_by(tag, tags - present - HARMLESS):
            ledger.warning(where, what, f"not used: did you mean <{meant}>?")
        else:
            ledger.count(where, what, "passed over")
    names = [str(key).rpartition("}")[2] for key in element.attrib]
    strange = [name for name in names if name not in attributes]
    where = document.where(element)
    if carrying := ", ".join(name for name in strange if name in physical):
        ledger.warning(where, f"{carrying}: not URDF and may carry physics", "not used")
    for name in strange:
        what = f"attribute '{name}' of <{here}> is not URDF"
        if name in physical:
            continue
        if meant := meant_by(name, attributes - set(names) - HARMLESS):
            ledger.warning(where, what, f"not used: did you mean '{meant}'?")
        else:
            ledger.count(where, what, "passed over")


def extension(
    document: Document, parent: Element, attributes: Set[str], tags: Set[str] = frozenset()
) -> Element | None:
    """The <dalembert> element of a joint or robot. It is ours, so anything unexpected in it is an error."""
    found = [child for child in children(parent) if tag_of(child) == "dalembert"]
    if len(found) > 1:
        raise document.error(found[1], f"a second <dalembert> in <{tag_of(parent)}>; put all attributes in one")
    for element in found:
        for child in children(element):
            if not tags:
                raise document.error(child, "<dalembert> has attributes only; remove what is inside")
            if tag_of(child) not in tags:
                raise unknown("element", tag_of(child), sorted(tags), document.where(child))
        refuse_unknown(document, element, attributes)
    return found[0] if found else None


def refuse_unknown(document: Document, element: Element, attributes: Set[str]) -> None:
    """Raise at the first attribute of our own extension that has no meaning."""
    for key in element.attrib:
        if key not in attributes:
            raise unknown("attribute", str(key), sorted(attributes), document.where(element))
