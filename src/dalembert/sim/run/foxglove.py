"""A run as messages that Foxglove draws: joint states, transforms, the robot's shapes, contacts, wrenches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from dalembert.shapes import Box, Cone, Cylinder, Ellipsoid, Sphere
from dalembert.spatial import so3
from dalembert.tables.messages import Channel
from dalembert.typing import Array

from .drawn import DrawnRun, Shown, surface
from .run import Run

WORLD = "world"
RED = (0.9, 0.25, 0.2, 1.0)
SHAFT, HEAD = 0.008, 0.02  # [m] diameters of arrows
PRIMITIVES = ("arrows", "cubes", "spheres", "cylinders", "lines", "triangles", "texts", "models")


def channels(run: Run, drawn: DrawnRun | None) -> list[Channel]:
    """Joint states; and with its robot, all that is to be drawn."""
    result = [Channel("/joint_states", "foxglove.JointStates", JOINT_STATES, _joint_states(run))]
    if drawn is None:
        return result
    result.append(Channel("/tf", "foxglove.FrameTransforms", TRANSFORMS, _transforms(drawn)))
    result.append(Channel("/robot", "foxglove.SceneUpdate", SCENE, _robot(drawn)))
    if run.contacts is not None:
        result.append(Channel("/contacts", "foxglove.SceneUpdate", SCENE, _contacts(drawn)))
        for body, wrench in drawn.wrenches().items():
            topic = f"/wrenches/{body}"
            result.append(Channel(topic, "geometry_msgs/WrenchStamped", WRENCH, _wrenches(run, wrench)))
    return result


def _time(t: float) -> dict[str, int]:
    whole = round(float(t) * 1e9)
    return {"sec": whole // 10**9, "nsec": whole % 10**9}


def _xyz(x: Any) -> dict[str, float]:
    return dict(zip("xyz", map(float, x), strict=True))


def _quaternion(q: Any) -> dict[str, float]:
    w, x, y, z = map(float, q)
    return {"x": x, "y": y, "z": z, "w": w}


def _color(rgba: Any) -> dict[str, float]:
    return dict(zip("rgba", map(float, rgba), strict=True))


def _joint_states(run: Run) -> Iterator[tuple[float, Any]]:
    """Coordinates that are rates' own; of free and ball joints the velocity and force alone."""
    at = {name: k for k, name in enumerate(run.coordinates)}
    for k, t in enumerate(run.t):
        joints = []
        for i, name in enumerate(run.freedoms):
            joint = {"name": name, "velocity": float(run.v[k, i]), "effort": float(run.tau[k, i])}
            if name in at:
                joint["position"] = float(run.q[k, at[name]])
            joints.append(joint)
        yield t, {"timestamp": _time(t), "joints": joints}


def _transforms(drawn: DrawnRun) -> Iterator[tuple[float, Any]]:
    """Every body in the world."""
    for k, t in enumerate(drawn.run.t):
        transforms = [
            {
                "timestamp": _time(t),
                "parent_frame_id": WORLD,
                "child_frame_id": name if name != WORLD else f"{WORLD}_body",
                "translation": _xyz(drawn.poses[k, i, :3, 3]),
                "rotation": _quaternion(drawn.quaternions[k, i]),
            }
            for i, name in enumerate(drawn.bodies)
        ]
        yield t, {"transforms": transforms}


def _entity(t: float, frame: str, name: str, **primitives: list[Any]) -> dict[str, Any]:
    empty: dict[str, list[Any]] = {kind: [] for kind in PRIMITIVES}
    head = {"timestamp": _time(t), "frame_id": frame, "id": name, "lifetime": {"sec": 0, "nsec": 0}}
    return head | {"frame_locked": True, "metadata": []} | empty | primitives


def _robot(drawn: DrawnRun) -> Iterator[tuple[float, Any]]:
    """The shapes of all bodies, once: they move with the transforms."""
    entities = []
    for i, name in enumerate(drawn.bodies if len(drawn.run) else ()):
        primitives: dict[str, list[Any]] = {}
        for shown in drawn.shapes(i, capsules=False):
            for kind, primitive in _primitive(shown):
                primitives.setdefault(kind, []).append(primitive)
        if primitives:
            entities.append(_entity(drawn.run.t[0], name if name != WORLD else f"{WORLD}_body", name, **primitives))
    if len(drawn.run):
        yield drawn.run.t[0], {"deletions": [], "entities": entities}


