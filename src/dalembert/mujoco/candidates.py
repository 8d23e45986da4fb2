"""Inverse masses of links and freedoms in a robot's first state: MuJoCo's scale for the softness of constraints.

MuJoCo scales the regularisation of a constraint by the diagonal of J M⁻¹ Jᵀ, estimated once for all: for a link the
mean over three directions at its centre of mass, for a freedom the diagonal of M⁻¹, averaged over those of a ball.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.contact.candidates import WORLD, named_points
from dalembert.contact.contact import GROUND, Contact
from dalembert.contact.file_pairs import LEAST_FRICTION, Parameters, Solid, file_pairs, mixed, parameters_of
from dalembert.contact.rows import point_motion
from dalembert.contact.touching import check_names, matches, named_shapes
from dalembert.dynamics.algorithms import mass_matrix, neutral, poses
from dalembert.dynamics.collision import Ground, Hull, as_ground, hull
from dalembert.dynamics.collision.hulls import stated_hull
from dalembert.errors import DalembertError
from dalembert.model import Body, Model, Part
from dalembert.model.geometry import Surface
from dalembert.model.mujoco import HeightMap, Mujoco
from dalembert.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Plane, Shape, Sphere
from dalembert.spatial import Pose
from dalembert.typing import Array

from .convex import POINTS
from .heights import MOST_POINTS, Field
from .points import ContactPoint, in_order, shape_points, terrain_points
from .polygons import CORNERS, MOST_VERTICES


class InverseMasses(NamedTuple):
    """Inverse masses in the first state q (nq,): freedoms (nv,); links: name → (linear [1/kg], angular [1/(kg·m²)])."""

    q: Array
    inverse: Array  # M⁻¹ (nv, nv)
    freedoms: Array
    links: dict[str, tuple[float, float]]

    def along(self, J: Array) -> float:
        """J M⁻¹ Jᵀ of one row (nv,) in the first state."""
        return float(J @ self.inverse @ J)


def mobility(model: Model) -> InverseMasses:
    """The mobility of a model in the state that its file gives."""
    q = reference(model)
    inverse = np.linalg.inv(mass_matrix(model, q)) if model.nv else np.zeros((0, 0))
    freedoms = np.diag(inverse).copy()
    for body in model.independent:
        for begin in range(body.v.start, body.v.stop, 3):
            if body.joint.nv in (3, 6):
                freedoms[begin : begin + 3] = freedoms[begin : begin + 3].mean()
    X = poses(model, q)
    links = {}
    for body in model.bodies:
        for part in body.parts:
            J = point_motion(model, X, q, body.index, X[body.index].point(_centre(part)))
            each = np.einsum("ij,jk,ik->i", J, inverse, J)
            links[part.name] = float(each[3:].mean()), float(each[:3].mean())
    return InverseMasses(q, inverse, freedoms, links)


def reference(model: Model) -> Array:
    """The first state of the file (nq,), or the neutral one."""
    q = neutral(model)
    for body in model.independent:
        stated = model.mujoco.joint(body.joint.name) if model.mujoco else None
        if stated is not None:
            q[body.q] = stated.reference
    return q


def _centre(part: Part) -> Array:
    """The centre of mass of a link (3,), in its body; the origin of one without mass."""
    mass = part.inertia.mass
    return part.placement.point(part.inertia.com if mass else np.zeros(3))


def body_of(model: Model, link: str) -> Body | None:
    """The body that a link or frame is fixed in; None: the world."""
    frame = next((each for each in model.frames if each.name == link), None)
    return None if frame is None or frame.body < 0 else model.bodies[frame.body]


GEOMS = {Box, Sphere, Capsule, Cylinder, Ellipsoid, Cone, Plane, HeightMap}
NORMAL = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class MujocoPatch:
    """The points in which a shape of `first` may touch one of `second`; a, b: both in MuJoCo's order.

    flipped: the shape of `first` is a. linear, angular: inverse masses of both links together [1/kg, 1/(kg·m²)].
    """

    names: tuple[str, ...]
    first: int
    second: int
    a: Shape | Hull | Ground | HeightMap
    placement_a: Pose
    b: Shape | Hull
    placement_b: Pose
    flipped: bool
    grounded: bool
    parameters: Parameters
    linear: float
    angular: float

    @property
    def numbers(self) -> list[float]:
        """Numbers in which it differs from others with the same shapes."""
        parameters, softness = self.parameters, self.parameters.softness
        places = [*self.placement_a.R.ravel(), *self.placement_a.p, *self.placement_b.R.ravel(), *self.placement_b.p]
        laws = [parameters.condim, *parameters.friction, *softness.solref, *softness.solimp]
        laws += [*parameters.friction_solref, parameters.margin, parameters.gap, self.linear, self.angular]
        return [self.first, self.second, self.flipped, self.grounded, len(self.names), *places, *laws]

    def count(self, X: Sequence[Pose]) -> int:
        """Return the number of its points, which may take long to compute."""
        if isinstance(self.a, HeightMap):
            return min(Field(self.a).most_prisms(self.b, self.parameters.reach), MOST_POINTS)
        if isinstance(self.a, Plane) and isinstance(self.b, Hull):
            return CORNERS
        known = POINTS.get((type(self.a), type(self.b)))
        return len(self.points(X)) if known is None else known

    def points(self, X: Sequence[Pose]) -> list[ContactPoint]:
        """One for each name, with normals from the second body to the first; X: the poses of all bodies.

        Those on height fields are always gathered (`gathering`).
        """
        one, two = (self.first, self.second) if self.flipped else (self.second, self.first)
        X_a, X_b = (
            placement if body == WORLD else X[body] @ placement
            for body, placement in ((one, self.placement_a), (two, self.placement_b))
        )
        if isinstance(self.a, Ground):
            return terrain_points(self.a, self.b, X_b)
        points = shape_points(self.a, X_a, self.b, X_b, self.parameters.reach)
        return [point.flipped() for point in points] if self.flipped else points


def mujoco_candidates(model: Model, contact: Contact) -> tuple[MujocoPatch, ...]:
    """Return all candidates; none if the file switches contacts off."""
    mujoco = model.mujoco or Mujoco()
    shapes = [
        Solid(x.name, x.link, x.body, x.geometry.shape, x.placement, x.geometry.surface or Surface())
        for x in named_shapes(model)
    ]
    if contact.terrain is None:  # a terrain replaces the file's height fields
        shapes += [Solid(x.name, x.link, None, x, x.placement, x.surface) for x in mujoco.height_maps]
    check_names(contact, shapes)
    if not mujoco.option.contacts:
        return ()
    weights = mobility(model)
    shapes += _floor(model, contact)
    patches = [
        _patch(model, weights, one, two, _overridden(contact, parameters))
        for one, two, parameters in file_pairs(model, mujoco, shapes)
        if _wanted(model, contact, one, two)
    ]
    if contact.terrain is not None:
        patches += _on_ground(model, mujoco, contact, weights, shapes, as_ground(contact.terrain))
    if not patches:
        raise DalembertError(
            f"contact: nothing of robot {model.name!r} may touch anything: it needs collision shapes whose contype and "
            "conaffinity meet, and a plane in the file or ground=…"
        )
    X = poses(model, weights.q)
    return tuple(named_points(patch, patch.count(X)) for patch in patches)


def _floor(model: Model, contact: Contact) -> list[Solid]:
    """A level floor, if one is asked for; robots that are not from MJCF have one at 0, as in other models."""
    silent = contact.ground is None and (model.mujoco is not None or not contact.mentions_ground)
    if contact.terrain is not None or silent:
        return []
    placement = Pose(np.eye(3), np.array([0.0, 0.0, float(contact.ground or 0.0)]))
    return [Solid(GROUND, GROUND, None, Plane(NORMAL), placement, Surface())]


def _overridden(contact: Contact, parameters: Parameters) -> Parameters:
    """Return parameters with the numbers that the contact states for all."""
    slide, spin, roll = (_for_all(contact, name) for name in ("friction", "torsion", "rolling"))
    given = zip((slide, slide, spin, roll, roll), parameters.friction, strict=True)
    return replace(parameters, friction=tuple(y if x is None else max(x, LEAST_FRICTION) for x, y in given))


def _for_all(contact: Contact, option: str) -> float | None:
    value = getattr(contact, option)
    if isinstance(value, Mapping):
        raise DalembertError(
            f"Contact: {option} is a table, but model='mujoco' takes the parameters of the robot's shapes: give one "
            "number for all, or none"
        )
    return None if value is None else float(value)


def _wanted(model: Model, contact: Contact, one: Solid, two: Solid) -> bool:
    """Condition that the contact asks for this pair of the file."""
    moving = [shape for shape in (one, two) if shape.moves(model)]
    if contact.listed_pairs:
        return any(
            matches(pair, one, two) or (GROUND in pair and len(moving) == 1 and bool(moving[0].all_names & set(pair)))
            for pair in contact.listed_pairs
        )
    return contact.pairs != "ground" or len(moving) == 1


def _convex(shape: Any) -> Any:
    """The shape; of a mesh its hull, as MuJoCo has it where the file is MuJoCo's."""
    if type(shape) in GEOMS or isinstance(shape, Ground):
        return shape
    if not shape.is_mesh:
        raise DalembertError(f"contact: MuJoCo has no {shape.kind} among its geoms: write Contact(model='rigid')")
    return hull(shape, MOST_VERTICES) if shape.hull is None else stated_hull(shape.hull)


