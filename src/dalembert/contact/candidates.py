"""Which points of a robot's collision shapes may touch, each with its gap and normal in a state.

The list is the same in every state, so that a compiled step has room for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from sys import intern
from types import NoneType
from typing import Any

import numpy as np

from dalembert.compiler.execute import RecentSame, code
from dalembert.dynamics.algorithms import neutral, poses
from dalembert.dynamics.collision import Ground, HalfSpace, Witness, ground_points, pair_points
from dalembert.dynamics.collision.groups import alike, alike_in_pairs
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.model.aligned import AlignedFrames
from dalembert.model.geometry import Shape
from dalembert.spatial import Pose

from .contact import DEFAULTS, Contact
from .laws import FILE, MATERIAL, ContactLaw
from .planes import ground_of, moves
from .touching import levelled, named_shapes, touching

WORLD = -1  # instead of a body's number
SHOWN = 4  # names in a line of the log


@dataclass(frozen=True)
class Patch:
    """The points of a shape of one body that may touch the ground, or a shape of another body.

    placement: of the shape in the body; other, other_placement: of the second body's shape. law: friction and the other
    numbers of the pair. nominal: where sizes or placements are live, the patch with those of the file, which bound it.
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
    nominal: Patch | None = None

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
        nominal = None if self.nominal is None else self.nominal.in_frames(frames)
        return replace(self, placement=placement, other_placement=other, nominal=nominal)

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
        """Body, shape and placement in it, of the first body, and of the second unless that is the ground.

        These bound what the patch may touch: they have the sizes of the file.
        """
        if self.nominal is not None:
            return self.nominal.sides
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


_recent = RecentSame(8)


def candidates(model: Model, contact: Contact) -> tuple[Patch, ...]:
    """All candidates; kept for the same model and settings, except with terrain, which these do not describe."""
    if contact.terrain is not None:
        return _patches(model, contact)
    settings = intern(repr(contact))  # equal texts are one object
    return _recent.get((model, settings), lambda: _patches(model, contact))


def _patches(model: Model, contact: Contact) -> tuple[Patch, ...]:
    pairs, laws = touching(model, contact)
    patches = []
    for pair in pairs:
        (a, b, ground, _), law = pair, laws.law(*pair.sides, pair.stated)
        first = (pair.name,), a.body.index, a.geometry.shape, a.placement, law, ground
        second = () if b is None else (b.body.index, b.geometry.shape, b.placement)
        patches.append(Patch(*first, *second))
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
    for pair in pairs:
        law, levels = laws.of(*pair.sides, pair.stated)
        for option in options:
            if levels[option] in (FILE, MATERIAL):
                said.setdefault((option, getattr(law, option), levels[option]), []).append(repr(pair.name))
    origin = {FILE: "the robot's file", MATERIAL: "the table of materials"}
    return [
        f"contact: {option.replace('_', ' ')} {value:.3g} from {origin[level]}: {', '.join(names[:SHOWN])}"
        + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
        for (option, value, level), names in said.items()
        if option != "static_friction" or (("friction", value, level) not in said)
    ]


def named_points(patch: Any, count: int) -> Any:
    """Return a patch with a name for each of its points."""
    (name,) = patch.names
    return patch if count == 1 else replace(patch, names=tuple(f"{name} {k + 1}" for k in range(count)))


def in_the_ground(model: Model, contact: Contact, q: np.ndarray) -> list[str]:
    """Names of the moving shapes inside the ground at q (nq,) that are no candidates, since they cannot leave it."""
    ground = None if contact.pairs == "file" else ground_of(model, contact)
    level, X = levelled(model, ground), poses(model, q)
    if ground is None or not level:
        return []
    return [
        shape.name
        for shape in named_shapes(model)
        if shape.body.index in level
        and moves(model, shape.body)
        and shape.geometry.shape.is_bounded
        and min(w.distance for w in ground_points(shape.geometry.shape, X[shape.body.index] @ shape.placement, ground))
        < 0.0
    ]
