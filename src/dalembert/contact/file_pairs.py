"""The pairs of shapes that an MJCF file lets touch, and the parameters of their contacts, mixed as in MuJoCo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

from dalembert.model import Body, Model, MujocoContact
from dalembert.model.geometry import Plane, Surface
from dalembert.model.mujoco import LEAST, SOFT, HeightMap, Mujoco, MujocoOption, MujocoPair, Softness
from dalembert.spatial import Pose

from .contact import DEFAULTS
from .planes import moves

LEAST_FRICTION = 1e-5
FRICTION = DEFAULTS["friction"], 0.005, 0.0001  # sliding, torsional [m], rolling [m] of a shape that states none
# of the friction of a contact: two places among its numbers, and the dimension from which on it counts
PLACES = {"friction": (0, 1, 3), "torsion": (2, 2, 4), "rolling": (3, 4, 6)}


class Solid(NamedTuple):
    """A collision shape of a link; body: None for shapes of the world that are no part of the model."""

    name: str
    link: str
    body: Body | None
    shape: Any
    placement: Pose  # in the body
    surface: Surface

    @property
    def all_names(self) -> set[str]:
        """Names under which a pair may refer to it."""
        return {self.name, self.link, *([] if self.body is None else [self.body.name])}

    def moves(self, model: Model) -> bool:
        """Whether a joint moves it."""
        return self.body is not None and moves(model, self.body)


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

    def under(self, option: MujocoOption) -> Parameters:
        """The same, or what the options of the file state for every contact."""
        if option.override is None:
            return self
        margin, softness, friction = option.override
        friction = tuple(max(x, LEAST_FRICTION) for x in friction)
        return replace(self, margin=margin, softness=softness, friction=friction, friction_solref=(0.0, 0.0))

    def number(self, option: str) -> float | None:
        """Friction, torsion or rolling, 0 where the dimension leaves it out; None where two directions differ."""
        first, second, condim = PLACES[option]
        one, two = self.friction[first], self.friction[second]
        if self.condim < condim or max(one, two) <= LEAST_FRICTION:
            return 0.0
        return one if one == two else None


def file_pairs(model: Model, mujoco: Mujoco, shapes: Sequence[Solid]) -> Iterator[tuple[Solid, Solid, Parameters]]:
    """Pairs of shapes of which one moves, with their parameters: those of <pair>, then all that the masks let touch."""
    numbers = {shape.name: k for k, shape in enumerate(shapes)}
    listed = set()
    for pair in mujoco.pairs:
        if pair.a in numbers and pair.b in numbers:
            one, two = (shapes[k] for k in sorted((numbers[pair.a], numbers[pair.b])))
            listed.add(frozenset((one.name, two.name)))
            if _can_meet(model, one, two):
                yield one, two, _stated(pair).under(mujoco.option)
    excluded = {frozenset(pair) for pair in model.exclusions}
    for one, two in combinations(shapes, 2):
        if frozenset((one.name, two.name)) in listed or frozenset((one.link, two.link)) in excluded:
            continue
        if not _are_apart(model, mujoco, one, two) or not one.surface.meets(two.surface):
            continue
        if _can_meet(model, one, two):
            yield one, two, mixed(parameters_of(one), parameters_of(two)).under(mujoco.option)


def parameters_of(shape: Solid) -> MujocoContact:
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


def _can_meet(model: Model, one: Solid, two: Solid) -> bool:
    """Whether one of both moves, and not both are planes or height fields."""
    if not (one.moves(model) or two.moves(model)):
        return False
    return not all(isinstance(x.shape, Plane | HeightMap) for x in (one, two))


def _are_apart(model: Model, mujoco: Mujoco, one: Solid, two: Solid) -> bool:
    """Different bodies, which no joint connects; those fixed in the world meet all."""
    if not one.moves(model) or not two.moves(model):
        return True
    if one.body is two.body:
        return False
    assert one.body is not None and two.body is not None
    joined = _carrier(model, one.body) is two.body or _carrier(model, two.body) is one.body
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
