"""Many candidates, of which few touch at a time: these few are gathered into slots, in every state others.

A slot knows its candidate by number. What is constant about a candidate (which joints carry its bodies, friction) is
looked up in tables by that number, so that the code for a slot is the same whichever candidate it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.algorithms.kinematics import chain, poses
from dalembert.dynamics.collision import ground_points, pair_points
from dalembert.dynamics.collision.groups import Numbers, convex, pose_numbers, pose_of
from dalembert.linear import Columns
from dalembert.math import lookup, maximum, visit, where
from dalembert.math import map as mapped
from dalembert.model import Model
from dalembert.spatial import Pose, cross, so3
from dalembert.spatial.vectors import dot

from .candidates import WORLD, Patch, like
from .laws import ContactLaw
from .rows import Rows, tangent_frame

NOBODY = -1.0  # the number in an empty slot
NOWHERE = np.zeros(3)
POINT = Columns(gap=(), position=(3,), normal=(3,), aside=(3,))  # how a row of a table has a point: see `Points`
NEAR = 2e-3  # [m] a gap up to which a candidate gets a slot whatever its speed
WRITTEN_OUT = 300  # candidates
AHEAD = 2.0  # steps: one that closes its gap within so many at its speed gets a slot


class Points(NamedTuple):
    """Points of n candidates: gap (n,) [m], position (n, 3) [m], normal (n, 3) from the second body to the first.

    aside (n, 3) [m]: from the position to the place on the first body, and minus that to the place on the second; None:
    they are none.
    """

    gap: np.ndarray
    position: np.ndarray
    normal: np.ndarray
    aside: np.ndarray | None = None


def points(patches: Sequence[Patch], X: Sequence[Pose], later: Sequence[Pose] | None = None) -> Points:
    """All candidates with the bodies at X; like shapes are a loop. later: poses after a step."""
    groups: dict[Any, list[int]] = {}
    for k, patch in enumerate(patches):
        groups.setdefault(like(patch), []).append(k)
    rows: dict[int, np.ndarray] = {}
    for members in groups.values():
        rows |= dict(zip(members, _group([patches[k] for k in members], X, later), strict=True))
    every = Points(**POINT.named(np.concatenate([rows[k] for k in range(len(patches))])))
    return every if any(patch.passes_by for patch in patches) else every._replace(aside=None)


def _group(patches: Sequence[Patch], X: Sequence[Pose], later: Sequence[Pose] | None) -> list[np.ndarray]:
    """Rows of `POINT` (points, 10) of each of some patches that differ in sizes and places alone."""
    first = patches[0]
    moving = later if later is not None and first.passes_by else None
    shapes, others = [patch.shape for patch in patches], [patch.other for patch in patches]
    if first.ground is None:
        shapes, others = convex(shapes), convex(others)
    a, b = Numbers(shapes), Numbers(others)

    def step(
        size_a: Any, body_a: Any, place_a: Any, size_b: Any, body_b: Any, place_b: Any, *ahead: Any
    ) -> dict[str, Any]:
        X_a = pose_of(body_a) @ pose_of(place_a)
        if first.ground is not None:
            witnesses = ground_points(a.shape(size_a), X_a, first.ground)
            rows = [POINT.row(gap=w.distance, position=w.a, normal=w.normal, aside=NOWHERE) for w in witnesses]
            return {"rows": np.array(rows)}
        both = None
        if ahead:
            both = pose_of(ahead[0]) @ pose_of(place_a), pose_of(ahead[1]) @ pose_of(place_b)
        witnesses = pair_points(a.shape(size_a), X_a, b.shape(size_b), pose_of(body_b) @ pose_of(place_b), both)
        aside = [w.half_apart(bool(ahead) and first.is_aside) for w in witnesses]
        every = zip(witnesses, aside, strict=True)
        rows = [POINT.row(gap=w.distance, position=w.position, normal=w.normal, aside=x) for w, x in every]
        return {"rows": np.array(rows)}

    here = Pose.identity()
    placements = [(p.placement, p.other_placement or here) for p in patches]
    items = {
        "size_a": a.sizes,
        "body_a": np.array([pose_numbers(X[p.first]) for p in patches]),
        "place_a": np.array([pose_numbers(x) for x, _ in placements]),
        "size_b": b.sizes,
        "body_b": np.array([pose_numbers(here if p.second == WORLD else X[p.second]) for p in patches]),
        "place_b": np.array([pose_numbers(x) for _, x in placements]),
    }
    if moving is not None:
        items["later_a"] = np.array([pose_numbers(moving[p.first]) for p in patches])
        items["later_b"] = np.array([pose_numbers(here if p.second == WORLD else moving[p.second]) for p in patches])
    if len(patches) == 1:
        return [step(*(x[0] for x in items.values()))["rows"]]
    return list(mapped(step, items)["rows"])


class Freedom(NamedTuple):
    """A freedom of a joint in the world: how the body turns (3,) and moves at a reference point (3,) per unit of it.

    column: its number among the velocities; body: that the joint carries.
    """

    column: int
    body: int
    turn: np.ndarray
    move: np.ndarray


class Motions:
    """How bodies of a model move in a configuration. reference (3,): a point near the robot [m]."""

    def __init__(self, model: Model, X: Sequence[Pose], q: np.ndarray) -> None:
        self.model = model
        self.reference = next((X[b.index].p for b in model.bodies if b.joint.nv), np.zeros(3))
        self.freedoms = []
        for body in model.bodies:
            R, r = X[body.index].R, self.reference - X[body.index].p
            for column, S in enumerate(body.joint.subspace(q[body.q]).T, body.v.start):
                turn = R @ S[:3]
                self.freedoms.append(Freedom(column, body.index, turn, R @ S[3:] + cross(turn, r)))

    def twists(self, v: np.ndarray) -> list[np.ndarray]:
        """[ω; velocity at the reference point] (6,) of every body, and of the world behind them, at v (nv,)."""
        twists: list[np.ndarray] = []
        for body in self.model.bodies:
            twist = twists[body.parent] if body.parent >= 0 else np.zeros(6)
            for freedom in self.freedoms:
                if freedom.body == body.index:
                    twist = twist + np.concatenate([freedom.turn, freedom.move]) * v[freedom.column]
            twists.append(twist)
        return [*twists, np.zeros(6)]

    def later(self, X: Sequence[Pose], v: np.ndarray, h: Any) -> list[Pose]:
        """The poses of all bodies a time h after X, were they to move straight ahead as at v (nv,), and to turn."""
        moved = []
        for body, X_i, twist in zip(self.model.bodies, X, self.twists(v), strict=False):  # without the world
            R, com = so3.exp(h * twist[:3]) @ X_i.R, body.inertia.com
            centre = X_i.point(com)
            velocity = twist[3:] + cross(twist[:3], centre - self.reference)
            moved.append(Pose(R, centre + h * velocity - R @ com))
        return moved

    def rows(
        self,
        signs: np.ndarray,
        axes: np.ndarray,
        position: np.ndarray,
        turning: Sequence[int],
        aside: np.ndarray | None = None,
    ) -> np.ndarray:
        """(3 + m, nv): velocities along the axes of a contact (3, 3), then turning about those of them that are listed.

        signs: of each freedom, 1 if it moves the first body, −1 the second, else 0; aside (3,): see `Points`.
        """
        J = np.zeros((3 + len(turning), self.model.nv), object)
        r = position - self.reference
        for sign, freedom in zip(signs, self.freedoms, strict=True):
            motion = freedom.move + cross(freedom.turn, r if aside is None else r + sign * aside)
            along = [*(dot(axis, motion) for axis in axes), *(dot(axes[k], freedom.turn) for k in turning)]
            J[:, freedom.column] = J[:, freedom.column] + np.array([sign * x for x in along])
        return J


def freedom_signs(model: Model, pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    """(pairs, freedoms): 1 where a freedom moves the first body of a pair, −1 the second, 0 both or neither."""
    bodies = [body.index for body in model.bodies for _ in range(body.joint.nv)]
    carried = {b.index: {x.index for x in chain(model, b.index)} for b in model.bodies} | {WORLD: set()}
    return np.array([[float((b in carried[i]) - (b in carried[j])) for b in bodies] for i, j in pairs])


def tied(model: Model, signs: np.ndarray) -> np.ndarray:
    """(nv, nv): whether some pair with these `freedom_signs` ties two velocities together."""
    columns = [k for body in model.bodies for k in range(body.v.start, body.v.start + body.joint.nv)]
    moved = np.zeros((len(signs), model.nv), bool)
    for k, column in enumerate(columns):
        moved[:, column] |= signs[:, k] != 0.0
    return (moved.astype(float).T @ moved) > 0.0


def tied_together(moved: np.ndarray) -> np.ndarray:
    """(k, g): which of k contacts are in each of g groups that a freedom moves; groups within others are left out.

    moved (k, nv): whether a freedom moves a contact.
    """
    groups = {frozenset(np.flatnonzero(column)) for column in moved.T}
    largest = [group for group in groups if group and not any(group < other for other in groups)]
    return np.array([[i in group for group in sorted(largest, key=sorted)] for i in range(len(moved))])


class Gathering:
    """The candidates of patches, told apart by their numbers."""

    def __init__(self, model: Model, patches: Sequence[Patch]) -> None:
        self.model, self.patches = model, patches
        self.owner = [patch for patch in patches for _ in patch.names]
        self.laws = [patch.law for patch in self.owner]
        self.turning = tuple(sorted({axis for law in self.laws for axis in law.axes}))

    def __len__(self) -> int:
        return len(self.owner)

    @cached_property
    def signs(self) -> np.ndarray:
        """(n, freedoms): 1 where a freedom moves the first body of a candidate, −1 the second."""
        return freedom_signs(self.model, [(patch.first, patch.second) for patch in self.owner])

    @cached_property
    def bodies(self) -> np.ndarray:
        """(n, 2): numbers of both bodies of each candidate."""
        return np.array([(patch.first, patch.second) for patch in self.owner], float)

    @cached_property
    def pattern(self) -> np.ndarray:
        """(nv, nv): whether two velocities move bodies of the same candidate, alike or not."""
        pairs = sorted({(patch.first, patch.second) for patch in self.owner})
        sides = [freedom_signs(self.model, [(pair[side], WORLD) for pair in pairs]) for side in (0, 1)]
        return tied(self.model, sides[0] + sides[1])

    def signs_of(self, number: Any) -> np.ndarray:
        """(freedoms,) of the candidate with a number; zeros for an empty slot."""
        table = np.concatenate([np.zeros((1, self.signs.shape[1])), self.signs])
        return lookup(table, number + 1.0)

    @cached_property
    def groups(self) -> np.ndarray:
        """(n, g): which candidates are in each of g groups: see `tied_together`."""
        return tied_together(self.signs != 0.0)

    def groups_of(self, number: Any) -> np.ndarray:
        """(g,): 1 for each group that the candidate with a number is in, else 0."""
        return lookup(np.concatenate([np.zeros((1, self.groups.shape[1])), self.groups]), number + 1.0)

    def law(self, number: Any) -> ContactLaw:
        """The law of the candidate with a number."""
        return law_of(self.laws, number)

    def rows(self, q: np.ndarray) -> Rows:
        """Rows of all candidates at q (nq,), as `contact_rows` has them, without their spins."""
        X = poses(self.model, q)
        motions, every = Motions(self.model, X, q), points(self.patches, X)

        def step(signs: Any, position: Any, normal: Any, aside: Any) -> dict[str, Any]:
            axes = tangent_frame(normal)
            return {"axes": axes, "J": motions.rows(signs, axes, position, (), aside)}

        aside = np.zeros_like(every.position) if every.aside is None else every.aside
        items = {"signs": self.signs, "position": every.position, "normal": every.normal, "aside": aside}
        rows = mapped(step, items)
        J = rows["J"].reshape(-1, self.model.nv)
        return Rows(every.gap, every.position, rows["axes"], J, np.zeros((0, self.model.nv)), aside)

    def speeds(self, at: Points, motions: Motions, v: np.ndarray, numbers: Sequence[int] | None = None) -> np.ndarray:
        """How fast gaps open at v (nv,) [m/s]: (k,) of the candidates with k numbers, or of all."""
        twists, which = motions.twists(v), list(range(len(self)) if numbers is None else numbers)
        pairs = [(twists[p.first], twists[p.second]) for p in (self.owner[k] for k in which)]

        def step(position: Any, normal: Any, twist: Any, *further: Any) -> dict[str, Any]:
            velocity = twist[3:] + cross(twist[:3], position - motions.reference)
            if further:
                velocity = velocity + cross(*further)
            return {"speed": dot(normal, velocity)}

        items = {"position": at.position[which], "normal": at.normal[which]}
        items["twist"] = np.array([first - second for first, second in pairs])
        if at.aside is not None:
            items |= {"both": np.array([first[:3] + second[:3] for first, second in pairs]), "aside": at.aside[which]}
        return for_each(step, items)["speed"]

    def near(
        self, at: Points, speeds: np.ndarray, h: Any, numbers: Sequence[int] | None = None, reach: Any = None
    ) -> np.ndarray:
        """1 for each candidate that may touch in a step h, else 0: (k,) of those with k numbers, or of all.

        reach (k,): gaps up to which they are near in any case [m].
        """
        gap = at.gap if numbers is None else at.gap[list(numbers)]

        def step(gap: Any, speed: Any, *reach: Any) -> dict[str, Any]:
            ahead = NEAR + AHEAD * h * maximum(-speed, 0.0)
            return {"near": where(gap < (maximum(ahead, *reach) if reach else ahead), 1.0, 0.0)}

        return for_each(step, {"gap": gap, "speed": speeds} | ({} if reach is None else {"reach": reach}))["near"]

    def numbered(self, near: np.ndarray, k: int) -> tuple[np.ndarray, Any]:
        """The numbers (k,) of the candidates that are near, in k slots, as far as there are; and how many are near."""

        def step(_: Any, count: Any, near: Any, number: Any) -> dict[str, Any]:
            slot = where(near > 0.5, count, NOBODY)
            return {"count": count + near, "rows": np.array([[number]]), "to": np.array([slot])}

        items = {"near": near, "number": np.arange(float(len(self)))}
        taken = visit(step, items, np.full((k, 1), NOBODY), carry={"count": 0.0})
        return taken["table"][:, 0], taken["count"]


def for_each(step: Callable[..., Mapping[str, Any]], items: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A few operations for each candidate: written out where they are not too many, as `math.map` otherwise.

    Written out, they cost less than a loop's way of finding its items, and normals that are constants fold.
    """
    n = len(next(iter(items.values())))
    if n > WRITTEN_OUT:
        return mapped(step, items)
    rows = [step(*(x[k] for x in items.values())) for k in range(n)]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def law_of(laws: Sequence[ContactLaw], number: Any) -> ContactLaw:
    """The law with a number; what is the same for all is a constant."""
    if isinstance(number, float):
        return laws[int(number)]
    values: dict[bytes, Any] = {}

    def value(name: str) -> Any:
        numbers = [getattr(law, name) for law in laws]
        if all(x is numbers[0] or x == numbers[0] for x in numbers):
            return numbers[0]
        column = np.array(numbers)
        return values.setdefault(column.tobytes(), lookup(column, number))

    return ContactLaw(**{each.name: value(each.name) for each in fields(ContactLaw)})


