"""Looking at a robot: pictures, films, and a page in the browser."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dalembert.pictures import Camera, Film
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


def render(
    robot: Robot,
    q: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    size: tuple[int, int] = (640, 480),
    camera: Camera | None = None,
    ground: Any = "auto",
    shadows: bool = True,
    role: str = "visual",
) -> np.ndarray:
    """A picture of the robot at q (nq,), or neutral: bytes (height, width, 3), also written to `path`.

    Drawn by the processor: without a display, offline, and the same bytes each time. size: (width, height) [pixels].
    camera: a `dalembert.pictures.Camera`; None: one that shows all of the robot. ground: "auto", the level plane or
    terrain of the robot's file, else a floor at height 0, or lower where the robot reaches below it; a height [m]; a
    terrain z(x, y), such as a `dalembert.collision.HeightField`; None: no floor. role: the shapes that are drawn,
    "visual" or "collision". path: .png; with Pillow also .jpg, .webp and others. Meshes in files need trimesh.
    """
    from dalembert.pictures.motion import Options, render

    return render(robot, q, path, Options(size, camera, ground, shadows, role))


def video(
    robot: Robot,
    motion: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    fps: float | None = None,
    speed: float = 1.0,
    size: tuple[int, int] = (640, 480),
    camera: Camera | None = None,
    ground: Any = "auto",
    shadows: bool = True,
    forces: bool = True,
    trails: Sequence[str] = (),
    role: str = "visual",
    threads: int | None = None,
    progress: bool | None = None,
) -> Film:
    """A film of a motion: a run, a trajectory, a rollout with records, or (t (n,) [s], q (n, nq)).

    path: .mp4 (needs imageio-ffmpeg), .gif, .webp or .png (need Pillow); None: the result holds the film. A notebook
    shows the result. fps: frames per second, 30 (GIF: 25); speed: seconds of the motion in one of the film.
    forces: whether contact forces are drawn, where the motion has them. trails: frames whose paths are drawn.
    Other arguments as of `render`; the camera, unless it follows a body, and the floor suit the whole motion.
    """
    from dalembert.pictures.film import film

    pictures = motion_pictures(robot, None, motion, size, camera, ground, shadows, forces, trails, role)
    return film(pictures, path, fps, speed, threads, progress)


def motion_pictures(
    robot: Robot,
    contact: Any,
    motion: Any,
    size: Any = (640, 480),
    camera: Any = None,
    ground: Any = "auto",
    shadows: bool = True,
    forces: bool = True,
    trails: Sequence[str] = (),
    role: str = "visual",
) -> Any:
    """Pictures of a motion; contact: that of a run, with its ground."""
    from dalembert.pictures.motion import MotionPictures, Options, motion_of

    t, q = motion_of(robot, motion)
    contacts = getattr(motion, "contacts", None) if forces else None
    drawn = contacts if hasattr(contacts, "position") else None
    return MotionPictures(robot, t, q, Options(size, camera, ground, shadows, role), drawn, trails, contact)
