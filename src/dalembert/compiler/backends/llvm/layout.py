"""Memory of a kernel as seen from outside of its parts: all that is needed of a plan once these are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dalembert.compiler.graph import Input

from .compounds import Visiting
from .parts import is_zero
from .plan import SlotPlan


class Places(NamedTuple):
    """Slots of the numbers of an output, and whether each is the constant 0."""

    slots: list[int]
    zero: list[bool]


class Stored(NamedTuple):
    """A number that is in memory from the begin: its place in values of `lanes` numbers, counted from `base`."""

    base: int
    lanes: int
    slot: int
    value: float


@dataclass(frozen=True)
class Layout:
    """bases: first slots of the inputs. read: numbers of inputs that something reads. group: see `SlotPlan`."""

    size: int
    group: int
    inputs: tuple[Input, ...]
    bases: Mapping[str, int]
    outputs: Mapping[str, Places]
    guards: list[int]
    read: frozenset[tuple[str, int]]
    stored: list[Stored]

    @classmethod
    def of(cls, plan: SlotPlan) -> Layout:
        """The layout of a plan, which has an output in memory if it keeps outputs."""
        function = plan.function
        outputs = {
            o.name: Places([plan.slots.get(n.id, -1) for n in o.nodes], [is_zero(n) for n in o.nodes])
            for o in function.outputs
        }
        read = frozenset(node.value for node in function.schedule() if node.op == "input")
        guards = [plan.slots[guard.id] for guard in function.guards]
        stored = list(_stored(plan, 0, 1))
        return cls(plan.size, plan.group, function.inputs, plan.input_base, outputs, guards, read, stored)


def _stored(plan: SlotPlan, base: int, lanes: int) -> Iterator[Stored]:
    """Constants that are read from memory: outputs, entries of products; and that all records are yet to be cleared."""
    for node in plan.constants:
        yield Stored(base, lanes, plan.slots[node.id], node.value)
    for part in plan.parts:
        if isinstance(part, Visiting) and part.filled is not None:
            yield Stored(base, lanes, part.filled, float(part.item_count))
    for subroutine in plan.subroutines:
        yield from _stored(subroutine.plan, base + subroutine.base * lanes, max(lanes, subroutine.lanes))
