"""Shared by all URDF elements: single children, <origin>, and unknown tags or attributes."""

from __future__ import annotations

from collections.abc import Container, Set
from typing import TypeAlias

import numpy as np
from lxml import etree

from dalembert.errors import unknown
from dalembert.spatial import Pose

from ..diagnosis import report_angles
from ..ledger import Ledger
from ..xml import Document, children, meant_by, tag_of

Element: TypeAlias = etree._Element


class _Anything:
    """Contains every name: nothing is harmless."""

    def __contains__(self, name: object) -> bool:
        return True


ANYTHING = _Anything()
HARMLESS = {"name", "visual", "collision", "material", "calibration", "safety_controller", "scale", "filename"}


def single(document: Document, parent: Element, tag: str, ledger: Ledger) -> Element | None:
    """The first child with this tag, or None; further ones are logged, since only one can apply."""
    matches = [child for child in children(parent) if tag_of(child) == tag]
    for extra in matches[1:]:
        ledger.warning(document.where(extra), f"a second <{tag}> in <{tag_of(parent)}>", "the first one is used")
    return matches[0] if matches else None


def origin(document: Document, parent: Element, ledger: Ledger) -> Pose:
    """The <origin xyz rpy> of an element: its pose in its parent's frame; identity when absent."""
    element = single(document, parent, "origin", ledger)
    if element is None:
        return Pose.identity()
    cure = "not used: state the pose by xyz and rpy"
    report_unknown(document, element, ledger, tags=set(), attributes={"xyz", "rpy"}, physical=ANYTHING, cure=cure)
    xyz, rpy = document.triple(element, "xyz"), document.triple(element, "rpy")
    report_angles(ledger, document.where(element), rpy)
    return Pose.from_xyz_rpy(xyz, rpy) if any(rpy) else Pose(np.eye(3), np.array(xyz))


def report_unknown(
    document: Document,
    element: Element,
    ledger: Ledger,
    *,
    tags: Set[str],
    attributes: Set[str],
    physical: Container[str],
    cure: str = "not used",
) -> None:
    """Log children and attributes outside URDF; a warning where that may change the dynamics.

    Those are the ones named in `physical`, with the `cure`, and misspellings of names that the element lacks.
    """
    here = tag_of(element)

    def report(where: str, what: str, name: str, missing: Set[str], quoted: str) -> None:
        if meant := meant_by(name, missing - HARMLESS):
            ledger.warning(where, what, f"not used: did you mean {quoted.format(meant)}?")
        elif name in physical:
            ledger.warning(where, f"{what} and may carry physics", cure)
        else:
            ledger.count(where, what, "passed over")

    present = {tag_of(child) for child in children(element)}
    for child in children(element):
        tag = tag_of(child)
        if tag not in tags:
            report(document.where(child), f"<{tag}> in <{here}> is not URDF", tag, tags - present, "<{}>")
    names = {str(key).rpartition("}")[2]: None for key in element.attrib}
    for name in names:
        if name not in attributes:
            what = f"attribute '{name}' of <{here}> is not URDF"
            report(document.where(element), what, name, attributes - names.keys(), "'{}'")


def extension(
    document: Document, parent: Element, attributes: Set[str], tags: Set[str] = frozenset()
) -> Element | None:
    """The <dalembert> element of a joint or robot. It is ours, so anything unexpected in it is an error."""
    matches = [child for child in children(parent) if tag_of(child) == "dalembert"]
    if len(matches) > 1:
        raise document.error(matches[1], f"a second <dalembert> in <{tag_of(parent)}>; put all attributes in one")
    for element in matches:
        for child in children(element):
            if not tags:
                raise document.error(child, "<dalembert> has attributes only; remove its children")
            if tag_of(child) not in tags:
                raise unknown("element", tag_of(child), sorted(tags), document.where(child))
        refuse_unknown(document, element, attributes)
    return matches[0] if matches else None


def refuse_unknown(document: Document, element: Element, attributes: Set[str]) -> None:
    """Raise at the first attribute of <dalembert> that has no meaning."""
    for key in element.attrib:
        if key not in attributes:
            raise unknown("attribute", str(key), sorted(attributes), document.where(element))
