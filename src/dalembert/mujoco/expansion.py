"""Contact of a box or a mesh and a prism of a height field, without a margin: MuJoCo's search, which ends early.

All differences of a point of the prism and a point of the shape form a convex body, which holds the origin where they
overlap. MuJoCo grows a polytope from a tetrahedron in it towards its surface (van den Bergh 2001), one corner at a
time. It stops when a corner comes up again, but does not tell the corners of a prism apart: it stops as soon as a
corner of the shape comes up again, with any corner of the prism. So in most states the depth is smaller than the
overlap, and the normal is that of the polytope as it is then. With a margin, however small, it goes on to the end. All
of it was inferred from results of MuJoCo 4.0.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.collision.hulls import Hull, TabledHull
from dalembert.dynamics.collision.prisms import Prism
from dalembert.math import (
    branch,
    held,
    logical_and,
    logical_not,
    logical_or,
    lookup,
    minimum,
    repeat,
    scan,
    sqrt,
    take,
    visit,
    where,
)
from dalembert.math import map as mapped
from dalembert.math.tolerances import TINY
from dalembert.model.geometry import Box
from dalembert.model.mujoco import LEAST
from dalembert.spatial import Pose
from dalembert.spatial.vectors import cross, dot
from dalembert.typing import Array

from .polygons import SideTables, farthest_row

PASSES = 50
SOME = np.concatenate([np.eye(3), np.zeros((3, 4))], axis=1)  # corners of a face, where there is none
MOST = 24  # corners that are added for a mesh: MuJoCo stops after 2 as a rule, and after 5 at most of those looked at
SIDES = ((2, 1, 3), (0, 2, 3), (1, 0, 3), (0, 1, 2))  # of a tetrahedron, each without one corner in turn
FACES = np.array([[0.0, 1.0, 2.0], [0.0, 3.0, 1.0], [0.0, 2.0, 3.0], [3.0, 2.0, 1.0]])  # the same, all outwards


class Differences:
    """Corners of the body of all differences, as rows (7,): prism less shape, the prism's corner, the shape's number.

    X: the pose of the shape in the frame of the prism.
    """

    def __init__(self, prism: Prism, shape: Box | Hull | TabledHull, X: Pose) -> None:
        self.prism, self.shape, self.X = prism, shape, X
        if not isinstance(shape, Box):
            self.tables, number = SideTables.of(shape)
            self.first, self.count, *_ = lookup(self.tables.hulls, number)

    @property
    def most(self) -> int:
        """Number of corners that can be added to a tetrahedron before one of the shape's comes up again."""
        return 8 if isinstance(self.shape, Box) else min(self.tables.most_vertices, MOST)

    @property
    def middle(self) -> Array:
        """Vector from the origin of the shape to the middle of the prism."""
        return sum(self.prism.vertices) / 6.0 - self.X.p

    def farthest(self, d: Array) -> Array:
        """The corner that is farthest along d (3,)."""
        on_prism, reach = np.zeros(3), -np.inf
        for low, high in zip(self.prism.vertices[:3], self.prism.vertices[3:], strict=True):
            point = where(d[2] < 0.0, low, high)
            along = dot(point, d)
            on_prism, reach = where(along > reach, point, on_prism), where(along > reach, along, reach)
        number, local = self._of_shape(-(self.X.R.T @ d))
        return np.array([*(on_prism - self.X.point(local)), *on_prism, number])

    def _of_shape(self, d: Array) -> tuple[Any, Array]:
        if isinstance(self.shape, Box):
            signs = [where(x < 0.0, -1.0, 1.0) for x in d]
            number = sum(2.0**k * where(x < 0.0, 0.0, 1.0) for k, x in enumerate(d))
            return number, 0.5 * self.shape.size * np.array(signs)
        row = farthest_row(d, self.tables.vertices, self.first, self.count, self.tables.most_vertices)
        return row, lookup(self.tables.vertices[:, :3], row)


class Overlap(NamedTuple):
    """Overlap of a prism and a shape by MuJoCo's search: distance [m], normal out of the prism, point halfway.

    touching: 1, or 0 if they are apart; the other numbers then mean nothing.
    """

    touching: Any
    distance: Any
    position: Array
    normal: Array


def expanded(prism: Prism, shape: Box | Hull | TabledHull, X: Pose) -> Overlap:
    """The overlap of a prism and a shape at X in its frame; NaN where a mesh takes more corners than there is room.

    The face that the search finds is held, and the overlap computed from its corners, for derivatives as well.
    """
    body = Differences(prism, shape, Pose(held(X.R), held(X.p)))
    rows, apart = _tetrahedron(body)
    rows, apart = _around(body, rows, apart)

    def then() -> dict[str, Any]:
        return {"rows": _grown(body, rows)}

    face = held(branch(apart < 0.5, then, {"rows": SOME})["rows"])
    on_prism, on_shape = face[:, 3:6], [body.X.inverse().point(row[3:6] - row[:3]) for row in face]
    a, b, c = (p - X.point(held(q)) for p, q in zip(on_prism, on_shape, strict=True))
    n = cross(b - a, c - a)
    v = _foot(n, a)
    depth = sqrt(dot(v, v))
    weights = [dot(n, cross(p - q, v - q)) for p, q in ((c, b), (a, c), (b, a))]
    point = sum(w * p for w, p in zip(weights, on_prism, strict=True)) / dot(n, n)
    return Overlap(1.0 - apart, -depth, point - 0.5 * v, v / depth)


