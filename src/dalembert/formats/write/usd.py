"""Model → USD with UsdPhysics: bodies with their poses at zero, joints between them, all in m, kg and degrees.

UsdPhysics states most numbers in single precision. The same numbers stand beside them in double precision, as
attributes `dalembert:…`, which count only where both agree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Body, Model, Part
from dalembert.model.assembly import WORLD
from dalembert.model.joints import Free
from dalembert.model.keyframes import start_of
from dalembert.spatial import Pose, so3

from ..usd.files import library
from .layout import UniqueNames
from .losses import Losses
from .surroundings import weightless
from .usd_joints import UsdJoints
from .usd_shapes import UsdShapes

PASSED_OVER = "written as dalembert:…, which other readers ignore"


def to_usd(model: Model, losses: Losses, geometry: bool = True) -> UsdWriter:
    """The stage of a robot, in memory."""
    writer = UsdWriter(model, losses, geometry)
    writer.write()
    return writer


class UsdWriter:
    """A stage that holds a robot; bodies: the path of the prim of each body, "" where it has none."""

    def __init__(self, model: Model, losses: Losses, geometry: bool) -> None:
        self.model, self.losses, self.geometry = model, losses, geometry
        self.pxr = library()
        self.stage = self.pxr.Usd.Stage.CreateInMemory()
        self.pxr.UsdGeom.SetStageMetersPerUnit(self.stage, 1.0)
        self.pxr.UsdGeom.SetStageUpAxis(self.stage, "Z")
        self.pxr.UsdPhysics.SetStageKilogramsPerUnit(self.stage, 1.0)
        self.root = f"/{self.identifier(model.name, UniqueNames(()))}"
        self.bodies: list[str] = []
        self.links: dict[str, str] = {}  # name of a link or frame → path
        self.taken = UniqueNames(("joints", "materials"))
        self.poses: list[Pose] = []

    def identifier(self, name: str, names: UniqueNames) -> str:
        """A name that a prim can have."""
        plain = self.pxr.Tf.MakeValidIdentifier(name) if name.isascii() else ""
        return names.new(plain or self.pxr.Tf.MakeValidIdentifier(name.encode("ascii", "replace").decode()))

    def define(self, path: str, name: str) -> Any:
        """An Xform that stands for something with a name."""
        prim = self.pxr.UsdGeom.Xform.Define(self.stage, path).GetPrim()
        if prim.GetName() != name:
            self.own(prim, "name", name, "String")
        return prim

    def own(self, prim: Any, name: str, value: Any, kind: str = "Double") -> None:
        """An attribute dalembert:name, of a number, text, or an array of numbers."""
        types = self.pxr.Sdf.ValueTypeNames
        if np.ndim(value) and not isinstance(value, str):
            kind, value = f"{kind}Array", [float(x) for x in np.ravel(value)]
        elif kind == "Double":
            value = float(value)
        prim.CreateAttribute(f"dalembert:{name}", getattr(types, kind)).Set(value)

    def write(self) -> None:
        """Write all of it."""
        root = self.define(self.root, self.model.name)
        self.own(root, "robot", self.model.name, "String")
        self.stage.SetDefaultPrim(root)
        if self.model.nv and any(not isinstance(body.joint, Free) and body.joint.nv for body in self.model.bodies):
            self.pxr.UsdPhysics.ArticulationRootAPI.Apply(root)
        self._gravity()
        shapes = UsdShapes(self, self.losses, self.geometry)
        joints = UsdJoints(self)
        for body in self.model.bodies:
            self._body(body, shapes)
            joints.carry(body)
        for closure in self.model.closures:
            joints.close(closure)
        joints.drive()
        self._exclusions()
        for link in weightless(self.model, self.losses):
            prim = self.stage.GetPrimAtPath(self.links[link])
            prim.AddAppliedSchema("PhysxRigidBodyAPI")
            prim.CreateAttribute("physxRigidBody:disableGravity", self.pxr.Sdf.ValueTypeNames.Bool).Set(True)

    def _gravity(self) -> None:
        g = self.model.gravity
        scene = self.pxr.UsdPhysics.Scene.Define(self.stage, "/physicsScene")
        size = float(np.linalg.norm(g))
        direction = g / size if size else np.array([0.0, 0.0, -1.0])
        scene.CreateGravityDirectionAttr(self.vector(direction))
        scene.CreateGravityMagnitudeAttr(size)
        self.own(scene.GetPrim(), "gravity", g)

    def vector(self, x: Any, double: bool = False) -> Any:
        """A Gf vector of three numbers."""
        return (self.pxr.Gf.Vec3d if double else self.pxr.Gf.Vec3f)(*(float(value) for value in x))

    def quaternion(self, R: np.ndarray, double: bool = False) -> Any:
        """A Gf quaternion of a rotation (3, 3)."""
        w, x, y, z = (float(value) for value in so3.to_quaternion(R))
        return self.pxr.Gf.Quatd(w, x, y, z) if double else self.pxr.Gf.Quatf(w, x, y, z)

    def place(self, prim: Any, X: Pose, scale: Any = None) -> None:
        """The pose of a prim in its parent, and its scale, in double precision."""
        geometry = self.pxr.UsdGeom
        xform, double = geometry.Xformable(prim), geometry.XformOp.PrecisionDouble
        xform.AddTranslateOp(double).Set(self.vector(X.p, double=True))
        xform.AddOrientOp(double).Set(self.quaternion(X.R, double=True))
        if scale is not None:
            xform.AddScaleOp(double).Set(self.vector(scale, double=True))

    # ---- bodies

    def _body(self, body: Body, shapes: UsdShapes) -> None:
        X = self._pose(body)
        self.poses.append(X)
        path = f"{self.root}/{self.identifier(body.name, self.taken)}"
        prim = self.define(path, body.name)
        self.place(prim, X)
        self.links[body.name] = path
        fixed = body.index == 0 and body.name == WORLD and not body.joint.nv
        self.bodies.append("" if fixed else path)
        if not fixed:
            self.pxr.UsdPhysics.RigidBodyAPI.Apply(prim)
            self._mass(prim, body)
        names = UniqueNames(())
        shapes.add(path, body.parts[0], names)
        for part in body.parts[1:]:
            self._held(path, part.name, part.placement, names, part, shapes)
        links = {part.name for part in body.parts}
        for frame in self.model.frames[len(self.model.bodies) :]:
            if frame.body == body.index and frame.name not in links:
                self._held(path, frame.name, frame.placement, names, None, shapes)

    def _pose(self, body: Body) -> Pose:
        """Where the stage puts a body: at zero, and free ones at the start."""
        parent = self.poses[body.parent] if body.parent >= 0 else Pose.identity()
        joint = body.joint
        if isinstance(joint, Free):
            if body.parent <= 0:
                self.losses.place_at_origin(joint, body.placement, "a free body's pose is counted")
            if np.any(body.placement.matrix() != np.eye(4)) or body.parent > 0:
                return parent @ body.placement
            return joint.pose(start_of(self.model).q[body.q])
        leader = self.model.joint(joint.mimic.leader).joint if joint.mimic is not None else joint
        return parent @ body.placement @ joint.pose(leader.uncoupled.neutral())

    def _held(self, path: str, name: str, X: Pose, names: UniqueNames, part: Part | None, shapes: UsdShapes) -> None:
        """A frame, or a link that is fixed in its body."""
        inside = f"{path}/{self.identifier(name, names)}"
        prim = self.define(inside, name)
        self.own(prim, "frame", name, "String")
        self.place(prim, X)
        self.links[name] = inside
        if part is not None:
            self.own(prim, "parameters", part.inertia.parameters())
            shapes.add(inside, part, UniqueNames(()))

    def _mass(self, prim: Any, body: Body) -> None:
        """MassAPI of the whole body; in double precision also of its links one by one."""
        inertia = body.inertia
        self.own(prim, "parameters", inertia.parameters())
        if len(body.parts) > 1:
            self.own(prim, "main", body.parts[0].inertia.parameters())
        if inertia.mass < 0.0:
            self.losses.refuse("link", body.name, "USD has no negative mass", "correct it, with robot.with_parameters")
            return
        api = self.pxr.UsdPhysics.MassAPI.Apply(prim)
        if inertia.mass == 0.0:
            if np.any(inertia.parameters()) or body.joint.nv:
                what = "no mass, which USD cannot state: other readers compute it from shapes"
                self.losses.note("link", body.name, what, PASSED_OVER)
            return
        api.CreateMassAttr(float(inertia.mass))
        api.CreateCenterOfMassAttr(self.vector(inertia.com))
        moments, axes = np.linalg.eigh(inertia.about_com())
        axes = axes * np.linalg.det(axes)
        if np.count_nonzero(inertia.about_com() - np.diag(np.diag(inertia.about_com()))) == 0:
            moments, axes = np.diag(inertia.about_com()), np.eye(3)
        if not np.any(moments):
            self.losses.note("link", body.name, "a point mass, which USD cannot state", PASSED_OVER)
            return
        api.CreateDiagonalInertiaAttr(self.vector(moments))
        api.CreatePrincipalAxesAttr(self.quaternion(axes))

    def _exclusions(self) -> None:
        """Pairs of links that never touch."""
        for a, b in self.model.exclusions:
            if a in self.links and b in self.links:
                prim = self.stage.GetPrimAtPath(self.links[a])
                self.pxr.UsdPhysics.FilteredPairsAPI.Apply(prim).CreateFilteredPairsRel().AddTarget(self.links[b])

    def save(self, path: Path, notes: list[str]) -> None:
        """Write the stage to a file; the ending says whether as text."""
        layer = self.stage.GetRootLayer()
        layer.documentation = "\n".join(notes)
        try:
            done = layer.Export(str(path), args={"format": "usda"} if path.suffix == ".usda" else {})
        except self.pxr.Tf.ErrorException as error:
            raise DalembertError(f"{path}: cannot be written: {str(error).splitlines()[-1][:200]}") from None
        if not done:
            raise DalembertError(f"{path}: cannot be written")
