"""The same motion in other frames of the bodies: where axes and positions are along coordinate axes, code is shorter.

The frame of a body behind a hinge may be turned about its axis and moved along it: the joint stays what it is. Files
turn a frame by 120°, say, and the next one back, or put the origin of a thigh beside that of the hip; then numbers
stand where there could be zeros. Choosing frames, as Denavit and Hartenberg did, makes the equations of motion of some
robots a quarter shorter, and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.math.tolerances import ROUNDED
from dalembert.spatial import Inertia, Pose, so3

from .joints import Continuous, Revolute
from .joints.joint import snapped
from .model import Body, Model

OF_PLACE, OF_AXIS = 2, 6  # what a number of a place or of a direction costs, beside one of an inertia


class AlignedFrames(NamedTuple):
    """A model of bodies alone, at coordinates q + shift (nq,); frames: X_BA, the new frame of each body in the old."""

    model: Model
    shift: np.ndarray
    frames: tuple[Pose, ...]

    def coordinates(self, q: np.ndarray) -> np.ndarray:
        """Coordinates (nq,) of the model, at q (nq,) of the one in the frames of its file."""
        return np.array([x + dx if dx else x for x, dx in zip(q, self.shift, strict=True)])

    def placement(self, body: int, X_BC: Pose) -> Pose:
        """Where something is in the new frame of a body, from where it is in the old one."""
        return _between(self.frames[body], X_BC)

    def wrench(self, body: int, F: np.ndarray) -> np.ndarray:
        """A wrench [τ; f] (6,) on a body at its origin and in its axes, from that in the old frame."""
        return self.frames[body].inverse_force(F)


def aligned_frames(model: Model) -> AlignedFrames:
    """Frames in which hinges have simple placements; those of other joints stay.

    All stay where joints follow others, whose coordinates they share, and where placements are traced.
    """
    frames, shift = [Pose.identity()] * len(model.bodies), np.zeros(model.nq)
    if model.coupled or any(x.dtype.kind == "O" for b in model.bodies for x in (b.placement.R, b.placement.p)):
        return AlignedFrames(replace(model, frames=(), closures=()), shift, tuple(frames))
    bodies = []
    for body in model.bodies:  # root to tips
        X_PJ = body.placement if body.parent < 0 else _between(frames[body.parent], body.placement)
        joint, axis = body.joint, _axis_of(body)
        if axis is not None and np.count_nonzero(axis) == 1:
            children = [model.bodies[i] for i in model.children(body.index)]
            slide, turn = _slide(axis, body, X_PJ, children), _turn(axis, body, children)
            frames[body.index] = Pose(snapped(so3.about_axis(axis, turn)), slide * axis)
            X_PJ, offset = _simplest(axis, Pose(X_PJ.R, _along(X_PJ.p, slide, X_PJ.R @ axis)), turn)
            shift[body.q] = offset
            joint = joint.with_values(rest=joint.rest + offset)
        inertia = _moved(body.inertia, frames[body.index].inverse())
        bodies.append(replace(body, placement=X_PJ, joint=joint, inertia=inertia, parts=()))
    return AlignedFrames(replace(model, bodies=tuple(bodies), frames=(), closures=()), shift, tuple(frames))


def _moved(inertia: Inertia, X: Pose) -> Inertia:
    moved = inertia.transform(X)
    return moved if _is_traced(moved) else replace(moved, moment=_without_rounding(moved.moment))


def _is_traced(inertia: Inertia) -> bool:
    return np.result_type(inertia.moment, inertia.I, np.asarray(inertia.mass)).kind == "O"


def _inertia_size(inertia: Inertia, X: Pose) -> int:
    """Moments and products of inertia that are not 0, seen from elsewhere; those that are traced do not count."""
    if _is_traced(inertia):
        return 0
    moved = inertia.transform(X)
    products = moved.I[np.triu_indices(3, 1)]
    return _size(moved.moment) + int(np.count_nonzero(np.abs(products) > ROUNDED * np.trace(moved.I)))


def _between(X_BA: Pose, X_BC: Pose) -> Pose:
    """X_AC, without rounding, unless it is traced."""
    if X_BC.R.dtype.kind == "O" or X_BC.p.dtype.kind == "O":
        return X_BA.inverse() @ X_BC
    X, size = X_BA.inverse() @ X_BC, np.linalg.norm(X_BA.p) + np.linalg.norm(X_BC.p)
    return Pose(snapped(X.R), _without_rounding(X.p, size))


def _without_rounding(x: np.ndarray, size: Any = None) -> np.ndarray:
    """A vector in which what is rounding beside a size, by default its length, is 0."""
    return np.where(np.abs(x) <= ROUNDED * (np.linalg.norm(x) if size is None else size), 0.0, x)


def _along(x: np.ndarray, way: float, direction: np.ndarray) -> np.ndarray:
    """A vector, moved along a direction."""
    return _without_rounding(x + way * direction, np.linalg.norm(x) + abs(way))


def _size(x: np.ndarray) -> int:
    """Entries of a vector that are not 0."""
    return int(np.count_nonzero(_without_rounding(x)))


def _size_along(x: np.ndarray, direction: np.ndarray) -> int:
    """The least size of a vector that may be moved along a direction."""
    return min(_size(_along(x, d, direction)) for d in (0.0, *_roots(x, direction)))


def _roots(x: np.ndarray, direction: np.ndarray) -> list[float]:
    """How far x must move along a direction for one of its entries to be 0; no farther than x is long.

    Angles in files are rounded: along a direction that is out of line by 4e-6, an entry is 0 some kilometres away.
    """
    far = float(np.linalg.norm(x))
    return [-a / b for a, b in zip(x, direction, strict=True) if abs(b) > ROUNDED and abs(a) <= far * abs(b)]


def _axis_of(body: Body) -> np.ndarray | None:
    """The axis (3,) of a hinge; None of other joints, and of a user's, which may be anything."""
    joint = body.joint
    return joint.axis if isinstance(joint, Revolute) and type(joint) in (Revolute, Continuous) else None


