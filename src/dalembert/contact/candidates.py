"""Which points of a robot's collision shapes may touch, each with its gap and normal in a state.

The list is the same in every state, so that a compiled step has room for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import combinations
from sys import intern
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from dalembert.algorithms import integrate, neutral, poses
from dalembert.collision import Ground, HalfSpace, Witness, ground_points, pair_points
from dalembert.collision.groups import alike, alike_in_pairs
from dalembert.collision.pairs import NO_SURFACE
from dalembert.errors import DalembertError, unknown
from dalembert.execute import RecentSame, code
from dalembert.model import Body, Closure, Model
from dalembert.model.aligned import AlignedFrames
from dalembert.model.geometry import Geometry, Shape
from dalembert.model.joints import Free
from dalembert.spatial import Pose

from .contact import DEFAULTS, GROUND, Contact
from .laws import FILE, GROUND_SIDE, MATERIAL, ContactLaw, Laws, Side
from .planes import ground_of, moves

WORLD = -1  # instead of a body's number
SHOWN = 4  # names in a line of the log
STANDARD_GRAVITY = 9.81  # [m/s²]
LEVEL = 1e-9  # of the directions of a joint: what is smaller is rounding


@dataclass(frozen=True)
class Patch:
    """The points of a shape of one body that may touch the ground, or a shape of another body.

    placement: of the shape in the body; other, other_placement: of the second body's shape. law: friction and the other
    numbers of the pair.
    """

    names: tuple[str, ...]
    first: int
    shape: Shape
    placement: Pose
    law: ContactLaw
    ground: Ground | None = None
    second: int = WORLD
    other: Shape | None = None
    other_placement: Pose | None = None

    @cached_property
    def fingerprint(self) -> str | None:
        """Digest of its content; None where a ground may be a function, which can change."""
        if not isinstance(self.ground, (HalfSpace, NoneType)):
            return None
        return code(*(getattr(self, field.name) for field in fields(self)))

    def in_frames(self, frames: AlignedFrames) -> Patch:
        """The same in other frames of the bodies."""
        placement, other = frames.placement(self.first, self.placement), self.other_placement
        if other is not None and self.second != WORLD:
            other = frames.placement(self.second, other)
        return replace(self, placement=placement, other_placement=other)

    def witnesses(self, X: Sequence[Pose], later: Sequence[Pose] | None = None) -> list[Witness]:
        """One for each name; X: the poses of all bodies in the world; later: after a step."""
        if self.ground is not None:
            return ground_points(self.shape, X[self.first] @ self.placement, self.ground)
        ahead = None if later is None else self._both(later)
        X_first, X_second = self._both(X)
        return pair_points(self.shape, X_first, self.other, X_second, ahead)

    def _both(self, X: Sequence[Pose]) -> tuple[Pose, Pose]:
        """The poses of both shapes."""
        assert self.other_placement is not None
        return X[self.first] @ self.placement, X[self.second] @ self.other_placement

    @property
    def sides(self) -> list[tuple[int, Any, Pose]]:
        """Body, shape and placement in it, of the first body, and of the second unless that is the ground."""
        first = self.first, self.shape, self.placement
        return [first] if self.other_placement is None else [first, (self.second, self.other, self.other_placement)]

    @cached_property
    def thickness(self) -> float:
        """Thickness of the thinner of its two shapes [m]; infinite on the ground."""
        return np.inf if self.ground is not None else min(shape.thickness() for _, shape, _ in self.sides)

    @property
    def passes_by(self) -> bool:
        """Whether it makes a difference where its two shapes go: they may meet, or pass close by each other."""
        return self.ground is None

    @property
    def is_aside(self) -> bool:
        """Whether its places on two bodies that are to meet may still be aside of each other: it is a single point."""
        return self.passes_by and len(self.names) == 1


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

    @property
    def side(self) -> Side:
        """It as one of two things that touch."""
        return Side(tuple(dict.fromkeys((self.name, self.link, self.body.name))), self.geometry.surface)


_recent = RecentSame(8)


def candidates(model: Model, contact: Contact) -> tuple[Patch, ...]:
    """All candidates; kept for the same model and settings, except with terrain, which these do not describe."""
    if contact.terrain is not None:
        return _patches(model, contact)
    settings = intern(repr(contact))  # equal texts are one object
    return _recent.get((model, settings), lambda: _patches(model, contact))


def _patches(model: Model, contact: Contact) -> tuple[Patch, ...]:
    pairs, laws = touching(model, contact)
    ground = ground_of(model, contact)
    patches = []
    for a, b in pairs:
        if b is None:
            law = laws.law(a.side, GROUND_SIDE)
            patches.append(Patch((a.name,), a.body.index, a.geometry.shape, a.placement, law, ground))
        else:
            law = laws.law(a.side, b.side)
            second = b.body.index, b.geometry.shape, b.placement
            names = (f"{a.name} on {b.name}",)
            patches.append(Patch(names, a.body.index, a.geometry.shape, a.placement, law, None, *second))
    X, counts = poses(model, neutral(model)), dict[Any, int]()
    for patch in patches:
        if like(patch) not in counts:
            try:
                counts[like(patch)] = len(patch.witnesses(X))
            except DalembertError as error:
                raise DalembertError(f"contact: collision shape {patch.names[0]!r}: {error}") from None
    return tuple(named_points(patch, counts[like(patch)]) for patch in patches)


def like(patch: Patch) -> Any:
    """Key shared by patches whose points are found in the same way, as many of each."""
    if patch.ground is not None:
        return id(patch.ground), alike(patch.shape)
    return alike_in_pairs(patch.shape), alike_in_pairs(patch.other)


def law_sources(model: Model, contact: Contact) -> list[str]:
    """Which numbers of a contact are not the caller's: those of the robot's file, and of materials."""
    pairs, laws = touching(model, contact)
    options = [
        x for x in DEFAULTS if x not in (("stiffness", "damping") if contact.model == "rigid" else ("restitution",))
    ]
    said: dict[tuple[str, float, int], list[str]] = {}
    for a, b in pairs:
        law, levels = laws.of(a.side, GROUND_SIDE if b is None else b.side)
        for option in options:
            if levels[option] in (FILE, MATERIAL):
                name = a.name if b is None else f"{a.name} on {b.name}"
                said.setdefault((option, getattr(law, option), levels[option]), []).append(repr(name))
    origin = {FILE: "the robot's file", MATERIAL: "the table of materials"}
    return [
        f"contact: {option.replace('_', ' ')} {value:.3g} from {origin[level]}: {', '.join(names[:SHOWN])}"
        + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
        for (option, value, level), names in said.items()
        if option != "static_friction" or (("friction", value, level) not in said)
    ]


def touching(model: Model, contact: Contact) -> tuple[list[tuple[NamedShape, NamedShape | None]], Laws]:
    """Pairs of shapes that may touch, the ground None, and the laws for them."""
    shapes = [shape for shape in named_shapes(model) if shape.geometry.shape.is_bounded]
    if not shapes:
        raise DalembertError(
            f"contact: robot {model.name!r} has no collision shapes: add some with ModelBuilder.add_geometry(…, "
            "role='collision'), or load a file that has them"
        )
    check_names(contact, shapes)
    laws = Laws(contact, weight=STANDARD_GRAVITY * sum(body.inertia.mass for body in model.bodies))
    laws.check_names(shape.side for shape in shapes)
    pairs: list[tuple[NamedShape, NamedShape | None]] = []
    if contact.has_ground:
        pairs += [(shape, None) for shape in _above_ground(model, contact, shapes)]
    pairs += _pairs(model, contact, shapes)
    if not pairs:
        cure = "give ground or pairs"
        if contact.has_ground and levelled(model, contact):
            cure = "none of its links moves towards the ground or away from it: give pairs, or another ground"
        raise DalembertError(f"contact: nothing of robot {model.name!r} may touch anything: {cure}")
    return pairs, laws


def named_points(patch: Any, count: int) -> Any:
    """Return a patch with a name for each of its points."""
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


def levelled(model: Model, contact: Contact) -> frozenset[int]:
    """The bodies that keep their distance from a plane ground whatever the joints do, as a link on an upright axis.

    Each joint that carries them turns about the ground's normal and shifts across it, which none of them changes.
    """
    ground = ground_of(model, contact)
    if not isinstance(ground, HalfSpace):
        return frozenset()
    n, level = np.asarray(ground.normal, float), set[int]()
    configurations = [neutral(model), _elsewhere(model)]
    places = [poses(model, q) for q in configurations]
    for body in model.bodies:
        if body.parent >= 0 and body.parent not in level:
            continue
        freedoms = [
            X[body.index].R @ body.joint.subspace(q[body.q]).reshape(2, 3, -1)
            for q, X in zip(configurations, places, strict=True)
        ]
        if all(
            np.abs(np.cross(turn.T, n)).max(initial=0.0) < LEVEL and np.abs(n @ shift).max(initial=0.0) < LEVEL
            for turn, shift in freedoms
        ):
            level.add(body.index)
    return frozenset(level)


def _elsewhere(model: Model) -> np.ndarray:
    """A configuration in which no joint is at 0."""
    return np.asarray(integrate(model, neutral(model), np.full(model.nv, 0.7)), float)


def in_the_ground(model: Model, contact: Contact, q: np.ndarray) -> list[str]:
    """Names of the moving shapes inside the ground at q (nq,) that are no candidates, since they cannot leave it."""
    level = levelled(model, contact)
    if not level:
        return []
    ground, X = ground_of(model, contact), poses(model, q)
    assert ground is not None
    return [
        shape.name
        for shape in named_shapes(model)
        if shape.body.index in level
        and moves(model, shape.body)
        and shape.geometry.shape.is_bounded
        and min(w.distance for w in ground_points(shape.geometry.shape, X[shape.body.index] @ shape.placement, ground))
        < 0.0
    ]


def check_names(contact: Contact, shapes: Sequence[Any]) -> None:
    """Raise an error that names a body or shape of the pairs which does not exist."""
    known = sorted({GROUND}.union(*(shape.all_names for shape in shapes)))
    for name in (name for pair in contact.listed_pairs for name in pair):
        if name not in known:
            raise unknown("body or shape", name, known, "Contact: pairs")


def _above_ground(model: Model, contact: Contact, shapes: list[NamedShape]) -> list[NamedShape]:
    """The shapes that may meet the ground: all that move towards it or away, or those of them that the pairs name."""
    level = levelled(model, contact)
    moving = [shape for shape in shapes if moves(model, shape.body) and shape.body.index not in level]
    if not contact.listed_pairs:
        return moving
    names = {name for pair in contact.listed_pairs if GROUND in pair for name in pair}
    return [shape for shape in moving if shape.all_names & names]


def _pairs(model: Model, contact: Contact, shapes: list[NamedShape]) -> list[tuple[NamedShape, NamedShape]]:
    """Pairs of shapes on different bodies that may meet: those that are named, or all.

    All are without neighbours, bodies that the model excludes or ties together, and shapes on layers that do not meet.
    """
    pairs = [
        (a, b) if moves(model, a.body) else (b, a)
        for a, b in combinations(shapes, 2)
        if a.body is not b.body and (moves(model, a.body) or moves(model, b.body))
    ]
    if contact.pairs == "all":
        apart = {frozenset(model.frame(name).body for name in pair) for pair in model.exclusions}
        apart |= {frozenset((c.a.body, c.b.body)) for c in model.closures if isinstance(c, Closure)}
        return [
            (a, b)
            for a, b in pairs
            if not _joined(a.body, b.body)
            and not _joined(b.body, a.body)
            and frozenset((a.body.index, b.body.index)) not in apart
            and (a.geometry.surface or NO_SURFACE).meets(b.geometry.surface or NO_SURFACE)
        ]
    listed = [set(pair) for pair in contact.listed_pairs if GROUND not in pair]
    return [(a, b) for a, b in pairs if any(matches(pair, a, b) for pair in listed)]


def _joined(parent: Body, child: Body) -> bool:
    """Whether a joint that holds the child is on the parent."""
    return child.parent == parent.index and not isinstance(child.joint, Free)


def matches(pair: Collection[str], a: Any, b: Any) -> bool:
    """Whether a pair of names is that of two shapes, in either order."""
    first, second = pair
    return (first in a.all_names and second in b.all_names) or (second in a.all_names and first in b.all_names)
