"""From a traced function to a list of machine steps: fused multiply-adds, early transcendentals, parts, memory slots.

Everything a kernel keeps in memory lies in one array of values: inputs, arguments and results of the transcendentals
that run first in loops, values that pass from one part to another, and outputs. The plan says which slot is whose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dalembert.graph import Function, Scalar
from dalembert.graph.product import Block

LOOPED = ("sin", "cos", "exp", "log", "tanh")  # of one argument: done for many arguments in one loop
DEEP = frozenset({*LOOPED, "atan2", "dot"})  # what comes after the early loops, and all that needs it
TILE = 4  # rows of a tile of a matrix product
PART = 300  # steps in one LLVM function: code generation takes time that grows with its square


@dataclass(frozen=True, slots=True)
class Step:
    """node = op(*args); op is an operation of the graph, or fma (x·y+z), fms (x·y−z), fnma (z−x·y), sincos."""

    node: Scalar
    op: str
    args: tuple[Scalar, ...]


@dataclass
class Early:
    """One loop over arguments: `kind` is sincos, exp, log or tanh; results start at slot `base`."""

    kind: str
    arguments: list[Scalar] = field(default_factory=list)
    index: dict[int, int] = field(default_factory=dict)  # argument's id → its place
    base: int = 0

    def slot(self, index: int, which: int, group: int) -> int:
        """Slot of result `which` (sin 0, cos 1; others 0) of an argument, results stored by groups of lanes."""
        results = 2 if self.kind == "sincos" else 1
        return self.base + (index // group) * results * group + which * group + index % group

    def size(self, group: int) -> int:
        return -(-len(self.arguments) // group) * group * (2 if self.kind == "sincos" else 1)


class Product:
    """A product of matrices in memory: A by columns, B and C by rows, padded to whole tiles.

    A tile is TILE rows by `columns` columns of C, for the terms listed in `terms` for its columns.
    """

    def __init__(self, block: Block, group: int) -> None:
        self.block, self.base = block, 0
        n, k = block.A.shape
        m = block.B.shape[1]
        self.columns = TILE if group == 1 else 2 * group
        self.rows, self.width = -(-n // TILE) * TILE, -(-m // self.columns) * self.columns
        self.B = -(-k * self.rows // group) * group  # where it begins, from the base; whole vectors are read from there
        self.C = self.B + k * self.width
        self.size = self.C + self.rows * self.width
        self.terms = [
            sorted({t for rows in block.rows[j : j + self.columns] for t in rows}) or [0]
            for j in range(0, m, self.columns)
        ]

    def slot(self, i: int, j: int) -> int:
        """Of an entry of C."""
        return self.base + self.C + i * self.width + j

    def moves(self) -> Iterator[tuple[Scalar, int]]:
        """(node, slot) of every entry of A and B that a term uses."""
        used = {t for terms in self.terms for t in terms}
        for (i, t), node in np.ndenumerate(self.block.A):
            if t in used:
                yield node, self.base + t * self.rows + i
        for (t, j), node in np.ndenumerate(self.block.B):
            if t in self.terms[j // self.columns]:
                yield node, self.base + self.B + t * self.width + j


Part = list[Step] | Product


class Plan:
    """How one function is laid out in memory and cut into parts.

    group: lanes that an early loop takes at once (1 in a batch kernel, whose lanes are states; the vector width in a
    one-state kernel, whose lanes are joints). keep_outputs: outputs get slots (batch) or are stored away at once (one).
    """

    def __init__(self, function: Function, group: int, keep_outputs: bool) -> None:
        self.function, self.group = function, group
        self.slots: dict[int, int] = {}  # node id → slot, for everything that lives in memory
        self.size = 0
        self.input_base: dict[str, int] = {}
        for i in function.inputs:
            self.input_base[i.name] = self._take(i.size)
        order = function.schedule()
        for node in order:
            if node.op == "input":
                self.slots[node.id] = self.input_base[node.value[0]] + node.value[1]
        steps = _fuse(order, [*function.guards, *(n for o in function.outputs for n in o.nodes)])
        self.early, self.early_part, late = self._split_early(steps)
        self.parts = self._cut(late)
        kept = [n for o in function.outputs for n in o.nodes if keep_outputs or n.op == "const"]
        for node in (*kept, *function.guards):
            if node.id not in self.slots:
                self.slots[node.id] = self._take(1)
        self.constants = [n for n in order if n.op == "const" and n.id in self.slots]
        self._place_shared_values()

    def _take(self, count: int, align: int = 1) -> int:
        start = -(-self.size // align) * align
        self.size = start + count
        return start

    def _split_early(self, steps: list[Step]) -> tuple[list[Early], list[Step], list[Step]]:
        """Take out transcendentals whose arguments need no other transcendental, and what those arguments need."""
        deep: set[int] = set()  # nodes that depend on a transcendental or a product of matrices
        loops: dict[str, Early] = {}
        place: dict[int, tuple[Early, int, int]] = {}
        by_id = {s.node.id: s for s in steps}
        for step in steps:
            if any(a.id in deep for a in step.args) or step.op in DEEP:
                deep.add(step.node.id)
            if step.op in LOOPED and step.args[0].id not in deep:
                kind = "sincos" if step.op in ("sin", "cos") else step.op
                loop = loops.setdefault(kind, Early(kind))
                index = loop.index.setdefault(step.args[0].id, len(loop.index))
                if index == len(loop.arguments):
                    loop.arguments.append(step.args[0])
                place[step.node.id] = loop, index, int(step.op == "cos")
        needed: set[int] = set()
        stack = [a for loop in loops.values() for a in loop.arguments]
        while stack:
            node = stack.pop()
            if node.id in by_id and node.id not in needed:
                needed.add(node.id)
                stack.extend(by_id[node.id].args)
        for loop in loops.values():
            for argument in loop.arguments:
                if argument.id not in self.slots:
                    self.slots[argument.id] = self._take(1)
            loop.base = self._take(loop.size(self.group), align=self.group)
        for id, (loop, index, which) in place.items():
            self.slots[id] = loop.slot(index, which, self.group)
        early = [s for s in steps if s.node.id in needed]
        late = [s for s in steps if s.node.id not in needed and s.node.id not in place]
        return list(loops.values()), early, self._pair_trigonometry(late)

    def _cut(self, steps: list[Step]) -> list[Part]:
        """Parts of at most PART steps, and between them the products of matrices, each where its first entry is due."""
        parts: list[Part] = []
        current: list[Step] = []
        placed: dict[int, Product] = {}
        for step in steps:
            if step.op == "dot":
                block, i, j = step.node.value
                if id(block) not in placed:
                    placed[id(block)] = made = Product(block, self.group)
                    for node in block.nodes:  # its entries are read from memory
                        if node.id not in self.slots:
                            self.slots[node.id] = self._take(1)
                    made.base = self._take(made.size, align=self.group)
                    parts += [current, made]
                    current = []
                self.slots[step.node.id] = placed[id(block)].slot(i, j)
                continue
            current.append(step)
            if len(current) == PART:
                parts.append(current)
                current = []
        return [p for p in (*parts, current) if p]

    def _pair_trigonometry(self, steps: list[Step]) -> list[Step]:
        """Replace late sin(x), cos(x) by one sincos step that writes both to memory."""
        paired: list[Step] = []
        base: dict[int, int] = {}
        for step in steps:
            if step.op not in ("sin", "cos"):
                paired.append(step)
                continue
            argument = step.args[0]
            if argument.id not in base:
                base[argument.id] = self._take(2)
                paired.append(Step(step.node, "sincos", step.args))
            self.slots[step.node.id] = base[argument.id] + (step.op == "cos")
        return paired

    def sincos_slot(self, step: Step) -> int:
        """Where a late sincos step writes its pair."""
        return self.slots[step.node.id] - (step.node.op == "cos")

    def _place_shared_values(self) -> None:
        """Slots for values that are computed in one part and used in a later one; slots are used again when free."""
        last_use: dict[int, int] = {}
        every = [part if isinstance(part, list) else [] for part in (self.early_part, *self.parts)]
        for index, part in enumerate(every):
            for step in part:
                for a in step.args:
                    last_use[a.id] = index
        free: list[int] = []
        leaving: dict[int, list[int]] = {}
        for index, part in enumerate(every):
            free += leaving.pop(index - 1, [])
            for step in part:
                id = step.node.id
                if id in self.slots or last_use.get(id, index) == index or step.op == "sincos":
                    continue
                self.slots[id] = free.pop() if free else self._take(1)
                leaving.setdefault(last_use[id], []).append(self.slots[id])


def _fuse(order: list[Scalar], roots: list[Scalar]) -> list[Step]:
    """Steps of a schedule with products folded into the sums that use them, where every use of a product allows it."""
    users: Counter[int] = Counter()
    summed: Counter[int] = Counter()
    for node in order:
        for a in node.args:
            users[a.id] += 1
            summed[a.id] += node.op in ("add", "sub")
    for root in roots:
        users[root.id] += 1
    foldable = {n.id for n in order if n.op == "mul" and users[n.id] == summed[n.id]}
    chosen: dict[int, int] = {}  # sum → position of the product it takes in
    taken: Counter[int] = Counter()
    for node in order:
        if node.op in ("add", "sub"):
            options = [k for k, a in enumerate(node.args) if a.id in foldable]
            if options:
                k = min(options, key=lambda k: users[node.args[k].id])
                chosen[node.id] = k
                taken[node.args[k].id] += 1
    vanished = {id for id in foldable if taken[id] == users[id]}
    steps = []
    for node in order:
        if node.op in ("const", "input") or node.id in vanished:
            continue
        if node.id not in chosen:
            steps.append(Step(node, node.op, node.args))
            continue
        k = chosen[node.id]
        x, y = node.args[k].args
        op = "fma" if node.op == "add" else ("fms" if k == 0 else "fnma")
        steps.append(Step(node, op, (x, y, node.args[1 - k])))
    return steps
