"""Pairs of shapes of one kind, as loops: which of them may touch, and the points in which they do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dalembert.contact.candidates import WORLD
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
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

from .candidates import MujocoPatch
from .heights import MOST_POINTS, Field, below, ends_early, prism_point
from .points import Point, shape_points, terrain_points

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


def group_of(model: Model, patches: Sequence[MujocoPatch], members: Sequence[int], first_points: np.ndarray) -> Group:
    """Pairs of one kind; members: their numbers among all pairs."""
    on_heights = isinstance(patches[members[0]].a, HeightMap)
    return (HeightGroup if on_heights else Group)(model, patches, members, first_points)


class Group:
    """Pairs that differ in sizes and places alone; members: their numbers among all pairs."""

    def __init__(
        self, model: Model, patches: Sequence[MujocoPatch], members: Sequence[int], first_points: np.ndarray
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

        def one(_: Any, count: Any, number: Any, capsules: Any, reach: Any) -> dict[str, Any]:
            close = self._close(capsules.reshape(4, 3), reach)
            to = np.array([where(close, count, -1.0)])
            return {"count": count + where(close, 1.0, 0.0), "to": to, "rows": np.array([[number]])}

        numbers = np.arange(float(len(self.pairs)))
        items = {"number": numbers, "capsules": np.array(capsules), "reach": np.array(reaches)}
        end = visit(one, items, np.zeros((len(self.pairs), 1)), None, {"count": 0.0})
        return end["table"][:, 0], end["count"]

    def gathered(self, near: tuple[Any, ...], table: np.ndarray, count: Any, bodies: int) -> tuple[np.ndarray, Any]:
        """The table of poses and slots with the contacts of these pairs, and how many there are in all."""

        def one(poses: Any, count: Any, number: Any) -> dict[str, Any]:
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

    def all_points(self, X: Sequence[Pose]) -> Iterable[np.ndarray]:
        """Distance, position and normal (points, 7) of each pair."""

        def one(poses: Any, *placed: Any) -> dict[str, Any]:
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

    def _close(self, capsules: np.ndarray, reach: Any) -> Any:
        """Condition that a pair may be within its margin; capsules (4, 3): centre, half of a, then of b."""
        centre_a, half_a, centre_b, half_b = capsules
        if isinstance(self.first.a, Ground):
            return reach > -1.0
        if isinstance(self.first.a, Plane | HeightMap):
            return dot(half_a, centre_b - centre_a) - absolute(dot(half_a, half_b)) < reach
        a, b = between_segments(centre_a, half_a, centre_b, half_b)
        return dot(a - b, a - b) < reach * reach

    def _points(self, poses: np.ndarray, size_a: Any, size_b: Any, places: Any, reach: Any) -> list[Point]:
        X_a, X_b = pose_of(poses[0]) @ pose_of(places[:WIDTH]), pose_of(poses[1]) @ pose_of(places[WIDTH:])
        if isinstance(self.first.a, Ground):
            return terrain_points(self.first.a, self.b.shape(size_b), X_b)
        points = shape_points(self.a.shape(size_a), X_a, self.b.shape(size_b), X_b, reach)
        return [point.flipped() for point in points] if self.first.flipped else points


class HeightGroup(Group):
    """Shapes of one kind on a height field, which does not move."""

    def __init__(
        self, model: Model, patches: Sequence[MujocoPatch], members: Sequence[int], first_points: np.ndarray
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

        def one(rows: Any, kept: Any, total: Any, number: Any) -> dict[str, Any]:
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

    def gathered(self, near: tuple[Any, ...], table: np.ndarray, count: Any, bodies: int) -> tuple[np.ndarray, Any]:
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

    def all_points(self, X: Sequence[Pose]) -> Iterable[np.ndarray]:
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

    def _point(self, windows: np.ndarray, before: Any, found: Any, row: Any) -> tuple[Any, Any, Point, Any]:
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
        return number, place, Point(gap, X_F.point(position), X_F.R @ normal), exists

    def _solid(self, number: Any) -> tuple[Any, Any]:
        """Shape of a pair, and its reach [m]."""
        return self.b.shape(lookup(self.placed["size_b"], number)), lookup(self.placed["reach"], number)


def pose_table(X: Sequence[Pose]) -> np.ndarray:
    """(bodies + 1, 12): the poses of all bodies, and of the world."""
    return np.array([pose_numbers(x) for x in (*X, Pose.identity())])
