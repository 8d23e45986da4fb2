"""A run as something to draw: poses of the bodies over time, the shapes that they carry, forces of contacts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import DalembertError
from dalembert.formats.write.shapes import without_capsules
from dalembert.model import Geometry, Part
from dalembert.shapes import Capsule
from dalembert.spatial import Pose, so3

if TYPE_CHECKING:
    from dalembert.robot import Robot

    from .run import Run

GRAY = (0.7, 0.7, 0.72, 1.0)  # of shapes without a colour
REACH = 0.25  # [m] of the arrow of the largest force
GROUND = "ground"


@dataclass(frozen=True)
class Shown:
    """A shape in the frame of its body."""

    geometry: Geometry
    X: Pose

    @property
    def color(self) -> tuple[float, float, float, float]:
        """Red, green, blue, opacity."""
        return self.geometry.color or GRAY


class Drawn:
    """A run together with its robot."""

    def __init__(self, run: Run, robot: Robot | None) -> None:
        if robot is None:
            raise DalembertError(
                f"save: this run of {run.robot!r} was loaded without its robot, which this format draws: "
                "write run.save(path, robot=robot)"
            )
        if robot.nq != run.q.shape[1] or robot.nv != run.v.shape[1]:
            raise DalembertError(
                f"save: robot {robot.name!r} has nq={robot.nq}, nv={robot.nv}, and the run of {run.robot!r} "
                f"{run.q.shape[1]}, {run.v.shape[1]}: give the robot of the run"
            )
        self.run, self.robot = run, robot
        self.bodies = [body.name for body in robot.model.bodies]

    @cached_property
    def poses(self) -> np.ndarray:
        """X_WB (n, nb, 4, 4) of the bodies."""
        count = len(self.bodies)
        return np.asarray(self.robot.poses(self.run.q))[:, :count] if len(self.run) else np.zeros((0, count, 4, 4))

    @cached_property
    def quaternions(self) -> np.ndarray:
        """w x y z (n, nb, 4) of the bodies, without jumps of sign."""
        R = self.poses[..., :3, :3]
        q = np.array([[so3.to_quaternion(one) for one in row] for row in R]).reshape(*R.shape[:2], 4)
        signs = np.where(np.sum(q[1:] * q[:-1], axis=-1) < 0.0, -1.0, 1.0)
        q[1:] *= np.cumprod(signs, axis=0)[..., None]
        return q

    def shapes(self, body: int, capsules: bool = True) -> list[Shown]:
        """Visual shapes of a body, else its collision shapes. capsules=False: capsules as cylinders and balls."""
        return [shown for part in self.robot.model.bodies[body].parts for shown in self._of(part, capsules)]

    def _of(self, part: Part, capsules: bool) -> Iterator[Shown]:
        seen = [shape for shape in part.geometry if shape.role == "visual"] or list(part.geometry)
        for shape in seen:
            if shape.shape.is_bounded:
                plain = [shape] if capsules or type(shape.shape) is not Capsule else without_capsules((shape,))
                for geometry in plain:
                    yield Shown(geometry, part.placement @ geometry.placement)

    def pushes(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each time: positions (m, 3) [m] and forces (m, 3) [N] of the contacts that push."""
        contacts = self.run.contacts
        for k in range(len(self.run)):
            if contacts is None:
                yield np.zeros((0, 3)), np.zeros((0, 3))
                continue
            acting = np.linalg.norm(contacts.force[k], axis=-1) > 0.0
            yield contacts.position[k][acting], contacts.force[k][acting]

    @cached_property
    def scale(self) -> float:
        """Length of the arrow of a force [m/N]."""
        contacts = self.run.contacts
        most = 0.0 if contacts is None else float(np.max(np.linalg.norm(contacts.force, axis=-1), initial=0.0))
        return REACH / most if most else 0.0

    def wrenches(self) -> dict[str, np.ndarray]:
        """Wrenches of contacts on bodies: [torque, force] (n, 6) about the body's origin, in world axes [N·m, N]."""
        contacts = self.run.contacts
        totals: dict[str, np.ndarray] = {}
        for k, ends in enumerate(contacts.bodies if contacts is not None else ()):
            for sign, name in zip((1.0, -1.0), ends, strict=True):
                if contacts is None or name == GROUND or name not in self.bodies:
                    continue
                arm = contacts.position[:, k] - self.poses[:, self.bodies.index(name), :3, 3]
                force = sign * contacts.force[:, k]
                moment = np.cross(arm, force) + sign * contacts.moment[:, k]
                pushed = np.any(force != 0.0, axis=1)[:, None]  # points that are not used have no position
                total = totals.setdefault(name, np.zeros((len(self.run), 6)))
                total += np.where(pushed, np.concatenate([moment, force], axis=1), 0.0)
        return totals


def surface(geometry: Geometry) -> tuple[np.ndarray, np.ndarray] | None:
    """Vertices (n, 3) and triangles (m, 3) of a shape; None of a mesh that cannot be read."""
    try:
        vertices, triangles = geometry.shape.surface()
    except DalembertError:
        return None
    return np.asarray(vertices, float), np.asarray(triangles, int)
