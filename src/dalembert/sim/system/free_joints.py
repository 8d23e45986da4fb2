"""Joints between free bodies: rows of closures, what they ask for, and the impulses that give it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear import SHARED
from dalembert.model import Closure, Frame

from .elimination import Elimination, elimination_order, neighbours, solved
from .free_body import STILL, FreeBody, Moving, alike, over
from .free_joint_rows import JointState, push_results, response_block, row_results

ENDS = ("name", "a", "b")  # fields of a closure that tell it from others of its kind
LIKE = 4  # joints of a kind from which on they are the lanes of a loop
CHAINED = 30  # joints in a row from which on a loop eliminates them: slower than unrolled code, but compiled at once
RUNS = 2  # stretches of neighbours in which those of a loop may lie: farther apart, they would have to be collected


class Held(NamedTuple):
    """A closure, and the compliance of its rows (count,) [m/N, rad/(N·m)], None where they do not give way."""

    closure: Closure
    compliance: np.ndarray | None


class Side(NamedTuple):
    """One side of the joints of a group: their bodies by number, None: the ground; F, r: axes of their frames
    (m, 3, 3), and where these are from the centre of mass (m, 3), in body axes."""

    bodies: list[int | None]
    F: np.ndarray
    r: np.ndarray

    @property
    def moves(self) -> bool:
        """Whether it is a body for any of the joints."""
        return any(body is not None for body in self.bodies)


@dataclass(frozen=True, eq=False)
class Group:
    """Joints that differ in numbers alone, by number among all, and both their sides."""

    closure: Closure
    members: list[int]
    a: Side
    b: Side
    compliance: np.ndarray | None  # (m, count)

    @property
    def near(self) -> bool:
        """Whether their bodies lie side by side, so that they can be lanes."""
        sides = [[-1 if body is None else body for body in side.bodies] for side in (self.a, self.b) if side.moves]
        return len(self.members) >= LIKE and all(_runs(bodies) <= RUNS for bodies in sides)


class Ask(NamedTuple):
    """The demand of rows: wanted(φ, rate, *known, and compliance if they give way) (k,) of the k rows of a joint.

    known: numbers of all rows (count,) each, such as what was learned, or the stiffness of springs.
    """

    wanted: Callable[..., np.ndarray]
    known: tuple[np.ndarray, ...]


class JointRows(NamedTuple):
    """Rows of one joint: φ (k,), wanted (k,), body → J (k, 6) on its twist [W; Rᵀ V], lower half of J M⁻¹ Jᵀ (k, k)."""

    phi: np.ndarray
    wanted: np.ndarray
    J: dict[int, np.ndarray]
    response: np.ndarray


class Joints:
    """All joints between free bodies. numbers: body index → number among the free bodies.

    promised: that no row follows from others. lanes: joints of a kind are lanes of loops.
    """

    def __init__(
        self, bodies: list[FreeBody], numbers: Mapping[int, int], held: list[Held], promised: bool, lanes: bool
    ) -> None:
        self.bodies, self.numbers, self.held, self.promised, self.lanes = bodies, numbers, held, promised, lanes
        sizes = [each.closure.count for each in held]
        self.count = sum(sizes)
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self.order = elimination_order([each.closure for each in held])

    @property
    def names(self) -> list[str]:
        """The joint of every row (count,)."""
        return [each.closure.name for each in self.held for _ in range(each.closure.count)]

    @cached_property
    def groups(self) -> list[Group]:
        """The joints, those that differ in numbers alone together."""
        return self._grouped(lambda closure: tuple(frame.body in self.numbers for frame in (closure.a, closure.b)))

    @cached_property
    def wide_groups(self) -> list[Group]:
        """The same, with joints on the ground among the others: for loops over them."""
        if not self.lanes:
            return self.groups
        return self._grouped(lambda closure: all(frame.body not in self.numbers for frame in (closure.a, closure.b)))

    def _grouped(self, ends: Callable[[Closure], Any]) -> list[Group]:
        """ends: of a closure, what must be the same of its ends."""
        kinds: dict[Any, list[int]] = {}
        for k, (closure, compliance) in enumerate(self.held):
            constants = [getattr(closure, field.name) for field in fields(closure) if field.name not in ENDS]
            shape = [np.asarray(x, float).tobytes() for x in constants]
            kinds.setdefault((type(closure), *shape, ends(closure), compliance is None), []).append(k)
        return [self._group(members) for members in kinds.values()]

    def _group(self, members: list[int]) -> Group:
        closures = [self.held[k].closure for k in members]
        a, b = (self._side([getattr(closure, end) for closure in closures]) for end in ("a", "b"))
        soft = self.held[members[0]].compliance is not None
        compliance = np.array([self.held[k].compliance for k in members]) if soft else None
        return Group(closures[0], members, a, b, compliance)

    def _side(self, frames: list[Frame]) -> Side:
        numbers = [self.numbers.get(frame.body) for frame in frames]
        coms = [np.zeros(3) if k is None else self.bodies[k].com for k in numbers]
        r = alike([frame.placement.p - com for frame, com in zip(frames, coms, strict=True)])
        return Side(numbers, alike([frame.placement.R for frame in frames]), r)

    def rows(self, moving: Moving, ask: Ask) -> list[JointRows]:
        """The rows of every joint."""
        rows: dict[int, JointRows] = {}
        for group in self.groups:
            results = self._over_joints(group, moving, ask, row_results)
            for i, k in enumerate(group.members):
                ends = [(name, side.bodies[i]) for name, side in (("a", group.a), ("b", group.b))]
                J = {body: results[name][i] for name, body in ends if body is not None}
                rows[k] = JointRows(results["phi"][i], results["wanted"][i], J, results["response"][i])
        return [rows[k] for k in range(len(self.held))]

    def pushes(self, moving: Moving, ask: Ask, ground: Moving = STILL) -> np.ndarray:
        """Body by body (n, …, 6), Jᵀ of the impulses that rows ask for: joints held by springs alone.

        ground: its pose and speeds, where they lie beside those of the bodies: loops then read both in one go.
        """
        pushes = []
        for group in self.wide_groups:
            results = self._over_joints(group, moving, ask, push_results, ground)
            pushes += [(side.bodies, results[name]) for name, side in (("a", group.a), ("b", group.b)) if side.moves]
        return self._by_body(pushes)

    def _by_body(self, pushes: list[tuple[list[int | None], np.ndarray]]) -> np.ndarray:
        """Pushes (m, 6) on bodies by number, body by body (n, most, 6): in places that they have free."""
        places: list[dict[int, Any]] = []
        for bodies, each in pushes:
            left = [(body, push) for body, push in zip(bodies, each, strict=True) if body is not None]
            while left:
                taken = dict(reversed(left))  # the first push on each body
                places.append(taken)
                left = [(body, push) for body, push in left if taken[body] is not push]
        merged: list[dict[int, Any]] = []
        for taken in places:
            free = next((x for x in merged if not x.keys() & taken.keys()), None)
            merged = merged if free is not None else [*merged, taken]
            if free is not None:
                free |= taken
        nothing = np.zeros(6)
        return np.array([[taken.get(k, nothing) for taken in merged] for k in range(len(self.bodies))])

    def _over_joints(
        self, group: Group, moving: Moving, ask: Ask, results: Callable[..., Any], ground: Moving = STILL
    ) -> dict[str, np.ndarray]:
        """`results` of the rows of every joint of a group."""
        known = {
            f"known {n}": np.array([x[self.starts[k] : self.starts[k + 1]] for k in group.members])
            for n, x in enumerate(ask.known)
        }
        if group.compliance is not None:
            known["compliance"] = group.compliance
        items = dict(known)
        for name, side in (("a", group.a), ("b", group.b)):
            items |= {f"F {name}": side.F, f"r {name}": side.r}
            if side.moves:
                bodies = [self.bodies[k or 0] for k in side.bodies]
                items |= {f"{key} {name}": alike([getattr(body, key) for body in bodies]) for key in FreeBody._fields}
                for key, of_bodies in moving._asdict().items():
                    still = getattr(ground, key)
                    items[f"{key} {name}"] = np.array([still if k is None else of_bodies[k] for k in side.bodies])

        def step(*rows: Any) -> Mapping[str, Any]:
            named = dict(zip(items, rows, strict=True))
            one = JointState(group.closure, named)
            return results(one, ask.wanted(one.phi, one.rate, *(named[name] for name in known)))

        return over(step, items, self.lanes and group.near)

    def impulses(self, rows: list[JointRows], softness: np.ndarray | None) -> np.ndarray:
        """p (count,) with (J M⁻¹ Jᵀ + softness) p = what is wanted; softness (count,) or None.

        Where rows can depend on each other, every diagonal entry grows by the share SHARED: of all forces that do the
        same, those are found that are least in the metric of the diagonal.
        """
        wanted = {k: each.wanted for k, each in enumerate(rows)}
        responses = {k: self._grown(each.response, k, softness) for k, each in enumerate(rows)}
        between = dict(self._shared_blocks(rows))
        chain = Elimination(self.chain, responses, between, wanted) if self.chain else None
        if chain is not None:
            chain.eliminate()
        left = [k for k in self.order if k not in self.chain[:-1]]
        impulses = solved(left, responses, between, wanted)
        if chain is not None:
            impulses |= chain.impulses(impulses[self.chain[-1]])
        return np.concatenate([impulses[k] for k in range(len(rows))])

    def _grown(self, response: np.ndarray, joint: int, softness: np.ndarray | None) -> np.ndarray:
        """The block of a joint (k, k) with what its rows give way by."""
        soft = np.zeros(len(response)) if softness is None else softness[self.starts[joint] : self.starts[joint + 1]]
        grown = np.array(response, object)
        for i, extra in enumerate(soft):
            grown[i, i] = (response[i, i] + extra) * (1.0 if self.independent else 1.0 + SHARED)
        return grown

    @cached_property
    def chain(self) -> list[int]:
        """Joints in a row, each sharing bodies with those beside it alone; empty if they are few, or for batches."""
        near = neighbours([held.closure for held in self.held])
        best: list[int] = []
        for end in (k for k, others in enumerate(near) if len(others) == 1 and self.lanes):
            path = [end]
            while following := near[path[-1]] - set(path):
                (k,) = following
                path.append(k)
                if len(near[k]) > 2:
                    break
            best = max(best, path, key=len)
        like = all(self.held[k].closure.count == self.held[best[0]].closure.count for k in best)
        return best if like and len(best) > CHAINED else []

    def _shared_blocks(self, rows: list[JointRows]) -> list[tuple[tuple[int, int], np.ndarray]]:
        """(later, earlier) joints and J M⁻¹ Jᵀ (k, k') between them, for all pairs that share bodies."""
        group_of = {k: n for n, group in enumerate(self.groups) for k in group.members}
        kinds: dict[Any, list[_Pair]] = {}
        for body in range(len(self.bodies)):
            on_body = [k for k, each in enumerate(rows) if body in each.J]
            for n, later in enumerate(on_body):
                for earlier in on_body[:n]:
                    ends = [self._is_a(k, body) for k in (later, earlier)]
                    key = (group_of[later], group_of[earlier], *ends)
                    kinds.setdefault(key, []).append(_Pair(body, later, earlier))
        blocks: dict[tuple[int, int], np.ndarray] = {}
        for pairs in kinds.values():
            items = {
                "J": np.array([rows[pair.later].J[pair.body] for pair in pairs]),
                "K": np.array([rows[pair.earlier].J[pair.body] for pair in pairs]),
                "mass": alike([self.bodies[pair.body].mass for pair in pairs]),
                "inverse": alike([self.bodies[pair.body].inverse for pair in pairs]),
            }
            near = len(pairs) >= LIKE and all(_runs([pair[n] for pair in pairs]) <= RUNS for n in (1, 2))
            results = over(response_block, items, self.lanes and near)
            for (_, *joints), block in zip(pairs, results["block"], strict=True):
                pair = (joints[0], joints[1])
                blocks[pair] = blocks[pair] + block if pair in blocks else block
        return list(blocks.items())

    def _is_a(self, joint: int, body: int) -> bool:
        return self.numbers.get(self.held[joint].closure.a.body) == body

    def impulsive_pushes(self, rows: list[JointRows], impulses: np.ndarray) -> np.ndarray:
        """Body by body (n, …, 6), Jᵀ p of impulses (count,) along all rows."""
        pushes = []
        for group in self.groups:
            for side in (group.a, group.b):
                if side.moves:
                    ends = zip(group.members, side.bodies, strict=True)
                    items = {
                        "J": np.array([rows[k].J[body] for k, body in ends if body is not None]),
                        "p": np.array([impulses[self.starts[k] : self.starts[k + 1]] for k in group.members]),
                    }
                    results = over(lambda J, p: {"push": J.T @ p}, items, self.lanes and group.near)
                    pushes.append((side.bodies, results["push"]))
        return self._by_body(pushes)

    @cached_property
    def compliance(self) -> np.ndarray | None:
        """The compliance of every row (count,); None if no row gives way."""
        if all(held.compliance is None for held in self.held):
            return None
        return np.concatenate(
            [np.zeros(held.closure.count) if held.compliance is None else held.compliance for held in self.held]
        )

    @cached_property
    def row_places(self) -> np.ndarray:
        """Numbers of all rows in the order in which they are carried: of a group the first of every joint, then …"""
        places = [
            self.starts[k] + n for group in self.groups for n in range(group.closure.count) for k in group.members
        ]
        return np.array(places, int)

    @cached_property
    def independent(self) -> bool:
        """Whether no row can follow from others: without loops, or because it was promised."""
        if self.compliance is not None and np.all(self.compliance > 0.0):
            return True
        groups: dict[int, int] = {}

        def root(body: int) -> int:
            while groups.get(body, body) != body:
                body = groups[body]
            return body

        loops = False
        for held in self.held:
            a, b = (root(max(f.body, 0) if f.body in self.numbers else -1) for f in (held.closure.a, held.closure.b))
            loops = loops or a == b
            groups[b] = a
        return not loops or self.promised


class _Pair(NamedTuple):
    """Two joints of a body."""

    body: int
    later: int
    earlier: int


def _runs(numbers: Sequence[int]) -> int:
    """Stretches of neighbours."""
    return 1 + sum(after != before + 1 for before, after in pairwise(numbers))
