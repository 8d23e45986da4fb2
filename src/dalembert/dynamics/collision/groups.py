"""Distances of many pairs of shapes: pairs of one kind are a loop over sizes and poses, whose code is emitted once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.math import map as mapped
from dalembert.shapes import Capsule
from dalembert.shapes.segment import POINT
from dalembert.shapes.sizes import SIZES, resized, sizes_of
from dalembert.spatial import Pose

from .distance import distance
from .hulls import Hull, HullTable, TabledHull
from .pairs import Solid
from .witness import Witness

Compute = Callable[[Any, Pose, Any, Pose], Sequence[Witness]]


def pair_distances(pairs: Sequence[tuple[Solid, Solid]], X: Sequence[Pose]) -> list[Witness]:
    """The witness of each pair of shapes; X: the pose of every body in the world."""
    return [w for (w,) in pairwise(pairs, X, lambda *placed: [distance(*placed)])]


def pairwise(pairs: Sequence[tuple[Solid, Solid]], X: Sequence[Pose], compute: Compute) -> list[list[Witness]]:
    """compute(shape, pose, shape, pose) of each pair: a list of witnesses, as many for all pairs of one kind."""
    groups: dict[Any, list[int]] = {}
    for k, (a, b) in enumerate(pairs):
        groups.setdefault(_kind(a, b), []).append(k)
    results: dict[int, list[Witness]] = {}
    for members in groups.values():
        results |= dict(zip(members, _group([pairs[k] for k in members], X, compute), strict=True))
    return [results[k] for k in range(len(pairs))]


def _kind(a: Solid, b: Solid) -> tuple[Any, Any]:
    """The key that all pairs of a group share: the kinds of shapes, or the shapes where one has no kind."""
    known = (*SIZES, Hull)
    plain = type(a.shape) in known and type(b.shape) in known
    return (type(a.shape), type(b.shape)) if plain else ((type(a.shape), _content(a)), (type(b.shape), _content(b)))


def alike(shape: Any) -> Any:
    """Key by which shapes that differ in their numbers alone are alike: the kind; of any other the shape itself."""
    pointed = type(shape) is Capsule and shape.core()[0] is POINT
    return type(shape) if type(shape) in SIZES and not pointed else id(shape)


def alike_in_pairs(shape: Any) -> Any:
    """Key like `alike`, for shapes that touch each other: the hulls of all meshes are alike."""
    return Hull if isinstance(shape, Hull) or shape.is_mesh else alike(shape)


def convex(shapes: Sequence[Any]) -> list[Any]:
    """Shapes, in the place of meshes their convex hulls."""
    different = {id(shape): shape for shape in shapes if shape.is_mesh}
    hulls = {key: shape.convex() for key, shape in different.items()}
    return [hulls.get(id(shape), shape) for shape in shapes]


def _content(solid: Solid) -> str:
    return Solid("", "", 0, solid.shape, Pose.identity(), solid.surface).fingerprint


def _group(pairs: Sequence[tuple[Solid, Solid]], X: Sequence[Pose], compute: Compute) -> list[list[Witness]]:
    """All pairs of one group, as a loop."""
    if len(pairs) == 1:
        ((a, b),) = pairs
        return [list(compute(a.shape, X[a.body] @ a.placement, b.shape, X[b.body] @ b.placement))]
    of_a, of_b = Numbers([a.shape for a, _ in pairs]), Numbers([b.shape for _, b in pairs])
    items = {
        "size_a": of_a.sizes,
        "pose_a": np.array([pose_numbers(X[a.body] @ a.placement) for a, _ in pairs]),
        "size_b": of_b.sizes,
        "pose_b": np.array([pose_numbers(X[b.body] @ b.placement) for _, b in pairs]),
    }

    def step(size_a: Any, pose_a: Any, size_b: Any, pose_b: Any) -> dict[str, Any]:
        witnesses = compute(of_a.shape(size_a), pose_of(pose_a), of_b.shape(size_b), pose_of(pose_b))
        return {"rows": np.array([[w.distance, *w.a, *w.b, *w.normal] for w in witnesses])}

    rows = mapped(step, items)["rows"]
    return [[Witness(w[0], w[1:4], w[4:7], w[7:]) for w in of_pair] for of_pair in rows]


class Numbers:
    """Shapes of one kind, and the numbers (n, m) that tell them apart: sizes, or the numbers of hulls in a table.

    None in the place of shapes has no numbers.
    """

    def __init__(self, shapes: Sequence[Any]) -> None:
        self.first = shapes[0]
        self.table: HullTable | None = None
        if type(self.first) in SIZES:
            self.sizes = np.array([sizes_of(shape) for shape in shapes])
            return
        self.sizes = np.zeros((len(shapes), 1))
        if not isinstance(self.first, Hull):
            return
        different = {shape.fingerprint: shape for shape in shapes}
        if len(different) > 1:
            self.table = HullTable(list(different.values()))
            number = {content: float(k) for k, content in enumerate(different)}
            self.sizes = np.array([[number[shape.fingerprint]] for shape in shapes])

    def shape(self, sizes: np.ndarray) -> Any:
        """The one with these numbers."""
        if self.table is not None:
            return TabledHull(self.table, sizes[0])
        return resized(self.first, sizes) if type(self.first) in SIZES else self.first


def pose_numbers(X: Pose) -> np.ndarray:
    """(12,): rotation, row by row, and position."""
    return np.array([*X.R.ravel(), *X.p])


def pose_of(numbers: np.ndarray) -> Pose:
    """The pose with these numbers, the first 12."""
    return Pose(numbers[:9].reshape(3, 3), numbers[9:12])
