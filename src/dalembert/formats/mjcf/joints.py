"""MJCF joints from the compiled model: kind, anchor, reference, limits, springs, dampers, rotors, motors.

A coordinate is MuJoCo's qpos, so that states carry over: `ref` moves the joint frame, not the coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.spatial import Pose, so3

from ..ledger import Ledger
from .compile import CompiledMjcf

FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]  # of a free joint, whose velocity MuJoCo writes linear part first


@dataclass(frozen=True)
class MjcfJoint:
    """One joint. `before` is the pose of the joint frame in the body frame before the joint, `after` that of the body
    frame in the frame that the joint moves; `fields` are the keyword arguments of the model's joint."""

    index: int
    name: str
    kind: str
    before: Pose
    after: Pose
    fields: dict[str, Any]


def read_joint(mjcf: CompiledMjcf, index: int, name: str, ledger: Ledger) -> MjcfJoint:
    """Read joint `index` of the compiled model, to be called `name`."""
    m, kind = mjcf.m, int(mjcf.m.jnt_type[index])
    axis, anchor = np.array(m.jnt_axis[index]), np.array(m.jnt_pos[index])
    ref = float(m.qpos0[m.jnt_qposadr[index]])
    still = Pose.identity()
    before = after = still
    fields = _effects(mjcf, index, kind, ledger)
    if kind == SLIDE:
        before = Pose(np.eye(3), -ref * axis)
    elif kind in (HINGE, BALL):
        turned = so3.about_axis(axis, -ref) if kind == HINGE and ref else np.eye(3)
        before, after = Pose(turned, anchor), Pose(np.eye(3), -anchor)
    if kind in (SLIDE, HINGE):
        fields |= {"axis": axis} | _limits(mjcf, index, ledger) | _effort(mjcf, index, ledger)
    elif m.jnt_limited[index]:
        ledger.count(mjcf.where("joint", index), "limits of a ball joint", 'acts with Contact(model="mujoco")')
    unlimited = kind == HINGE and "lower" not in fields
    word = "continuous" if unlimited else {FREE: "free", BALL: "ball", SLIDE: "prismatic", HINGE: "revolute"}[kind]
    return MjcfJoint(index, name, word, before, after, fields)


def _effects(mjcf: CompiledMjcf, index: int, kind: int, ledger: Ledger) -> dict[str, Any]:
    """Armature, damping, friction and spring, including those of motors that act on this joint alone."""
    m, where = mjcf.m, mjcf.where("joint", index)
    nv = {FREE: 6, BALL: 3}.get(kind, 1)
    at = slice(m.jnt_dofadr[index], m.jnt_dofadr[index] + nv)
    fields: dict[str, Any] = {
        "armature": np.array(m.dof_armature[at]),
        "damping": np.array(m.dof_damping[at]),
        "friction": np.array(m.dof_frictionloss[at]),
    }
    for motor in motors(mjcf, index) if nv == 1 else ():
        square = float(m.actuator_gear[motor, 0]) ** 2
        fields["armature"] += square * m.actuator_armature[motor]
        fields["damping"] += square * m.actuator_damping[motor]
    if mjcf.disabled("DAMPER"):
        fields["damping"][:] = 0.0
    if mjcf.disabled("FRICTIONLOSS", "CONSTRAINT"):
        fields["friction"][:] = 0.0
    if np.any(fields["friction"]):
        ledger.count(
            where,
            "frictionloss of joints",
            "Coulomb friction, which holds in simulations; elsewhere smooth, with slip_speed 0.01 rad/s or m/s assumed",
        )
    if np.any(m.dof_dampingpoly[at]) and not mjcf.disabled("DAMPER"):
        ledger.warning(where, "damping that grows with speed (damping has several numbers)", "the first one is used")
    if kind == FREE:
        if np.any(fields["armature"]) or np.any(fields["friction"]):
            what = "armature or frictionloss of a free joint, which MuJoCo applies along world axes"
            ledger.warning(where, what, "applied along body axes: differs where it turns and translates at once")
        fields = {name: value[ANGULAR_FIRST] for name, value in fields.items()}
    return fields | _spring(mjcf, index, kind, nv, ledger)


