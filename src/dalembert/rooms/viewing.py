"""Looking at a robot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.robot import Robot
    from dalembert.view import Viewer


def view(robot: Robot, q: Any = None, *, host: str = "127.0.0.1", port: int = 0) -> Viewer:
    """Serve a page with the robot in 3-D, at q or neutral, and return at once: at `viewer.url`, until `close()`.

    The page has sliders, frames, centre of mass, inertia ellipsoids, reactions and a target to drag. Only this
    machine can open it unless `host` says otherwise. In a notebook the result shows itself. Needs viser.
    """
    from dalembert.view import Viewer

    viewer = Viewer(robot, host=host, port=port)
    if q is not None:
        viewer.show(q)
    return viewer
