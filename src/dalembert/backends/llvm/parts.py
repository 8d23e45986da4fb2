"""The computation of a plan as LLVM IR: a function for each part, called one after the other, and the loops between."""

from __future__ import annotations

from dalembert.graph import Scalar
from dalembert.graph.lookup import Table

from . import elementary
from .ir import Builder, Module
from .items import load_common, load_moving, store_moving, write_items
from .plan import Calling, Items, Product, Repeating, SlotPlan, Subroutine, Visiting
from .product import write_product
from .steps import Looped, Step
from .tiles import copy_runs, copy_state, table_entry
from .visits import write_visit

PREDICATE = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}


def write_parts(module: Module, plan: SlotPlan, element: str, width: int, scatter: bool, prefix: str = "") -> list[str]:
    """An LLVM function for each part but loops and calls, and for each subroutine; returns the names of the parts."""
    for subroutine in plan.subroutines.values():
        _write_subroutine(module, subroutine, element, width)
    targets: dict[int, list[tuple[int, int]]] = {}  # node → places in the outputs, when they are stored at once
    if scatter:
        for k, output in enumerate(plan.function.outputs):
            for position, node in enumerate(output.nodes):
                targets.setdefault(node.id, []).append((k, position))
    names = []
    for index, part in enumerate(plan.parts):
        name = f"{prefix}part{index}"
        names.append(name)
        b = Builder(module, element, width)
        if isinstance(part, (Looped, Calling, Repeating, Items, Visiting)):
            continue
        constants: dict[float, int] = {}
        if isinstance(part, Product):
            write_product(b, plan, part, name)
        else:
            _write_part(b, plan, part, targets, constants)
        module.numbers(f"{name}.constants", constants, element)
        arguments = "ptr noalias %memory, ptr %outputs, ptr noalias %constants, ptr %items"
        module.define(b, f"define internal void @{name}({arguments})")
    return names


def _write_subroutine(module: Module, subroutine: Subroutine, element: str, width: int) -> None:
    """void @sub(ptr memory, ptr items): its parts, on separate memory. items: the moving pointer of a scan."""
    width *= subroutine.lanes
    names = write_parts(module, subroutine.plan, element, width, scatter=False, prefix=f"{subroutine.name}.")
    b = Builder(module, element, width)
    call_parts(b, subroutine.plan, names, "%memory", outputs="null", items="%items")
    b.do("ret void")
    module.define(b, f"define internal void @{subroutine.name}(ptr %memory, ptr %items)")


def _write_part(
    b: Builder,
    plan: SlotPlan,
    steps: list[Step],
    targets: dict[int, list[tuple[int, int]]],
    constants: dict[float, int],
) -> None:
    """constants: collects the numbers that the part reads from its table, each with its place in it.

    A number in the code would need an extra instruction for its address.
    """
    values: dict[int, str] = {}
    pointers: dict[int, str] = {}
    caller = b.wide(1) if plan.view and plan.view.lanes > 1 else b

    def value(node: Scalar) -> str:
        if node.op == "const" and (node.value == 0 or node.boolean):
            return b.const(node.value)
        if node.op == "const" and node.id not in values:
            place = constants.setdefault(node.value, len(constants))
            number = b.op(f"load {b.element}, ptr {b.address('%constants', place * b.size)}, !invariant.load !2")
            values[node.id] = b.splat(number)
        if node.id not in values:
            if node.id in plan.moving:
                loaded = load_moving(b, "%items", plan.moving[node.id] * caller.stride)
            elif node.id in plan.common:
                loaded = load_common(caller, b, "%memory", plan.common[node.id])
            else:
                loaded = b.load("%memory", plan.slots[node.id])
            values[node.id] = b.compare("une", loaded, b.const(0.0)) if node.boolean else loaded
        return values[node.id]

    for step in steps:
        arguments = [value(a) for a in step.args]
        if step.op == "lookup":
            table, column = step.node.value
            result = lookup(b, table, column, arguments[0])
        else:
            result = operation(b, step.op, arguments)
        values[step.node.id] = result
        if step.node.id in plan.slots:
            number = b.select(result, b.const(1.0), b.const(0.0)) if step.node.boolean else result
            b.store(number, "%memory", plan.slots[step.node.id])
        for slot in plan.records.get(step.node.id, ()):
            store_moving(b, result, "%items", slot * caller.stride)
        for k, position in targets.get(step.node.id, ()):
            if k not in pointers:
                pointers[k] = b.op(f"load ptr, ptr {b.address('%outputs', 8 * k)}")
            b.do(f"store {b.element} {result}, ptr {b.address(pointers[k], position * b.size)}, align {b.size}")
    b.do("ret void")


