"""Parts on the links of a DH table: inertia, shapes, and the loops between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import ModelBuilder
from dalembert.model.assembly import WORLD
from dalembert.model.geometry import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from dalembert.spatial import Inertia, Pose

from ..diagnosis import report_inertia
from ..ledger import Ledger
from ..resources import Resources
from .toml import TomlTable

END = "_dh"  # behind a link's name: its DH frame
POSE_KEYS = {"xyz", "rpy"}
LINK_KEYS = {"mass", "com", "inertia", "geometry"}
SHAPES = {
    "box": {"size"},
    "sphere": {"radius"},
    "cylinder": {"radius", "length"},
    "capsule": {"radius", "length"},
    "mesh": {"file", "scale"},
}
LOOP_KEYS = {"name", "kind", "a", "b", "xyz_a", "rpy_a", "xyz_b", "rpy_b", "axis", "axis2", "length"}
ZERO = (0.0, 0.0, 0.0)


def pose(table: TomlTable, unit: float, end: str = "") -> Pose:
    """xyz [m] and rpy, roll, pitch, yaw about fixed axes, in angles of `unit` radians."""
    return Pose.from_xyz_rpy(table.vector(f"xyz{end}", ZERO), table.vector(f"rpy{end}", ZERO) * unit)


def link_inertia(table: TomlTable, link: str, X_link_dh: Pose, ledger: Ledger) -> Inertia:
    """mass, com in the DH frame, inertia about the com along the DH frame's axes; returned in the link's frame."""
    if "mass" not in table:
        for key in ("com", "inertia"):
            if key in table:
                raise table.error(f"{key} without mass: write mass = … in kg", key)
        return Inertia.zero()
    tensor = table.matrix("inertia") if "inertia" in table else np.zeros((3, 3))
    at_com = Inertia(table.number("mass"), np.zeros(3), tensor)
    report_inertia(ledger, table.where("inertia" if "inertia" in table else "mass"), link, at_com)
    return at_com.transform(Pose(np.eye(3), table.vector("com", ZERO))).transform(X_link_dh)


def add_geometry(
    table: TomlTable,
    builder: ModelBuilder,
    link: str,
    X_link_dh: Pose,
    unit: float,
    resources: Resources,
    ledger: Ledger,
) -> None:
    """The shapes [[….geometry]] of a link, placed in its DH frame."""
    for entry in table.tables("geometry"):
        kind = entry.text("shape", among=SHAPES)
        entry.check_keys({"shape", "role", "color", "name"} | POSE_KEYS | SHAPES[kind])
        role = entry.text("role", "visual", among=("visual", "collision"))
        color = entry.vector("color", size=4) if "color" in entry else None
        if color is not None and not np.all((color >= 0.0) & (color <= 1.0)):
            raise entry.error(f"color is {color.tolist()}, expected red, green, blue, opacity from 0 to 1", "color")
        builder.add_geometry(
            _shape(entry, kind, resources, ledger),
            body=link,
            placement=X_link_dh @ pose(entry, unit),
            role="visual" if role == "visual" else "collision",
            color=None if color is None else (color[0], color[1], color[2], color[3]),
            name=entry.text("name") if "name" in entry else "",
        )


def _shape(entry: TomlTable, kind: str, resources: Resources, ledger: Ledger) -> Shape:
    if kind == "mesh":
        stated = entry.text("file")
        file = resources.find(stated)
        if file is None:
            ledger.count(entry.where("file"), "mesh file that was not found", "kept by name: dynamics does not use it")
        return Mesh(file or stated, entry.vector("scale", (1.0, 1.0, 1.0)))
    sizes = entry.vector("size") if kind == "box" else np.array([entry.number(key) for key in sorted(SHAPES[kind])])
    if not np.all(sizes > 0.0):
        raise entry.error(f"the {kind} has a size of {sizes.min():g} m, expected above 0")
    if kind == "box":
        return Box(sizes)
    if kind == "sphere":
        return Sphere(float(sizes[0]))
    length, radius = sizes.tolist()
    return Cylinder(radius, length) if kind == "cylinder" else Capsule(radius, length)


def add_loops(table: TomlTable, builder: ModelBuilder, unit: float, ledger: Ledger) -> None:
    """One [[loop]]: its ends are placed in the DH frames of the links, in the tool, the base or the world."""
    table.check_keys(LOOP_KEYS)
    name, kind, a, b = (table.text(key) for key in ("name", "kind", "a", "b"))
    shape: dict[str, Any] = {key: table.vector(key) for key in ("axis", "axis2") if key in table}
    if "length" in table:
        shape["length"] = table.number("length")
    ends = [end if end == WORLD or not builder.has_frame(f"{end}{END}") else f"{end}{END}" for end in (a, b)]
    builder.add_closure(
        name,
        kind,
        a=ends[0],
        b=ends[1],
        placement_a=pose(table, unit, "_a"),
        placement_b=pose(table, unit, "_b"),
        **shape,
    )
    ledger.info(table.where(), f"a {kind} closure holds '{b}' to '{a}'", "kept: model.closures")
