"""What every URDF element has in common: single children, <origin>, and tags or attributes nobody asked for."""

from __future__ import annotations

from collections.abc import Set
from typing import TypeAlias

import numpy as np
from lxml import etree

from dalembert.errors import unknown
from dalembert.spatial import Pose

from ..ledger import Ledger
from ..xml import Document, children, tag_of

Element: TypeAlias = etree._Element


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
    return Pose.from_xyz_rpy(xyz, rpy) if any(rpy) else Pose(np.eye(3), np.array(xyz))


def report_unknown(
    document: Document, element: Element, ledger: Ledger, *, tags: Set[str], attributes: Set[str], physical: Set[str]
) -> None:
    """Log children and attributes outside URDF; those named in `physical` would change the dynamics: a warning."""
    here = tag_of(element)
    for child in children(element):
        tag = tag_of(child)
        if tag in tags:
            continue
        if tag in physical:
            ledger.warning(document.where(child), f"<{tag}> in <{here}> is not URDF and may carry physics", "not used")
        else:
            ledger.count(document.where(child), f"<{tag}> in <{here}> is not URDF", "passed over")
    names = [str(key).rpartition("}")[2] for key in element.attrib]
    strange = [name for name in names if name not in attributes]
    if carrying := ", ".join(name for name in strange if name in physical):
        ledger.warning(document.where(element), f"{carrying}: not URDF and may carry physics", "not used")
    for name in strange:
        if name not in physical:
            ledger.count(document.where(element), f"attribute '{name}' of <{here}> is not URDF", "passed over")


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
