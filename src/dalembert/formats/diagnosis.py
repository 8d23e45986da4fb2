"""Numbers that no robot can have, or that look like a slip, with the likely cause: shared by all readers.

`report_inertia` and `report_angles` while links are read, `diagnose` once the model is complete. Thresholds are far
from the values of sound robots, so that a finding means something: see docs/formats.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from dalembert.model import Body, Joint, Model, Part, unopposed
from dalembert.model.solids.properties import plain_solid
from dalembert.spatial import Inertia
from dalembert.spatial.so3 import skew

from .ledger import Ledger

Places: TypeAlias = Callable[[str], str]  # from the name of a link or joint to its place in the file

# Likely causes, keyed by words of the violated condition.
CAUSES = {
    "mass is negative": "a sign slip",
    "mass is 0": "the mass was left out",
    "negative principal moment": "products of inertia with wrong signs or units, or moments not taken at the centre "
    "of mass",
    "triangle inequality": "moments rounded, scaled per axis or not taken at the centre of mass",
}

KEPT = "kept as given"
DENSEST = 22_600.0  # osmium [kg/m³]; no link is denser on the whole
# volume of a ball over the cube of its radius of gyration: no body has more
BALL = 4 / 3 * math.pi * (5 / 3) ** 1.5
TOY = 10.0  # toy models are a few times denser than that; more is a slip
POINT = 1e-5  # a radius of gyration below this [m] stands for a point mass
FAR = 10.0  # lengths inside a robot above this [m] come from millimetres, if it weighs less than HEAVY
HEAVY = 1000.0  # [kg]
UNLIKE = 100.0  # inertia of a link over that of its shapes
SPREAD = 2.0  # radius of gyration of a link over the longest distance inside the robot
# unit → power of ten by which (radius of gyration / longest distance)² is above 1: 9 or 6, less what sound links have
UNITS = {"g·mm²": 6.5, "kg·mm²": 3.5}
MATTERS = 1e-3  # part of the robot's moment of inertia below which a link's is a placeholder without effect
TURN = 7.0  # an angle of a pose above this [rad] is more than one turn: degrees
TURNS = 6 * math.pi  # limits beyond three turns [rad] that are round in degrees are degrees


def report_inertia(ledger: Ledger, where: str, link: str, at_com: Inertia) -> None:
    """Log what is impossible in a link's inertia about its centre of mass.

    To be called before it is moved elsewhere: round-off of the parallel axes must not count.
    """
    for problem in at_com.problems():
        cause = next((text for words, text in CAUSES.items() if words in problem), "a slip in the file")
        ledger.warning(where, f"link '{link}' is not physical: {problem}; likely cause: {cause}", KEPT)


def report_angles(ledger: Ledger, where: str, rpy: Sequence[float]) -> None:
    """Log angles of a pose [rad] that are more than a turn, as it is read."""
    if max(map(abs, rpy)) > TURN:
        stated = " ".join(f"{angle:g}" for angle in rpy)
        ledger.warning(where, f"angles {stated} are more than a turn; likely cause: degrees, expected radians", KEPT)


def diagnose(ledger: Ledger, model: Model, where: Places) -> None:
    """Log what is doubtful in a complete model: links without mass, and slips."""
    report_massless(ledger, model, where)
    report_slips(ledger, model, where)


def report_slips(ledger: Ledger, model: Model, where: Places) -> None:
    """Log numbers that look like a slip: units, frames of inertias, placeholders."""
    for body in model.bodies:
        _report_limits(ledger, body, where)
    with np.errstate(all="ignore"):  # absurd numbers may overflow; they are reported, or beyond all thresholds
        _report_units(ledger, model, where)


def _report_units(ledger: Ledger, model: Model, where: Places) -> None:
    """Lengths, masses and inertias that do not fit together in one robot."""
    parts = [part for body in model.bodies for part in body.parts]
    offsets = np.linalg.norm([body.placement.p for body in model.bodies], axis=1)
    offsets[0] = 0.0  # where the robot stands in the world
    mass = np.array([part.inertia.mass for part in parts], float)
    moment = np.array([part.inertia.moment for part in parts], float)
    centres = np.linalg.norm(moment / np.where(mass == 0.0, 1.0, mass)[:, None], axis=1)
    reach, total = float(max(offsets.max(), centres.max())), float(mass.sum())
    if reach > FAR and total < HEAVY:
        _report_lengths(ledger, model, offsets, parts, centres, where)
    if not offsets.any() and any(body.joint.kind == "free" for body in model.bodies):
        reach = 0.0  # unknown: where the centre of mass of a body that flies by itself lies says nothing about its size
    at_origin = np.array([np.trace(part.inertia.I) for part in parts], float)
    trace = at_origin - 2.0 * mass * centres**2  # about the centre of mass
    held = len(model.bodies[0].parts) if not model.bodies[0].joint.nv else 0  # parts that never move
    wide = {}
    for part, m, t in list(zip(parts, mass.tolist(), trace.tolist(), strict=True))[held:]:
        if m > 0.0 and t > 2.0 * m * POINT**2:
            k = math.sqrt(0.5 * t / m)  # mean distance of the mass from its centre [m]
            sure, finding = _slip(part, m, k, reach, total)
            if finding and not part.inertia.problems():
                report = ledger.warning if sure else ledger.info
                report(where(part.name), f"link '{part.name}': {finding}", KEPT)
            elif not finding and _too_wide(m, k, reach, total):
                wide[part.name] = f"link '{part.name}': {_spread(m, k, reach)}"
    if wide:
        name, what = next(iter(wide.items()))
        more = f", and {len(wide) - 1} more links like it" if len(wide) > 1 else ""
        ledger.info(where(name), f"{what}{more}; likely cause: a placeholder, or a missing decimal point", KEPT)


def report_massless(ledger: Ledger, model: Model, where: Places) -> None:
    """Log joints that move nothing that has inertia: the mass matrix is singular."""
    heavy = [bool(body.inertia.parameters().any()) for body in model.bodies]
    geared = [bool(_uncoupled_joint(body).armature.any()) for body in model.bodies]
    for body in reversed(model.bodies[1:]):
        heavy[body.parent] |= heavy[body.index] or geared[body.index]
    if not model.closures and not any(body.inertia.problems() for body in model.bodies):
        for each in unopposed(model):
            if each.mass > 0.0:
                what, _, cure = str(each).partition("; ")
                ledger.warning(where(each.joints[0]), what, f"kept: {cure}")
    loaded = {body.v.start for body in model.bodies if body.joint.nv and (heavy[body.index] or geared[body.index])}
    reported: set[int] = set()
    for body in model.bodies:
        if body.parent in reported:
            reported.add(body.index)
        elif body.joint.nv and body.v.start not in loaded:
            reported.add(body.index)
            ledger.warning(
                where(body.joint.name),
                f"joint '{body.joint.name}' moves links without any mass, from '{body.name}' on",
                "kept: the mass matrix is singular and forward dynamics undefined; give the links mass and inertia",
            )


def _uncoupled_joint(body: Body) -> Joint:
    """The body's joint with a coordinate, whether or not it follows another one."""
    return body.joint.uncoupled


