"""Rays against the collision shapes of a robot and the ground of a contact: what a distance sensor measures."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import Call, Recent, batch_shape, code, real_array
from dalembert.compiler.interop import is_foreign
from dalembert.dynamics.algorithms import poses
from dalembert.dynamics.collision import Ground, HalfSpace, HeightField
from dalembert.dynamics.collision.groups import pose_numbers, pose_of
from dalembert.dynamics.collision.pairs import Solid, solids
from dalembert.dynamics.collision.rays import NEVER, first_hit
from dalembert.dynamics.collision.terrain_rays import ground_hit
from dalembert.errors import DalembertError
from dalembert.math import lookup, sqrt, where
from dalembert.model import Model
from dalembert.quantities.guards import function_call
from dalembert.spatial.vectors import dot

from .contact import GROUND, Contact
from .planes import ground_of

LEVEL = np.array([0.0, 0.0, 1.0, -NEVER])  # normal and offset of a ground that nothing reaches


class Hits(NamedTuple):
    """The first surface that each ray meets.

    distance (…,) from the origin [m], inf where it meets nothing; point (…, 3) [m] and normal (…, 3), out of the
    surface, in the world, NaN there; body (…,): its number among `names`, −1 there. names: of the bodies, and "ground".
    """

    distance: Any
    point: Any
    normal: Any
    body: Any
    names: tuple[str, ...]


def raycast(model: Model, q: Any, origins: Any, directions: Any, contact: Any, **keywords: Any) -> Hits:
    """See `Robot.raycast`."""
    shapes, ground = solids(model), _ground(model, contact)
    if not shapes and ground is None:
        raise DalembertError(
            f"raycast: robot {model.name!r} has no collision shapes: load a file that has them, add them with "
            "ModelBuilder.add_geometry(…, role='collision'), or pass contact=… with a ground"
        )
    if not any(map(is_foreign, (q, origins, directions))):
        named = {"q": q, "origins": origins, "directions": directions}
        q, origins, directions = (real_array(f"raycast: {name}", x, "expected numbers") for name, x in named.items())
        _check(model, q, origins, directions)
    key = code(model, shapes, None if isinstance(ground, HalfSpace) else ground)
    placing, casting = _recent.get(key, lambda: _calls(model, shapes, ground))
    plane = np.array([*ground.normal, ground.offset]) if isinstance(ground, HalfSpace) else LEVEL
    placed = placing(q, **keywords)
    plane = plane.astype(placed.dtype) if isinstance(placed, np.ndarray) else plane
    found = casting(placed, plane, origins, directions, **keywords)
    distance, point, normal, number = (found[..., 0], found[..., 1:4], found[..., 4:7], found[..., 7])
    if isinstance(found, np.ndarray):
        distance, number = distance[()], np.where(np.isnan(number), -1.0, number).astype(int)[()]
    return Hits(distance, point, normal, number, (*(body.name for body in model.bodies), GROUND))


def _ground(model: Model, contact: Any) -> Ground | None:
    """The ground of a contact; None without one."""
    if contact is None:
        return None
    if not isinstance(contact, Contact):
        raise DalembertError(f"raycast: contact is {contact!r}, expected a dalembert.Contact")
    ground = ground_of(model, contact)
    if ground is not None and not isinstance(ground, (HalfSpace, HeightField)):
        raise DalembertError(
            "raycast: the terrain is a function, whose meetings with a ray cannot be counted: sample it on a "
            "dalembert.collision.HeightField(xs, ys, z)"
        )
    return ground


def _check(model: Model, q: np.ndarray, origins: np.ndarray, directions: np.ndarray) -> None:
    """Refuse shapes that do not fit, and directions of no length."""
    for name, x, size in (("q", q, model.nq), ("origins", origins, 3), ("directions", directions, 3)):
        if not x.ndim or x.shape[-1] != size:
            raise DalembertError(f"raycast: {name} has shape {x.shape}, expected (…, {size})")
    batch_shape("raycast", {"q": q.shape[:-1], "origins": origins.shape[:-1], "directions": directions.shape[:-1]})
    nowhere = np.argwhere(~directions.any(axis=-1))
    if len(nowhere):
        place = f"[{', '.join(map(str, nowhere[0]))}]" if directions.ndim > 1 else ""
        raise DalembertError(f"raycast: directions{place} is zero, expected a direction, of any length but 0")


def _calls(model: Model, shapes: tuple[Solid, ...], ground: Ground | None) -> tuple[Call, Call]:
    """The poses of all bodies with shapes, and the first hit of a ray on them."""
    carriers = sorted({solid.body for solid in shapes}) or [0]

    def place(q: np.ndarray) -> np.ndarray:
        X = poses(model, q)
        return np.concatenate([pose_numbers(X[body]) for body in carriers])

    def cast(placed: np.ndarray, plane: np.ndarray, origins: np.ndarray, directions: np.ndarray) -> np.ndarray:
        rows = placed.reshape(len(carriers), 12)
        X: Any = {body: pose_of(row) for body, row in zip(carriers, rows, strict=True)}
        d = directions / sqrt(dot(directions, directions))
        hit = first_hit(shapes, X, origins, d)
        if ground is not None:
            under = ground if isinstance(ground, HeightField) else HalfSpace(plane[:3], plane[3])
            hit = hit.first(ground_hit(under, origins, d, float(len(shapes))))
        meets = hit.length < NEVER
        owners = [-1.0, *(float(solid.body) for solid in shapes), float(len(model.bodies))]
        point = origins + where(meets, hit.length, 0.0) * d
        known = [where(meets, x, np.nan) for x in (*point, *hit.normal)]
        return np.array([where(meets, hit.length, np.inf), *known, lookup(owners, hit.number + 1.0)])

    placing = function_call(model, "raycast", {"q": model.nq}, place)
    sizes = {"bodies": 12 * len(carriers), "ground": 4, "origins": 3, "directions": 3}
    return placing, function_call(model, "raycast", sizes, cast)


_recent = Recent(16)
