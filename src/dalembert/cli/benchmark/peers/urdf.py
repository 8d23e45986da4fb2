"""URDF text for peers that stumble over geometry, foreign tags or omitted defaults. The physics stays as it is."""

from __future__ import annotations

from pathlib import Path

from lxml import etree

KEPT = ("link", "joint")


def has_free_base(path: Path, robot) -> bool:
    """Whether the robot's free joint was put under the file's root, so that a peer has to do the same.

    A floating joint that the file itself holds is read by the peer as well.
    """
    names = {joint.get("name") for joint in _parse(path).findall("joint")}
    return any(joint.kind == "free" and joint.name not in names for joint in robot.joints)


def bare(path: Path, extra: str = "") -> str:
    """The file with links (inertia only) and joints alone, every origin written out, and `extra` XML at the end."""
    root = _parse(path)
    foreign = [element for element in root if element.tag not in KEPT]
    for element in [*root.iter("visual", "collision"), *foreign]:
        element.getparent().remove(element)
    for element in [*root.iter("inertial"), *root.findall("joint")]:
        origin = element.find("origin")
        if origin is None:
            origin = etree.SubElement(element, "origin")
        for name in ("xyz", "rpy"):
            origin.set(name, origin.get(name, "0 0 0"))
    if extra:
        root.append(etree.fromstring(extra))
    return etree.tostring(root, encoding="unicode")


def _parse(path: Path) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    return etree.parse(str(path), parser).getroot()
