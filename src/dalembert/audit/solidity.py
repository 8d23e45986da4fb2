"""Rules on stated masses, centres and inertias against shapes: of one link, and of one link beside the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .rule import Found, NotRun, Severity, rule
from .shapes import TOLERANCE, ShapedLink, complaints
from .subject import Subject

THINNEST, DENSEST = 0.1, 1e7  # kg/m³; a length in mm taken for m changes it by 1e9
OTHERS, TRUSTED = 2, 0.8  # number and share of the other links that must fit for one to be judged by them
UNIFORM = 0.1  # relative spread of densities in a robot drawn as uniform solids
CENTRED, OFF_CENTRE = 0.03, 0.12  # of the size of a link: distance of the centre of mass from the middle
LISTED = 60  # characters of a list of names


@rule(
    "shape",
    "inertia",
    "warning",
    reason="a mass or a centre of mass far from that of the link's shapes is a slip, or a link that holds more than it "
    "shows",
    cure="robot.check_inertia() shows the whole comparison; careful data stays within 30 %",
)
def shape(subject: Subject) -> Iterator[Found | NotRun]:
    """A warning where the shapes explain the other links of the robot; info where they are rough for most of them."""
    yield from _compared(subject, "mass")


@rule(
    "moments",
    "inertia",
    "warning",
    reason="moments of inertia far from those of the link's shapes are a slip, or a link that holds more than it shows",
    cure="robot.check_inertia() shows the whole comparison; careful data stays within 30 %",
)
def moments(subject: Subject) -> Iterator[Found | NotRun]:
    """Moments of inertia that the shapes rule out; at rest they do not act."""
    yield from _compared(subject, "moments")


def _compared(subject: Subject, doubted: str) -> Iterator[Found | NotRun]:
    """Complaints about masses, or about moments, of links; those fixed to the world never move."""
    links, notes, bare = subject.measured
    _demand_shapes(links)
    complaints_by_link = [complaints(link) for link in links]
    for k, link in enumerate(links):
        if _held(subject, link):
            continue
        others = [not complaints_by_link[i] for i in _others(links, k)]
        trusted = len(others) >= OTHERS and np.mean(others) >= TRUSTED
        severity: Severity | None = None if trusted else "info"
        for complaint in complaints_by_link[k]:
            if complaint.doubted == doubted:
                what = f"{complaint.what} (likely cause: {complaint.cause})"
                yield Found(f"link '{link.part.name}'", what, severity)
    unread = [name for name, _, action in notes if action == "not checked"]
    if unread or bare:
        names = ", ".join([*unread, *bare])
        yield NotRun(
            f"shapes are missing or cannot be read of {names if len(names) <= LISTED else names[: LISTED - 1] + '…'}"
        )


@rule(
    "density",
    "inertia",
    "warning",
    reason="a density that no material explains means shapes or masses in another unit; where all other links have one "
    "density, another one means that mass is missing, or that there is too much",
    cure="shapes are in metres and masses in kg; meshes in millimetres need scale 0.001; compare the mass with CAD",
)
def density(subject: Subject) -> Iterator[Found]:
    links = subject.measured.links
    _demand_shapes(links)
    densities = np.array([link.density for link in links])
    for k, link in enumerate(links):
        where, others = f"link '{link.part.name}'", densities[_others(links, k)]
        if not THINNEST < link.density < DENSEST:
            severity: Severity | None = "info" if _held(subject, link) else None
            yield Found(where, f"would have {link.density:.2g} kg/m³ within its shapes", severity)
        elif len(others) >= OTHERS and not _held(subject, link):
            usual = float(np.median(others))
            share = link.density / usual
            if np.mean(np.abs(others / usual - 1.0) <= UNIFORM) >= TRUSTED and abs(share - 1.0) > TOLERANCE:
                mass = float(link.part.inertia.mass)
                what = f"weighs {mass:.3g} kg, {share:.2f} times its mass at the density of the other links"
                yield Found(where, f"{what} ({usual:.3g} kg/m³)")


@rule(
    "com-place",
    "inertia",
    "warning",
    reason="in a robot drawn as uniform solids a centre of mass away from the middle of its link is a slip",
    cure="state the centre of mass in the link's own frame",
)
def com_place(subject: Subject) -> Iterator[Found | NotRun]:
    links = subject.measured.links
    _demand_shapes(links)
    offsets = np.array([np.linalg.norm(link.stated.com - link.shape.com) / link.size for link in links])
    judged = 0
    for k, link in enumerate(links):
        others = offsets[_others(links, k)]
        centred = len(others) >= OTHERS and np.mean(others < CENTRED) >= TRUSTED
        judged += bool(centred)
        if centred and offsets[k] > OFF_CENTRE and not _held(subject, link):
            yield Found(
                f"link '{link.part.name}'",
                f"has its centre of mass {offsets[k] * link.size:.3g} m from the middle of its shapes, where those of "
                "the other links are",
            )
    if not judged:
        yield NotRun("centres of mass do not lie in the middle of most links: one that is off says nothing")


def _demand_shapes(links: list[ShapedLink]) -> None:
    if not links:
        raise NotRun("no link with a mass has shapes")


def _others(links: list[ShapedLink], k: int) -> list[int]:
    """The other links, copies of one another (as of four equal rotors) taken once, copies of link k left out."""
    seen: set[tuple[float, float]] = {_likeness(links[k])}
    others = []
    for i, link in enumerate(links):
        if i != k and _likeness(link) not in seen:
            seen.add(_likeness(link))
            others.append(i)
    return others


def _likeness(link: ShapedLink) -> tuple[float, float]:
    return float(f"{link.volume:.6g}"), float(f"{link.stated.mass:.6g}")


def _held(subject: Subject, link: ShapedLink) -> bool:
    """Whether the link is part of a base fixed to the world, whose inertia has no effect."""
    return not subject.model.bodies[0].joint.nv and any(part is link.part for part in subject.model.bodies[0].parts)
