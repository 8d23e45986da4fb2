"""Model → Denavit-Hartenberg table (.dh.toml), modified convention: serial chains of revolute and prismatic joints.

The frames of the links become those of the table, on their axes; coordinates keep their zeros and signs. Frame i has z
along axis i and x along the common normal of axes i and i + 1 (Craig 1989, §3.4). The remaining freedom (the sense of
x; the origin, where axes are parallel) is taken from the link's frame, so that a robot whose frames are those of a
table keeps them.
"""

from __future__ import annotations

import json
import math
import textwrap
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from dalembert.model import Body, Frame, JointEquation, Model, Part
from dalembert.model.assembly import WORLD
from dalembert.model.closures import WORLD_BODY
from dalembert.model.joints.joint import snapped
from dalembert.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from dalembert.spatial import Inertia, Pose, so3

from .layout import UniqueNames, further_limits
from .losses import Losses
from .shapes import Package, written
from .text import number, tidied

EXACT = 1e-12  # of the robot's size: how well the table must give the frames back
FARTHEST = 1e3  # of the robot's size: an origin farther off costs the digits that EXACT requires
SHAPES = {Box: ("size",), Sphere: ("radius",), Cylinder: ("radius", "length"), Capsule: ("radius", "length")}
LIMITS = {
    "lower": "lower",
    "upper": "upper",
    "velocity": "velocity_limit",
    "effort": "effort_limit",
    "continuous": "continuous_limit",
}
FORMAT = "dh"  # among the keywords of joints
FRAME = "_dh"  # behind a link's name: the frame that a reader adds for the table's


def to_dh(model: Model, losses: Losses, files: Package, geometry: bool = True) -> list[str]:
    """The lines of the table; empty if the model is not such a chain, which `losses` then says."""
    if not _is_chain(model, losses):
        return []
    return _Table(model, losses, files, geometry).lines()


def _is_chain(model: Model, losses: Losses) -> bool:
    for body in model.bodies[1:]:
        cure = "save as .urdf, .xml or .sdf"
        if FORMAT not in body.joint.uncoupled.keywords:
            losses.refuse_joint(body.joint.uncoupled, FORMAT)
        if body.parent != body.index - 1:
            losses.refuse("joint", body.joint.name, "it branches off, and a DH table is one chain", cure)
    if len(model.bodies) == 1:
        losses.refuse("robot", model.name, "it has no joints, and a DH table is made of them", "save as .urdf")
    for closure in model.closures:
        if isinstance(closure, JointEquation):
            what = "an equation between joints, which a DH table does not have"
            losses.refuse("closure", closure.name, what, "use mimic=, or save as .urdf")
    return not losses.refused


