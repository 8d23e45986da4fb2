"""MJCF <equality>: linear laws between joints become couplings, others equations; connect and weld close loops."""

from __future__ import annotations

from math import comb

import numpy as np

from dalembert.model import ModelBuilder
from dalembert.spatial import Pose

from ..ledger import Ledger
from .compile import CompiledMjcf, pose
from .tree import Mimics, Names

EXACTLY = "held exactly: MuJoCo's softness (solref, solimp) is not used"


def active(mjcf: CompiledMjcf, ledger: Ledger) -> list[int]:
    """The equalities that hold; those switched off are logged."""
    m = mjcf.m
    off = mjcf.disabled("EQUALITY", "CONSTRAINT")
    numbers = []
    for i in range(m.neq):
        if off or not m.eq_active0[i]:
            ledger.count(mjcf.where("equality", i), "equality that is not active", "passed over")
        else:
            numbers.append(i)
    return numbers


def couple(mjcf: CompiledMjcf, equalities: list[int], names: Names, option: str, ledger: Ledger) -> tuple[Mimics, dict]:
    """Joint laws: (couplings, equations), the second as equality → (follower, leader or -1, coefficients)."""
    m, mj = mjcf.m, mjcf.mj
    mimics: Mimics = {}
    equations: dict[int, tuple[int, int, list[float]]] = {}
    for i in equalities:
        if int(m.eq_type[i]) == int(mj.mjtEq.mjEQ_JOINT):
            follower, leader = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
            law = _law(mjcf, i, follower, leader)
        elif int(m.eq_type[i]) == int(mj.mjtEq.mjEQ_TENDON) and (pair := _tied(mjcf, i)):
            follower, leader, law = pair
        else:
            continue
        where = mjcf.where("equality", i)
        of, to = names.joints[follower], names.joints[leader] if leader >= 0 else ""
        if leader < 0:
            equations[i] = follower, -1, law
            ledger.info(where, f"joint '{of}' is held at {law[0]:g}", f"an equation of the model; {EXACTLY}")
        elif option == "free":
            ledger.info(where, f"joint '{of}' follows '{to}'", 'independent, because of mimic="free"')
        elif any(law[2:]) or not law[1] or follower in mimics or _leads(mimics, leader) == follower:
            equations[i] = follower, leader, law
            ledger.info(where, f"joint '{of}' follows '{to}' by a polynomial", f"an equation of the model; {EXACTLY}")
        else:
            mimics[follower] = leader, law[1], law[0]
            what = f"joint '{of}' follows '{to}': q = {law[1]:g}·q('{to}') + {law[0]:g}"
            ledger.info(where, what, f"shares its coordinate; {EXACTLY}")
    return mimics, equations


def _tied(mjcf: CompiledMjcf, index: int) -> tuple[int, int, list[float]] | None:
    """The law of a fixed tendon of constant length over two joints: its second joint follows the first."""
    m, mj = mjcf.m, mjcf.mj
    tendon = int(m.eq_obj1id[index])
    wraps = range(int(m.tendon_adr[tendon]), int(m.tendon_adr[tendon] + m.tendon_num[tendon]))
    fixed = all(int(m.wrap_type[w]) == int(mj.mjtWrap.mjWRAP_JOINT) for w in wraps)
    if m.eq_obj2id[index] >= 0 or not fixed or len(wraps) != 2 or m.wrap_prm[wraps[1]] == 0.0:
        return None
    leader, follower = (int(m.wrap_objid[w]) for w in wraps)
    c, d = (float(m.wrap_prm[w]) for w in wraps)
    length = float(m.tendon_length0[tendon] + m.eq_data[index, 0])
    return follower, leader, [length / d, -c / d]


def _leads(mimics: Mimics, joint: int) -> int:
    """The joint at the end of a chain of leaders."""
    while joint in mimics:
        joint = mimics[joint][0]
    return joint


