"""Pairs of a robot's collision shapes that may touch: all that the settings of contact ask for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.algorithms import integrate, neutral, poses
from dalembert.dynamics.collision import Ground, HalfSpace
from dalembert.dynamics.collision.pairs import NO_SURFACE
from dalembert.errors import DalembertError, unknown
from dalembert.model import Body, Closure, Model
from dalembert.model.geometry import Geometry, Plane, Surface
from dalembert.model.joints import Free
from dalembert.spatial import Pose

from .contact import FILE, GROUND, Contact
from .file_pairs import PLACES, Solid, file_pairs
from .laws import GROUND_SIDE, Laws, OfPair, Side
from .planes import ground_of, moves, plane_of

STANDARD_GRAVITY = 9.81  # [m/s²]
LEVEL = 1e-9  # of the directions of a joint: what is smaller is rounding
DEFAULT_LAYERS = (1, 1)  # of a geom that states none


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
    def solid(self) -> Solid:
        """It as MuJoCo's rules for pairs take it."""
        shape = self.geometry.shape
        return Solid(self.name, self.link, self.body, shape, self.placement, self.geometry.surface or Surface())

    @property
    def side(self) -> Side:
        """It as one of two things that touch."""
        return Side(tuple(dict.fromkeys((self.name, self.link, self.body.name))), self.geometry.surface)


