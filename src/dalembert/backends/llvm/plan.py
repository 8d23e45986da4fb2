"""From a traced function to parts that are run one after the other, and the memory between them.

Everything a kernel keeps in memory lies in one array of values: inputs, arguments and results of the transcendentals,
which are computed in loops, values that pass from one part to another, and outputs. The plan says which slot is whose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.graph import Function, Scalar
from dalembert.graph.product import Block
from dalembert.graph.repeat import Repeated

from .steps import Looped, Step, fuse, waves

TILE = 4  # rows of a tile of a matrix product
PART = 300  # steps in one LLVM function: code generation takes time that grows with its square


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


class Subroutine:
    """A function that is called: its plan, and where its memory begins in that of the caller.

    outside: slots of inputs that stay in the caller's memory, by name, counted from that begin.
    """

    def __init__(
        self, function: Function, group: int, name: str, base: int, outside: Mapping[str, list[int]] | None = None
    ) -> None:
        self.name, self.base = name, base
        self.plan = Plan(function, group, keep_outputs=True, name=f"{name}.", outside=outside)
        self.inputs = [  # own slots
            base + k for name, base in self.plan.input_base.items() for k in range(self.plan.sizes[name])
        ]
        self.results = [self.plan.slots[node.id] for output in function.outputs for node in output.nodes]


@dataclass(frozen=True)
class Calling:
    """A call of a subroutine: slots of its arguments, and the first one of its results, in the caller's memory."""

    subroutine: Subroutine
    arguments: list[int]
    base: int

    def slot(self, k: int) -> int:
        """Of a result."""
        return self.base + k


@dataclass(frozen=True)
class Repeating:
    """A repetition: its step, whose memory holds the state, and where that starts and passes are counted."""

    repeated: Repeated
    subroutine: Subroutine
    start: list[int]
    passes: int

    def slot(self, k: int) -> int:
        """Of a result: the state stays where it is."""
        return self.passes if k == self.repeated.width else self.subroutine.base + self.subroutine.inputs[k]


Part = list[Step] | Looped | Product | Calling | Repeating


class Plan:
    """How one function is laid out in memory and cut into parts.

    group: lanes that a loop over transcendentals takes at once (1 in a batch kernel, whose lanes are states; the vector
    width in a one-state kernel, whose lanes are joints). keep_outputs: outputs get slots (batch) or are stored away at
    once (one). name: what the names of its subroutines begin with. outside: slots of inputs that lie elsewhere.
    """

    def __init__(
        self,
        function: Function,
        group: int,
        keep_outputs: bool,
        name: str = "",
        outside: Mapping[str, list[int]] | None = None,
    ) -> None:
        self.function, self.group, self.name = function, group, name
        self.sizes = {i.name: i.size for i in function.inputs}
        outside = outside or {}
        self.slots: dict[int, int] = {}  # node id → slot, for everything that lives in memory
        self.size = 0
        self.input_base: dict[str, int] = {}
        self.subroutines: dict[int, Subroutine] = {}  # by the id of their function
        self._wholes: dict[int, Any] = {}  # products and compounds, by `_key`
        for i in function.inputs:
            if i.name not in outside:
                self.input_base[i.name] = self._take(i.size)
        order = function.schedule()
        for node in order:
            if node.op == "input":
                name, k = node.value
                self.slots[node.id] = outside[name][k] if name in outside else self.input_base[name] + k
        steps = fuse(order, [*function.guards, *(n for o in function.outputs for n in o.nodes)])
        self.parts: list[Part] = []
        for part in waves(steps):
            if isinstance(part, Looped):
                self._place_loop(part)
                self.parts.append(part)
            else:
                self._cut(part)
        kept = [n for o in function.outputs for n in o.nodes if keep_outputs or n.op == "const"]
        self._in_memory((*kept, *function.guards))
        self.constants = [n for n in order if n.op == "const" and n.id in self.slots]
        self._place_shared_values()

    def _take(self, count: int, align: int = 1) -> int:
        start = -(-self.size // align) * align
        self.size = start + count
        return start

    def _place_loop(self, loop: Looped) -> None:
        self._in_memory(loop.arguments)
        loop.base = self._take(loop.size(self.group), align=self.group)
        for node, index, which in loop.results:
            self.slots[node.id] = loop.slot(index, which, self.group)

    def _cut(self, steps: list[Step]) -> None:
        """Parts of at most PART steps; between them products and calls, each where the first of its results is due."""
        current: list[Step] = []
        for step in steps:
            if step.op in ("dot", "compound") and self._key(step) not in self._wholes:
                self._finish(current)
                current = []
                made = self._product(step.node.value[0]) if step.op == "dot" else self._compound(step.node)
                self._wholes[self._key(step)] = made
                self.parts.append(made)
            if step.op in ("dot", "result"):
                place = step.node.value[1:] if step.op == "dot" else [step.node.value]
                self.slots[step.node.id] = self._wholes[self._key(step)].slot(*place)
            if step.op in ("dot", "compound", "result"):
                continue
            current.append(step)
            if len(current) == PART:
                self._finish(current)
                current = []
        self._finish(current)

    @staticmethod
    def _key(step: Step) -> int:
        """The id of what a step is a result of: the block of a product, the node of a compound."""
        return id({"dot": step.node.value, "result": step.args}.get(step.op, [step.node])[0])

    def _finish(self, part: list[Step]) -> None:
        if part:
            self.parts.append(part)

    def _in_memory(self, nodes: Iterable[Scalar]) -> None:
        """Give slots to what is read from memory."""
        for node in nodes:
            if node.id not in self.slots:
                self.slots[node.id] = self._take(1)

    def _product(self, block: Block) -> Product:
        made = Product(block, self.group)
        self._in_memory(block.nodes)
        made.base = self._take(made.size, align=self.group)
        return made

    def _compound(self, node: Scalar) -> Calling | Repeating:
        self._in_memory(node.args)
        slots = [self.slots[argument.id] for argument in node.args]
        if isinstance(node.value, Repeated):
            return self._repeating(node.value, slots)
        function = node.value.function
        if id(function) not in self.subroutines:
            self._subroutine(function)
        subroutine = self.subroutines[id(function)]
        return Calling(subroutine, slots, self._take(len(subroutine.results)))

    def _repeating(self, repeated: Repeated, slots: list[int]) -> Repeating:
        """What the step takes from outside stays in its place."""
        base = self._take(0, align=self.group)
        outside = {"captured": [slot - base for slot in slots[repeated.width :]]}
        return Repeating(repeated, self._subroutine(repeated.step, outside), slots[: repeated.width], self._take(1))

    def _subroutine(self, function: Function, outside: Mapping[str, list[int]] | None = None) -> Subroutine:
        base = self._take(0, align=self.group)
        made = Subroutine(function, self.group, f"{self.name}sub{len(self.subroutines)}", base, outside)
        self.subroutines[id(function)] = made
        self._take(made.plan.size)
        return made

    def _place_shared_values(self) -> None:
        """Slots for values that are computed in one part and used in a later one; slots are used again when free."""
        last_use: dict[int, int] = {}
        every = [part if isinstance(part, list) else [] for part in self.parts]
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
                if id in self.slots or last_use.get(id, index) == index:
                    continue
                self.slots[id] = free.pop() if free else self._take(1)
                leaving.setdefault(last_use[id], []).append(self.slots[id])
