"""The ground of a contact: that which it states, or a plane that stands in the robot's file."""

from __future__ import annotations

import numpy as np

from dalembert.dynamics.algorithms import neutral, poses
from dalembert.dynamics.collision import Ground, HalfSpace, as_ground
from dalembert.dynamics.collision.ground import plane
from dalembert.errors import DalembertError
from dalembert.model import Body, Model
from dalembert.model.geometry import Plane
from dalembert.spatial import Pose

from .contact import FILE, Contact

SAME = 1e-9  # [m], and of a direction: planes that are one


def ground_of(model: Model, contact: Contact) -> Ground | None:
    """The terrain, the height, or where neither is stated the plane of the file; else a floor at 0. None: no ground."""
    if contact.terrain is not None:
        return as_ground(contact.terrain)
    if contact.ground is None:
        return None
    if contact.ground != FILE:
        return as_ground(float(contact.ground))
    planes = planes_of(model)
    if not planes:
        return as_ground(0.0)
    (_, first), *others = planes.items()
    if not all(_same(first, other) for _, other in others):
        raise DalembertError(
            f"contact: robot {model.name!r} has several planes ({', '.join(map(repr, planes))}), of which one can be "
            "the ground: write Contact(ground=…), or terrain=…, and make boxes of the others"
        )
    return first


def planes_of(model: Model) -> dict[str, HalfSpace]:
    """Planes for collisions that stand in the world, by their names or those of their links."""
    X, planes = poses(model, neutral(model)), {}
    for body in (body for body in model.bodies if not moves(model, body)):
        for part in body.parts:
            for k, geometry in enumerate(part.geometry, 1):
                if geometry.role == "collision" and type(geometry.shape) is Plane:
                    placed = plane(geometry.shape.normal, X[body.index] @ part.placement @ geometry.placement)
                    planes[geometry.name or f"{part.name} #{k}"] = _tidy(placed)
    return planes


def plane_of(model: Model, body: Body, shape: Plane, placement: Pose) -> HalfSpace:
    """A plane that stands in the world, at a placement in a body."""
    return _tidy(plane(shape.normal, poses(model, neutral(model))[body.index] @ placement))


def left_out(model: Model, contact: Contact) -> list[str]:
    """Names of the planes of a file that are not the ground."""
    if contact.pairs == "file":
        return []
    ground = ground_of(model, contact)
    return [name for name, x in planes_of(model).items() if not (isinstance(ground, HalfSpace) and _same(x, ground))]


def _tidy(ground: HalfSpace) -> HalfSpace:
    """A level one is one without rounding errors."""
    is_level = np.abs(np.asarray(ground.normal, float) - [0.0, 0.0, 1.0]).max() < SAME
    level = as_ground(float(ground.offset))
    return level if is_level and isinstance(level, HalfSpace) else ground


def _same(a: HalfSpace, b: HalfSpace) -> bool:
    turned = np.abs(np.asarray(a.normal, float) - np.asarray(b.normal, float)).max()
    return bool(turned < SAME and abs(float(a.offset) - float(b.offset)) < SAME)


def moves(model: Model, body: Body) -> bool:
    """Whether a joint that moves carries a body."""
    return body.joint.nv > 0 or (body.parent >= 0 and moves(model, model.bodies[body.parent]))