def _direction(body: Body) -> np.ndarray:
    """The axis of a hinge in its parent; 0 of other joints, which do not move along one."""
    axis = _axis_of(body)
    return np.zeros(3) if axis is None else body.placement.R @ axis


def _slide(axis: np.ndarray, body: Body, X_PJ: Pose, children: Sequence[Body]) -> float:
    """How far along its axis the origin of a body moves, so that it and its children are in simple places.

    No farther than these were apart in the file: inertia about a point far away has lost its last digits.
    """
    along, far = X_PJ.R @ axis, max(float(np.linalg.norm(x.placement.p)) for x in (body, *children))
    ways = [0.0, *_roots(X_PJ.p, along), *(float(axis @ child.placement.p) for child in children)]
    ways = [d for d in ways if abs(d) <= far]

    def cost(d: float) -> int:
        behind = sum(_size_along(_along(child.placement.p, -d, axis), _direction(child)) for child in children)
        own = _inertia_size(body.inertia, Pose(np.eye(3), -d * axis))
        return OF_PLACE * (_size(_along(X_PJ.p, d, along)) + behind) + own

    return min(ways, key=lambda d: (cost(d), abs(d)))


def _turn(axis: np.ndarray, body: Body, children: Sequence[Body]) -> float:
    """The angle by which the frame of a body turns about its axis, so that what it carries is along its axes."""
    axes, places = [_direction(child) for child in children], [child.placement.p for child in children]
    h = [] if _is_traced(body.inertia) else [body.inertia.moment]
    first, second = (k for k in range(3) if not axis[k])
    angles = [0.0]
    for x in (*axes, *places, *h):
        if np.hypot(x[first], x[second]) > ROUNDED * np.linalg.norm(x):
            angle = float(np.arctan2(x[second], x[first])) * (1.0 if second == first + 1 else -1.0)
            angles += [_principal(sign * angle + quarter * np.pi / 2) for sign in (1.0, -1.0) for quarter in range(4)]

    def cost(angle: float) -> int:
        R = snapped(so3.about_axis(axis, angle)).T
        turned = [(snapped(R @ e), R @ p) for e, p in zip(axes, places, strict=True)]
        own = _inertia_size(body.inertia, Pose(R, np.zeros(3)))
        return sum(OF_AXIS * _size(e) + OF_PLACE * _size_along(p, e) for e, p in turned) + own

    return min(angles, key=lambda angle: (cost(angle), abs(angle)))


def _principal(angle: float) -> float:
    """An angle between −π and π."""
    return float(np.arctan2(np.sin(angle), np.cos(angle)))


def _simplest(axis: np.ndarray, X_PJ: Pose, turn: float) -> tuple[Pose, float]:
    """The placement of a hinge whose body turns by `turn` further than it did, and how much its angle grows."""

    def turned(angle: float) -> np.ndarray:
        return snapped(X_PJ.R @ so3.about_axis(axis, angle))

    def cost(angle: float) -> tuple[int, float]:
        R = turned(angle)
        return int(np.count_nonzero((R != 0.0) & (np.abs(R) != 1.0))), abs(_principal(turn - angle))

    angle = min((turn, *_zeros(X_PJ.R, axis)), key=cost)
    return Pose(turned(angle), X_PJ.p), _principal(turn - angle)


def _zeros(R: np.ndarray, axis: np.ndarray) -> Iterable[float]:
    """Angles about an axis by which R must turn for one of its entries to be 0."""
    quarter = R @ so3.about_axis(axis, np.pi / 2)
    for i, j in np.ndindex(3, 3):
        if not axis[j] and np.hypot(R[i, j], quarter[i, j]) > ROUNDED:
            angle = float(np.arctan2(-R[i, j], quarter[i, j]))
            yield angle
            yield _principal(angle + np.pi)