class Pair(NamedTuple):
    """A shape that may touch another one, or a ground; stated: numbers that the file states for this very pair."""

    a: NamedShape
    b: NamedShape | None
    ground: Ground | None = None
    stated: OfPair | None = None

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both, as things that touch."""
        return self.a.side, GROUND_SIDE if self.b is None else self.b.side

    @property
    def name(self) -> str:
        """Its name, that of its points."""
        return self.a.name if self.b is None else f"{self.a.name} on {self.b.name}"


def touching(model: Model, contact: Contact) -> tuple[list[Pair], Laws]:
    """Pairs of shapes that may touch, and the laws for them."""
    shapes = [shape for shape in named_shapes(model) if shape.geometry.shape.is_bounded]
    if not shapes:
        raise DalembertError(
            f"contact: robot {model.name!r} has no collision shapes: add some with ModelBuilder.add_geometry(…, "
            "role='collision'), or load a file that has them"
        )
    check_names(contact, shapes)
    laws = Laws(contact, weight=STANDARD_GRAVITY * sum(body.inertia.mass for body in model.bodies))
    laws.check_names(shape.side for shape in shapes)
    if contact.pairs == "file":
        return _of_file(model, contact), laws
    pairs = [Pair(a, b) for a, b in _pairs(model, contact, shapes)]
    ground = ground_of(model, contact)
    if ground is not None:
        pairs = [*(Pair(shape, None, ground) for shape in _above_ground(model, contact, ground, shapes)), *pairs]
    if not pairs:
        cure = "give ground or pairs"
        if ground is not None and levelled(model, ground):
            cure = "none of its links moves towards the ground or away from it: give pairs, or another ground"
        raise DalembertError(f"contact: nothing of robot {model.name!r} may touch anything: {cure}")
    return pairs, laws


def named_shapes(model: Model) -> Iterator[NamedShape]:
    """The collision shapes of a model, those without a name called after their links."""
    for body in model.bodies:
        for part in body.parts:
            shapes = [g for g in part.geometry if g.role == "collision"]
            for k, geometry in enumerate(shapes):
                name = geometry.name or (part.name if len(shapes) == 1 else f"{part.name} #{k + 1}")
                yield NamedShape(name, part.name, body, geometry, part.placement @ geometry.placement)


def levelled(model: Model, ground: Ground | None) -> frozenset[int]:
    """The bodies that keep their distance from a plane ground whatever the joints do, as a link on an upright axis.

    Each joint that carries them turns about the ground's normal and shifts across it, which none of them changes.
    """
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


def check_names(contact: Contact, shapes: Sequence[Any]) -> None:
    """Raise an error that names a body or shape of the pairs which does not exist."""
    known = sorted({GROUND}.union(*(shape.all_names for shape in shapes)))
    for name in (name for pair in contact.listed_pairs for name in pair):
        if name not in known:
            raise unknown("body or shape", name, known, "Contact: pairs")


def _above_ground(model: Model, contact: Contact, ground: Ground, shapes: list[NamedShape]) -> list[NamedShape]:
    """The shapes that may meet the ground: all that move towards it or away, or those of them that the pairs name."""
    level = levelled(model, ground)
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
        excluded = {frozenset(pair) for pair in model.exclusions}
        apart = {frozenset((c.a.body, c.b.body)) for c in model.closures if isinstance(c, Closure)}
        return [
            (a, b)
            for a, b in pairs
            if not _joined(a.body, b.body)
            and not _joined(b.body, a.body)
            and frozenset((a.body.index, b.body.index)) not in apart
            and frozenset((a.link, b.link)) not in excluded
            and (a.geometry.surface or NO_SURFACE).meets(b.geometry.surface or NO_SURFACE)
        ]
    listed = [set(pair) for pair in contact.listed_pairs if GROUND not in pair]
    return [(a, b) for a, b in pairs if any(matches(pair, a, b) for pair in listed)]


def _of_file(model: Model, contact: Contact) -> list[Pair]:
    """The pairs that an MJCF file lets touch; a ground that the contact states takes the place of its planes."""
    mujoco = model.mujoco
    if mujoco is None:
        raise DalembertError(
            f"Contact: pairs='file' are those of an MJCF file, which robot {model.name!r} is not from: write "
            "pairs='ground', 'all' or [('a', 'b'), …]"
        )
    shapes = list(named_shapes(model))
    solids = [x.solid for x in shapes]
    own = ground_of(model, contact) if contact.has_ground and contact.ground != FILE else None
    floors = [x for x in solids if type(x.shape) is Plane]
    floors += [Solid(x.name, x.link, None, x, x.placement, x.surface) for x in mujoco.height_maps]
    if own is not None and not floors:
        floor = Plane(np.array([0.0, 0.0, 1.0]))
        floors = [Solid(GROUND, GROUND, None, floor, Pose.identity(), Surface(layers=DEFAULT_LAYERS))]
    of_solid = {id(solid): shape for solid, shape in zip(solids, shapes, strict=True)}
    grounds = {id(floor): own for floor in floors}
    every = [*solids, *(floor for floor in floors if id(floor) not in of_solid)]
    pairs: dict[Any, Pair] = {}
    for one, two, parameters in file_pairs(model, mujoco, every) if mujoco.option.contacts else ():
        stated = {option: parameters.number(option) for option in PLACES}
        on = [x for x in (one, two) if id(x) in grounds]
        if not on:
            a, b = (of_solid[id(x)] for x in (one, two))
            first, second = (a, b) if moves(model, a.body) else (b, a)
            pairs[id(a), id(b)] = Pair(first, second, None, stated)
        elif contact.has_ground:
            ground = grounds[id(on[0])] = grounds[id(on[0])] or _ground_of(model, on[0])
            shape = of_solid[id(two if on[0] is one else one)]
            if shape.body.index not in levelled(model, ground):
                pairs.setdefault((id(shape), id(ground)), Pair(shape, None, ground, stated))
    if not pairs:
        why = "contype and conaffinity of no two geoms meet" if mujoco.option.contacts else "it switches contacts off"
        raise DalembertError(
            f"Contact: pairs='file': the file of robot {model.name!r} lets nothing touch anything, it has no <pair> "
            f"that moves, and {why}: write pairs='ground', 'all' or [('a', 'b'), …]"
        )
    return list(pairs.values())


def _ground_of(model: Model, floor: Solid) -> Ground:
    """A plane of the file as a ground."""
    if floor.body is None:
        raise DalembertError(
            f"Contact: pairs='file' has the height field {floor.name!r}: write Contact(terrain=robot.terrain, "
            "pairs='file')"
        )
    if floor.moves(model):
        raise DalembertError(f"Contact: pairs='file': the plane {floor.name!r} moves with a joint: make it a box")
    return plane_of(model, floor.body, floor.shape, floor.placement)


def _joined(parent: Body, child: Body) -> bool:
    """Whether a joint that holds the child is on the parent."""
    return child.parent == parent.index and not isinstance(child.joint, Free)


def matches(pair: Collection[str], a: Any, b: Any) -> bool:
    """Whether a pair of names is that of two shapes, in either order."""
    first, second = pair
    return (first in a.all_names and second in b.all_names) or (second in a.all_names and first in b.all_names)
