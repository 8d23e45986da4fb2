"""Links without mass, which MuJoCo refuses: their joints become joints of the body that they carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dalembert.model import Body, Closure, Frame, Model, Part
from dalembert.model.joints import Ball
from dalembert.spatial import Pose

from .layout import Item
from .mjcf_inertia import is_heavy, is_possible


@dataclass(frozen=True)
class Row:
    """Bare links on the way to a body: the pose of the current frame in the link before them, and in each of them."""

    placement: Pose = field(default_factory=Pose.identity)
    bodies: tuple[tuple[Body, Pose], ...] = ()

    def beyond(self, X: Pose) -> Row:
        """The row to a frame at X in the current one."""
        return Row(self.placement @ X, tuple((body, X_BC @ X) for body, X_BC in self.bodies))

    def then(self, body: Body) -> Row:
        """The row with one more bare link, whose joint frame is the current frame."""
        return Row(self.placement, (*self.bodies, (body, Pose.identity())))


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