def operation(b: Builder, op: str, x: list[str]) -> str:
    """The instructions of one operation."""
    match op:
        case "add" | "sub" | "mul" | "div":
            return b.binary("f" + op, *x)
        case "neg":
            return b.neg(*x)
        case "fma":
            return b.fma(*x)
        case "fms":
            return b.fma(x[0], x[1], b.neg(x[2]))
        case "fnma":
            return b.fma(b.neg(x[0]), x[1], x[2])
        case "sqrt":
            return b.intrinsic("sqrt", *x)
        case "abs":
            return b.intrinsic("fabs", *x)
        case "min" | "max":
            return b.intrinsic(op + "imum", *x)
        case "floor":  # by rounding: llvm.floor is a call on processors without an instruction for it
            rounded = b.intrinsic("rint", *x)
            return b.select(b.compare("ogt", rounded, x[0]), b.sub(rounded, b.const(1.0)), rounded)
        case "sign":
            negative = b.select(b.compare("olt", x[0], b.const(0.0)), b.const(-1.0), x[0])
            return b.select(b.compare("ogt", x[0], b.const(0.0)), b.const(1.0), negative)
        case "lt" | "le" | "eq" | "ne":
            return b.compare(PREDICATE[op], *x)
        case "and" | "or":
            return b.op(f"{op} {b.bool_type} {x[0]}, {x[1]}")
        case "not":
            return b.op(f"xor {b.bool_type} {x[0]}, {'true' if b.width == 1 else 'splat (i1 true)'}")
        case "where":
            return b.select(*x)
        case "exp" | "log" | "tanh" | "atan2":
            return b.call(elementary.function(b.module, op, b.element, b.width), b.type, *[(b.type, a) for a in x])
    raise AssertionError(op)


def lookup(b: Builder, table: Table, column: int, index: str) -> str:
    """Number `column` of row floor(index) of a table; each lane has its own row."""
    rows, columns = table.numbers.shape
    name = f"table.{table.digest[:16]}"
    if name not in b.module.parts:
        b.module.numbers(name, table.numbers.ravel().tolist(), b.element)
    known = b.compare("ord", index, index)
    last = b.const(rows - 1.0)
    within = b.select(b.compare("ogt", index, b.const(0.0)), index, b.const(0.0))  # 0 for NaN
    place = b.to_integer(b.select(b.compare("ogt", within, last), last, within))
    place = b.integer("add", b.integer("mul", place, b.int_const(columns)), b.int_const(column))
    return b.select(known, b.gather(f"@{name}", place), index)


def call_parts(
    b: Builder, plan: SlotPlan, parts: list[str], memory: str, outputs: str = "%outputs", items: str = "null"
) -> None:
    """The parts in order; loops are written here. items: the moving pointer of a scan."""
    for part, name in zip(plan.parts, parts, strict=True):
        if isinstance(part, Looped):
            (_loop_over_states if plan.group == 1 else _loop_over_arguments)(b, plan, part, memory, name)
        elif isinstance(part, Calling):
            _call(b, part, memory)
        elif isinstance(part, Repeating):
            _repeat(b, part, memory)
        elif isinstance(part, Items):
            write_items(b, part, memory)
        elif isinstance(part, Visiting):
            write_visit(b, part, memory)
        else:
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


def _repeat(b: Builder, repeating: Repeating, memory: str) -> None:
    """Passes until every lane has settled; a lane that has keeps its state."""
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
