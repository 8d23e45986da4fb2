"""Like operations of one state on the lanes of a vector: the four legs of a quadruped, the contacts under them.

Steps of the same structure, whatever constants and signs they have, are alike. Four of them become one instruction
where what they work on lies on lanes as well, or does not cost more to put there than it saves. Each lane is computed
as it would be alone: results have the same bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dalembert.compiler.graph import Scalar

from .steps import LOOPED, Step

LANES = 4
FAMILY = {"sub": "add", "fms": "fma", "fnma": "fma"}  # operations that are others with some signs changed
MINUS = {"sub": (1,), "fms": (2,), "fnma": (0,)}  # their places with a sign
PACKED = frozenset({"add", "sub", "mul", "div", "fma", "fms", "fnma", "sqrt", "abs", "min", "max"})
PACKED |= {"lt", "le", "eq", "ne", "and", "or", "not", "where"}
EXCHANGED = frozenset({"add", "sub", "mul", "fma", "fms", "fnma", "min", "max"})  # first two places in any order
SAVED = LANES - 1  # instructions that a pack saves
GATHER, SPLAT, CHANGE_SIGNS, TAKE_LANE = 3.0, 1.0, 1.0, 1.0  # instructions that it can cost
ROUNDS = 12  # of taking out packs that do not pay


class Signed(NamedTuple):
    """A node or its negative: sign is 1 or −1."""

    node: Scalar
    sign: int


@dataclass(frozen=True, eq=False)
class Pack:
    """Steps on the lanes of a vector. op: add, mul, div, fma, …; operands: for each place its numbers on all lanes."""

    op: str
    nodes: tuple[Scalar, ...]
    operands: tuple[tuple[Signed, ...], ...]

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(node.id for node in self.nodes)


def signed_operands(step: Step) -> list[Signed]:
    """The operands of a step of a family: differences as sums, and numbers for their negatives."""
    operands = [_base(node) for node in step.args]
    for place in MINUS.get(step.op, ()):
        node, sign = operands[place]
        operands[place] = Signed(node, -sign)
    return operands


def _base(node: Scalar) -> Signed:
    if node.op != "neg":
        return Signed(node, 1)
    sign = 1
    while node.op == "neg":
        node, sign = node.args[0], -sign
    return Signed(node, sign)


def _base_id(node: Scalar) -> int:
    return node.id if node.op != "neg" else _base(node).node.id


class Packing:
    """Packs of the steps of a function. runs: steps between which nothing else comes; kept: nodes that others need."""

    def __init__(self, runs: Sequence[Sequence[Step]], kept: Iterable[Scalar]) -> None:
        self.packs: list[Pack] = []
        self.lane: dict[int, tuple[int, int]] = {}  # node → number of its pack, lane
        self._kinds: dict[tuple[object, ...], int] = {}
        self._kind: dict[int, int] = {}  # node → number of its structure
        self._latest: dict[int, int] = {}  # node → place of the last input that it depends on
        for run in runs:
            self._run(run)
        self._prune([step for run in runs for step in run], {node.id for node in kept})

    # ---- alike

    def kind(self, node: Scalar) -> int:
        """A number that nodes of the same structure share."""
        known = self._kind.get(node.id)
        if known is None:
            key: tuple[object, ...] = (node.op,)
            if node.op == "input":
                key, self._latest[node.id] = ("input", node.value[0]), node.value[1]
            elif node.op == "result":
                key = ("result", node.args[0].id)
            elif node.op in LOOPED:
                key = (node.op, self.kind(_base(node.args[0]).node))
                self._latest[node.id] = self._latest.get(node.args[0].id, -1)
            known = self._kind[node.id] = self._kinds.setdefault(key, len(self._kinds))
        return known

    def _operands(self, step: Step) -> list[Signed]:
        """The operands of a step, factors and terms in an order that like steps share."""
        operands = signed_operands(step)
        if step.op not in EXCHANGED:
            return operands
        first, second, *others = operands
        if self._rank(first) > self._rank(second):
            first, second = second, first
        return [first, second, *others]

    def _rank(self, x: Signed) -> tuple[int, int]:
        return self.kind(x.node), self.lane.get(x.node.id, (-1, 0))[0]

    def _run(self, run: Sequence[Step]) -> None:
        """Packs of one run, from what is known first to what is known last, then of what these work on."""
        groups: dict[int, list[Step]] = defaultdict(list)
        first = len(self.packs)
        for step in run:
            family = FAMILY.get(step.op, step.op)
            if step.op == "neg":
                self._kind[step.node.id] = self.kind(_base(step.node).node)
            else:
                operands = self._operands(step)
                key = (family, *(self.kind(x.node) for x in operands), step.node.id if step.op not in PACKED else 0)
                self._kind[step.node.id] = self._kinds.setdefault(key, len(self._kinds))
            self._latest[step.node.id] = max([self._latest.get(_base_id(a), -1) for a in step.args], default=-1)
            if step.op in PACKED:
                groups[self._kind[step.node.id]].append(step)
        for group in groups.values():
            if len(group) >= LANES:
                self._pack_group(group)
        by_node = {step.node.id: step for step in run}
        for pack in self.packs[first:][::-1]:
            for place in pack.operands:
                self._pack_operands(place, by_node)

    def _pack_group(self, group: Sequence[Step]) -> None:
        """Packs of like steps: those whose operands lie in the same packs, each on the lane of its operands."""
        alike: dict[tuple[object, ...], dict[int, list[Step]]] = defaultdict(lambda: defaultdict(list))
        for step in group:
            operands = self._operands(step)
            lanes = {self.lane[x.node.id][1] for x in operands if x.node.id in self.lane}
            if len(lanes) > 1:
                continue
            key = tuple(self.lane.get(x.node.id, (-1, 0))[0] for x in operands)
            alike[key][lanes.pop() if lanes else -1].append(step)
        for by_lane in alike.values():
            if len(by_lane.get(-1, ())) == LANES and len(by_lane) == 1:
                self._add(sorted(by_lane[-1], key=lambda step: self._latest[step.node.id]))
            elif -1 not in by_lane and len(by_lane) == LANES:
                for steps in zip(*(by_lane[lane] for lane in range(LANES)), strict=False):
                    self._add(steps)

    def _pack_operands(self, place: Sequence[Signed], by_node: Mapping[int, Step]) -> None:
        """Pack what the lanes of a pack work on, where it is no pack yet and alike."""
        nodes = [x.node for x in place]
        free = all(node.id in by_node and node.id not in self.lane for node in nodes)
        if free and len({node.id for node in nodes}) == LANES and len({self._kind[node.id] for node in nodes}) == 1:
            steps = [by_node[node.id] for node in nodes]
            if all(step.op in PACKED for step in steps):
                pack = self._add(steps)
                for each in pack.operands:
                    self._pack_operands(each, by_node)

    def _add(self, steps: Sequence[Step]) -> Pack:
        places = tuple(zip(*map(self._operands, steps), strict=True))
        pack = Pack(FAMILY.get(steps[0].op, steps[0].op), tuple(step.node for step in steps), places)
        for lane, step in enumerate(steps):
            self.lane[step.node.id] = len(self.packs), lane
        self.packs.append(pack)
        return pack

    # ---- worth it

    def _prune(self, steps: Sequence[Step], kept: set[int]) -> None:
        """Take out the packs that cost more than they save, and again, since others then cost more."""
        read = [(step.node.id, [_base_id(a) for a in step.args]) for step in steps]
        for _ in range(ROUNDS):
            alone = kept | {each for node, args in read if node not in self.lane for each in args}
            shared: dict[tuple[int, ...], int] = defaultdict(int)
            for pack in self.packs:
                for place in pack.operands:
                    shared[tuple(x.node.id for x in place)] += 1
            paying = [p for p in self.packs if self._cost(p, alone, shared) <= self._gain(p, alone, shared)]
            if len(paying) == len(self.packs):
                return
            self.packs = paying
            self.lane = {node.id: (k, lane) for k, p in enumerate(paying) for lane, node in enumerate(p.nodes)}

    def _cost(self, pack: Pack, alone: set[int], shared: Mapping[tuple[int, ...], int]) -> float:
        cost = sum(TAKE_LANE for node in pack.nodes[1:] if node.id in alone)
        for place in pack.operands:
            ids = tuple(x.node.id for x in place)
            if all(x.node.op == "const" for x in place):
                continue
            if len({x.sign for x in place}) > 1:
                cost += CHANGE_SIGNS
            if len(set(ids)) == 1:
                cost += SPLAT / shared[ids]
            elif not self._is_pack(ids):
                cost += GATHER / shared[ids]
        return cost

    def _gain(self, pack: Pack, alone: set[int], shared: Mapping[tuple[int, ...], int]) -> float:
        """The cost that a pack saves: its own instructions, and what computing its lanes alone would cost others."""
        gain = SAVED + (GATHER if pack.ids in shared else 0.0)
        for place in pack.operands:
            if self._is_pack(tuple(x.node.id for x in place)):
                gain += sum(TAKE_LANE for x in place[1:] if x.node.id not in alone)
        return gain

    def _is_pack(self, ids: tuple[int, ...]) -> bool:
        number, lane = self.lane.get(ids[0], (-1, 0))
        return number >= 0 and lane == 0 and self.packs[number].ids == ids

    # ---- in order

    def pack(self, node: Scalar) -> Pack | None:
        """The pack that a node is on a lane of."""
        number, _ = self.lane.get(node.id, (-1, 0))
        return None if number < 0 else self.packs[number]

    def ordered(self, run: Sequence[Step]) -> list[Step]:
        """The steps of a run with those of a pack one after the other, each after all that it needs."""
        by_node = {step.node.id: step for step in run}
        units: dict[int, tuple[Step, ...]] = {}
        for step in run:
            pack = self.pack(step.node)
            if pack is None:
                units[step.node.id] = (step,)
            elif pack.nodes[0] is step.node:
                for lane, node in enumerate(pack.nodes):
                    bases = tuple(place[lane].node for place in pack.operands)
                    by_node[node.id] = Step(node, pack.op, bases)
                for node in pack.nodes:
                    units[node.id] = tuple(by_node[each.id] for each in pack.nodes)
        order: list[Step] = []
        done: set[int] = set()
        for step in run:
            stack = [step.node.id]
            while stack:
                unit = units[stack[-1]]
                first = unit[0].node.id
                missing = [a.id for s in unit for a in s.args if a.id in units and units[a.id][0].node.id not in done]
                if first in done:
                    stack.pop()
                elif missing:
                    stack += reversed(missing)
                else:
                    done.add(first)
                    order += unit
                    stack.pop()
        return order