def _primitive(shown: Shown) -> Iterator[tuple[str, dict[str, Any]]]:
    """The kind of primitive that a shape is, and its fields; nothing of a mesh that cannot be read."""
    shape: Any = shown.geometry.shape
    pose = {"position": _xyz(shown.X.p), "orientation": _quaternion(so3.to_quaternion(shown.X.R))}
    color = {"color": _color(shown.color)}
    if type(shape) is Box:
        yield "cubes", {"pose": pose, "size": _xyz(shape.size)} | color
    elif type(shape) in (Sphere, Ellipsoid):
        radii = np.full(3, shape.radius) if type(shape) is Sphere else shape.radii
        yield "spheres", {"pose": pose, "size": _xyz(2.0 * radii)} | color
    elif type(shape) in (Cylinder, Cone):
        size = _xyz((2.0 * shape.radius, 2.0 * shape.radius, shape.length))
        top = 0.0 if type(shape) is Cone else 1.0
        yield "cylinders", {"pose": pose, "size": size, "bottom_scale": 1.0, "top_scale": top} | color
    elif (drawn := surface(shown.geometry)) is not None:
        vertices, triangles = drawn
        points = [_xyz(vertex) for vertex in vertices]
        yield "triangles", {"pose": pose, "points": points, "indices": triangles.ravel().tolist(), "colors": []} | color


def _contacts(drawn: DrawnRun) -> Iterator[tuple[float, Any]]:
    """An arrow for each contact that pushes, along its force."""
    for t, (positions, forces) in zip(drawn.run.t, drawn.pushes(), strict=True):
        arrows = [
            {
                "pose": {"position": _xyz(p), "orientation": _quaternion(_from_x(f))},
                "shaft_length": float(np.linalg.norm(f)) * drawn.scale,
                "shaft_diameter": SHAFT,
                "head_length": HEAD,
                "head_diameter": 2.0 * SHAFT,
                "color": _color(RED),
            }
            for p, f in zip(positions, forces, strict=True)
        ]
        yield t, {"deletions": [], "entities": [_entity(t, WORLD, "contacts", arrows=arrows)]}


def _from_x(direction: Array) -> Array:
    """w x y z of the shortest rotation of the x axis onto a direction (3,)."""
    d = direction / np.linalg.norm(direction)
    if d[0] < -1.0 + 1e-12:
        return np.array([0.0, 0.0, 0.0, 1.0])
    q = np.array([1.0 + d[0], 0.0, -d[2], d[1]])
    return q / np.linalg.norm(q)


def _wrenches(run: Run, wrench: Array) -> Iterator[tuple[float, Any]]:
    for t, row in zip(run.t, wrench, strict=True):
        header = {"stamp": _time(t), "frame_id": WORLD}
        yield t, {"header": header, "wrench": {"force": _xyz(row[3:]), "torque": _xyz(row[:3])}}


# ---- the schemas, as Foxglove's documentation names the fields


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


NUMBER, TEXT, WHOLE, FLAG = {"type": "number"}, {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
TIME = _object(sec=WHOLE, nsec=WHOLE)
XYZ = _object(x=NUMBER, y=NUMBER, z=NUMBER)
QUATERNION = _object(x=NUMBER, y=NUMBER, z=NUMBER, w=NUMBER)
POSE = _object(position=XYZ, orientation=QUATERNION)
COLOR = _object(r=NUMBER, g=NUMBER, b=NUMBER, a=NUMBER)
_SOLID = {"pose": POSE, "size": XYZ, "color": COLOR}
_ARROW = dict.fromkeys(("shaft_length", "shaft_diameter", "head_length", "head_diameter"), NUMBER)
_KINDS = {
    "arrows": _object(pose=POSE, color=COLOR, **_ARROW),
    "cubes": _object(**_SOLID),
    "spheres": _object(**_SOLID),
    "cylinders": _object(**_SOLID, bottom_scale=NUMBER, top_scale=NUMBER),
    "triangles": _object(pose=POSE, points=_list(XYZ), color=COLOR, colors=_list(COLOR), indices=_list(WHOLE)),
}
_ENTITY = _object(
    timestamp=TIME,
    frame_id=TEXT,
    id=TEXT,
    lifetime=TIME,
    frame_locked=FLAG,
    metadata=_list(_object(key=TEXT, value=TEXT)),
    **{kind: _list(_KINDS.get(kind, _object())) for kind in PRIMITIVES},
)
JOINT_STATES = json.dumps(
    _object(timestamp=TIME, joints=_list(_object(name=TEXT, position=NUMBER, velocity=NUMBER, effort=NUMBER)))
)
TRANSFORMS = json.dumps(
    _object(
        transforms=_list(
            _object(timestamp=TIME, parent_frame_id=TEXT, child_frame_id=TEXT, translation=XYZ, rotation=QUATERNION)
        )
    )
)
SCENE = json.dumps(_object(deletions=_list(_object(timestamp=TIME, type=WHOLE, id=TEXT)), entities=_list(_ENTITY)))
WRENCH = json.dumps(_object(header=_object(stamp=TIME, frame_id=TEXT), wrench=_object(force=XYZ, torque=XYZ)))
