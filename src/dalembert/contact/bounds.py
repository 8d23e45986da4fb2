"""Bounds on shapes and on the motion of bodies, so that most pairs need not be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.algorithms import poses
from dalembert.errors import DalembertError
from dalembert.math import sqrt
from dalembert.model import Body, Model
from dalembert.shapes import Shape
from dalembert.shapes.searching import AXES
from dalembert.spatial import Pose
from dalembert.spatial.vectors import dot

from .candidates import WORLD, Patch
from .gathering import AHEAD
from .laws import ContactLaw

TINY = 1e-30  # added to squares, so that roots have slopes where nothing moves


class Solid(NamedTuple):
    """A shape on a body by number: placement in it, radius of a ball around it, half the sides of a box around it."""

    body: int
    placement: Pose
    shape: Shape
    radius: float
    half: np.ndarray


def bounded(body: int, placement: Pose, shape: Any) -> Solid:
    """A shape with what bounds it. The box is about the origin of the shape's frame."""
    extents = np.asarray(shape.reach(AXES), float)
    half = np.maximum(extents[:3], extents[3:])
    ball = float(extents.max() if shape.symmetry == "all" else np.linalg.norm(half))
    return Solid(body, placement, shape, ball, half)


class Deepest(NamedTuple):
    """A point that may touch: its name, gap [m] and law, and whether it touches what is fixed in the world."""

    name: str
    gap: float
    law: ContactLaw
    fixed: bool


def deepest(model: Model, patches: Sequence[Patch], q: np.ndarray) -> Deepest:
    """The point that is deepest at q (nq,); pairs whose bounds are apart are not looked at."""
    X = poses(model, q)
    radii: dict[int, float] = {}

    def ball(shape: Any, placed: Pose) -> tuple[np.ndarray, float]:
        if id(shape) not in radii:
            radii[id(shape)] = bounded(0, placed, shape).radius
        return placed.p, radii[id(shape)]

    point = Deepest(patches[0].names[0], np.inf, patches[0].law, True)
    for patch in patches:
        if patch.ground is None and patch.other is not None and patch.other_placement is not None:
            a, b = X[patch.first] @ patch.placement, X[patch.second] @ patch.other_placement
            (p, r), (o, s) = ball(patch.shape, a), ball(patch.other, b)
            if np.linalg.norm(p - o) > r + s:
                continue
        for label, witness in zip(patch.names, patch.witnesses(X), strict=True):
            if np.isnan(float(witness.distance)):
                raise DalembertError(
                    f"contact: the gap of {label!r} is not a number at the start: the terrain needs a height everywhere"
                )
            if witness.distance < point.gap:
                point = Deepest(label, float(witness.distance), patch.law, patch.second == WORLD)
    return point


def body_radius(body: Body) -> float:
    """A ball around the centre of mass that holds all collision shapes of a body [m]."""
    radii = [0.0]
    for part in body.parts:
        for geometry in part.geometry:
            if geometry.role == "collision" and geometry.shape.is_bounded:
                solid = bounded(0, part.placement @ geometry.placement, geometry.shape)
                radii.append(float(np.linalg.norm(solid.placement.p - body.inertia.com)) + solid.radius)
    return max(radii)


def possible_motion(h: Any, velocity: np.ndarray, spin: np.ndarray, radius: Any) -> Any:
    """How far points of a body may move in the time in which contacts are looked for [m]."""
    speed, turning = (sqrt(dot(x, x) + TINY) for x in (velocity, spin))
    return AHEAD * h * (speed + radius * turning)
