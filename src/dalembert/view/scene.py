"""One robot in the scene: a node per body, its shapes below it, and optional displays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Closure
from dalembert.model.geometry import Geometry, Sphere
from dalembert.robot import Robot
from dalembert.spatial import so3

GREY, PALETTE = (170, 175, 180), [(208, 212, 216), (66, 120, 178), (120, 128, 136), (90, 160, 150)]
FORCE_LENGTH = 0.3  # of the robot's size: the longest arrow


class RobotScene:
    """Draws `robot` under the scene node `root`, standing at `place` (x, y) on the ground; `show(q)` moves it.

    `notes` lists what could not be drawn; `size` [m] is the extent of the robot at its neutral configuration.
    """

    def __init__(self, server: Any, robot: Robot, root: str) -> None:
        self.robot, self.root, self.notes = robot, root, list[str]()
        self.placement = np.zeros(3)  # of the robot's world in the scene [m]
        self._scene = server.scene
        self._root = self._scene.add_frame(root, show_axes=False)
        self._bodies = [self._scene.add_frame(f"{root}/{body.index}", show_axes=False) for body in robot.model.bodies]
        self._extras: dict[str, list[Any]] = {}
        self._points: list[tuple[int, np.ndarray]] = []  # (body, corners of a shape in its frame)
        for body in robot.model.bodies:
            self._add_shapes(body)
        self.q = robot.neutral()
        self.size = float(np.linalg.norm(np.ptp(self.points(), axis=0))) or 1.0
        self._com: Any = None
        self._arrows: Any = None
        self._ropes = self._add_ropes()
        self._wrenches: Callable[[], np.ndarray] = self._static_wrenches
        self.show(self.q)

    def show(self, q: np.ndarray) -> None:
        """Move the robot to q (nq,)."""
        self.q = np.array(q, float)
        poses = self.robot.poses(self.q)
        for handle, pose in zip(self._bodies, poses, strict=False):
            handle.wxyz, handle.position = so3.to_quaternion(pose[:3, :3]), pose[:3, 3]
        if self._ropes is not None:
            self._ropes.points = self._rope_ends()
        if self._com is not None:
            self._com.position = self.robot.center_of_mass(self.q)
        if self._arrows is not None:
            self._draw_arrows()

    def stand_at(self, x: float, y: float) -> None:
        """Place the robot, with the lowest point of its shapes in its current pose at height 0."""
        self.placement[:] = 0.0
        self.placement[:] = x, y, -self.lowest()
        self._root.position = self.placement

    def stand_in_world(self) -> None:
        """Place the robot where its coordinates say: height 0 is that of the world."""
        self.placement[:] = 0.0
        self._root.position = self.placement

    def lowest(self) -> float:
        """Height in the scene of the lowest point of the shapes (of the frames, without shapes) as the robot is [m]."""
        return float((self._corners() if self._points else self.points())[:, 2].min())

    def points(self) -> np.ndarray:
        """Corners of the shapes and origins of the frames (n, 3) in the scene, where the robot now is [m]."""
        origins = self.robot.poses(self.q)[:, :3, 3] + self.placement
        return np.concatenate([origins, self._corners()])

    def _corners(self) -> np.ndarray:
        poses = self.robot.poses(self.q)
        corners = [x @ poses[k][:3, :3].T + poses[k][:3, 3] for k, x in self._points]
        return np.concatenate([np.zeros((0, 3)), *corners]) + self.placement

    def switch(self, what: str, on: bool) -> None:
        """Show or hide "frames", "com", "inertia", "reactions", "names" or "collision"."""
        for handle in self._extras.pop(what, []):
            handle.remove()
        if what == "com":
            self._com = None
        if what == "reactions":
            self._arrows = None
        if on:
            self._extras[what] = getattr(self, f"_add_{what}")()

    def _add_ropes(self) -> Any:
        """Closures of constant distance, such as massless rods, as lines."""
        if not any(closure.kind == "distance" for closure in self.robot.model.closures):
            return None
        thick = 0.012 * self.size
        return self._scene.add_line_segments(f"{self.root}/rods", self._rope_ends(), GREY, thickness=thick)

    def _rope_ends(self) -> np.ndarray:
        poses = self.robot.poses(self.q)

        def place(frame: Any) -> np.ndarray:
            p = frame.placement.p
            return p if frame.body < 0 else poses[frame.body][:3, :3] @ p + poses[frame.body][:3, 3]

        closures = [c for c in self.robot.model.closures if isinstance(c, Closure) and c.kind == "distance"]
        return np.array([[place(closure.a), place(closure.b)] for closure in closures], np.float32)

    def _add_shapes(self, body: Any) -> None:
        shapes = [(part, geometry) for part in body.parts for geometry in part.geometry]
        drawn = [item for item in shapes if item[1].role == "visual"] or shapes
        color = PALETTE[body.index % len(PALETTE)]
        for number, (part, geometry) in enumerate(drawn):
            self._draw(f"{self.root}/{body.index}/shape{number}", part, geometry, color, body=body.index)

    def _draw(
        self,
        name: str,
        part: Any,
        geometry: Geometry,
        color: tuple[int, int, int],
        body: int | None = None,
        **style: Any,
    ) -> Any:
        try:
            vertices, triangles = geometry.shape.surface()
        except DalembertError as error:
            self.notes.append(f"{part.name}: {error}")
            return None
        X = part.placement @ geometry.placement
        if body is not None and geometry.shape.is_bounded:  # a ground has no extent
            self._points.append((body, np.asarray(vertices, float) @ X.R.T + X.p))
        if geometry.color is not None:
            color = tuple(int(255 * np.clip(c, 0.0, 1.0)) for c in geometry.color[:3])  # type: ignore[assignment]
            style.setdefault("opacity", geometry.color[3] if geometry.color[3] < 1.0 else None)
        return self._scene.add_mesh_simple(
            name,
            vertices,
            triangles,
            color=color,
            position=X.p,
            wxyz=so3.to_quaternion(X.R),
            side="double",
            receive_shadow=False,
            **style,
        )

    def _add_collision(self) -> list[Any]:
        handles = []
        for body in self.robot.model.bodies:
            for part in body.parts:
                for number, geometry in enumerate(part.geometry):
                    if geometry.role == "collision":
                        name = f"{self.root}/{body.index}/collision-{part.name}-{number}"
                        handles.append(self._draw(name, part, geometry, (230, 150, 60), wireframe=True))
        return [handle for handle in handles if handle is not None]

    def _add_frames(self) -> list[Any]:
        length = 0.08 * self.size
        return [
            self._scene.add_frame(
                f"{self.root}/{frame.body}/frame-{frame.name}",
                axes_length=length,
                axes_radius=0.03 * length,
                position=frame.placement.p,
                wxyz=so3.to_quaternion(frame.placement.R),
            )
            for frame in self.robot.model.frames
        ]

    def _add_names(self) -> list[Any]:
        return [
            self._scene.add_label(f"{self.root}/{body.index}/name", body.joint.name if body.joint.nv else body.name)
            for body in self.robot.model.bodies
        ]

    def _add_com(self) -> list[Any]:
        vertices, triangles = Sphere(0.02 * self.size).surface()
        self._com = self._scene.add_mesh_simple(f"{self.root}/com", vertices, triangles, color=(220, 60, 60))
        self._com.position = self.robot.center_of_mass(self.q)
        return [self._com]

    def _add_inertia(self) -> list[Any]:
        handles = []
        unit = Sphere(1.0).surface()
        for body in self.robot.model.bodies:
            if body.inertia.mass <= 0.0 or body.inertia.problems():
                continue
            moments, R = np.linalg.eigh(body.inertia.about_com())
            radii = np.sqrt(
                np.maximum(2.5 * (moments.sum() - 2 * moments) / body.inertia.mass, (1e-3 * self.size) ** 2)
            )
            R = R * np.sign(np.linalg.det(R))
            name = f"{self.root}/{body.index}/inertia"
            vertices = (unit[0] * radii) @ R.T + body.inertia.com
            handles.append(self._scene.add_mesh_simple(name, vertices, unit[1], color=(80, 170, 90), opacity=0.45))
        return handles

    def _add_reactions(self) -> list[Any]:
        points = np.zeros((len(self.robot.model.bodies), 2, 3))
        thin = 0.008 * self.size
        self._arrows = self._scene.add_arrows(
            f"{self.root}/reactions",
            points,
            (200, 40, 120),
            shaft_radius=thin,
            head_radius=2.5 * thin,
            head_length=4 * thin,
        )
        self._draw_arrows()
        return [self._arrows]

    def _draw_arrows(self) -> None:
        forces = self._wrenches()[:, 3:]
        origins = self.robot.poses(self.q)[: len(forces), :3, 3]
        longest = max(float(np.max(np.linalg.norm(forces, axis=1))), 1e-9)
        tips = origins + forces * (FORCE_LENGTH * self.size / longest)
        self._arrows.points = np.stack([origins, tips], axis=1).astype(np.float32)

    def _static_wrenches(self) -> np.ndarray:
        still = np.zeros(self.robot.nv)
        return self.robot.reaction_wrenches(self.q, still, still, axes="world")
