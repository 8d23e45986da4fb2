"""MuJoCo's own compiler: the file's meaning as arrays; its complaints as errors with file, line and cure."""

from __future__ import annotations

import re
import stat
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.spatial import Pose, so3

from ..ledger import Ledger
from ..xml import LARGEST
from .source import MjcfSource

INERTIA_FROM_GEOM = 1  # of <compiler inertiafromgeom>: "true"
MAX_ASSET = 256 * 2**20
"""Largest mesh or height field that is read [bytes]."""

# Words of MuJoCo's message → advice.
CURES = {
    "plugin": "plugins cannot be read; remove it",
    "unknown transmission target": "correct the name, or add what it names",
    "unknown element": "correct the name, or add what it names",
    "larger than mjMINVAL": "give the body a geom with mass or an <inertial>, or remove its joint",
    "A + B >= C": "the principal moments break the triangle inequality: likely not taken at the centre of mass, or "
    "with a slipped decimal point; correct them",
    "fullinertia": "give fullinertia as Ixx Iyy Izz Ixy Ixz Iyz about the centre of mass, positive definite",
    "inertia must have positive": "give moments of inertia above 0 about the centre of mass",
    "unrecognized attribute": "check its spelling and MuJoCo's XML reference",
    "unrecognized element": "check its spelling and where MuJoCo's XML reference allows it",
    "unique element": "keep one of them",
    "not have enough data": "give as many numbers as the attribute has",
    "too much data": "give as many numbers as the attribute has",
    "bad format": "write numbers like 0.25 or -1e-3",
    "problem reading attribute": "write numbers like 0.25 or -1e-3",
    "required attribute missing": "add it",
    "invalid keyword": "use one of the words of MuJoCo's XML reference",
    "repeated name": "rename one of them",
    "is repeated": "name two different ones",
    "repeated default": "rename one of them",
    "unknown default": "define it in <default>, or correct the name",
    "not found": "correct the name, or add what it names",
    "unrecognized name": "correct the name, or add what it names",
    "only be used on top level": "put the body into <worldbody>, or use other joints",
    "more than 6 dofs": "remove joints: a body has six freedoms at most",
    "free joint": "a free joint must be the only joint of a body in <worldbody>",
    "axis too small": "write a direction, e.g. 0 0 1",
    "range": "give the smaller limit first",
    "size": "give a geom sizes above 0, as many as its type needs",
    "Error opening file": "correct the path; meshes are looked up in meshdir beside the model",
    "volume": 'correct the mesh, or set inertia="shell"',
    "quaternion": "give w x y z, not all zero",
    "too small": "write a direction or quaternion that is not zero",
    "mass": "give a mass above 0",
}


@dataclass
class CompiledMjcf:
    """The compiled model `m` (a mujoco.MjModel) of a source, its spec, and the file and line of each element."""

    mj: Any
    spec: Any
    m: Any
    source: MjcfSource

    @cached_property
    def _elements(self) -> dict[str, dict[int, Any]]:
        listed = {
            "body": self.spec.bodies,
            "joint": self.spec.joints,
            "geom": self.spec.geoms,
            "site": self.spec.sites,
            "mesh": self.spec.meshes,
            "equality": self.spec.equalities,
            "tendon": self.spec.tendons,
            "actuator": self.spec.actuators,
        }
        return {kind: {element.id: element for element in elements} for kind, elements in listed.items()}

    def element(self, kind: str, index: int) -> Any:
        """The element of the spec that became number `index` of its kind; None when the compiler added it."""
        return self._elements[kind].get(index)

    def name(self, kind: str, index: int) -> str:
        """The name in the file; "" for an unnamed element."""
        element = self.element(kind, index)
        return str(element.name) if element is not None else ""

    def where(self, kind: str, index: int) -> str:
        """File and line of an element; the root's where the compiler cannot tell, as for attached models."""
        element = self.element(kind, index)
        line = re.search(r"line (\d+)", element.info) if element is not None else None
        if line is not None:
            document, node = self.source.place(int(line[1]))
            stated = node.get("name") or ""
            if stated == element.name or (stated in element.name and not self.source.attaches):
                return document.where(node)
        document = self.source.document
        return document.where(document.root)

    def disabled(self, *flags: str) -> bool:
        """Whether <option><flag …="disable"/> switches off any of these flags, such as "GRAVITY"."""
        bits = [getattr(self.mj.mjtDisableBit, f"mjDSBL_{flag}") for flag in flags]
        return any(int(self.m.opt.disableflags) & int(bit) for bit in bits)


