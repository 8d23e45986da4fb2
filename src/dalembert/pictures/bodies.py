"""Robots in scenes: their shapes, the ground that their files state, massless rods, contact forces and trails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.dynamics.collision import HeightField
from dalembert.errors import DalembertError, unknown
from dalembert.model import Closure
from dalembert.model.geometry import Geometry, Mesh, Plane
from dalembert.shapes import Cone, Cylinder

from .looks import Look, look_of, smooth
from .scene import GREEN, GREY, HIDDEN, MATT, ORANGE, RED, Scene, matrix, pose_rows, rgba

if TYPE_CHECKING:
    from dalembert.robot import Robot

PALETTE = ((0.80, 0.82, 0.85), (0.27, 0.48, 0.70), (0.50, 0.54, 0.58), (0.36, 0.62, 0.59))
EARTH = ((0.66, 0.64, 0.59, 1.0), (0.59, 0.57, 0.52, 1.0))  # the checks of height fields
CHECKS = 12  # of them along the longer side
COLLISION = (0.90, 0.59, 0.24)
ROLES = ("visual", "collision")
FORCE_LENGTH, MOST = 0.3, 2.0  # of the scene's size: the arrow of a large force, and by how much others may be longer
USUAL = 95.0  # per cent of the forces are no larger than a large one
LEVEL = 1e-9  # of a normal: how far from vertical that of a level plane may be
TRAILS = (ORANGE, "#8460b5", GREEN, "#2f6db3")
LINKS = 96  # straight pieces of a trail


class RobotDrawing:
    """A robot as a scene whose owners follow q. role: which shapes are drawn; "visual": of a body without any, all.

    ground: the height of a level plane of its file, None without one; notes: what could not be drawn.
    """

    def __init__(self, robot: Robot, role: str = "visual", scene: Scene | None = None, color: Any = None) -> None:
        """scene: that it is drawn into; color: of all its shapes, in place of theirs."""
        if role not in ROLES:
            raise unknown("role", role, ROLES, "render")
        self.robot, self.scene, self.notes = robot, scene or Scene(), list[str]()
        self._color = None if color is None else rgba(color)
        self.ground: float | None = None
        self._bodies = [self.scene.owner(np.eye(4)) for _ in robot.model.bodies]
        for body in robot.model.bodies:
            shapes = [(part, geometry) for part in body.parts for geometry in part.geometry]
            drawn = [item for item in shapes if item[1].role == role]
            if not drawn:
                drawn = [item for item in shapes if role == "visual" or isinstance(item[1].shape, Plane)]
            for part, geometry in drawn:
                self._draw(body, part, geometry, role)
        if robot.terrain is not None:
            self.scene.shape(terrain_look(robot.terrain), np.eye(4), gloss=MATT)
        self._rods = [c for c in robot.model.closures if isinstance(c, Closure) and c.kind == "distance"]
        self._rod_owners = [self.scene.owner() for _ in self._rods]
        for owner in self._rod_owners:
            self.scene.shape(Cylinder(1.0, 1.0), np.eye(4), GREY, owner, MATT, extends=False)

    def _draw(self, body: Any, part: Any, geometry: Geometry, role: str) -> None:
        X = part.placement @ geometry.placement
        if isinstance(geometry.shape, Plane):
            normal = X.R @ (geometry.shape.normal / np.linalg.norm(geometry.shape.normal))
            if not body.joint.nv and body.parent < 0 and abs(normal[2] - 1.0) <= LEVEL:
                pose = self.robot.poses(self.robot.neutral())[body.index]
                height = float((pose[:3, :3] @ X.p + pose[:3, 3])[2])
                self.ground = height if self.ground is None else max(self.ground, height)
                return
        try:
            look = look_of(geometry.shape)
        except DalembertError as error:
            self.notes.append(f"{part.name}: {error}")
            return
        color: Any = PALETTE[body.index % len(PALETTE)]
        if geometry.color is not None:
            color = geometry.color
        plain = self._color is not None or geometry.role == role == "collision"
        if plain:
            color = self._color or COLLISION
        if plain or (look.palette and geometry.color is not None and not _carries_colors(geometry)):
            look = Look(look.vertices, look.normals, look.triangles, 0 * look.colors)
        owner, extends = self._bodies[body.index], geometry.shape.is_bounded
        self.scene.shape(look, matrix(X.R, X.p), color, owner, extends=extends)

    def poses(self, q: np.ndarray) -> np.ndarray:
        """Rows (…, owners, 21) that the passes take for q (…, nq); marks are hidden."""
        q = np.asarray(q, float)
        X = self.robot.poses(q)
        rows = np.zeros((*q.shape[:-1], len(self.scene.owners), 21))
        rows[..., 0, :] = self.scene.owners[0]
        if self._bodies:
            rows[..., self._bodies, :] = pose_rows(X[..., : len(self._bodies), :, :])
        for closure, owner in zip(self._rods, self._rod_owners, strict=True):
            a, b = (_place(X, frame) for frame in (closure.a, closure.b))
            rows[..., owner, :] = stick_rows(a, b, 0.004 * self.size)
        return rows

    @property
    def size(self) -> float:
        """The diagonal [m] of a box around the robot at its neutral configuration."""
        if not hasattr(self, "_size"):
            self._size = 1.0  # rods ask for it
            low, high = self.scene.extent(self.poses(self.robot.neutral()))
            self._size = float(np.linalg.norm(high - low)) or 1.0
        return self._size


class ForceArrows:
    """Arrows of the contact forces of a run, at the points that push."""

    def __init__(self, scene: Scene, contacts: Any, size: float) -> None:
        forces = np.linalg.norm(contacts.force, axis=-1)
        large = float(np.percentile(forces[forces > 0.0], USUAL)) if np.any(forces > 0.0) else 1.0
        self.contacts, self.scale, self.longest = contacts, FORCE_LENGTH * size / large, MOST * FORCE_LENGTH * size
        self.thin = 0.006 * size
        count = int(np.max(np.count_nonzero(forces > 0.0, axis=-1), initial=0))
        self.shafts, self.heads = ([scene.owner() for _ in range(count)] for _ in range(2))
        for owner in self.shafts:
            scene.shape(Cylinder(1.0, 1.0), np.eye(4), RED, owner, MATT, extends=False)
        for owner in self.heads:
            scene.shape(Cone(1.0, 1.0), np.eye(4), RED, owner, MATT, extends=False)

    def put(self, rows: np.ndarray, k: int) -> None:
        """Place the arrows of sample k in the owners' rows (owners, 21)."""
        force, position = self.contacts.force[k], self.contacts.position[k]
        pushing = np.flatnonzero(np.linalg.norm(force, axis=-1) > 0.0)
        start, vector = position[pushing], self.scale * force[pushing]
        length = np.linalg.norm(vector, axis=-1, keepdims=True)
        vector *= np.minimum(length, self.longest) / np.maximum(length, 1e-300)
        length = np.minimum(length, self.longest)
        head = np.minimum(5.0 * self.thin, 0.6 * length) / np.maximum(length, 1e-300)
        neck = start + (1.0 - head) * vector
        rows[self.shafts[: len(pushing)]] = stick_rows(start, neck, self.thin)
        rows[self.heads[: len(pushing)]] = stick_rows(neck, start + vector, 2.3 * self.thin)