def _law(mjcf: CompiledMjcf, index: int, follower: int, leader: int) -> list[float]:
    """Coefficients of q(follower) in powers of q(leader); MuJoCo measures both from their reference positions."""
    m = mjcf.m
    a = np.array(m.eq_data[index, :5])
    y0 = float(m.qpos0[m.jnt_qposadr[follower]])
    if leader < 0:
        return [y0 + float(a[0])]
    x0 = float(m.qpos0[m.jnt_qposadr[leader]])
    law = [sum(float(a[k]) * comb(k, n) * (-x0) ** (k - n) for k in range(n, 5)) for n in range(5)]
    law[0] += y0
    return law


def add_closures(
    mjcf: CompiledMjcf, builder: ModelBuilder, equalities: list[int], equations: dict, names: Names, ledger: Ledger
) -> None:
    """Equations between joints, loops between bodies; equalities of other kinds are logged."""
    m, mj = mjcf.m, mjcf.mj
    taken: set[str] = set()
    for i in equalities:
        kind, where = int(m.eq_type[i]), mjcf.where("equality", i)
        name = mjcf.name("equality", i) or f"equality{i}"
        while name in taken:
            name += "_"
        taken.add(name)
        if i in equations:
            follower, leader, law = equations[i]
            to = names.joints[leader] if leader >= 0 else ""
            builder.add_equation(name, names.joints[follower], to, coefficients=law)
        elif kind in (int(mj.mjtEq.mjEQ_CONNECT), int(mj.mjtEq.mjEQ_WELD)):
            _close(mjcf, builder, i, name, names, ledger)
        elif kind == int(mj.mjtEq.mjEQ_JOINT) or (kind == int(mj.mjtEq.mjEQ_TENDON) and _tied(mjcf, i)):
            continue  # coupled, or independent because of mimic="free"
        else:
            word = mj.mjtEq(kind).name.removeprefix("mjEQ_").lower()
            soft = kind == int(mj.mjtEq.mjEQ_TENDON)
            action = 'acts with Contact(model="mujoco") and nowhere else' if soft else "not used"
            ledger.warning(where, f"an equality of kind {word}", action)


def _close(mjcf: CompiledMjcf, builder: ModelBuilder, index: int, name: str, names: Names, ledger: Ledger) -> None:
    """<connect> or <weld>: a loop between two frames."""
    m, where = mjcf.m, mjcf.where("equality", index)
    (one, X_aK), (two, X_bL) = tied_frames(mjcf, index)
    weld = int(m.eq_type[index]) == int(mjcf.mj.mjtEq.mjEQ_WELD)
    a, b = names.bodies[one], names.bodies[two]
    if m.body_weldid[one] == m.body_weldid[two]:
        ledger.info(where, f"ties '{a}' to '{b}', which do not move relative to each other", "without effect")
        return
    kind = "weld" if weld and m.eq_data[index, 10] > 0.0 else "point"
    if weld and kind == "point":
        ledger.info(where, "a weld with torquescale 0", "holds the point, not the rotation")
    builder.add_closure(name, kind, a=a, b=b, placement_a=X_aK, placement_b=X_bL)
    ledger.info(where, f"'{a}' and '{b}' are tied in a loop ({kind})", f"kept as a closure; {EXACTLY}")


def tied_frames(mjcf: CompiledMjcf, index: int) -> tuple[tuple[int, Pose], tuple[int, Pose]]:
    """The numbers of the two bodies that <connect> or <weld> ties, and the frames in them that it brings together."""
    m, mj, data = mjcf.m, mjcf.mj, np.array(mjcf.m.eq_data[index])
    one, two = int(m.eq_obj1id[index]), int(m.eq_obj2id[index])
    if int(m.eq_objtype[index]) == int(mj.mjtObj.mjOBJ_SITE):
        X_a, X_b = (pose(m.site_pos[site], m.site_quat[site]) for site in (one, two))
        return (int(m.site_bodyid[one]), X_a), (int(m.site_bodyid[two]), X_b)
    if int(m.eq_type[index]) == int(mj.mjtEq.mjEQ_WELD):
        return (one, pose(data[3:6], data[6:10])), (two, Pose(np.eye(3), data[:3]))
    return (one, Pose(np.eye(3), data[:3])), (two, Pose(np.eye(3), data[3:6]))
