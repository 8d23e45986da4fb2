"""Shapes of a stage: solids and meshes with their scale, materials, and pairs that never touch each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Surface
from dalembert.model.geometry import Box, Capsule, Cone, Cylinder, Ellipsoid, Plane, Polyhedron, Role, Shape, Sphere
from dalembert.spatial import Pose

from ..robot import FileShape
from .links import UsdLink
from .source import UsdSource, within

KINDS = {"Cube", "Sphere", "Capsule", "Capsule_1", "Cylinder", "Cylinder_1", "Cone", "Mesh", "Plane"}
AXES = {"X": 0, "Y": 1, "Z": 2}
EQUAL = 1e-6  # scales that differ by no more are the same: single precision
DIAGONAL = 1e-6
MOST_POINTS = 2_000_000  # of one mesh
EXACTLY = {"none", "meshSimplification", "convexDecomposition", "sdf"}  # of meshes, here touched as convex hulls


@dataclass(frozen=True)
class Form:
    """A shape, and its pose in the axes of its prim without scale."""

    shape: Shape
    X: Pose


def read_shape(source: UsdSource, prim: Any, X_WL: Pose) -> FileShape | None:
    """The shape of a prim in a link at X_WL; None for anything else, with a line in the log where it is drawn."""
    kind = str(prim.GetTypeName())
    collides = is_collider(source, prim)
    if kind not in KINDS:
        if collides:
            source.ledger.warning(
                source.where(prim), f"a {kind or 'prim without a type'} as a collision shape", "left out"
            )
        elif prim.IsA(source.pxr.UsdGeom.Gprim) or kind == "PointInstancer":
            source.ledger.count(source.where(prim), f"{kind} to be drawn", "left out")
        return None
    if not collides and "MjcSiteAPI" in source.schemas(prim):
        return None
    if not collides and not _drawn(source, prim):
        source.ledger.count(source.where(prim), f"{kind} that is hidden or a guide", "left out")
        return None
    A, p = source.world(prim)
    R, S = source.parted(prim, A)
    form = _form(source, prim, kind, S, collides)
    if form is None:
        return None
    role: Role = "collision" if collides else "visual"
    X = X_WL.inverse() @ Pose(R, p) @ form.X
    surface, density = _material(source, prim) if collides else (None, None)
    name = source.word(prim, "dalembert:name", str(prim.GetName()))
    color = _color(source, prim) if not collides else None
    return FileShape(form.shape, X, role, color, name, surface, prim, density)


def is_collider(source: UsdSource, prim: Any) -> bool:
    """Whether a prim is to be touched."""
    physics = source.pxr.UsdPhysics
    return prim.HasAPI(physics.CollisionAPI) and source.flag(prim, "physics:collisionEnabled", True)


def _drawn(source: UsdSource, prim: Any) -> bool:
    imageable = source.pxr.UsdGeom.Imageable(prim)
    purpose = str(imageable.ComputePurpose())
    return purpose in ("default", "render") and str(imageable.ComputeVisibility(source.time)) != "invisible"


def _form(source: UsdSource, prim: Any, kind: str, S: np.ndarray, collides: bool) -> Form | None:
    if kind == "Mesh":
        return _mesh(source, prim, S, collides)
    sizes = np.abs(np.diag(S))
    if np.max(np.abs(S - np.diag(np.diag(S)))) > DIAGONAL * np.max(sizes):
        report = source.ledger.warning if collides else source.ledger.info
        report(
            source.where(prim),
            f"a {kind} that its transform shears",
            "not sheared: only its sizes along its axes count",
        )
        sizes = np.linalg.norm(S, axis=0)
    k = AXES.get(source.word(prim, "axis", "Z"), 2)
    turned = Pose(_along(k), np.zeros(3))
    if np.diag(S)[k] < 0.0:  # a mirror image stands on its head; of the shapes here only the cone shows it
        turned = Pose(_along(k) @ np.diag([1.0, -1.0, -1.0]), np.zeros(3))
    unit = source.length
    try:
        if kind == "Cube":
            return Form(Box(unit * sizes * source.number(prim, "size", 2.0)), Pose.identity())
        if kind == "Plane":
            return Form(Plane(np.array([0.0, 0.0, 1.0])), turned)
        if kind == "Sphere":
            return _sphere(source, prim, unit * source.number(prim, "radius", 1.0) * sizes)
        length = unit * sizes[k] * source.number(prim, "height", 1.0 if kind.startswith("Capsule") else 2.0)
        across = np.delete(sizes, k)
        radius = unit * float(across.max()) * _radius(source, prim, kind)
        if np.ptp(across) > EQUAL * across.max():
            report = source.ledger.warning if collides else source.ledger.info
            report(
                source.where(prim),
                f"a {kind} scaled to an ellipse",
                "round, with the larger radius, as UsdPhysics has it",
            )
        if kind.startswith("Capsule"):
            return Form(Capsule(radius, length) if length > 0.0 else Sphere(radius), turned)
        return Form(Cylinder(radius, length) if kind.startswith("Cylinder") else Cone(radius, length), turned)
    except DalembertError as error:
        source.ledger.warning(source.where(prim), str(error), "left out")
        return None


def _radius(source: UsdSource, prim: Any, kind: str) -> float:
    """Radius of a capsule, cylinder or cone; the newer kinds have one for each end."""
    if not kind.endswith("_1"):
        return source.number(prim, "radius", 0.5 if kind == "Capsule" else 1.0)
    default = 0.5 if kind == "Capsule_1" else 1.0
    top, bottom = (source.number(prim, name, default) for name in ("radiusTop", "radiusBottom"))
    if abs(top - bottom) > EQUAL * max(top, bottom):
        source.ledger.warning(
            source.where(prim), f"a {kind} with radii {bottom:g} and {top:g}", "the larger one is used"
        )
    return max(top, bottom)


def _along(k: int) -> np.ndarray:
    """A rotation (3, 3) whose z axis is coordinate axis k."""
    return np.roll(np.eye(3), (k + 1) % 3, axis=0) if k != 2 else np.eye(3)


def _sphere(source: UsdSource, prim: Any, radii: np.ndarray) -> Form:
    if np.ptp(radii) <= EQUAL * radii.max():
        return Form(Sphere(float(radii.max())), Pose.identity())
    source.ledger.count(source.where(prim), "Sphere with unequal scales", "an ellipsoid")
    return Form(Ellipsoid(radii), Pose.identity())


def _mesh(source: UsdSource, prim: Any, S: np.ndarray, collides: bool) -> Form | None:
    own = source.numbers(prim, "dalembert:points", None)
    points = source.numbers(prim, "points", None) if own is None else own
    counts, corners = (source.numbers(prim, name, None) for name in ("faceVertexCounts", "faceVertexIndices"))
    where = source.where(prim)
    if points is None or counts is None or corners is None or not counts.size:
        source.ledger.count(where, "Mesh without points or faces", "left out")
        return None
    vertices = points.reshape(-1, 3) if points.size % 3 == 0 else np.zeros((0, 3))
    if counts.sum() != corners.size or np.any(counts < 3) or corners.min() < 0 or corners.max() >= len(vertices):
        raise source.error(prim, "faceVertexCounts, faceVertexIndices and points do not fit together; export it again")
    if max(len(vertices), corners.size) > MOST_POINTS:
        raise source.error(prim, f"more than the {MOST_POINTS} points that are accepted; simplify the mesh")
    triangles = _fans(counts.astype(int), corners.astype(int))
    if (source.word(prim, "orientation") == "leftHanded") != (np.linalg.det(S) < 0.0):
        triangles = triangles[:, ::-1]
    vertices = source.length * (vertices @ S.T)
    approximation = source.word(prim, "physics:approximation", "none") if collides else ""
    try:
        if approximation in ("boundingCube", "boundingSphere"):
            lower, upper = vertices.min(axis=0), vertices.max(axis=0)
            middle = Pose(np.eye(3), 0.5 * (lower + upper))
            if approximation == "boundingCube":
                return Form(Box(upper - lower), middle)
            return Form(Sphere(float(np.max(np.linalg.norm(vertices - middle.p, axis=1)))), middle)
        if collides and approximation in EXACTLY:
            source.ledger.count(where, f"Mesh with approximation {approximation}", "touched as its convex hull")
        return Form(Polyhedron(vertices, triangles), Pose.identity())
    except DalembertError as error:
        source.ledger.warning(where, str(error), "left out")
        return None


def _fans(counts: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Triangles (m, 3) of polygons, each a fan about its first corner."""
    starts = np.repeat(np.cumsum(counts) - counts, counts - 2)
    inside = np.arange(len(starts)) - np.repeat(np.cumsum(counts - 2) - (counts - 2), counts - 2)
    return np.stack([corners[starts], corners[starts + inside + 1], corners[starts + inside + 2]], axis=1)