class _Table:
    def __init__(self, model: Model, losses: Losses, files: Package, geometry: bool) -> None:
        self.model, self.losses, self.files, self.geometry = model, losses, files, geometry
        self.zero = [model.bodies[0].placement]  # X_WB with all joints at zero
        for body in model.bodies[1:]:
            self.zero.append(self.zero[-1] @ body.placement)
        bodies = list(zip(self.zero[1:], model.bodies[1:], strict=True))
        lines = [AxisLine(X.p, X.R @ body.joint.uncoupled.axis, X.R[:, 0]) for X, body in bodies]  # type: ignore[attr-defined]
        self.size = 1.0 + float(np.max(np.abs([X.p for X in self.zero])))
        self.frames = frames(self.zero[0], lines, self.size)
        self.rows = [row(a, b) for a, b in zip(self.frames, self.frames[1:], strict=False)]
        self.tool = self._chosen_tool()
        moved = np.any(np.abs(self.frames[0].matrix() - self.zero[0].matrix()) > 0.0)
        names = UniqueNames(frame.name for frame in model.frames)
        world = model.bodies[0].name == WORLD and moved
        self.names = [names.new("base") if world else model.bodies[0].name, *(body.name for body in model.bodies[1:])]

    def lines(self) -> list[str]:
        self._check()
        lines = [f"name = {_text(self.model.name)}", 'convention = "modified"', 'angles = "rad"']
        lines += [f"gravity = {_list(self.model.gravity)}", "", "[base]", f"link = {_text(self.names[0])}"]
        base = self.model.bodies[0]
        lines += ['kind = "free"'] if self.model.bodies[0].joint.nv else []
        lines += _pose(self.frames[0]) + self._carried(base, "base")
        for body, values in zip(self.model.bodies[1:], self.rows, strict=True):
            lines += ["", "[[joint]]", *self._joint(body, values.a, values.alpha, values.d, values.theta)]
        if self.tool is not None:
            X = self.frames[-1].inverse() @ self.zero[-1] @ self.tool.placement
            lines += ["", "[tool]", f"name = {_text(self.tool.name)}", *_pose(X)]
            if isinstance(self.tool, Part):
                lines += _mass(self.tool.inertia) + self._shapes([(Pose.identity(), self.tool)], "tool")
        for closure in self.model.closures:
            lines += self._loop(closure)
        return lines

    def _check(self) -> None:
        """Losses of the whole: frames, a free base that would be measured elsewhere, axes that are nearly parallel."""
        X = self.frames[0]
        for values, expected, old in zip(self.rows, self.frames[1:], self.zero[1:], strict=True):
            X = X @ values.pose()
            far = np.max(np.abs(expected.p - old.p)) > FARTHEST * self.size
            if far or np.max(np.abs(X.matrix() - expected.matrix())) > EXACT * self.size:
                what = "two axes that follow each other are nearly parallel, so that their common normal is far away"
                self.losses.refuse("robot", self.model.name, what, "make them parallel, or save as .urdf")
                break
        base = self.model.bodies[0]
        if self.model.bodies[0].joint.nv:
            if np.any(self.frames[0].matrix() != self.zero[0].matrix()):
                what = "the base's frame is not on the first axis as a DH table needs it, and it floats"
                self.losses.change("link", base.name, what, "q of the base is the pose of the table's first frame")
            effects = ("armature", "damping", "friction", "stribeck", "stiffness")
            fields = [field for field in effects if np.any(getattr(base.joint, field))]
            if fields:
                what = f"{', '.join(fields)} of the free base, which a DH table does not have"
                self.losses.change("joint", base.joint.name, what, "left out")
        for body, frame, old in zip(self.model.bodies, self.frames, self.zero, strict=True):
            if np.max(np.abs(frame.matrix() - old.matrix())) > EXACT * self.size:
                self.losses.note("link", body.name, "its frame is not on its joint's axis as DH has it", "moved there")
        kept = {*(body.name for body in self.model.bodies), self.tool.name if self.tool is not None else ""}
        kept |= {f"{body.name}{FRAME}" for body in self.model.bodies}
        for lost in (frame for frame in self.model.frames if frame.name not in kept):
            self.losses.note("frame", lost.name, "a DH table has one frame beyond its links", "left out, its mass kept")

    def _chosen_tool(self) -> Part | Frame | None:
        """The last fixed link or frame on the last body."""
        last = self.model.bodies[-1]
        parts = {part.name: part for part in last.parts[1:]}
        held = [frame for frame in self.model.frames if frame.body == last.index and frame.name != last.name]
        held = [frame for frame in held if not frame.name.endswith(FRAME)]
        return parts.get(held[-1].name, held[-1]) if held else None

    def _joint(self, body: Body, a: float, alpha: float, d: float, theta: float) -> list[str]:
        joint = body.joint.uncoupled
        if not joint.limited:
            self.losses.note("joint", joint.name, "a DH table has no continuous joints", "revolute without limits")
        lines = [f"name = {_text(joint.name)}", f'type = "{joint.keywords[FORMAT]}"', f"link = {_text(body.name)}"]
        lengths, angles = tidied([a, d], self.size), tidied([alpha, theta], 1.0)
        values = {"a": lengths[0], "alpha": angles[0], "d": lengths[1], "theta": angles[1]}
        lines += [f"{key} = {number(value)}" for key, value in values.items()]
        limits = {key: getattr(joint, field)[0] for key, field in LIMITS.items()}
        limits |= further_limits(joint)
        if np.isinf(limits.get("deceleration", 0.0)):
            self.losses.note("joint", joint.name, "a DH table bounds deceleration with acceleration", "as acceleration")
        lines += [f"{key} = {number(value)}" for key, value in limits.items() if np.isfinite(value)]
        effects = {key: getattr(joint, key)[0] for key in ("armature", "damping", "friction", "stribeck", "stiffness")}
        lines += [f"{key} = {number(value)}" for key, value in effects.items() if value]
        lines += [f"slip_speed = {number(joint.slip_speed)}"] if joint.friction[0] or joint.stribeck[0] else []
        lines += [f"stribeck_speed = {number(joint.stribeck_speed)}"] if joint.stribeck[0] else []
        lines += [f"rest = {number(joint.rest[0])}"] if joint.stiffness[0] and joint.rest[0] else []
        if body.joint.mimic is not None:
            leader, ratio, offset = body.joint.mimic
            lines += [f"mimic = {{ joint = {_text(leader)}, ratio = {number(ratio)}, offset = {number(offset)} }}"]
        return lines + self._carried(body, "joint")

    def _carried(self, body: Body, table: str) -> list[str]:
        """Mass and shapes of a body, in the frame of the table."""
        X_FB = self.frames[body.index].inverse() @ self.zero[body.index]
        parts = [part for part in body.parts if part is not self.tool]
        total = reduce(lambda one, two: one + two, (part.inertia.transform(part.placement) for part in parts))
        shaped = [(X_FB @ part.placement, part) for part in parts]
        return _mass(total.transform(X_FB)) + self._shapes(shaped, table)

    def _shapes(self, parts: list[tuple[Pose, Part]], table: str) -> list[str]:
        lines: list[str] = []
        for X, part in parts:
            shapes = part.geometry if self.geometry else self.losses.no_shapes(part)
            for geometry in written(part.name, shapes, {Mesh, *SHAPES}, self.losses, self.files):
                lines += ["", f"[[{table}.geometry]]", *self._shape(geometry.shape), f'role = "{geometry.role}"']
                lines += [f"name = {_text(geometry.name)}"] if geometry.name else []
                lines += [f"color = {_list(geometry.color)}"] if geometry.color is not None else []
                lines += _pose(X @ geometry.placement)
        return lines

    def _shape(self, shape: Shape) -> list[str]:
        if isinstance(shape, Mesh):
            file = self.files.uri(shape.file, "package")
            return ['shape = "mesh"', f"file = {_text(file)}", f"scale = {_list(shape.scale)}"]
        sizes = [(key, getattr(shape, key)) for key in SHAPES[type(shape)]]
        return [f'shape = "{shape.kind.lower()}"'] + [
            f"{key} = {_list(size) if np.ndim(size) else number(size)}" for key, size in sizes
        ]

    def _loop(self, closure: Any) -> list[str]:
        lines = ["", "[[loop]]", f"name = {_text(closure.name)}", f'kind = "{closure.kind}"']
        for end, frame in (("a", closure.a), ("b", closure.b)):
            if frame.body == WORLD_BODY:
                lines += [f"{end} = {_text(WORLD)}", *_pose(frame.placement, f"_{end}")]
            else:
                X = self.frames[frame.body].inverse() @ self.zero[frame.body] @ frame.placement
                lines += [f"{end} = {_text(self.names[frame.body])}", *_pose(X, f"_{end}")]
        lines += [f"{key} = {_list(getattr(closure, key))}" for key in ("axis", "axis2") if hasattr(closure, key)]
        return lines + ([f"length = {number(closure.length)}"] if hasattr(closure, "length") else [])


