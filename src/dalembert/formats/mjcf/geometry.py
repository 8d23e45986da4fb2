"""MJCF geoms → shapes of links. MuJoCo halves sizes and moves meshes into principal frames; both are undone."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import ModelBuilder, MujocoContact, Surface
from dalembert.model.geometry import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Mesh,
    MujocoHull,
    Plane,
    Polyhedron,
    Role,
    Shape,
    Sphere,
)
from dalembert.model.mujoco import is_level
from dalembert.spatial import Pose

from ..ledger import Ledger
from .compile import CompiledMjcf, asset_path, pose
from .tree import Names

MUJOCO_FRICTION = (1.0, 0.005, 0.0001)  # what a geom has that states none
GREY = (0.5, 0.5, 0.5, 1.0)  # MuJoCo's default colour
DRAWN = 2  # the highest group that MuJoCo draws by default
HEIGHTS = 'kept for Contact(model="mujoco")'
READABLE = {".stl", ".obj"}  # other mesh files, such as .msh, only MuJoCo reads


def add_geometry(mjcf: CompiledMjcf, builder: ModelBuilder, names: Names, ledger: Ledger) -> None:
    """Add every geom: as a visual if it touches nothing, else as a collision shape, and also as a visual if its body
    has no purely visual geom. MuJoCo does not draw groups above 2: a geom there that touches nothing, such as a
    ballast, is left out where its body has others."""
    m = mjcf.m
    touching = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    touching[np.concatenate([m.pair_geom1, m.pair_geom2]).astype(int)] = True
    shown = m.geom_group <= DRAWN
    seen = {int(body) for body in m.geom_bodyid[~touching & shown]}
    useful = {int(body) for body in m.geom_bodyid[touching | shown]}
    for i in range(m.ngeom):
        if not touching[i] and not shown[i] and int(m.geom_bodyid[i]) in useful:
            continue
        placed = _shape(mjcf, i)
        where = mjcf.where("geom", i)
        if placed is None:
            word = mjcf.mj.mjtGeom(int(m.geom_type[i])).name.removeprefix("mjGEOM_").lower()
            if word == "hfield" and (X_W := fixed_pose(mjcf, i)) is not None:
                what = "height field" if is_level(X_W) else "height field that is not level"
                ledger.count(where, what, HEIGHTS + (" and as robot.terrain" if is_level(X_W) else ""))
            else:
                ledger.count(where, f"geom of type {word}", "not kept: the model has no such shape")
            continue
        shape, X = placed
        body, color = int(m.geom_bodyid[i]), _color(mjcf, i)
        roles: tuple[Role, ...] = ("visual",)
        if touching[i]:
            roles = ("collision",) if body in seen else ("visual", "collision")
        for role in roles:
            surface = surface_of(mjcf, i) if role == "collision" else None
            builder.add_geometry(
                shape,
                body=names.bodies[body],
                placement=X,
                role=role,
                color=color,
                surface=surface,
                name=mjcf.name("geom", i),
            )


def _shape(mjcf: CompiledMjcf, index: int) -> tuple[Shape, Pose] | None:
    """The shape and its placement in the body, or None."""
    m = mjcf.m
    size, X = np.array(m.geom_size[index]), pose(m.geom_pos[index], m.geom_quat[index])
    match mjcf.mj.mjtGeom(int(m.geom_type[index])).name.removeprefix("mjGEOM_"):
        case "PLANE":
            return Plane(np.array([0.0, 0.0, 1.0])), X
        case "SPHERE":
            return Sphere(float(size[0])), X
        case "CAPSULE":
            return Capsule(float(size[0]), 2.0 * float(size[1])), X
        case "ELLIPSOID":
            return Ellipsoid(size), X
        case "CYLINDER":
            return Cylinder(float(size[0]), 2.0 * float(size[1])), X
        case "BOX":
            return Box(2.0 * size), X
        case "MESH":
            return _mesh(mjcf, int(m.geom_dataid[index]), X)
    return None


def _mesh(mjcf: CompiledMjcf, index: int, X_BG: Pose) -> tuple[Shape, Pose]:
    """The mesh file, placed as its author drew it; vertices for a mesh without a file or in MuJoCo's format."""
    m, element = mjcf.m, mjcf.element("mesh", index)
    path: Any = asset_path(mjcf.spec, element) if element is not None else None
    drawn = element is not None and not np.any(element.refpos) and abs(element.refquat[0]) == 1.0
    if path is not None and path.suffix.lower() in READABLE and drawn:
        moved = pose(m.mesh_pos[index], m.mesh_quat[index])  # MuJoCo's mesh frame in the file's frame
        return Mesh(str(path), np.array(m.mesh_scale[index]), _hull(m, index, moved)), X_BG @ moved.inverse()
    points, faces = _part(m, "vert", index), _part(m, "face", index)
    hull = _hull(m, index, Pose.identity())
    return Polyhedron(np.array(m.mesh_vert[points], float), np.array(m.mesh_face[faces], int), hull), X_BG


