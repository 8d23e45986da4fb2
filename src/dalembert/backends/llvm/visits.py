"""Loops over items that read and write rows of a table: in a batch each lane has rows of its own."""

from __future__ import annotations

from collections.abc import Sequence

from .compounds import Counted, Visiting
from .ir import Builder
from .items import gathered_item, index_number, load_moving, store_moving, whole_number
from .tiles import blocks, copy_state


def write_visit(b: Builder, visiting: Visiting, memory: str) -> None:
    """The loop, in the caller: the rows that an item reads, the step, what it writes."""
    step, s, unit = visiting.subroutine, visiting.visited.sizes, b.stride
    plan, step_memory = step.plan, b.address(memory, step.base * unit)
    if visiting.cleared:
        _clear(b, b.address(memory, visiting.table * unit), str(s.table * unit))
    if s.read:
        _clear(b, b.address(memory, visiting.nothing * unit), str(s.columns * unit))
    copy_state(b, visiting.moved, memory, plan.group, f"{step.name}.moved")
    changing = {
        node.id for node in plan.function.schedule() if node.op == "input" and node.value[0] in ("rows", "carry")
    }
    for id, slot in plan.common.items():
        if id in plan.slots and id not in changing:
            b.store(b.load(step_memory, slot), step_memory, plan.slots[id])
    tables = [b.module.table(f"{step.name}.item{k}", slots) for k, (slots, _) in enumerate(visiting.gathered)]
    constants = [_numbers(b, f"{step.name}.constant{k}", x) for k, (x, _) in enumerate(visiting.constants)]
    at = [_Numbers(b, f"{step.name}.at{k}", x) for k, x in enumerate(visiting.at)]
    to, rows, carry, _ = ([plan.slots.get(node.id, 0) for node in o.nodes] for o in visiting.visited.step.outputs)

    def compute(index: str, here: str) -> None:
        for k, numbers in enumerate(at):
            place = _RowPlace(b, visiting, memory, numbers.of(index, memory), visiting.nothing)
            place.read_into(visiting.rows + k * s.columns, plan.group)
        for table, (_, slot) in zip(tables, visiting.gathered, strict=True):
            b.store(gathered_item(b, b, table, index, memory), step_memory, slot)
        for table, (_, slot) in zip(constants, visiting.constants, strict=True):
            b.store(_number(b, table, index), step_memory, slot)
        for id, slot in plan.moving.items():
            if id in plan.slots:
                b.store(load_moving(b, here, slot * unit), step_memory, plan.slots[id])
        for id in changing & plan.slots.keys():
            b.store(b.load(step_memory, plan.common[id]), step_memory, plan.slots[id])
        b.call(step.name, "void", ("ptr", step_memory), ("ptr", here))
        computed = {x.node.id for part in plan.parts if isinstance(part, list) for x in part}
        for id, targets in plan.records.items():
            for target in targets if id not in computed else ():
                store_moving(b, b.load(step_memory, plan.slots[id]), here, target * unit)
        following = [b.load(step_memory, slot) for slot in carry]
        for k, slot in enumerate(to):
            place = _RowPlace(b, visiting, memory, b.load(step_memory, slot), visiting.table + s.table)
            place.write_from(step_memory, rows[k * s.columns : (k + 1) * s.columns], plan.group)
        for k, x in enumerate(following):
            b.store(x, memory, visiting.carry + k)

    def items(times: str) -> None:
        def one(place: str, carried: list[str]) -> list[str]:
            index = b.op(f"sub i64 {b.op(f'sub i64 {times}, 1')}, {place}") if visiting.visited.reversed else place
            compute(index, b.address(memory, b.op(f"mul i64 {index}, {unit}")))
            return carried

        b.repeat(f"{step.name}.items", times, one)

    if visiting.counted is None:
        items(str(s.items))
    else:
        reached = _reached(b, b.load(memory, visiting.counted.count), s.items)
        b.branch(b.op(f"icmp sgt i64 {reached}, 0"), f"{step.name}.some", lambda: items(reached))
        _clear_records(b, visiting, visiting.counted, memory, reached)


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


