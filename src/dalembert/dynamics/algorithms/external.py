"""External loads, brought from where they are known to where the dynamics wants them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from dalembert.model import Frame, Model
from dalembert.spatial import cross

from .kinematics import chain_poses


class Load(NamedTuple):
    """A force and a torque of the surroundings on a frame.

    torque (3,) [N·m] and force (3,) [N] along `axes` ("frame": the frame's own; "world"; or another frame's); the force
    acts at `point` (3,) [m], given in the frame's own axes.
    """

    frame: Frame
    torque: np.ndarray
    force: np.ndarray
    point: np.ndarray
    axes: Literal["frame", "world"] | Frame = "frame"


def body_loads(model: Model, q: np.ndarray, loads: Iterable[Load]) -> dict[int, np.ndarray]:
    """Body index → sum of the loads on that body as a wrench [τ; f] (6,), at its origin, in its axes, at q (nq,)."""
    total: dict[int, np.ndarray] = {}
    for load in loads:
        frame = load.frame
        R_AB = chain_poses(model, q, frame, "body" if load.axes == "frame" else load.axes)[frame.body].R
        force, r = R_AB.T @ load.force, frame.placement.point(load.point)
        wrench = np.concatenate([R_AB.T @ load.torque + cross(r, force), force])
        total[frame.body] = total[frame.body] + wrench if frame.body in total else wrench
    return total
