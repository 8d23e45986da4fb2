"""Actuators and keyframes of MJCF."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import ModelBuilder
from dalembert.model.keyframes import START
from dalembert.spatial import so3

from ..ledger import Ledger
from ..xml import Document
from .compile import CompiledMjcf
from .softness import tendon_course, tendon_name
from .source import Element
from .tree import Names


def add_actuators(mjcf: CompiledMjcf, builder: ModelBuilder, names: Names, ledger: Ledger) -> None:
    """All of them, in the file's order, which is that of the controls; those that cannot act here say why."""
    taken: set[str] = set()
    off = mjcf.disabled("ACTUATION")
    for i in range(mjcf.m.nactuator):
        where = mjcf.where("actuator", i)
        target = _transmission(mjcf, i, names)
        name = mjcf.name("actuator", i) or target.label
        while name in taken:
            name += "_"
        taken.add(name)
        missing = [joint for joint in target.joints if not builder.has_joint(joint)]
        obstacle = target.obstacle or _obstacle(mjcf, i)
        if off or _group_disabled(mjcf, i):
            obstacle = obstacle or "the file switches it off"
        if missing:
            obstacle = obstacle or f"joint {missing[0]!r} is held"
        try:
            if obstacle:
                ledger.count(where, f"actuator that cannot be driven: {obstacle}", "kept by name, without effect")
                builder.add_actuator(name, obstacle=obstacle)
            else:
                builder.add_actuator(name, **target.fields, **_law(mjcf, i, ledger))
        except DalembertError as error:
            ledger.warning(where, str(error), "kept by name, without effect")
            builder.add_actuator(name, obstacle=str(error))
    for joint, limited in enumerate(mjcf.m.jnt_actfrclimited):
        if limited and builder.has_joint(names.joints[joint]) and builder.freedoms(names.joints[joint]) == 1:
            builder.limit_joint_force(names.joints[joint], *(float(x) for x in mjcf.m.jnt_actfrcrange[joint]))


class Target(NamedTuple):
    """The target of an actuator: fields of `Actuator`, a name for it, or what is in the way."""

    label: str
    fields: dict[str, Any] = {}
    obstacle: str = ""

    @property
    def joints(self) -> list[str]:
        """The joints that it names."""
        tendon = [joint for joint, _ in self.fields.get("tendon", ())]
        return [self.fields["joint"]] if "joint" in self.fields else tendon


def _transmission(mjcf: CompiledMjcf, i: int, names: Names) -> Target:
    m, mj = mjcf.m, mjcf.mj
    kind, (target, other) = mj.mjtTrn(int(m.actuator_trntype[i])), (int(x) for x in m.actuator_trnid[i])
    gear = np.array(m.actuator_gear[i])
    wrench = np.concatenate([gear[3:], gear[:3]])  # MuJoCo's has the force first
    if kind in (mj.mjtTrn.mjTRN_JOINT, mj.mjtTrn.mjTRN_JOINTINPARENT):
        joint, kinds = names.joints[target], mj.mjtJoint
        number = int(m.jnt_type[target])
        fields: dict[str, Any] = {"joint": joint, "gear": float(gear[0])}
        if number in (int(kinds.mjJNT_BALL), int(kinds.mjJNT_FREE)):
            if kind == mj.mjtTrn.mjTRN_JOINTINPARENT:
                return Target(joint, obstacle="it acts along axes of the parent (jointinparent)")
            fields["gear"] = gear[:3] if number == int(kinds.mjJNT_BALL) else wrench
        return Target(joint, fields)
    if kind == mj.mjtTrn.mjTRN_SITE:
        fields = {"site": names.sites[target], "gear": wrench}
        return Target(names.sites[target], fields | ({"reference": names.sites[other]} if other >= 0 else {}))
    if kind == mj.mjtTrn.mjTRN_TENDON:
        return _tendon(mjcf, target, float(gear[0]), names)
    words = {mj.mjtTrn.mjTRN_SLIDERCRANK: "a slider-crank", mj.mjtTrn.mjTRN_BODY: "the contacts of a body"}
    return Target(f"actuator{i}", obstacle=f"it acts on {words.get(kind, 'nothing')}")


def _tendon(mjcf: CompiledMjcf, tendon: int, gear: float, names: Names) -> Target:
    """A sum of coordinates, or straight lines between sites."""
    label = tendon_name(mjcf, tendon)
    if mjcf.m.tendon_actfrclimited[tendon]:
        return Target(label, obstacle="its tendon limits the forces of actuators (actuatorfrcrange)")
    if (course := tendon_course(mjcf, tendon)) is None:
        return Target(label, obstacle="its tendon winds about geoms or goes over pulleys")
    joints, path = ((names.joints[j], x) for j, x in course[0]), (names.sites[site] for site in course[1])
    return Target(label, ({"tendon": tuple(joints)} if course[0] else {"path": tuple(path)}) | {"gear": gear})


def _group_disabled(mjcf: CompiledMjcf, i: int) -> bool:
    group = int(mjcf.m.actuator_group[i])
    return 0 <= group < 31 and bool(int(mjcf.m.opt.disableactuator) >> group & 1)


