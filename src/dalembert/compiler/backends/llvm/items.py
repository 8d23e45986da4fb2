"""Numbers of items: as indices, in the rows of a caller's memory, by a table of slots, as constants."""

from __future__ import annotations

from collections.abc import Sequence

from .ir import Builder
from .tiles import table_entry


def index_number(b: Builder, index: str) -> str:
    """An index as a number in every lane."""
    return b.splat(b.op(f"sitofp i64 {index} to {b.element}"))


def whole_number(b: Builder, x: str) -> str:
    """A number that is the same in all lanes, as i64."""
    first = x if b.width == 1 else b.op(f"extractelement {b.type} {x}, i32 0")
    return b.op(f"fptosi {b.element} {first} to i64")


def load_common(b: Builder, wide: Builder, step_memory: str, slot: int) -> str:
    """A value of the caller, the same for all lanes that are items."""
    return b.load(step_memory, slot) if wide.width == b.width else wide.splat(b.load(step_memory, slot))


def load_moving(b: Builder, here: str, byte: int) -> str:
    return b.op(f"load {b.type}, ptr {b.address(here, byte)}, align {b.size}")


def store_moving(b: Builder, x: str, here: str, byte: int) -> None:
    b.do(f"store {b.type} {x}, ptr {b.address(here, byte)}, align {b.size}")


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


class ItemNumbers:
    """A number of each item: constants (floats), or what lies in slots (integers)."""

    def __init__(self, b: Builder, wide: Builder, name: str, values: Sequence[float]) -> None:
        self.b, self.wide, self.constant = b, wide, all(isinstance(x, float) for x in values)
        slots = [] if self.constant else [int(x) for x in values]
        self.in_row = bool(slots) and slots == list(range(slots[0], slots[0] + len(slots)))
        self.place = slots[0] if slots else 0
        self.table = constant_table(b, name, values) if self.constant else b.module.table(name, slots)

    def of(self, index: str, memory: str) -> str:
        """The number of one item, or of the lanes from it on."""
        if self.constant:
            return constant_item(self.b, self.wide, self.table, index)
        if self.in_row:
            place = self.b.address(memory, self.b.op(f"mul i64 {index}, {self.b.stride}"))
            return load_moving(self.wide, place, self.place * self.b.stride)
        return gathered_item(self.b, self.wide, self.table, index, memory)