def _hull(m: Any, index: int, X: Pose) -> MujocoHull | None:
    """MuJoCo's hull of a mesh, from the mesh's frame into that in which X is given; None where it has made none."""
    sides = _part(m, "poly", index)
    if sides.start == sides.stop:
        return None
    counts = np.array(m.mesh_polyvertnum[sides], int)
    begin = int(m.mesh_polyvertadr[sides.start])
    corners = np.array(m.mesh_polyvert[begin : begin + counts.sum()], int)
    points = np.array(m.mesh_vert[_part(m, "vert", index)], float)
    begin = int(m.mesh_graphadr[index])
    if begin >= 0:  # the vertices of the hull alone, of which those within almost flat sides are no corners
        count = int(m.mesh_graph[begin])
        used = np.array(m.mesh_graph[begin + 2 + count : begin + 2 + 2 * count], int)
        number = np.full(len(points), -1)
        number[used] = np.arange(count)
        points, corners = points[used], number[corners]
    return MujocoHull(points @ X.R.T + X.p, np.array(m.mesh_polynormal[sides]) @ X.R.T, counts, corners)


def _part(m: Any, name: str, index: int) -> slice:
    """The rows of a mesh in one of MuJoCo's tables."""
    begin = int(getattr(m, f"mesh_{name}adr")[index])
    return slice(begin, begin + int(getattr(m, f"mesh_{name}num")[index]))


def _color(mjcf: CompiledMjcf, index: int) -> tuple[float, float, float, float] | None:
    """The geom's colour, or that of its material; None when neither is stated."""
    m, material = mjcf.m, int(mjcf.m.geom_matid[index])
    r, g, b, a = (float(part) for part in m.geom_rgba[index])
    if (r, g, b, a) != GREY:
        return r, g, b, a
    if material < 0:
        return None
    r, g, b, a = (float(part) for part in m.mat_rgba[material])
    return r, g, b, a


def surface_of(mjcf: CompiledMjcf, index: int) -> Surface:
    """Contact parameters of a geom; friction is stated where it is not MuJoCo's default."""
    m = mjcf.m
    sliding, torsion, rolling = (float(x) for x in m.geom_friction[index])
    stated = (sliding, torsion, rolling) != MUJOCO_FRICTION
    mujoco = MujocoContact(
        friction=(sliding, torsion, rolling),
        solref=(float(m.geom_solref[index, 0]), float(m.geom_solref[index, 1])),
        solimp=tuple(float(x) for x in m.geom_solimp[index]),  # type: ignore[arg-type]
        margin=float(m.geom_margin[index]),
        gap=float(m.geom_gap[index]),
        condim=int(m.geom_condim[index]),
        priority=int(m.geom_priority[index]),
        solmix=float(m.geom_solmix[index]),
    )
    friction = {"friction": sliding, "torsion": torsion, "rolling": rolling} if stated else {}
    return Surface(layers=(int(m.geom_contype[index]), int(m.geom_conaffinity[index])), mujoco=mujoco, **friction)


def add_exclusions(mjcf: CompiledMjcf, builder: ModelBuilder, names: Names) -> None:
    """Pairs of bodies that <exclude> keeps from touching."""
    for signature in mjcf.m.exclude_signature:
        first, second = int(signature) >> 16, int(signature) & 0xFFFF
        builder.exclude(names.bodies[first], names.bodies[second])


def fixed_pose(mjcf: CompiledMjcf, geom: int) -> Pose | None:
    """Where a geom is in the world; None if it can move."""
    m, body = mjcf.m, int(mjcf.m.geom_bodyid[geom])
    X = pose(m.geom_pos[geom], m.geom_quat[geom])
    if int(m.body_weldid[body]) != 0:
        return None
    while body:
        if int(m.body_mocapid[body]) >= 0:
            return None
        X, body = pose(m.body_pos[body], m.body_quat[body]) @ X, int(m.body_parentid[body])
    return X
