"""Gravity, and the rigid bodies of a stage: mass, centre of mass and inertia, stated or computed from shapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.math.tolerances import COMPOSED
from dalembert.spatial import Inertia, Pose

from ..diagnosis import report_inertia
from ..robot import FileLink, FileShape
from ..sdf.links import scaled
from .source import UsdSource

WATER = 1000.0  # [kg/m³] UsdPhysics' default density
UNSTATED = "computed from the collision shapes"


@dataclass(frozen=True)
class UsdFrame:
    """A named place in a link; inertia: its own, if it is a fixed link; path: its prim."""

    name: str
    X: Pose  # in the link
    inertia: Inertia | None
    path: str


@dataclass(frozen=True, eq=False)
class UsdLink(FileLink):
    """One rigid body, X: where the stage puts it; its prim (None: a massless link of a chain), scale and frames."""

    prim: Any = None
    scale: np.ndarray = field(default_factory=lambda: np.eye(3))
    frames: tuple[UsdFrame, ...] = ()


def inertia_of(source: UsdSource, prim: Any, name: str, X: Pose, scale: np.ndarray, shapes: list[FileShape]) -> Inertia:
    """The inertia in the body's frame."""
    where, unit = source.where(prim), source.mass * source.length**2
    own = source.numbers(prim, "dalembert:parameters", 10)
    if own is not None and own[0] == 0.0 and not prim.GetAttribute("physics:mass").HasAuthoredValue():
        return Inertia.from_parameters(own)  # no mass, which USD cannot state
    mass = source.mass * source.number(prim, "physics:mass", 0.0)
    center = source.numbers(prim, "physics:centerOfMass", 3, infinite=True)
    moments = source.numbers(prim, "physics:diagonalInertia", 3)
    axes = source.rotation(prim, "physics:principalAxes")
    tensor = source.numbers(prim, "newton:inertia", None)
    density = source.number(prim, "physics:density", 0.0)
    if mass < 0.0 or density < 0.0:
        source.ledger.warning(where, f"mass {mass:g}, density {density:g}", "not used: it is negative")
        mass, density = max(mass, 0.0), max(density, 0.0)
    I = None
    if moments is not None and np.any(moments):
        I = unit * (axes * moments) @ axes.T
    if tensor is not None and tensor.size == 6:
        xx, yy, zz, xy, xz, yz = tensor
        I = unit * np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    com = None
    if center is not None and np.all(np.isfinite(center)):
        com = scale @ (source.length * center)
    if own is not None and mass and com is not None:
        stated = Inertia.from_com(mass, com, np.zeros((3, 3)) if I is None else I)
        if _agree(source, own, stated.parameters()):
            return _own(source, prim, where, name, own)
        source.report_edited(prim, "parameters")
    if not mass or I is None or com is None:
        mass, com, I = _completed(source, prim, shapes, density, (mass, com, I))
    report_inertia(source.ledger, where, name, Inertia(mass, np.zeros(3), I))
    return Inertia.from_com(mass, com, I)


def _agree(source: UsdSource, own: np.ndarray, stated: np.ndarray) -> bool:
    """Whether ten parameters are the same to single precision; mass, moment and inertia have sizes of their own."""
    parts = slice(0, 1), slice(1, 4), slice(4, 10)
    return all(source.agree(own[part], stated[part], float(np.max(np.abs(stated[part])))) for part in parts)


def _own(source: UsdSource, prim: Any, where: str, name: str, own: np.ndarray) -> Inertia:
    """The parameters that this package has written in double precision; of the body's main link, if it has several."""
    whole = Inertia.from_parameters(own)
    I = whole.about_com()
    I = np.where(np.abs(I) <= COMPOSED * np.max(np.abs(whole.I)), 0.0, I)  # of a point mass
    report_inertia(source.ledger, where, name, Inertia(whole.mass, np.zeros(3), I))
    main = source.numbers(prim, "dalembert:main", 10)
    return whole if main is None else Inertia.from_parameters(main)


