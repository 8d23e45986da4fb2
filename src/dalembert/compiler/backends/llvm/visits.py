"""Loops over items that read and write rows of a table: in a batch each lane has rows of its own.

For one state, items that do not change each other are lanes: all where nothing is written, else those of one group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .compounds import Visiting
from .ir import Builder
from .items import (
    ItemNumbers,
    constant_item,
    constant_table,
    gathered_item,
    index_number,
    load_common,
    load_moving,
    store_moving,
    whole_number,
)
from .tiles import block_size, blocks, columns_of, copy_state, put_columns


def write_visit(b: Builder, visiting: Visiting, memory: str) -> None:
    """The loop, in the caller: the rows that an item reads, the step, what it writes."""
    step, s, unit = visiting.subroutine, visiting.visited.sizes, b.stride
    if visiting.cleared:
        _clear(b, b.address(memory, visiting.table * unit), str(s.table * unit))
    if s.read:
        _clear(b, b.address(memory, visiting.nothing * unit), str(s.columns * unit))
    copy_state(b, visiting.moved, memory, max(step.plan.group, step.lanes), f"{step.name}.moved")
    writer = _ItemWriter(b, visiting, memory)
    loop = writer.in_turn if step.lanes == 1 else writer.in_groups if s.written else writer.on_lanes
    if visiting.count is None:
        loop(str(s.items))
    else:
        reached = _reached(b, b.load(memory, visiting.count), s.items)
        if visiting.visited.reversed:
            _fill_records_of_carry(b, visiting, memory, reached)
        b.branch(b.op(f"icmp sgt i64 {reached}, 0"), f"{step.name}.some", lambda: loop(reached))
        if visiting.filled is not None:
            _clear_records(b, visiting, visiting.filled, memory, reached)
        if not visiting.visited.reversed:
            _fill_records_of_carry(b, visiting, memory, reached)


class _ItemWriter:
    """Writes what is done for an item, or for as many as there are lanes, and the loops over them."""

    def __init__(self, b: Builder, visiting: Visiting, memory: str) -> None:
        self.b, self.visiting, self.memory = b, visiting, memory
        step = visiting.subroutine
        self.step, self.plan, self.name = step, step.plan, step.name
        self.wide = b.wide(step.lanes) if step.lanes > 1 else b
        self.step_memory = b.address(memory, step.base * b.stride)
        inputs = [node for node in self.plan.function.schedule() if node.op == "input"]
        self.changing = {node.id for node in inputs if node.value[0] in ("rows", "carry")}
        self.read = {node.value[1]: node.id for node in inputs if node.value[0] == "rows"}  # entries that steps take
        for id, slot in self.plan.common.items():
            if id in self.plan.slots and id not in self.changing:
                self.wide.store(
                    load_common(b, self.wide, self.step_memory, slot), self.step_memory, self.plan.slots[id]
                )
        self.tables = [b.module.table(f"{self.name}.item{k}", x) for k, (x, _) in enumerate(visiting.gathered)]
        self.constants = [
            constant_table(b, f"{self.name}.constant{k}", x) for k, (x, _) in enumerate(visiting.constants)
        ]
        self.at = [ItemNumbers(b, self.wide, f"{self.name}.at{k}", x) for k, x in enumerate(visiting.at)]
        slots = self.plan.slots
        to, rows, carry, record = self.plan.function.outputs  # not the visit's own: branches may have taken nodes in
        self.to, self.rows = ([slots[node.id] for node in output.nodes] for output in (to, rows))
        self.carry = {k: slots[carry.nodes[k].id] for k in visiting.carry}
        in_rows = self.plan.view is not None and self.plan.view.records
        self.record = {} if in_rows else {k: slots[record.nodes[k].id] for k in visiting.records}

    def compute(self, index: str, taken: str | None = None) -> None:
        """Item `index`, or the lanes from it on; taken: of these, the ones that count, None: all."""
        b, wide, visiting, plan, s = self.b, self.wide, self.visiting, self.plan, self.visiting.visited.sizes
        here = b.address(self.memory, b.op(f"mul i64 {index}, {b.stride}"))
        for k, numbers in enumerate(self.at):
            self._read_row(
                k, _RowPlace(b, wide, visiting, self.memory, numbers.of(index, self.memory), visiting.nothing)
            )
        for table, (_, slot) in zip(self.tables, visiting.gathered, strict=True):
            wide.store(gathered_item(b, wide, table, index, self.memory), self.step_memory, slot)
        for table, (_, slot) in zip(self.constants, visiting.constants, strict=True):
            wide.store(constant_item(b, wide, table, index), self.step_memory, slot)
        for id, slot in plan.moving.items():
            if id in plan.slots:
                wide.store(load_moving(wide, here, slot * b.stride), self.step_memory, plan.slots[id])
        for id in self.changing & plan.common.keys() & plan.slots.keys():
            b.store(b.load(self.step_memory, plan.common[id]), self.step_memory, plan.slots[id])
        b.call(self.name, "void", ("ptr", self.step_memory), ("ptr", here))
        computed = {x.node.id for part in plan.parts if isinstance(part, list) for x in part}
        for id, targets in plan.records.items():
            for target in targets if id not in computed else ():
                store_moving(wide, wide.load(self.step_memory, plan.slots[id]), here, target * b.stride)
        following = [(k, b.load(self.step_memory, slot)) for k, slot in self.carry.items()]
        for k, slot in enumerate(self.to):
            number = wide.load(self.step_memory, slot)
            number = number if taken is None else wide.select(taken, number, wide.const(-1.0))
            place = _RowPlace(b, wide, visiting, self.memory, number, visiting.table + s.table)
            place.write_from(self.step_memory, self.rows[k * s.columns : (k + 1) * s.columns], plan.group)
        for k, x in following:
            b.store(x, self.memory, visiting.carry[k])
        if taken is not None:
            for k, slot in self.record.items():
                row = b.address(here, visiting.records[k] * b.stride)
                _store_some(wide, wide.load(self.step_memory, slot), row, taken)

    def _read_row(self, k: int, place: _RowPlace) -> None:
        """Copy what the step takes of row k to where the step finds it."""
        columns = self.visiting.visited.sizes.columns
        entries = [(c, self.read[k * columns + c]) for c in range(columns) if k * columns + c in self.read]
        if self.step.lanes > 1:
            place.read([c for c, _ in entries], self.step_memory, [self.plan.slots[id] for _, id in entries])
        elif self.b.width > 1:
            first = self.visiting.rows + k * columns
            place.read([c for c, _ in entries], self.memory, [first + c for c, _ in entries])
        elif entries:
            place.copy(self.visiting.rows + k * columns, self.plan.group)

    def in_turn(self, times: str) -> None:
        """One item after the other."""
        b = self.b

        def one(place: str, carried: list[str]) -> list[str]:
            index = b.op(f"sub i64 {last}, {place}") if self.visiting.visited.reversed else place
            if wanted is None:
                self.compute(index)
            else:
                b.branch(self._some_wanted(b, index, wanted), f"{self.name}.wanted", lambda: self.compute(index))
            return carried

        last = str(int(times) - 1) if times.isdigit() else b.op(f"sub i64 {times}, 1")
        wanted, lanes = self.visiting.wanted, self.plan.group
        if wanted is None or b.width > 1 or lanes == 1 or self.visiting.visited.reversed:
            b.repeat(f"{self.name}.items", times, one)
            return

        def several(block: str, carried: list[str]) -> list[str]:
            first = b.op(f"mul i64 {block}, {lanes}")
            left = _smaller(b, b.op(f"sub i64 {times}, {first}"), str(lanes))

            def each() -> None:
                b.repeat(f"{self.name}.items", left, lambda k, _: one(b.op(f"add i64 {first}, {k}"), []))

            b.branch(self._some_wanted(b.wide(lanes), first, wanted), f"{self.name}.block", each)
            return carried

        count = b.op(f"sdiv i64 {b.op(f'add i64 {times}, {lanes - 1}')}, {lanes}")
        b.repeat(f"{self.name}.blocks", count, several)

    def _some_wanted(self, lanes: Builder, index: str, wanted: int) -> str:
        """i1: whether an item is wanted, or some of the lanes from it on."""
        place = self.b.address(self.memory, self.b.op(f"mul i64 {index}, {self.b.stride}"))
        return lanes.any(lanes.compare("ogt", load_moving(lanes, place, wanted * self.b.stride), lanes.const(0.5)))

    def on_lanes(self, times: str) -> None:
        """All items, in any order; the last ones, where they do not fill a vector, with some that are done already."""
        b, lanes, n = self.b, self.step.lanes, self.visiting.item_count
        last = n - lanes

        def some(place: str, carried: list[str]) -> list[str]:
            first = b.op(f"mul i64 {place}, {lanes}")
            if n % lanes:
                first = b.op(f"select i1 {b.op(f'icmp slt i64 {first}, {last}')}, i64 {first}, i64 {last}")
            self.compute(first)
            return carried

        count = str(-(-n // lanes))
        if times != str(n):
            count = b.op(f"sdiv i64 {b.op(f'add i64 {times}, {lanes - 1}')}, {lanes}")
        b.repeat(f"{self.name}.items", count, some)

    def in_groups(self, times: str) -> None:
        """Items of one group at once, as many as there are lanes; those from `first` up to `end` of a vector count."""
        b, wide, lanes, n = self.b, self.wide, self.step.lanes, self.visiting.item_count
        assert self.visiting.groups is not None
        groups = ItemNumbers(b, wide, f"{self.name}.groups", self.visiting.groups)
        whole = 1 << lanes

        def differing(index: str, reference: str) -> str:
            """i64: a bit for each lane from an index on whose group is not that of lane `reference`."""
            numbers = groups.of(index, self.memory)
            group = wide.splat(b.op(f"extractelement {wide.type} {numbers}, i64 {reference}"))
            bits = b.op(f"bitcast {wide.bool_type} {wide.compare('une', numbers, group)} to i{lanes}")
            return b.op(f"zext i{lanes} {bits} to i64")

        def forwards(place: str) -> str:
            last = n - lanes
            index = b.op(f"select i1 {b.op(f'icmp slt i64 {place}, {last}')}, i64 {place}, i64 {last}")
            first = b.op(f"sub i64 {place}, {index}")
            ends = b.op(f"or i64 {b.op(f'lshr i64 {differing(index, first)}, {first}')}, {whole}")
            run = b.call("llvm.cttz.i64", "i64", ("i64", ends), ("i1", "true"), declare=True)
            room = b.op(f"sub i64 {lanes}, {first}")
            left = b.op(f"sub i64 {times}, {place}")
            length = _smaller(b, _smaller(b, run, room), left)
            end = b.op(f"add i64 {first}, {length}")
            self.compute(index, _between(wide, first, end))
            return b.op(f"add i64 {place}, {length}")

        def backwards(place: str) -> str:
            low = b.op(f"sub i64 {place}, {lanes}")
            index = b.op(f"select i1 {b.op(f'icmp sgt i64 {low}, 0')}, i64 {low}, i64 0")
            end = b.op(f"sub i64 {place}, {index}")
            mask = b.op(f"sub i64 {b.op(f'shl i64 1, {end}')}, 1")
            other = b.op(f"and i64 {differing(index, b.op(f'sub i64 {end}, 1'))}, {mask}")
            zeros = b.call("llvm.ctlz.i64", "i64", ("i64", other), ("i1", "false"), declare=True)
            first = b.op(f"sub i64 64, {zeros}")
            self.compute(index, _between(wide, first, end))
            return b.op(f"add i64 {index}, {first}")

        if self.visiting.visited.reversed:
            _advance(b, f"{self.name}.groups", times, backwards, lambda place: b.op(f"icmp sgt i64 {place}, 0"))
        else:
            _advance(b, f"{self.name}.groups", "0", forwards, lambda place: b.op(f"icmp slt i64 {place}, {times}"))


def _advance(b: Builder, name: str, start: str, body: Callable[[str], str], more: Callable[[str], str]) -> None:
    """place = body(place) from `start` on, at least once, as long as more(place), i1."""
    before = b.body.block
    b.do(f"br label %{name}.loop")
    b.label(f"{name}.loop")
    line = len(b.body.lines)
    following = body(f"%{name}.place")
    condition = more(following)
    b.body.lines.insert(line, f"  %{name}.place = phi i64 [ {start}, %{before} ], [ {following}, %{b.body.block} ]")
    b.do(f"br i1 {condition}, label %{name}.loop, label %{name}.done")
    b.label(f"{name}.done")


def _smaller(b: Builder, x: str, y: str) -> str:
    return b.op(f"select i1 {b.op(f'icmp slt i64 {x}, {y}')}, i64 {x}, i64 {y}")


def _between(wide: Builder, first: str, end: str) -> str:
    """Whether the number of each lane is from `first` on below `end`, i64."""
    lanes = wide.width
    numbers = f"<{', '.join(f'i64 {k}' for k in range(lanes))}>"
    kind, conditions = f"<{lanes} x i64>", []
    for bound, predicate in ((first, "sge"), (end, "slt")):
        one = wide.op(f"insertelement {kind} poison, i64 {bound}, i32 0")
        every = wide.op(f"shufflevector {kind} {one}, {kind} poison, <{lanes} x i32> zeroinitializer")
        conditions.append(wide.op(f"icmp {predicate} {kind} {numbers}, {every}"))
    return wide.op(f"and {wide.bool_type} {conditions[0]}, {conditions[1]}")


def _store_some(wide: Builder, x: str, place: str, lanes: str) -> None:
    """Store the elements of some lanes."""
    wide.call(
        f"llvm.masked.store.{wide.suffix}.p0",
        "void",
        (wide.type, x),
        ("ptr", place),
        ("i32", str(wide.size)),
        (wide.bool_type, lanes),
        declare=True,
    )


def _reached(b: Builder, count: str, most: int) -> str:
    """i64: how many items some lane has."""
    if b.width > 1:
        count = b.call(f"llvm.vector.reduce.fmax.{b.suffix}", b.element, (b.type, count), declare=True)
    one = b.wide(1)
    some = one.select(one.compare("ogt", count, one.const(0.0)), count, one.const(0.0))
    bounded = one.select(one.compare("olt", some, one.const(float(most))), some, one.const(float(most)))
    below = b.op(f"fptosi {b.element} {bounded} to i64")
    further = one.compare("olt", b.op(f"sitofp i64 {below} to {b.element}"), bounded)
    return b.op(f"add i64 {below}, {b.op(f'zext i1 {further} to i64')}")


def _clear_records(b: Builder, visiting: Visiting, slot: int, memory: str, reached: str) -> None:
    """Zeros where earlier items have left their records. slot: of their number."""
    filled = whole_number(b, b.load(memory, slot))
    b.store(index_number(b, reached), memory, slot)
    left = b.op(f"sub i64 {filled}, {reached}")

    def clear() -> None:
        size, first = b.op(f"mul i64 {left}, {b.stride}"), b.op(f"mul i64 {reached}, {b.stride}")
        for k, row in visiting.records.items():
            if k not in visiting.visited.carry_records:
                _clear(b, b.address(memory, b.op(f"add i64 {first}, {row * b.stride}")), size)

    b.branch(b.op(f"icmp sgt i64 {left}, 0"), f"{visiting.subroutine.name}.left", clear)


def _fill_records_of_carry(b: Builder, visiting: Visiting, memory: str, reached: str) -> None:
    """The carry, which items that are left out do not change, in their records of it."""
    kept = {
        row: visiting.carry[c]
        for k, c in visiting.visited.carry_records.items()
        if (row := visiting.records.get(k)) is not None
    }
    if not kept:
        return

    def fill(index: str, carried: list[str]) -> list[str]:
        here = b.address(memory, b.op(f"mul i64 {b.op(f'add i64 {reached}, {index}')}, {b.stride}"))
        for row, slot in kept.items():
            b.store(b.load(memory, slot), here, row)
        return carried

    left, name = b.op(f"sub i64 {visiting.item_count}, {reached}"), visiting.subroutine.name

    def fill_all() -> None:
        b.repeat(f"{name}.held", left, fill)

    b.branch(b.op(f"icmp sgt i64 {left}, 0"), f"{name}.beyond", fill_all)


def _clear(b: Builder, place: str, size: str) -> None:
    """Zeros in `size` bytes."""
    b.module.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
    b.do(f"call void @llvm.memset.p0.i64(ptr {place}, i8 0, i64 {size}, i1 false)")


class _RowPlace:
    """A row of the table that each lane has its own number of; beyond: slot of the row for numbers of none."""

    def __init__(self, b: Builder, wide: Builder, visiting: Visiting, memory: str, number: str, beyond: int) -> None:
        s = visiting.visited.sizes
        self.b, self.wide, self.memory, self.columns = b, wide, memory, s.columns
        self.table = b.address(memory, visiting.table * b.stride)
        known = wide.compare("oge", number, wide.const(0.0)), wide.compare("olt", number, wide.const(float(s.rows)))
        inside = wide.op(f"and {wide.bool_type} {known[0]}, {known[1]}")
        row = wide.to_integer(wide.select(inside, number, wide.const(0.0)))
        place = wide.integer("mul", row, wide.int_const(s.columns * b.width))
        other = wide.int_const((beyond - visiting.table) * b.width)
        first = wide.op(f"select {wide.bool_type} {inside}, {wide.int_type} {place}, {wide.int_type} {other}")
        self.first = b.integer("add", first, b.lanes()) if b.width > 1 else first

    def copy(self, slot: int, lanes: int) -> None:
        """Copy the row of a single state to slots of the memory, `lanes` numbers at once."""
        b = self.b
        row = b.op(f"getelementptr {b.element}, ptr {self.table}, {b.int_type} {self.first}")
        _copy(b, row, b.address(self.memory, slot * b.size), range(self.columns), lanes)

    def read(self, columns: Sequence[int], memory: str, slots: Sequence[int]) -> None:
        """Copy entries of the rows to slots of a memory, those of each lane."""
        if self.wide.width > self.b.width and columns:
            self._read_transposed(dict(zip(columns, slots, strict=True)), memory)
            return
        for column, slot in zip(columns, slots, strict=True):
            x = self.wide.gather(self.b.address(self.table, column * self.b.stride), self.first)
            self.wide.store(x, memory, slot)

    def _rows(self) -> list[str]:
        """Where the row of each lane begins, for one state."""
        wide, places = self.wide, []
        for lane in range(wide.width):
            first = wide.op(f"extractelement {wide.int_type} {self.first}, i32 {lane}")
            places.append(wide.op(f"getelementptr {wide.element}, ptr {self.table}, i{wide.bits} {first}"))
        return places

    def _read_transposed(self, slots: Mapping[int, int], memory: str) -> None:
        """Blocks of columns from each lane's row, transposed in registers; slots by column."""
        wide, first = self.wide, min(slots)
        count, rows = max(slots) - first + 1, self._rows()
        k = block_size(wide, count)
        for start in blocks(count, k):
            begins = [wide.address(row, (first + start) * wide.size) for row in rows]
            for column, x in enumerate(columns_of(wide, begins, k), first + start):
                if column in slots:
                    wide.store(x, memory, slots[column])

    def write_from(self, step_memory: str, slots: Sequence[int], lanes: int) -> None:
        """Copy slots of the step's memory to the row."""
        b = self.b
        if self.wide.width == 1:
            row = b.op(f"getelementptr {b.element}, ptr {self.table}, {b.int_type} {self.first}")
            _copy(b, step_memory, row, slots, lanes)
            return
        if self.wide.width > b.width:
            rows, k = self._rows(), block_size(self.wide, len(slots))
            for start in blocks(len(slots), k):
                columns = [self.wide.load(step_memory, slot) for slot in slots[start : start + k]]
                put_columns(self.wide, columns, [b.address(row, start * b.size) for row in rows])
            return
        for column, slot in enumerate(slots):
            place = b.address(self.table, column * b.stride)
            self.wide.scatter(self.wide.load(step_memory, slot), place, self.first)


def _copy(b: Builder, source: str, target: str, places: Sequence[int], lanes: int) -> None:
    """Elements of `source` at some places to the first ones of `target`; neighbours `lanes` at once."""
    begins = [k for k, place in enumerate(places) if k == 0 or places[k - 1] + 1 != place]
    for begin, end in zip(begins, [*begins[1:], len(places)], strict=True):
        width = min(lanes, 1 << ((end - begin).bit_length() - 1))
        wide = b.wide(width)
        for k in blocks(end - begin, width):
            place = b.address(source, (places[begin] + k) * b.size)
            x = b.op(f"load {wide.type}, ptr {place}, align {b.size}")
            b.do(f"store {wide.type} {x}, ptr {b.address(target, (begin + k) * b.size)}, align {b.size}")