def _report_lengths(
    ledger: Ledger, model: Model, offsets: np.ndarray, parts: list[Part], centres: np.ndarray, where: Places
) -> None:
    """Lengths of many metres in a robot that weighs little: one finding, at the first of them."""
    joints = [body.joint.name for body in model.bodies]
    lengths = [(joints[i], f"joint '{joints[i]}' lies {offsets[i]:g} m from the one before") for i in _above(offsets)]
    lengths += [
        (parts[i].name, f"the centre of mass of link '{parts[i].name}' lies {centres[i]:g} m from the link's frame")
        for i in _above(centres)
    ]
    more = f", and {len(lengths) - 1} more lengths like it" if len(lengths) > 1 else ""
    ledger.warning(
        where(lengths[0][0]), f"{lengths[0][1]}{more}; likely cause: lengths in millimetres, expected metres", KEPT
    )


def _above(lengths: np.ndarray) -> list[int]:
    return [int(i) for i in np.flatnonzero(lengths > FAR)]


def _report_limits(ledger: Ledger, body: Body, where: Places) -> None:
    """±180 is not a range in radians."""
    joint = _uncoupled_joint(body)
    for place in joint.turns:
        bounds = [float(joint.lower[place]), float(joint.upper[place])]
        largest = max(abs(bound) for bound in bounds)
        if TURNS < largest <= 720.0 and all(bound.is_integer() for bound in bounds) and math.log10(largest) % 1.0:
            what = f"limits of the {joint.kind} joint '{joint.name}' are {bounds[0]:g} and {bounds[1]:g} rad"
            ledger.warning(where(joint.name), f"{what}; likely cause: degrees, expected radians", KEPT)


