"""The bodies of a compiled MJCF model, handed to the builder: chains for several joints, frames for sites."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import ModelBuilder
from dalembert.model.assembly import WORLD
from dalembert.spatial import Inertia, Pose

from ..diagnosis import report_inertia
from ..ledger import Ledger
from .compile import CompiledMjcf, pose
from .joints import MjcfJoint, read_joint

Mimics = dict[int, tuple[int, float, float]]  # follower → leader, ratio, offset


@dataclass
class Names:
    """Unique names of bodies, joints and sites, by MuJoCo's numbers."""

    bodies: list[str]
    joints: list[str]
    sites: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)  # names of links and frames

    def fresh(self, name: str, suffix: str = "_") -> str:
        """The name, or the name with suffixes when it is taken."""
        while name in self.taken:
            name += suffix
        self.taken.add(name)
        return name


def name_all(mjcf: CompiledMjcf, ledger: Ledger) -> Names:
    """The names in the file, and invented ones for unnamed bodies and joints."""
    m = mjcf.m
    bodies = [WORLD, *(mjcf.name("body", i) for i in range(1, m.nbody))]
    names = Names(bodies, [], taken={name for name in bodies if name})
    for i, name in enumerate(bodies):
        if not name:
            bodies[i] = names.fresh(f"body{i}")
            ledger.count(mjcf.where("body", i), "body without a name", "named by its number, as body3")
    stated = [mjcf.name("joint", j) for j in range(m.njnt)]
    taken = {name for name in stated if name}
    for j, name in enumerate(stated):
        if not name:
            owner = int(m.jnt_bodyid[j])
            number = "" if m.body_jntnum[owner] == 1 else str(j - int(m.body_jntadr[owner]) + 1)
            name = f"{bodies[owner]}_joint{number}"
            while name in taken:
                name += "_"
            taken.add(name)
            ledger.count(mjcf.where("joint", j), "joint without a name", "named after its body, as arm_joint")
        names.joints.append(name)
    return names


def add_bodies(
    mjcf: CompiledMjcf, builder: ModelBuilder, names: Names, mimics: Mimics, base: str | None, ledger: Ledger
) -> None:
    """Add every body, depth first as MuJoCo numbers them."""
    m = mjcf.m
    joints: list[list[MjcfJoint]] = [[] for _ in range(m.nbody)]
    for j in range(m.njnt):
        joints[m.jnt_bodyid[j]].append(read_joint(mjcf, j, names.joints[j], ledger))
    places = [pose(m.body_pos[i], m.body_quat[i]) for i in range(m.nbody)]
    if base is not None:
        _set_base(mjcf, names, joints, base, ledger)
    if _needs_world(mjcf, joints):
        builder.add_body(WORLD, parent=WORLD, joint_name=_held(WORLD, names))
    for i in range(1, m.nbody):
        try:
            _add_body(mjcf, builder, names, mimics, i, joints[i], places[i], ledger)
        except DalembertError as error:
            raise DalembertError(f"{mjcf.where('body', i)}: {error}") from None


def _needs_world(mjcf: CompiledMjcf, joints: list[list[MjcfJoint]]) -> bool:
    """Whether anything is fixed in the world, or the world has other children than one base."""
    m = mjcf.m
    roots = np.flatnonzero(m.body_parentid[1:] == 0) + 1
    fixed = bool(m.body_geomnum[0]) or bool(np.any(m.site_bodyid == 0)) or len(roots) != 1
    return fixed or [joint.kind for joint in joints[roots[0]]] not in ([], ["free"])


def _held(name: str, names: Names) -> str:
    """A name for a joint that the file does not have."""
    while name in names.joints:
        name += "_"
    names.joints.append(name)
    return name


