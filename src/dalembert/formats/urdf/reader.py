"""URDF files → Model: complete, with every assumption in the ledger and every error at its file and line.

Beyond plain URDF, `<dalembert base="free" gravity="0 0 -9.81" xyz=… rpy=…><loop …/><equation …/></dalembert>` in
<robot> states a floating base, gravity, where the base is in the world (or `held_by` which joint on a link `world`, for
other readers), and closed loops, and
`<dalembert armature=… slip_speed=… stiffness=… rest=…/>` in <joint> the joint physics URDF has no words for; on planar
and floating joints also damping, friction and limits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dalembert.errors import DalembertError
from dalembert.model import Model, ModelBuilder
from dalembert.model.assembly import WORLD
from dalembert.spatial import Inertia, Pose

from ..ledger import Finding, Ledger
from ..robot import FileJoint, FileLink, FileRobot, check_options, settled
from ..tree import LinkTree, only_tree
from ..xml import Document, children, parse, tag_of
from .elements import ROBOT, Element, RobotExtension, check_version, extension, read_stated
from .extras import read_extras
from .geometry import GeometryReader, read_link, report_materials
from .joints import read_joint
from .loops import add_loops, place_of
from .motors import with_motors
from .semantics import Wanted, add_semantics, find_semantics, with_passive

EXPANDED = " (expanded)"  # suffix of the file's name in messages: line numbers are those of xacro's output
FOREIGN = {"mujoco": " (this is MJCF: name it .xml)", "sdf": " (this is SDF)", "html": " (this is a web page)"}


def read_urdf(
    source: str | bytes | os.PathLike[str],
    *,
    base: str | None = None,
    strict: bool = False,
    mimic: str = "couple",
    srdf: Wanted = True,
) -> tuple[Model, tuple[Finding, ...]]:
    """Read a URDF file, or URDF text (a string that starts with "<"), into a model and its import log.

    base: "fixed" or "free"; None: as in the file (fixed, unless it has `<dalembert base="free"/>`).
    strict: any finding that concerns physics raises.
    mimic: "couple" lets mimic joints share their leader's coordinate; "free" makes them independent and logs it.
    srdf: the path of its SRDF file; True: the one beside it, or in a folder `srdf`, of the same file or robot name;
    False: none.
    Numbers are kept as stated, even inertias that no body can have; those are logged as warnings.
    """
    return read_document(parse(source), base=base, strict=strict, mimic=mimic, srdf=srdf)


def read_document(
    document: Document, *, base: str | None, strict: bool, mimic: str, srdf: Wanted = True
) -> tuple[Model, tuple[Finding, ...]]:
    """Read URDF that is already parsed; the options are those of `read_urdf`."""
    check_options("read_urdf", base, mimic)
    ledger = Ledger()
    _check_root(document)
    check_version(document, ledger)
    read_extras(document, ledger)
    shapes = GeometryReader(document, ledger)
    links = {name: read_link(document, element, shapes, ledger) for name, element in _named(document, "link").items()}
    joints = [read_joint(document, element, ledger) for element in _named(document, "joint").values()]
    if not links:
        cure = "export the robot description again, or load the file that uses this one's macros"
        raise document.error(document.root, f"the robot has no <link>; {cure}")
    robot_extension = extension(document, document.root, ROBOT, {"loop", "equation"})
    stated = read_stated(document, robot_extension)
    if stated.held_by is not None:
        stated, links, joints = _placed(document, stated, links, joints)
    links |= _implied_world(links, joints, ledger)
    semantics = find_semantics(document, _stem(document), srdf, ledger)
    joints = with_passive(semantics, with_motors(document, settled(joints, mimic, ledger), ledger), ledger)
    tree = only_tree(links, joints)
    root = links[tree.roots[0] if tree.roots else WORLD]
    for step in tree.steps:
        if step.joint.kind != "fixed" and not links[step.child].stated:
            ledger.count(links[step.child].where, "moving link without <inertial>", "massless")
    base = base or stated.base
    if base != "free" and stated.fields:
        where = document.where(document.root)
        ledger.info(where, "<dalembert> states forces of the free base, but base='fixed'", "not used")
    aka = {}
    if base == "free" and root.name == WORLD:
        root = _afloat(tree, links, ledger)
        aka = {} if WORLD in links else {WORLD: root.name}
    default = _stem(document) if document.folder is not None else "robot"
    gravity = (0.0, 0.0, -9.81) if stated.gravity is None else stated.gravity
    builder = ModelBuilder((document.root.get("name") or "").strip() or default, gravity)
    joints = [step.joint for step in tree.steps]
    robot = FileRobot(links, joints, builder, document.where(document.root), ledger)
    robot.tree = tree
    free = robot.add_root(root.name, base, stated.placement, **(stated.fields if base == "free" else {}))
    for step in tree.steps:
        robot.add(step)
    robot.check_mimics()
    add_semantics(semantics, builder, joints, free if base == "free" else "", ledger)
    add_loops(document, robot_extension, builder, ledger, aka)
    report_materials(document, ledger)
    try:
        model = robot.model()
    except DalembertError as error:
        raise document.error(place_of(document, str(error)), str(error)) from None
    return model, ledger.close(strict=strict)


def _placed(
    document: Document, stated: RobotExtension, links: dict[str, FileLink], joints: list[FileJoint]
) -> tuple[RobotExtension, dict[str, FileLink], list[FileJoint]]:
    """Where the base is, from the joint `held_by`; and links and joints without that joint and the link `world`."""
    held = next((joint for joint in joints if joint.name == stated.held_by), None)
    others = [joint for joint in joints if joint is not held]
    empty = WORLD in links and not links[WORLD].stated and not links[WORLD].shapes
    alone = all(WORLD not in (joint.parent, joint.child) for joint in others)
    if held is None or held.X_parent is None or held.kind != "fixed" or held.parent != WORLD or not (empty and alone):
        what = (
            f'held_by="{stated.held_by}" must name the fixed joint by which an empty link "world" holds the base alone'
        )
        raise document.error(document.root, f"{what}; correct it, or remove it")
    bodies = {name: link for name, link in links.items() if name != WORLD}
    return replace(stated, placement=held.X_parent), bodies, others


def _implied_world(links: Mapping[str, FileLink], joints: list[FileJoint], ledger: Ledger) -> dict[str, FileLink]:
    """The link `world` where joints hang on it and no <link> states it, as in files of Drake."""
    hanging = [joint for joint in joints if joint.parent == WORLD]
    if WORLD in links or not hanging:
        return {}
    what = f"joint '{hanging[0].name}' hangs on 'world', which is not a <link>"
    ledger.info(hanging[0].where, what, "taken as the ground that the robot stands on")
    return {WORLD: FileLink(WORLD, Inertia.zero(), hanging[0].where, Pose.identity(), stated=False)}


def _check_root(document: Document) -> None:
    tag = tag_of(document.root)
    if tag != "robot":
        kind = FOREIGN.get(tag.lower(), "")
        raise document.error(document.root, f"the root element is <{tag}>{kind}, expected <robot>; give a URDF file")


def _named(document: Document, tag: str) -> dict[str, Element]:
    """The robot's elements of one tag by name, in file order."""
    elements: dict[str, Element] = {}
    for element in children(document.root):
        if tag_of(element) != tag:
            continue
        name = document.text(element, "name")
        if name in elements:
            raise document.error(
                element,
                f"line {elements[name].sourceline} has a {tag} of the same name; rename or remove one",
            )
        elements[name] = element
    return elements


def _afloat(tree: LinkTree, links: dict[str, FileLink], ledger: Ledger) -> FileLink:
    """The root that floats in place of a link called "world", which gets another name: the world does not move."""
    world = links[WORLD]
    held = [step for step in tree.steps if step.parent == WORLD]
    if len(held) == 1 and held[0].joint.kind == "free" and not world.stated:
        action = f"the joint '{held[0].joint.name}' is the free one; the link 'world' is left out"
        ledger.info(world.where, "base='free' and the file already lets the robot float in a link 'world'", action)
        tree.steps.remove(held[0])
        return links[held[0].child]
    name = WORLD
    while name in links:
        name += "_link"
    ledger.info(world.where, "base='free' and the root link, which floats, is called 'world'", f"renamed '{name}'")
    links[name] = replace(links.pop(WORLD), name=name)
    for k, step in enumerate(tree.steps):
        if step in held:
            tree.steps[k] = replace(step, parent=name, joint=replace(step.joint, parent=name))
    return links[name]


def _stem(document: Document) -> str:
    """The file's name without its endings."""
    return Path(document.label).name.removesuffix(EXPANDED).removesuffix(".xacro").removesuffix(".urdf")
