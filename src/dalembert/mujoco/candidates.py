"""Pairs of shapes that may touch, and the parameters of their contacts, mixed as in MuJoCo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from dalembert.algorithms import poses
from dalembert.collision import Ground, Hull, as_ground, hull
from dalembert.collision.hulls import stated_hull
from dalembert.contact.candidates import WORLD, check_names, matches, moves, named_points, named_shapes
from dalembert.contact.contact import DEFAULTS, GROUND, Contact
from dalembert.errors import DalembertError
from dalembert.model import Body, Model, MujocoContact
from dalembert.model.geometry import Surface
from dalembert.model.mujoco import LEAST, SOFT, HeightMap, Mujoco, MujocoPair, Softness
from dalembert.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Plane, Shape, Sphere
from dalembert.spatial import Pose

from .convex import POINTS
from .heights import MOST_POINTS, Field
from .hulls import CORNERS, MOST_VERTICES
from .points import Point, in_order, shape_points, terrain_points
from .weights import Mobility, mobility

LEAST_FRICTION = 1e-5
FRICTION = DEFAULTS["friction"], 0.005, 0.0001  # sliding, torsional [m], rolling [m] of a shape that states none
GEOMS = {Box, Sphere, Capsule, Cylinder, Ellipsoid, Cone, Plane, HeightMap}
NORMAL = np.array([0.0, 0.0, 1.0])


class Solid(NamedTuple):
    """A collision shape of a link; body: None for shapes of the world that are no part of the model."""

    name: str
    link: str
    body: Body | None
    shape: Shape | HeightMap | Ground
    placement: Pose  # in the body
    surface: Surface

    @property
    def all_names(self) -> set[str]:
        """Names under which a pair may refer to it."""
        return {self.name, self.link, *([] if self.body is None else [self.body.name])}


@dataclass(frozen=True)
class Parameters:
    """Parameters of a contact: dimensions 1, 3, 4 or 6; friction (5,): two sliding, torsional [m], two rolling [m]."""

    condim: int
    friction: tuple[float, ...]
    softness: Softness
    friction_solref: tuple[float, float]
    margin: float
    gap: float

    @property
    def reach(self) -> float:
        """Largest distance [m] at which points are sought; those beyond the margin have no force."""
        return self.margin + self.gap


@dataclass(frozen=True)
class MujocoPatch:
    """The points in which a shape of `first` may touch one of `second`; a, b: both in MuJoCo's order.

    flipped: the shape of `first` is a. linear, angular: inverse masses of both links together [1/kg, 1/(kg·m²)].
    """

    names: tuple[str, ...]
    first: int
    second: int
    a: Shape | Hull | Ground | HeightMap
    placement_a: Pose
    b: Shape | Hull
    placement_b: Pose
    flipped: bool
    grounded: bool
    parameters: Parameters
    linear: float
    angular: float

    @property
    def numbers(self) -> list[float]:
        """Numbers in which it differs from others with the same shapes."""
        parameters, softness = self.parameters, self.parameters.softness
        places = [*self.placement_a.R.ravel(), *self.placement_a.p, *self.placement_b.R.ravel(), *self.placement_b.p]
        laws = [parameters.condim, *parameters.friction, *softness.solref, *softness.solimp]
        laws += [*parameters.friction_solref, parameters.margin, parameters.gap, self.linear, self.angular]
        return [self.first, self.second, self.flipped, self.grounded, len(self.names), *places, *laws]

    def count(self, X: Sequence[Pose]) -> int:
        """Return the number of its points, which may take long to compute."""
        if isinstance(self.a, HeightMap):
            return min(Field(self.a).most_prisms(self.b, self.parameters.reach), MOST_POINTS)
        if isinstance(self.a, Plane) and isinstance(self.b, Hull):
            return CORNERS
        known = POINTS.get((type(self.a), type(self.b)))
        return len(self.points(X)) if known is None else known

    def points(self, X: Sequence[Pose]) -> list[Point]:
        """One for each name, with normals from the second body to the first; X: the poses of all bodies.

        Those on height fields are always gathered (`gathering`).
        """
        one, two = (self.first, self.second) if self.flipped else (self.second, self.first)
        X_a, X_b = (
            placement if body == WORLD else X[body] @ placement
            for body, placement in ((one, self.placement_a), (two, self.placement_b))
        )
        if isinstance(self.a, Ground):
            return terrain_points(self.a, self.b, X_b)
        points = shape_points(self.a, X_a, self.b, X_b, self.parameters.reach)
        return [point.flipped() for point in points] if self.flipped else points


def mujoco_candidates(model: Model, contact: Contact) -> tuple[MujocoPatch, ...]:
    """Return all candidates; none if the file switches contacts off."""
    mujoco = model.mujoco or Mujoco()
    shapes = [
        Solid(x.name, x.link, x.body, x.geometry.shape, x.placement, x.geometry.surface or Surface())
        for x in named_shapes(model)
    ]
    if contact.terrain is None:  # a terrain replaces the file's height fields
        shapes += [Solid(x.name, x.link, None, x, x.placement, x.surface) for x in mujoco.height_maps]
    check_names(contact, shapes)
    if not mujoco.option.contacts:
        return ()
    weights = mobility(model)
    shapes += _floor(model, contact)
    patches = [
        _patch(model, weights, one, two, _overridden(mujoco, contact, parameters))
        for one, two, parameters in _pairs(model, mujoco, contact, shapes)
    ]
    if contact.terrain is not None:
        patches += _on_ground(model, mujoco, contact, weights, shapes, as_ground(contact.terrain))
    if not patches:
        raise DalembertError(
            f"contact: nothing of robot {model.name!r} may touch anything: it needs collision shapes whose contype and "
            "conaffinity meet, and a plane in the file or ground=…"
        )
    X = poses(model, weights.q)
    return tuple(named_points(patch, patch.count(X)) for patch in patches)


def _floor(model: Model, contact: Contact) -> list[Solid]:
    """A level floor, if one is asked for; robots that are not from MJCF have one at 0, as in other models."""
    silent = contact.ground is None and (model.mujoco is not None or not contact.mentions_ground)
    if contact.terrain is not None or silent:
        return []
    placement = Pose(np.eye(3), np.array([0.0, 0.0, float(contact.ground or 0.0)]))
    return [Solid(GROUND, GROUND, None, Plane(NORMAL), placement, Surface())]


def _parameters(shape: Solid) -> MujocoContact:
    """The parameters of a shape: those of its file, or MuJoCo's defaults."""
    surface = shape.surface
    if surface.mujoco is not None:
        return surface.mujoco
    stated = surface.friction, surface.torsion, surface.rolling
    friction = tuple(x if y is None else y for x, y in zip(FRICTION, stated, strict=True))
    return MujocoContact(friction, SOFT.solref, SOFT.solimp, 0.0, 0.0, 3, 0, 1.0)  # type: ignore[arg-type]


