"""From a traced function to parts that are run one after the other, and the memory between them.

Everything a kernel keeps in memory lies in one array of values: inputs, arguments and results of the transcendentals,
which are computed in loops, values that pass from one part to another, and outputs. The plan assigns the slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dalembert.compiler.graph import Function, Graph, Scalar
from dalembert.compiler.graph.product import ProductBlock, Weighted
from dalembert.compiler.graph.repeat import Repeated
from dalembert.compiler.graph.schedule import without_slopes
from dalembert.compiler.graph.sinking import sunk
from dalembert.compiler.graph.visit import Visited

from .compounds import (
    Calling,
    Part,
    Product,
    Repeating,
    StepView,
    TableStart,
    Visiting,
    constant,
    own_places,
    runs,
    sole_readers,
    step_lists,
    table_source,
    where_not_zero,
)
from .packs import Packing
from .steps import Looped, Step, deferred, fuse, needs, split, waves
from .weights import weighing

MANY = 64  # items of a map or scan, from which on constants are no part of the memory
PART = 300  # steps in one LLVM function: code generation takes time that grows with its square
LONG = 2000  # steps of a function most of whose values pass through memory; its parts are shorter: a value that lies
SHORT_PART = 100  # in memory is then read from there in each of them, where a longer part would spill it to the stack


class Subroutine:
    """A function that is called: its plan, and where its memory begins in that of the caller.

    outside: slots of inputs that stay in the caller's memory, by name, counted from that begin. view: of the step of a
    scan, whose own values are `lanes` times as wide as those of the caller.
    """

    def __init__(
        self,
        function: Function,
        group: int,
        name: str,
        base: int,
        outside: Mapping[str, list[int]] | None = None,
        view: StepView | None = None,
    ) -> None:
        self.name, self.base, self.lanes = name, base, view.lanes if view else 1
        self.plan = SlotPlan(function, group, keep_outputs=view is None, name=f"{name}.", outside=outside, view=view)
        function = self.plan.function
        if view:
            return
        bases = self.plan.input_base.items()
        self.inputs = [base + k for name, base in bases for k in range(self.plan.sizes[name])]  # own slots
        self.results = [self.plan.slots[node.id] for output in function.outputs for node in output.nodes]


class SlotPlan:
    """How one function, whose branches take in what they alone need, is laid out in memory and cut into parts.

    group: lanes that a loop over transcendentals takes at once (1 in a batch kernel, whose lanes are states; the vector
    width in a one-state kernel, whose lanes are joints). keep_outputs: outputs get slots (batch) or are stored away at
    once (one). name: what the names of its subroutines begin with. outside: slots of inputs that lie elsewhere.
    view: of the step of a scan; its inputs have own slots where they do not lie in the caller's memory, or where
    something reads them from memory.
    """

    def __init__(
        self,
        function: Function,
        group: int,
        keep_outputs: bool,
        name: str = "",
        outside: Mapping[str, list[int]] | None = None,
        view: StepView | None = None,
    ) -> None:
        self._graphs: list[Graph] = []  # that are copied for this plan
        self.function = function = sunk(function, self._graphs)
        self.group, self.name, self.view = group, name, view
        self.moving: dict[int, int] = {}  # node id → slot beside the moving pointer
        self.common: dict[int, int] = {}  # node id → slot of the caller, from the begin of this memory
        self.records: dict[int, list[int]] = {}  # node id → slots beside the moving pointer where it is an output
        self.sizes = {i.name: i.size for i in function.inputs}
        self.packing: Packing | None = None
        self.slots: dict[int, int] = {}  # node id → slot, for everything that lives in memory
        outside, self.size = outside or {}, 0
        self.input_base: dict[str, int] = {}
        self.subroutines: list[Subroutine] = []
        self._called: dict[int, Subroutine] = {}  # by the id of their function
        self._wholes: dict[int, Any] = {}  # products and compounds, by `_key`
        for i in function.inputs:
            if i.name not in outside and view is None:
                self.input_base[i.name] = self._take(i.size)
        order = without_slopes(function.schedule(), kept := function.roots())
        self._sole_readers = sole_readers(order, kept)
        self._results: dict[int, set[int]] = {}  # numbers of the results of a compound that something reads, by its id
        for node in order:
            if node.op == "result":
                self._results.setdefault(node.args[0].id, set()).add(node.value)
            if node.op == "input":
                self._place_input(node, outside)
        steps, self._deferred = deferred(fuse(order, kept), kept)
        self.parts: list[Part] = []
        entries = [entry for part in waves(steps) for entry in ([part] if isinstance(part, Looped) else split(part))]
        if group > 1:
            self.packing = self._packed(entries, kept)
        scalar = self.packing is None or not self.packing.packs
        self._steps_of_part = SHORT_PART if len(steps) > LONG and scalar else PART
        for entry in entries:
            self._place(entry)
        kept = [n for o in function.outputs for n in o.nodes if keep_outputs or n.op == "const"]
        if view:
            kept = self._place_records(view)
        self._in_memory((*kept, *function.guards))
        self.constants = [n for n in order if n.op == "const" and n.id in self.slots]
        self._place_shared_values()

    def close(self) -> None:
        """Give up the graphs that were copied for it, without waiting for the garbage collector."""
        for subroutine in self.subroutines:
            subroutine.plan.close()
        for graph in self._graphs:
            graph.close()

    def _place_input(self, node: Scalar, outside: Mapping[str, list[int]]) -> None:
        name, k = node.value
        if name in outside:
            self.slots[node.id] = outside[name][k]
        elif self.view is None:
            self.slots[node.id] = self.input_base[name] + k
        elif node.value in self.view.moving:
            self.moving[node.id] = self.view.moving[node.value]
        elif node.value in self.view.common:
            self.common[node.id] = self.view.common[node.value]
        else:
            self._in_memory([node])

    def _place_records(self, view: StepView) -> list[Scalar]:
        """Outputs are stored where they belong as soon as a step has computed them; returns the others."""
        kept = []
        computed = {step.node.id for part in self.parts if isinstance(part, list) for step in part}
        for output in self.function.outputs:
            for k, node in enumerate(output.nodes):
                place = view.records.get((output.name, k))
                if place is not None and place not in self.records.setdefault(node.id, []):
                    self.records[node.id].append(place)
                if place is None or node.id not in computed:
                    kept.append(node)
        return kept

    def _take(self, count: int, align: int = 1) -> int:
        start = -(-self.size // align) * align
        self.size = start + count
        return start

    def _place_loop(self, loop: Looped) -> None:
        self._in_memory(loop.arguments)
        loop.base = self._take(loop.size(self.group), align=self.group)
        for node, index, which in loop.results:
            self.slots[node.id] = loop.slot(index, which, self.group)

    def _packed(self, entries: Sequence[list[Step] | Looped | Step], kept: Iterable[Scalar]) -> Packing:
        """Like steps on lanes."""
        runs = [entry for entry in entries if isinstance(entry, list)] + list(self._deferred.values())
        others = {id(nodes): nodes for nodes in [needs(each) for each in entries if isinstance(each, Step)]}
        looped = [entry.arguments for entry in entries if isinstance(entry, Looped)]
        return Packing(runs, [*kept, *(node for nodes in (*others.values(), *looped) for node in nodes)])

    def _place(self, entry: list[Step] | Looped | Step) -> None:
        """Parts for an entry: of at most PART steps, for a loop, for a product or a compound."""
        if isinstance(entry, Looped):
            self._place_loop(entry)
            self.parts.append(entry)
        elif isinstance(entry, list):
            self.parts += self._chunks(entry)
        else:
            self._place_whole(entry)

    def _chunks(self, run: list[Step]) -> list[list[Step]]:
        """The steps of a run in lists of some PART, lanes of a pack one after the other."""
        chunks: list[list[Step]] = []
        for step in run if self.packing is None else self.packing.ordered(run):
            pack = None if self.packing is None else self.packing.pack(step.node)
            begins = pack is None or pack.nodes[0] is step.node
            if not chunks or (len(chunks[-1]) >= self._steps_of_part and begins):
                chunks.append([])
            chunks[-1].append(step)
        return chunks

    def _place_whole(self, step: Step) -> None:
        """The part of a product or compound that is new; slots of their results."""
        if step.op in ("dot", "compound") and self._key(step) not in self._wholes:
            unit = self._product(step.node.value[0]) if step.op == "dot" else self._compound(step.node)
            self._wholes[self._key(step)] = unit
            self.parts.append(unit)
        if step.op in ("dot", "result"):
            place = step.node.value[1:] if step.op == "dot" else [step.node.value]
            self.slots[step.node.id] = self._wholes[self._key(step)].slot(*place)

    @staticmethod
    def _key(step: Step) -> int:
        """The id of the source of a result: the block of a product, the node of a compound."""
        return id({"dot": step.node.value, "result": step.args}.get(step.op, [step.node])[0])

    def _in_memory(self, nodes: Iterable[Scalar]) -> None:
        """Assign slots to values that are read from memory."""
        for node in nodes:
            if node.id not in self.slots:
                self._take_for(node)

    def _take_for(self, node: Scalar) -> None:
        """A slot for a node; for all lanes of a pack slots in a row."""
        pack = None if self.packing is None else self.packing.pack(node)
        if pack is None or any(each.id in self.slots for each in pack.nodes):
            self.slots[node.id] = self._take(1)
        else:
            first = self._take(len(pack.nodes))
            self.slots |= {each.id: first + lane for lane, each in enumerate(pack.nodes)}

    def _product(self, block: ProductBlock) -> Product:
        product = Product(block, self.group)
        product.base = self._take(product.size, align=self.group)  # entries that have no slot yet are stored there
        self.slots = {node.id: slot for node, slot in product.moves() if node.op != "const"} | self.slots
        self._in_memory(block.nodes)
        return product

    def _compound(self, node: Scalar) -> Part:
        if isinstance(node.value, Visited):
            return self._visiting(node)
        arguments = node.value.evaluated(node.args)
        self._in_memory(arguments)
        slots = [self.slots[argument.id] for argument in arguments]
        if isinstance(node.value, Repeated):
            return self._repeating(node, slots)
        if isinstance(node.value, Weighted):
            return weighing(node.value, slots, self.group, self._take)
        function = node.value.function
        if id(function) not in self._called:
            self._called[id(function)] = self._subroutine(function)
        subroutine = self._called[id(function)]
        return Calling(subroutine, slots, self._take(len(subroutine.results)))

    def _repeating(self, node: Scalar, slots: list[int]) -> Repeating:
        """The plan of a repetition: captured values stay in their place."""
        repeated, steps = node.value, self._deferred.get(node.id, [])
        base = self._take(0, align=self.group)
        outside = {"captured": [slot - base for slot in slots[repeated.body.taken]]}
        before = self._chunks(steps)
        subroutine = self._subroutine(repeated.step, outside)
        return Repeating(repeated, subroutine, slots[: repeated.width], self._take(1), before)

    def _visiting(self, node: Scalar) -> Visiting:
        """Item rows stay in this memory; what an item reads, and the carry, have places that the step sees.

        Where lanes are items, the step has own places for what it reads, and for records where items are in groups;
        rows of a few pieces are copied there. Many constants, and those beside a table, are not kept in memory, where
        each call would write them, nor are records that nothing reads. A table that nothing else reads is changed where
        it is.
        """
        visited, s, nodes = node.value, node.value.sizes, node.value.split(node.args)
        apart = s.table > 0 or s.items >= MANY
        known = [[x.value for x in row] if apart and constant(row) else None for row in nodes.item]
        known_at = [[x.value for x in row] if constant(row) else None for row in nodes.at]
        begin = self._table(node)
        self._in_memory([*nodes.carry, *nodes.common])
        for row, numbers in zip([*nodes.item, *nodes.at], [*known, *known_at], strict=True):
            self._in_memory(row if numbers is None else ())
        parts = visited.split([self.slots.get(x.id, 0) for x in node.args])
        stride = -(-s.items // self.group) * self.group
        lanes, moved = self._lanes(visited), list(begin.moved)
        read = sorted({(k - s.table - s.carry) // s.items for k in self._results.get(node.id, ())})
        kept = [k for k in read if k >= 0]
        rows, nothing = self._take(s.read * s.columns * (lanes == 1)), self._take(s.columns)
        records: dict[int, int] = {}
        rows_of_carry = {} if visited.counted is not None else self._rows_of_carry(visited, kept, records)
        records |= {k: self._take(stride, align=self.group) for k in kept if k not in records}
        carry = {k: self._take(1) for k in range(s.carry) if k not in rows_of_carry}
        in_row: dict[int, int] = {}  # rows of items that lie side by side, or are put there
        for k, row in enumerate(parts.item):
            if known[k] is None and len(runs(row)) <= (1 if lanes == 1 else s.items // lanes + 1):
                in_row[k] = row[0] if len(runs(row)) == 1 else self._take(s.items)
                moved += zip(row, range(in_row[k], in_row[k] + s.items), strict=True) if in_row[k] != row[0] else ()
        base = self._take(0, align=self.group)
        common = {("rows", k): rows + k - base for k in range(s.read * s.columns)} if lanes == 1 else {}
        common |= {("carry", k): slot - base for k, slot in carry.items()}
        in_rows = {("record", k): slot for k, slot in records.items()} if lanes == 1 or not s.written else {}
        view = StepView(
            lanes,
            {("item", k): slot for k, slot in in_row.items()}
            | {("carry", k): row + visited.reversed for k, row in rows_of_carry.items()},
            in_rows | {("carry", k): row + (not visited.reversed) for k, row in rows_of_carry.items()},
            common | {("captured", k): slot - base for k, slot in enumerate(parts.common)},
        )
        subroutine = self._subroutine(visited.step, view=view)
        places_of_start = carry | {k: row + visited.reversed * s.items for k, row in rows_of_carry.items()}
        moved += [(slot, places_of_start[k]) for k, slot in enumerate(parts.carry)]
        at = [list(row) if numbers is None else numbers for row, numbers in zip(parts.at, known_at, strict=True)]
        places = own_places(subroutine)
        groups = None if visited.grouped is None else known[visited.grouped] or list(parts.item[visited.grouped])
        return Visiting(
            visited,
            subroutine,
            begin.first,
            nothing,
            rows,
            carry,
            carry | {k: row + (not visited.reversed) * s.items for k, row in rows_of_carry.items()},
            records,
            at,
            [(list(row), places[k]) for k, row in enumerate(parts.item) if k in places and known[k] is None],
            [(numbers, places[k]) for k, numbers in enumerate(known) if k in places and numbers is not None],
            moved,
            begin.cleared,
            None if visited.counted is None else parts.common[visited.counted],
            self._take(1) if visited.counted is not None and kept else None,
            groups,
            None if visited.wanted is None or s.record else view.moving.get(("item", visited.wanted)),
        )

    def _rows_of_carry(self, visited: Visited, kept: list[int], records: dict[int, int]) -> dict[int, int]:
        """Rows of `records` that hold the carry before the first item, too, by the carry's numbers."""
        recorded = {visited.recorded[k].id: k for k in kept}
        rows: dict[int, int] = {}
        for k, x in enumerate(visited.following):
            if x.id in recorded:
                rows[k] = self._take(visited.sizes.items + 1)
                records[recorded.pop(x.id)] = rows[k] + (not visited.reversed)
        return rows

    def _lanes(self, visited: Visited) -> int:
        """Items of a visit at once, for one state: where none is changed by another."""
        s = visited.sizes
        apart = not s.carry and (not s.written or visited.grouped is not None)
        return min(self.group, 1 << (s.items.bit_length() - 1)) if apart else 1

    def _table(self, node: Scalar) -> TableStart:
        """Where the table of a visit lies: one that is not changed, or that nothing else reads, stays where it is."""
        s, nodes = node.value.sizes, node.value.split(node.args).table
        if not nodes:
            return TableStart(0, [], False)
        source = table_source(node, self._sole_readers)
        if source is not None:
            return TableStart(self._wholes[id(source)].table, [], False)
        begin = self.slots.get(nodes[0].id)
        if not s.written and begin is not None and all(self.slots.get(x.id) == begin + k for k, x in enumerate(nodes)):
            return TableStart(begin, [], False)
        cleared, moving = where_not_zero(nodes)
        self._in_memory(nodes[k] for k in moving)
        first = self._take(s.table + s.columns, align=self.group)
        return TableStart(first, [(self.slots[nodes[k].id], first + k) for k in moving], cleared)

    def _subroutine(
        self, function: Function, outside: Mapping[str, list[int]] | None = None, view: StepView | None = None
    ) -> Subroutine:
        base = self._take(0, align=self.group)
        group = 1 if view and view.lanes > 1 else self.group  # items on lanes are as states of a batch
        subroutine = Subroutine(function, group, f"{self.name}sub{len(self.subroutines)}", base, outside, view)
        self.subroutines.append(subroutine)
        self._take(subroutine.plan.size * subroutine.lanes)
        return subroutine

    def _place_shared_values(self) -> None:
        """Slots for values that are computed in one part and used in a later one; slots are used again when free."""
        last_use: dict[int, int] = {}
        every = [steps for part in self.parts for steps in step_lists(part)]
        for index, part in enumerate(every):
            for step in part:
                for a in step.args:
                    last_use[a.id] = index
        free: dict[int, list[int]] = {}  # first slots by their number in a row
        leaving: dict[int, list[tuple[int, int]]] = {}
        for index, part in enumerate(every):
            for first, count in leaving.pop(index - 1, []):
                free.setdefault(count, []).append(first)
            for step in part:
                pack = None if self.packing is None else self.packing.pack(step.node)
                nodes = [step.node] if pack is None else pack.nodes
                last = max(last_use.get(node.id, index) for node in nodes)
                if last == index or any(node.id in self.slots for node in nodes):
                    self._in_memory(node for node in nodes if last_use.get(node.id, index) > index)
                    continue
                first = free[len(nodes)].pop() if free.get(len(nodes)) else self._take(len(nodes))
                self.slots |= {node.id: first + lane for lane, node in enumerate(nodes)}
                leaving.setdefault(last, []).append((first, len(nodes)))
