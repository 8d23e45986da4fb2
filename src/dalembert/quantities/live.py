"""Live parameters: constants of the model that become inputs of a quantity, group by group.

A group is read from a model as a flat array, and put into a model as numbers or traced scalars. Fields of joints are
one number per freedom, in the order of the joints; a joint that follows another one has its own, in its own coordinate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.model import Body, Model
from dalembert.model.geometry import Geometry
from dalembert.shapes.sizes import SIZES, resized, sizes_of
from dalembert.spatial import Inertia, Pose, so3

FIELDS = ("friction", "damping", "armature", "stiffness")  # of joints, one number per freedom


class Group(NamedTuple):
    """values(model): the numbers (n,) that the model has; put(model, x): the model with others in their place."""

    values: Callable[[Model], np.ndarray]
    put: Callable[[Model, np.ndarray], Model]


def _inertia(model: Model) -> np.ndarray:
    return np.concatenate([body.inertia.parameters() for body in model.bodies])


def _put_inertia(model: Model, x: np.ndarray) -> Model:
    rows = x.reshape(-1, 10)
    return replace(
        model,
        bodies=tuple(replace(b, inertia=Inertia.from_parameters(pi)) for b, pi in zip(model.bodies, rows, strict=True)),
    )


def _field(field: str, model: Model) -> np.ndarray:
    return np.concatenate([getattr(body.joint.uncoupled, field) for body in model.bodies])


def _put_field(field: str, model: Model, x: np.ndarray) -> Model:
    ends = np.cumsum([body.joint.nv for body in model.bodies])
    parts = np.split(x, ends[:-1])
    joints = [b.joint.with_values(**{field: part}) for b, part in zip(model.bodies, parts, strict=True)]
    return replace(model, bodies=tuple(replace(b, joint=j) for b, j in zip(model.bodies, joints, strict=True)))


def _put_placement(model: Model, x: np.ndarray) -> Model:
    moves = [Pose(so3.exp(row[3:]), row[:3]) for row in x.reshape(-1, 6)]
    return replace(
        model,
        bodies=tuple(replace(b, placement=b.placement @ X) for b, X in zip(model.bodies, moves, strict=True)),
    )


def live_shapes(model: Model) -> list[tuple[Body, Geometry]]:
    """The collision shapes that have numbers, in the order of bodies: no meshes, planes and height fields."""
    return [
        (body, geometry)
        for body in model.bodies
        for part in body.parts
        for geometry in part.geometry
        if geometry.role == "collision" and type(geometry.shape) in SIZES
    ]


def _shape_sizes(model: Model) -> np.ndarray:
    return np.array([float(x) for _, geometry in live_shapes(model) for x in sizes_of(geometry.shape)])


def _shapes_with(model: Model, name: str, x: np.ndarray) -> list[Geometry]:
    """`live_shapes` with the numbers x of a group of `SHAPES`."""
    shapes = [geometry for _, geometry in live_shapes(model)]
    if name == "shape_placement":
        moves = [Pose(so3.exp(row[3:]), row[:3]) for row in x.reshape(-1, 6)]
        return [replace(g, placement=g.placement @ move) for g, move in zip(shapes, moves, strict=True)]
    counts = [len(sizes_of(geometry.shape)) for geometry in shapes]
    parts = np.split(x, np.cumsum(counts)[:-1]) if counts else []
    return [replace(g, shape=resized(g.shape, part)) for g, part in zip(shapes, parts, strict=True)]


def _put_shapes(name: str, model: Model, x: np.ndarray) -> Model:
    new = iter(_shapes_with(model, name, x))
    chosen = {id(geometry) for _, geometry in live_shapes(model)}
    bodies = []
    for body in model.bodies:
        parts = [
            replace(part, geometry=tuple(next(new) if id(g) in chosen else g for g in part.geometry))
            for part in body.parts
        ]
        bodies.append(replace(body, parts=tuple(parts)))
    return replace(model, bodies=tuple(bodies))


GROUPS: dict[str, Group] = {
    "inertia": Group(_inertia, _put_inertia),
    **{field: Group(partial(_field, field), partial(_put_field, field)) for field in FIELDS},
    "placement": Group(lambda model: np.zeros(6 * len(model.bodies)), _put_placement),
    "shape_size": Group(_shape_sizes, partial(_put_shapes, "shape_size")),
    "shape_placement": Group(
        lambda model: np.zeros(6 * len(live_shapes(model))), partial(_put_shapes, "shape_placement")
    ),
    "gravity": Group(lambda model: np.array(model.gravity), lambda model, x: replace(model, gravity=x)),
}


SHAPES = ("shape_size", "shape_placement")  # groups that only what touches depends on
FACTOR = 2.0  # sizes by it larger or smaller than the file's are refused: bounds of shapes hold within
# Quantities that divide by inertia: with parameters that no robot has they would describe no motion.
DIVIDING = {
    "forward_dynamics", "forward_dynamics_derivatives", "forward_dynamics_jvp", "forward_dynamics_vjp",
    "forward_dynamics_second", "inverse_mass_matrix", "hybrid_dynamics", "operational_inertia",
    "operational_dynamics", "null_space",
}  # fmt: skip
ROUNDING = 1e-5  # by which a moment may fall short of that of a point mass: point masses in single precision pass


def conditions(model: Model, named: Mapping[str, np.ndarray]) -> list[tuple[str, Any]]:
    """Conditions on live parameters: (the violation in words, whether the condition holds).

    named: group → numbers (…, n) or traced scalars (n,).
    """
    failures: list[tuple[str, Any]] = []
    for name, x in named.items():
        if name == "inertia":
            for i, body in enumerate(model.bodies):
                m, *h = (x[..., 10 * i + k][()] for k in range(4))
                failures.append((f"the mass of body {body.name!r} is negative", m >= 0.0))
                for k, axis in enumerate("xyz"):
                    moment = x[..., 10 * i + 4 + k][()]
                    across = sum(h[j] * h[j] for j in range(3) if j != k)
                    text = f"the moment of inertia of body {body.name!r} about {axis} is negative"
                    failures.append((text, moment >= 0.0))
                    at_com = m * moment * (1.0 + ROUNDING) >= across
                    failures.append((f"{text}, taken at its centre of mass", at_com))
        elif name in SHAPES:
            failures += _shape_conditions(model, name, x)
        elif name in FIELDS:
            start = 0
            for body in model.bodies:
                for k in range(body.joint.nv):
                    failures.append((f"{name} of joint {body.joint.name!r} is negative", x[..., start + k][()] >= 0.0))
                start += body.joint.nv
    return failures


def _shape_conditions(model: Model, name: str, x: np.ndarray) -> list[tuple[str, Any]]:
    """Sizes are between half and twice those of the file, displacements below half of the shape's reach."""
    failures, shapes = list[tuple[str, Any]](), live_shapes(model)
    labels = [geometry.name or f"a shape of {body.name}" for body, geometry in shapes]
    if name == "shape_size":
        owners = [label for label, (_, g) in zip(labels, shapes, strict=True) for _ in sizes_of(g.shape)]
        for k, (label, size) in enumerate(zip(owners, _shape_sizes(model), strict=True)):
            text = f"a size of {label!r} is not between half and twice that of the file, {size:g} m (rebuild the robot)"
            failures.append((text, (x[..., k][()] * FACTOR >= size) & (x[..., k][()] <= FACTOR * size)))
        return failures
    for k, (label, (_, g)) in enumerate(zip(labels, shapes, strict=True)):
        most = (float(np.linalg.norm(g.placement.p)) + float(g.shape.extent)) / FACTOR
        square = sum(x[..., 6 * k + i][()] ** 2 for i in range(3))
        text = f"the displacement of {label!r} is above {most:g} m, half of the shape's reach (rebuild the robot)"
        failures.append((text, square <= most * most))
    return failures