def mixed(a: MujocoContact, b: MujocoContact) -> Parameters:
    """MuJoCo's rule: the higher priority; of equal ones the larger friction and dimension, and a mean softness."""
    margin, gap = a.margin + b.margin, a.gap + b.gap
    if a.priority != b.priority:
        one = a if a.priority > b.priority else b
        slide, spin, roll = one.friction
        condim, softness = one.condim, Softness(one.solref, one.solimp)
    else:
        slide, spin, roll = (max(x, y) for x, y in zip(a.friction, b.friction, strict=True))
        condim = max(a.condim, b.condim)
        share = _share(a.solmix, b.solmix)
        if a.solref[0] > 0.0 and b.solref[0] > 0.0:
            solref = _mean(share, a.solref, b.solref)
        else:
            solref = tuple(min(x, y) for x, y in zip(a.solref, b.solref, strict=True))
        softness = Softness(solref, _mean(share, a.solimp, b.solimp))  # type: ignore[arg-type]
    friction = tuple(max(x, LEAST_FRICTION) for x in (slide, slide, spin, roll, roll))
    return Parameters(condim, friction, softness, (0.0, 0.0), margin, gap)


def _share(a: float, b: float) -> float:
    """The share of the first in a mix by the weights of both."""
    if a >= LEAST and b >= LEAST:
        return a / (a + b)
    return 0.5 if a < LEAST and b < LEAST else float(a >= LEAST)


