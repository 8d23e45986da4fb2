"""A small writer of LLVM IR text for vectors of one type and width.

Text is written directly because a function has tens of thousands of operations and building IR objects for them
costs more than compiling them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from itertools import count

BITS = {"double": 64, "float": 32}


def literal(value: float, element: str) -> str:
    """A floating-point constant, exactly (LLVM writes both types as the bits of a double)."""
    if element == "float":
        try:
            value = struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            value = float("inf") if value > 0 else float("-inf")
    return f"0x{struct.unpack('Q', struct.pack('d', value))[0]:016X}"


class Module:
    """Functions, constants and declarations of one module. rare: texts of branches of its own, by their digests."""

    def __init__(self) -> None:
        self.parts: dict[str, str] = {}  # by name, so that a helper function is written once
        self.rare: dict[str, str] = {}

    def declare(self, name: str, result: str, arguments: Iterable[str]) -> None:
        self.parts.setdefault(name, f"declare {result} @{name}({', '.join(arguments)})")

    def table(self, name: str, values: Iterable[int]) -> str:
        """A constant array of 32-bit integers; returns its address."""
        values = list(values)
        self.parts[name] = (
            f"@{name} = internal constant [{len(values)} x i32] [{', '.join(f'i32 {v}' for v in values)}]"
        )
        return f"@{name}"

    def numbers(self, name: str, values: Iterable[float], element: str) -> None:
        """A constant array of floating-point numbers."""
        listed = [f"{element} {literal(v, element)}" for v in values]
        self.parts[name] = f"@{name} = internal constant [{len(listed)} x {element}] [{', '.join(listed)}]"
        self.parts["invariant"] = "!2 = !{}"

    def matrix(self, name: str, values: bytes) -> None:
        """A constant array of these bytes, aligned to a cache line: a text that LLVM reads fast."""
        text = "\\" + values.hex("\\")
        self.parts.setdefault(name, f'@{name} = internal constant [{len(values)} x i8] c"{text}", align 64')

    def nontemporal(self) -> str:
        """The suffix that makes a store bypass the cache."""
        self.parts["nontemporal"] = "!1 = !{i32 1}"
        return ", !nontemporal !1"

    def define(self, builder: Builder, head: str) -> None:
        """Add a function: `head` is all of `define … @name(…) …` before the body.

        None throws, and none may have tables for unwinding: the process would keep them after the code is gone, and
        crash when something next walks the stack, as NumPy does for large temporaries and C++ for every exception.
        """
        name = head[head.index("@") + 1 : head.index("(")]
        self.parts[name] = f"{head} nounwind {{\nentry:\n" + "\n".join(builder.body.lines) + "\n}"

    def text(self) -> str:
        return "\n".join(self.parts.values()) + "\n"


class FunctionBody:
    """The instructions of a function while it is written."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.block = "entry"  # name of the basic block being written
        self.names = count()


