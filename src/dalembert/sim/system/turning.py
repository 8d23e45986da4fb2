"""Bodies that turn so far in a step, beside what they may touch, that the step does not follow them.

Contacts are where shapes are in the middle of a step, and move straight ahead from there. A cube that turns by radians
until the next one has other corners there, beyond a thin wall even, and no contact says so: so this is counted. Balls
keep their shape whatever they do, and what is round about an axis, as a wheel or a coin, where it turns about that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.contact import Patch
from dalembert.contact.bounds import bounded
from dalembert.contact.gathering import Motions
from dalembert.contact.scene import is_loose
from dalembert.contact.solver.cones import TINY
from dalembert.dynamics.collision import HalfSpace
from dalembert.dynamics.collision.groups import pose_numbers, pose_of
from dalembert.math import abs as absolute
from dalembert.math import branch, logical_and, logical_or, maximum, minimum, sqrt, visit, where
from dalembert.math import map as mapped
from dalembert.model import Body, Model
from dalembert.spatial import Pose, cross
from dalembert.spatial.vectors import dot

FOLLOWED = 0.5  # [rad]: how far what touches may turn in a step
SWINGS = 1.0  # thicknesses of what it may touch: how far the ends of a loose body may swing in a step
SAFE = 0.25  # [rad]: for a step that is to follow what turned too far: it then has more impacts, and may turn faster
ROUND = 1e-2  # of its radius: the unevenness of a ball
WOBBLE = 1e-2  # of the spin of a round body: a part of it that is not about its axis
COAXIAL = 1e-6  # of a direction, or of the size of a body: an axis that is another one


class Turned(NamedTuple):
    """Bodies that turned too far in a step: error of velocity [m/s], largest angle [rad], 1 + the body's number.

    All are 0 where nothing did.
    """

    missed: Any
    angle: Any
    body: Any

    def worse(self, other: Turned) -> Turned:
        """The one with the larger angle, with the larger of both errors."""
        further = other.angle > self.angle
        return Turned(
            maximum(self.missed, other.missed),
            where(further, other.angle, self.angle),
            where(further, other.body, self.body),
        )


STILL = Turned(0.0, 0.0, 0.0)


class Turning:
    """Bodies, each with what turning does to its shapes.

    centre (n, 3): in the body, about which it turns; radius (n,): of a ball about it that holds all shapes [m]; axis
    (n, 3): in the body, about which it may turn and keep its shape, 0: none; uneven (n,): 1, or 0 for balls; loose
    (n,): 1, or 0 for links.
    """

    def __init__(self, model: Model, bodies: Sequence[Body], patches: Sequence[Patch]) -> None:
        shapes = _shapes(patches)
        facts = [_body_facts(model, body, shapes.get(body.index, [])) for body in bodies]
        names = "centre", "radius", "axis", "uneven", "loose"
        self.facts = {name: np.array(x) for name, x in zip(names, zip(*facts, strict=True), strict=True)}
        reach = dict(zip((b.index for b in bodies), self.facts["radius"] * self.facts["loose"], strict=True))
        sides = [(patch.thickness, reach.get(body, 0.0)) for patch in patches for body, _, _ in patch.sides]
        self.followed = float(min([FOLLOWED, *(SWINGS * thin / r for thin, r in sides if r > 0.0)]))

    def most(self, h: Any, spins: np.ndarray) -> Any:
        """A bound for the angle by which shapes of the first n bodies turn in a step [rad]; spins (n, 3) [rad/s]."""
        uneven = self.facts["uneven"][: len(spins)]
        if not uneven.any():
            return 0.0
        items = {"spin": spins, "uneven": uneven}
        squares = mapped(lambda spin, uneven: {"square": uneven * dot(spin, spin)}, items)["square"]
        return h * sqrt(reduce(maximum, squares) + TINY)

    def rows(self, poses: np.ndarray, spins: np.ndarray, velocities: np.ndarray) -> np.ndarray:
        """(n, 11) of each body: the part of its spin that changes shapes [rad/s], radius, centre, its velocity, and
        whether it is loose.

        poses (n, 12), spins and velocities of the centres (n, 3) in the world. Where a loose body wobbles about its
        axis, all of the spin counts: how it wobbles is not followed either.
        """

        def one(
            X: Any, spin: Any, velocity: Any, centre: Any, radius: Any, axis: Any, uneven: Any, loose: Any
        ) -> dict[str, Any]:
            pose = pose_of(X)
            along = pose.R @ axis
            across = spin - dot(along, spin) * along
            wobbles = loose * dot(across, across) > WOBBLE * WOBBLE * dot(spin, spin)
            turns = uneven * where(wobbles, spin, across)
            return {"rows": np.array([*turns, radius, *pose.point(centre), *velocity, loose])}

        return mapped(one, {"X": poses, "spin": spins, "velocity": velocities} | self.facts)["rows"]


class Nearby(NamedTuple):
    """k contacts: numbers of both bodies (k, 2), −1: what is fixed; normals (k, 3); places (k, 3), in the middle of the
    gaps (k,) [m]; pushes (k,): impulses along the normals; thin (k,): thicknesses of the thinner bodies [m].
    """

    bodies: np.ndarray
    normal: np.ndarray
    place: np.ndarray
    gap: np.ndarray
    push: np.ndarray
    thin: np.ndarray


def turned_too_far(h: Any, table: np.ndarray, contacts: Nearby, count: Any = None) -> Turned:
    """The worst of the bodies that turn, beside what is within their reach; table: `Turning.rows` after the step."""

    def one(
        rows: Any, missed: Any, angle: Any, body: Any, both: Any, n: Any, place: Any, gap: Any, push: Any, thin: Any
    ) -> dict[str, Any]:
        a, b = rows
        across = cross(a[:3] - b[:3], n)
        square = h * h * dot(across, across)
        worst = Turned(missed, angle, body)
        for row, sign, number in ((a, 1.0, both[0]), (b, -1.0, both[1])):
            height = sign * dot(n, row[4:7] - place) + 0.5 * gap  # of the centre above what the body may touch
            lowest = minimum(where(push > 0.0, height - gap, height), height + h * sign * dot(n, row[7:10]))
            swings = row[10] * square * row[3] * row[3] > (SWINGS * thin) * (SWINGS * thin)
            beyond = logical_or(square > FOLLOWED * FOLLOWED, swings)
            far = logical_and(beyond, logical_and(lowest < row[3], dot(row[:3], row[:3]) > 0.0))
            here = (row[3] - lowest) / h, sqrt(square + TINY), number + 1.0
            worst = worst.worse(Turned(*(where(far, x, 0.0) for x in here)))
        return worst._asdict()

    end = visit(one, contacts._asdict(), table, contacts.bodies, carry=STILL._asdict(), count=count)
    return Turned(*(end[name] for name in Turned._fields))


def may_turn_into(patch: Patch) -> bool:
    """Whether a shape may be elsewhere than its points go, when it turns: not a ball on level or sloping ground."""
    return not (patch.shape.symmetry == "all" and isinstance(patch.ground, HalfSpace))


def turning_rows(
    turning: Turning,
    links: Sequence[int],
    X: Sequence[Pose],
    motions: Motions,
    v: np.ndarray,
    loose: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """`Turning.rows` of loose bodies, then of links, by number, at poses X with velocities v (nv,) of joints.

    loose: poses (n, 12) of loose bodies, and velocities (n, 6) of their centres of mass, then angular ones.
    """
    twists, placed = motions.twists(v), [X[k] for k in links]
    n = 0 if loose is None else len(loose[0])
    centres = [x.point(c) for x, c in zip(placed, turning.facts["centre"][n:], strict=True)]
    at_centres = zip(links, centres, strict=True)
    velocities = [twists[k][3:] + cross(twists[k][:3], c - motions.reference) for k, c in at_centres]
    rows = [[*pose_numbers(x), *twists[k][:3], *u] for k, x, u in zip(links, placed, velocities, strict=True)]
    every = np.reshape(rows, (-1, 18))
    if loose is not None:
        poses, moves = loose
        every = np.concatenate([np.concatenate([poses, moves[:, 3:], moves[:, :3]], axis=1), every])
    return turning.rows(every[:, :12], every[:, 12:15], every[:, 15:])


def where_fast(angle: Any, followed: float, then: Callable[[], Turned]) -> Turned:
    """Find what turns with `then`, where something may turn by more than is followed: by at most `angle` [rad]."""
    if isinstance(angle, float) and angle <= followed:
        return STILL
    return Turned(**branch(angle > followed, lambda: then()._asdict(), STILL._asdict()))


def most_turned(h: Any, v: np.ndarray, model: Model) -> Any:
    """A bound for the angle by which a body of a robot turns in a step at v (nv,) [rad]."""
    angle: Any = 0.0
    for body in model.bodies:
        for k in range(body.joint.nv):
            if _turns(body, k):
                angle = angle + absolute(v[body.v.start + k])
    return h * angle


def _turns(body: Body, k: int) -> bool:
    """Whether a freedom of a joint turns what it carries."""
    joint = body.joint
    return bool(np.any(joint.subspace(joint.neutral())[:3, k]))


def _shapes(patches: Sequence[Patch]) -> dict[int, list[tuple[Any, Pose]]]:
    """Shapes that may touch, with their placements, by the numbers of bodies."""
    shapes: dict[int, dict[Any, tuple[Any, Pose]]] = {}
    for patch in patches:
        for body, shape, X in patch.sides:
            shapes.setdefault(body, {})[id(shape), X.R.tobytes(), X.p.tobytes()] = shape, X
    return {body: list(of_body.values()) for body, of_body in shapes.items()}


def _body_facts(
    model: Model, body: Body, shapes: Sequence[tuple[Any, Pose]]
) -> tuple[np.ndarray, float, np.ndarray, float, float]:
    """Facts of a body: see `Turning`. A loose one turns about its centre of mass, a link about its joint."""
    loose = is_loose(model, body)
    centre = np.asarray(body.inertia.com, float) if loose else np.zeros(3)
    if not shapes:
        return centre, 0.0, np.zeros(3), 0.0, float(loose)
    outer = max(float(np.linalg.norm(X.p - centre)) + bounded(0, X, shape).radius for shape, X in shapes)
    if not loose:
        return centre, outer, _own_axis(body, shapes, outer), 1.0, 0.0
    inner = max(0.0, *(shape.depth(X.inverse().point(centre)) for shape, X in shapes))
    lines = [np.asarray(X.R, float)[:, 2] for shape, X in shapes if shape.symmetry != "all"]
    lines += [X.p - centre for shape, X in shapes if shape.symmetry == "all"]
    axis = next((x for x in lines if np.linalg.norm(x) > COAXIAL * outer), np.zeros(3))
    return centre, outer, _common_axis(centre, axis, shapes, outer), float(inner < (1.0 - ROUND) * outer), 1.0


def _own_axis(body: Body, shapes: Sequence[tuple[Any, Pose]], outer: float) -> np.ndarray:
    """The axis of a hinge about which all shapes of its body are round, as of a wheel, or 0."""
    S = body.joint.subspace(body.joint.neutral())
    if S.shape[1] != 1 or S.dtype.kind == "O" or np.any(S[3:]):
        return np.zeros(3)
    return _common_axis(np.zeros(3), np.asarray(S[:3, 0], float), shapes, outer)


def _common_axis(centre: np.ndarray, axis: np.ndarray, shapes: Sequence[tuple[Any, Pose]], outer: float) -> np.ndarray:
    """The unit axis through a point about which all shapes are round, or 0."""
    length = float(np.linalg.norm(axis))
    if not length:
        return np.zeros(3)
    axis = axis / length
    for shape, X in shapes:
        aside = np.linalg.norm(np.cross(axis, X.p - centre)) > COAXIAL * outer
        tilted = np.linalg.norm(np.cross(axis, np.asarray(X.R, float)[:, 2])) > COAXIAL
        if aside or not (shape.symmetry == "all" or (shape.symmetry and not tilted)):
            return np.zeros(3)
    return axis
