"""Distances of many pairs of shapes: pairs of one kind are a loop over sizes and poses, whose code is there once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.math import map as mapped
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere
from dalembert.spatial import Pose

from .distance import distance
from .pairs import Solid
from .witness import Witness

SIZES: dict[type, tuple[str, ...]] = {
    Sphere: ("radius",),
    Capsule: ("radius", "length"),
    Cylinder: ("radius", "length"),
    Cone: ("radius", "length"),
    Box: ("size",),
    Ellipsoid: ("radii",),
}
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
    """What is the same for all pairs of a group: the kinds of shapes, or the shapes themselves where one is no kind
    with a few sizes."""
    plain = type(a.shape) in SIZES and type(b.shape) in SIZES
    return (type(a.shape), type(b.shape)) if plain else (_content(a), _content(b))


def _content(solid: Solid) -> str:
    return Solid("", "", 0, solid.shape, Pose.identity(), solid.surface).fingerprint


def _group(pairs: Sequence[tuple[Solid, Solid]], X: Sequence[Pose], compute: Compute) -> list[list[Witness]]:
    if len(pairs) == 1:
        ((a, b),) = pairs
        return [list(compute(a.shape, X[a.body] @ a.placement, b.shape, X[b.body] @ b.placement))]
    first_a, first_b = pairs[0]
    varied = type(first_a.shape) in SIZES and type(first_b.shape) in SIZES
    items = {
        "size_a": np.array([_sizes(a.shape) if varied else [0.0] for a, _ in pairs]),
        "pose_a": np.array([_numbers(X[a.body] @ a.placement) for a, _ in pairs]),
        "size_b": np.array([_sizes(b.shape) if varied else [0.0] for _, b in pairs]),
        "pose_b": np.array([_numbers(X[b.body] @ b.placement) for _, b in pairs]),
    }

    def step(size_a: Any, pose_a: Any, size_b: Any, pose_b: Any) -> dict[str, Any]:
        a = _resized(first_a.shape, size_a) if varied else first_a.shape
        b = _resized(first_b.shape, size_b) if varied else first_b.shape
        witnesses = compute(a, _pose(pose_a), b, _pose(pose_b))
        return {"rows": np.array([[w.distance, *w.a, *w.b, *w.normal] for w in witnesses])}

    rows = mapped(step, items)["rows"]
    return [[Witness(w[0], w[1:4], w[4:7], w[7:]) for w in of_pair] for of_pair in rows]


def _sizes(shape: Any) -> list[float]:
    return [float(x) for name in SIZES[type(shape)] for x in np.atleast_1d(getattr(shape, name))]


def _resized(shape: Any, sizes: np.ndarray) -> Any:
    """A shape of the same kind with sizes that may be traced, which its constructor would refuse."""
    other = object.__new__(type(shape))
    names = SIZES[type(shape)]
    values = [np.array(sizes)] if names[0] in ("size", "radii") else list(sizes)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(other, name, value)
    return other


def _numbers(X: Pose) -> np.ndarray:
    return np.array([*X.R.ravel(), *X.p])


def _pose(numbers: np.ndarray) -> Pose:
    return Pose(numbers[:9].reshape(3, 3), numbers[9:])