def _obstacle(mjcf: CompiledMjcf, i: int) -> str:
    """The part of its law that the model does not have; "": none."""
    m, mj = mjcf.m, mjcf.mj
    gain, bias = mj.mjtGain(int(m.actuator_gaintype[i])), mj.mjtBias(int(m.actuator_biastype[i]))
    if gain not in (mj.mjtGain.mjGAIN_FIXED, mj.mjtGain.mjGAIN_AFFINE):
        return f"its gain is of type {gain.name.removeprefix('mjGAIN_').lower()}"
    if bias not in (mj.mjtBias.mjBIAS_NONE, mj.mjtBias.mjBIAS_AFFINE):
        return f"its bias is of type {bias.name.removeprefix('mjBIAS_').lower()}"
    if int(m.actuator_dyntype[i]) not in _dynamics(mj):
        kind = mj.mjtDyn(int(m.actuator_dyntype[i])).name.removeprefix("mjDYN_").lower()
        return f"its dynamics are of type {kind}"
    if m.actuator_plugin[i] >= 0:
        return "it is a plugin"
    if int(m.actuator_ctrlnum[i]) != 1 or int(m.actuator_outnum[i]) != 1 or int(m.actuator_actnum[i]) > 1:
        return "it has several controls, states or forces"
    if m.actuator_delay[i]:
        return f"its command is delayed by {float(m.actuator_delay[i]):g} s"
    return ""


def _dynamics(mj: Any) -> dict[int, str]:
    return {
        int(mj.mjtDyn.mjDYN_NONE): "none",
        int(mj.mjtDyn.mjDYN_INTEGRATOR): "integrator",
        int(mj.mjtDyn.mjDYN_FILTER): "filter",
        int(mj.mjtDyn.mjDYN_FILTEREXACT): "filterexact",
    }


def _law(mjcf: CompiledMjcf, i: int, ledger: Ledger) -> dict[str, Any]:
    """Gain, bias, limits and dynamics."""
    m, mj = mjcf.m, mjcf.mj
    affine = int(m.actuator_gaintype[i]) == int(mj.mjtGain.mjGAIN_AFFINE)
    biased = int(m.actuator_biastype[i]) == int(mj.mjtBias.mjBIAS_AFFINE)
    dynamics = _dynamics(mj)[int(m.actuator_dyntype[i])]
    law: dict[str, Any] = {
        "gain": np.array(m.actuator_gainprm[i, :3]) if affine else np.array([m.actuator_gainprm[i, 0], 0, 0]),
        "bias": np.array(m.actuator_biasprm[i, :3]) if biased else np.zeros(3),
        "dynamics": dynamics,
    }
    if dynamics in ("filter", "filterexact"):
        law["time_constant"] = float(m.actuator_dynprm[i, 0])
    if dynamics != "none" and m.actuator_actlimited[i]:
        law["activation_limits"] = np.array(m.actuator_actrange[i])
    if dynamics != "none" and m.actuator_actearly[i]:
        ledger.count(mjcf.where("actuator", i), "actearly", "not used: the force follows the activation of now")
    control = int(m.actuator_ctrladr[i])
    if m.actuator_ctrllimited[control] and not mjcf.disabled("CLAMPCTRL"):
        law["control_limits"] = np.array(m.actuator_ctrlrange[control])
    if m.actuator_forcelimited[i]:
        law["force_limits"] = np.array(m.actuator_forcerange[i])
    return law


def add_keyframes(mjcf: CompiledMjcf, builder: ModelBuilder, names: Names, ledger: Ledger) -> None:
    """<key>: named states. MuJoCo's velocities of a free joint are linear in the world first; here the body's twist."""
    m, mj = mjcf.m, mjcf.mj
    kinds = [mj.mjtJoint(int(kind)) for kind in m.jnt_type]
    taken: set[str] = set()
    for number, (document, element) in enumerate(mjcf.source.keys):
        where, name = document.where(element), (element.get("name") or f"key{number}").strip()
        qpos = _numbers(document, element, "qpos", m.qpos0)
        qvel = _numbers(document, element, "qvel", np.zeros(m.nv))
        if len(qpos) != m.nq or len(qvel) != m.nv:
            what = f"keyframe '{name}' has {len(qpos)} and {len(qvel)} numbers, expected {m.nq} and {m.nv}"
            ledger.info(where, what, "left out")
            continue
        if name in taken:
            ledger.info(where, f"a second keyframe '{name}'", "left out")
            continue
        taken.add(name)
        q, v = {}, {}
        for j, kind in enumerate(kinds):
            joint = names.joints[j]
            if not builder.has_joint(joint):
                continue  # base="fixed" removed it
            free = kind == mj.mjtJoint.mjJNT_FREE
            nq, nv = (7, 6) if free else (4, 3) if kind == mj.mjtJoint.mjJNT_BALL else (1, 1)
            x = qpos[m.jnt_qposadr[j] :][:nq]
            w = qvel[m.jnt_dofadr[j] :][:nv]
            if nq > 1:
                length = np.linalg.norm(x[-4:])
                x = np.concatenate([x[:-4], x[-4:] / length if length > 0.0 else [1.0, 0.0, 0.0, 0.0]])
            if free:
                R = so3.from_quaternion(x[3:])
                w = np.concatenate([w[3:], R.T @ w[:3]])
            q[joint], v[joint] = x, w
        builder.add_keyframe(name, q, v)
    if START not in taken:
        _add_start(mjcf, builder, names)


def _add_start(mjcf: CompiledMjcf, builder: ModelBuilder, names: Names) -> None:
    """Where the file puts bodies on free joints, as a keyframe, if one of them is not at the origin."""
    m, q = mjcf.m, {}
    for j, kind in enumerate(m.jnt_type):
        if builder.has_joint(names.joints[j]) and kind == mjcf.mj.mjtJoint.mjJNT_FREE:
            q[names.joints[j]] = np.array(m.qpos0[m.jnt_qposadr[j] :][:7])
    if any(np.any(x != [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]) for x in q.values()):
        builder.add_keyframe(START, q, {})


def _numbers(document: Document, element: Element, attribute: str, default: np.ndarray) -> np.ndarray:
    """The numbers of an attribute; the default where it is absent."""
    stated = bool((element.get(attribute) or "").strip())
    return np.array(document.numbers(element, attribute) if stated else default)
