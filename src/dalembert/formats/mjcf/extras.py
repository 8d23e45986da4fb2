"""Everything in an MJCF model besides bodies and joints: fluids, balanced gravity, and what is dropped, in the log."""

from __future__ import annotations

import numpy as np

from dalembert.model import ModelBuilder
from dalembert.model.mujoco import LEAST
from dalembert.model.surroundings import FluidShape, Medium

from ..ledger import Ledger
from ..xml import tag_of
from .compile import CompiledMjcf, pose
from .softness import tendon_course
from .tree import Names

IN_SIMULATIONS = "acts in simulations; inverse and forward dynamics are those without"
TENDONS = {
    "stiffness": IN_SIMULATIONS,
    "damping": IN_SIMULATIONS,
    "armature": "not used",
    "frictionloss": 'acts with Contact(model="mujoco")',
}
REPAIRS = ("balanceinertia", "boundmass", "boundinertia", "settotalmass", "inertiafromgeom")


def report_extras(mjcf: CompiledMjcf, ledger: Ledger) -> None:
    """Log what does not enter the model."""
    _compiler(mjcf, ledger)
    _surroundings(mjcf, ledger)
    _tendons(mjcf, ledger)
    _actuators(mjcf, ledger)
    _contacts(mjcf, ledger)


def _compiler(mjcf: CompiledMjcf, ledger: Ledger) -> None:
    """Masses that MuJoCo changes because of settings in the file."""
    for document, element in mjcf.source.elements:
        if tag_of(element) != "compiler":
            continue
        for name in REPAIRS:
            value = element.get(name)
            if value not in (None, "false", "auto", "0", "-1"):
                ledger.count(document.where(element), f'compiler {name}="{value}"', "as MuJoCo does: masses follow it")


def _surroundings(mjcf: CompiledMjcf, ledger: Ledger) -> None:
    m = mjcf.m
    where = mjcf.source.first("option")
    if mjcf.disabled("GRAVITY"):
        ledger.info(where, "gravity is disabled", "gravity is 0")
    if m.nv == 0:
        return
    fluid = [f"{name} {getattr(m.opt, name):g}" for name in ("density", "viscosity") if getattr(m.opt, name)]
    if fluid:
        what = f"a fluid around the bodies ({', '.join(fluid)})"
        ledger.warning(where, what, IN_SIMULATIONS)
    afloat = [i for i in range(1, m.nbody) if m.body_gravcomp[i] and m.body_weldid[i]]
    if afloat and not mjcf.disabled("GRAVITY"):
        what = f"gravity is compensated on {len(afloat)} bodies (gravcomp)"
        ledger.warning(
            mjcf.where("body", afloat[0]), what, "acts in simulations; inverse dynamics and gravity are those without"
        )
    for i in range(m.nbody):
        if m.body_plugin[i] >= 0:
            ledger.warning(mjcf.where("body", i), "a plugin acts on the body", "its forces are not used")


def _tendons(mjcf: CompiledMjcf, ledger: Ledger) -> None:
    m = mjcf.m
    forces = {
        "stiffness": [m.tendon_stiffness, m.tendon_stiffnesspoly],
        "damping": [m.tendon_damping, m.tendon_dampingpoly],
        "armature": [m.tendon_armature],
        "frictionloss": [m.tendon_frictionloss],
    }
    for i in range(m.ntendon):
        acting = [name for name, arrays in forces.items() if any(np.any(array[i]) for array in arrays)]
        where, name = mjcf.where("tendon", i), mjcf.name("tendon", i)
        if acting and tendon_course(mjcf, i) is None:
            what = f"tendon '{name}', which winds about geoms or goes over pulleys, has {' and '.join(acting)}"
            ledger.warning(where, what, "its forces are not used")
            continue
        for effect in acting:
            ledger.warning(where, f"tendon '{name}' has {effect}", TENDONS[effect])
        if acting and (np.any(m.tendon_stiffnesspoly[i]) or np.any(m.tendon_dampingpoly[i]) or m.tendon_springyield[i]):
            ledger.warning(where, f"tendon '{name}' is not linear", "the first numbers are used, without yielding")
        if m.tendon_limited[i]:
            ledger.count(where, "tendon with a limit", 'acts with Contact(model="mujoco")')
        elif not acting:
            ledger.count(where, "tendon without passive forces", "it only guides actuators")