# ---- a tetrahedron around the origin


def _tetrahedron(body: Differences) -> tuple[Array, Any]:
    """Four corners (4, 7), and 1 where it is known that the origin is outside of the body, else 0.

    From the point nearest to the origin of those found, the next corner is looked for (Gilbert, Johnson and Keerthi
    1988). The first four make a tetrahedron, unless three of them are nearest with two alone.
    """

    def step(rows: Array, count: Any, x: Any, apart: Any, _: Any) -> dict[str, Any]:
        new = body.farthest(-x / sqrt(dot(x, x) + TINY))
        p, q, w = rows[0, :3], rows[1, :3], new[:3]
        empty, one, two, three = (count == float(k) for k in range(4))
        n = cross(q - p, w - p)
        weights = dot(n, cross(q, w)), dot(n, cross(w, p)), dot(n, cross(p, q))
        within = logical_and(logical_and(weights[0] > 0.0, weights[1] > 0.0), weights[2] > 0.0)
        on_plane = _foot(n, p)
        of_p, of_q = _on_line(p, w), _on_line(q, w)
        by_q = dot(of_q, of_q) < dot(of_p, of_p)
        shrinks = logical_and(two, logical_not(within))
        of_two = where(within, on_plane, where(by_q, of_q, of_p))
        separated = dot(x, w) > 0.0
        after = [
            where(empty, new, where(logical_and(shrinks, by_q), rows[1], rows[0])),
            where(logical_or(one, shrinks), new, rows[1]),
            where(logical_and(two, within), new, rows[2]),
            where(three, new, rows[3]),
        ]
        return {
            "rows": np.array(after),
            "count": count + where(shrinks, 0.0, 1.0),
            "x": where(empty, w, where(one, of_p, of_two)),
            "apart": where(separated, 1.0, apart),
            "done": where(logical_or(separated, three), 1.0, 0.0),
        }

    start = {"rows": np.zeros((4, 7)), "count": 0.0, "x": body.middle, "apart": 0.0, "done": 0.0}
    end = repeat(step, PASSES, start, "done")
    return end["rows"], end["apart"]


def _on_line(p: Array, q: Array) -> Array:
    """The point nearest to the origin on a line through two points."""
    d = q - p
    return q - (dot(q, d) / (dot(d, d) + TINY)) * d


def _foot(n: Array, p: Array) -> Array:
    """The point nearest to the origin on the plane through p across n, of any length."""
    return (dot(n, p) / (dot(n, n) + TINY)) * n


def _around(body: Differences, rows: Array, apart: Any) -> tuple[Array, Any]:
    """Corners moved until the tetrahedron holds the origin, or it is known to be outside."""
    p, q, r, s = rows[:, :3]
    inside_out = dot(cross(q - p, r - p), s - p) < 0.0
    turned = where(inside_out, rows[[1, 0, 2, 3]], rows)

    def step(rows: Array, apart: Any, _: Any) -> dict[str, Any]:
        planes = []
        for a, b, c in SIDES:
            across = cross(rows[c, :3] - rows[a, :3], rows[b, :3] - rows[a, :3])
            n = across / sqrt(dot(across, across) + TINY)
            planes.append(np.array([dot(n, rows[a, :3]), *n]))
        lowest, which = planes[0], 0.0
        for k in range(1, 4):
            lower = planes[k][0] < lowest[0]
            lowest, which = where(lower, planes[k], lowest), where(lower, float(k), which)
        inside = lowest[0] > 0.0
        new = body.farthest(lowest[1:])
        outside = logical_and(logical_not(inside), dot(lowest[1:], new[:3]) < 0.0)
        moved = rows
        for k in range(4):  # two others change places, so that all sides still look outwards
            after = list(rows)
            i, j = (k + 1) % 4, (k + 2) % 4
            after[k], after[i], after[j] = new, rows[j], rows[i]
            moved = where(which == float(k), np.array(after), moved)
        return {
            "rows": where(inside, rows, moved),
            "apart": where(outside, 1.0, apart),
            "done": where(logical_or(inside, outside), 1.0, 0.0),
        }

    end = repeat(step, PASSES, {"rows": turned, "apart": apart, "done": apart}, "done")
    return end["rows"], end["apart"]


# ---- the polytope that grows


