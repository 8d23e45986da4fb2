"""Pictures of robots at a configuration, and at the times of a motion."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.dynamics.collision import HalfSpace, HeightField
from dalembert.errors import DalembertError, unknown

from .bodies import EARTH, TRAILS, ForceArrows, RobotDrawing, Trail, terrain_look
from .camera import Camera
from .rasterizer import Rasterizer
from .scene import MATT, checked_size, matrix, stage_of, towards

if TYPE_CHECKING:
    from dalembert.robot import Robot

GRID = 161  # points along an edge of a terrain that is a function
FITTED = 24  # times of a motion at which the picture is fitted
SUNK = 1e-3  # of the size: how far below the floor a robot may reach
FAR = 3.0  # of the size: a floor that is farther below is not drawn


@dataclass(frozen=True)
class Options:
    """How pictures are taken; see `Robot.render`."""

    size: tuple[int, int] = (640, 480)
    camera: Camera | None = None
    ground: Any = "auto"
    shadows: bool = True
    role: str = "visual"

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", checked_size(self.size))
        if self.camera is not None and not isinstance(self.camera, Camera):
            raise DalembertError(f"camera is {self.camera!r}, expected a dalembert.pictures.Camera")
        if isinstance(self.ground, str) and self.ground != "auto":
            raise unknown("ground", self.ground, ("auto",), "render")
        if isinstance(self.ground, bool) or (
            isinstance(self.ground, (int, float, np.number)) and not np.isfinite(self.ground)
        ):
            raise DalembertError(f"ground is {self.ground!r}, expected a finite height [m], None, a terrain, or 'auto'")


class MotionPictures:
    """Pictures of a robot along a motion: `at(t)`. Camera, floor and shadow map suit all of it.

    t (n,) [s]; q (n, nq). contacts: those of a run, whose forces are drawn. trails: frames whose paths are drawn.
    contact: with its ground or terrain where `options.ground` is "auto".
    """

    def __init__(
        self, robot: Robot, t: np.ndarray, q: np.ndarray, options: Options, contacts: Any = None,
        trails: Sequence[str] = (), contact: Any = None,
    ) -> None:  # fmt: skip
        self.robot, self.t, self.q, self.options = robot, t, q, options
        self.drawn = RobotDrawing(robot, options.role)
        scene = self.drawn.scene
        fitted = np.unique(np.linspace(0, len(t) - 1, min(FITTED, len(t))).astype(int))
        boxes = [scene.extent(rows) for rows in self.drawn.poses(q[fitted])]
        low, high = np.min([a for a, _ in boxes], axis=0), np.max([b for _, b in boxes], axis=0)
        size = float(np.mean([np.linalg.norm(b - a) for a, b in boxes])) or 1.0
        self.level, surface = self._ground(contact, float(low[2]), size)
        if surface is not None:
            _add_terrain(scene, surface, low, high, size)
        self._arrows = None if contacts is None else ForceArrows(scene, contacts, size)
        self._trails = _trails(scene, robot, t, q, trails, size)
        self.stage = seen = stage_of(low, high, self.level, options.shadows)
        camera, self._follow = options.camera or Camera(), None
        if camera.follow is not None:
            self._follow = robot.frame(camera.follow).name
            self._first = robot.pose(q[0], self._follow)[:3, 3] * [1.0, 1.0, 0.0]
            seen = stage_of(*boxes[0], self.level, options.shadows)
        self.shot = camera.placed(seen.center, seen.radius, options.size)
        self.notes = tuple(self.drawn.notes)
        if self.notes:
            more = f", and {len(self.notes) - 1} more" if len(self.notes) > 1 else ""
            warnings.warn(f"not drawn: {self.notes[0]}{more}", stacklevel=4)
        self._own = threading.local()

    def at(self, time: float) -> np.ndarray:
        """The picture (height, width, 3) at a time [s]: q between samples, forces of the nearest one."""
        return self.of(time, self.between(np.array([time]))[0])

    def between(self, times: np.ndarray) -> np.ndarray:
        """q (m, nq) at times (m,)."""
        if len(self.t) == 1:
            return np.repeat(self.q, len(times), axis=0)
        k = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.t) - 2)
        span = self.t[k + 1] - self.t[k]
        s = np.clip((times - self.t[k]) / np.where(span > 0.0, span, 1.0), 0.0, 1.0)
        return np.asarray(self.robot.interpolate(self.q[k], self.q[k + 1], s))

    def of(self, time: float, q: np.ndarray) -> np.ndarray:
        """The picture at q (nq,), with the marks of a time [s]."""
        rows = self.drawn.poses(q)
        if self._arrows is not None:
            self._arrows.put(rows, int(np.argmin(np.abs(self.t - time))))
        for trail in self._trails:
            trail.put(rows, time)
        shot = self.shot
        if self._follow is not None:
            shot = shot.moved(self.robot.pose(q, self._follow)[:3, 3] * [1.0, 1.0, 0.0] - self._first)
        if not hasattr(self._own, "rasterizer"):  # each thread has one
            self._own.rasterizer = Rasterizer(self.drawn.scene.drawing(), self.stage, self.options.size)
        picture: np.ndarray = self._own.rasterizer.picture(rows, shot)
        return picture

    def _ground(self, contact: Any, lowest: float, size: float) -> tuple[float | None, Any]:
        """The height of a level floor or None, and a terrain that is drawn in its place."""
        ground = self.options.ground
        if ground is None:
            return None, None
        if not isinstance(ground, str):
            return _level_or_terrain(ground)
        if contact is not None and (contact.terrain is not None or isinstance(contact.ground, (int, float))):
            return _level_or_terrain(contact.ground if contact.terrain is None else contact.terrain)
        if self.robot.terrain is not None:
            return None, None
        if self.drawn.ground is not None:
            return self.drawn.ground, None
        if not np.any(self.robot.model.gravity) or lowest > FAR * size:
            return None, None
        return (0.0 if lowest > -SUNK * size else lowest), None


def _level_or_terrain(ground: Any) -> tuple[float | None, Any]:
    if isinstance(ground, HalfSpace):
        level = np.abs(np.asarray(ground.normal, float) - [0.0, 0.0, 1.0]).max() < SUNK
        return (float(ground.offset), None) if level else (None, ground)
    if callable(ground):
        return None, ground
    try:
        return float(ground), None
    except (TypeError, ValueError):
        raise DalembertError(
            f"ground is {ground!r}, expected a height [m], None, a function z(x, y), a dalembert.collision.HeightField "
            "or HalfSpace, or 'auto'"
        ) from None


def _add_terrain(scene: Any, ground: Any, low: np.ndarray, high: np.ndarray, size: float) -> None:
    """Draw the part of a terrain that is near the motion, or all of a height field."""
    if isinstance(ground, HalfSpace):
        from dalembert.shapes import Box

        normal = np.asarray(ground.normal, float)
        middle = 0.5 * (low + high)
        middle = middle - (normal @ middle - float(ground.offset) + 0.005 * size) * normal
        edge = 2.0 * float(np.linalg.norm(high - low))
        plate = Box(np.array([edge, edge, 0.01 * size]))
        scene.shape(plate, matrix(towards(normal), middle), EARTH[0], gloss=MATT, extends=False)
        return
    if not isinstance(ground, HeightField):
        reach = 0.75 * float(np.linalg.norm(high[:2] - low[:2])) + 1.0 * size
        (x, y), values = 0.5 * (low + high)[:2], np.linspace(-reach, reach, GRID)
        z = np.array([[float(ground(a, b)) for b in y + values] for a in x + values])
        ground = HeightField(x + values, y + values, z)
    scene.shape(terrain_look(ground), np.eye(4), gloss=MATT, extends=False)


def _trails(scene: Any, robot: Robot, t: np.ndarray, q: np.ndarray, frames: Sequence[str], size: float) -> list[Trail]:
    if isinstance(frames, str):
        frames = (frames,)
    paths = [np.asarray(robot.pose(q, name))[:, :3, 3] for name in frames]
    return [Trail(scene, t, path, 0.006 * size, TRAILS[k % len(TRAILS)]) for k, path in enumerate(paths)]


def motion_of(robot: Robot, motion: Any) -> tuple[np.ndarray, np.ndarray]:
    """t (n,) and q (n, nq) of a run, trajectory or rollout, or of a pair (t, q)."""
    t, q = motion if isinstance(motion, tuple) and len(motion) == 2 else (
        getattr(motion, "t", None), getattr(motion, "q", None)
    )  # fmt: skip
    if t is None or q is None:
        raise DalembertError(f"video: got {type(motion).__name__}, expected a run, a trajectory, a rollout, or (t, q)")
    t, q = np.asarray(t, float), np.asarray(q, float)
    if t.ndim == 0 and q.ndim == 1:
        t, q = t[None], q[None]
    if t.ndim != 1 or q.shape != (len(t), robot.nq):
        raise DalembertError(
            f"video: t has shape {t.shape} and q {q.shape}, expected (n,) and (n, {robot.nq}): of a batch, give one "
            "motion as (t, q[k]), recorded at several times"
        )
    if not len(t) or not np.all(np.isfinite(t)) or not np.all(np.isfinite(q)):
        raise DalembertError("video: the motion is empty, or its t or q are not finite numbers")
    if np.any(np.diff(t) < 0.0):
        raise DalembertError("video: the times are not in increasing order")
    return t, q


def render(robot: Robot, q: Any, path: Any, options: Options) -> np.ndarray:
    """See `Robot.render`."""
    from .files import write_picture

    q = robot.neutral() if q is None else np.asarray(q, float)
    if q.shape != (robot.nq,):
        raise DalembertError(f"render: q has shape {q.shape}, expected ({robot.nq},)")
    robot.poses(q)  # refuses numbers that are not finite, and quaternions that are not of unit length
    picture = MotionPictures(robot, np.zeros(1), q[None], options).at(0.0)
    if path is not None:
        write_picture(path, picture)
    return picture
