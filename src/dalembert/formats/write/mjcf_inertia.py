"""Links as MuJoCo takes them: possible inertias only, none without mass that moves; bare links become joints."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from dalembert.model import Body, Closure, Frame, Model, Part
from dalembert.model.joints import Ball
from dalembert.model.mujoco import LEAST
from dalembert.spatial import Inertia, Pose, so3

from .layout import Item
from .losses import Losses
from .text import Element, add, number, numbers, tidied

NARROW = 1e-12  # fullinertia must have moments clearly above zero; below this they are written in principal axes
ROUND_OFF = 1e-14  # the triangle inequality may be missed by this much of the largest moment


def carried_inertias(model: Model, losses: Losses, bare: Container[int]) -> dict[str, Inertia]:
    """The inertia of every link. Where MuJoCo would refuse a link's alone, the body's main link gets the sum.

    bare: indices of bodies that become joints of others.
    """
    by_link: dict[str, Inertia] = {}
    for body in model.bodies:
        by_link |= {part.name: part.inertia for part in body.parts}
        if body.index in bare:
            continue
        moves = body.index > 0 or body.joint.nv > 0
        inertias = [part.inertia for part in body.parts]
        if all(map(is_possible, inertias)) and (not moves or any(map(is_heavy, inertias))):
            continue
        if len(inertias) > 1 and is_possible(body.inertia) and (not moves or is_heavy(body.inertia)):
            by_link |= {part.name: Inertia.zero() for part in body.parts}
            by_link[body.name] = _total(body)
            what = "MuJoCo refuses the inertia of some of its fixed links, not their sum"
            losses.note("link", body.name, what, "it gets the sum")
        elif moves and not is_heavy(body.inertia):
            what = "it moves and has no mass or no inertia about some axis, which MuJoCo refuses"
            losses.refuse("link", body.name, what, "give it an inertia, or fix its joint")
    return by_link


def _total(body: Body) -> Inertia:
    return reduce(lambda a, b: a + b, (part.inertia.transform(part.placement) for part in body.parts))


def is_heavy(inertia: Inertia) -> bool:
    """Whether MuJoCo lets a body with it move."""
    return bool(inertia.mass >= LEAST and np.linalg.eigvalsh(inertia.about_com())[0] >= LEAST)


def is_possible(inertia: Inertia) -> bool:
    """Whether MuJoCo accepts it."""
    least, middle, most = np.linalg.eigvalsh(inertia.about_com())
    slack = ROUND_OFF * np.max(np.abs(inertia.I))
    return bool(inertia.mass >= 0.0 and least >= -slack and most - least - middle <= slack)


def add_inertial(element: Element, name: str, inertia: Inertia, losses: Losses) -> None:
    """<inertial> with a full tensor, or by principal axes where that is flat or a point."""
    if not np.any(inertia.parameters()):
        return
    if inertia.mass < 0.0 or (inertia.mass == 0.0 and np.any(inertia.moment)):
        losses.refuse("link", name, f"its mass is {inertia.mass:g}, which MuJoCo takes for 0", "correct the mass")
        return
    I = tidied(inertia.about_com(), float(np.max(np.abs(inertia.I))))
    com = numbers(tidied(inertia.com, float(np.max(np.abs(inertia.com)))))
    inertial = add(element, "inertial", pos=com, mass=number(inertia.mass))
    moments, axes = np.linalg.eigh(I)
    least, middle, most = moments
    excess = most - least - middle
    if least < -ROUND_OFF * np.max(np.abs(inertia.I)):
        losses.refuse("link", name, f"a principal moment is negative ({least:g} kg·m²)", "correct the inertia")
    elif excess > ROUND_OFF * np.max(np.abs(inertia.I)):
        what = "its principal moments break the triangle inequality, which MuJoCo refuses"
        losses.change("link", name, what, "the largest moment is lowered to the sum of the others")
    if least > NARROW and excess <= 0.0:
        inertial.set("fullinertia", numbers(I[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]))
        return
    least, middle = max(least, 0.0), max(middle, 0.0)
    inertial.set("diaginertia", numbers([least, middle, min(most, least + middle)]))
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    inertial.set("quat", numbers(so3.to_quaternion(axes)))


@dataclass(frozen=True)
class JointRow:
    """Bare links on the way to a body: the pose of the current frame in the link before them, and in each of them."""

    placement: Pose = field(default_factory=Pose.identity)
    bodies: tuple[tuple[Body, Pose], ...] = ()

    def beyond(self, X: Pose) -> JointRow:
        """The row to a frame at X in the current one."""
        return JointRow(self.placement @ X, tuple((body, X_BC @ X) for body, X_BC in self.bodies))

    def then(self, body: Body) -> JointRow:
        """The row with one more bare link, whose joint frame is the current frame."""
        return JointRow(self.placement, (*self.bodies, (body, Pose.identity())))


def bare_links(model: Model, carried: Mapping[str, Sequence[Item]]) -> dict[int, Item]:
    """Bodies whose main link has neither mass nor shape nor frames: index → the only link that it carries."""
    tied = {end.body for closure in model.closures if isinstance(closure, Closure) for end in (closure.a, closure.b)}
    carried_links = {}
    for body in model.bodies[1:]:
        part, items = body.parts[0], carried[body.name]
        plain = not part.geometry and not np.any(part.inertia.parameters()) and body.index not in tied
        if plain and _hinges_or_slides(body) and len(items) == 1 and _can_end(body, items[0].what):
            carried_links[body.index] = items[0]
    return carried_links


def _can_end(body: Body, carried: Body | Part | Frame) -> bool:
    """Whether a row of joints may end in this link: one that moves, or a fixed one that MuJoCo lets move."""
    if isinstance(carried, Body):
        return _hinges_or_slides(carried) or isinstance(carried.joint, Ball)
    possible = all(is_possible(part.inertia) for part in body.parts)
    return possible and isinstance(carried, Part) and is_heavy(carried.inertia)


def _hinges_or_slides(body: Body) -> bool:
    """Whether MJCF writes the joint of a body as hinges and slides."""
    joint = body.joint.uncoupled
    return joint.flat and ("mjcf" in joint.keywords or bool(joint.row()))