def _mean(share: float, a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(share * x + (1.0 - share) * y for x, y in zip(a, b, strict=True))


def _stated(pair: MujocoPair) -> Parameters:
    friction = tuple(max(x, LEAST_FRICTION) for x in pair.friction)
    return Parameters(pair.condim, friction, pair.softness, pair.friction_solref, pair.margin, pair.gap)


def _overridden(mujoco: Mujoco, contact: Contact, parameters: Parameters) -> Parameters:
    """Return parameters with overrides applied: first those of the file's options, then those of the contact."""
    if mujoco.option.override is not None:
        margin, softness, friction = mujoco.option.override
        friction = tuple(max(x, LEAST_FRICTION) for x in friction)
        parameters = replace(
            parameters, margin=margin, softness=softness, friction=friction, friction_solref=(0.0, 0.0)
        )
    slide, spin, roll = (_for_all(contact, name) for name in ("friction", "torsion", "rolling"))
    given = zip((slide, slide, spin, roll, roll), parameters.friction, strict=True)
    return replace(parameters, friction=tuple(y if x is None else max(x, LEAST_FRICTION) for x, y in given))


def _for_all(contact: Contact, option: str) -> float | None:
    value = getattr(contact, option)
    if isinstance(value, Mapping):
        raise DalembertError(
            f"Contact: {option} is a table, but model='mujoco' takes the parameters of the robot's shapes: give one "
            "number for all, or none"
        )
    return None if value is None else float(value)


def _pairs(
    model: Model, mujoco: Mujoco, contact: Contact, shapes: list[Solid]
) -> Iterator[tuple[Solid, Solid, Parameters]]:
    """Pairs of shapes, with their parameters: those of <pair>, then all that the masks let touch."""
    numbers = {shape.name: k for k, shape in enumerate(shapes)}
    listed = set()
    for pair in mujoco.pairs:
        if pair.a in numbers and pair.b in numbers:
            one, two = (shapes[k] for k in sorted((numbers[pair.a], numbers[pair.b])))
            listed.add(frozenset((one.name, two.name)))
            if _wanted(model, contact, one, two):
                yield one, two, _stated(pair)
    excluded = {frozenset(pair) for pair in model.exclusions}
    for one, two in combinations(shapes, 2):
        if frozenset((one.name, two.name)) in listed or frozenset((one.link, two.link)) in excluded:
            continue
        if not _may_meet(model, mujoco, one.body, two.body) or not one.surface.meets(two.surface):
            continue
        if _wanted(model, contact, one, two):
            yield one, two, mixed(_parameters(one), _parameters(two))


def _wanted(model: Model, contact: Contact, one: Solid, two: Solid) -> bool:
    """Condition that the contact asks for this pair, one of both moves, and not both are planes or height fields."""
    moving = [shape for shape in (one, two) if _moves(model, shape.body)]
    if not moving or all(isinstance(x.shape, Plane | HeightMap) for x in (one, two)):
        return False
    if contact.listed_pairs:
        return any(
            matches(pair, one, two) or (GROUND in pair and len(moving) == 1 and bool(moving[0].all_names & set(pair)))
            for pair in contact.listed_pairs
        )
    return contact.pairs != "ground" or len(moving) == 1


def _moves(model: Model, body: Body | None) -> bool:
    return body is not None and moves(model, body)


def _may_meet(model: Model, mujoco: Mujoco, one: Body | None, two: Body | None) -> bool:
    """Different bodies, which no joint connects; those fixed in the world meet all."""
    if not _moves(model, one) or not _moves(model, two):
        return True
    if one is two:
        return False
    assert one is not None and two is not None
    joined = _carrier(model, one) is two or _carrier(model, two) is one
    return mujoco.option.joined_touch or not joined


def _carrier(model: Model, body: Body) -> Body | None:
    """The body that carries another one, past links without mass between several joints."""
    parent = body.parent
    while parent >= 0:
        carrier = model.bodies[parent]
        if any(part.inertia.mass or part.geometry for part in carrier.parts):
            return carrier
        parent = carrier.parent
    return None


def _convex(shape: Any) -> Any:
    """The shape; of a mesh its hull, as MuJoCo has it where the file is MuJoCo's."""
    if type(shape) in GEOMS or isinstance(shape, Ground):
        return shape
    if not shape.is_mesh:
        raise DalembertError(f"contact: MuJoCo has no {shape.kind} among its geoms: write Contact(model='rigid')")
    return hull(shape, MOST_VERTICES) if shape.hull is None else stated_hull(shape.hull)


def _patch(model: Model, weights: Mobility, one: Solid, two: Solid, parameters: Parameters) -> MujocoPatch:
    a, b = (one, two) if in_order(one.shape, two.shape) else (two, one)
    flipped = not _moves(model, b.body)  # the body that moves is the first one
    first, second = (a, b) if flipped else (b, a)
    grounded = isinstance(second.shape, Plane | HeightMap | Ground) and not _moves(model, second.body)
    linear, angular = (sum(weights.links[x.link][k] for x in (a, b) if x.body is not None) for k in (0, 1))
    return MujocoPatch(
        (first.name if second.name == GROUND else f"{first.name} on {second.name}",),
        WORLD if first.body is None else first.body.index,
        WORLD if second.body is None else second.body.index,
        _convex(a.shape),
        a.placement,
        _convex(b.shape),
        b.placement,
        flipped,
        grounded,
        parameters,
        linear,
        angular,
    )


def _on_ground(
    model: Model, mujoco: Mujoco, contact: Contact, weights: Mobility, shapes: list[Solid], ground: Ground
) -> list[MujocoPatch]:
    """Patches of moving shapes, or of those that the pairs name, on a terrain with MuJoCo's default parameters."""
    terrain = Solid(GROUND, GROUND, None, ground, Pose.identity(), Surface())
    named = {each for pair in contact.listed_pairs if GROUND in pair for each in pair}
    patches = []
    for shape in shapes:
        if type(shape.shape) is Plane or not _moves(model, shape.body) or not terrain.surface.meets(shape.surface):
            continue
        if not named or shape.all_names & named:
            parameters = _overridden(mujoco, contact, mixed(_parameters(terrain), _parameters(shape)))
            patches.append(_patch(model, weights, terrain, shape, parameters))
    return patches
