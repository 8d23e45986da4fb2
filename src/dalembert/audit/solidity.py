"""Stated inertias compared with the shapes of links: a uniform solid of the same mass, and its density.

Real links are hollow, and hold motors: a difference of 30 % is what careful data stays within. What exceeds it is told
with the slip that would explain it; the rules judge one link, and one link beside the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Geometry, Model, Part
from dalembert.model.solids.properties import solids, unit_properties
from dalembert.shapes.searching import spread
from dalembert.spatial import Inertia

from .rule import Found, NotRun, Severity, rule
from .subject import Subject

if TYPE_CHECKING:
    from dalembert.formats import Finding


TOLERANCE = 0.3
LIGHT, HEAVY = 50.0, 12000.0  # [kg/m³]: hollow plastic and lead; robots are between
OUTSIDE = 0.02  # of the size of the link: how far beyond its shapes a centre of mass may be stated
CLOSE = 0.05  # relative agreement that makes an explanation likely


class ShapedLink(NamedTuple):
    """A link's stated inertia, and that of its shapes at the stated mass."""

    part: Part
    stated: Inertia
    shape: Inertia
    volume: float  # of the shapes [m³]
    size: float  # largest extent of the shapes [m]

    @property
    def density(self) -> float:
        """[kg/m³]"""
        return float(self.stated.mass) / self.volume

    @property
    def ratios(self) -> np.ndarray:
        """Stated principal moments by those of the shapes, smallest first."""
        return np.linalg.eigvalsh(self.stated.about_com()) / np.linalg.eigvalsh(self.shape.about_com())


class Complaint(NamedTuple):
    """A number that the shapes of a link do not explain, the likely cause, and what is doubted."""

    what: str
    cause: str
    doubted: Literal["mass", "moments"]  # mass or centre of mass, which act at rest; moments, which do not


class Measured(NamedTuple):
    """The links with mass and shapes; notes on a link's shapes; and the names of links with mass but no shapes."""

    links: list[ShapedLink]
    notes: list[tuple[str, str, str]]  # link, what, action
    bare: list[str]


def measure(model: Model) -> Measured:
    """Mass properties of every link's shapes; meshes are read from their files."""
    result = Measured([], [], [])
    for part in (part for body in model.bodies for part in body.parts if float(part.inertia.mass) > 0.0):
        if not solids(part):
            result.bare.append(part.name)
            continue
        try:
            unit, notes = unit_properties(part)
            size = _size(solids(part))
        except DalembertError as error:
            result.notes.append((part.name, str(error), "not checked"))
            continue
        result.notes.extend((part.name, note, "checked so") for note in notes)
        rho = float(part.inertia.mass) / float(unit.mass)
        shape = Inertia(rho * unit.mass, rho * unit.moment, rho * unit.I)
        result.links.append(ShapedLink(part, part.inertia, shape, float(unit.mass), size))
    return result


def check_inertia(model: Model, *, tolerance: float = TOLERANCE) -> tuple[Finding, ...]:
    """Findings about links whose stated inertia their shapes do not explain, each with a likely cause.

    A warning: the density that the mass implies is none of a robot's, the centre of mass lies outside the shapes, or a
    principal moment differs by more than `tolerance` from that of a uniform solid. Info: what could not be checked.
    """
    from dalembert.formats import Finding  # its room reads files, which needs an XML library

    links, notes, bare = measure(model)
    log = [Finding("info", f"link {name!r}", what, action) for name, what, action in notes]
    log += [
        Finding("warning", f"link {link.part.name!r}", complaint.what, f"likely cause: {complaint.cause}")
        for link in links
        for complaint in complaints(link, tolerance)
    ]
    if bare:
        names = ", ".join(bare[:8]) + (", …" if len(bare) > 8 else "")
        log.append(Finding("info", "robot", f"{len(bare)} link(s) with mass have no shapes: {names}", "not checked"))
    return tuple(log)


def complaints(link: ShapedLink, tolerance: float = TOLERANCE) -> list[Complaint]:
    """Inertia that the shapes of a link do not explain, with the likely cause."""
    said = []
    density = link.density
    if not LIGHT <= density <= HEAVY:
        what = f"its mass implies a density of {density:.3g} kg/m³"
        said.append(Complaint(what, _density_cause(density), "mass"))
    outside = _outside(link)
    if outside > OUTSIDE * link.size:
        what = f"its centre of mass lies {outside:.3g} m outside its shapes"
        said.append(Complaint(what, _com_cause(link), "mass"))
    ratios = link.ratios
    if np.max(np.abs(ratios - 1.0)) > tolerance:
        what = f"principal moments of inertia are {np.round(ratios, 3).tolist()} times those of a uniform solid"
        said.append(Complaint(what, *_inertia_cause(link)))
    elif _turned(link) > tolerance:
        cause = _exchanged(link.stated.about_com(), link.shape.about_com()) or TURNED
        said.append(Complaint("principal moments fit its shapes, but along other axes", cause, "moments"))
    return said


TURNED = "the inertia was taken in other axes than the link's, such as those of the mesh"


def _density_cause(density: float) -> str:
    if density > HEAVY:
        if density > 1e5:
            return "shapes in another unit, or grams taken for kilograms"
        return "a motor or a payload in a small shape, or shapes in another unit"
    return "a placeholder for the mass, thin sheets, or shapes in millimetres"


