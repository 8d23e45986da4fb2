"""MuJoCo's soft constraints in MJCF: options of the solver, limits, dry friction, tendons, equalities, pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.model import ModelBuilder, Mujoco
from dalembert.model.mujoco import (
    HeightMap,
    MujocoEquality,
    MujocoJoint,
    MujocoOption,
    MujocoPair,
    MujocoTendon,
    Softness,
)
from dalembert.spatial import Pose

from ..ledger import Ledger
from ..xml import tag_of
from .closures import tied_frames
from .compile import CompiledMjcf
from .geometry import fixed_pose, surface_of
from .tree import Names

PHYSICS = {"gravity", "density", "viscosity", "wind"}  # attributes of <option>; the others concern the solver


def add_softness(
    mjcf: CompiledMjcf, builder: ModelBuilder, equalities: list[int], names: Names, ledger: Ledger
) -> None:
    """Read everything that `Contact(model="mujoco")` takes from the file."""
    m = mjcf.m
    builder.soften(
        Mujoco(
            _option(mjcf, ledger),
            tuple(_joint(mjcf, j, names.joints[j]) for j in range(m.njnt)),
            tuple(tendon for i in range(m.ntendon) if (tendon := read_tendon(mjcf, i, names)) is not None),
            tuple(row for i in equalities if (row := _equality(mjcf, i, names)) is not None),
            tuple(_pair(mjcf, i) for i in range(m.npair)),
            height_maps(mjcf, names),
        )
    )


def height_maps(mjcf: CompiledMjcf, names: Names) -> tuple[HeightMap, ...]:
    """The height fields that do not move."""
    m, mj = mjcf.m, mjcf.mj
    fields = [i for i in range(m.ngeom) if int(m.geom_type[i]) == int(mj.mjtGeom.mjGEOM_HFIELD)]
    return tuple(_height_map(mjcf, i, names, X) for i in fields if (X := fixed_pose(mjcf, i)) is not None)


def _height_map(mjcf: CompiledMjcf, geom: int, names: Names, X: Pose) -> HeightMap:
    m = mjcf.m
    field, body = int(m.geom_dataid[geom]), int(m.geom_bodyid[geom])
    rows, columns, start = int(m.hfield_nrow[field]), int(m.hfield_ncol[field]), int(m.hfield_adr[field])
    half_x, half_y, top, base = (float(x) for x in m.hfield_size[field])
    data = np.array(m.hfield_data[start : start + rows * columns], float).reshape(rows, columns)  # rows along y
    return HeightMap(
        mjcf.name("geom", geom) or f"height field {field + 1}",
        names.bodies[body],
        X,
        np.linspace(-half_x, half_x, columns),
        np.linspace(-half_y, half_y, rows),
        top * data.T,
        base,
        surface_of(mjcf, geom),
    )


def _option(mjcf: CompiledMjcf, ledger: Ledger) -> MujocoOption:
    m, mj = mjcf.m, mjcf.mj
    opt = m.opt
    off = mjcf.disabled("CONSTRAINT")
    override = None
    if int(opt.enableflags) & int(mj.mjtEnableBit.mjENBL_OVERRIDE):
        override = float(opt.o_margin), softness(opt.o_solref, opt.o_solimp), _numbers(opt.o_friction)
    words = {int(kind): kind.name.removeprefix("mjINT_").lower() for kind in mj.mjtIntegrator.__members__.values()}
    integrator = {"euler": "Euler", "rk4": "RK4"}.get(words[int(opt.integrator)], words[int(opt.integrator)])
    option = MujocoOption(
        timestep=float(opt.timestep),
        integrator=integrator,
        cone="elliptic" if int(opt.cone) == int(mj.mjtCone.mjCONE_ELLIPTIC) else "pyramidal",
        impratio=float(opt.impratio),
        override=override,
        refsafe=not mjcf.disabled("REFSAFE"),
        contacts=not off and not mjcf.disabled("CONTACT"),
        limits=not off and not mjcf.disabled("LIMIT"),
        equalities=not off and not mjcf.disabled("EQUALITY"),
        joined_touch=mjcf.disabled("FILTERPARENT"),
        implicit_damping=not mjcf.disabled("EULERDAMP"),
    )
    stated = [e for _, e in mjcf.source.elements if tag_of(e) == "option" and set(e.attrib) - PHYSICS]
    if m.nv and stated:
        what = (
            f"options of MuJoCo's solver: {option.cone} cone, impratio {option.impratio:g}, "
            f"timestep {option.timestep:g} s, integrator {option.integrator}"
        )
        ledger.info(mjcf.source.first("option"), what, 'kept for Contact(model="mujoco")')
    if m.nv:
        _unused(mjcf, ledger)
    return option


def _unused(mjcf: CompiledMjcf, ledger: Ledger) -> None:
    """Settings of the solver that are not used."""
    m, mj = mjcf.m, mjcf.mj
    where, flags = mjcf.source.first("option"), int(m.opt.enableflags)
    names = {
        "noslip_iterations": m.opt.noslip_iterations > 0,
        "diagexact": bool(flags & int(mj.mjtEnableBit.mjENBL_DIAGEXACT)),
        "speculative": bool(flags & int(mj.mjtEnableBit.mjENBL_SPECULATIVE)),
        "ipc": bool(flags & int(mj.mjtEnableBit.mjENBL_IPC)),
        "sleep": bool(flags & int(mj.mjtEnableBit.mjENBL_SLEEP)),
    }
    for name, used in names.items():
        if used:
            ledger.warning(where, f"option {name}", 'not used, not even by Contact(model="mujoco")')
    if int(m.opt.integrator) == int(mj.mjtIntegrator.mjINT_DISCRETE):
        action = 'not used: Contact(model="mujoco") takes the steps of Euler, which are not implicit in springs'
        ledger.warning(where, "integrator discrete", action)


def softness(solref: Any, solimp: Any) -> Softness:
    """From MuJoCo's arrays."""
    time, ratio = _numbers(solref)
    return Softness((time, ratio), _numbers(solimp))  # type: ignore[arg-type]


