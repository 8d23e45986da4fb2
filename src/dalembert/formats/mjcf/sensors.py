"""MJCF sensors → sensors of the model. MuJoCo's compiler does not see them: a missing object costs one sensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import ModelBuilder
from dalembert.model.assembly import WORLD
from dalembert.model.sensors import ALONE, OF_ACTUATORS, OF_FRAMES, OF_JOINTS, SENSORS, Sensor
from dalembert.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from dalembert.spatial import Pose

from ..ledger import Ledger
from ..xml import tag_of
from .compile import CompiledMjcf, pose
from .tree import Names

LEFT = "left out: `run.sensors` does not have it"
JOINT_KINDS = {"jointpos": (1,), "jointvel": (1,), "jointactuatorfrc": (1,), "ballquat": (4,), "ballangvel": (4,)}


class _Missing(Exception):
    """Why a sensor cannot be kept."""


def add_sensors(mjcf: CompiledMjcf, builder: ModelBuilder, names: Names, ledger: Ledger) -> None:
    """Add every sensor that can be read; the others are logged with the reason."""
    taken: set[str] = set()
    for number, (document, element) in enumerate(mjcf.source.sensors):
        kind, where = tag_of(element), document.where(element)
        name = str(element.get("name") or f"{kind}{number}")
        try:
            if kind not in SENSORS:
                raise _Missing("sensors of this kind are not read")
            while name in taken:
                name += "_"
            sensor = _sensor(mjcf, names, builder, name, kind, element)
        except _Missing as why:
            ledger.count(where, f"<{kind}> sensor: {why}", LEFT)
            continue
        taken.add(name)
        builder.add_sensor(sensor)


def _sensor(mjcf: CompiledMjcf, names: Names, builder: ModelBuilder, name: str, kind: str, element: Any) -> Sensor:
    cutoff = _number(element.get("cutoff", "0"))
    if kind in ALONE:
        return Sensor(name, kind, cutoff=cutoff)
    if kind in OF_JOINTS:
        return Sensor(name, kind, joint=_joint(mjcf, names, builder, kind, element.get("joint")), cutoff=cutoff)
    if kind in OF_ACTUATORS:
        joint, ratio = _moved(mjcf, names, builder, kind, element.get("actuator"))
        return Sensor(name, kind, joint=joint, ratio=ratio, cutoff=cutoff)
    assert kind in OF_FRAMES
    if kind.startswith("frame"):
        frame, X = _object(mjcf, names, element.get("objtype"), element.get("objname"))
        reference, X_ref = "", Pose.identity()
        if element.get("reftype") and kind not in ("framelinacc", "frameangacc"):
            reference, X_ref = _object(mjcf, names, element.get("reftype"), element.get("refname"))
        return Sensor(name, kind, frame, X, reference=reference, reference_placement=X_ref, cutoff=cutoff)
    if kind.startswith("subtree"):
        index = _index(mjcf, "body", element.get("body"))
        _carrying(mjcf, names, builder, index, "the subtree")
        return Sensor(name, kind, names.bodies[index], cutoff=cutoff)
    site = _index(mjcf, "site", element.get("site"))
    frame, X = _object(mjcf, names, "site", element.get("site"))
    if kind in ("force", "torque"):
        _carrying(mjcf, names, builder, int(mjcf.m.site_bodyid[site]), "the force")
    volume = _volume(mjcf, site) if kind == "touch" else None
    return Sensor(name, kind, frame, X, cutoff=cutoff, volume=volume)


def _carrying(mjcf: CompiledMjcf, names: Names, builder: ModelBuilder, index: int, what: str) -> None:
    """Refuse a body without a joint of its own: it is one with the body that carries it."""
    if index == 0 or not any(
        builder.has_joint(names.joints[j]) for j in range(mjcf.m.njnt) if int(mjcf.m.jnt_bodyid[j]) == index
    ):
        raise _Missing(f"{what} of a body without a joint is not told apart from that of the body that carries it")


def _joint(mjcf: CompiledMjcf, names: Names, builder: ModelBuilder, kind: str, stated: Any) -> str:
    index = _index(mjcf, "joint", stated)
    name = names.joints[index]
    if not builder.has_joint(name):
        raise _Missing(f"joint {stated!r} does not move")
    ball = mjcf.mj.mjtJoint(int(mjcf.m.jnt_type[index])).name == "mjJNT_BALL"
    if ball != kind.startswith("ball") or (not ball and builder.freedoms(name) != 1):
        raise _Missing(f"joint {stated!r} is of another type")
    return name


def _moved(mjcf: CompiledMjcf, names: Names, builder: ModelBuilder, kind: str, stated: Any) -> tuple[str, float]:
    """The joint of an actuator and its gear."""
    m, index = mjcf.m, _index(mjcf, "actuator", stated)
    if mjcf.mj.mjtTrn(int(m.actuator_trntype[index])).name not in ("mjTRN_JOINT", "mjTRN_JOINTINPARENT"):
        raise _Missing(f"actuator {stated!r} does not act on a joint")
    joint = int(m.actuator_trnid[index, 0])
    name = names.joints[joint]
    if not builder.has_joint(name) or builder.freedoms(name) != 1:
        raise _Missing(f"the joint of actuator {stated!r} does not have one freedom")
    others = [k for k in range(m.nu) if k != index and int(m.actuator_trnid[k, 0]) == joint]
    if kind == "actuatorfrc" and (others or m.ntendon):
        raise _Missing(f"other actuators or tendons act on the joint of actuator {stated!r}")
    if kind == "actuatorfrc" and not m.actuator_gear[index, 0]:
        raise _Missing(f"actuator {stated!r} has gear 0")
    return name, float(m.actuator_gear[index, 0])


def _object(mjcf: CompiledMjcf, names: Names, kind: Any, stated: Any) -> tuple[str, Pose]:
    """The body of a site, geom or body, and where in it its frame is."""
    m = mjcf.m
    if kind in ("body", "xbody"):
        index = _index(mjcf, "body", stated)
        inertial = pose(m.body_ipos[index], m.body_iquat[index])
        return names.bodies[index], inertial if kind == "body" else Pose.identity()
    if kind not in ("site", "geom"):
        raise _Missing(f"objects of type {kind!r} are not kept")
    index = _index(mjcf, kind, stated)
    body = int(getattr(m, f"{kind}_bodyid")[index])
    return names.bodies[body], pose(getattr(m, f"{kind}_pos")[index], getattr(m, f"{kind}_quat")[index])


def _index(mjcf: CompiledMjcf, kind: str, stated: Any) -> int:
    if kind == "body" and stated == WORLD:
        return 0
    code = getattr(mjcf.mj.mjtObj, f"mjOBJ_{kind.upper()}")
    index = int(mjcf.mj.mj_name2id(mjcf.m, code, stated)) if stated else -1
    if index < 0:
        raise _Missing(f"there is no {kind} {stated!r}")
    return index


def _volume(mjcf: CompiledMjcf, site: int) -> Any:
    size = np.array(mjcf.m.site_size[site])
    match mjcf.mj.mjtGeom(int(mjcf.m.site_type[site])).name.removeprefix("mjGEOM_"):
        case "SPHERE":
            return Sphere(float(size[0]))
        case "CAPSULE":
            return Capsule(float(size[0]), 2.0 * float(size[1]))
        case "CYLINDER":
            return Cylinder(float(size[0]), 2.0 * float(size[1]))
        case "ELLIPSOID":
            return Ellipsoid(size)
        case "BOX":
            return Box(2.0 * size)
    raise _Missing("the shape of its site is not kept")


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _Missing(f"cutoff is {text[:40]!r}, which is not a number") from None
    if not (np.isfinite(value) and value >= 0.0):
        raise _Missing(f"cutoff is {value:g}")
    return value