def _actuators(mjcf: CompiledMjcf, ledger: Ledger) -> None:
    """Motors are what tau stands for; servos act without a command, which is dropped unless controls drive them."""
    m, mj = mjcf.m, mjcf.mj
    single = (int(mj.mjtJoint.mjJNT_SLIDE), int(mj.mjtJoint.mjJNT_HINGE))
    servos: list[str] = []
    for i in range(m.nactuator):
        where, name = mjcf.where("actuator", i), mjcf.name("actuator", i)
        direct = int(m.actuator_trntype[i]) in (int(mj.mjtTrn.mjTRN_JOINT), int(mj.mjtTrn.mjTRN_JOINTINPARENT))
        direct = direct and int(m.jnt_type[m.actuator_trnid[i, 0]]) in single
        bias = mj.mjtBias(int(m.actuator_biastype[i]))
        if (m.actuator_armature[i] or np.any(m.actuator_damping[i])) and not direct:
            what = f"actuator '{name}' has armature or damping and acts on no single joint"
            ledger.warning(where, what, "its rotor and damper are not used")
        if np.any(m.actuator_dampingpoly[i]):
            ledger.warning(where, f"damping of actuator '{name}' grows with speed", "the first number is used")
        if bias == mj.mjtBias.mjBIAS_MUSCLE:
            ledger.warning(where, f"'{name}' is a muscle, which pulls also when passive", "its force is not used")
        elif bias == mj.mjtBias.mjBIAS_NONE:
            ledger.count(where, "actuator", "its force is part of tau; simulate(controls=…) drives it")
        else:
            servos.append(where)
    if servos:
        what = f"{len(servos)} actuator(s) with feedback (servo)"
        ledger.warning(
            servos[0],
            what,
            "kept as robot.actuators: they act where controls drive the robot, as in simulate(controls=…)",
        )


def _contacts(mjcf: CompiledMjcf, ledger: Ledger) -> None:
    m = mjcf.m
    touching = np.flatnonzero((m.geom_contype != 0) | (m.geom_conaffinity != 0))
    if touching.size and m.nv:
        what = f"{touching.size} geoms that can touch"
        action = "kept as collision shapes with their friction, solref, solimp, margin, gap and condim, for contacts"
        ledger.info(mjcf.where("geom", int(touching[0])), what, action)
    for document, element in mjcf.source.elements:
        if tag_of(element) == "exclude":
            ledger.count(document.where(element), "<exclude>", "kept: the two bodies never touch")
        elif tag_of(element) == "pair":
            ledger.count(document.where(element), "<pair>", 'kept for Contact(pairs="file")')


COEFFICIENTS = slice(1, 6)  # of geom_fluid: blunt, slender and angular drag, Kutta and Magnus lift


def add_surroundings(mjcf: CompiledMjcf, builder: ModelBuilder, names: Names) -> None:
    """The medium, if it has density or viscosity, with a shape for each body that moves; shares of gravity."""
    m = mjcf.m
    moving = [i for i in range(1, m.nbody) if m.body_weldid[i]]
    shares = {names.bodies[i]: float(m.body_gravcomp[i]) for i in moving if m.body_gravcomp[i]}
    if mjcf.disabled("GRAVITY"):
        shares = {}
    density, viscosity = float(m.opt.density), float(m.opt.viscosity)
    medium = None
    if density or viscosity:
        shapes = tuple(shape for i in moving for shape in _shapes(mjcf, i, names.bodies[i]))
        medium = Medium(density=density, viscosity=viscosity, wind=np.array(m.opt.wind), shapes=shapes)
    if medium is not None or shares:
        builder.surround(medium, shares)


def _shapes(mjcf: CompiledMjcf, body: int, link: str) -> list[FluidShape]:
    """The ellipsoids of geoms that ask for it, else the box of the body's inertia."""
    m, mj = mjcf.m, mjcf.mj
    if m.body_mass[body] < LEAST:
        return []
    first = int(m.body_geomadr[body])
    geoms = [g for g in range(first, first + int(m.body_geomnum[body])) if m.geom_fluid[g, 0] > 0.0]
    shapes = []
    for g in geoms:
        shapes.append(
            FluidShape(
                link=link,
                placement=pose(m.geom_pos[g], m.geom_quat[g]),
                size=_half_axes(mj.mjtGeom(int(m.geom_type[g])), np.array(m.geom_size[g]), mj),
                coefficients=tuple(float(x) for x in m.geom_fluid[g, COEFFICIENTS]),
                virtual_mass=tuple(float(x) for x in m.geom_fluid[g, 6:9]),
                virtual_inertia=tuple(float(x) for x in m.geom_fluid[g, 9:12]),
                share=float(m.geom_fluid[g, 0]),
            )
        )
    if geoms:
        return shapes
    I, mass = np.array(m.body_inertia[body]), float(m.body_mass[body])
    size = np.sqrt(np.maximum(LEAST, I.sum() - 2.0 * I) / mass * 6.0)
    return [FluidShape(link=link, placement=pose(m.body_ipos[body], m.body_iquat[body]), size=size)]


def _half_axes(kind: object, size: np.ndarray, mj: object) -> np.ndarray:
    """Half axes of the ellipsoid that stands for a geom."""
    name = str(getattr(kind, "name", kind))
    if name.endswith("SPHERE"):
        return np.full(3, size[0])
    if name.endswith("CAPSULE"):
        return np.array([size[0], size[0], size[1] + size[0]])
    if name.endswith("CYLINDER"):
        return np.array([size[0], size[0], size[1]])
    return size
