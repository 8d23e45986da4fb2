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

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Model, ModelBuilder
from dalembert.model.assembly import WORLD
from dalembert.spatial import Inertia

from ..diagnosis import diagnose
from ..ledger import Finding, Ledger
from ..mimic import check_mimics, check_options, settled
from ..xml import Document, children, parse, tag_of
from .elements import Element, check_version, extension
from .extension import ROBOT, Stated, read_stated
from .extras import read_extras
from .geometry import GeometryReader, report_materials
from .joints import Joint, read_joint
from .links import Link, read_link
from .loops import add_loops, place_of
from .motors import with_motors
from .semantics import Wanted, add_semantics, find_semantics, with_passive
from .tree import Tree, arrange

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
    links |= _implied_world(document, links, joints, ledger)
    semantics = find_semantics(document, _stem(document), srdf, ledger)
    joints = with_motors(document, settled(joints, mimic, ledger), ledger)
    joints = with_passive(semantics, joints, ledger)
    tree = arrange(document, links, joints)
    for joint in tree.joints:
        if joint.kind != "fixed" and not links[joint.child].stated:
            ledger.count(document.where(links[joint.child].element), "moving link without <inertial>", "massless")
    base = base or stated.base
    if base != "free" and stated.fields:
        where = document.where(document.root)
        ledger.info(where, "<dalembert> states forces of the free base, but base='fixed'", "not used")
    aka = {}
    if base == "free":
        tree = _afloat(document, tree, links, ledger)
        if WORLD in links and tree.root.element is links[WORLD].element:
            aka[WORLD] = tree.root.name
    builder = _build(document, tree, links, base, stated)
    _check_followers(builder, tree.joints, ledger)
    add_semantics(semantics, builder, tree, _root_joint(tree) if base == "free" else "", ledger)
    add_loops(document, robot_extension, builder, ledger, aka)
    report_materials(document, ledger)
    try:
        model = builder.model()
    except DalembertError as error:
        raise document.error(place_of(document, str(error)), str(error)) from None
    places = {joint.name: joint.element for joint in tree.joints}
    places |= {link.name: link.element for link in links.values() if link.name not in places}
    diagnose(ledger, model, lambda name: document.where(places.get(name, document.root)))
    return model, ledger.close(strict=strict)


def _placed(
    document: Document, stated: Stated, links: dict[str, Link], joints: list[Joint]
) -> tuple[Stated, dict[str, Link], list[Joint]]:
    """Where the base is, from the joint `held_by`; and links and joints without that joint and the link `world`."""
    held = next((joint for joint in joints if joint.name == stated.held_by), None)
    others = [joint for joint in joints if joint is not held]
    empty = WORLD in links and not links[WORLD].stated and not links[WORLD].geometry
    alone = all(WORLD not in (joint.parent, joint.child) for joint in others)
    if held is None or held.kind != "fixed" or held.parent != WORLD or not (empty and alone):
        what = (
            f'held_by="{stated.held_by}" must name the fixed joint by which an empty link "world" holds the base alone'
        )
        raise document.error(document.root, f"{what}; correct it, or remove it")
    bodies = {name: link for name, link in links.items() if name != WORLD}
    return replace(stated, placement=held.placement), bodies, others


def _implied_world(
    document: Document, links: Mapping[str, Link], joints: list[Joint], ledger: Ledger
) -> dict[str, Link]:
    """The link `world` where joints hang on it and no <link> states it, as in files of Drake."""
    hanging = [joint for joint in joints if joint.parent == WORLD]
    if WORLD in links or not hanging:
        return {}
    what = f"joint '{hanging[0].name}' hangs on 'world', which is not a <link>"
    ledger.info(document.where(hanging[0].element), what, "taken as the ground that the robot stands on")
    return {WORLD: Link(WORLD, Inertia.zero(), False, (), hanging[0].element)}


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


def _afloat(document: Document, tree: Tree, links: dict[str, Link], ledger: Ledger) -> Tree:
    """The tree whose root can float: a root link called "world" needs another name, since the world does not move."""
    if tree.root.name != WORLD:
        return tree
    where = document.where(tree.root.element)
    held = [joint for joint in tree.joints if joint.parent == WORLD]
    if len(held) == 1 and held[0].kind == "free" and not tree.root.stated:
        action = f"the joint '{held[0].name}' is the free one; the link 'world' is left out"
        ledger.info(where, "base='free' and the file already lets the robot float in a link 'world'", action)
        return Tree(links[held[0].child], tuple(joint for joint in tree.joints if joint is not held[0]))
    name = WORLD
    while name in links:
        name += "_link"
    ledger.info(where, "base='free' and the root link, which floats, is called 'world'", f"renamed '{name}'")
    links[name] = replace(tree.root, name=name)
    renamed = (replace(joint, parent=name) if joint.parent == WORLD else joint for joint in tree.joints)
    return Tree(links[name], tuple(renamed))


def _check_followers(builder: ModelBuilder, joints: tuple[Joint, ...], ledger: Ledger) -> None:
    """Raise at the first impossible <mimic>; log limits of follower and leader that exclude each other."""
    for joint, follower in check_mimics(builder, joints):
        leader = next(each for each in joints if each.name == follower.leader)
        lower, upper = (leader.fields.get(side) for side in ("lower", "upper"))
        if (lower is not None and follower.upper[0] < lower) or (upper is not None and follower.lower[0] > upper):
            what = f"the limits of joint '{joint.name}' and of its leader '{follower.leader}' exclude each other"
            ledger.info(joint.mimic.where, what, "kept: no position obeys both")


def _stem(document: Document) -> str:
    """The file's name without its endings."""
    return Path(document.label).name.removesuffix(EXPANDED).removesuffix(".xacro").removesuffix(".urdf")


def _root_joint(tree: Tree) -> str:
    """The name of the joint that carries the root link."""
    taken, name = {joint.name for joint in tree.joints}, tree.root.name
    while name in taken:
        name += "_root"
    return name


def _build(document: Document, tree: Tree, links: Mapping[str, Link], base: str, stated: Stated) -> ModelBuilder:
    """Hand the tree to a builder, depth first."""
    default = _stem(document) if document.folder is not None else "robot"
    builder = ModelBuilder((document.root.get("name") or "").strip() or default)
    if stated.gravity is not None:
        builder.gravity = np.array(stated.gravity)
    fields = stated.fields if base == "free" else {}
    world = Joint(_root_joint(tree), base, WORLD, tree.root.name, stated.placement, fields, None, tree.root.element)
    for joint in (world, *tree.joints):
        try:
            builder.add_body(
                joint.child,
                parent=joint.parent,
                joint=joint.kind,
                joint_name=joint.name,
                placement=joint.placement,
                inertia_object=links[joint.child].inertia,
                mimic=joint.mimic.law if joint.mimic is not None else None,
                **joint.fields,
            )
        except DalembertError as error:
            raise document.error(joint.element, str(error)) from None
        for shown in links[joint.child].geometry:
            builder.add_geometry(
                shown.shape,
                body=joint.child,
                placement=shown.placement,
                role=shown.role,
                color=shown.color,
                name=shown.name,
                surface=shown.surface,
            )
    return builder
