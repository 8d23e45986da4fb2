"""URDF files → Model: complete, with every assumption in the ledger and every error at its file and line.

Beyond plain URDF, `<dalembert base="free"/>` in <robot> states a floating base, and
`<dalembert armature=… slip_speed=… stiffness=… rest=…/>` in <joint> the joint physics URDF has no words for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dalembert.errors import DalembertError, unknown
from dalembert.model import Model, ModelBuilder
from dalembert.model.assembly import WORLD
from dalembert.spatial import Pose

from .ledger import Finding, Ledger
from .urdf_elements import Element, extension
from .urdf_extras import read_extras
from .urdf_joints import Joint, read_joint
from .urdf_links import Link, read_link
from .urdf_mimic import check_coupling, settle_mimics
from .urdf_tree import Tree, arrange, report_massless
from .xml import Document, children, parse, tag_of

BASES = ("fixed", "free")
MIMICS = ("couple", "free")
FOREIGN = {"mujoco": " (this is MJCF)", "sdf": " (this is SDF)", "html": " (this is a web page)"}


def read_urdf(
    source: str | bytes | os.PathLike[str],
    *,
    base: str | None = None,
    strict: bool = False,
    mimic: str = "couple",
) -> tuple[Model, tuple[Finding, ...]]:
    """Read a URDF file, or URDF text (a string that starts with "<"), into a model and its import log.

    base: "fixed" or "free"; None: as the file says (fixed, unless it holds `<dalembert base="free"/>`).
    strict: any finding that concerns physics raises.
    mimic: "couple" lets mimic joints share their leader's coordinate; "free" makes them independent and logs it.
    Numbers are taken as given, also inertias no body can have; those are logged as warnings.
    """
    if base is not None and base not in BASES:
        raise unknown("base", base, BASES, "read_urdf")
    if mimic not in MIMICS:
        raise unknown("mimic option", mimic, MIMICS, "read_urdf")
    document, ledger = parse(source), Ledger()
    _check_root(document)
    read_extras(document, ledger)
    links = {name: read_link(document, element, ledger) for name, element in _named(document, "link").items()}
    joints = [read_joint(document, element, ledger) for element in _named(document, "joint").values()]
    if not links:
        raise document.error(document.root, "the robot has no <link>; export the robot description again")
    joints = settle_mimics(document, joints, mimic, ledger)
    tree = arrange(document, links, joints)
    report_massless(document, tree, links, ledger)
    base = base or _stated_base(document)
    if base == "free":
        tree = _afloat(document, tree, links, ledger)
    model = _build(document, tree, links, base, ledger)
    return model, ledger.close(strict=strict)


def _check_root(document: Document) -> None:
    tag = tag_of(document.root)
    if tag != "robot":
        kind = FOREIGN.get(tag.lower(), "")
        raise document.error(document.root, f"the root element is <{tag}>{kind}, expected <robot>; give a URDF file")


def _named(document: Document, tag: str) -> dict[str, Element]:
    """The robot's elements of one tag by name, in file order."""
    found: dict[str, Element] = {}
    for element in children(document.root):
        if tag_of(element) != tag:
            continue
        name = document.text(element, "name")
        if name in found:
            raise document.error(
                element, f"there is already a {tag} of that name in line {found[name].sourceline}; rename or remove one"
            )
        found[name] = element
    return found


def _stated_base(document: Document) -> str:
    element = extension(document, document.root, {"base"})
    if element is None or element.get("base") is None:
        return "fixed"
    base = str(element.get("base"))
    if base not in BASES:
        raise unknown("base", base, BASES, document.where(element))
    return base


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


def _build(document: Document, tree: Tree, links: Mapping[str, Link], base: str, ledger: Ledger) -> Model:
    """Hand the tree to the builder, depth first."""
    default = Path(document.label).stem if document.label[0] != "<" else "robot"
    builder = ModelBuilder((document.root.get("name") or "").strip() or default)
    taken = {joint.name for joint in tree.joints}
    root_joint = tree.root.name
    while root_joint in taken:
        root_joint += "_root"
    world = Joint(root_joint, base, WORLD, tree.root.name, Pose.identity(), {}, None, tree.root.element)
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
    check_coupling(document, builder, tree.joints, ledger)
    return builder.model()