def _numbers(x: Any) -> tuple[float, ...]:
    return tuple(float(each) for each in np.asarray(x).ravel())


def _joint(mjcf: CompiledMjcf, index: int, name: str) -> MujocoJoint:
    m, mj = mjcf.m, mjcf.mj
    dof, ball = int(m.jnt_dofadr[index]), int(m.jnt_type[index]) == int(mj.mjtJoint.mjJNT_BALL)
    count = {int(mj.mjtJoint.mjJNT_FREE): 7, int(mj.mjtJoint.mjJNT_BALL): 4}.get(int(m.jnt_type[index]), 1)
    start = int(m.jnt_qposadr[index])
    return MujocoJoint(
        name,
        _numbers(m.qpos0[start : start + count]),
        softness(m.jnt_solref[index], m.jnt_solimp[index]),
        float(m.jnt_margin[index]),
        softness(m.dof_solref[dof], m.dof_solimp[dof]),
        float(np.max(m.jnt_range[index])) if ball and m.jnt_limited[index] else None,
    )


def read_tendon(mjcf: CompiledMjcf, index: int, names: Names) -> MujocoTendon | None:
    """A sum of coordinates, or straight lines between sites; None if it winds about geoms or goes over pulleys."""
    m = mjcf.m
    if (course := tendon_course(mjcf, index)) is None:
        return None
    low, high = _numbers(m.tendon_range[index])
    limited = bool(m.tendon_limited[index]) and not mjcf.disabled("LIMIT", "CONSTRAINT")
    dry = 0.0 if mjcf.disabled("FRICTIONLOSS", "CONSTRAINT") else float(m.tendon_frictionloss[index])
    rest = _numbers(m.tendon_lengthspring[index])
    return MujocoTendon(
        tendon_name(mjcf, index),
        tuple((names.joints[j], factor) for j, factor in course[0]),
        tuple(names.sites[site] for site in course[1]),
        (low, high) if limited else None,
        float(m.tendon_margin[index]),
        softness(m.tendon_solref_lim[index], m.tendon_solimp_lim[index]),
        dry,
        softness(m.tendon_solref_fri[index], m.tendon_solimp_fri[index]),
        0.0 if mjcf.disabled("SPRING") else float(m.tendon_stiffness[index]),
        0.0 if mjcf.disabled("DAMPER") else float(m.tendon_damping[index]),
        (rest[0], rest[1]),
        float(m.tendon_length0[index]),
    )


def tendon_course(mjcf: CompiledMjcf, index: int) -> tuple[list[tuple[int, float]], list[int]] | None:
    """Joints with factors, of a tendon that is a sum of coordinates, or the sites that it goes straight between.

    None if it winds about geoms or goes over pulleys.
    """
    m, mj = mjcf.m, mjcf.mj
    part = slice(int(m.tendon_adr[index]), int(m.tendon_adr[index]) + int(m.tendon_num[index]))
    kinds, objects = {int(x) for x in m.wrap_type[part]}, [int(x) for x in m.wrap_objid[part]]
    if kinds == {int(mj.mjtWrap.mjWRAP_JOINT)}:
        return [(j, float(x)) for j, x in zip(objects, m.wrap_prm[part], strict=True)], []
    return ([], objects) if kinds == {int(mj.mjtWrap.mjWRAP_SITE)} else None


def tendon_name(mjcf: CompiledMjcf, index: int) -> str:
    """Its name, or its number."""
    return mjcf.name("tendon", index) or f"tendon{index}"


def _equality(mjcf: CompiledMjcf, index: int, names: Names) -> MujocoEquality | None:
    m, mj = mjcf.m, mjcf.mj
    kind = mj.mjtEq(int(m.eq_type[index])).name.removeprefix("mjEQ_").lower()
    if kind not in ("connect", "weld", "joint", "tendon"):
        return None
    one, two = int(m.eq_obj1id[index]), int(m.eq_obj2id[index])
    data = np.array(m.eq_data[index])
    name = mjcf.name("equality", index) or f"equality{index}"
    soft = softness(m.eq_solref[index], m.eq_solimp[index])
    if kind in ("joint", "tendon"):
        listed = names.joints if kind == "joint" else [tendon_name(mjcf, i) for i in range(m.ntendon)]
        other = listed[two] if two >= 0 else ""
        return MujocoEquality(name, kind, listed[one], other, soft, coefficients=_numbers(data[:5]))
    (one, X_a), (two, X_b) = tied_frames(mjcf, index)
    scale = float(data[10]) if kind == "weld" else 1.0
    a, b = names.bodies[one], names.bodies[two]
    return MujocoEquality(name, kind, a, b, soft, X_a, X_b, torque_scale=scale)


def _pair(mjcf: CompiledMjcf, index: int) -> MujocoPair:
    m = mjcf.m
    a, b = (mjcf.name("geom", int(ids[index])) for ids in (m.pair_geom1, m.pair_geom2))
    first, second = _numbers(m.pair_solreffriction[index])
    return MujocoPair(
        a,
        b,
        int(m.pair_dim[index]),
        _numbers(m.pair_friction[index]),
        softness(m.pair_solref[index], m.pair_solimp[index]),
        (first, second),
        float(m.pair_margin[index]),
        float(m.pair_gap[index]),
    )
