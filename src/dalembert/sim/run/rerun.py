"""A run as a recording of Rerun: the robot's shapes, its motion, coordinates and torques, contacts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from dalembert.spatial import Pose

from .drawn import Drawn, Shown, surface

TIMELINE = "time"
RED = (230, 64, 51)


def write(drawn: Drawn, path: Path) -> None:
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


def _columns(rr: Any, recording: Any, drawn: Drawn, path: str, columns: Any) -> None:
    if len(drawn.run):
        recording.send_columns(path, indexes=[rr.TimeColumn(TIMELINE, duration=drawn.run.t)], columns=columns)


def _body(rr: Any, recording: Any, drawn: Drawn, i: int, path: str) -> None:
    moves = rr.Transform3D.columns(
        translation=drawn.poses[:, i, :3, 3], quaternion=drawn.quaternions[:, i][:, [1, 2, 3, 0]]
    )
    _columns(rr, recording, drawn, path, moves)
    for k, shown in enumerate(drawn.shapes(i)):
        drawing = _shape(rr, shown)
        if drawing is not None:
            recording.log(f"{path}/shape_{k}", _place(rr, shown.X), static=True)
            recording.log(f"{path}/shape_{k}", drawing, static=True)


def _place(rr: Any, X: Pose) -> Any:
    return rr.Transform3D(translation=X.p, mat3x3=X.R)


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


def _contacts(rr: Any, recording: Any, drawn: Drawn) -> None:
    """Arrows along the forces, at each time."""
    for t, (positions, forces) in zip(drawn.run.t, drawn.pushes(), strict=True):
        recording.set_time(TIMELINE, duration=float(t))
        recording.log("world/contacts", rr.Arrows3D(origins=positions, vectors=drawn.scale * forces, colors=[RED]))
    for name, wrench in drawn.wrenches().items():
        for k, word in enumerate(("mx", "my", "mz", "fx", "fy", "fz")):
            _columns(rr, recording, drawn, entity("wrench", name, word), rr.Scalars.columns(scalars=wrench[:, k]))
