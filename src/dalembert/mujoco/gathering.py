"""Pairs of shapes of one kind, as loops: which of them may touch, and the points in which they do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.contact.candidates import WORLD
from dalembert.contact.gathering import Motions, freedom_signs, number_of, tied
from dalembert.dynamics.collision import FAR, Ground
from dalembert.dynamics.collision.bounds import Bound, bound
from dalembert.dynamics.collision.groups import Numbers, alike, alike_in_pairs, pose_numbers, pose_of
from dalembert.dynamics.collision.lines import between_segments
from dalembert.dynamics.collision.prisms import prism
from dalembert.math import abs as absolute
from dalembert.math import logical_and, logical_not, lookup, take, visit, where
from dalembert.math import map as mapped
from dalembert.model import Model
from dalembert.model.geometry import Plane
from dalembert.model.mujoco import HeightMap
from dalembert.spatial import Pose, cross
from dalembert.spatial.vectors import dot
from dalembert.typing import Array

from .candidates import MujocoPatch
from .heights import MOST_POINTS, Field, below, ends_early, prism_point
from .points import ContactPoint, shape_points, terrain_points
from .rows import SlottedContacts, contact_numbers, contact_springs, impedance

SLOTS = 64  # contacts at a time; where there are more, accelerations are NaN
WIDTH = 12  # numbers of a pose, and of a slot
WINDOW = 19  # numbers of the cells below a shape
UP = np.array([0.0, 0.0, 1.0])


def kind_of(patch: MujocoPatch) -> tuple[Any, ...]:
    """Key that pairs of one loop share."""
    if isinstance(patch.a, HeightMap):
        return id(patch.a), alike_in_pairs(patch.b), ends_early(patch.b, patch.parameters.reach)
    on_ground = isinstance(patch.a, Ground)
    kinds = (id(patch.a), alike(patch.b)) if on_ground else (alike_in_pairs(patch.a), alike_in_pairs(patch.b))
    return *kinds, patch.flipped


def group_of(model: Model, patches: Sequence[MujocoPatch], members: Sequence[int], first_points: Array) -> PairGroup:
    """Pairs of one kind; members: their numbers among all pairs."""
    on_heights = isinstance(patches[members[0]].a, HeightMap)
    return (HeightGroup if on_heights else PairGroup)(model, patches, members, first_points)


class PairGroup:
    """Pairs that differ in sizes and places alone; members: their numbers among all pairs."""

    def __init__(
        self, model: Model, patches: Sequence[MujocoPatch], members: Sequence[int], first_points: Array
    ) -> None:
        self.members, self.pairs = members, [patches[k] for k in members]
        self.first = self.pairs[0]
        self.a, self.b = Numbers([p.a for p in self.pairs]), Numbers([p.b for p in self.pairs])
        world = len(model.bodies)
        ordered = [(p.first, p.second) if p.flipped else (p.second, p.first) for p in self.pairs]
        self.bodies = np.array([[world if k == WORLD else k for k in both] for both in ordered])
        places = [np.concatenate([pose_numbers(p.placement_a), pose_numbers(p.placement_b)]) for p in self.pairs]
        reaches = np.array([p.parameters.reach for p in self.pairs])
        self.numbers = np.array([members, first_points[list(members)]], float).T  # of each pair, and its first point
        self.margins = np.array([p.parameters.margin for p in self.pairs])
        sizes = {"size_a": self.a.sizes, "size_b": self.b.sizes}
        self.placed = {**sizes, "places": np.array(places), "reach": reaches}

    def near(self, X: Sequence[Pose]) -> tuple[Any, ...]:
        """The numbers (pairs,) in the group of those pairs that may touch, and how many they are."""
        poses, capsules, reaches = [*X, Pose.identity()], [], []
        for patch, (i, j), margin in zip(self.pairs, self.bodies, self.margins, strict=True):
            a = self._bound(patch).placed(poses[i])
            b = bound(patch.b).placed(patch.placement_b).placed(poses[j])
            capsules.append(np.concatenate([a.centre, a.half, b.centre, b.half]))
            reaches.append(a.radius + b.radius + margin)

        def one(_: Any, count: Any, number: Any, capsules: Array, reach: Any) -> dict[str, Any]:
            close = self._close(capsules.reshape(4, 3), reach)
            to = np.array([where(close, count, -1.0)])
            return {"count": count + where(close, 1.0, 0.0), "to": to, "rows": np.array([[number]])}

        numbers = np.arange(float(len(self.pairs)))
        items = {"number": numbers, "capsules": np.array(capsules), "reach": np.array(reaches)}
        end = visit(one, items, np.zeros((len(self.pairs), 1)), None, {"count": 0.0})
        return end["table"][:, 0], end["count"]

    def gathered(self, near: tuple[Any, ...], table: Array, count: Any, bodies: int) -> tuple[Array, Any]:
        """The table of poses and slots with the contacts of these pairs, and how many there are in all."""

        def one(poses: Array, count: Any, number: Any) -> dict[str, Any]:
            placed = {name: lookup(x, number) for name, x in self.placed.items()}
            (pair, point), margin = lookup(self.numbers, number), lookup(self.margins, number)
            to, rows = [], []
            for i, each in enumerate(self._points(poses, **placed)):
                touches = each.distance < margin
                to.append(where(touches, count + float(bodies), -1.0))
                rows.append([pair, point + float(i), each.distance, *each.position, *each.axes[:2].ravel()])
                count = count + where(touches, 1.0, 0.0)
            return {"count": count, "to": np.array(to), "rows": np.array(rows)}

        numbers, many = near
        at = mapped(lambda number: {"at": lookup(self.bodies, number)}, {"number": numbers}, many)["at"]
        end = visit(one, {"number": numbers}, table, at, {"count": count}, many)
        return end["table"], end["count"]

    def all_points(self, X: Sequence[Pose]) -> Iterable[Array]:
        """Distance, position and normal (points, 7) of each pair."""

        def one(poses: Array, *placed: Any) -> dict[str, Any]:
            points = self._points(poses, *placed)
            return {"points": np.array([[p.distance, *p.position, *p.normal] for p in points])}

        return visit(one, self.placed, pose_table(X), self.bodies)["points"]

    def _bound(self, patch: MujocoPatch) -> Bound:
        """Capsule around the first shape, in its body; a plane has its origin, and its normal instead of a segment."""
        if isinstance(patch.a, Plane):
            return Bound(patch.placement_a.p, patch.placement_a.R @ patch.a.normal, 0.0)
        if isinstance(patch.a, HeightMap):  # the plane through its highest point
            highest = np.array([0.0, 0.0, patch.a.z.max()])
            return Bound(patch.placement_a.point(highest), patch.placement_a.R[:, 2], 0.0)
        if isinstance(patch.a, Ground):
            return Bound(np.zeros(3), np.zeros(3), 0.0)
        return bound(patch.a).placed(patch.placement_a)

    def _close(self, capsules: Array, reach: Any) -> Any:
        """Condition that a pair may be within its margin; capsules (4, 3): centre, half of a, then of b."""
        centre_a, half_a, centre_b, half_b = capsules
        if isinstance(self.first.a, Ground):
            return reach > -1.0
        if isinstance(self.first.a, Plane | HeightMap):
            return dot(half_a, centre_b - centre_a) - absolute(dot(half_a, half_b)) < reach
        a, b = between_segments(centre_a, half_a, centre_b, half_b)
        return dot(a - b, a - b) < reach * reach

    def _points(self, poses: Array, size_a: Any, size_b: Any, places: Any, reach: Any) -> list[ContactPoint]:
        X_a, X_b = pose_of(poses[0]) @ pose_of(places[:WIDTH]), pose_of(poses[1]) @ pose_of(places[WIDTH:])
        if isinstance(self.first.a, Ground):
            return terrain_points(self.first.a, self.b.shape(size_b), X_b)
        points = shape_points(self.a.shape(size_a), X_a, self.b.shape(size_b), X_b, reach)
        return [point.flipped() for point in points] if self.first.flipped else points


class HeightGroup(PairGroup):
    """Shapes of one kind on a height field, which does not move."""

    def __init__(
        self, model: Model, patches: Sequence[MujocoPatch], members: Sequence[int], first_points: Array
    ) -> None:
        super().__init__(model, patches, members, first_points)
        assert isinstance(self.first.a, HeightMap)
        self.field = Field(self.first.a)
        self.early = ends_early(self.first.b, self.first.parameters.reach)
        self.most = sum(self.field.most_prisms(p.b, p.parameters.reach) for p in self.pairs)
        self.starts = np.cumsum([0, *(len(p.names) for p in self.pairs)])  # of the points of each pair in the group

    def near(self, X: Sequence[Pose]) -> tuple[Any, ...]:
        """The prisms (k, 4) that may touch, how many they are, and the windows (n, 19) they are in: see `below`."""
        numbers, many = super().near(X)
        bodies, rest = len(X) + 1, WINDOW - WIDTH

        def one(rows: Array, kept: Any, total: Array, number: Any) -> dict[str, Any]:
            place = lookup(self.placed["places"][:, WIDTH:], number)
            X = self.first.placement_a.inverse() @ (pose_of(rows[1]) @ pose_of(place))
            shape, reach = self._solid(number)
            window = self.field.window(shape, X, reach)
            prisms = 2.0 * window[2] * window[3]
            row = np.array([*window, number, total, *pose_numbers(X)])
            to = np.array([where(prisms > 0.0, kept + float(bodies), -1.0)])
            return {"kept": kept + where(prisms > 0.0, 1.0, 0.0), "total": total + prisms, "to": to, "rows": row[None]}

        poses = np.concatenate([pose_table(X), np.zeros((bodies, rest))], axis=1)
        table = np.concatenate([poses, np.zeros((len(self.pairs), WINDOW))])
        at = mapped(lambda number: {"at": lookup(self.bodies, number)}, {"number": numbers}, many)["at"]
        end = visit(one, {"number": numbers}, table, at, {"kept": 0.0, "total": 0.0}, many)
        windows = end["table"][bodies:]
        return *below(self.field, windows, end["total"], self.most, self._solid), windows

    def gathered(self, near: tuple[Any, ...], table: Array, count: Any, bodies: int) -> tuple[Array, Any]:
        prisms, many, windows = near

        def one(_: Any, count: Any, before: Any, found: Any, prism: Any) -> dict[str, Any]:
            number, place, point, exists = self._point(windows, before, found, prism)
            pair, first = lookup(self.numbers, number)
            touches = logical_and(exists, logical_not(point.distance >= lookup(self.margins, number)))
            row = [pair, first + place, point.distance, *point.position, *point.axes[:2].ravel()]
            return {
                "count": count + where(touches, 1.0, 0.0),
                "before": number,
                "found": place + where(exists, 1.0, 0.0),
                "to": np.array([where(touches, count + float(bodies), -1.0)]),
                "rows": np.array([row]),
            }

        end = visit(one, {"prism": prisms}, table, None, {"count": count, "before": -1.0, "found": 0.0}, many)
        too_many = where(many > float(len(prisms)), SLOTS + 1.0, 0.0)
        return end["table"], end["count"] + too_many

    def all_points(self, X: Sequence[Pose]) -> Iterable[Array]:
        prisms, many, windows = self.near(X)

        def one(_: Any, before: Any, found: Any, prism: Any) -> dict[str, Any]:
            number, place, point, exists = self._point(windows, before, found, prism)
            to = where(exists, lookup(self.starts.astype(float), number) + place, -1.0)
            row = np.array([point.distance, *point.position, *point.normal])
            found = place + where(exists, 1.0, 0.0)
            return {"before": number, "found": found, "to": np.array([to]), "rows": row[None]}

        nowhere = np.tile([FAR, 0.0, 0.0, 0.0, *UP], (self.starts[-1], 1))
        end = visit(one, {"prism": prisms}, nowhere, None, {"before": -1.0, "found": 0.0}, many)
        return np.split(end["table"], self.starts[1:-1])

    def _point(self, windows: Array, before: Any, found: Any, row: Any) -> tuple[Any, Any, ContactPoint, Any]:
        """Pair of a prism by number, place of its point among those of that pair, the point, and whether it exists.

        before: the number of the pair of the prism before; found: how many points that pair has by now.
        """
        (window,) = take(windows, row[:1])
        number, (shape, reach) = window[5], self._solid(window[5])
        body = prism(self.field.corners(*row[1:]), -self.field.base)
        gap, position, normal = prism_point(body, shape, pose_of(window[7:]), reach, self.early)
        place = where(number == before, found, 0.0)
        exists = logical_and(logical_not(gap >= 0.5 * FAR), place < float(MOST_POINTS))  # NaN is not left out
        X_F = self.first.placement_a
        return number, place, ContactPoint(gap, X_F.point(position), X_F.R @ normal), exists

    def _solid(self, number: Any) -> tuple[Any, Any]:
        """Shape of a pair, and its reach [m]."""
        return self.b.shape(lookup(self.placed["size_b"], number)), lookup(self.placed["reach"], number)


def pose_table(X: Sequence[Pose]) -> Array:
    """(bodies + 1, 12): the poses of all bodies, and of the world."""
    return np.array([pose_numbers(x) for x in (*X, Pose.identity())])


class Slots(NamedTuple):
    """Contacts in k slots, of which `count` are taken: pair (k,) and point (k,), their numbers; distance (k,) [m].

    position (k, 3); axes (k, 3, 3), rows normal and two tangents. overfull: whether there were more.
    """

    pair: Array
    point: Array
    distance: Array
    position: Array
    axes: Array
    count: Any
    overfull: Any


class MujocoGathering:
    """Pairs of shapes of a model, by kind."""

    def __init__(self, model: Model, patches: Sequence[MujocoPatch]) -> None:
        self.model, self.patches = model, patches
        self.first_points = np.cumsum([0, *(len(patch.names) for patch in patches)])
        groups: dict[Any, list[int]] = {}
        for k, patch in enumerate(patches):
            groups.setdefault(kind_of(patch), []).append(k)
        self.groups = [group_of(model, patches, members, self.first_points) for members in groups.values()]
        self.turning = tuple(range(max(patch.parameters.condim for patch in patches) - 3))

    def __len__(self) -> int:
        """Points in all."""
        return int(self.first_points[-1])

    @cached_property
    def signs(self) -> Array:
        """(pairs, freedoms): 1 where a freedom moves the first body of a pair, −1 the second."""
        return freedom_signs(self.model, [(patch.first, patch.second) for patch in self.patches])

    @cached_property
    def pattern(self) -> Array:
        """(nv, nv): whether some pair ties two velocities together."""
        return tied(self.model, self.signs)

    def slots(self, X: Sequence[Pose]) -> Slots:
        """Return all contacts with the bodies at X."""
        k, bodies = min(SLOTS, len(self)), len(X) + 1
        table, count = np.concatenate([pose_table(X), np.zeros((k, WIDTH))]), 0.0
        for group in self.groups:
            table, count = group.gathered(group.near(X), table, count, bodies)
        rows = table[bodies:]
        first, second = rows[:, 6:9], rows[:, 9:12]
        third = mapped(lambda a, b: {"across": cross(a, b)}, {"a": first, "b": second}, count)["across"]
        axes = np.stack([first, second, third], axis=1)
        overfull = where(count > float(k), 1.0, 0.0)
        return Slots(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3:6], axes, count, overfull)

    def contacts(
        self, slots: Slots, motions: Motions, v: Array, cone: str, impratio: float, shortest: float
    ) -> SlottedContacts:
        """Return constraints of contacts in slots: see `rows`."""
        parameters = _PairParameters(self.patches, cone, shortest)

        def one(pair: Any, distance: Any, position: Array, axes: Array) -> dict[str, Any]:
            J = motions.rows(lookup(self.signs, pair), axes, position, self.turning)
            depth = distance - parameters.value("margin", pair)
            springs = [parameters.value(name, pair) for name in ("stiffness", "damping", "sliding_damping")]
            friction = [parameters.value(f"friction {j}", pair) for j in range(len(J) - 1)]
            d, weight = parameters.impedance(pair, depth), parameters.value("weight", pair)
            numbers = contact_numbers(cone, impratio, friction, J @ v, depth, springs, d, weight)
            return {"J": J} | numbers

        items = {"pair": slots.pair, "distance": slots.distance, "position": slots.position, "axes": slots.axes}
        rows = mapped(one, items, slots.count)
        return SlottedContacts(cone, **rows, count=slots.count, pattern=self.pattern)

    def points(self, X: Sequence[Pose]) -> tuple[Array, Array, Array]:
        """Distance (n,), position (n, 3) and normal (n, 3) of all points with the bodies at X."""
        rows = np.zeros((len(self), 7), object)
        for group in self.groups:
            for k, of_pair in zip(group.members, group.all_points(X), strict=True):
                rows[self.first_points[k] : self.first_points[k + 1]] = of_pair
        return rows[:, 0], rows[:, 1:4], rows[:, 4:]

    def velocities(self, motions: Motions, position: Array, v: Array) -> Array:
        """(n, 3): how fast the first body of each point moves past the second, in world axes [m/s]."""
        twists = motions.twists(v)
        owners = [patch for patch in self.patches for _ in patch.names]
        relative = np.array([twists[p.first] - twists[p.second] for p in owners])

        def one(position: Array, twist: Any) -> dict[str, Any]:
            return {"velocity": twist[3:] + cross(twist[:3], position - motions.reference)}

        return mapped(one, {"position": position, "twist": relative})["velocity"]

    def by_point(self, slots: Slots, forces: Array) -> Array:
        """(n, 3): forces (k, 3) along the axes of slots, in world axes at the points that they are of."""

        def one(_: Any, point: Any, axes: Array, force: Any) -> dict[str, Any]:
            return {"to": np.array([point]), "rows": (axes.T @ force)[None]}

        items = {"point": slots.point, "axes": slots.axes, "force": forces}
        return visit(one, items, np.zeros((len(self), 3)), count=slots.count)["table"]


class _PairParameters:
    """Parameters of all pairs, by number; what is the same for all is a constant."""

    def __init__(self, patches: Sequence[MujocoPatch], cone: str, shortest: float) -> None:
        self.softness = list(dict.fromkeys(patch.parameters.softness for patch in patches))
        self.columns: dict[str, Sequence[float]] = {
            "softness": [float(self.softness.index(p.parameters.softness)) for p in patches],
            "margin": [p.parameters.margin for p in patches],
            "weight": [p.linear for p in patches],
        }
        springs = [contact_springs(p.parameters, cone, shortest) for p in patches]
        for name, values in zip(("stiffness", "damping", "sliding_damping"), zip(*springs, strict=True), strict=True):
            self.columns[name] = values
        for j in range(5):
            sizes = [p.parameters.friction[j] if j < p.parameters.condim - 1 else 0.0 for p in patches]
            self.columns[f"friction {j}"] = sizes

    def value(self, name: str, pair: Any) -> Any:
        return number_of(self.columns[name], pair)

    def impedance(self, pair: Any, depth: Any) -> Any:
        """d(r) of the softness of a pair."""
        kind, d = self.value("softness", pair), impedance(self.softness[0], depth)
        for k, softness in enumerate(self.softness[1:], 1):
            d = where(kind == float(k), impedance(softness, depth), d)
        return d