def _grown(body: Differences, rows: Array) -> Array:
    """The corners (3, 7) of the face of the polytope nearest to the origin, where MuJoCo stops.

    Faces are rows: the numbers of their corners, the point of their plane nearest to the origin, its squared distance.
    """
    room = 4 + body.most

    def step(points: Array, faces: Array, face: Array, size: Any, upper: Any, _: Any) -> dict[str, Any]:
        def one(best: Any, face: Array) -> dict[str, Any]:
            return {"best": where(face[6] < best[6], face, best)}

        start = {"best": np.array([*np.zeros(6), np.inf])}
        face = scan(one, {"face": faces}, start, count=size[1], history=False)["best"]
        v, lower = face[3:6], sqrt(face[6])
        new = body.farthest(v / lower)
        upper = minimum(upper, dot(v, new[:3]) / lower)
        done = logical_or(upper - lower < LEAST, _known(points, size[0], new[6]))

        def then() -> dict[str, Any]:
            put = lambda _, to: {"to": np.array([to]), "rows": new[None]}  # noqa: E731
            corners = visit(put, {"to": np.array([size[0]])}, points)["table"]
            table, count = _around_corner(faces, size[1], corners, size[0])
            return {"points": corners, "faces": table, "size": np.array([size[0] + 1.0, count])}

        same = {"points": points, "faces": faces, "size": size}
        grown = branch(logical_not(done), then, same)
        return {
            "points": grown["points"],
            "faces": grown["faces"],
            "face": face,
            "size": grown["size"],
            "upper": upper,
            "done": where(done, 1.0, 0.0),
        }

    points = np.concatenate([rows, np.zeros((room - 4, 7))])
    first = np.array([_through(face.astype(float), *points[face, :3]) for face in FACES.astype(int)])
    faces = np.concatenate([first, np.zeros((2 * room - 8, 7))])  # n corners have 2 n − 4 faces
    start = {"points": points, "faces": faces, "face": first[0], "size": np.array([4.0, 4.0])}
    end = repeat(step, body.most + 1, start | {"upper": np.inf, "done": 0.0}, "done")
    return where(end["done"] > 0.5, take(end["points"], end["face"][:3]), np.nan)


def _through(numbers: Array, a: Array, b: Array, c: Array) -> Array:
    v = _foot(cross(b - a, c - a), a)
    return np.array([*numbers, *v, dot(v, v)])


def _known(points: Array, count: Any, number: Any) -> Any:
    """Condition that a corner of the shape is already there."""

    def one(known: Any, other: Any) -> dict[str, Any]:
        return {"known": where(other == number, 1.0, known)}

    return scan(one, {"other": points[:, 6]}, {"known": 0.0}, count=count, history=False)["known"] > 0.5


def _around_corner(faces: Array, count: Any, points: Array, number: Any) -> tuple[Array, Any]:
    """The faces of the polytope with one more corner, the one with this number, and how many they are.

    Faces that look towards it are taken away, and the edges around them joined with it: those that lead back along no
    other face that is taken away.
    """
    (new,) = take(points, np.array([number]))

    def looking(face: Array) -> dict[str, Any]:
        return {"looks": where(dot(face[3:6], new[:3]) - face[6] > LEAST, 1.0, 0.0)}

    looks = mapped(looking, {"face": faces}, count)["looks"]

    def kept(_: Any, kept: Any, face: Array, looks: Any) -> dict[str, Any]:
        stays = looks < 0.5
        to = np.array([where(stays, kept, -1.0)])
        return {"kept": kept + where(stays, 1.0, 0.0), "to": to, "rows": face[None]}

    left = visit(kept, {"face": faces, "looks": looks}, faces, None, {"kept": 0.0}, count)

    def joined(_: Any, at: Any, face: Array, looks_here: Any) -> dict[str, Any]:
        edges = [(face[k], face[(k + 1) % 3]) for k in range(3)]

        def back(found: Any, other: Any, looks: Any) -> dict[str, Any]:
            taken = looks > 0.5
            for k, (a, b) in enumerate(edges):
                for i in range(3):
                    same = logical_and(taken, logical_and(other[i] == b, other[(i + 1) % 3] == a))
                    found = where(np.arange(3) == k, where(same, 1.0, found), found)
            return {"found": found}

        inner = scan(back, {"other": faces, "looks": looks}, {"found": np.zeros(3)}, count=count, history=False)[
            "found"
        ]
        corners, to, rows = take(points, face[:3]), [], []
        for k, (a, b) in enumerate(edges):
            new_face = logical_and(looks_here > 0.5, inner[k] < 0.5)
            to.append(where(new_face, at, -1.0))
            rows.append(_through(np.array([number, a, b]), new[:3], corners[k][:3], corners[(k + 1) % 3][:3]))
            at = at + where(new_face, 1.0, 0.0)
        return {"at": at, "to": np.array(to), "rows": np.array(rows)}

    end = visit(joined, {"face": faces, "looks": looks}, left["table"], None, {"at": left["kept"]}, count)
    return end["table"], end["at"]
