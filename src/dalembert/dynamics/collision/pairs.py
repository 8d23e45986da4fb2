"""The shapes of a robot that can touch, and which of its bodies may touch each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from dalembert.errors import DalembertError
from dalembert.model import Closure, Model, Surface
from dalembert.model.assembly import WORLD
from dalembert.model.content import fingerprint
from dalembert.model.joints import Free
from dalembert.shapes.hull import deviation
from dalembert.spatial import Pose

NO_SURFACE = Surface()


class _ByContent:
    """Equal and hashed by all numbers and names."""

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the content."""
        return fingerprint(self)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.fingerprint == self.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


@dataclass(frozen=True, eq=False)
class Solid(_ByContent):
    """A shape of a robot that can be touched, fixed in a body; meshes are their convex hulls."""

    name: str  # that of the shape, or of the link, numbered where it has several
    link: str
    body: int
    shape: Any
    placement: Pose  # in the body
    surface: Surface
    note: str = ""  # what is different from the file


@dataclass(frozen=True, eq=False)
class LinkPair(_ByContent):
    """Two links by name, and the pairs of their shapes that may touch."""

    a: str
    b: str
    solids: tuple[tuple[Solid, Solid], ...]


def solids(model: Model) -> tuple[Solid, ...]:
    """The collision shapes of a model, in the order of its bodies and links; meshes are read from their files."""
    known = model.__dict__.get("_solids")  # models are equal whatever their shapes are: no key for a cache
    if known is None:
        known = model.__dict__["_solids"] = tuple(_solids(model))
    return known


def _solids(model: Model) -> Iterator[Solid]:
    for body in model.bodies:
        for part in body.parts:
            shapes = [g for g in part.geometry if g.role == "collision"]
            for k, geometry in enumerate(shapes):
                name = geometry.name or (part.name if len(shapes) == 1 else f"{part.name} #{k + 1}")
                try:
                    shape, note = _convex(geometry.shape)
                except DalembertError as error:
                    raise DalembertError(f"collision shape {name!r} of link {part.name!r}: {error}") from None
                X = part.placement @ geometry.placement
                yield Solid(name, part.name, body.index, shape, X, geometry.surface or NO_SURFACE, note)


def _convex(shape: Any) -> tuple[Any, str]:
    """The shape that distances are computed from, and how it differs from the given one."""
    convex = shape.convex()
    if not shape.is_mesh:
        return convex, ""
    beyond = deviation(shape.surface()[0], convex)
    note = f"its convex hull of {len(convex.vertices)} vertices is taken"
    return convex, note + (f", beyond which the mesh reaches by up to {beyond:.2g} m" if beyond > 1e-9 else "")


def body_pairs(model: Model) -> tuple[LinkPair, ...]:
    """All pairs of bodies with shapes that may touch.

    Left out: neighbours, which a joint or a closure holds together, also through bodies without shapes; what the model
    excludes, link by link; shapes on layers that do not meet. A free joint holds nothing together, and the world is no
    neighbour: of a robot fixed in it, only the link that its first joint sits on.
    """
    shaped, excluded = _shaped(model), _excluded(model)
    closed = {frozenset((c.a.body, c.b.body)) for c in model.closures if isinstance(c, Closure)}
    near = []
    for a, b in combinations(sorted(shaped), 2):
        pair = _pair(model, model.bodies[a].name, model.bodies[b].name)
        pair = _that_may_touch(model, pair, shaped, excluded)
        if pair.solids and frozenset((a, b)) not in closed:
            near.append(pair)
    return tuple(near)


def _shaped(model: Model) -> set[int]:
    """The bodies with shapes."""
    return {solid.body for solid in solids(model)}


def _excluded(model: Model) -> set[frozenset[str]]:
    return {frozenset(names) for names in model.exclusions}


def _that_may_touch(model: Model, pair: LinkPair, shaped: set[int], excluded: set[frozenset[str]]) -> LinkPair:
    """The pair without shapes of neighbours, of links that the model excludes, and on layers that do not meet."""
    apart = tuple(
        (x, y)
        for x, y in pair.solids
        if x.surface.meets(y.surface)
        and frozenset((x.link, y.link)) not in excluded
        and not _are_neighbours(model, x, y, shaped)
    )
    return LinkPair(pair.a, pair.b, apart)


def _are_neighbours(model: Model, x: Solid, y: Solid, shaped: set[int]) -> bool:
    """Whether a joint holds the bodies of two shapes together, perhaps through bodies without shapes."""
    upper, lower = (x, y) if x.body < y.body else (y, x)  # parents come first
    body = model.bodies[lower.body]
    while body.parent >= 0 and not isinstance(body.joint, Free):
        parent = model.bodies[body.parent]
        if parent.index == upper.body:
            return parent.name != WORLD or (upper.link == body.mount != WORLD)
        if parent.index in shaped:
            return False
        body = parent
    return False


def link_pair(model: Model, a: str, b: str) -> LinkPair:
    """Two links by name, with the shapes that may touch; with all of them where the model leaves out every pair."""
    pair = _pair(model, a, b)
    for name in (a, b):
        if not _of(model, name):
            raise DalembertError(
                f"distance: link {name!r} of robot {model.name!r} has no collision shapes; those that have some: "
                f"{', '.join(dict.fromkeys(s.link for s in solids(model))) or 'none'}"
            )
    if not pair.solids:
        raise DalembertError(f"distance: {a!r} and {b!r} are parts of one body, or both planes: they do not move apart")
    kept = _that_may_touch(model, pair, _shaped(model), _excluded(model))
    return kept if kept.solids else pair


def _pair(model: Model, a: str, b: str) -> LinkPair:
    both = tuple(
        (x, y)
        for x in _of(model, a)
        for y in _of(model, b)
        if x.body != y.body and (x.shape.is_bounded or y.shape.is_bounded)
    )
    return LinkPair(a, b, both)


def _of(model: Model, name: str) -> list[Solid]:
    """The shapes of a body, with all links fixed to it, or of one of these links."""
    frame = model.frame(name)
    whole = model.bodies[frame.body].name == name if frame.body >= 0 else False
    return [s for s in solids(model) if (s.body == frame.body if whole else s.link == name)]