def _patch(model: Model, weights: InverseMasses, one: Solid, two: Solid, parameters: Parameters) -> MujocoPatch:
    a, b = (one, two) if in_order(one.shape, two.shape) else (two, one)
    flipped = not b.moves(model)  # the body that moves is the first one
    first, second = (a, b) if flipped else (b, a)
    grounded = isinstance(second.shape, Plane | HeightMap | Ground) and not second.moves(model)
    linear, angular = (sum(weights.links[x.link][k] for x in (a, b) if x.body is not None) for k in (0, 1))
    return MujocoPatch(
        (first.name if second.name == GROUND else f"{first.name} on {second.name}",),
        WORLD if first.body is None else first.body.index,
        WORLD if second.body is None else second.body.index,
        _convex(a.shape),
        a.placement,
        _convex(b.shape),
        b.placement,
        flipped,
        grounded,
        parameters,
        linear,
        angular,
    )


def _on_ground(
    model: Model, mujoco: Mujoco, contact: Contact, weights: InverseMasses, shapes: list[Solid], ground: Ground
) -> list[MujocoPatch]:
    """Patches of moving shapes, or of those that the pairs name, on a terrain with MuJoCo's default parameters."""
    terrain = Solid(GROUND, GROUND, None, ground, Pose.identity(), Surface())
    named = {each for pair in contact.listed_pairs if GROUND in pair for each in pair}
    patches = []
    for shape in shapes:
        if type(shape.shape) is Plane or not shape.moves(model) or not terrain.surface.meets(shape.surface):
            continue
        if not named or shape.all_names & named:
            parameters = _overridden(contact, mixed(parameters_of(terrain), parameters_of(shape)).under(mujoco.option))
            patches.append(_patch(model, weights, terrain, shape, parameters))
    return patches
