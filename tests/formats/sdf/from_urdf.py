"""URDF rewritten as SDF by the definitions of both formats, without the package: one robot in several layouts."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np

from formats.sdf.oracle import Mass, placed
from formats.sdf.snippets import axis, inertial, joint, model, pose, random_pose

STYLES = ("as URDF, 1.9", "flat, 1.6", "flat, 1.4", "displaced, 1.6")


def floats(element: Any, key: str, default: str = "0 0 0") -> list[float]:
    return [float(x) for x in (default if element is None else element.get(key, default)).split()]


def origin(element: Any) -> np.ndarray:
    found = element.find("origin")
    return placed([*floats(found, "xyz"), *floats(found, "rpy")])


def six(T: np.ndarray) -> list[float]:
    """x y z roll pitch yaw of a pose; yaw is undone before the others are read, so that gimbal lock does no harm."""
    yaw = np.arctan2(T[1, 0], T[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-T[2, 0], c * T[0, 0] + s * T[1, 0])
    roll = np.arctan2(s * T[0, 2] - c * T[1, 2], c * T[1, 1] - s * T[0, 1])
    return [*T[:3, 3], roll, pitch, yaw]


def body(link: Any, D: np.ndarray) -> str:
    """The <inertial> of a link in a frame at D in the link of URDF."""
    found = link.find("inertial")
    if found is None:
        mass = Mass(0.0, np.zeros(3), np.zeros((3, 3)))
        return inertial(mass)
    tensor = {key: float(value) for key, value in found.find("inertia").attrib.items()}
    xx, yy, zz, xy, xz, yz = (tensor.get(key, 0.0) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    C = np.linalg.inv(D) @ origin(found)
    R = C[:3, :3]
    I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return inertial(Mass(float(found.find("mass").get("value")), C[:3, 3], I))


def inside_axis(element: Any) -> str:
    text = ""
    dynamics, limit, mimic = (element.find(tag) for tag in ("dynamics", "limit", "mimic"))
    if dynamics is not None:
        words = "".join(f"<{key}>{dynamics.get(key, '0')}</{key}>" for key in ("damping", "friction"))
        text += f"<dynamics>{words}</dynamics>"
    if limit is not None and element.get("type") != "continuous":
        text += "<limit>" + "".join(f"<{key}>{value}</{key}>" for key, value in limit.attrib.items()) + "</limit>"
    if mimic is not None:
        words = f"<multiplier>{mimic.get('multiplier', '1')}</multiplier><offset>{mimic.get('offset', '0')}</offset>"
        text += f'<mimic joint="{mimic.get("joint")}">{words}</mimic>'
    return text


def rewritten(urdf: str, style: str, base: str) -> tuple[str, dict[str, np.ndarray]]:
    """SDF text, and for each link the pose of SDF's link frame in URDF's."""
    robot = ElementTree.fromstring(urdf)
    links = {link.get("name"): link for link in robot.findall("link")}
    joints = {j.find("child").get("link"): j for j in robot.findall("joint")}
    rng = np.random.default_rng(0)
    D = {name: placed(random_pose(rng)) if style.startswith("displaced") else np.eye(4) for name in links}
    version = style.split(", ")[1]

    def world(name: str) -> np.ndarray:
        if name not in joints:
            return np.eye(4)
        return world(joints[name].find("parent").get("link")) @ origin(joints[name])

    text = ""
    for name, element in links.items():
        own = joints.get(name)
        if style.startswith("as URDF") and own is not None:
            at = pose(np.zeros(6), f'relative_to="{own.get("name")}"')
        else:
            at = pose(six(world(name) @ D[name]))
        text += f'<link name="{name}">{at}{body(element, D[name])}</link>\n'
    for name, element in joints.items():
        parent = element.find("parent").get("link")
        direction = np.array(floats(element.find("axis"), "xyz", "1 0 0"))
        if version == "1.4":
            direction = world(name)[:3, :3] @ direction
        inside = "" if element.get("type") == "fixed" else axis(direction, inside_axis(element))
        if style.startswith("as URDF"):
            inside += pose(six(origin(element)), f'relative_to="{parent}"')
        elif style.startswith("displaced"):
            inside += pose(six(np.linalg.inv(D[name])))
        text += joint(element.get("name"), element.get("type"), parent, name, inside)
    if base == "fixed":
        root = next(name for name in links if name not in joints)
        text += joint("held_to_the_world", "fixed", "world", root)
    return model(text, version, robot.get("name")), D
