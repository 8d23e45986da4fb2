"""Which points of a robot's collision shapes may touch, each with its gap and normal in a state.

The list is the same in every state, so that a compiled step has room for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dalembert.algorithms import neutral, poses
from dalembert.collision import Ground, Witness, as_ground, ground_points
from dalembert.errors import DalembertError, unknown
from dalembert.model import Body, Model
from dalembert.model.geometry import Geometry, Plane, Shape
from dalembert.spatial import Pose

from .contact import GROUND, Contact

WORLD = -1  # in the place of a body's number


@dataclass(frozen=True)
class Patch:
    """The points of a shape of one body that may touch the ground; placement: of the shape in the body."""

    names: tuple[str, ...]
    first: int
    shape: Shape
    placement: Pose
    ground: Ground
    second: int = WORLD

    def witnesses(self, X: Sequence[Pose]) -> list[Witness]:
        """One for each name; X: the poses of all bodies in the world."""
        return ground_points(self.shape, X[self.first] @ self.placement, self.ground)


class NamedShape(NamedTuple):
    """A collision shape with the link and the body it belongs to; placement: in the body."""

    name: str
    link: str
    body: Body
    geometry: Geometry
    placement: Pose

    @property
    def all_names(self) -> set[str]:
        """Names by which a pair may call it."""
        return {self.name, self.link, self.body.name}


def candidates(model: Model, contact: Contact) -> tuple[Patch, ...]:
    """All that may touch."""
    shapes = [shape for shape in named_shapes(model) if not isinstance(shape.geometry.shape, Plane)]
    if not shapes:
        raise DalembertError(
            f"contact: robot {model.name!r} has no collision shapes: add some with ModelBuilder.add_geometry(…, "
            "role='collision'), or load a file that has them"
        )
    _check_names(contact, shapes)
    X = poses(model, neutral(model))
    patches = []
    if contact.has_ground:
        ground = as_ground(contact.ground if contact.terrain is None else contact.terrain)
        for shape in _above_ground(model, contact, shapes):
            number = len(ground_points(shape.geometry.shape, X[shape.body.index] @ shape.placement, ground))
            names = (shape.name,) if number == 1 else tuple(f"{shape.name} {k + 1}" for k in range(number))
            patches.append(Patch(names, shape.body.index, shape.geometry.shape, shape.placement, ground))
    if not patches:
        raise DalembertError(f"contact: nothing of robot {model.name!r} may touch anything: give ground or pairs")
    return tuple(patches)


def named_shapes(model: Model) -> Iterator[NamedShape]:
    """The collision shapes of a model, those without a name called after their links."""
    for body in model.bodies:
        for part in body.parts:
            shapes = [g for g in part.geometry if g.role == "collision"]
            for k, geometry in enumerate(shapes):
                name = geometry.name or (part.name if len(shapes) == 1 else f"{part.name} #{k + 1}")
                yield NamedShape(name, part.name, body, geometry, part.placement @ geometry.placement)


def moves(model: Model, body: Body) -> bool:
    """Whether a joint that moves carries a body."""
    return body.joint.nv > 0 or (body.parent >= 0 and moves(model, model.bodies[body.parent]))


def _check_names(contact: Contact, shapes: list[NamedShape]) -> None:
    known = sorted(set().union(*(shape.all_names for shape in shapes)))
    for name in (name for pair in contact.listed_pairs for name in pair):
        if name != GROUND and name not in known:
            raise unknown("body or shape", name, known, "Contact: pairs")


def _above_ground(model: Model, contact: Contact, shapes: list[NamedShape]) -> list[NamedShape]:
    """Those that may meet the ground: all that move, or those that the pairs name."""
    moving = [shape for shape in shapes if moves(model, shape.body)]
    if not contact.listed_pairs:
        return moving
    names = {name for pair in contact.listed_pairs if GROUND in pair for name in pair}
    return [shape for shape in moving if shape.all_names & names]