def _material(source: UsdSource, prim: Any) -> tuple[Surface | None, float | None]:
    """Contact properties of the bound physics material, and its density [kg/m³]."""
    bound, _ = source.pxr.UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    layers = source.numbers(prim, "dalembert:layers", 2)
    material = bound.GetPrim() if bound else None
    stated: dict[str, Any] = {}
    density = None
    if material is not None and material.HasAPI(source.pxr.UsdPhysics.MaterialAPI):
        stated = _stated(source, material)
        density = source.mass / source.length**3 * source.number(material, "physics:density", 0.0)
    if layers is not None:
        stated["layers"] = (int(layers[0]), int(layers[1]))
    return (Surface(**stated) if stated else None), density


def _stated(source: UsdSource, material: Any) -> dict[str, Any]:
    """Keyword arguments of `Surface`."""
    static = source.numbers(material, "physics:staticFriction", 1)
    stated: dict[str, Any] = {}
    force = source.mass  # of N: distance units cancel in N/m
    for field, word, unit in (
        ("friction", "physics:dynamicFriction", 1.0),
        ("restitution", "physics:restitution", 1.0),
        ("torsion", "newton:torsionalFriction", source.length),
        ("rolling", "newton:rollingFriction", source.length),
        ("torsion", "mjc:torsionalfriction", source.length),
        ("rolling", "mjc:rollingfriction", source.length),
        ("stiffness", "newton:contactStiffness", force),
        ("damping", "newton:contactDamping", force),
        ("stiffness", "physxMaterial:compliantContactStiffness", force),
        ("damping", "physxMaterial:compliantContactDamping", force),
    ):
        value = source.number(material, word, -np.inf, infinite=True)
        if np.isfinite(value) and field not in stated and not (word.startswith("physxM") and value == 0.0):
            stated[field] = source.exact(material, field, unit * value)
    if static is not None and "friction" in stated and abs(float(static[0]) - stated["friction"]) > EQUAL:
        what = f"static friction {float(static[0]):g} beside dynamic friction {stated['friction']:g}"
        source.ledger.info(source.where(material), what, "the dynamic one is kept, for contacts")
    elif static is not None and "friction" not in stated:
        stated["friction"] = float(static[0])
    return stated


