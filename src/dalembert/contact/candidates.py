"""Points of a robot's collision shapes that may touch the ground, each with its gap and normal in a state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.model import Body, Model
from dalembert.model.geometry import Box, Capsule, Geometry, Sphere
from dalembert.spatial import Pose

from .contact import GROUND, Contact

WORLD = -1  # in the place of a body's number
UP = np.array([0.0, 0.0, 1.0])


class Touch(NamedTuple):
    """Where two bodies are nearest: position (3,) in the world [m], gap [m], normal (3,) from the second to the first."""

    position: np.ndarray
    gap: Any
    normal: np.ndarray


@dataclass(frozen=True)
class Candidate:
    """A ball of a body that may touch the ground: centre (3,) in the body [m], radius [m]; the ground's level [m]."""

    name: str
    first: int
    centre: tuple[float, float, float]
    radius: float
    level: float
    second: int = WORLD

    def touch(self, X: Sequence[Pose]) -> Touch:
        """X: the poses of all bodies in the world."""
        c = X[self.first].point(np.array(self.centre))
        return Touch(np.array([c[0], c[1], c[2] - self.radius]), c[2] - self.radius - self.level, UP)


class NamedShape(NamedTuple):
    """A collision shape with the body and the link it belongs to; placement: in the body."""

    name: str
    link: str
    body: Body
    geometry: Geometry
    placement: Pose


def candidates(model: Model, contact: Contact) -> tuple[Candidate, ...]:
    """All points of a model that may touch."""
    shapes = list(_shapes(model))
    if not shapes:
        raise DalembertError(
            f"contact: robot {model.name!r} has no collision shapes: add some with ModelBuilder.add_geometry(…, "
            "role='collision'), or load a file that has them"
        )
    found = []
    for shape in _touching_ground(contact, shapes):
        points = _balls(shape)
        for k, (centre, radius) in enumerate(points):
            name = shape.name if len(points) == 1 else f"{shape.name} {k + 1}"
            place = tuple(float(x) for x in shape.placement.point(centre))
            found.append(Candidate(name, shape.body.index, place, radius, contact.ground))
    return tuple(found)


def _shapes(model: Model) -> Iterator[NamedShape]:
    for body in model.bodies:
        for part in body.parts:
            own = [g for g in part.geometry if g.role == "collision"]
            for k, geometry in enumerate(own):
                name = geometry.name or (part.name if len(own) == 1 else f"{part.name} #{k + 1}")
                yield NamedShape(name, part.name, body, geometry, part.placement @ geometry.placement)


def _touching_ground(contact: Contact, shapes: list[NamedShape]) -> list[NamedShape]:
    """Those that may meet the ground: all that move, or those that the pairs name."""
    if isinstance(contact.pairs, str):
        return [shape for shape in shapes if shape.body.joint.nv or shape.body.parent >= 0]
    names = [name for pair in contact.pairs if GROUND in pair for name in pair if name != GROUND]
    known = sorted({x for shape in shapes for x in (shape.name, shape.link, shape.body.name)})
    for name in names:
        if name not in known:
            raise unknown("body or shape", name, known, "Contact: pairs")
    return [s for s in shapes if {s.name, s.link, s.body.name} & set(names)]


def _balls(shape: NamedShape) -> list[tuple[np.ndarray, float]]:
    """(centre (3,) in the shape, radius) of balls whose lowest points are the shape's own on level ground."""
    match shape.geometry.shape:
        case Sphere(radius=radius):
            return [(np.zeros(3), radius)]
        case Capsule(radius=radius, length=length):
            return [(np.array([0.0, 0.0, s * length / 2.0]), radius) for s in (-1.0, 1.0)]
        case Box(size=size):
            return [(0.5 * size * np.array(signs), 0.0) for signs in product((-1.0, 1.0), repeat=3)]
    kind = type(shape.geometry.shape).__name__
    raise DalembertError(f"contact: shape {shape.name!r} is a {kind}, expected a sphere, capsule or box")
