"""Loops over items: a pointer moves from item to item, and the step reads and writes rows of the caller's memory.

In a kernel for one state the lanes are items; the last ones, where they do not fill a vector, are computed together
with some that are done already. In a batch, whose lanes are states, and where something is carried, items come one at a
time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .compounds import Counted, Items
from .ir import Builder
from .plan import SlotPlan
from .tiles import copy_runs, copy_state, table_entry


def write_items(b: Builder, items: Items, memory: str) -> None:
    """The loop, in the caller: copy the step's arguments into its memory, call it, copy its results."""
    step, n, lanes = items.subroutine, items.scanned.sizes.items, items.subroutine.lanes
    plan, wide, unit = step.plan, b.wide(lanes) if lanes > 1 else b, b.stride
    step_memory = b.address(memory, step.base * unit)
    if lanes > 1:
        copy_runs(b, items.moved, memory, memory, lanes, f"{step.name}.moved")
    else:
        copy_state(b, items.moved, memory, plan.group, f"{step.name}.moved")
    for id, slot in plan.common.items():
        if id in plan.slots:
            wide.store(load_common(b, wide, step_memory, slot), step_memory, plan.slots[id])
    tables = [b.module.table(f"{step.name}.item{k}", slots) for k, (slots, _) in enumerate(items.gathered)]
    numbers = [constant_table(b, f"{step.name}.constant{k}", x) for k, (x, _) in enumerate(items.constants)]

    def compute(first: str, here: str) -> None:
        for table, (_, place) in zip(tables, items.gathered, strict=True):
            wide.store(gathered_item(b, wide, table, first, memory), step_memory, place)
        for table, (_, place) in zip(numbers, items.constants, strict=True):
            wide.store(constant_item(b, wide, table, first), step_memory, place)
        for id, slot in plan.moving.items():
            if id in plan.slots:
                wide.store(load_moving(wide, here, slot * unit), step_memory, plan.slots[id])
        b.call(step.name, "void", ("ptr", step_memory), ("ptr", here))
        computed = {s.node.id for part in plan.parts if isinstance(part, list) for s in part}
        for id, targets in plan.records.items():
            for target in targets if id not in computed else ():
                store_moving(wide, wide.load(step_memory, plan.slots[id]), here, target * unit)

    def one(index: str, carried: list[str]) -> list[str]:
        first = _first(b, index, n, lanes, items.scanned.reversed)
        here = b.address(memory, b.op(f"mul i64 {first}, {unit}"))
        if counted is None or counted.reached is not None:
            compute(first, here)
        else:
            taken = b.any(b.compare("olt", index_number(b, first), b.load(memory, counted.count)))
            b.branch(
                taken, f"{step.name}.item", lambda: compute(first, here), lambda: _leave_out(wide, plan, here, unit)
            )
        return carried

    counted = items.counted
    if counted is None or counted.reached is None:
        b.repeat(f"{step.name}.items", str(-(-n // lanes)), one)
    else:
        _write_counted(b, items, memory, counted, lambda index: one(index, []))


def _write_counted(b: Builder, items: Items, memory: str, counted: Counted, one: Callable[[str], Any]) -> None:
    """The items that some lane has; then the carry ends where it is, and records of earlier items become 0."""
    step, sizes, unit = items.subroutine, items.scanned.sizes, b.stride
    reached_at, filled_at = counted.reached, counted.filled
    assert reached_at is not None and filled_at is not None

    def more(done: str) -> str:
        return b.any(b.compare("olt", done, b.load(memory, counted.count)))

    def taken(index: str, carried: list[str]) -> list[str]:
        one(index)
        b.store(index_number(b, b.op(f"add i64 {index}, 1")), memory, reached_at)
        return carried

    def every() -> None:
        b.repeat(f"{step.name}.items", str(sizes.items), taken, [], lambda: more(b.load(memory, reached_at)))

    b.store(b.const(0.0), memory, reached_at)
    b.branch(more(b.const(0.0)), f"{step.name}.some", every)
    reached, filled = (whole_number(b, b.load(memory, slot)) for slot in (reached_at, filled_at))
    end = b.address(memory, b.op(f"mul i64 {reached}, {unit}"))
    for k in range(sizes.carry):
        row = items.rows + k * items.stride
        b.store(b.load(end, row), memory, row + sizes.items)
    b.store(b.load(memory, reached_at), memory, filled_at)
    count = b.op(f"sub i64 {filled}, {reached}")

    def cleared(index: str, carried: list[str]) -> list[str]:
        here = b.address(end, b.op(f"mul i64 {index}, {unit}"))
        for k in range(sizes.carry, sizes.carry + sizes.record):
            b.store(b.const(0.0), here, items.rows + k * items.stride)
        return carried

    def clear() -> None:
        b.repeat(f"{step.name}.cleared", count, cleared)

    b.branch(b.op(f"icmp sgt i64 {count}, 0"), f"{step.name}.left", clear)


def index_number(b: Builder, index: str) -> str:
    """An index as a number in every lane."""
    return b.splat(b.op(f"sitofp i64 {index} to {b.element}"))


def whole_number(b: Builder, x: str) -> str:
    """A number that is the same in all lanes, as i64."""
    first = x if b.width == 1 else b.op(f"extractelement {b.type} {x}, i32 0")
    return b.op(f"fptosi {b.element} {first} to i64")


def _leave_out(b: Builder, plan: SlotPlan, here: str, unit: int) -> None:
    """The carry stays as it is, records are 0."""
    assert plan.view is not None
    for place, target in plan.view.records.items():
        x = load_moving(b, here, plan.view.moving[place] * unit) if place[0] == "carry" else b.const(0.0)
        store_moving(b, x, here, target * unit)


def load_common(b: Builder, wide: Builder, step_memory: str, slot: int) -> str:
    """A value of the caller, the same for all lanes that are items."""
    return b.load(step_memory, slot) if wide.width == b.width else wide.splat(b.load(step_memory, slot))


def load_moving(b: Builder, here: str, byte: int) -> str:
    return b.op(f"load {b.type}, ptr {b.address(here, byte)}, align {b.size}")


def store_moving(b: Builder, x: str, here: str, byte: int) -> None:
    b.do(f"store {b.type} {x}, ptr {b.address(here, byte)}, align {b.size}")


def _first(b: Builder, index: str, n: int, lanes: int, reverse: bool) -> str:
    """The first item of a pass; the last pass may begin with items that the one before has done."""
    if reverse:
        return b.op(f"sub i64 {n - 1}, {index}")
    if lanes == 1:
        return index
    first = b.op(f"mul i64 {index}, {lanes}")
    if n % lanes == 0:
        return first
    return b.op(f"select i1 {b.op(f'icmp slt i64 {first}, {n - lanes}')}, i64 {first}, i64 {n - lanes}")


def gathered_item(b: Builder, wide: Builder, table: str, first: str, memory: str) -> str:
    """Values at the slots that a table lists for the items from `first` on."""
    if wide.width == b.width:
        slot = table_entry(b, table, first)
        return b.load(b.address(memory, b.op(f"mul i64 {slot}, {b.stride}")), 0)
    place = b.address(table, b.op(f"mul i64 {first}, 4"))
    slots = b.op(f"load <{wide.width} x i32>, ptr {place}, align 4")
    if wide.bits == 64:
        slots = b.op(f"sext <{wide.width} x i32> {slots} to {wide.int_type}")
    return wide.gather(memory, slots)


def constant_table(b: Builder, name: str, values: Sequence[float]) -> str:
    """A table of constants."""
    b.module.numbers(name, values, b.element)
    return f"@{name}"


def constant_item(b: Builder, wide: Builder, table: str, index: str) -> str:
    """A constant of a table in all lanes, or where lanes are items those of each."""
    place = b.address(table, b.op(f"mul i64 {index}, {b.size}"))
    if wide.width > b.width:
        return load_moving(wide, place, 0)
    return b.splat(b.op(f"load {b.element}, ptr {place}, align {b.size}"))
