"""Where frames are and how they move."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from .evaluation import Evaluation, Keywords
from .structure import ORIGIN


class Kinematics(Evaluation):
    """Poses, velocities, accelerations and Jacobians of frames."""

    def pose(self, q: Any, frame: str, **keywords: Unpack[Keywords]) -> np.ndarray:
        """X_WF (…, 4, 4): the frame in the world [m]."""
        return self._framed("pose", (q,), frame, ORIGIN, "world", keywords)

    def poses(self, q: Any, **keywords: Unpack[Keywords]) -> np.ndarray:
        """X_WF (…, nf, 4, 4) of every frame, in the order of `robot.frames` [m]."""
        return self._evaluate("poses", (q,), keywords)

    def velocity(
        self, q: Any, v: Any, frame: str, *, point: Any = ORIGIN, axes: str = "world", **keywords: Unpack[Keywords]
    ) -> np.ndarray:
        """[ω; v] (…, 6) of the frame and of the point fixed in it [rad/s, m/s].

        point (3,) in the frame's own axes [m]; axes: "world", "body" (the frame's own) or the name of a frame.
        """
        return self._framed("velocity", (q, v), frame, point, axes, keywords)

    def acceleration(
        self,
        q: Any,
        v: Any,
        a: Any,
        frame: str,
        *,
        point: Any = ORIGIN,
        axes: str = "world",
        **keywords: Unpack[Keywords],
    ) -> np.ndarray:
        """[α; a] (…, 6): acceleration of the frame and of the point fixed in it, without gravity [rad/s², m/s²].

        Classical: the rate of change of the velocity as seen from the world, written along `axes` (see `velocity`).
        """
        return self._framed("acceleration", (q, v, a), frame, point, axes, keywords)

    def jacobian(
        self, q: Any, frame: str, *, point: Any = ORIGIN, axes: str = "world", **keywords: Unpack[Keywords]
    ) -> np.ndarray:
        """J (…, 6, nv) with velocity = J v, for the same frame, point and axes as `velocity`."""
        return self._framed("jacobian", (q,), frame, point, axes, keywords)

    def jacobian_rate(
        self, q: Any, v: Any, frame: str, *, point: Any = ORIGIN, axes: str = "world", **keywords: Unpack[Keywords]
    ) -> np.ndarray:
        """J̇ (…, 6, nv) with acceleration = J a + J̇ v, for the same frame, point and axes as `acceleration`."""
        return self._framed("jacobian_rate", (q, v), frame, point, axes, keywords)