def with_conditions(
    model: Model, sizes: Iterable[str], live: Iterable[str], guards: Callable[..., list[Any]]
) -> Callable[..., list[Any]]:
    """Guards, and beside them the conditions on some live groups among the inputs."""

    def more(*inputs: np.ndarray) -> list[Any]:
        named = dict(zip(sizes, inputs, strict=True))
        return guards(*inputs) + [holds for _, holds in conditions(model, {name: named[name] for name in live})]

    return more


def check_live(model: Model, where: str, named: Mapping[str, np.ndarray]) -> None:
    """Raise the error for the first condition that does not hold."""
    for wrong, holds in conditions(model, named):
        if not np.all(holds):
            state = f" in state {int(np.argmin(holds.ravel()))}" if np.ndim(holds) else ""
            cure = "pass values that a robot can have, or check=False"
            raise DalembertError(f"{where}: {wrong}{state}: {cure}")


def group(name: str) -> Group:
    """The group of that name."""
    if not isinstance(name, str) or name not in GROUPS:
        raise unknown("live parameters", str(name), GROUPS, "live")
    return GROUPS[name]


def checked(names: str | Iterable[str]) -> tuple[str, ...]:
    """The names of live groups, each known and stated once."""
    live = (names,) if isinstance(names, str) else tuple(names)
    for name in live:
        group(name)
    if len(set(live)) < len(live):
        raise DalembertError(f"live: {', '.join(live)}: a group is named twice")
    return live