def _color(source: UsdSource, prim: Any) -> tuple[float, float, float, float] | None:
    """displayColor, else the diffuse colour of a preview surface."""
    rgb = source.numbers(prim, "primvars:displayColor", None)
    opacity = source.numbers(prim, "primvars:displayOpacity", None)
    alpha = 1.0 if opacity is None or not opacity.size else float(opacity[0])
    if rgb is None or rgb.size < 3:
        rgb = _diffuse(source, prim)
        if rgb is None:
            return None
    red, green, blue, a = np.clip([*rgb[:3], alpha], 0.0, 1.0).tolist()
    return red, green, blue, a


def _diffuse(source: UsdSource, prim: Any) -> np.ndarray | None:
    material, _ = source.pxr.UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    for shader in source.prims(material.GetPrim()) if material else []:
        if (rgb := source.numbers(shader, "inputs:diffuseColor", 3)) is not None:
            return rgb
    return None


MOST_CLASSES = 30  # of shapes: layers are bits


def filtered_pairs(source: UsdSource, links: Iterable[UsdLink], prims: list[Any]) -> set[tuple[str, str]]:
    """Names of links that never touch each other."""
    at = {str(link.prim.GetPath()): link.name for link in links if link.prim is not None}
    pairs: set[tuple[str, str]] = set()
    for prim in prims:
        if prim.HasAPI(source.pxr.UsdPhysics.FilteredPairsAPI):
            ours = _links_in(at, prim)
            for target in source.targets(prim, "physics:filteredPairs", required=False):
                theirs = _links_in(at, target)
                if not ours or not theirs:
                    source.ledger.count(
                        source.where(prim), "filtered pair with something that is not loaded", "not used"
                    )
                pairs |= {(min(a, b), max(a, b)) for a in ours for b in theirs if a != b}
        if _alone(source, prim):
            ours = _links_in(at, prim)
            pairs |= {(min(a, b), max(a, b)) for a, b in combinations(ours, 2)}
            source.ledger.info(source.where(prim), "self-collision is switched off", "its links never touch each other")
    return pairs


