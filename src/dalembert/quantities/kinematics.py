"""Where frames are and how they move: poses, velocities, accelerations, Jacobians."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.model import Model

from .kinds import Axes, Configuration, FrameName, FrameNames, OptionalFrame, Point, Rows, Tangent
from .quantity import Keywords, quantity
from .structure import ORIGIN

if TYPE_CHECKING:
    from dalembert.robot import Robot


def axes_of(model: Model, axes: str) -> Any:
    """The axes of a result as the algorithms take them: "world", "body" or a frame."""
    return axes if axes in ("world", "body") else model.frame(axes)


def task(model: Model, frames: Iterable[str], point: np.ndarray, axes: str, rows: Any) -> algorithms.Task:
    """[ω; v] of a point of some frames, by name; rows: numbers, or None for all."""
    return algorithms.Task([model.frame(name) for name in frames], point, axes_of(model, axes), rows)


@quantity(4, 4)
def pose(
    robot: Robot,
    q: Configuration,
    frame: FrameName,
    *,
    relative_to: OptionalFrame = None,
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """X_WF (…, 4, 4): the frame in the world, or in the frame `relative_to` [m]."""
    X_WF = algorithms.frame_pose(robot.model, q, robot.model.frame(frame))
    if relative_to is None:
        return X_WF.matrix()
    return (algorithms.frame_pose(robot.model, q, robot.model.frame(relative_to)).inverse() @ X_WF).matrix()


@quantity("nf", 4, 4)
def poses(robot: Robot, q: Configuration, **keywords: Unpack[Keywords]) -> np.ndarray:
    """X_WF (…, nf, 4, 4) of every frame, in the order of `robot.frames` [m]."""
    X = algorithms.poses(robot.model, q)
    return np.array([(X[frame.body] @ frame.placement).matrix() for frame in robot.model.frames])


@quantity(6)
def velocity(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    frame: FrameName,
    *,
    point: Point = ORIGIN,
    axes: Axes = "world",
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """[ω; v] (…, 6) of the frame and of the point fixed in it [rad/s, m/s].

    point (3,) in the frame's own axes [m]; axes: "world", "body" (the frame's own) or the name of a frame.
    """
    return algorithms.velocity(robot.model, q, v, robot.model.frame(frame), point, axes_of(robot.model, axes))


@quantity(6)
def acceleration(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    a: Tangent,
    frame: FrameName,
    *,
    point: Point = ORIGIN,
    axes: Axes = "world",
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """[α; a] (…, 6): acceleration of the frame and of the point fixed in it, without gravity [rad/s², m/s²].

    Classical: the rate of change of the velocity as seen from the world, written along `axes` (see `velocity`).
    """
    return algorithms.acceleration(robot.model, q, v, a, robot.model.frame(frame), point, axes_of(robot.model, axes))


@quantity("rows", "nv")
def jacobian(
    robot: Robot,
    q: Configuration,
    frame: FrameNames,
    *,
    point: Point = ORIGIN,
    axes: Axes = "world",
    rows: Rows = None,
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """J (…, 6, nv) with velocity = J v, for the same frame, point and axes as `velocity`.

    frame: or k names, whose rows come below one another, (…, 6 k, nv); the point then has the same coordinates in each.
    rows: only these, "position", "orientation" or numbers of the 6 k rows.
    """
    return task(robot.model, frame, point, axes, rows).jacobian(robot.model, q)


@quantity("rows", "nv")
def jacobian_rate(
    robot: Robot,
    q: Configuration,
    v: Tangent,
    frame: FrameNames,
    *,
    point: Point = ORIGIN,
    axes: Axes = "world",
    rows: Rows = None,
    **keywords: Unpack[Keywords],
) -> np.ndarray:
    """J̇ (…, 6, nv) with acceleration = J a + J̇ v, for the same frame, point and axes as `acceleration`.

    Several frames and rows: see `jacobian`.
    """
    chosen = task(robot.model, frame, point, axes, rows)
    parts = [algorithms.jacobian_rate(robot.model, q, v, f, chosen.point, chosen.axes) for f in chosen.frames]
    return chosen.selected(np.concatenate(parts))