def _com_cause(link: ShapedLink) -> str:
    com, middle = link.stated.com, link.shape.com
    if np.linalg.norm(com) > 10.0 * link.size and np.linalg.norm(1e-3 * com - middle) < CLOSE * link.size:
        return "millimetres: a thousandth of it would fit"
    if np.linalg.norm(-com - middle) < CLOSE * link.size:
        return "a sign: its negative would fit"
    if not np.any(com):
        return "it was left at the link's origin"
    return "it was given in another frame than the link's, or the shapes do not show all that the link holds"


def _inertia_cause(link: ShapedLink) -> tuple[str, Literal["mass", "moments"]]:
    """The first slip that explains the stated inertia within a few percent, and what it makes doubtful."""
    stated, shape = link.stated.about_com(), link.shape.about_com()
    mass, c = float(link.stated.mass), link.shape.com
    origin = shape + mass * (c @ c * np.eye(3) - np.outer(c, c))
    explanations: list[tuple[str, Callable[[], bool]]] = [
        ("it was taken about the link's origin instead of the centre of mass", lambda: _fits(stated, origin)),
        ("kg·mm² given as kg·m²", lambda: _alike(link.ratios, 1e6)),
        ("g·mm² given as kg·m²", lambda: _alike(link.ratios, 1e9)),
        ("kg·m² divided by 1000, or g·m² by mistake", lambda: _alike(link.ratios, 1e3) or _alike(link.ratios, 1e-3)),
        ("a missing or misplaced decimal point", lambda: _alike(link.ratios, 10.0) or _alike(link.ratios, 0.1)),
        ("a point mass: no moments of inertia were stated", lambda: not np.any(np.abs(link.ratios) > 1e-6)),
        ("a placeholder: the inertia is the same about all axes", lambda: _round(stated) and not _round(shape)),
        (
            "the mass cannot lie within the shapes: a unit, or the inertia of another link",
            lambda: float(np.max(np.linalg.eigvalsh(stated))) > mass * link.size**2,
        ),
    ]
    if exchanged := _exchanged(stated, shape):
        return exchanged, "moments"
    for text, explains in explanations:
        if explains():
            return text, "moments"
    usual = "mass that the shapes do not show, or a mistake in one of the moments"
    if np.all(link.ratios > 1.0):
        usual = "the mass lies further out than in a solid: a hollow link, or parts that its shapes do not show"
    elif np.all(link.ratios < 1.0):
        usual = "the mass is concentrated: a motor within, or too small an inertia"
    factor = float(np.mean(link.ratios))
    if np.ptp(link.ratios) <= CLOSE * factor:
        return (
            f"mass and inertia do not belong together, a mass of {factor * mass:.3g} kg would fit; or {usual}",
            "mass",
        )
    return usual, "moments"


def _fits(x: np.ndarray, y: np.ndarray) -> bool:
    return float(np.max(np.abs(x - y))) <= CLOSE * float(np.max(np.abs(y)))


def _alike(ratios: np.ndarray, factor: float) -> bool:
    return bool(np.all(np.abs(ratios / factor - 1.0) <= TOLERANCE))


def _round(I: np.ndarray) -> bool:
    return bool(np.ptp(np.linalg.eigvalsh(I)) <= 1e-9 * np.max(np.abs(I)))


def _exchanged(stated: np.ndarray, shape: np.ndarray) -> str:
    """In words, the exchange of two or three of the shape's axes, and the factor, that explain an inertia; else ""."""
    moments, axes = np.linalg.eigh(shape)
    along = axes.T @ stated @ axes
    stated_moments = np.diag(along)
    if (
        np.max(np.abs(along - np.diag(stated_moments))) > CLOSE * np.max(np.abs(stated_moments))
        or _scaled_to(stated_moments, moments) is not None
    ):
        return ""
    orders = sorted(permutations(range(3)), key=lambda order: sum(order[k] != k for k in range(3)))
    for order in orders:  # two axes before three
        factor = _scaled_to(stated_moments, moments[list(order)])
        if factor is not None:
            names = ["xyz"[int(np.argmax(np.abs(axes[:, k])))] for k in range(3) if order[k] != k]
            size = "" if abs(factor - 1.0) <= CLOSE else f", and all of them are {factor:.3g} times what the shape has"
            return f"the moments of inertia about {' and '.join(sorted(names))} are exchanged{size}"
    return ""


def _scaled_to(x: np.ndarray, y: np.ndarray) -> float | None:
    """The factor f with x = f y within a few percent, if any."""
    factor = float(x @ y / (y @ y))
    return factor if factor > 0.0 and np.max(np.abs(x - factor * y)) <= CLOSE * np.max(np.abs(x)) else None


def _turned(link: ShapedLink) -> float:
    """Difference of two inertias with like principal moments, relative to the largest: their axes differ."""
    stated, shape = link.stated.about_com(), link.shape.about_com()
    return float(np.max(np.abs(stated - shape)) / np.max(np.abs(shape)))


def _outside(link: ShapedLink) -> float:
    """How far the stated centre of mass lies beyond the convex hull of the shapes [m]; 0 within."""
    d = spread(400)
    return max(0.0, float(np.max(d @ link.stated.com - _reach(solids(link.part), d))))


def _size(shapes: list[Geometry]) -> float:
    d = np.concatenate([np.eye(3), -np.eye(3)])
    ends = _reach(shapes, d)
    return float(np.max(ends[:3] + ends[3:]))


def _reach(shapes: list[Geometry], d: np.ndarray) -> np.ndarray:
    """How far the shapes of a link go in directions d (n, 3), in the link's frame."""
    reached = []
    for geometry in shapes:
        X = geometry.placement
        reached.append(geometry.shape.reach(d @ X.R) + d @ X.p)
    return np.max(reached, axis=0)


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
