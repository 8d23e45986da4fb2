"""Loops over items that read and write rows of a table: in a batch each lane has rows of its own."""

from __future__ import annotations

from collections.abc import Sequence

from .compounds import Visiting
from .ir import Builder
from .items import gathered_item, load_moving, store_moving
from .tiles import copy_state


def write_visit(b: Builder, visiting: Visiting, memory: str) -> None:
    """The loop, in the caller: the rows that an item reads, the step, what it writes."""
    step, s, unit = visiting.subroutine, visiting.visited.sizes, b.stride
    plan, step_memory = step.plan, b.address(memory, step.base * unit)
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
            place = _RowPlace(b, visiting, memory, numbers.of(index, memory))
            for c in range(s.columns):
                b.store(place.read(c), memory, visiting.rows + k * s.columns + c)
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
            place = _RowPlace(b, visiting, memory, b.load(step_memory, slot))
            for c in range(s.columns):
                place.write(c, b.load(step_memory, rows[k * s.columns + c]))
        for k, x in enumerate(following):
            b.store(x, memory, visiting.carry + k)

    def leave_out(here: str) -> None:
        for k in range(s.record):
            store_moving(b, b.const(0.0), here, (visiting.records + k * visiting.stride) * unit)

    def one(place: str, carried: list[str]) -> list[str]:
        index = b.op(f"sub i64 {s.items - 1}, {place}") if visiting.visited.reversed else place
        here = b.address(memory, b.op(f"mul i64 {index}, {unit}"))
        if visiting.count is None:
            compute(index, here)
        else:
            number = b.splat(b.op(f"sitofp i64 {index} to {b.element}"))
            taken = b.any(b.compare("olt", number, b.load(memory, visiting.count)))
            b.branch(taken, f"{step.name}.item", lambda: compute(index, here), lambda: leave_out(here))
        return carried

    b.repeat(f"{step.name}.items", str(s.items), one)


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
    """A row of the table that each lane has its own number of; none: the row behind the last one."""

    def __init__(self, b: Builder, visiting: Visiting, memory: str, number: str) -> None:
        s = visiting.visited.sizes
        self.b, self.table = b, b.address(memory, visiting.table * b.stride)
        known = b.compare("oge", number, b.const(0.0)), b.compare("olt", number, b.const(float(s.rows)))
        self.known = b.op(f"and {b.bool_type} {known[0]}, {known[1]}")
        row = b.to_integer(b.select(self.known, number, b.const(float(s.rows))))
        first = b.integer("mul", row, b.int_const(s.columns * b.width))
        self.first = b.integer("add", first, b.lanes()) if b.width > 1 else first

    def read(self, column: int) -> str:
        """Zero where there is no such row."""
        b = self.b
        return b.select(self.known, b.gather(b.address(self.table, column * b.stride), self.first), b.const(0.0))

    def write(self, column: int, x: str) -> None:
        self.b.scatter(x, self.b.address(self.table, column * self.b.stride), self.first)
