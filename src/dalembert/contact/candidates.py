"""Which points of a robot's collision shapes may touch, each with its gap and normal in a state.

The list is the same in every state, so that a compiled step has room for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

from dalembert.algorithms import neutral, poses
from dalembert.collision import Ground, Witness, as_ground, ground_points, pair_points
from dalembert.errors import DalembertError, unknown
from dalembert.model import Body, Model
from dalembert.model.geometry import Geometry, Plane, Shape
from dalembert.model.joints import Free
from dalembert.spatial import Pose

from .contact import GROUND, Contact

WORLD = -1  # in the place of a body's number


@dataclass(frozen=True)
class Patch:
    """The points of a shape of one body that may touch the ground, or a shape of another body.

    placement: of the shape in the body; other, other_placement: of the second body's shape.
    """

    names: tuple[str, ...]
    first: int
    shape: Shape
    placement: Pose
    ground: Ground | None = None
    second: int = WORLD
    other: Shape | None = None
    other_placement: Pose | None = None

    def witnesses(self, X: Sequence[Pose]) -> list[Witness]:
        """One for each name; X: the poses of all bodies in the world."""
        X_first = X[self.first] @ self.placement
        if self.ground is not None:
            return ground_points(self.shape, X_first, self.ground)
        assert self.other_placement is not None
        return pair_points(self.shape, X_first, self.other, X[self.second] @ self.other_placement)


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
    patches = []
    if contact.has_ground:
        ground = as_ground(contact.ground if contact.terrain is None else contact.terrain)
        for shape in _above_ground(model, contact, shapes):
            patches.append(Patch((shape.name,), shape.body.index, shape.geometry.shape, shape.placement, ground))
    for a, b in _pairs(model, contact, shapes):
        names = (f"{a.name} on {b.name}",)
        second = b.geometry.shape, b.placement
        patches.append(
            Patch(names, a.body.index, a.geometry.shape, a.placement, None, b.body.index, second[0], second[1])
        )
    if not patches:
        raise DalembertError(f"contact: nothing of robot {model.name!r} may touch anything: give ground or pairs")
    X = poses(model, neutral(model))
    return tuple(_named(patch, len(patch.witnesses(X))) for patch in patches)


def _named(patch: Patch, count: int) -> Patch:
    """The patch with a name for each of its points."""
    (name,) = patch.names
    return patch if count == 1 else replace(patch, names=tuple(f"{name} {k + 1}" for k in range(count)))


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


def _pairs(model: Model, contact: Contact, shapes: list[NamedShape]) -> list[tuple[NamedShape, NamedShape]]:
    """Pairs of shapes on different bodies that may meet: those that are named, or all but neighbours."""
    pairs = [
        (a, b) if moves(model, a.body) else (b, a)
        for a, b in combinations(shapes, 2)
        if a.body is not b.body and (moves(model, a.body) or moves(model, b.body))
    ]
    if contact.pairs == "all":
        return [(a, b) for a, b in pairs if not _joined(a.body, b.body) and not _joined(b.body, a.body)]
    listed = [set(pair) for pair in contact.listed_pairs if GROUND not in pair]
    return [(a, b) for a, b in pairs if any(_match(pair, a, b) for pair in listed)]


def _joined(parent: Body, child: Body) -> bool:
    """Whether a joint that holds the child is on the parent."""
    return child.parent == parent.index and not isinstance(child.joint, Free)


def _match(pair: set[str], a: NamedShape, b: NamedShape) -> bool:
    first, second = sorted(pair)
    return (first in a.all_names and second in b.all_names) or (second in a.all_names and first in b.all_names)