def number_of(values: Sequence[float], number: Any) -> Any:
    """The value of the candidate with a number; one that is the same for all is a constant."""
    if isinstance(number, float):
        return values[int(number)]
    column = np.array(values)
    return float(column[0]) if (column == column[0]).all() else lookup(column, number)


class Slot(NamedTuple):
    """Contents of a slot: the number of a candidate, gap, position (3,), normal (3,), aside (3,): see `Points`."""

    number: Any
    gap: Any
    position: np.ndarray
    normal: np.ndarray
    aside: np.ndarray


def in_slots(every: Points, numbers: np.ndarray, count: Any) -> Slot:
    """The candidates with numbers (k,), the first `count` of them, as arrays with k rows."""
    known = {name: x for name, x in every._asdict().items() if x is not None}
    layout = Columns.of(known)
    rows = layout.named(_rows(layout.table(**known), numbers, count))
    return Slot(numbers, **{"aside": np.zeros((len(numbers), 3))} | rows)


def known_before(
    numbers: np.ndarray, count: Any, before: np.ndarray, candidates: int, memory: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Memory of the candidates with numbers (k,), the first `count` of them; zeros for those that are new.

    before (k,): 1 + the number that each slot had in the step before, 0: none; memory: arrays with a row for each slot.
    """

    def entered(_: Any, one_more: Any, slot: Any) -> dict[str, Any]:
        return {"rows": np.array([[slot]]), "to": np.array([one_more - 1.0])}

    k, layout = len(before), Columns.of(memory)
    items = {"one_more": before, "slot": np.arange(float(k))}
    slots = visit(entered, items, np.full((candidates, 1), NOBODY))["table"]
    places = _rows(slots, numbers, count)[:, 0]
    return layout.named(_rows(layout.table(**{name: x[:k] for name, x in memory.items()}), places, count))


def _rows(table: np.ndarray, numbers: np.ndarray, count: Any) -> np.ndarray:
    """Rows of a table by their numbers, the first `count` of them; the others are 0."""
    return visit(lambda rows: {"taken": rows[0]}, {}, table, numbers[:, None], count=count)["taken"]