def _slip(part: Part, mass: float, k: float, reach: float, total: float) -> tuple[bool, str]:
    """The surest of the findings on a link's mass and inertia, or "", and whether it is sure to be a slip.

    k: mean distance from the centre of mass [m].
    """
    density = mass / (BALL * k**3)
    if density > DENSEST:
        return density > TOY * DENSEST, _too_dense(mass, k, density)
    if _too_wide(mass, k, reach, total):
        for unit, least in UNITS.items():
            if math.log10((k / reach) ** 2) > least:
                return True, f"{_spread(mass, k, reach)}; likely cause: inertia in {unit}, expected kg·m²"
    drawn = _drawn(part)
    if drawn is None:
        return False, ""
    if finding := _about_origin(part, mass, drawn):
        return True, finding
    return False, _unlike(mass, k, drawn, total * reach * reach)


def _too_dense(mass: float, k: float, density: float) -> str:
    small = "moments too small (a misplaced decimal point, or other units)"
    cause = f"mass in grams, or {small}" if mass > 100.0 else small
    return (
        f"mass {mass:g} kg lies {1e3 * k:.2g} mm from its centre on average, denser than any material "
        f"(at least {density:.1g} kg/m³); likely cause: {cause}"
    )


def _too_wide(mass: float, k: float, reach: float, total: float) -> bool:
    """Whether the mass lies farther out than the robot is long, and so much of it that it has an effect."""
    return 0.0 < SPREAD * reach < k and mass * k * k > MATTERS * total * reach * reach


def _spread(mass: float, k: float, reach: float) -> str:
    return (
        f"inertia means that its {mass:g} kg lie {k:.3g} m from their centre on average, and no distance in the robot "
        f"exceeds {reach:.3g} m"
    )


def _drawn(part: Part) -> Inertia | None:
    """The link's shapes as a solid, where all of them are primitives: those for contact, else those to be seen."""
    for role in ("collision", "visual"):
        shapes = [geometry for geometry in part.geometry if geometry.role == role]
        if shapes:
            return plain_solid(shapes)
    return None


def _about_origin(part: Part, mass: float, drawn: Inertia) -> str:
    """Whether the tensor fits the shapes, but only if it was taken about the link's origin."""
    expected, I, c = drawn.about_com() * (mass / drawn.mass), part.inertia.about_com(), skew(part.inertia.com)
    moved = I + mass * (c @ c)  # the tensor, if it was about the origin
    off, off_moved = (float(np.linalg.norm(x - expected) / np.linalg.norm(expected)) for x in (I, moved))
    fits = off >= 1.0 and off_moved <= 0.25  # false for numbers so absurd that they overflow
    if not fits or Inertia(mass, np.zeros(3), moved).problems():
        return ""
    return (
        f"inertia is off that of its shape by {100 * off:.0f} %; likely cause: taken about the link's origin, expected "
        f"about the centre of mass (so read, it is off by {100 * off_moved:.0f} %)"
    )


def _unlike(mass: float, k: float, drawn: Inertia, whole: float) -> str:
    """Whether the tensor is two powers of ten above that of the shapes, and has an effect."""
    ratio = 2.0 * k * k * drawn.mass / float(np.trace(drawn.about_com()))
    if ratio < UNLIKE or mass * k * k < MATTERS * whole:
        return ""
    return f"inertia is {ratio:.0f} times that of its shape; likely cause: a missing decimal point, or other units"
