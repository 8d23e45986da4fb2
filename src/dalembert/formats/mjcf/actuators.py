"""Actuators and keyframes of MJCF: kept in the model as data."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import ModelBuilder
from dalembert.spatial import so3

from ..ledger import Ledger
from ..xml import Document
from .compile import Compiled
from .source import Element
from .tree import Names


def add_actuators(mjcf: Compiled, builder: ModelBuilder, names: Names, ledger: Ledger) -> None:
    """Motors and servos on single joints. Others are logged: on tendons, sites and bodies, muscles, plugins."""
    m, mj = mjcf.m, mjcf.mj
    direct = (int(mj.mjtTrn.mjTRN_JOINT), int(mj.mjtTrn.mjTRN_JOINTINPARENT))
    single = (int(mj.mjtJoint.mjJNT_SLIDE), int(mj.mjtJoint.mjJNT_HINGE))
    taken: set[str] = set()
    for i in range(m.nactuator):
        where, target = mjcf.where("actuator", i), int(m.actuator_trnid[i, 0])
        if int(m.actuator_trntype[i]) not in direct or int(m.jnt_type[target]) not in single:
            ledger.count(where, "actuator that acts on no single joint", "not kept")
            continue
        law = _law(mjcf, i)
        if law is None:
            ledger.count(where, "actuator with a law that is not affine (muscle, motor model, plugin)", "not kept")
            continue
        joint = names.joints[target]
        name = mjcf.name("actuator", i) or joint
        while name in taken:
            name += "_"
        taken.add(name)
        try:
            builder.add_actuator(name, joint, gear=float(m.actuator_gear[i, 0]), **law)
        except DalembertError as error:
            ledger.warning(where, str(error), "not kept")


def _law(mjcf: Compiled, i: int) -> dict[str, Any] | None:
    """Gain, bias, limits and dynamics in the model's terms; None for a law that the model cannot express."""
    m, mj = mjcf.m, mjcf.mj
    kinds = mj.mjtGain(int(m.actuator_gaintype[i])), mj.mjtBias(int(m.actuator_biastype[i]))
    fixed, affine = (mj.mjtGain.mjGAIN_FIXED, mj.mjtGain.mjGAIN_AFFINE)
    plain, biased = (mj.mjtBias.mjBIAS_NONE, mj.mjtBias.mjBIAS_AFFINE)
    dynamics = {
        int(mj.mjtDyn.mjDYN_NONE): "none",
        int(mj.mjtDyn.mjDYN_INTEGRATOR): "integrator",
        int(mj.mjtDyn.mjDYN_FILTER): "filter",
        int(mj.mjtDyn.mjDYN_FILTEREXACT): "filterexact",
    }.get(int(m.actuator_dyntype[i]))
    if kinds[0] not in (fixed, affine) or kinds[1] not in (plain, biased) or dynamics is None:
        return None
    gain = np.array(m.actuator_gainprm[i, :3]) if kinds[0] == affine else np.array([m.actuator_gainprm[i, 0], 0, 0])
    law: dict[str, Any] = {
        "gain": gain,
        "bias": np.array(m.actuator_biasprm[i, :3]) if kinds[1] == biased else np.zeros(3),
        "dynamics": dynamics,
    }
    if dynamics in ("filter", "filterexact"):
        law["time_constant"] = float(m.actuator_dynprm[i, 0])
    control = int(m.actuator_ctrladr[i]) if hasattr(m, "actuator_ctrladr") else i
    if m.actuator_ctrllimited[control]:
        law["control_limits"] = np.array(m.actuator_ctrlrange[control])
    if m.actuator_forcelimited[i]:
        law["force_limits"] = np.array(m.actuator_forcerange[i])
    return law


def add_keyframes(mjcf: Compiled, builder: ModelBuilder, names: Names, ledger: Ledger) -> None:
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


def _numbers(document: Document, element: Element, attribute: str, default: np.ndarray) -> np.ndarray:
    """The numbers of an attribute; the default where it is absent."""
    stated = bool((element.get(attribute) or "").strip())
    return np.array(document.numbers(element, attribute) if stated else default)