class Builder:
    """Appends instructions on values of type <width x element> (a plain element when width is 1)."""

    def __init__(self, module: Module, element: str, width: int, body: FunctionBody | None = None) -> None:
        self.module, self.element, self.width, self.bits = module, element, width, BITS[element]
        self.body = body or FunctionBody()
        self.type = self._vector(element)
        self.int_type = self._vector(f"i{self.bits}")
        self.bool_type = self._vector("i1")
        self.suffix = f"f{self.bits}" if width == 1 else f"v{width}f{self.bits}"
        self.size = self.bits // 8  # bytes of one element
        self.stride = self.size * width  # bytes of one value

    def wide(self, width: int) -> Builder:
        """A builder of another width that writes into the same function."""
        return Builder(self.module, self.element, width, self.body)

    def _vector(self, scalar: str) -> str:
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    # ---- raw text

    def op(self, text: str) -> str:
        """Append `%n = text` and return `%n`."""
        name = f"%v{next(self.body.names)}"
        self.body.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.body.lines.append("  " + text)

    def label(self, name: str) -> None:
        """Start a basic block."""
        self.body.lines.append(f"{name}:")
        self.body.block = name

    def repeat(
        self,
        name: str,
        times: str,
        body: Callable[[str, list[str]], list[str]],
        start: Sequence[str] = (),
        again: Callable[[], str] | None = None,
    ) -> list[str]:
        """carried = body(index, carried), `times` ≥ 1 times from `start`; returns the last carried values.

        again: writes the condition (i1), after a pass, for another one.
        """
        before = self.body.block
        self.do(f"br label %{name}.loop")
        self.label(f"{name}.loop")
        place = len(self.body.lines)
        names = [f"%{name}.carried{k}" for k in range(len(start))]
        result = body(f"%{name}.index", names)
        following = self.op(f"add i64 %{name}.index, 1")
        end = self.body.block
        incoming = [(f"%{name}.index", "i64", "0", following)]
        incoming += [(n, self.type, first, later) for n, first, later in zip(names, start, result, strict=True)]
        self.body.lines[place:place] = [
            f"  {n} = phi {type} [ {first}, %{before} ], [ {later}, %{end} ]" for n, type, first, later in incoming
        ]
        more = self.op(f"icmp slt i64 {following}, {times}")
        if again is not None:
            more = self.op(f"and i1 {more}, {again()}")
        self.do(f"br i1 {more}, label %{name}.loop, label %{name}.done")
        self.label(f"{name}.done")
        return result

    def branch(
        self, condition: str, name: str, then: Callable[[], None], otherwise: Callable[[], None] | None = None
    ) -> None:
        """Write `then`, run where the condition (i1) holds, and `otherwise`, run elsewhere."""
        self.do(f"br i1 {condition}, label %{name}.then, label %{name}.{'else' if otherwise else 'next'}")
        self.label(f"{name}.then")
        then()
        self.do(f"br label %{name}.next")
        if otherwise:
            self.label(f"{name}.else")
            otherwise()
            self.do(f"br label %{name}.next")
        self.label(f"{name}.next")

    # ---- constants

    def const(self, value: float) -> str:
        text = literal(value, self.element)
        return text if self.width == 1 else f"splat ({self.element} {text})"

    def int_const(self, value: int) -> str:
        return str(value) if self.width == 1 else f"splat (i{self.bits} {value})"

    def splat(self, number: str) -> str:
        """A number in every lane."""
        if self.width == 1:
            return number
        first = self.op(f"insertelement {self.type} poison, {self.element} {number}, i32 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.op(f"shufflevector {self.type} {first}, {self.type} poison, {zeros}")

    # ---- arithmetic

    def binary(self, name: str, x: str, y: str) -> str:
        return self.op(f"{name} {self.type} {x}, {y}")

    def add(self, x: str, y: str) -> str:
        return self.binary("fadd", x, y)

    def sub(self, x: str, y: str) -> str:
        return self.binary("fsub", x, y)

    def mul(self, x: str, y: str) -> str:
        return self.binary("fmul", x, y)

    def div(self, x: str, y: str) -> str:
        return self.binary("fdiv", x, y)

    def neg(self, x: str) -> str:
        return self.op(f"fneg {self.type} {x}")

    def intrinsic(self, name: str, *args: str) -> str:
        """A floating-point intrinsic: fma, sqrt, fabs, rint, minimum, maximum, copysign …"""
        return self.call(f"llvm.{name}.{self.suffix}", self.type, *[(self.type, a) for a in args], declare=True)

    def call(self, function: str, result: str, *args: tuple[str, str], declare: bool = False) -> str:
        """Call with (type, value) arguments; `declare` for intrinsics and outside symbols."""
        if declare:
            self.module.declare(function, result, [t for t, _ in args])
        text = f"call {result} @{function}({', '.join(f'{t} {a}' for t, a in args)})"
        if result == "void":
            self.do(text)
            return ""
        return self.op(text)

    def fma(self, x: str, y: str, z: str) -> str:
        """x·y + z, rounded once where the processor can do that in one instruction."""
        return self.intrinsic("fmuladd", x, y, z)

    def horner(self, x: str, coefficients: Iterable[float]) -> str:
        """Polynomial in x, highest power first."""
        first, *lower = coefficients
        y = self.const(first)
        for c in lower:
            y = self.fma(y, x, self.const(c))
        return y

    # ---- choices and bits

    def compare(self, predicate: str, x: str, y: str) -> str:
        return self.op(f"fcmp {predicate} {self.type} {x}, {y}")

    def select(self, condition: str, x: str, y: str) -> str:
        return self.op(f"select {self.bool_type} {condition}, {self.type} {x}, {self.type} {y}")

    def integer(self, name: str, x: str, y: str) -> str:
        return self.op(f"{name} {self.int_type} {x}, {y}")

    def to_bits(self, x: str) -> str:
        return self.op(f"bitcast {self.type} {x} to {self.int_type}")

    def from_bits(self, x: str) -> str:
        return self.op(f"bitcast {self.int_type} {x} to {self.type}")

    def to_integer(self, x: str) -> str:
        return self.op(f"fptosi {self.type} {x} to {self.int_type}")

    def to_float(self, x: str) -> str:
        return self.op(f"sitofp {self.int_type} {x} to {self.type}")

    def any(self, condition: str) -> str:
        """i1: does the condition hold in any lane?"""
        if self.width == 1:
            return condition
        return self.call(f"llvm.vector.reduce.or.v{self.width}i1", "i1", (self.bool_type, condition), declare=True)

    # ---- memory: tiles are arrays of values, aligned to one value

    def address(self, base: str, byte: int | str) -> str:
        return base if byte == 0 else self.op(f"getelementptr i8, ptr {base}, i64 {byte}")

    def load(self, base: str, slot: int) -> str:
        return self.op(f"load {self.type}, ptr {self.address(base, slot * self.stride)}, align {self.stride}")

    def store(self, x: str, base: str, slot: int) -> None:
        self.do(f"store {self.type} {x}, ptr {self.address(base, slot * self.stride)}, align {self.stride}")

    def gather(self, base: str, index: str) -> str:
        """Elements of an array, each lane at its own index."""
        if self.width == 1:
            place = self.op(f"getelementptr {self.element}, ptr {base}, {self.int_type} {index}")
            return self.op(f"load {self.element}, ptr {place}, align {self.size}")
        places = self.op(f"getelementptr {self.element}, ptr {base}, {self.int_type} {index}")
        pointers = f"<{self.width} x ptr>"
        return self.call(
            f"llvm.masked.gather.{self.suffix}.v{self.width}p0",
            self.type,
            (pointers, places),
            ("i32", str(self.size)),
            (self.bool_type, "splat (i1 true)"),
            (self.type, "poison"),
            declare=True,
        )

    def scatter(self, x: str, base: str, index: str) -> None:
        """Store to elements of an array, each lane to its own index."""
        places = self.op(f"getelementptr {self.element}, ptr {base}, {self.int_type} {index}")
        if self.width == 1:
            self.do(f"store {self.element} {x}, ptr {places}, align {self.size}")
            return
        self.call(
            f"llvm.masked.scatter.{self.suffix}.v{self.width}p0",
            "void",
            (self.type, x),
            (f"<{self.width} x ptr>", places),
            ("i32", str(self.size)),
            (self.bool_type, "splat (i1 true)"),
            declare=True,
        )

    def lanes(self) -> str:
        """The number of each lane, an integer."""
        if self.width == 1:
            return "0"
        return f"<{', '.join(f'i{self.bits} {k}' for k in range(self.width))}>"