class Trail:
    """The path (n, 3) of a frame's origin at times t (n,), as far as it has gone."""

    def __init__(self, scene: Scene, t: np.ndarray, points: np.ndarray, radius: float, color: Any) -> None:
        ends = np.unique(np.linspace(0, len(t) - 1, min(LINKS + 1, len(t))).astype(int))
        self.t, self.rows = t[ends[1:]], stick_rows(points[ends[:-1]], points[ends[1:]], radius)
        self.owners = [scene.owner() for _ in self.t]
        for owner in self.owners:
            scene.shape(Cylinder(1.0, 1.0), np.eye(4), color, owner, MATT, extends=False)

    def put(self, rows: np.ndarray, time: float) -> None:
        """Place what lies before a time in the owners' rows (owners, 21)."""
        count = int(np.searchsorted(self.t, time * (1.0 + 1e-12) + 1e-12, side="right"))
        rows[self.owners[:count]] = self.rows[:count]


def stick_rows(start: np.ndarray, end: np.ndarray, radius: float) -> np.ndarray:
    """A unit cylinder or cone about z stretched from points (…, 3) to points (…, 3): (…, 21); hidden without length."""
    axis = end - start
    length = np.linalg.norm(axis, axis=-1, keepdims=True)
    z = axis / np.maximum(length, 1e-300)
    helper = np.where(np.abs(z[..., 2:]) > 0.9, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    x = np.cross(helper, z)
    x /= np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-300)
    R = np.stack([x, np.cross(z, x), z], axis=-1)
    stretch = np.stack([np.full_like(length[..., 0], radius)] * 2 + [length[..., 0]], axis=-1)
    normals = R / np.maximum(stretch, 1e-12)[..., None, :]
    flat = (*axis.shape[:-1], 9)
    rows = np.concatenate(
        [(R * stretch[..., None, :]).reshape(flat), 0.5 * (start + end), normals.reshape(flat)], axis=-1
    )
    return np.where(length > 1e-9, rows, HIDDEN)


def terrain_look(terrain: HeightField) -> Look:
    """The surface of a height field, checked."""
    xs, ys, z = terrain.xs, terrain.ys, terrain.z
    x, y = np.meshgrid(xs, ys, indexing="ij")
    number = np.arange(z.size).reshape(z.shape)
    a, b, c, d = (number[i : len(xs) - 1 + i, j : len(ys) - 1 + j].ravel() for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
    triangles = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    tile = max(float(np.ptp(xs)), float(np.ptp(ys))) / CHECKS
    cells = np.floor(x[:-1, :-1] / tile + 1e-6) + np.floor(y[:-1, :-1] / tile + 1e-6)
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    return smooth(points, triangles, np.tile(cells.ravel().astype(int) & 1, 2), EARTH)


def _carries_colors(geometry: Geometry) -> bool:
    """Whether a mesh is of a kind whose own materials count more than the colour that a robot's file gives it."""
    return isinstance(geometry.shape, Mesh) and geometry.shape.file.lower().endswith((".dae", ".glb", ".gltf"))


def _place(X: np.ndarray, frame: Any) -> np.ndarray:
    """The origin (…, 3) of a frame, with bodies at X (…, nb, 4, 4); of the world's as it is."""
    p = frame.placement.p
    if frame.body < 0:
        return np.broadcast_to(p, (*X.shape[:-3], 3))
    return X[..., frame.body, :3, :3] @ p + X[..., frame.body, :3, 3]
