"""Many bodies, loose or carried by joints: which of all pairs touch, found in loops whose code does not grow with them.

Pairs of shapes of one kind are a loop. Those whose bounds come near each other are listed, then their points are
computed, and the points that may touch within a step go into slots. Bodies are told apart by number, the world behind
them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import RecentSame
from dalembert.dynamics.algorithms import neutral, poses
from dalembert.dynamics.algorithms.free_bodies import drifts
from dalembert.dynamics.collision import ground_points, pair_points
from dalembert.dynamics.collision.groups import Numbers, convex, pose_numbers, pose_of
from dalembert.linear import Columns
from dalembert.math import lookup, minimum, visit, where
from dalembert.math import map as mapped
from dalembert.model import Body, Closure, Model
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

from .bounds import Solid, bounded
from .candidates import WORLD, Patch, like
from .gathering import NEAR, NOWHERE
from .planes import moves
from .solver import coloured, ordered

PAIRS_PER_BODY = 5  # pairs at a time for which there is room, of each kind
PAIRS = 250  # of a kind: as many have room in any case
POINTS_PER_BODY = {True: 5, False: 10}  # contacts at a time of a loose body, where every pair has one point, and else
POINTS_OF_LINKS = 96  # contacts at a time of all bodies that joints carry
MORE = 16  # pairs and contacts beyond that
LOOPED = 2  # loose bodies from which on they are looped over, alone or beside links
BOUND = Columns(centre=(3,), radius=(), ahead=(), half=(3,), axes=(3, 3))  # of a solid: see `Scene._bounds`
AHEAD_COLUMN = 12  # the column of a body's row with how far it may move, behind its pose
CONTACT = Columns(number=(), bodies=(2,), gap=(), position=(3,), normal=(3,), aside=(3,))  # of a row: see `Touching`
WIDTH = CONTACT.width  # numbers of a row, also of a body: its pose, and how far it may move


class Touching(NamedTuple):
    """Contacts of a state in k slots, the first `count`: number (k,) of the candidate, numbers of both bodies (k, 2).

    gap (k,) [m], position (k, 3) [m], normal (k, 3) from the second body to the first, aside (k, 3) [m]: the place on
    the first body from the position, and minus that on the second. group (k,): neighbours with the same number have no
    body in common. lost: how many found no room.
    """

    number: np.ndarray
    bodies: np.ndarray
    gap: np.ndarray
    position: np.ndarray
    normal: np.ndarray
    aside: np.ndarray
    group: np.ndarray
    count: Any
    lost: Any


class _Group(NamedTuple):
    """Patches of one kind: numbers of their first points, of bodies (n, 2), and what tells them apart."""

    patches: list[Patch]
    first: np.ndarray
    bodies: np.ndarray
    sizes: tuple[Numbers, Numbers]
    places: tuple[np.ndarray, np.ndarray]

    @property
    def points(self) -> int:
        """Points of each patch."""
        return len(self.patches[0].names)


def is_loose(model: Model, body: Body) -> bool:
    """Whether a body moves freely, carries nothing, nothing holds it, and nothing acts at its joint."""
    joint = body.joint
    effects = (joint.armature, joint.damping, joint.friction, joint.stiffness)
    alone = all(other.parent != body.index for other in model.bodies)
    constant = body.inertia.about_com().dtype.kind != "O"
    held = any(body.index in (c.a.body, c.b.body) for c in model.closures if isinstance(c, Closure))
    return drifts(model, body) and alone and constant and not held and not any(np.any(x) for x in effects)


_recent, _grown = RecentSame(8), RecentSame(8, lasting=True)


def scene_of(model: Model, patches: Sequence[Patch], growth: int = 1) -> Scene:
    """The scene of a model with so many times the usual room; kept for the same patches."""
    scenes: dict[int, Scene] = _recent.get((model, patches), dict)
    if growth not in scenes:
        scenes[growth] = Scene(model, patches, growth)
    grown: dict[Any, int] = _grown.get((model,), dict)
    grown[_outline(patches)] = max(growth, grown.get(_outline(patches), 1))
    return scenes[growth]


def known_growth(model: Model, patches: Sequence[Patch]) -> int:
    """The largest growth of room with which a scene of such patches was asked for, whatever their laws."""
    grown: dict[Any, int] = _grown.get((model,), dict)
    return grown.get(_outline(patches), 1)


def _outline(patches: Sequence[Patch]) -> tuple[Any, ...]:
    """How many patches there are, and names of the first and the last."""
    return len(patches), *(patches[k].names for k in (0, -1) if patches)


class Scene:
    """Bodies of a model that move, and the patches in which they may touch each other and what is fixed.

    loose: those that nothing holds, the first ones by number; links: those that joints carry, behind them. growth: of
    the room for pairs and contacts. numbers: of the first points of patches, where these are a part of others;
    of_links: whether they all have a link.
    """

    def __init__(
        self,
        model: Model,
        patches: Sequence[Patch],
        growth: int = 1,
        numbers: Sequence[int] = (),
        of_links: bool = False,
    ) -> None:
        self.model, self.patches, self.of_links, self.is_part = model, patches, of_links, bool(numbers)
        self.growth = growth
        self.first_points = numbers or np.cumsum([0, *(len(patch.names) for patch in patches)])[:-1].tolist()
        moving = [body for body in model.bodies if moves(model, body)]
        self.loose = [body for body in moving if is_loose(model, body)]
        self.links = [body for body in moving if not is_loose(model, body)]
        self.bodies = [*self.loose, *self.links]
        self.world = len(self.bodies)
        self.numbers = {body.index: k for k, body in enumerate(self.bodies)}
        self._fixed = poses(model, neutral(model))

    @cached_property
    def parts(self) -> list[Scene]:
        """Contacts of loose bodies alone, and those of links; without those that have no patches."""
        links = {body.index for body in self.links}
        kinds: dict[bool, list[int]] = {False: [], True: []}
        for k, patch in enumerate(self.patches):
            kinds[patch.first in links or patch.second in links].append(k)
        return [
            Scene(
                self.model,
                [self.patches[k] for k in members],
                self.growth,
                [self.first_points[k] for k in members],
                of_links,
            )
            for of_links, members in kinds.items()
            if members
        ]

    @property
    def pairs_of_loose(self) -> bool:
        """Whether two loose bodies may touch each other."""
        loose = {body.index for body in self.loose}
        return any(patch.first in loose and patch.second in loose for patch in self.patches)

    @property
    def looped(self) -> bool:
        """Whether loose bodies are so many that they are looped over, with contacts by `parts`."""
        return len(self.loose) >= LOOPED

    @property
    def room(self) -> int:
        """Contacts at a time."""
        if self.looped and not self.is_part:
            return sum(part.room for part in self.parts)
        single = all(len(patch.names) == 1 for patch in self.patches)
        every = sum(len(patch.names) for patch in self.patches)
        loose = 0 if self.of_links else POINTS_PER_BODY[single] * len(self.loose)
        links = POINTS_OF_LINKS if self.of_links or (self.links and not self.is_part) else 0
        return min(every, self.growth * (loose + links + MORE))

    @cached_property
    def groups(self) -> list[_Group]:
        """All patches, by kind."""
        listed: dict[Any, list[tuple[int, Patch]]] = {}
        for number, patch in zip(self.first_points, self.patches, strict=True):
            listed.setdefault(like(patch), []).append((number, patch))
        return [self._group(members) for members in listed.values()]

    def _group(self, members: list[tuple[int, Patch]]) -> _Group:
        patches = [patch for _, patch in members]
        shapes, others = [patch.shape for patch in patches], [patch.other for patch in patches]
        if patches[0].ground is None:
            shapes, others = convex(shapes), convex(others)
        sides = [
            [self._placed(patch.first, patch.placement) for patch in patches],
            [self._placed(patch.second, _placed(patch)) for patch in patches],
        ]
        return _Group(
            patches,
            np.array([float(number) for number, _ in members]),
            np.array([[float(body) for body, _ in side] for side in sides]).T,
            (Numbers(shapes), Numbers(others)),
            (_placements(sides[0]), _placements(sides[1])),
        )

    def _placed(self, index: int, placement: Pose) -> tuple[int, Pose]:
        """The number of a body, and a placement in it; what is fixed is placed in the world."""
        if index in self.numbers:
            return self.numbers[index], placement
        return self.world, placement if index == WORLD else self._fixed[index] @ placement

    def touching(self, placed: np.ndarray, later: np.ndarray) -> Touching:
        """The contacts of a state. placed (n + 1, 13): poses, and how far bodies may move within a step; later
        (n + 1, 12): poses after it."""
        bodies = self.world + 1
        table = np.concatenate([placed, np.zeros((self.room, WIDTH))])
        count: Any = 0.0
        lost: Any = 0.0
        for group in self.groups:
            if group.patches[0].ground is not None:
                table, count = self._against_ground(group, placed, table, count)
            else:
                table, count, dropped = self._in_pairs(group, placed, later, table, count)
                lost = lost + dropped
        rows, room = table[bodies:], float(self.room)
        lost = lost + where(count > room, count - room, 0.0)
        count = minimum(count, room)
        colours = coloured(CONTACT.named(rows)["bodies"], count, self.world)
        contacts = CONTACT.named(ordered(rows, colours.place, count))
        return Touching(**contacts, group=colours.group, count=count, lost=lost)

    def _in_pairs(
        self, group: _Group, placed: np.ndarray, later: np.ndarray, table: np.ndarray, count: Any
    ) -> tuple[np.ndarray, Any, Any]:
        """The table of poses and contacts with those of a group, how many there are now, and pairs without room."""
        listed, pair_count, lost = self._near_pairs(group, placed)
        constants, sizes = np.column_stack([group.first, group.bodies]), group.sizes
        at = mapped(lambda k: {"at": _looked_up(group.bodies, k)}, {"k": listed}, pair_count)["at"]

        def one(rows: Any, k: Any) -> dict[str, Any]:
            first, *bodies = _looked_up(constants, k)
            shapes = [each.shape(_looked_up(each.sizes, k)) for each in sizes]
            places = [pose_of(_looked_up(place, k)) for place in group.places]
            X = [pose_of(row) @ place for row, place in zip(rows, places, strict=True)]
            after = pose_of(rows[0, WIDTH:]) @ places[0], pose_of(rows[1, WIDTH:]) @ places[1]
            ahead, contacts, near = rows[0, AHEAD_COLUMN] + rows[1, AHEAD_COLUMN], [], []
            for i, w in enumerate(pair_points(shapes[0], X[0], shapes[1], X[1], after)):
                near.append(where(w.distance < NEAR + ahead, 1.0, 0.0))
                aside = w.half_apart(group.patches[0].is_aside)
                contacts.append(_contact(first + float(i), bodies, w.distance, w.position, w.normal, aside))
            return {"near": np.array(near), "contacts": np.array(contacts)}

        poses = np.concatenate([placed, later], axis=1)
        pair_contacts = visit(one, {"k": listed}, poses, at, count=pair_count)  # of one state several pairs at once
        points = {name: pair_contacts[name] for name in ("near", "contacts")}

        def keep(_: Any, count: Any, near: Any, contacts: Any) -> dict[str, Any]:
            to = []
            for each in near:
                to.append(where(each > 0.5, count + float(self.world + 1), -1.0))
                count = count + each
            return {"rows": contacts, "to": np.array(to), "count": count}

        end = visit(keep, points, table, carry={"count": count}, count=pair_count)
        return end["table"], end["count"], lost

    def _against_ground(
        self, group: _Group, placed: np.ndarray, table: np.ndarray, count: Any
    ) -> tuple[np.ndarray, Any]:
        """The table of poses and contacts with those of a group, and how many there are now."""
        ground = group.patches[0].ground
        assert ground is not None

        def one(first: Any, bodies: Any, row: Any, place: Any, size: Any) -> dict[str, Any]:
            witnesses = ground_points(group.sizes[0].shape(size), pose_of(row) @ pose_of(place), ground)
            near = [where(w.distance < NEAR + row[AHEAD_COLUMN], 1.0, 0.0) for w in witnesses]
            numbers = first + np.arange(float(group.points))
            contacts = [_contact(k, bodies, w.distance, w.a, w.normal) for k, w in zip(numbers, witnesses, strict=True)]
            return {"near": np.array(near), "contact": np.array(contacts)}

        rows = placed[group.bodies[:, 0].astype(int)]
        items = {"first": group.first, "bodies": group.bodies, "row": rows, "place": group.places[0]}
        points = mapped(one, items | {"size": group.sizes[0].sizes})

        def keep(_: Any, count: Any, contact: Any) -> dict[str, Any]:
            return {"rows": contact[None], "to": np.array([count + float(self.world + 1)]), "count": count + 1.0}

        near, contacts = points["near"].ravel(), {"contact": points["contact"].reshape(-1, WIDTH)}
        end = visit(keep, contacts, table, carry={"count": count}, wanted=near)
        return end["table"], end["count"]

    # ---- which pairs come near

    def _near_pairs(self, group: _Group, placed: np.ndarray) -> tuple[np.ndarray, Any, Any]:
        """Numbers (k,) of pairs of a group whose bounds come near each other, how many, and how many have no room."""
        n = len(group.patches)
        room = min(n, self.growth * max(PAIRS_PER_BODY * self.world + MORE, PAIRS))
        solids: dict[Any, int] = {}
        every: list[Solid] = []
        pairs = np.zeros((n, 2), int)
        for k, patch in enumerate(group.patches):
            for side, (index, shape) in enumerate(((patch.first, patch.shape), (patch.second, patch.other))):
                body, placement = self._placed(index, patch.placement if side == 0 else _placed(patch))
                key = body, id(shape), placement.R.tobytes(), placement.p.tobytes()
                if key not in solids:
                    solids[key] = len(every)
                    every.append(bounded(body, placement, shape))
                pairs[k, side] = solids[key]
        bounds = self._bounds(every, placed)
        first, second = (BOUND.named(bounds[pairs[:, side]]) for side in (0, 1))
        round_ones = all(patch.other is not None and patch.other.symmetry == "all" for patch in group.patches)

        def test(a: Any, b: Any) -> dict[str, Any]:
            between, margin = a["centre"] - b["centre"], a["radius"] + a["ahead"] + b["ahead"] + NEAR
            if round_ones:
                square, margin = dot(between, between), margin + b["radius"]
            else:
                sides = zip(b["axes"].T @ between, b["half"], strict=True)
                outside = [where(x > y, x - y, where(x < -y, x + y, 0.0)) for x, y in sides]
                square = sum(x * x for x in outside)
            return {"near": where(square < margin * margin, 1.0, 0.0)}

        ball = ("centre", "radius", "ahead")
        a, b = {name: first[name] for name in ball}, {name: second[name] for name in (ball if round_ones else second)}
        near = mapped(test, {"a": a, "b": b})["near"]  # of one state several at once

        def list_it(_: Any, count: Any, k: Any) -> dict[str, Any]:
            return {"rows": np.array([[k]]), "to": np.array([count]), "count": count + 1.0}

        items = {"k": np.arange(float(n))}
        listed = visit(list_it, items, np.zeros((room, 1)), carry={"count": 0.0}, wanted=near)
        count = minimum(listed["count"], float(room))
        return listed["table"][:, 0], count, listed["count"] - count

    def _bounds(self, solids: list[Solid], placed: np.ndarray) -> np.ndarray:
        """Rows of `BOUND` (m, 17): centre, radius of a ball around it, how far it may move, box around it, its axes."""

        def one(row: Any, place: Any, radius: Any, half: Any) -> dict[str, Any]:
            X = pose_of(row) @ pose_of(place)
            return {"bound": BOUND.row(centre=X.p, radius=radius, ahead=row[AHEAD_COLUMN], half=half, axes=X.R)}

        return mapped(
            one,
            {
                "row": placed[[solid.body for solid in solids]],
                "place": np.array([pose_numbers(solid.placement) for solid in solids]),
                "radius": np.array([solid.radius for solid in solids]),
                "half": np.array([solid.half for solid in solids]),
            },
        )["bound"]


def _placed(patch: Patch) -> Pose:
    """The second shape in its body."""
    return patch.other_placement or Pose.identity()


def _contact(
    number: Any, bodies: Sequence[Any], gap: Any, position: np.ndarray, normal: np.ndarray, aside: Any = NOWHERE
) -> np.ndarray:
    """The row of a contact."""
    return CONTACT.row(number=number, bodies=bodies, gap=gap, position=position, normal=normal, aside=aside)


def _looked_up(table: np.ndarray, number: Any) -> np.ndarray:
    """A row of constants (n, m); columns of equal numbers are constants."""
    return np.array(
        [float(column[0]) if np.ptp(column) == 0.0 else lookup(column, number) for column in table.T], object
    )


def _placements(sides: list[tuple[int, Pose]]) -> np.ndarray:
    return np.array([pose_numbers(X) for _, X in sides])
