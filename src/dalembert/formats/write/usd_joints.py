"""Joints, loops and drives of a robot in UsdPhysics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.model import Actuator, Body, Closure, Joint, JointEquation
from dalembert.model.joints import Free, Step
from dalembert.spatial import Pose

from ..usd.drives import ALWAYS, FREEDOMS, OWN
from .layout import UniqueNames, spread

if TYPE_CHECKING:
    from .usd import UsdWriter

FORMAT = "usd"  # among the keywords of joints
PASSED_OVER = "written as dalembert:…, which other readers ignore"
SQUARE = 1e-12  # cosine of the angle between axes that are perpendicular
# closure → freedoms that it leaves, along and about x
FREE = {
    "weld": "", "point": "rotX rotY rotZ", "revolute": "rotX", "prismatic": "transX", "cylindrical": "rotX transX",
    "planar": "transY transZ rotX", "universal": "rotX rotY", "point-on-line": "transX rotX rotY rotZ",
    "point-on-plane": "transY transZ rotX rotY rotZ",
}  # fmt: skip
NEWTON = {
    "armature": ("armature", 0),
    "damping": ("damping", 1),
    "friction": ("friction", 0),
    "velocity_limit": ("velocityLimit", -1),
}


class UsdJoints:
    """Writes joints under the prim `joints` of the robot."""

    def __init__(self, writer: UsdWriter) -> None:
        self.writer, self.model, self.losses = writer, writer.model, writer.losses
        self.physics = writer.pxr.UsdPhysics
        self.folder = f"{writer.root}/joints"
        self.names = UniqueNames(())
        writer.pxr.UsdGeom.Scope.Define(writer.stage, self.folder)
        self.steps = UniqueNames(body.joint.name for body in self.model.bodies)
        self.links = UniqueNames(frame.name for frame in self.model.frames)
        self.paths: dict[str, str] = {}  # name of a joint → its prim
        self.followers: list[Step] = []

    def carry(self, body: Body) -> None:
        """The joint of a body; several with massless bodies between them where USD has no such joint."""
        joint = body.joint.uncoupled
        path, parent = self.writer.bodies[body.index], self.writer.bodies[body.parent] if body.parent >= 0 else ""
        if not path or (isinstance(joint, Free) and body.parent <= 0 and not parent):
            self._floating(body)
            return
        row = spread(body.joint, self.steps, FORMAT, self.losses, fits=not _skew(joint))
        X = body.placement
        for step in row:
            child = path if step is row[-1] else self._between(f"{step.joint.name}_link", body)
            self._law(self._joint(step.joint.name, step.joint.keywords[FORMAT], step.joint, (parent, child), X), step)
            parent, X = child, Pose.identity()

    def _floating(self, body: Body) -> None:
        """A free body needs no joint in USD."""
        joint = body.joint
        if not joint.nv:
            return
        if joint.name != body.name:
            self.losses.note("joint", joint.name, "a free body has no joint in USD", "takes the link's name")
        if stated := list(_differing(joint)):
            self.losses.change("joint", joint.name, f"{', '.join(stated)} of a free body", "left out")

    def _between(self, name: str, body: Body) -> str:
        name = self.links.new(name)
        path = f"{self.writer.root}/{self.writer.identifier(name, self.writer.taken)}"
        prim = self.writer.define(path, name)
        self.writer.place(prim, self.writer.poses[body.index])
        self.physics.RigidBodyAPI.Apply(prim)
        self.writer.own(prim, "parameters", np.zeros(10))
        return path

    def _joint(
        self, name: str, freedoms: str, shape: Any, ends: tuple[str, str], X: Pose, X_child: Pose | None = None
    ) -> Any:
        """A prim with the freedoms about and along x of a frame that is turned to the axes of the joint."""
        words = freedoms.split()
        axis, axis2 = getattr(shape, "axis", None), getattr(shape, "axis2", None)
        R, letter = _frame(axis, axis2 if words == ["rotX", "rotY"] else None, len(words) == 1)
        path = f"{self.folder}/{self.writer.identifier(name, self.names)}"
        kinds = {
            (): "FixedJoint",
            ("rotX",): "RevoluteJoint",
            ("transX",): "PrismaticJoint",
            tuple(FREEDOMS[3:]): "SphericalJoint",
        }
        api = getattr(self.physics, kinds.get(tuple(words), "Joint")).Define(self.writer.stage, path)
        prim = api.GetPrim()
        if prim.GetName() != name:
            self.writer.own(prim, "name", name, "String")
        if len(words) == 1:
            api.CreateAxisAttr(letter)
        elif tuple(words) not in kinds:
            for locked in FREEDOMS:
                if locked not in words:
                    limit = self.physics.LimitAPI.Apply(prim, locked)
                    limit.CreateLowAttr(1.0)
                    limit.CreateHighAttr(-1.0)
        self._ends(api, prim, ends, (X, X_child or Pose.identity()), R)
        self.paths[name] = path
        return prim

    def _ends(self, api: Any, prim: Any, ends: tuple[str, str], places: tuple[Pose, Pose], R: np.ndarray) -> None:
        writer = self.writer
        for k, (end, X) in enumerate(zip(ends, places, strict=True)):
            turned = X.R @ R
            if end:
                (api.CreateBody1Rel if k else api.CreateBody0Rel)().SetTargets([end])
            (api.CreateLocalPos1Attr if k else api.CreateLocalPos0Attr)(writer.vector(X.p))
            (api.CreateLocalRot1Attr if k else api.CreateLocalRot0Attr)(writer.quaternion(turned))
            if np.any(np.float32(X.p) != X.p):
                writer.own(prim, f"localPos{k}", X.p)
            if np.any(turned != np.eye(3)):
                writer.own(prim, f"localRot{k}", turned)

    # ---- laws

    def _law(self, prim: Any, step: Step) -> None:
        """Limits, forces and the joint that leads."""
        joint, writer = step.joint, self.writer
        self._limits(prim, joint)
        if joint.kind == "revolute" and not np.isfinite([joint.lower, joint.upper]).any():
            writer.own(prim, "kind", joint.kind, "String")
        for field, value in _differing(joint).items():
            writer.own(prim, field, np.atleast_1d(value))
            if field == "effort_limit":
                continue  # also the limit of a drive
            if field not in NEWTON:
                self.losses.note("joint", joint.name, field.replace("_", " "), PASSED_OVER)
                continue
            word, power = NEWTON[field]
            units = np.array([math.pi / 180.0 if unit == "rad" else 1.0 for unit in joint.units])
            values = np.atleast_1d(value) * units**power
            if np.ptp(values) == 0.0 or np.all(values == values[0]):
                prim.AddAppliedSchema("NewtonJointAPI")
                prim.CreateAttribute(f"newton:{word}", writer.pxr.Sdf.ValueTypeNames.Float).Set(float(values[0]))
            else:
                self.losses.note("joint", joint.name, f"{field} that is not the same for all freedoms", PASSED_OVER)
        if step.mimic is not None:
            self.followers.append(step)

    def _limits(self, prim: Any, joint: Joint) -> None:
        if not joint.limited or not np.isfinite([joint.lower, joint.upper]).any():
            return
        words = joint.keywords[FORMAT].split()
        for line in joint.lines:
            lower, upper = float(joint.lower[line.q]), float(joint.upper[line.q])
            unit = 180.0 / math.pi if joint.units[line.v] == "rad" else 1.0
            if len(words) == 1:
                prim.GetAttribute("physics:lowerLimit").Set(lower * unit)
                prim.GetAttribute("physics:upperLimit").Set(upper * unit)
                self.writer.own(prim, "lower", lower)
                self.writer.own(prim, "upper", upper)
                continue
            word = words[line.v]
            if np.isfinite([lower, upper]).any():
                if lower == upper:
                    self.losses.change("joint", joint.name, f"{word} with a range of length 0", "locked at 0")
                limit = self.physics.LimitAPI.Apply(prim, word)
                limit.CreateLowAttr(lower * unit)
                limit.CreateHighAttr(upper * unit)
                self.writer.own(prim, f"{word}:lower", lower)
                self.writer.own(prim, f"{word}:upper", upper)

    # ---- loops

    def close(self, closure: Closure | JointEquation) -> None:
        """A joint outside the articulation."""
        if isinstance(closure, JointEquation):
            what = f"USD has no {closure.kind} between coordinates"
            self.losses.refuse("closure", closure.name, what, "save as .urdf, or let one joint mimic the other")
            return
        ends = tuple("" if frame.body < 0 else self.writer.bodies[frame.body] for frame in (closure.a, closure.b))
        if closure.kind == "distance":
            path = f"{self.folder}/{self.writer.identifier(closure.name, self.names)}"
            api = self.physics.DistanceJoint.Define(self.writer.stage, path)
            prim, length = api.GetPrim(), float(closure.length)  # type: ignore[attr-defined]
            api.CreateMinDistanceAttr(length)
            api.CreateMaxDistanceAttr(length)
            self.writer.own(prim, "distance", length)
            if prim.GetName() != closure.name:
                self.writer.own(prim, "name", closure.name, "String")
            self._ends(api, prim, (ends[0], ends[1]), (closure.a.placement, closure.b.placement), np.eye(3))
        elif closure.kind not in FREE or _skew(closure):
            self.losses.refuse("closure", closure.name, f"USD has no such {closure.kind} closure", "save as .urdf")
            return
        else:
            name = self.steps.new(closure.name)
            where = closure.a.placement, closure.b.placement
            prim = self._joint(name, FREE[closure.kind], closure, (ends[0], ends[1]), where[0], where[1])
        self.physics.Joint(prim).CreateExcludeFromArticulationAttr(True)

    # ---- drives and followers

    def drive(self) -> None:
        """Drives of servos and motors on one joint, limits of efforts, and joints that follow others."""
        writer = self.writer
        acting: dict[str, list[Actuator]] = {}
        for actuator in self.model.actuators:
            acting.setdefault(actuator.joint, []).append(actuator)
        for joint_name, actuators in acting.items():
            drive = _drive(actuators[0]) if len(actuators) == 1 and joint_name in self.paths else None
            joint = self.model.joint(joint_name).joint.uncoupled if drive else None
            if drive is None or joint is None or joint.nv != 1 or drive[2] != float(joint.effort_limit[0]):
                for actuator in actuators:
                    self.losses.note("actuator", actuator.name, "USD has no drive with this law", "left out")
                continue
            prim = self._driven(joint_name, joint, drive)
            if actuators[0].name != joint_name:
                writer.own(prim, "actuator", actuators[0].name, "String")
            acting[joint_name] = []
        for body in self.model.bodies:
            joint = body.joint.uncoupled
            limit = float(joint.effort_limit[0]) if joint.nv == 1 else math.inf
            if joint.name in self.paths and math.isfinite(limit) and acting.get(joint.name) != []:
                writer.own(self._driven(joint.name, joint, (0.0, 0.0, limit)), "passive", True, "Bool")
        for keyframe in self.model.keyframes:
            what = "USD has one state, that of the start"
            self.losses.note("keyframe", keyframe.name, what, "only poses of free bodies at the start are written")
        for step in self.followers:
            self._follow(step)

    def _driven(self, name: str, joint: Joint, drive: tuple[float, float, float]) -> Any:
        prim = self.writer.stage.GetPrimAtPath(self.paths[name])
        turns = joint.units[0] == "rad"
        word, unit = ("angular", math.pi / 180.0) if turns else ("linear", 1.0)
        api = self.physics.DriveAPI.Apply(prim, word)
        stiffness, damping, limit = drive
        api.CreateTypeAttr("force")
        api.CreateStiffnessAttr(stiffness * unit)
        api.CreateDampingAttr(damping * unit)
        if math.isfinite(limit):
            api.CreateMaxForceAttr(limit)
        for field, value in zip(("stiffness", "damping", "limit"), drive, strict=True):
            self.writer.own(prim, f"drive:{word}:{field}", value)
        return prim

    def _follow(self, step: Step) -> None:
        leader, ratio, offset = step.mimic or ("", 1.0, 0.0)
        prim = self.writer.stage.GetPrimAtPath(self.paths[step.joint.name])
        types = self.writer.pxr.Sdf.ValueTypeNames
        unit = 180.0 / math.pi if step.joint.units[0] == "rad" else 1.0
        prim.AddAppliedSchema("NewtonMimicAPI")
        prim.CreateRelationship("newton:mimicJoint").SetTargets([self.paths[leader]])
        prim.CreateAttribute("newton:mimicCoef0", types.Float).Set(float(offset) * unit)
        prim.CreateAttribute("newton:mimicCoef1", types.Float).Set(float(ratio))
        self.writer.own(prim, "mimicRatio", ratio)
        self.writer.own(prim, "mimicOffset", offset)
        self.losses.note("joint", step.joint.name, f"follows '{leader}'", "NewtonMimicAPI, which not all readers have")


def _skew(shape: Any) -> bool:
    """Whether it has two axes that are not perpendicular."""
    axis2 = getattr(shape, "axis2", None)
    return axis2 is not None and abs(float(shape.axis @ axis2)) > SQUARE


def _frame(axis: Any, axis2: Any, single_axis: bool) -> tuple[np.ndarray, str]:
    """A rotation whose x axis is `axis` and whose y axis is `axis2`; and the letter of the axis, for a single one."""
    if axis is None:
        return np.eye(3), "X"
    if single_axis and np.count_nonzero(axis) == 1 and np.max(axis) == 1.0:
        return np.eye(3), "XYZ"[int(np.argmax(axis))]
    if axis2 is not None:
        return np.stack([axis, axis2, np.cross(axis, axis2)], axis=1), "X"
    following = np.eye(3)[(int(np.argmax(np.abs(axis))) + 1) % 3]
    y = following - (following @ axis) * axis
    y = y / np.linalg.norm(y)
    return np.stack([axis, y, np.cross(axis, y)], axis=1), "X"


def _differing(joint: Joint) -> dict[str, Any]:
    """Fields beyond limits of position that differ from their defaults."""
    plain: Any = type(joint)(name=joint.name)
    plain = plain.with_values(deceleration_limit=joint.acceleration_limit)
    fields = {}
    for field in OWN:
        if field in ALWAYS and not np.any(joint.friction if field == "slip_speed" else joint.stribeck):
            continue
        value, usual = getattr(joint, field), getattr(plain, field)
        if field == "rest" and not np.any(joint.stiffness):
            continue
        if np.any(np.asarray(value) != np.asarray(usual)):
            fields[field] = value
    return fields


def _drive(actuator: Actuator) -> tuple[float, float, float] | None:
    """Stiffness, damping and limit of an actuator that is such a drive."""
    plain = not (actuator.obstacle or np.isfinite(actuator.control_limits).any()) and actuator.dynamics == "none"
    if (
        not plain
        or np.ndim(actuator.gear)
        or actuator.gear != 1.0
        or actuator.force_limits[0] != -actuator.force_limits[1]
    ):
        return None
    (kp, *gains), (constant, stiffness, damping) = actuator.gain, actuator.bias
    limit = float(actuator.force_limits[1])
    if any(gains) or constant:
        return None
    if stiffness == -kp and kp > 0.0 and damping <= 0.0:
        return kp, -damping, limit
    if stiffness == 0.0 and kp > 0.0 and damping == -kp:
        return 0.0, kp, limit
    return (0.0, 0.0, limit) if kp == 1.0 and not (stiffness or damping) else None