def _spring(mjcf: CompiledMjcf, index: int, kind: int, nv: int, ledger: Ledger) -> dict[str, Any]:
    m, where = mjcf.m, mjcf.where("joint", index)
    k = float(m.jnt_stiffness[index])
    if mjcf.disabled("SPRING"):
        return {}
    if np.any(m.jnt_stiffnesspoly[index]):
        ledger.warning(where, "a spring that is not linear (stiffness has several numbers)", "the first one is used")
    if m.jnt_springyield[index]:
        ledger.warning(where, "a spring that yields (springyield)", "elastic without bound")
    if not k:
        return {}
    start = m.jnt_qposadr[index]
    stiffness = np.full(nv, k)
    if kind == FREE:
        ledger.warning(where, f"stiffness {k:g} of a free joint", "kept for the rotation, not used for the position")
        stiffness[3:] = 0.0
    return {"stiffness": stiffness, "rest": np.array(m.qpos_spring[start : start + {FREE: 7, BALL: 4}.get(kind, 1)])}


def _limits(mjcf: CompiledMjcf, index: int, ledger: Ledger) -> dict[str, float]:
    m = mjcf.m
    lower, upper = (float(bound) for bound in m.jnt_range[index])
    if lower > upper:
        what = f"range {lower:g} {upper:g} has the larger limit first; likely cause: flipped"
        ledger.warning(mjcf.where("joint", index), what, "unlimited, as MuJoCo takes it")
    if lower > upper or not m.jnt_limited[index] or mjcf.disabled("LIMIT", "CONSTRAINT"):
        return {}
    return {"lower": lower, "upper": upper}


def motors(mjcf: CompiledMjcf, joint: int) -> list[int]:
    """The actuators that act on this joint directly."""
    m, mj = mjcf.m, mjcf.mj
    direct = (int(mj.mjtTrn.mjTRN_JOINT), int(mj.mjtTrn.mjTRN_JOINTINPARENT))
    return [i for i in range(m.nactuator) if int(m.actuator_trntype[i]) in direct and m.actuator_trnid[i, 0] == joint]


def _effort(mjcf: CompiledMjcf, index: int, ledger: Ledger) -> dict[str, float]:
    """The largest force on the joint: the sum over its motors, within the joint's actuatorfrcrange."""
    m = mjcf.m
    strengths = [_strength(mjcf, motor) for motor in motors(mjcf, index)]
    limits = [sum(strengths)] if strengths and np.all(np.isfinite(strengths)) else []
    if m.jnt_actfrclimited[index]:
        limits.append(_largest(mjcf, "joint", index, m.jnt_actfrcrange[index], ledger))
    return {"effort_limit": float(min(limits))} if limits else {}


def _strength(mjcf: CompiledMjcf, motor: int) -> float:
    """The largest force of an actuator at its joint; inf when nothing bounds it."""
    m, mj = mjcf.m, mjcf.mj
    gear, bounds = abs(float(m.actuator_gear[motor, 0])), []
    if m.actuator_forcelimited[motor]:
        bounds.append(np.max(np.abs(m.actuator_forcerange[motor])))
    plain = int(m.actuator_gaintype[motor]) == int(mj.mjtGain.mjGAIN_FIXED)
    alone = int(m.actuator_biastype[motor]) == int(mj.mjtBias.mjBIAS_NONE)
    direct = int(m.actuator_dyntype[motor]) == int(mj.mjtDyn.mjDYN_NONE)
    control = m.actuator_ctrladr[motor]
    if plain and alone and direct and m.actuator_ctrllimited.size > control and m.actuator_ctrllimited[control]:
        bounds.append(abs(m.actuator_gainprm[motor, 0]) * np.max(np.abs(m.actuator_ctrlrange[control])))
    return gear * float(min(bounds)) if bounds else np.inf


def _largest(mjcf: CompiledMjcf, kind: str, index: int, bounds: Any, ledger: Ledger) -> float:
    lower, upper = abs(float(bounds[0])), abs(float(bounds[1]))
    if lower != upper:
        what = f"actuatorfrcrange {float(bounds[0]):g} {float(bounds[1]):g} is not symmetric"
        ledger.info(mjcf.where(kind, index), what, "the larger one bounds the effort both ways")
    return max(lower, upper)