def _alone(source: UsdSource, prim: Any) -> bool:
    words = ("newton:selfCollisionEnabled", "physxArticulation:enabledSelfCollisions")
    return not all(source.flag(prim, word, True) for word in words)


def _links_in(at: Mapping[str, str], prim: Any) -> list[str]:
    """The links that a prim is, holds, or lies in."""
    path = str(prim.GetPath())
    inside = [name for body, name in at.items() if within(body, path)]
    if inside:
        return inside
    holders = [body for body in at if within(path, body)]
    return [at[max(holders, key=len)]] if holders else []


def with_groups(source: UsdSource, prims: list[Any], shapes: dict[str, list[FileShape]]) -> dict[str, list[FileShape]]:
    """Shapes by link, those of collision groups on layers that meet where their groups collide."""
    usd = source.pxr.UsdPhysics
    groups = [prim for prim in prims if prim.IsA(usd.CollisionGroup)]
    if not groups:
        return shapes
    members = {
        str(each.GetPath()): usd.CollisionGroup(each).GetCollidersCollectionAPI().ComputeMembershipQuery()
        for each in groups
    }
    filtered = _filtered(source, groups)
    classes: dict[frozenset[str], int] = {frozenset(): 0}
    found: dict[str, frozenset[str]] = {}
    for placed in (each for shown in shapes.values() for each in shown if each.role == "collision"):
        path = placed.element.GetPath()
        own = frozenset(name for name, query in members.items() if query.IsPathIncluded(path))
        found[str(path)] = own
        classes.setdefault(own, len(classes))
    if len(classes) > MOST_CLASSES:
        source.ledger.warning(
            source.where(groups[0]), f"{len(classes)} classes of collision groups", "not used: too many"
        )
        return shapes
    source.ledger.info(source.where(groups[0]), f"{len(groups)} collision groups", "layers of the shapes, for contacts")
    wanted = {
        own: sum(1 << bit for other, bit in classes.items() if not any((a, b) in filtered for a in own for b in other))
        for own in classes
    }

    def layered(placed: FileShape) -> FileShape:
        if placed.role != "collision":
            return placed
        own = found[str(placed.element.GetPath())]
        layers = (1 << classes[own], wanted[own])
        return replace(placed, surface=replace(placed.surface or Surface(), layers=layers))

    return {name: [layered(placed) for placed in shown] for name, shown in shapes.items()}


def _filtered(source: UsdSource, groups: list[Any]) -> set[tuple[str, str]]:
    """Pairs of groups that do not collide, both ways round; groups of one merge name act as one."""
    merged: dict[str, list[str]] = {}
    for group in groups:
        path = str(group.GetPath())
        merged.setdefault(source.word(group, "physics:mergeGroup") or path, []).append(path)
    alike = {path: paths for paths in merged.values() for path in paths}
    everyone = [str(group.GetPath()) for group in groups]
    pairs: set[tuple[str, str]] = set()
    for group in groups:
        named = {str(target.GetPath()) for target in source.targets(group, "physics:filteredGroups", required=False)}
        if source.flag(group, "physics:invertFilteredGroups", False):
            named = set(everyone) - named
        for a in alike[str(group.GetPath())]:
            for other in named:
                for b in alike.get(other, [other]):
                    pairs |= {(a, b), (b, a)}
    return pairs
