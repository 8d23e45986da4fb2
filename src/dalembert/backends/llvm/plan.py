"""From a traced function to a list of machine steps: fused multiply-adds, early transcendentals, parts, memory slots.

Everything a kernel keeps in memory lies in one array of values: inputs, arguments and results of the transcendentals
that run first in loops, values that pass from one part to another, and outputs. The plan says which slot is whose.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from dalembert.graph import Function, Scalar

LOOPED = ("sin", "cos", "exp", "log", "tanh")  # of one argument: done for many arguments in one loop
TRANSCENDENTAL = frozenset({*LOOPED, "atan2"})
PART = 1500  # steps in one LLVM function: scheduling and register allocation grow faster than linearly


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
        self.early, early_steps, late = self._split_early(steps)
        self.parts = [late[i : i + PART] for i in range(0, len(late), PART)]
        self.early_part = early_steps
        kept = [n for o in function.outputs for n in o.nodes] if keep_outputs else []
        for node in (*kept, *function.guards):
            if node.id not in self.slots and (node.op != "const" or keep_outputs):
                self.slots[node.id] = self._take(1)
        self._place_shared_values()

    def _take(self, count: int, align: int = 1) -> int:
        start = -(-self.size // align) * align
        self.size = start + count
        return start

    def _split_early(self, steps: list[Step]) -> tuple[list[Early], list[Step], list[Step]]:
        """Take out transcendentals whose arguments need no other transcendental, and what those arguments need."""
        deep: set[int] = set()  # nodes that depend on a transcendental
        loops: dict[str, Early] = {}
        place: dict[int, tuple[Early, int, int]] = {}
        by_id = {s.node.id: s for s in steps}
        for step in steps:
            if any(a.id in deep for a in step.args) or step.op in TRANSCENDENTAL:
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
        home: dict[int, int] = {}
        last_use: dict[int, int] = {}
        every = [self.early_part, *self.parts]
        for index, part in enumerate(every):
            for step in part:
                home[step.node.id] = index
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
