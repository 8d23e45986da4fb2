"""Loops of a URDF file: <dalembert><loop …/></dalembert> in <robot>, and two dialects whose meaning is plain.

<loop_joint type><link1 link xyz rpy/><link2 …/></loop_joint> (Isaac Sim, early Drake) and <loop type><predecessor
link><origin/></predecessor><successor …/></loop> (URDF+).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalembert.errors import DalembertError
from dalembert.model import ModelBuilder
from dalembert.spatial import Pose

from ..ledger import Ledger
from ..xml import Document, children, tag_of
from .elements import Element, origin, refuse_unknown, report_unknown, single

ENDS = ("a", "b")
PLACES = {f"{part}_{end}" for part in ("xyz", "rpy") for end in ENDS}
DIALECTS = ("loop_joint", "loop")
# type of a dialect's loop → kind of closure, and whether that has an axis
KINDS = {
    "spherical": ("point", False),
    "ball": ("point", False),
    "fixed": ("weld", False),
    "revolute": ("revolute", True),
    "continuous": ("revolute", True),
    "prismatic": ("prismatic", True),
}


@dataclass(frozen=True)
class StatedLoop:
    """A closure as the file states it; `shape` are the arguments of its kind."""

    name: str
    kind: str
    a: str
    b: str
    placements: tuple[Pose, Pose]
    shape: dict[str, Any]
    element: Element


def add_loops(
    document: Document, extension: Element | None, builder: ModelBuilder, ledger: Ledger, aka: Mapping
) -> None:
    """Hand every loop and equation of the file to the builder; `extension` is the <dalembert> of <robot>.

    aka: links that have another name in the model.
    """
    stated = list(children(extension)) if extension is not None else []
    loops = [_loop(document, child) for child in stated if tag_of(child) == "loop"]
    loops += [closure for child in _dialects(document) if (closure := _foreign(document, child, ledger)) is not None]
    for loop in loops:
        try:
            builder.add_closure(
                loop.name,
                loop.kind,
                a=aka.get(loop.a, loop.a),
                b=aka.get(loop.b, loop.b),
                placement_a=loop.placements[0],
                placement_b=loop.placements[1],
                **loop.shape,
            )
        except DalembertError as error:
            raise document.error(loop.element, str(error)) from None
        what = f"a {loop.kind} closure holds '{loop.b}' to '{loop.a}'"
        ledger.info(document.where(loop.element), what, "kept: model.closures")
    for child in stated:
        if tag_of(child) == "equation":
            _equation(document, child, builder, ledger)


def place_of(document: Document, message: str) -> Element:
    """The element of the loop that an error of the finished model speaks of."""
    loops = [child for child in document.root.iter("loop", "loop_joint") if f"{child.get('name')!r}" in message]
    return loops[0] if loops else document.root


def _loop(document: Document, element: Element) -> StatedLoop:
    """<loop name kind a b xyz_a rpy_a xyz_b rpy_b axis axis2 pitch length/>: anything else is an error."""
    vectors, numbers = {"axis", "axis2"}, {"length", "pitch"}
    refuse_unknown(document, element, {"name", "kind", *ENDS} | PLACES | vectors | numbers)
    for child in children(element):
        raise document.error(child, "<loop> has attributes only; remove what is inside")
    name, kind, a, b = (document.text(element, attribute) for attribute in ("name", "kind", *ENDS))
    shape: dict[str, Any] = {word: document.triple(element, word) for word in sorted(vectors) if word in element.attrib}
    shape |= {word: document.number(element, word) for word in numbers if word in element.attrib}
    X_a, X_b = (
        Pose.from_xyz_rpy(document.triple(element, f"xyz_{end}"), document.triple(element, f"rpy_{end}"))
        for end in ENDS
    )
    return StatedLoop(name, kind, a, b, (X_a, X_b), shape, element)


def _equation(document: Document, element: Element, builder: ModelBuilder, ledger: Ledger) -> None:
    """<equation name follower leader coefficients/>: q(follower) = c₀ + c₁ q(leader) + c₂ q(leader)² …"""
    refuse_unknown(document, element, {"name", "follower", "leader", "coefficients"})
    name, follower = document.text(element, "name"), document.text(element, "follower")
    leader = document.text(element, "leader") if "leader" in element.attrib else ""
    coefficients = document.numbers(element, "coefficients")
    try:
        builder.add_equation(name, follower, leader, coefficients=coefficients)
    except DalembertError as error:
        raise document.error(element, str(error)) from None
    of = f"a polynomial of '{leader}'" if leader else "a constant"
    ledger.info(document.where(element), f"joint '{follower}' is held at {of}", "kept: model.closures")


def _dialects(document: Document) -> list[Element]:
    return [child for child in children(document.root) if tag_of(child) in DIALECTS]


def _foreign(document: Document, element: Element, ledger: Ledger) -> StatedLoop | None:
    """A loop in a dialect of URDF, if its meaning is clear; else a warning and None."""
    where, tag = document.where(element), tag_of(element)
    stated, name = element.get("type", "revolute"), document.text(element, "name")
    if tag == "loop_joint":
        ends = [child for child in children(element) if tag_of(child) in ("link1", "link2")]
    else:
        ends = [child for child in children(element) if tag_of(child) in ("predecessor", "successor")]
    if stated not in KINDS or len(ends) != 2:
        why = f"type '{stated}'" if stated not in KINDS else f"{len(ends)} ends that can be read, not 2"
        ledger.warning(where, f"<{tag}> closes a loop, with {why}", "not used: state it as <dalembert><loop …/>")
        return None
    kind, axial = KINDS[stated]
    shape: dict[str, Any] = {}
    axis = single(document, element, "axis", ledger)
    if axial:
        shape = {"axis": document.triple(axis, "xyz") if axis is not None else (1.0, 0.0, 0.0)}
        if axis is None:
            ledger.info(where, "no <axis>", "taken as (1, 0, 0), the default of URDF")
    if tag == "loop_joint":
        for end in ends:
            report_unknown(document, end, ledger, tags=set(), attributes={"link", "xyz", "rpy"}, physical=set())
        places = [Pose.from_xyz_rpy(document.triple(end, "xyz"), document.triple(end, "rpy")) for end in ends]
    else:
        places = [origin(document, end, ledger) for end in ends]
    a, b = (document.text(end, "link") for end in ends)
    return StatedLoop(name, kind, a, b, (places[0], places[1]), shape, element)
