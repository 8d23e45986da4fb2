"""Denavit-Hartenberg tables (.dh.toml) → Model, standard and modified; the schema is in docs/formats.md.

Joint i of a standard table turns about z of DH frame i-1, and frame i lies at the far end of link i:
    X_(i-1)(i) = Rz(θ) Tz(d) Tx(a) Rx(α).
Joint i of a modified table turns about z of DH frame i, which lies at the near end of link i; a and α are those of the
link before:
    X_(i-1)(i) = Rx(α) Tx(a) Rz(θ) Tz(d).
Revolute joints have θ = q + theta, prismatic ones d = q + d. The body's frame is on its joint's axis, as everywhere
in the model: (Rz Tz) after the first part. DH frame i is the model's frame "<link>_dh".
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Model, ModelBuilder
from dalembert.model.assembly import WORLD
from dalembert.spatial import Inertia, Pose, so3

from ..diagnosis import KEPT, diagnose, report_angles
from ..ledger import Finding, Ledger
from ..resources import Resources
from ..robot import BASES, check_options
from .parts import END, LINK_KEYS, POSE_KEYS, add_geometry, add_loops, link_inertia, pose
from .toml import TomlTable, parse_toml

CONVENTIONS = ("standard", "modified")
UNITS = {"rad": 1.0, "deg": math.pi / 180.0}
TYPES = ("revolute", "prismatic")
FILE_KEYS = {"name", "convention", "angles", "gravity", "base", "joint", "tool", "loop"}
DH_KEYS = {"a", "alpha", "d", "theta"}
# key → argument of the builder, whether it is an angle of revolute joints, least value
EFFECTS = {
    "lower": ("lower", True, -math.inf),
    "upper": ("upper", True, -math.inf),
    "velocity": ("velocity_limit", True, 0.0),
    "acceleration": ("acceleration_limit", True, 0.0),
    "deceleration": ("deceleration_limit", True, 0.0),
    "jerk": ("jerk_limit", True, 0.0),
    "effort": ("effort_limit", False, 0.0),
    "continuous": ("continuous_limit", False, 0.0),
    "rest": ("rest", True, -math.inf),
    "slip_speed": ("slip_speed", True, 1e-12),
    "damping": ("damping", False, 0.0),
    "friction": ("friction", False, 0.0),
    "stribeck": ("stribeck", False, 0.0),
    "stribeck_speed": ("stribeck_speed", True, 1e-12),
    "armature": ("armature", False, 0.0),
    "stiffness": ("stiffness", False, 0.0),
}
JOINT_KEYS = {"name", "type", "link", "mimic"} | DH_KEYS | set(EFFECTS) | LINK_KEYS


def read_dh(
    source: str | bytes | os.PathLike[str], *, base: str | None = None, strict: bool = False, mimic: str = "couple"
) -> tuple[Model, tuple[Finding, ...]]:
    """Read a DH table, given by path or as bytes, into a model and its import log.

    base: "fixed" or "free"; None: as in the file (fixed, unless [base] has kind = "free").
    strict: any finding that concerns physics raises.
    mimic: "couple" lets mimic joints share their leader's coordinate; "free" makes them independent and logs it.
    """
    check_options("read_dh", base, mimic)
    table, folder = parse_toml(source)
    reader = _Reader(table, folder, mimic)
    model = reader.read(base)
    diagnose(reader.ledger, model, lambda name: reader.places.get(name, table).where())
    return model, reader.ledger.close(strict=strict)


class _Reader:
    """Reads one file into a builder."""

    def __init__(self, table: TomlTable, folder: Path | None, mimic: str) -> None:
        table.check_keys(FILE_KEYS)
        self.table, self.mimic = table, mimic
        self.ledger, self.resources = Ledger(), Resources(folder)
        self.places: dict[str, TomlTable] = {}  # name in an error or finding → its table
        self.standard = table.text("convention", among=CONVENTIONS) == "standard"
        self.unit = UNITS[table.text("angles", among=UNITS)]
        gravity = table.vector("gravity", (0.0, 0.0, -9.81))
        title = Path(table.label).name.removesuffix(".toml").removesuffix(".dh") if folder is not None else "robot"
        self.builder = ModelBuilder(table.text("name", title), gravity=gravity)

    def read(self, base: str | None) -> Model:
        """The model of the whole file."""
        joints = list(self.table.tables("joint"))
        if not joints:
            raise self.table.error("the table has no joint; add [[joint]] with type, a, alpha, d, theta")
        parent, X_before = self._base(base), Pose.identity()  # X_before: the DH frame before, in its link
        for number, joint in enumerate(joints, 1):
            parent, X_before = self._joint(joint, number, parent, X_before)
        self._tool(parent, X_before)
        for loop in self.table.tables("loop"):
            self._guard(loop, add_loops, loop, self.builder, self.unit, self.ledger)
            self.places[f"closure {loop.content['name']!r}"] = loop
        try:
            return self.builder.model()
        except DalembertError as error:
            raise self._place_of(str(error)).error(str(error)) from None

    def _base(self, base: str | None) -> str:
        table = self.table.table("base") or TomlTable(self.table.label, "base", {}, self.table.lines)
        table.check_keys({"link", "kind"} | POSE_KEYS | LINK_KEYS)
        link, kind = table.text("link", "base"), table.text("kind", "fixed", among=BASES)
        inertia = link_inertia(table, link, Pose.identity(), self.ledger)
        self._add(table, link, WORLD, base or kind, link, pose(table, self.unit), inertia, {})
        add_geometry(table, self.builder, link, Pose.identity(), self.unit, self.resources, self.ledger)
        return link

    def _joint(self, table: TomlTable, number: int, parent: str, X_before: Pose) -> tuple[str, Pose]:
        """Add one row; returns its link, and the DH frame in the link's frame."""
        table.check_keys(JOINT_KEYS)
        kind = table.text("type", among=TYPES)
        name, link = table.text("name", f"joint{number}"), table.text("link", f"link{number}")
        free = "theta" if kind == "revolute" else "d"  # the parameter to which q is added
        a, alpha, d, theta = (table.number(key, 0.0 if key == free else None) for key in ("a", "alpha", "d", "theta"))
        self._check_angles(table, alpha, theta)
        along = Pose(so3.about_axis(np.array([0.0, 0.0, 1.0]), theta * self.unit), np.array([0.0, 0.0, d]))
        across = Pose(so3.about_axis(np.array([1.0, 0.0, 0.0]), alpha * self.unit), np.array([a, 0.0, 0.0]))
        X_link_dh = across if self.standard else Pose.identity()
        placement = X_before @ (along if self.standard else across @ along)
        fields = self._effects(table, kind) | self._mimic(table, name, kind)
        inertia = link_inertia(table, link, X_link_dh, self.ledger)
        self._add(table, link, parent, kind, name, placement, inertia, fields)
        self._guard(table, self.builder.add_frame, f"{link}{END}", body=link, placement=X_link_dh)
        add_geometry(table, self.builder, link, X_link_dh, self.unit, self.resources, self.ledger)
        return link, X_link_dh

    def _check_angles(self, table: TomlTable, alpha: float, theta: float) -> None:
        """Log angles that are unlikely in the unit that the file names."""
        if self.unit == 1.0:
            report_angles(self.ledger, table.where("alpha"), (alpha, theta))
            return
        for key, angle in (("alpha", alpha), ("theta", theta)):
            if any(abs(abs(angle) - right) < 1e-3 for right in (math.pi / 2, math.pi)):
                what = f'{key} = {angle:g} and angles = "deg"; likely cause: radians'
                self.ledger.warning(table.where(key), what, KEPT)

    def _effects(self, table: TomlTable, kind: str) -> dict[str, Any]:
        """Limits, friction and the like, in the units of the model."""
        angle = self.unit if kind == "revolute" else 1.0
        fields = {}
        for key, (field, is_angle, least) in EFFECTS.items():
            if key in table:
                fields[field] = table.number(key, least=least) * (angle if is_angle else 1.0)
        if fields.get("lower", -math.inf) > fields.get("upper", math.inf):
            raise table.error(f"lower = {table.content['lower']} is above upper = {table.content['upper']}: swap them")
        return fields

    def _mimic(self, table: TomlTable, name: str, kind: str) -> dict[str, Any]:
        law = table.table("mimic")
        if law is None:
            return {}
        law.check_keys({"joint", "ratio", "offset"})
        leader, ratio, offset = law.text("joint"), law.number("ratio", 1.0), law.number("offset", 0.0)
        if self.mimic == "free":
            self.ledger.info(law.where(), f"joint '{name}' mimics '{leader}'", 'independent, because of mimic="free"')
            return {}
        return {"mimic": (leader, ratio, offset * (self.unit if kind == "revolute" else 1.0))}

    def _tool(self, parent: str, X_before: Pose) -> None:
        table = self.table.table("tool")
        if table is None:
            return
        table.check_keys({"name"} | POSE_KEYS | LINK_KEYS)
        name = table.text("name", "tool")
        inertia = link_inertia(table, name, Pose.identity(), self.ledger)
        self._add(table, name, parent, "fixed", name, X_before @ pose(table, self.unit), inertia, {})
        add_geometry(table, self.builder, name, Pose.identity(), self.unit, self.resources, self.ledger)

    def _add(
        self,
        table: TomlTable,
        link: str,
        parent: str,
        joint: str,
        name: str,
        placement: Pose,
        inertia: Inertia,
        fields: dict[str, Any],
    ) -> None:
        self.places[link] = self.places[name] = self.places[f"joint {name!r}"] = table
        self._guard(
            table,
            self.builder.add_body,
            link,
            parent=parent,
            joint=joint,
            joint_name=name,
            placement=placement,
            inertia_object=inertia,
            **fields,
        )

    def _guard(self, table: TomlTable, call: Any, *arguments: Any, **options: Any) -> None:
        """Call the builder; its errors get the place in the file."""
        try:
            call(*arguments, **options)
        except DalembertError as error:
            if str(error).startswith(table.label):
                raise
            raise table.error(str(error)) from None

    def _place_of(self, message: str) -> TomlTable:
        """The table of the joint or loop named in an error of the finished model."""
        return next((table for name, table in self.places.items() if message.startswith(name)), self.table)
