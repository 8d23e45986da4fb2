"""Rules on mass and inertia: physically possible, and plausible for the shape of the link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from dalembert.dynamics.algorithms import mass_matrix
from dalembert.model import Part

from .classes import mirrored_names
from .rule import Found, NotRun, Severity, demand, rule
from .subject import Subject

LIGHTEST, HEAVIEST = 1e-3, 2e4  # kg: robots between a bee and a crane
CROWDED = 1.5e3  # kg per cube of the reach; robots have 1 to 300
POINT = 1e-12  # m²: moments below this times the mass are zero but for rounding
MIRROR = 0.05  # left and right links differ by less than this
NO_MASS = "no link has a mass"
LISTED = 60  # characters of a list of names


@rule(
    "inertia-possible",
    "inertia",
    "error",
    reason="no rigid body has such an inertia; energies and accelerations computed with it mean nothing",
    cure="take mass, centre of mass and the tensor about it from CAD again; check signs, decimal points and units",
)
def possible(subject: Subject) -> Iterator[Found]:
    stated = [part for _, part in subject.parts if np.any(part.inertia.parameters())]
    for part in demand(stated, NO_MASS):
        for problem in part.inertia.problems():
            yield Found(f"link '{part.name}'", problem)


@rule(
    "inertia-missing",
    "inertia",
    "warning",
    reason="a link with a mass and no moments of inertia is a point: it resists no turn about itself",
    cure="state the tensor about the centre of mass; dalembert.mass_properties computes it from shapes",
)
def missing(subject: Subject) -> Iterator[Found]:
    massive = demand(subject.massive, NO_MASS)
    points = [part for part in massive if np.max(np.abs(part.inertia.about_com())) < POINT * part.inertia.mass]
    textbook: Severity | None = "info" if len(points) == len(massive) else None  # a model of point masses is meant
    for part in points:
        yield Found(f"link '{part.name}'", f"has {part.inertia.mass:g} kg and no moments of inertia", textbook)


@rule(
    "mass-missing",
    "mass-matrix",
    "error",
    reason="a joint that moves no inertia makes the mass matrix singular: forward dynamics does not exist",
    cure="state the inertia of what the joint moves, or make the joint fixed; a rotor inertia (armature) also helps",
)
def mass_missing(subject: Subject) -> Iterator[Found]:
    masses = np.array([float(body.inertia.mass) for body in subject.model.bodies])
    for body in reversed(subject.model.bodies[1:]):
        masses[body.parent] += masses[body.index]
    diagonal = np.max([np.abs(np.diagonal(mass_matrix(subject.model, q))) for q in subject.q[:3]], axis=0)
    for body in subject.moving:
        joint, mass = body.joint, masses[body.index]
        if mass <= 0.0 and not np.all(np.asarray(joint.armature) > 0.0):
            yield Found(f"joint '{joint.name}'", "moves no mass")
        elif np.any(diagonal[body.v] <= POINT * mass):
            yield Found(f"joint '{joint.name}'", "turns no inertia: what it carries is a point or a line on its axis")


@rule(
    "total-mass",
    "intent",
    "warning",
    reason="a robot lighter than a bee or heavier than a crane is mostly one in grams or in millimetres",
    cure="check that masses are in kg",
)
def total_mass(subject: Subject) -> Iterator[Found]:
    where = f"robot '{subject.model.name}'"
    if not LIGHTEST < subject.mass < HEAVIEST:
        cause = "grams taken for kilograms" if subject.mass >= HEAVIEST else "tonnes, or masses left out"
        yield Found(where, f"weighs {subject.mass:g} kg: {cause}")
        return
    bodies = subject.model.bodies[0 if subject.model.bodies[0].joint.nv else 1 :]
    mass, length = float(sum(body.inertia.mass for body in bodies)), reach(subject)
    if length > 0.0 and mass / length**3 > CROWDED:
        yield Found(where, f"moves {mass:.4g} kg within a reach of {length:.3g} m: grams, or metres for millimetres")


@rule(
    "inertia-placeholder",
    "inertia",
    "warning",
    reason="links that share one round inertia are mostly links whose inertia nobody has stated yet",
    cure="take the inertias from CAD, or compute them from the shapes (dalembert.mass_properties)",
)
def placeholder(subject: Subject) -> Iterator[Found]:
    counted = Counter(_round_inertia(part) for part in demand(subject.massive, NO_MASS))
    for key, count in counted.items():
        if key is not None and count >= 3:
            where = ", ".join(f"'{part.name}'" for _, part in subject.parts if _round_inertia(part) == key)
            yield Found(
                f"links {(where if len(where) <= 60 else where[: 60 - 1] + '…')}",
                f"{count} links have {key[0]:g} kg and {key[1]:g} kg·m² each",
            )


def _round_inertia(part: Part) -> tuple[float, float] | None:
    """Mass and moment of a link whose moments are all one power of ten, or its mass."""
    m, I = part.inertia.mass, part.inertia.about_com()
    moment = float(I[0, 0])
    if m <= 0.0 or moment <= 0.0 or not np.allclose(I, moment * np.eye(3), rtol=1e-9, atol=0.0):
        return None
    power = np.log10(moment)
    return (m, moment) if abs(power - round(power)) < 1e-9 or moment == m else None


@rule(
    "inertia-size",
    "inertia",
    "warning",
    reason="a radius of gyration far off the distances in the robot means other units, or a lost decimal point",
    cure="inertias are in kg·m²: 1 kg·mm² is 1e-6, 1 g·cm² is 1e-7",
)
def gyration(subject: Subject) -> Iterator[Found]:
    size = _length(subject)
    for part in demand(subject.massive, NO_MASS):
        if part.inertia.problems():
            continue
        largest = float(np.max(np.linalg.eigvalsh(part.inertia.about_com())))
        radius = np.sqrt(largest / part.inertia.mass)
        if radius > size:
            yield Found(
                f"link '{part.name}'",
                f"has a radius of gyration of {radius:.3g} m, more than the whole robot measures ({size:.3g} m)",
            )


@rule(
    "com-far",
    "inertia",
    "warning",
    reason="a centre of mass farther from its link's frame than the robot is long means millimetres or a wrong frame",
    cure="state the centre of mass in metres, in the link's own frame",
)
def com_far(subject: Subject) -> Iterator[Found]:
    size = _length(subject)
    for part in demand(subject.massive, NO_MASS):
        distance = float(np.linalg.norm(part.inertia.com))
        if distance > size:
            yield Found(f"link '{part.name}'", f"has its centre of mass {distance:.3g} m from its frame")


@rule(
    "left-right",
    "inertia",
    "warning",
    reason="left and right limbs are mostly mirror images; a difference in mass is mostly a slip",
    cure="compare the two links in CAD",
)
def left_right(subject: Subject) -> Iterator[Found]:
    masses = {part.name: part.inertia.mass for _, part in subject.parts}
    sides = mirrored_names(masses)
    for name, other in demand(sides, "no two links are named as left and right"):
        mass = masses[name]
        if abs(mass - masses[other]) > MIRROR * max(mass, masses[other]):
            yield Found(f"links '{name}' and '{other}'", f"weigh {mass:g} and {masses[other]:g} kg")


def _length(subject: Subject) -> float:
    """The reach, to measure others by."""
    length = reach(subject)
    if not length > 0.0:
        raise NotRun("the robot has no length to compare with: no joint or frame is away from another")
    return length


def reach(subject: Subject) -> float:
    """The sum of all distances between joints along the longest limb, tool frames included [m]."""
    lengths = np.zeros(len(subject.model.bodies))
    for body in subject.model.bodies[1:]:
        lengths[body.index] = lengths[body.parent] + np.linalg.norm(body.placement.p)
        joint = body.joint.uncoupled
        for line in joint.lines:
            if joint.units[line.v] == "m":
                travel = np.max(np.abs([joint.lower[line.q], joint.upper[line.q]]))
                lengths[body.index] += travel if np.isfinite(travel) else 0.0
    tips = [lengths[frame.body] + np.linalg.norm(frame.placement.p) for frame in subject.model.frames]
    return float(max(tips))