def _clear_records(b: Builder, visiting: Visiting, counted: Counted, memory: str, reached: str) -> None:
    """Zeros where earlier items have left their records."""
    assert counted.filled is not None
    filled = whole_number(b, b.load(memory, counted.filled))
    b.store(index_number(b, reached), memory, counted.filled)
    left = b.op(f"sub i64 {filled}, {reached}")

    def clear() -> None:
        size, first = b.op(f"mul i64 {left}, {b.stride}"), b.op(f"mul i64 {reached}, {b.stride}")
        for k in range(visiting.visited.sizes.record):
            row = (visiting.records + k * visiting.stride) * b.stride
            _clear(b, b.address(memory, b.op(f"add i64 {first}, {row}")), size)

    b.branch(b.op(f"icmp sgt i64 {left}, 0"), f"{visiting.subroutine.name}.left", clear)


def _clear(b: Builder, place: str, size: str) -> None:
    """Zeros in `size` bytes."""
    b.module.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
    b.do(f"call void @llvm.memset.p0.i64(ptr {place}, i8 0, i64 {size}, i1 false)")


def _numbers(b: Builder, name: str, values: Sequence[float]) -> str:
    """A table of constants."""
    b.module.numbers(name, values, b.element)
    return f"@{name}"


def _number(b: Builder, table: str, index: str) -> str:
    """A constant of a table, in all lanes."""
    place = b.address(table, b.op(f"mul i64 {index}, {b.size}"))
    return b.splat(b.op(f"load {b.element}, ptr {place}, align {b.size}"))


class _Numbers:
    """A number of each item: constants (floats), or what lies in slots (integers)."""

    def __init__(self, b: Builder, name: str, values: Sequence[float]) -> None:
        self.b, self.constant = b, all(isinstance(x, float) for x in values)
        self.table = _numbers(b, name, values) if self.constant else b.module.table(name, [int(x) for x in values])

    def of(self, index: str, memory: str) -> str:
        """That of one item."""
        if self.constant:
            return _number(self.b, self.table, index)
        return gathered_item(self.b, self.b, self.table, index, memory)


class _RowPlace:
    """A row of the table that each lane has its own number of; beyond: slot of the row for numbers of none."""

    def __init__(self, b: Builder, visiting: Visiting, memory: str, number: str, beyond: int) -> None:
        s = visiting.visited.sizes
        self.b, self.memory, self.columns = b, memory, s.columns
        self.table = b.address(memory, visiting.table * b.stride)
        known = b.compare("oge", number, b.const(0.0)), b.compare("olt", number, b.const(float(s.rows)))
        inside = b.op(f"and {b.bool_type} {known[0]}, {known[1]}")
        row = b.to_integer(b.select(inside, number, b.const(0.0)))
        place = b.integer("mul", row, b.int_const(s.columns * b.width))
        other = b.int_const((beyond - visiting.table) * b.width)
        first = b.op(f"select {b.bool_type} {inside}, {b.int_type} {place}, {b.int_type} {other}")
        self.first = b.integer("add", first, b.lanes()) if b.width > 1 else first

    def read_into(self, slot: int, lanes: int) -> None:
        """Copy the row to slots of the memory; of a single state `lanes` numbers at once."""
        b = self.b
        if b.width == 1:
            row = b.op(f"getelementptr {b.element}, ptr {self.table}, {b.int_type} {self.first}")
            _copy(b, row, b.address(self.memory, slot * b.size), range(self.columns), lanes)
            return
        for column in range(self.columns):
            x = b.gather(b.address(self.table, column * b.stride), self.first)
            b.store(x, self.memory, slot + column)

    def write_from(self, step_memory: str, slots: Sequence[int], lanes: int) -> None:
        """Copy slots of the step's memory to the row."""
        b = self.b
        if b.width == 1:
            row = b.op(f"getelementptr {b.element}, ptr {self.table}, {b.int_type} {self.first}")
            _copy(b, step_memory, row, slots, lanes)
            return
        for column, slot in enumerate(slots):
            b.scatter(b.load(step_memory, slot), b.address(self.table, column * b.stride), self.first)


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
