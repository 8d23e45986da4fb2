"""The computation of a plan as LLVM IR: a function for each part, called one after the other, and the loops between."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dalembert.graph import Scalar
from dalembert.graph.lookup import Table

from . import elementary
from .ir import Builder, Module
from .items import load_common, load_moving, store_moving, write_items
from .packs import LANES, Pack, Signed
from .plan import Calling, Items, Product, Repeating, SlotPlan, Subroutine
from .product import write_product
from .steps import Looped, Step
from .tiles import copy_runs, copy_state, table_entry

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

    def write(part: Product | list[Step], name: str) -> None:
        b, constants = Builder(module, element, width), list[float]()
        if isinstance(part, Product):
            write_product(b, plan, part, name)
        else:
            writer = _PartWriter(b, plan, targets)
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


def _write_subroutine(module: Module, subroutine: Subroutine, element: str, width: int) -> None:
    """void @sub(ptr memory, ptr items): its parts, on separate memory. items: the moving pointer of a scan."""
    width *= subroutine.lanes
    names = write_parts(module, subroutine.plan, element, width, scatter=False, prefix=f"{subroutine.name}.")
    b = Builder(module, element, width)
    call_parts(b, subroutine.plan, names, "%memory", outputs="null", items="%items")
    b.do("ret void")
    module.define(b, f"define internal void @{subroutine.name}(ptr %memory, ptr %items)")


class Numbers:
    """The constants that a part reads from its table; a number in the code would need an instruction for its address."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._places: dict[tuple[float, ...], int] = {}

    def place(self, *values: float) -> int:
        """Where these numbers are, in a row."""
        if values not in self._places:
            self._places[values] = len(self.values)
            self.values += values
        return self._places[values]