def _completed(
    source: UsdSource, prim: Any, shapes: list[FileShape], density: float, stated: Any
) -> tuple[Any, Any, Any]:
    """Mass, centre of mass and inertia about it, from shapes where they are not stated."""
    (mass, com, I), where, ledger = stated, source.where(prim), source.ledger
    solid = Inertia.zero()
    for placed in shapes:
        if placed.role == "collision":
            solid = solid + _solid(source, placed, density)
    if solid.mass > 0.0:
        missing = [
            word
            for word, lacks in (("mass", not mass), ("centre of mass", com is None), ("inertia", I is None))
            if lacks
        ]
        ledger.count(where, f"no {', no '.join(missing)}", UNSTATED)
        if I is None:
            I = solid.about_com() * ((mass or solid.mass) / solid.mass)
        return mass or solid.mass, solid.com if com is None else com, I
    com = np.zeros(3) if com is None else com
    if not mass:
        ledger.warning(where, "neither mass nor collision shapes with a volume", "no mass" if I is None else "mass 0")
        return 0.0, com, np.zeros((3, 3)) if I is None else I
    if I is None:
        ledger.warning(where, "a mass, but neither inertia nor collision shapes", "a point mass; state diagonalInertia")
        return mass, com, np.zeros((3, 3))
    return mass, com, I


def _solid(source: UsdSource, placed: FileShape, density: float) -> Inertia:
    """The inertia of one collision shape in the body's frame."""
    collider, unit = placed.element, source.mass * source.length**2
    try:
        volume, notes = placed.shape.solid()
    except DalembertError as error:
        source.ledger.warning(source.where(collider), f"no volume: {error}", "adds no mass")
        return Inertia.zero()
    for note in notes:
        source.ledger.info(source.where(collider), note, "for mass and inertia")
    if not np.isfinite(volume.mass) or volume.mass <= 0.0:
        return Inertia.zero()
    mass = source.mass * source.number(collider, "physics:mass", 0.0)
    if mass == 0.0 and collider.GetAttribute("physics:mass").HasAuthoredValue():
        what = "mass 0 of a shape, which UsdPhysics takes as not stated"
        source.ledger.warning(source.where(collider), what, "computed from the density; state a small mass for none")
    own = scaled(volume, mass / volume.mass if mass > 0.0 else _density(source, collider, placed, density))
    moments = source.numbers(collider, "physics:diagonalInertia", 3)
    center = source.numbers(collider, "physics:centerOfMass", 3, infinite=True)
    if mass > 0.0 and moments is not None and np.any(moments):
        axes = source.rotation(collider, "physics:principalAxes")
        stated = center is not None and bool(np.all(np.isfinite(center)))
        com = source.length * center if stated and center is not None else own.com
        own = Inertia.from_com(mass, com, unit * (axes * moments) @ axes.T)
    return own.transform(placed.placement)


def _density(source: UsdSource, collider: Any, placed: FileShape, body: float) -> float:
    """[kg/m³]: of the shape, else of what holds it, else of its material, else of water."""
    unit = source.mass / source.length**3
    prim = collider
    while prim and not prim.IsPseudoRoot():
        stated = source.number(prim, "physics:density", 0.0)
        if stated > 0.0:
            return unit * stated
        if source.is_body(prim):
            break
        prim = prim.GetParent()
    if body > 0.0:
        return unit * body
    if placed.density:
        return placed.density
    source.ledger.count(source.where(collider), "no density", f"taken as {WATER:g} kg/m³, the default of UsdPhysics")
    return WATER


USUAL = np.array([0.0, 0.0, -9.81])  # [m/s²]


def gravity_of(source: UsdSource, scenes: list[Any]) -> np.ndarray:
    """Gravity (3,) in the world with z up [m/s²]; of several scenes that of the first."""
    if not scenes:
        source.ledger.info(source.label, "no PhysicsScene", "gravity taken as 9.81 m/s² downward")
        return USUAL
    scene = scenes[0]
    if len(scenes) > 1:
        source.ledger.info(source.where(scenes[1]), f"{len(scenes)} scenes of physics", "gravity is that of the first")
    if not source.flag(scene, "newton:gravityEnabled", True) or not source.flag(scene, "mjc:flag:gravity", True):
        return np.zeros(3)
    direction = source.numbers(scene, "physics:gravityDirection", 3)
    size = source.number(scene, "physics:gravityMagnitude", -np.inf, infinite=True)
    unit = USUAL / 9.81
    if direction is not None and np.any(direction):
        unit = source.turn @ (direction / np.linalg.norm(direction))
    g = 9.81 if not np.isfinite(size) or size < 0.0 else size * source.length
    return np.asarray(source.exact(scene, "gravity", g * unit)) + 0.0
