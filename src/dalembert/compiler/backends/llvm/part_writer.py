"""The steps of a part as LLVM IR: each operation on one number, or on all lanes of a pack."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dalembert.compiler.graph import Scalar
from dalembert.compiler.graph.lookup import ConstantTable

from . import elementary
from .ir import Builder
from .items import load_common, load_moving, store_moving
from .packs import LANES, Pack, Signed
from .plan import SlotPlan
from .steps import Step

PREDICATE = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}


class PartConstants:
    """The constants that a part reads from its table: one in the code would need an instruction for its address."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._places: dict[tuple[float, ...], int] = {}

    def place(self, *values: float) -> int:
        """Where these numbers are, in a row."""
        if values not in self._places:
            self._places[values] = len(self.values)
            self.values += values
        return self._places[values]


class PartWriter:
    """Writes the steps of a part. targets: node → places in the outputs, for results that are stored at once."""

    def __init__(self, b: Builder, plan: SlotPlan, targets: dict[int, list[tuple[int, int]]]) -> None:
        self.b, self.plan, self.targets, self.numbers = b, plan, targets, PartConstants()
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
        boolean = pack.nodes[0].boolean
        for lane, node in enumerate(pack.nodes):  # where nothing takes it, LLVM leaves it out
            kind = wide.bool_type if boolean else wide.type
            self.values[node.id] = b.op(f"extractelement {kind} {vector}, i32 {lane}")
        slots = [plan.slots.get(node.id, -1) for node in pack.nodes]
        if in_row(slots):
            numbers = wide.select(vector, wide.const(1.0), wide.const(0.0)) if boolean else vector
            store_moving(wide, numbers, "%memory", slots[0] * b.size)
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
        boolean = nodes[0].boolean
        if len({node.id for node in nodes}) == 1 and not boolean:
            return wide.splat(self.value(nodes[0]))
        slots = [plan.slots.get(node.id, -1) for node in nodes]
        if in_row(slots) and not any(node.id in self.values for node in nodes):
            loaded = load_moving(wide, "%memory", slots[0] * b.size)
            return wide.compare("une", loaded, wide.const(0.0)) if boolean else loaded
        vector, (kind, element) = "poison", (wide.bool_type, "i1") if boolean else (wide.type, b.element)
        for lane, node in enumerate(nodes):
            vector = wide.op(f"insertelement {kind} {vector}, {element} {self.value(node)}, i32 {lane}")
        return vector


def in_row(slots: Sequence[int]) -> bool:
    """Whether these are slots, one after the other."""
    return slots[0] >= 0 and list(slots) == list(range(slots[0], slots[0] + len(slots)))


def pack_operation(b: Builder, pack: Pack, vector: Callable[[tuple[Signed, ...]], str]) -> str:
    """The instruction of a pack. Signs that differ between lanes are changed on an operand, at best a constant."""
    places = pack.operands
    if pack.op in ("mul", "fma", "div"):  # all signs of a product on one factor
        signs = [x.sign * y.sign for x, y in zip(*places[:2], strict=True)]
        plain = [tuple(x.node for x in place) for place in places[:2]]
        k = int(all(node.op == "const" for node in plain[1]))
        factors = [tuple(Signed(node, 1) for node in nodes) for nodes in plain]
        factors[k] = tuple(Signed(node, sign) for node, sign in zip(plain[k], signs, strict=True))
        return operation(b, pack.op, [vector(place) for place in (*factors, *places[2:])])
    if pack.op == "add":
        for k, place in enumerate(places):
            if all(x.sign < 0 for x in place):
                subtracted = tuple(Signed(x.node, 1) for x in place)
                return operation(b, "sub", [vector(places[1 - k]), vector(subtracted)])
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


def lookup(b: Builder, table: ConstantTable, column: int, index: str) -> str:
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
