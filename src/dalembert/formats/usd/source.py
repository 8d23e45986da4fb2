"""Shared by all prims of a stage: places in files, units, attributes as checked numbers, poses in SI."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.spatial import Pose, so3

from ..hidden import FORCES
from ..ledger import Ledger
from ..xml import LARGEST
from .files import library

OWN = "dalembert:"  # attributes in double precision, written by this package
PHYSICAL = re.compile(r"(physics|physx\w*|newton|mjc|drive|limit|state|dalembert|omniphysics|isaac\w*)(:|$)")
IDLE = re.compile(  # attributes of simulators that change no motion of the robot
    r".*(solver|iteration|threshold|sleep|stabiliz|offset|gyroscopic|retain|lockedPos|enableCCD|speculative|cooking|"
    r"contactReport|localSpaceVelocities|cfmScale|maxBias|timeSteps|hullVertex|sdf|Margin|:gap|collisionEnabled|"
    r"group|margin|priority|solmix|condim|solimp|solref|contactGap|broadphase|:isaac|Order|compiler|visual|user|"
    r"autolimits|jointPosition|limitStiffness|limitDamping|physxLimit|frictionCorrelation|frictionOffset|frictionType|"
    r"friction.*CombineMode|restitutionCombineMode|voxel|shrinkWrap|errorPercentage|minThickness|maxConvexHulls|weldTolerance|bitsPer)",
    re.IGNORECASE,
)
SILENT = {"physics:approximation", "physics:axis", "physics:jointEnabled", "newton:mimicEnabled"}
ALSO = re.compile(  # attributes that act, although their names have none of the usual words
    r"mjc:(option:(density|viscosity|wind)|compiler:(setTotalMass|bound|balance|inertiaFromGeom)|"
    r"flag:(spring|damper|frictionloss|limit|equality|actuation|constraint|contact)$)",
    re.IGNORECASE,
)
PRIM = re.compile(rb'^\s*(?:def|over|class)\s+(?:[\w:]+\s+)?"([^"\n]*)"')
AGREE = 4e-6  # relative difference of numbers that went through single precision
SHEAR = 1e-5  # axes of a transform that are farther from perpendicular than this are sheared
Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
X_UP = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])


@dataclass
class UsdSource:
    """One stage. length [m] and mass [kg] of its units; turn (3, 3) from its axes to a world with z up."""

    stage: Any
    path: Path
    label: str
    ledger: Ledger
    length: float = 1.0
    mass: float = 1.0
    turn: np.ndarray = field(default_factory=lambda: np.eye(3))
    read: set[tuple[str, str]] = field(default_factory=set)  # (prim, attribute) that have been looked at
    bodies: set[str] = field(default_factory=set)  # paths of the rigid bodies
    _lines: dict[str, dict[str, int]] = field(default_factory=dict)
    _transforms: Any = None
    _finite: set[Any] = field(default_factory=set)  # prims whose transforms have been checked

    def __post_init__(self) -> None:
        pxr = library()
        self.pxr = pxr
        self.time = pxr.Usd.TimeCode.EarliestTime()
        self._transforms = pxr.UsdGeom.XformCache(self.time)
        self._units()

    def _units(self) -> None:
        geometry, physics = self.pxr.UsdGeom, self.pxr.UsdPhysics
        self.length = float(geometry.GetStageMetersPerUnit(self.stage))
        self.mass = float(physics.GetStageKilogramsPerUnit(self.stage))
        for name, value in (("metersPerUnit", self.length), ("kilogramsPerUnit", self.mass)):
            if not 1e-9 < value < 1e9:
                raise DalembertError(f"{self.label}: {name} is {value:g}, expected a unit such as 1 or 0.01")
        if not geometry.StageHasAuthoredMetersPerUnit(self.stage):
            self.ledger.warning(self.label, "no metersPerUnit", "lengths taken in cm, the default of USD; state it")
        up = str(geometry.GetStageUpAxis(self.stage))
        self.turn = {"Y": Y_UP, "X": X_UP}.get(up, np.eye(3))
        if up != "Z":
            self.ledger.info(self.label, f"{up} is the up axis of the stage", "turned so that z is up")

    # ---- places

    def where(self, prim: Any) -> str:
        """File, line where the file is text, and path, as in "arm.usda:12 </World/arm>"."""
        stack = (prim.GetPrimInPrototype() if prim.IsInstanceProxy() else prim).GetPrimStack()
        specs = [spec for spec in stack if not spec.layer.anonymous]
        if not specs:
            return f"{self.label} <{prim.GetPath()}>"
        layer, path = specs[0].layer, str(specs[0].path)
        label = self.label if layer == self.stage.GetRootLayer() else Path(layer.identifier).name
        line = self._index(layer).get(re.sub(r"\{[^}]*\}", "/", path).replace("//", "/"))
        return f"{label}:{line} <{prim.GetPath()}>" if line else f"{label} <{prim.GetPath()}>"

    def _index(self, layer: Any) -> dict[str, int]:
        """The line of each prim in a text file."""
        file = layer.realPath
        if file not in self._lines:
            index: dict[str, int] = {}
            try:
                text = Path(file).read_bytes()
            except OSError:
                text = b""
            if text.startswith(b"#usda"):
                _index_prims(text, index)
            self._lines[file] = index
        return self._lines[file]

    def is_body(self, prim: Any) -> bool:
        """Whether a prim is a rigid body."""
        return str(prim.GetPath()) in self.bodies

    def error(self, prim: Any, message: str) -> DalembertError:
        """The error of one prim, with its place in front."""
        return DalembertError(f"{self.where(prim)}: {message}")

    def schemas(self, prim: Any) -> list[str]:
        """The API schemas that are applied to a prim, those included whose definition is not installed."""
        return [str(name) for name in prim.GetPrimTypeInfo().GetAppliedAPISchemas()]

    # ---- attributes

    def get(self, prim: Any, name: str) -> Any:
        """The value that is stated, at the first of its times; None where there is none."""
        self.read.add((str(prim.GetPath()), name))
        attribute = prim.GetAttribute(name)
        return _value(attribute, self.time) if attribute and attribute.HasAuthoredValue() else None

    def numbers(self, prim: Any, name: str, count: int | None, infinite: bool = False) -> np.ndarray | None:
        """`count` numbers, or any number of them; None where nothing is stated."""
        value = self.get(prim, name)
        if value is None:
            return None
        try:
            if hasattr(value, "GetReal"):  # a quaternion
                value = [value.GetReal(), *value.GetImaginary()]
            x = np.array(value, float).ravel()
        except (TypeError, ValueError):
            raise self.error(prim, f"{name} is {str(value)[:60]!r}, expected a number") from None
        if count is not None and x.size != count:
            raise self.error(prim, f"{name} has {x.size} numbers, expected {count}")
        if np.isnan(x).any() or (not infinite and np.isinf(x).any()):
            raise self.error(prim, f"{name} is {str(value)[:60]}, expected finite numbers")
        if np.any(np.abs(x[np.isfinite(x)]) > LARGEST):
            if infinite:  # stands for no limit
                return np.where(np.abs(x) > LARGEST, np.copysign(np.inf, x), x)
            raise self.error(prim, f"{name} is {str(value)[:60]}, too large, expected at most {LARGEST:g}")
        return x

    def number(self, prim: Any, name: str, default: float, infinite: bool = False) -> float:
        """One number."""
        x = self.numbers(prim, name, 1, infinite)
        return default if x is None else float(x[0])

    def flag(self, prim: Any, name: str, default: bool) -> bool:
        """True or false."""
        value = self.get(prim, name)
        return default if value is None else bool(value)

    def word(self, prim: Any, name: str, default: str = "") -> str:
        """A token or text."""
        value = self.get(prim, name)
        return default if value is None else str(value)

    def targets(self, prim: Any, name: str, required: bool = True) -> list[Any]:
        """The prims that a relationship names; those that do not exist are errors, or warnings if not required."""
        self.read.add((str(prim.GetPath()), name))
        relationship = prim.GetRelationship(name)
        prims = []
        for path in relationship.GetForwardedTargets() if relationship else []:
            target = self.stage.GetPrimAtPath(path.GetPrimPath())
            if not target and not required:
                self.ledger.warning(self.where(prim), f"{name} names <{path}>, which does not exist", "not used")
                continue
            if not target:
                raise self.error(prim, f"{name} names <{path}>, which does not exist; correct it")
            prims.append(target)
        return prims

    def exact(self, prim: Any, name: str, value: Any) -> Any:
        """The number of dalembert:name in double precision, if it is the one that is stated in single precision."""
        stated = np.asarray(value, float)
        own = self.numbers(prim, OWN + name, stated.size, infinite=True)
        if own is None:
            return value
        own = own.reshape(stated.shape)
        size = float(np.max(np.abs(stated[np.isfinite(stated)]), initial=0.0))
        if self.agree(own, stated, size):
            return own if stated.ndim else float(own)
        self.report_edited(prim, name)
        return value

    def agree(self, own: np.ndarray, stated: np.ndarray, size: float) -> bool:
        """Whether numbers are the same to single precision at this size."""
        same = np.array_equal(np.isfinite(own), np.isfinite(stated))
        return same and np.allclose(own, stated, rtol=AGREE, atol=AGREE * size)

    def report_edited(self, prim: Any, name: str) -> None:
        """Log that a number in double precision is not that of USD's own attributes."""
        what = f"{OWN}{name} differs from the same number in USD's own attributes"
        self.ledger.warning(self.where(prim), what, "USD's own counts: the file was edited since it was written")

    # ---- poses

    def world(self, prim: Any) -> tuple[np.ndarray, np.ndarray]:
        """(3, 3) with scale, and (3,) [m]: the transform of a prim into the world with z up."""
        holder = prim
        while holder and holder not in self._finite:  # USD itself takes a quaternion of NaN for no rotation
            self._finite.add(holder)
            for op in self.pxr.UsdGeom.Xformable(holder).GetOrderedXformOps():
                self.numbers(holder, str(op.GetName()), None)
            holder = holder.GetParent()
        T = np.array(self._transforms.GetLocalToWorldTransform(prim)).T
        if not np.all(np.isfinite(T)) or np.max(np.abs(T)) > LARGEST:
            raise self.error(prim, "its transform is not finite; correct its xformOps")
        return self.turn @ T[:3, :3], self.length * (self.turn @ T[:3, 3])

    def pose(self, prim: Any) -> tuple[Pose, np.ndarray]:
        """The pose of a prim in the world, and its scale (3, 3)."""
        A, p = self.world(prim)
        R, S = self.parted(prim, A)
        return Pose(R, p), S

    def parted(self, prim: Any, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A rotation R (3, 3) and the rest S (3, 3) of a linear map A = R S; S is diagonal unless A shears."""
        size = np.linalg.norm(A, axis=0)
        if not np.all(size > 0.0):
            raise self.error(prim, f"its scale is {size.tolist()}, expected no zeros; correct its xformOps")
        Q = A / size
        if np.max(np.abs(Q.T @ Q - np.eye(3))) > SHEAR:
            U, _, V = np.linalg.svd(A)
            R = U @ V
            if np.linalg.det(R) < 0.0:
                R = U @ np.diag([1.0, 1.0, -1.0]) @ V
            return R, R.T @ A
        if np.linalg.det(Q) < 0.0:  # a mirror image
            Q, size = -Q, -size
        R = so3.from_quaternion(so3.quaternion_normalize(so3.to_quaternion(Q)))
        return np.where(np.abs(R - Q) < 1e-15, Q, R), np.diag(size)

    def rotation(self, prim: Any, name: str) -> np.ndarray:
        """A rotation (3, 3) stated as a quaternion; identity where there is none or only zeros."""
        q = self.numbers(prim, name, 4)
        return np.eye(3) if q is None or not np.any(q) else so3.from_quaternion(q / np.linalg.norm(q))

    # ---- all of it

    def prims(self, under: Any = None) -> Iterator[Any]:
        """All prims, also those inside instances; or those in one."""
        usd = self.pxr.Usd
        shown = usd.TraverseInstanceProxies(usd.PrimDefaultPredicate)
        return iter(usd.PrimRange(under or self.stage.GetPseudoRoot(), shown))

    def report_unread(self, prims: list[Any]) -> None:
        """Log attributes of physics and of simulators that nothing here has read."""
        touched = {path for path, _ in self.read}
        for prim in prims:
            path = str(prim.GetPath())
            if path not in touched and str(prim.GetTypeName()) == "Material":
                continue  # not bound to any shape that is read
            for attribute in prim.GetAuthoredAttributes():
                name = attribute.GetName()
                if (path, name) in self.read or name in SILENT or not PHYSICAL.match(name):
                    continue
                value = _value(attribute, self.time)
                named = any(force in name.lower() for force in FORCES) and not IDLE.match(name)
                off = value is False and name.startswith("mjc:flag:")
                if (named or ALSO.match(name)) and (off or _acts(value)) and not (value is True and not named):
                    what = f"attribute {name} = {str(value)[:40]}, which may carry physics"
                    self.ledger.warning(self.where(prim), what, "not used")
                else:
                    self.ledger.count(self.where(prim), f"attribute {name}", "not used")


def _value(attribute: Any, time: Any) -> Any:
    """The value of an attribute; None of a type that Python does not have."""
    try:
        return attribute.Get(time)
    except TypeError:
        return None


def _acts(value: Any) -> bool:
    """Whether a value means a force: numbers other than 0 and infinity, true, or words."""
    if value is None or value is False or value == "":
        return False
    try:
        x = np.array(value, float).ravel()
    except (TypeError, ValueError):
        return isinstance(value, str) and value not in ("none", "auto")
    return bool(np.any(np.isfinite(x) & (x != 0.0)))


def _index_prims(text: bytes, index: dict[str, int]) -> None:
    """The first line of each prim by path; braces in strings and metadata are rare, and only cost a line number."""
    path: list[str] = []
    stack: list[int] = []  # length of the path at each open brace
    pending: list[str] | None = None
    for number, line in enumerate(text.split(b"\n"), 1):
        match = PRIM.match(line)
        if match:
            pending = [*path, match[1].decode(errors="replace")]
            index.setdefault("/" + "/".join(pending), number)
        bare = re.sub(rb'"[^"]*"|#.*', b"", line)
        for letter in re.findall(rb"[{}]", bare):
            if letter == b"{":
                stack.append(len(path))
                path, pending = (pending or path), None
            elif stack:
                path = path[: stack.pop()]


def within(path: str, holder: str) -> bool:
    """Whether a prim is another one or inside it."""
    return path == holder or path.startswith(holder.rstrip("/") + "/")
