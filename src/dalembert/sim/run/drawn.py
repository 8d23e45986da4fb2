"""A run as something to draw: poses of the bodies over time, the shapes that they carry, forces of contacts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.formats.write.losses import Losses
from dalembert.formats.write.shapes import without_capsules
from dalembert.formats.write.usd import to_usd
from dalembert.model import Geometry, Part
from dalembert.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from dalembert.spatial import Pose, so3
from dalembert.typing import Array

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


class DrawnRun:
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
    def poses(self) -> Array:
        """X_WB (n, nb, 4, 4) of the bodies."""
        count = len(self.bodies)
        return np.asarray(self.robot.poses(self.run.q))[:, :count] if len(self.run) else np.zeros((0, count, 4, 4))

    @cached_property
    def quaternions(self) -> Array:
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

    def pushes(self) -> Iterator[tuple[Array, Array]]:
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

    def wrenches(self) -> dict[str, Array]:
        """Wrenches of contacts on bodies: [torque, force] (n, 6) about the body's origin, in world axes [N·m, N]."""
        contacts = self.run.contacts
        totals: dict[str, Array] = {}
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


def surface(geometry: Geometry) -> tuple[Array, Array] | None:
    """Vertices (n, 3) and triangles (m, 3) of a shape; None of a mesh that cannot be read."""
    try:
        vertices, triangles = geometry.shape.surface()
    except DalembertError:
        return None
    return np.asarray(vertices, float), np.asarray(triangles, int)


TIMELINE = "time"
RED = (230, 64, 51)


def write_rerun(drawn: DrawnRun, path: Path) -> None:
    """Write an .rrd file."""
    rr = library()
    recording = rr.RecordingStream("dalembert", recording_id=drawn.run.robot, make_default=False)
    recording.save(str(path))
    try:
        recording.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        for i, name in enumerate(drawn.bodies):
            _body(rr, recording, drawn, i, entity("world", name))
        for kind, names, values in (
            ("q", drawn.run.coordinates, drawn.run.q),
            ("v", drawn.run.freedoms, drawn.run.v),
            ("tau", drawn.run.freedoms, drawn.run.tau),
        ):
            for k, name in enumerate(names):
                _columns(rr, recording, drawn, entity(kind, name), rr.Scalars.columns(scalars=values[:, k]))
        if drawn.run.contacts is not None:
            _contacts(rr, recording, drawn)
    finally:
        recording.flush()
        recording.disconnect()


def library() -> Any:
    """The module `rerun`."""
    try:
        import rerun
    except ImportError:
        raise DalembertError("save: .rrd needs Rerun: pip install 'dalembert[rerun]'") from None
    return rerun


def entity(*parts: str) -> str:
    """A path of Rerun, in which all but letters, digits and _ of each part are escaped."""
    return "/".join("".join(c if c.isalnum() or c == "_" else f"\\{c}" for c in part) for part in parts)


def _columns(rr: Any, recording: Any, drawn: DrawnRun, path: str, columns: Any) -> None:
    if len(drawn.run):
        recording.send_columns(path, indexes=[rr.TimeColumn(TIMELINE, duration=drawn.run.t)], columns=columns)


def _body(rr: Any, recording: Any, drawn: DrawnRun, i: int, path: str) -> None:
    moves = rr.Transform3D.columns(
        translation=drawn.poses[:, i, :3, 3], quaternion=drawn.quaternions[:, i][:, [1, 2, 3, 0]]
    )
    _columns(rr, recording, drawn, path, moves)
    for k, shown in enumerate(drawn.shapes(i)):
        drawing = _shape(rr, shown)
        if drawing is not None:
            recording.log(f"{path}/shape_{k}", rr.Transform3D(translation=shown.X.p, mat3x3=shown.X.R), static=True)
            recording.log(f"{path}/shape_{k}", drawing, static=True)


def _shape(rr: Any, shown: Shown) -> Any:
    """Rerun's archetype for a shape; None for a mesh that cannot be read."""
    shape: Any = shown.geometry.shape
    color = {"colors": [[round(255 * x) for x in shown.color]], "fill_mode": "solid"}
    if type(shape) is Box:
        return rr.Boxes3D(half_sizes=[0.5 * shape.size], **color)
    if type(shape) in (Sphere, Ellipsoid):
        radii = np.full(3, shape.radius) if type(shape) is Sphere else shape.radii
        return rr.Ellipsoids3D(half_sizes=[radii], **color)
    if type(shape) is Cylinder:
        return rr.Cylinders3D(lengths=[shape.length], radii=[shape.radius], **color)
    if type(shape) is Capsule:  # Rerun's begins at its origin
        shift = [[0.0, 0.0, -0.5 * shape.length]]
        return rr.Capsules3D(lengths=[shape.length], radii=[shape.radius], translations=shift, **color)
    drawn = surface(shown.geometry)
    if drawn is None:
        return None
    return rr.Mesh3D(vertex_positions=drawn[0], triangle_indices=drawn[1], albedo_factor=shown.color)


def _contacts(rr: Any, recording: Any, drawn: DrawnRun) -> None:
    """Arrows along the forces, at each time."""
    for t, (positions, forces) in zip(drawn.run.t, drawn.pushes(), strict=True):
        recording.set_time(TIMELINE, duration=float(t))
        recording.log("world/contacts", rr.Arrows3D(origins=positions, vectors=drawn.scale * forces, colors=[RED]))
    for name, wrench in drawn.wrenches().items():
        for k, word in enumerate(("mx", "my", "mz", "fx", "fy", "fz")):
            _columns(rr, recording, drawn, entity("wrench", name, word), rr.Scalars.columns(scalars=wrench[:, k]))


SLOWEST, FASTEST = 24.0, 1000.0  # [1/s] time codes


def write_usd(drawn: DrawnRun, path: Path) -> None:
    """Write a stage that plays the run; what USD cannot say of the robot is listed in the documentation of the file."""
    losses = Losses("USD", approximate=True)
    writer = to_usd(drawn.robot.model, losses)
    notes = [f"{finding.where}: {finding.what}; {finding.action}" for finding in losses.close()]
    stage, run = writer.stage, drawn.run
    steps = np.diff(run.t)
    rate = float(np.clip(round(1.0 / float(np.median(steps))), SLOWEST, FASTEST)) if len(steps) else SLOWEST
    stage.SetTimeCodesPerSecond(rate)
    stage.SetFramesPerSecond(rate)
    if len(run):
        stage.SetStartTimeCode(float(run.t[0]) * rate)
        stage.SetEndTimeCode(float(run.t[-1]) * rate)
    gf = writer.pxr.Gf
    for i, body in enumerate(writer.bodies):
        if not body:
            continue
        translate, orient = writer.pxr.UsdGeom.Xformable(stage.GetPrimAtPath(body)).GetOrderedXformOps()[:2]
        for k, t in enumerate(run.t):
            w, x, y, z = (float(value) for value in drawn.quaternions[k, i])
            translate.Set(gf.Vec3d(*(float(value) for value in drawn.poses[k, i, :3, 3])), float(t) * rate)
            orient.Set(gf.Quatd(w, x, y, z), float(t) * rate)
    writer.save(path, [f"A run of robot {run.robot!r}, {len(run)} times, written by dalembert.", *notes])
