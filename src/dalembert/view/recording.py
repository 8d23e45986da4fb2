"""A motion as one self-contained page: the viewer's scene recorded, to be opened from disk without a server."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.robot import Robot

from .contacts import ContactMarks
from .viewer import Viewer

RATE = 25.0  # frames per second


def recording(robot: Robot, t: np.ndarray, q: np.ndarray, contacts: Any = None) -> str:
    """HTML text that plays q (n, nq) at the times t (n,) [s] over and over; everything it needs is inside.

    contacts: those of a run at these times, whose forces and friction cones are drawn.
    """
    with Viewer(robot) as viewer:
        server = viewer.server
        server.gui.reset()
        frames = np.linspace(t[0], t[-1], max(2, round((t[-1] - t[0]) * RATE) + 1))
        nearest = [int(np.argmin(np.abs(t - time))) for time in frames]
        scene = viewer.scenes[0]
        marks = None if contacts is None else ContactMarks(server.scene, scene.root, contacts, scene.size)
        if marks is not None:
            scene.stand_in_world()
        scene.show(q[nearest[0]])
        serializer = server.get_scene_serializer()
        for k in nearest:
            scene.show(q[k])
            if marks is not None:
                marks.show(k)
            serializer.insert_sleep(1.0 / RATE)
        return serializer.as_html()
