"""The computation of a plan as LLVM IR: a function for each part, called one after the other, and the loops between."""

from __future__ import annotations

from dalembert.compiler.graph import Scalar

from . import elementary, rare
from .compounds import Calling, Part, Product, Repeating, Visiting, Weighing
from .ir import Builder, Module
from .part_writer import PartWriter, operation
from .plan import SlotPlan, Subroutine
from .product import write_product
from .steps import Looped, Step
from .tiles import copy_runs, copy_state, table_entry
from .visits import write_visit
from .weights import write_weighted


def write_parts(module: Module, plan: SlotPlan, element: str, width: int, scatter: bool, prefix: str = "") -> list[str]:
    """An LLVM function for each part but loops and calls, and for each subroutine; returns the names of the parts."""
    optional = {id(p.subroutine) for p in plan.parts if isinstance(p, Repeating) and p.repeated.settled is not None}
    for subroutine in plan.subroutines:
        _write_subroutine(module, subroutine, element, width, id(subroutine) in optional)
    targets: dict[int, list[tuple[int, int]]] = {}  # node → places in the outputs, when they are stored at once
    if scatter:
        for k, output in enumerate(plan.function.outputs):
            for position, node in enumerate(output.nodes):
                targets.setdefault(node.id, []).append((k, position))
    names = []

    def write(part: Product | list[Step], name: str) -> None:
        b, constants = Builder(module, element, width), list[float]()
        if isinstance(part, Product):
            write_product(b, plan, part, name)
        else:
            writer = PartWriter(b, plan, targets)
            writer.write(part)
            constants = writer.numbers.values
        module.numbers(f"{name}.constants", constants, element)
        arguments = "ptr noalias %memory, ptr %outputs, ptr noalias %constants, ptr %items"
        module.define(b, f"define internal void @{name}({arguments})")

    for index, part in enumerate(plan.parts):
        names.append(f"{prefix}part{index}")
        if isinstance(part, Repeating):
            for k, steps in enumerate(part.before):
                write(steps, before_name(names[-1], k))
        elif isinstance(part, (Product, list)):
            write(part, names[-1])
    return names


def before_name(part: str, k: int) -> str:
    """The function of list k of the steps before the passes of a repetition."""
    return f"{part}.before{k}"


def _write_subroutine(module: Module, subroutine: Subroutine, element: str, width: int, optional: bool) -> None:
    """void @sub(ptr memory, ptr items): its parts, on separate memory. items: the moving pointer of a visit.

    optional: it may not be needed, and is apart from the module if it is large.
    """
    width *= subroutine.lanes
    inner = Module()
    names = write_parts(inner, subroutine.plan, element, width, scatter=False, prefix=f"{subroutine.name}.")
    b = Builder(inner, element, width)
    call_parts(b, subroutine.plan, names, "%memory", outputs="null", items="%items")
    b.do("ret void")
    if optional and sum(map(len, inner.parts.values())) >= rare.SMALLEST:
        inner.define(b, f"define void @{rare.ENTRY}(ptr %memory, ptr %items)")
        rare.write_stub(module, subroutine.name, inner.text(), subroutine.results, element, width)
    else:
        inner.define(b, f"define internal void @{subroutine.name}(ptr %memory, ptr %items)")
        module.parts |= inner.parts
    module.rare |= inner.rare


def call_parts(
    b: Builder,
    plan: SlotPlan,
    parts: list[str],
    memory: str,
    outputs: str = "%outputs",
    items: str = "null",
    groups: tuple[str, int] | None = None,
) -> None:
    """The parts in order; loops are written here. items: the moving pointer of a visit.

    groups: how many memories lie one after the other, and the bytes of one: each part is computed in all of them.
    """
    for part, name in zip(plan.parts, parts, strict=True):
        if groups is None:
            _compute_part(b, plan, part, name, memory, outputs, items)
            continue
        count, size = groups

        def again(group: str, carried: list[str], part: Part = part, name: str = name, size: int = size) -> list[str]:
            here = b.address(memory, b.op(f"mul i64 {group}, {size}"))
            _compute_part(b, plan, part, name, here, outputs, items)
            return carried

        b.repeat(f"{name}.groups", count, again)


def _compute_part(b: Builder, plan: SlotPlan, part: Part, name: str, memory: str, outputs: str, items: str) -> None:
    if isinstance(part, Looped):
        (_loop_over_states if plan.group == 1 else _loop_over_arguments)(b, plan, part, memory, name)
    elif isinstance(part, Calling):
        _call(b, part, memory)
    elif isinstance(part, Repeating):
        _repeat(b, part, memory, name, outputs, items)
    elif isinstance(part, Visiting):
        write_visit(b, part, memory)
    elif isinstance(part, Weighing):
        write_weighted(b, part, memory, plan.group, name)
    else:
        _call_part(b, name, memory, outputs, items)


