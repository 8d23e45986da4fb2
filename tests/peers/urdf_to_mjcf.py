"""A URDF file written again as MJCF, for tests that compare readers: tree, inertias, limits, damping and friction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation

TYPES = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide"}


def urdf_to_mjcf(file: Path, base: str = "fixed") -> str:
    """MJCF text of a URDF robot of revolute, continuous, prismatic and fixed joints."""
    robot = etree.parse(str(file)).getroot()
    links = {link.get("name"): link for link in robot.findall("link")}
    joints = robot.findall("joint")
    below: dict[str, list] = {name: [] for name in links}
    for joint in joints:
        below[joint.find("parent").get("link")].append(joint)
    (root,) = set(links) - {joint.find("child").get("link") for joint in joints}
    made = etree.Element("mujoco", model=robot.get("name"))
    etree.SubElement(made, "compiler", angle="radian", autolimits="true", balanceinertia="false")
    world = etree.SubElement(made, "worldbody")
    stack = [(world, root, None)]
    while stack:
        parent, name, joint = stack.pop()
        body = etree.SubElement(parent, "body", name=name) if name != "world" else world
        if joint is not None:
            _place(body, joint)
            _joint(body, joint)
        elif base == "free":
            etree.SubElement(body, "freejoint", name="base_joint")
        _inertial(body, links[name])
        stack += [(body, child.find("child").get("link"), child) for child in reversed(below[name])]
    return etree.tostring(made, encoding="unicode", pretty_print=True)


def _text(numbers) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(numbers))


def _numbers(element, attribute: str, default: str = "0 0 0") -> np.ndarray:
    return np.array((default if element is None else element.get(attribute, default)).split(), float)


def _rotation(element) -> Rotation:
    return Rotation.from_euler("xyz", _numbers(element, "rpy"))  # roll, pitch, yaw about fixed axes


def _place(body, joint) -> None:
    origin = joint.find("origin")
    x, y, z, w = _rotation(origin).as_quat()
    body.set("pos", _text(_numbers(origin, "xyz")))
    body.set("quat", _text([w, x, y, z]))


def _joint(body, joint) -> None:
    if joint.get("type") == "fixed":
        return
    made = etree.SubElement(body, "joint", name=joint.get("name"), type=TYPES[joint.get("type")])
    made.set("axis", _text(_numbers(joint.find("axis"), "xyz", "1 0 0")))
    limit, dynamics = joint.find("limit"), joint.find("dynamics")
    if joint.get("type") != "continuous" and limit is not None and limit.get("lower") != limit.get("upper"):
        made.set("range", f"{limit.get('lower', '0')} {limit.get('upper', '0')}")
    if dynamics is not None:
        made.set("damping", dynamics.get("damping", "0"))
        made.set("frictionloss", dynamics.get("friction", "0"))


def _inertial(body, link) -> None:
    inertial = link.find("inertial")
    if inertial is None or float(inertial.find("mass").get("value")) == 0.0:
        return  # MuJoCo does without, and refuses zeros
    origin, tensor = inertial.find("origin"), inertial.find("inertia")
    xx, yy, zz, xy, xz, yz = (float(tensor.get(name)) for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    R = _rotation(origin).as_matrix()
    I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    made = etree.SubElement(body, "inertial", pos=_text(_numbers(origin, "xyz")))
    made.set("mass", inertial.find("mass").get("value"))
    made.set("fullinertia", _text([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]))