def comment(lines: list[str]) -> list[str]:
    """Text as TOML comments."""
    return [part for line in lines for part in textwrap.wrap(line, 118, initial_indent="# ", subsequent_indent="#   ")]


def _mass(inertia: Inertia) -> list[str]:
    if not np.any(inertia.parameters()):
        return []
    com = tidied(inertia.com, float(np.max(np.abs(inertia.com))))
    I = tidied(inertia.about_com(), float(np.max(np.abs(inertia.I))))
    rows = ", ".join(_list(row) for row in I)
    return [f"mass = {number(inertia.mass)}", f"com = {_list(com)}", f"inertia = [{rows}]"]


def _pose(X: Pose, end: str = "") -> list[str]:
    rpy = tidied(so3.to_rpy(X.R), 1.0) if np.any(np.abs(X.R - np.eye(3)) > 1e-15) else np.zeros(3)
    return [f"{key}{end} = {_list(x)}" for key, x in (("xyz", X.p), ("rpy", rpy)) if np.any(x)]


def _list(values: Any) -> str:
    return "[" + ", ".join(number(value) for value in np.asarray(values, float)) + "]"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


PARALLEL = 1e-12  # sine of the angle below which axes are parallel
TOUCHING = 1e-13  # distance, of the size of the robot, below which axes meet
X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class AxisLine:
    """An axis in the robot's zero position, in the world: a point of it and its unit direction (3,).

    x (3,) is the direction that a frame on it would best have for its x axis.
    """

    point: np.ndarray
    direction: np.ndarray
    x: np.ndarray


