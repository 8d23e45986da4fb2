"""How far links are from each other: distances, nearest points, and their rates."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Unpack

import numpy as np

from dalembert.compiler.execute import real_array
from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.kinematics import chain
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.spatial.vectors import cross, dot

from .kinds import Configuration, Kind, Request
from .quantity import Keywords, quantity

if TYPE_CHECKING:  # the room of distances is loaded when they are asked for
    from dalembert.dynamics.collision.pairs import LinkPair
    from dalembert.dynamics.collision.witness import Witness
    from dalembert.robot import Robot


class Witnesses(NamedTuple):
    """Nearest points of pairs of links, in the world.

    distance (…, n) [m], negative where they overlap; a, b (…, n, 3) [m]: the points on the first and the second link;
    normal (…, n, 3): unit vectors from the second to the first, with a − b = distance · normal.
    """

    distance: np.ndarray
    a: np.ndarray
    b: np.ndarray
    normal: np.ndarray


class PairsOfLinks(Kind):
    """Which links: None for all that may touch, names, or pairs of names. The algorithm sees their shapes."""

    def split(self, request: Request, name: str, value: Any) -> tuple[Hashable, list[Any]]:
        return chosen_pairs(request.model, value), []


Pairs = Annotated[Sequence[str | tuple[str, str]] | str | None, PairsOfLinks()]


def chosen_pairs(model: Model, pairs: Any) -> tuple[LinkPair, ...]:
    """The pairs that a caller names; see `collision_pairs`."""
    from dalembert.dynamics.collision.pairs import LinkPair, body_pairs, link_pair

    if isinstance(pairs, tuple) and pairs and all(isinstance(pair, LinkPair) for pair in pairs):
        return pairs
    if reason := _shapeless(model):
        raise DalembertError(f"distance: {reason}")
    if pairs is None or pairs == "all":
        return body_pairs(model)
    entries = [pairs] if isinstance(pairs, str) else list(pairs)
    if len(entries) == 2 and not isinstance(pairs, list) and all(isinstance(entry, str) for entry in entries):
        entries = [tuple(entries)]  # one pair, written without brackets around it
    chosen: dict[tuple[str, str], LinkPair] = {}
    for entry in entries:
        if isinstance(entry, str):
            body = model.bodies[model.frame(entry).body].name
            of_one = [pair for pair in body_pairs(model) if body in (pair.a, pair.b)]
            chosen |= {(pair.a, pair.b): pair for pair in of_one}
        elif isinstance(entry, Sequence) and len(entry) == 2 and all(isinstance(name, str) for name in entry):
            chosen[entry[0], entry[1]] = link_pair(model, *entry)
        else:
            raise DalembertError(f"distance: {entry!r} in pairs, expected the name of a link or two of them")
    return tuple(chosen.values())


def _shapeless(model: Model) -> str | None:
    """Why a robot without collision shapes has no distances."""
    from dalembert.dynamics.collision.pairs import solids

    if solids(model):
        return None
    return (
        f"robot {model.name!r} has no collision shapes: load a file that has them, or add them with "
        "ModelBuilder.add_geometry(…, role='collision')"
    )


def _nearest(model: Model, q: np.ndarray, pairs: Sequence[LinkPair]) -> list[Witness]:
    """For each pair of links, the witness of their nearest shapes."""
    from dalembert.dynamics.collision.groups import pair_distances
    from dalembert.dynamics.collision.witness import nearer

    every = [both for pair in pairs for both in pair.solids]
    rows = iter(pair_distances(every, algorithms.poses(model, q)))
    return [reduce(nearer, islice(rows, len(pair.solids))) for pair in pairs]


def _shaped(pairs: Any) -> tuple[LinkPair, ...]:
    """The caller's pairs as the parameter's kind converts them."""
    return pairs


@quantity("pairs", refuses=_shapeless)
def distance(robot: Robot, q: Configuration, pairs: Pairs = None, **keywords: Unpack[Keywords]) -> np.ndarray:
    """Signed distances (…, n) of pairs of links, of their collision shapes [m]; negative where they overlap.

    pairs: (link, link) tuples; the name of a link stands for all pairs that it takes part in; None for all that may
    touch (see `collision_pairs`). The name of a body stands for it with all links fixed to it.
    """
    return np.array([w.distance for w in _nearest(robot.model, q, _shaped(pairs))])


@quantity(
    fields={"distance": ("pairs",), "a": ("pairs", 3), "b": ("pairs", 3), "normal": ("pairs", 3)}, refuses=_shapeless
)
def witnesses(robot: Robot, q: Configuration, pairs: Pairs = None, **keywords: Unpack[Keywords]) -> Witnesses:
    """Distances, nearest points and normals of pairs of links; see `Witnesses` and `distance`."""
    rows = _nearest(robot.model, q, _shaped(pairs))
    distances = np.array([w.distance for w in rows])
    return Witnesses(distances, *(np.array([w[k] for w in rows]).reshape(-1, 3) for k in (1, 2, 3)))


@quantity("pairs", "nv", refuses=_shapeless)
def distance_jacobian(robot: Robot, q: Configuration, pairs: Pairs = None, **keywords: Unpack[Keywords]) -> np.ndarray:
    """∂distance/∂q (…, n, nv) in tangent coordinates: the rate of each distance is its row times v [m/s].

    It is the speed of the nearest points along the normal. Where two pairs of points are equally near it is that of one
    of them.
    """
    model = robot.model
    X = algorithms.poses(model, q)
    chosen = _shaped(pairs)
    rows = np.zeros((len(chosen), model.nv), q.dtype)
    for row, pair, w in zip(rows, chosen, _nearest(model, q, chosen), strict=True):
        x, y = pair.solids[0]  # of whatever shapes: these are the bodies
        wrench = np.concatenate([cross(w.a, w.normal), w.normal])  # of a unit force along the normal, about the origin
        carriers = [{body.index for body in chain(model, solid.body)} for solid in (x, y)]
        for sign, moved in ((1.0, carriers[0] - carriers[1]), (-1.0, carriers[1] - carriers[0])):
            for i in sorted(moved):
                body = model.bodies[i]
                local = X[i].inverse_force(wrench)
                for k, S_k in enumerate(body.joint.subspace(q[body.q]).T, body.v.start):
                    row[k] = row[k] + sign * dot(S_k, local)
    return rows


def near_pairs(robot: Robot, q: Any, margin: float, pairs: Any = None) -> tuple[tuple[str, str], ...]:
    """The pairs that come within a margin [m] in any of the states q (…, nq), or may: by boxes around shapes.

    Computed outside of compiled code, by sweep and prune; pass the result to `distance`. pairs: as there.
    """
    from dalembert.dynamics.collision.broad import near_pairs as near_link_pairs

    margin = float(margin)
    if not np.isfinite(margin) or margin < 0.0:
        raise DalembertError(f"near_pairs: margin is {margin}, expected a finite number not below 0 [m]")
    expected = f"expected (…, {robot.nq}) for robot {robot.name!r}"
    states = real_array("near_pairs: q", q, expected).astype(float)
    if not states.ndim or states.shape[-1] != robot.nq:
        raise DalembertError(f"near_pairs: q has shape {states.shape}, {expected}")
    states = states.reshape(math.prod(states.shape[:-1]), robot.nq)
    X = robot.poses(states)[:, : len(robot.model.bodies)]  # a body's own frame comes first
    near = near_link_pairs(chosen_pairs(robot.model, pairs), X[..., :3, :3], X[..., :3, 3], margin)
    return tuple((pair.a, pair.b) for pair in near)


def collision_pairs(robot: Robot, pairs: Any = None) -> tuple[tuple[str, str], ...]:
    """The pairs of links that `distance`, `witnesses` and `distance_jacobian` are of, in their order.

    None: all bodies with collision shapes that may touch. Left out are neighbours, which a joint or a closure holds
    together (also through bodies without shapes), pairs that the robot's file excludes, and shapes on layers that do
    not meet (MuJoCo's contype and conaffinity). Otherwise as `distance` takes them.
    """
    return tuple((pair.a, pair.b) for pair in chosen_pairs(robot.model, pairs))
