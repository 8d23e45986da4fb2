"""Shapes of links and their materials in USD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Geometry, Part, Surface
from dalembert.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Plane, Polyhedron, Shape, Sphere
from dalembert.spatial import Pose

from .layout import UniqueNames
from .losses import Losses
from .shapes import turned_to, written

if TYPE_CHECKING:
    from .usd import UsdWriter

ROUND: dict[type, str] = {Capsule: "Capsule", Cylinder: "Cylinder", Cone: "Cone"}
KNOWN = (Box, Sphere, Ellipsoid, Plane, Mesh, Polyhedron, *ROUND)
# field of `Surface` → attributes of a material that state it
STATED = {
    "friction": ("physics:staticFriction", "physics:dynamicFriction"),
    "restitution": ("physics:restitution",),
    "torsion": ("newton:torsionalFriction",),
    "rolling": ("newton:rollingFriction",),
    "stiffness": ("newton:contactStiffness",),
    "damping": ("newton:contactDamping",),
}


class UsdShapes:
    """Writes shapes into links, and the materials that they share."""

    def __init__(self, writer: UsdWriter, losses: Losses, geometry: bool) -> None:
        self.writer, self.losses, self.geometry = writer, losses, geometry
        self.pxr, self.stage = writer.pxr, writer.stage
        self.materials: dict[tuple[Any, ...], str] = {}

    def add(self, path: str, part: Part, names: UniqueNames) -> None:
        """The shapes of a link."""
        shapes = part.geometry if self.geometry else self.losses.no_shapes(part)
        for shown in written(part.name, shapes, KNOWN, self.losses):
            self._add(f"{path}/{names.new(f'{shown.role}_{len(names.taken)}')}", part.name, shown)

    def _add(self, path: str, link: str, geometry: Geometry) -> None:
        try:
            prim, scale, turned = self._prim(path, geometry.shape, geometry.role == "collision")
        except DalembertError as error:
            report = self.losses.change if geometry.role == "collision" else self.losses.note
            report("link", link, str(error), "left out")
            return
        self.writer.own(prim, "name", geometry.name, "String")
        self.writer.place(prim, geometry.placement @ Pose(turned, np.zeros(3)), scale)
        if geometry.color is not None:
            drawn = self.pxr.UsdGeom.Gprim(prim)
            drawn.CreateDisplayColorAttr([self.writer.vector(geometry.color[:3])])
            if geometry.color[3] != 1.0:
                drawn.CreateDisplayOpacityAttr([float(geometry.color[3])])
        if geometry.role == "collision":
            self.pxr.UsdPhysics.CollisionAPI.Apply(prim)
            self.pxr.UsdGeom.Imageable(prim).CreatePurposeAttr("guide")
            if geometry.surface is not None:
                self._material(prim, link, geometry.surface)

    def _prim(self, path: str, shape: Shape, touched: bool) -> tuple[Any, Any, np.ndarray]:
        """The prim of a shape, its scale, and how it is turned."""
        kinds, still = self.pxr.UsdGeom, np.eye(3)
        if isinstance(shape, Box):
            cube = kinds.Cube.Define(self.stage, path)
            cube.CreateSizeAttr(1.0)
            return cube.GetPrim(), shape.size, still
        if isinstance(shape, Sphere | Ellipsoid):
            ball = kinds.Sphere.Define(self.stage, path)
            ball.CreateRadiusAttr(float(shape.radius) if isinstance(shape, Sphere) else 1.0)
            return ball.GetPrim(), None if isinstance(shape, Sphere) else shape.radii, still
        if isinstance(shape, Plane):
            plane = kinds.Plane.Define(self.stage, path)
            plane.CreateAxisAttr("Z")
            return (
                plane.GetPrim(),
                None,
                turned_to(shape.normal) if np.any(shape.normal[:2]) or shape.normal[2] < 0.0 else still,
            )
        if type(shape) in ROUND:
            solid: Any = shape
            stem = getattr(kinds, ROUND[type(shape)]).Define(self.stage, path)
            stem.CreateAxisAttr("Z")
            stem.CreateRadiusAttr(float(solid.radius))
            stem.CreateHeightAttr(float(solid.length))
            return stem.GetPrim(), None, still
        return self._mesh(path, shape, touched), None, still

    def _mesh(self, path: str, shape: Shape, touched: bool) -> Any:
        """The surface itself: a stage carries its meshes."""
        vertices, triangles = shape.surface()
        mesh = self.pxr.UsdGeom.Mesh.Define(self.stage, path)
        prim, vt = mesh.GetPrim(), self.pxr.Vt
        single = np.ascontiguousarray(vertices, np.float32)
        mesh.CreatePointsAttr(vt.Vec3fArray.FromNumpy(single))
        mesh.CreateFaceVertexCountsAttr(vt.IntArray.FromNumpy(np.full(len(triangles), 3, np.int32)))
        mesh.CreateFaceVertexIndicesAttr(vt.IntArray.FromNumpy(np.ascontiguousarray(triangles.ravel(), np.int32)))
        mesh.CreateSubdivisionSchemeAttr("none")
        if touched:
            self.pxr.UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr("convexHull")
            if np.any(single != vertices):
                self.writer.own(prim, "points", np.asarray(vertices, float))
        return prim

    def _material(self, prim: Any, link: str, surface: Surface) -> None:
        if surface.mujoco is not None:
            self.losses.note("link", link, "MuJoCo's contact parameters", "left out")
        if surface.layers is not None:
            types = self.pxr.Sdf.ValueTypeNames
            prim.CreateAttribute("dalembert:layers", types.Int2).Set(self.pxr.Gf.Vec2i(*surface.layers))
            self.losses.note("link", link, "layers of contacts", "written as dalembert:…, which other readers ignore")
        stated = tuple(getattr(surface, field) for field in STATED)
        if all(value is None for value in stated):
            return
        if stated not in self.materials:
            self.materials[stated] = self._new_material(dict(zip(STATED, stated, strict=True)))
        material = self.pxr.UsdShade.Material(self.stage.GetPrimAtPath(self.materials[stated]))
        binding = self.pxr.UsdShade.MaterialBindingAPI.Apply(prim)
        binding.Bind(material, self.pxr.UsdShade.Tokens.weakerThanDescendants, "physics")

    def _new_material(self, stated: dict[str, float | None]) -> str:
        path = f"{self.writer.root}/materials/surface_{len(self.materials)}"
        prim = self.pxr.UsdShade.Material.Define(self.stage, path).GetPrim()
        self.pxr.UsdPhysics.MaterialAPI.Apply(prim)
        for field, value in stated.items():
            if value is None:
                continue
            for word in STATED[field]:
                prim.CreateAttribute(word, self.pxr.Sdf.ValueTypeNames.Float, custom=False).Set(float(value))
            self.writer.own(prim, field, value)
        return path