class _PartWriter:
    """Writes the steps of a part. targets: node → places in the outputs, for results that are stored at once."""

    def __init__(self, b: Builder, plan: SlotPlan, targets: dict[int, list[tuple[int, int]]]) -> None:
        self.b, self.plan, self.targets, self.numbers = b, plan, targets, Numbers()
        self.wide = b.wide(LANES)
        self.caller = b.wide(1) if plan.view and plan.view.lanes > 1 else b
        self.values: dict[int, str] = {}
        self.vectors: dict[tuple[Signed, ...], str] = {}
        self.pointers: dict[int, str] = {}

    def write(self, steps: list[Step]) -> None:
        for step in steps:
            pack = None if self.plan.packing is None else self.plan.packing.pack(step.node)
            if pack is None:
                self.step(step)
            elif pack.nodes[0] is step.node:
                self.pack(pack)
        self.b.do("ret void")

    def value(self, node: Scalar) -> str:
        """A number, from where it is."""
        b, plan, values = self.b, self.plan, self.values
        if node.op == "const" and (node.value == 0 or node.boolean):
            return b.const(node.value)
        if node.id in values:
            return values[node.id]
        if node.op == "const":
            place = b.address("%constants", self.numbers.place(node.value) * b.size)
            values[node.id] = b.splat(b.op(f"load {b.element}, ptr {place}, !invariant.load !2"))
            return values[node.id]
        if node.id in plan.moving:
            loaded = load_moving(b, "%items", plan.moving[node.id] * self.caller.stride)
        elif node.id in plan.common:
            loaded = load_common(self.caller, b, "%memory", plan.common[node.id])
        else:
            loaded = b.load("%memory", plan.slots[node.id])
        values[node.id] = b.compare("une", loaded, b.const(0.0)) if node.boolean else loaded
        return values[node.id]

    def step(self, step: Step) -> None:
        arguments = [self.value(a) for a in step.args]
        if step.op == "lookup":
            table, column = step.node.value
            result = lookup(self.b, table, column, arguments[0])
        else:
            result = operation(self.b, step.op, arguments)
        self.values[step.node.id] = result
        self.keep(step.node)

    def keep(self, node: Scalar) -> None:
        """Store a result that has just been computed wherever it is needed."""
        b, plan = self.b, self.plan
        if node.id in plan.slots:
            result = self.value(node)
            number = b.select(result, b.const(1.0), b.const(0.0)) if node.boolean else result
            b.store(number, "%memory", plan.slots[node.id])
        self.put_out(node)

    def put_out(self, node: Scalar) -> None:
        """Store a result as a record of a scan and as output."""
        b, plan = self.b, self.plan
        for slot in plan.records.get(node.id, ()):
            store_moving(b, self.value(node), "%items", slot * self.caller.stride)
        for k, position in self.targets.get(node.id, ()):
            if k not in self.pointers:
                self.pointers[k] = b.op(f"load ptr, ptr {b.address('%outputs', 8 * k)}")
            place = b.address(self.pointers[k], position * b.size)
            b.do(f"store {b.element} {self.value(node)}, ptr {place}, align {b.size}")

    # ---- lanes

    def pack(self, pack: Pack) -> None:
        """One instruction for all lanes; then each lane where it is needed."""
        b, wide, plan = self.b, self.wide, self.plan
        vector = pack_operation(wide, pack, self.vector)
        self.vectors[tuple(Signed(node, 1) for node in pack.nodes)] = vector
        for lane, node in enumerate(pack.nodes):  # where nothing takes it, LLVM leaves it out
            self.values[node.id] = b.op(f"extractelement {wide.type} {vector}, i32 {lane}")
        slots = [plan.slots.get(node.id, -1) for node in pack.nodes]
        if in_row(slots):
            store_moving(wide, vector, "%memory", slots[0] * b.size)
        for node in pack.nodes:
            (self.put_out if in_row(slots) else self.keep)(node)

    def vector(self, place: tuple[Signed, ...]) -> str:
        """The numbers of all lanes."""
        if place not in self.vectors:
            self.vectors[place] = self._vector(place)
        return self.vectors[place]

    def _vector(self, place: tuple[Signed, ...]) -> str:
        b, wide, plan = self.b, self.wide, self.plan
        nodes = [x.node for x in place]
        if all(node.op == "const" for node in nodes):
            numbers = self.numbers.place(*(x.sign * x.node.value for x in place))
            return wide.op(
                f"load {wide.type}, ptr {b.address('%constants', numbers * b.size)}, align {b.size}, !invariant.load !2"
            )
        if any(x.sign < 0 for x in place):
            x = self.vector(tuple(Signed(node, 1) for node in nodes))
            if all(x.sign < 0 for x in place):
                return wide.neg(x)
            signs = ", ".join(f"i{b.bits} {0 if x.sign > 0 else -(1 << (b.bits - 1))}" for x in place)
            return wide.from_bits(wide.integer("xor", wide.to_bits(x), f"<{signs}>"))
        if len({node.id for node in nodes}) == 1:
            return wide.splat(self.value(nodes[0]))
        slots = [plan.slots.get(node.id, -1) for node in nodes]
        if in_row(slots) and not any(node.id in self.values for node in nodes):
            return load_moving(wide, "%memory", slots[0] * b.size)
        vector = "poison"
        for lane, node in enumerate(nodes):
            vector = wide.op(f"insertelement {wide.type} {vector}, {b.element} {self.value(node)}, i32 {lane}")
        return vector


def in_row(slots: Sequence[int]) -> bool:
    """Whether these are slots, one after the other."""
    return slots[0] >= 0 and list(slots) == list(range(slots[0], slots[0] + len(slots)))


def pack_operation(b: Builder, pack: Pack, vector: Callable[[tuple[Signed, ...]], str]) -> str:
    """The instruction of a pack. Signs that are alike on all lanes choose it; others change its operands."""
    places = pack.operands
    signs = [places[k][0].sign if len({x.sign for x in place}) == 1 else 0 for k, place in enumerate(places)]
    if pack.op in ("mul", "fma", "div"):  # all signs of a product on its first factor
        first = tuple(Signed(x.node, x.sign * y.sign) for x, y in zip(*places[:2], strict=True))
        second = tuple(Signed(y.node, 1) for y in places[1])
        if all(y.op == "const" for y, _ in second):
            first, second = tuple(Signed(x.node, 1) for x in first), tuple(
                Signed(y.node, x.sign) for x, y in zip(first, second, strict=True)
            )
        arguments = [vector(first), vector(second), *map(vector, places[2:])]
        return operation(b, pack.op, arguments)
    if pack.op == "add" and -1 in signs:
        k = signs.index(-1)
        positive = tuple(Signed(x.node, 1) for x in places[k])
        return operation(b, "sub", [vector(places[1 - k]), vector(positive)])
    return operation(b, pack.op, [vector(place) for place in places])


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
            _repeat(b, part, memory, name, outputs, items)
        elif isinstance(part, Items):
            write_items(b, part, memory)
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