def compiled(source: MjcfSource, ledger: Ledger) -> CompiledMjcf:
    """Hand the text to MuJoCo."""
    try:
        import mujoco as mj
    except ImportError:
        raise DalembertError(
            f"{source.document.label}: MJCF is read through MuJoCo, which is not installed: "
            "pip install 'dalembert[mjcf]'"
        ) from None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            spec = mj.MjSpec.from_string(source.text)
            if source.folder is not None:
                spec.modelfiledir = str(source.folder.resolve())
            spec.compiler.fusestatic = False  # this package merges fixed bodies itself, and keeps their frames
            spec.compiler.LRopt.mode = mj.mjtLRMode.mjLRMODE_NONE  # it would simulate muscles over their full range
            _check_assets(source, spec, ledger)
            mjcf = CompiledMjcf(mj, spec, spec.compile(), source)
        except (ValueError, RuntimeError, TypeError, MemoryError, mj.FatalError, mj.UnexpectedError) as error:
            if isinstance(error, DalembertError):
                raise
            raise _translated(source, str(error)) from None
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        ledger.info(source.first("mujoco"), f"MuJoCo says: {' '.join(message.split())[:200]}", "as MuJoCo does")
    _check_numbers(mjcf)
    return mjcf


def _check_assets(source: MjcfSource, spec: Any, ledger: Ledger) -> None:
    """Raise at a mesh or height field that is missing, not a regular file, or huge, before MuJoCo opens it.

    Meshes that are missing and only seen, since nothing touches them and no mass comes from them, are left out.
    """
    for element in (*spec.meshes, *spec.hfields):
        path = asset_path(spec, element)
        if path is None:
            continue
        line = re.search(r"line (\d+)", element.info)
        document, node = source.place(int(line[1]) if line else 0)
        try:
            status = path.stat()
        except (OSError, ValueError):
            if source.attaches:
                continue  # an attached model may have another folder
            seen = _only_seen(spec, element)
            if seen is not None:
                what = "mesh that is only seen, and whose file is missing"
                ledger.count(document.where(node), what, f"not drawn; looked for in {path.parent}")
                for geom in seen:
                    spec.delete(geom)
                spec.delete(element)
                continue
            raise document.error(
                node, f"there is no file '{path}'; correct file, or meshdir in <compiler>, or copy the file there"
            ) from None
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_ASSET:
            raise document.error(node, f"'{path}' is not a regular file of at most {MAX_ASSET} bytes; give a mesh file")


def _only_seen(spec: Any, mesh: Any) -> list[Any] | None:
    """The geoms that show a mesh, if nothing but their looks depends on it; else None."""
    if not hasattr(mesh, "inertia"):  # a height field
        return None
    geoms = [geom for geom in spec.geoms if mesh.name and geom.meshname == mesh.name]
    always = int(spec.compiler.inertiafromgeom) == INERTIA_FROM_GEOM
    for geom in geoms:
        weightless = geom.mass == 0.0 or (geom.mass != geom.mass and geom.density == 0.0)  # NaN: not stated
        stated = bool(geom.parent.explicitinertial) and not always
        if geom.contype or geom.conaffinity or not (weightless or stated):
            return None
    return geoms


def asset_path(spec: Any, element: Any) -> Path | None:
    """Where the file of a mesh or height field is looked up; None when it has no file."""
    if not element.file:
        return None
    return Path(spec.modelfiledir, spec.meshdir, Path(element.file).name if spec.strippath else element.file)


def _translated(source: MjcfSource, message: str) -> DalembertError:
    """MuJoCo's message with the user's file and line, and advice."""
    line = re.search(r"[Ll]ine(?: number)?[ =](\d+)", message)
    document, element = source.place(int(line[1]) if line else 0)
    reason = re.sub(r"^(?:XML Error:|Error:|\s)+", "", message.split("\n")[0]).strip()
    cure = next((cure for words, cure in CURES.items() if words in reason), "correct the file")
    return document.error(element, f"MuJoCo refuses it: {reason}; {cure}")


def _check_numbers(mjcf: CompiledMjcf) -> None:
    """Raise at numbers that would overflow."""
    m = mjcf.m
    if not np.all(np.abs(m.opt.gravity) <= LARGEST):
        raise DalembertError(f"{mjcf.source.first('option')}: gravity is {m.opt.gravity}, expected at most {LARGEST:g}")
    for kind, owners, arrays in (
        ("body", np.arange(m.nbody), (m.body_mass, m.body_inertia, m.body_pos, m.body_quat, m.body_ipos, m.body_iquat)),
        ("joint", np.arange(m.njnt), (m.jnt_pos, m.jnt_axis, m.jnt_range, m.jnt_stiffness)),
        ("joint", m.dof_jntid, (m.dof_armature, m.dof_damping, m.dof_frictionloss)),
        ("geom", np.arange(m.ngeom), (m.geom_pos, m.geom_size)),
        ("site", np.arange(m.nsite), (m.site_pos,)),
        ("equality", np.arange(m.neq), (m.eq_data,)),
        ("actuator", np.arange(m.nactuator), (m.actuator_gear, m.actuator_armature, m.actuator_damping)),
    ):
        for array in arrays:
            sound = np.abs(array) <= LARGEST
            bad = np.flatnonzero(~(sound.all(axis=1) if sound.ndim > 1 else sound))
            if bad.size:
                where = mjcf.where(kind, int(owners[bad[0]]))
                raise DalembertError(f"{where}: holds numbers that are not finite or above {LARGEST:g}; correct them")


def pose(position: Any, quaternion: Any) -> Pose:
    """A placement from MuJoCo's arrays."""
    q = np.array(quaternion, float)
    return Pose(so3.from_quaternion(q / np.linalg.norm(q)), np.array(position, float))