def _call_part(b: Builder, name: str, memory: str, outputs: str, items: str) -> None:
    b.call(name, "void", ("ptr", memory), ("ptr", outputs), ("ptr", f"@{name}.constants"), ("ptr", items))


def _call(b: Builder, calling: Calling, memory: str) -> None:
    """Arguments to the subroutine's memory, the call, and its results back."""
    subroutine = calling.subroutine
    inner = b.address(memory, subroutine.base * b.stride)
    for slot, place in zip(calling.arguments, subroutine.inputs, strict=True):
        b.store(b.load(memory, slot), inner, place)
    b.call(subroutine.name, "void", ("ptr", inner), ("ptr", "null"))
    for k, place in enumerate(subroutine.results):
        b.store(b.load(inner, place), memory, calling.slot(k))


def _repeat(b: Builder, repeating: Repeating, memory: str, name: str, outputs: str, items: str) -> None:
    """Passes until every lane has settled; a lane that has keeps its state. name: of the part."""
    repeated, step = repeating.repeated, repeating.subroutine
    inner = b.address(memory, step.base * b.stride)
    start = [(slot, step.base + place) for slot, place in zip(repeating.start, step.inputs, strict=True)]
    copy_state(b, start, memory, step.plan.group, f"{step.name}.start")
    b.store(b.const(0.0), memory, repeating.passes)
    moves = [(result, place) for result, place in zip(step.results, step.inputs, strict=True) if result != place]

    def going() -> str:
        assert repeated.settled is not None
        return b.compare("oeq", b.load(inner, step.inputs[repeated.settled]), b.const(0.0))

    def one_pass(index: str, carried: list[str]) -> list[str]:
        b.call(step.name, "void", ("ptr", inner), ("ptr", "null"))
        more = b.const(1.0)
        if repeated.settled is None or b.width == 1:
            copy_state(b, moves, inner, step.plan.group, f"{step.name}.state")
        else:
            moving = going()
            more = b.select(moving, more, b.const(0.0))
            copy_state(b, moves, inner, step.plan.group, f"{step.name}.state", moving)
        b.store(b.add(b.load(memory, repeating.passes), more), memory, repeating.passes)
        return carried

    def passes() -> None:
        for k in range(len(repeating.before)):
            _call_part(b, before_name(name, k), memory, outputs, items)
        again = None if repeated.settled is None else lambda: b.any(going())
        b.repeat(f"{step.name}.passes", str(repeated.times), one_pass, [], again)

    if repeated.settled is None:
        passes()
    else:
        b.branch(b.any(going()), step.name, passes)


def _loop_over_states(b: Builder, plan: SlotPlan, loop: Looped, memory: str, name: str) -> None:
    """Lanes are states; one argument after the other."""
    table = b.module.table(f"{name}.arguments", [plan.slots[a.id] for a in loop.arguments])
    results = 2 if loop.kind == "sincos" else 1

    def body(index: str, carried: list[str]) -> list[str]:
        slot = table_entry(b, table, index)
        x = b.load(b.address(memory, b.op(f"mul i64 {slot}, {b.stride}")), 0)
        offset = b.op(f"add i64 {b.op(f'mul i64 {index}, {results * b.stride}')}, {loop.base * b.stride}")
        _apply(b, loop.kind, x, b.address(memory, offset))
        return carried

    b.repeat(f"{name}.each", str(len(loop.arguments)), body)


def _loop_over_arguments(b: Builder, plan: SlotPlan, loop: Looped, memory: str, name: str) -> None:
    """One state: lanes are arguments."""
    lanes, arguments = loop.lanes(plan.group), loop.arguments
    wide = b.wide(lanes)
    for start in range(0, len(arguments), lanes):
        x = wide.const(0.0)
        for lane, argument in enumerate(arguments[start : start + lanes]):
            element = b.load(memory, plan.slots[argument.id])
            x = b.op(f"insertelement {wide.type} {x}, {b.element} {element}, i32 {lane}") if lanes > 1 else element
        _apply(wide, loop.kind, x, b.address(memory, loop.slot(start, 0, plan.group) * b.size))


def _apply(b: Builder, kind: str, x: str, place: str) -> None:
    if kind == "sincos":
        b.call(elementary.sincos(b.module, b.element, b.width), "void", (b.type, x), ("ptr", place))
    else:
        b.store(operation(b, kind, [x]), place, 0)


def store_leaves(b: Builder, plan: SlotPlan, memory: str, pointer: str, nodes: tuple[Scalar, ...], name: str) -> None:
    """Outputs of one state that no step computes: constants but 0, inputs, results of loops, entries of products."""
    done = {s.node.id for part in plan.parts if isinstance(part, list) for s in part} | {
        n.id for n in nodes if is_zero(n)
    }
    leaves = [(plan.slots[n.id], position) for position, n in enumerate(nodes) if n.id not in done]
    copy_runs(b, leaves, memory, pointer, plan.group, name)


def is_zero(node: Scalar) -> bool:
    return node.op == "const" and node.value == 0