@dataclass(frozen=True)
class DhRow:
    """Rx(alpha) Tx(a) Rz(theta) Tz(d): lengths [m], angles [rad]."""

    a: float
    alpha: float
    theta: float
    d: float

    def pose(self) -> Pose:
        """The frame of this row in the one before, at q = 0."""
        across = Pose(so3.about_axis(X, self.alpha), np.array([self.a, 0.0, 0.0]))
        return across @ Pose(so3.about_axis(Z, self.theta), np.array([0.0, 0.0, self.d]))


def frames(base: Pose, lines: list[AxisLine], size: float) -> list[Pose]:
    """X_WF of frame 0 and of one frame on each axis. Frame 0 is `base` if axis 1 can be reached from it."""
    poses = [base if reaches(base, lines[0], size) else _on(lines[0], lines[0].x, lines[0].point)]
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        poses.append(_on(line, line.x, line.point) if after is None else _towards(line, after, size))
    return poses


def reaches(frame: Pose, line: AxisLine, size: float) -> bool:
    """Whether x of the frame is perpendicular to the line and meets it, so that Rx(α) Tx(a) can reach it."""
    x, apart = frame.R[:, 0], line.point - frame.p
    normal = apart - (apart @ x) * x
    miss = normal - (normal @ line.direction) * line.direction
    return bool(abs(x @ line.direction) <= PARALLEL and np.max(np.abs(miss)) <= TOUCHING * size)


def row(X_before: Pose, X_frame: Pose) -> DhRow:
    """The parameters that lead from one frame to the next."""
    between = X_before.inverse() @ X_frame
    R, p = snapped(between.R), between.p
    alpha = math.atan2(-R[1, 2], R[2, 2])
    theta = math.atan2(-R[0, 1], R[0, 0])
    z = np.array([0.0, -math.sin(alpha), math.cos(alpha)])
    return DhRow(float(p[0]), alpha, theta, float(z @ p))


def _towards(line: AxisLine, after: AxisLine, size: float) -> Pose:
    """The frame on `line` whose x runs along the common normal with the line after."""
    normal = np.cross(line.direction, after.direction)
    sine, apart = float(np.linalg.norm(normal)), after.point - line.point
    if sine >= PARALLEL:
        along = float(np.cross(apart, after.direction) @ normal) / sine**2
        return _on(line, normal if normal @ line.x >= 0.0 else -normal, line.point + along * line.direction)
    across = apart - (apart @ line.direction) * line.direction
    if np.linalg.norm(across) <= TOUCHING * size:
        return _on(line, line.x, line.point)
    return _on(line, across if across @ line.x >= 0.0 else -across, line.point)


def _on(line: AxisLine, x: np.ndarray, origin: np.ndarray) -> Pose:
    """A frame with z along the line and x as close as possible to `x`."""
    z = line.direction
    x = x - (x @ z) * z
    if np.linalg.norm(x) < 1e-6:
        x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x = x / np.linalg.norm(x)
    return Pose(snapped(np.stack([x, np.cross(z, x), z], axis=1)), origin)