def _set_base(mjcf: CompiledMjcf, names: Names, joints: list[list[MjcfJoint]], base: str, ledger: Ledger) -> None:
    """Let the only body on the world float, or fix it, as `base` says."""
    m = mjcf.m
    roots = [i for i in range(1, m.nbody) if m.body_parentid[i] == 0 and m.body_mocapid[i] < 0]
    floating = [i for i in roots if [joint.kind for joint in joints[i]] == ["free"]]
    where = mjcf.where("body", roots[0]) if roots else mjcf.source.first("worldbody")
    if base == "fixed" and len(floating) <= 1:
        for i in floating:
            joints[i].clear()
            ledger.info(
                where, f"base='fixed' and body '{names.bodies[i]}' floats in the file", "fixed where the file puts it"
            )
        return
    if base == "free" and len(roots) == 1 and (floating or not joints[roots[0]]):
        if not floating:
            name = _held(f"{names.bodies[roots[0]]}_joint", names)
            joints[roots[0]].append(MjcfJoint(-1, name, "free", Pose.identity(), Pose.identity(), {}))
            what = f"base='free' and body '{names.bodies[roots[0]]}' is fixed in the file"
            ledger.info(where, what, f"floats by the joint '{name}'")
        return
    listed = ", ".join(f"'{names.bodies[i]}'" for i in roots) or "none"
    hint = "needs one body in <worldbody>, without joints or with a free one" if base == "free" else "needs one at most"
    raise DalembertError(
        f"{where}: base='{base}' {hint}; in <worldbody>: {listed}, of which {len(floating)} float; "
        "omit base to use the file's"
    )


def _add_body(
    mjcf: CompiledMjcf,
    builder: ModelBuilder,
    names: Names,
    mimics: Mimics,
    index: int,
    joints: list[MjcfJoint],
    place: Pose,
    ledger: Ledger,
) -> None:
    """One body: a link per joint, the last of which is the body if its joint turns about the body's origin."""
    m, where, name = mjcf.m, mjcf.where("body", index), names.bodies[index]
    parent = names.bodies[m.body_parentid[index]]
    inertia = _inertia(mjcf, index, name, ledger)
    if m.body_mocapid[index] >= 0:
        ledger.count(where, "mocap body, which the simulator's user moves", "fixed where the file puts it")
    if len(joints) > 1:
        ledger.count(where, "body with several joints", "a chain of massless links, named body:joint")
    if joints and joints[0].kind == "free":
        _log_start(mjcf, index, name, ledger)
    carry = place
    for joint in joints:
        free = joint.kind == "free"  # its coordinate is the pose in the world itself
        last = joint is joints[-1] and not np.any(joint.after.p)
        link = name if last else names.fresh(f"{name}:{joint.name}")
        leader = mimics.get(joint.index)
        builder.add_body(
            link,
            parent=parent,
            joint=joint.kind,
            joint_name=joint.name,
            placement=Pose.identity() if free else carry @ joint.before,
            inertia_object=inertia if last else Inertia.zero(),
            mimic=(names.joints[leader[0]], leader[1], leader[2]) if leader else None,
            **joint.fields,
        )
        parent, carry = link, joint.after
    if parent != name:  # no joints, or an anchor off the body's origin
        if joints:
            what = "body that turns about a point off its origin"
            ledger.count(where, what, "fixed in the moving link, named body:joint, at that point")
        builder.add_body(name, parent=parent, joint_name=_held(name, names), placement=carry, inertia_object=inertia)


def _log_start(mjcf: CompiledMjcf, index: int, name: str, ledger: Ledger) -> None:
    """Log the initial pose of a floating body: it is a state, not a property of the robot."""
    numbers = [*mjcf.m.body_pos[index], *mjcf.m.body_quat[index]]
    start = ", ".join(f"{x:.6g}" for x in numbers)
    ledger.info(
        mjcf.where("body", index),
        f"the floating body '{name}' starts at ({start})",
        "q of a floating body is its pose in the world: start from these numbers",
    )


def _inertia(mjcf: CompiledMjcf, index: int, name: str, ledger: Ledger) -> Inertia:
    """The inertia in the body's frame; MuJoCo has diagonalised it about the centre of mass."""
    m = mjcf.m
    X = pose(m.body_ipos[index], m.body_iquat[index])
    I_com = Inertia(float(m.body_mass[index]), np.zeros(3), np.diag(np.array(m.body_inertia[index])))
    report_inertia(ledger, mjcf.where("body", index), name, I_com)
    return I_com.transform(X)


def add_sites(mjcf: CompiledMjcf, builder: ModelBuilder, names: Names, ledger: Ledger) -> None:
    """Sites become frames."""
    m = mjcf.m
    for i in range(m.nsite):
        stated = mjcf.name("site", i)
        name = names.fresh(stated or f"site{i}", ":site")
        names.sites.append(name)
        if stated and name != stated:
            what = "site with the name of a body"
            ledger.count(mjcf.where("site", i), what, "its frame gets the suffix :site")
        body = names.bodies[m.site_bodyid[i]]
        builder.add_frame(name, body=body, placement=pose(m.site_pos[i], m.site_quat[i]))
