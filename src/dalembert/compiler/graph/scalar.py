"""Traced scalars: hash-consed nodes of an expression graph.

Arithmetic on a `Scalar` builds nodes instead of computing. Equal expressions are one node, constants fold,
0 and ±1 vanish, negations move outwards until a neighbour absorbs them, commutative operands have one order.
Folding takes every traced value as finite (x·0 = 0, 0/x = 0, x − x = 0) and divides by a constant through its
reciprocal (within 1 ulp); apart from that, and the sign of zero, an expression keeps its floating-point value.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

from .folding import DERIVED, REFLECTED, choose, moderate, power, scaled
from .lookup import ConstantTable, lookup
from .operations import BOOLEAN, CHOOSY, COMMUTATIVE, check_kinds, evaluate
from .product import product

NUMBERS = (int, float, bool, np.floating, np.integer, np.bool_)


class Graph:
    """Owner of the nodes of one trace; nodes are numbered in order of creation.

    size: how many nodes were made. compounds: nodes of compounds, by the ids of their arguments.
    """

    __slots__ = ("_constants", "_inputs", "_memo", "_results", "compounds", "size")

    def __init__(self) -> None:
        self.size = 0
        self._memo: dict[tuple, Scalar] = {}
        self._constants: dict[float | None, Scalar] = {}  # None: NaN, which equals nothing
        self._inputs: dict[str, list[Scalar]] = {}
        self._results: dict[int, list[Scalar]] = {}  # by the ids of their compounds
        self.compounds: dict[tuple[int, ...], list[Scalar]] = {}

    def close(self) -> None:
        """Drop all tables: nothing more is traced here, and nodes go with their last reference."""
        self.__init__()  # type: ignore[misc]

    def constant(self, value: Any) -> Scalar:
        """The node of a constant. Every NaN is one constant; -0.0 becomes 0.0."""
        value = float(value) + 0.0  # makes 0.0 of -0.0
        key = value if value == value else None
        node = self._constants.get(key)
        if node is None:
            node = self._constants[key] = Scalar(self, self.size, "const", (), nan if key is None else value)
            self.size += 1
        return node

    def input(self, name: str, size: int) -> np.ndarray:
        """The `size` elements of a named vector input, as an object array."""
        name, size = str(name), int(size)  # not NumPy's
        known = self._inputs.setdefault(name, [])
        if len(known) < size:
            first = self.size - len(known)
            known += [Scalar(self, first + i, "input", (), (name, i)) for i in range(len(known), size)]
            self.size = first + size
        elements = np.empty(size, object)
        elements[:] = known[:size]
        return elements

    def results(self, whole: Scalar, size: int) -> list[Scalar]:
        """The nodes of all results of a compound."""
        known = self._results.get(whole.id)
        if known is None:
            first, args = self.size, (whole,)
            known = self._results[whole.id] = [Scalar(self, first + k, "result", args, k) for k in range(size)]
            self.size += size
        return list(known)

    def node(self, op: str, *args: Scalar) -> Scalar:
        """The node `op(*args)`, existing or new. Commutative operands: constants first, then in order of creation."""
        if op in COMMUTATIVE and args[0].op != "const" and (args[0].id > args[1].id or args[1].op == "const"):
            args = (args[1], args[0])
        key = (op, args[0].id, args[1].id) if len(args) == 2 else (op, *[a.id for a in args])
        node = self._memo.get(key)
        if node is None:
            if op in CHOOSY or not BOOLEAN.isdisjoint([a.op for a in args]):
                check_kinds(op, args)
            node = self._memo[key] = self.new(op, args, None)
        return node

    def copied(self, op: str, args: tuple[Scalar, ...]) -> Scalar:
        """The node of a copy that cannot fold and does not exist yet."""
        if op in COMMUTATIVE and args[0].op != "const" and (args[0].id > args[1].id or args[1].op == "const"):
            args = (args[1], args[0])
        node = self._memo[(op, *[a.id for a in args])] = self.new(op, args, None)
        return node

    def find(self, op: str, a: Scalar, b: Scalar) -> Scalar | None:
        """The node `op(a, b)` if it exists."""
        return self._memo.get((op, a.id, b.id))

    def make(self, key: tuple, op: str, args: tuple[Scalar, ...], value: Any) -> Scalar:
        """The node known by `key`, created if it is new."""
        if key not in self._memo:
            self._memo[key] = self.new(op, args, value)
        return self._memo[key]

    def new(self, op: str, args: tuple[Scalar, ...], value: Any) -> Scalar:
        """A node that no table lists."""
        self.size += 1
        return Scalar(self, self.size - 1, op, args, value)


def _unary(op: str) -> Callable[[Scalar], Scalar]:
    def method(a: Scalar) -> Scalar:
        return a.__traced__(op, a)

    method.__name__, method.__doc__ = op, f"{op}(a)."
    return method


class TracedValueError(DalembertError):
    """A traced value was used where only a number will do."""


class Scalar:
    """One traced number (or boolean). Use it like a float; choose with `where`, never with `if`."""

    __slots__ = ("args", "graph", "id", "op", "value")  # value: of a constant; (name, index) of an input; else None

    def __init__(self, graph: Graph, id: int, op: str, args: tuple[Scalar, ...], value: Any) -> None:
        self.graph, self.id, self.op, self.args, self.value = graph, id, op, args, value

    def lift(self, x: Any) -> Scalar:
        """`x` as a node of this graph."""
        if isinstance(x, Scalar):
            if x.graph is not self.graph:
                raise TracedValueError(
                    "traced values of two different traces were combined: pass outside values into the traced "
                    "function as inputs, and do not keep traced values after the trace has ended"
                )
            return x
        if isinstance(x, NUMBERS):
            return self.graph.constant(x)
        raise TracedValueError(
            f"a traced value cannot be combined with {type(x).__name__} {x!r:.60}: use numbers or traced values"
        )

    def __repr__(self) -> str:
        if self.op == "const":
            return repr(self.value)
        if self.op == "input":
            return f"{self.value[0]}[{self.value[1]}]"
        return f"<traced {self.op} #{self.id}>"

    def __hash__(self) -> int:
        return self.id

    def __bool__(self) -> bool:
        if self.op == "const":
            return bool(self.value)
        raise TracedValueError(
            "a traced value has no truth value yet, so `if`, `while`, `and`, `or`, `min`, `max` cannot use it: "
            "write dalembert.math.where(condition, a, b), minimum, maximum, clip, or & | ~ between conditions "
            "(and compare arrays of traced values with np.less(a, b, dtype=object) or element by element)"
        )

    def _no_number(self, *_: Any) -> Any:
        if self.op == "const":
            return self.value
        raise TracedValueError(
            "a traced value has no number yet: use dalembert.math (sin, cos, sqrt, where, …) instead of the math "
            "module, and do not convert it to float or int"
        )

    def __float__(self) -> float:
        return float(self._no_number())

    def __int__(self) -> int:
        return int(self._no_number())

    __index__ = __int__

    # ---- arithmetic: each rule either folds, or moves a negation outwards, or makes the node

    def __add__(a, b: Any) -> Any:
        b = b if b.__class__ is Scalar and b.graph is a.graph else _lift_or_defer(a, b)
        if b is NotImplemented:
            return b
        if a.op == "const":
            a, b = b, a
        if b.op == "const":
            if a.op == "const":
                return a.graph.constant(a.value + b.value)
            if b.value == 0:
                return a
        if b.op == "neg":
            return a - b.args[0]
        if a.op == "neg":
            return b - a.args[0]
        return a.graph.node("add", a, b)

    __radd__ = __add__

    def __sub__(a, b: Any) -> Any:
        b = b if b.__class__ is Scalar and b.graph is a.graph else _lift_or_defer(a, b)
        if b is NotImplemented:
            return b
        if b.op == "const":
            if a.op == "const":
                return a.graph.constant(a.value - b.value)
            if b.value == 0:
                return a
        elif a.op == "const" and a.value == 0:
            return -b
        if a is b:
            return a.graph.constant(0.0)
        if b.op == "neg":
            return a + b.args[0]
        if a.op == "neg":
            return -(a.args[0] + b)
        mirrored = a.graph.find("sub", b, a)  # a − b and b − a share one difference
        return a.graph.node("sub", a, b) if mirrored is None else a.graph.node("neg", mirrored)

    def __rsub__(a, b: Any) -> Any:
        b = _lift_or_defer(a, b)
        return b if b is NotImplemented else b - a

    def __neg__(a) -> Scalar:
        if a.op == "const":
            return a.graph.constant(-a.value)
        if a.op == "neg":
            return a.args[0]
        return a.graph.node("neg", a)

    def __pos__(a) -> Scalar:
        return a

    def __mul__(a, b: Any) -> Any:
        b = b if b.__class__ is Scalar and b.graph is a.graph else _lift_or_defer(a, b)
        if b is NotImplemented:
            return b
        if b.op == "const":
            a, b = b, a
        if a.op == "const":
            return scaled(b, a.value)
        if a.op == "neg":
            return -(a.args[0] * b)
        if b.op == "neg":
            return -(a * b.args[0])
        return a.graph.node("mul", a, b)

    __rmul__ = __mul__

    def __truediv__(a, b: Any) -> Any:
        b = b if b.__class__ is Scalar and b.graph is a.graph else _lift_or_defer(a, b)
        if b is NotImplemented:
            return b
        if b.op == "const":
            if a.op == "const":
                return a.graph.constant(evaluate("div", a.value, b.value))
            if moderate(b.value):
                return scaled(a, 1.0 / b.value)
        if a.op == "const" and a.value == 0:
            return a
        if a.op == "neg":
            return -(a.args[0] / b)
        if b.op == "neg":
            return -(a / b.args[0])
        return a.graph.node("div", a, b)

    def __rtruediv__(a, b: Any) -> Any:
        b = _lift_or_defer(a, b)
        return b if b is NotImplemented else b / a

    def __pow__(a, n: Any) -> Any:
        """Whole and half constant powers by multiplication (and a root); any other as exp(n log a), for a > 0."""
        n = _lift_or_defer(a, n)
        if n is NotImplemented:
            return n
        if n.op == "const" and (2 * n.value).is_integer() and abs(n.value) <= 1024:
            base, exponent = (a, n.value) if n.value.is_integer() else (a.sqrt(), 2 * n.value)
            return power(base, int(exponent)) if exponent >= 0 else 1.0 / power(base, int(-exponent))
        return (a.log() * n).exp()

    def __rpow__(a, base: Any) -> Any:
        base = _lift_or_defer(a, base)
        return base if base is NotImplemented else base**a

    def __mod__(a, b: Any) -> Scalar:
        raise TracedValueError("a traced value has no remainder: wrap angles with atan2(sin(x), cos(x))")

    __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = __mod__

    def __lt__(a, b: Any) -> Any:
        return _condition("lt", a, b)

    def __le__(a, b: Any) -> Any:
        return _condition("le", a, b)

    def __gt__(a, b: Any) -> Any:
        return _condition("lt", a, b, swap=True)

    def __ge__(a, b: Any) -> Any:
        return _condition("le", a, b, swap=True)

    def __eq__(a, b: Any) -> Any:
        return _condition("eq", a, b)

    def __ne__(a, b: Any) -> Any:
        return _condition("ne", a, b)

    def __and__(a, b: Any) -> Any:
        return _condition("and", a, b)

    def __or__(a, b: Any) -> Any:
        return _condition("or", a, b)

    __rand__, __ror__ = __and__, __or__

    def __invert__(a) -> Any:
        return a.__traced__("not", a)

    @property
    def boolean(self) -> bool:
        """Whether this node is a truth value (of a comparison or of logic)."""
        return self.op in BOOLEAN

    # ---- functions: `np.sin(array of traced scalars)` finds them as methods, `dalembert.math` as __traced__
    def __traced__(self, op: str, *args: Any) -> Scalar:
        """Apply an operation, any of whose arguments may be a plain number."""
        nodes = [self.lift(x) for x in args]
        if op in DERIVED:
            return DERIVED[op](*nodes)
        if op == "where":
            return choose(*nodes)
        if all(x.op == "const" for x in nodes):
            return self.graph.constant(evaluate(op, *[x.value for x in nodes]))
        if op in REFLECTED and nodes[0].op == "neg":
            inner = self.graph.node(op, nodes[0].args[0])
            return -inner if REFLECTED[op] < 0 else inner
        if op in ("min", "max", "and", "or") and nodes[0] is nodes[1]:
            return nodes[0]
        if op in ("and", "or") and (nodes[0].op == "const" or nodes[1].op == "const"):
            known, other = nodes if nodes[0].op == "const" else nodes[::-1]
            return other if bool(known.value) == (op == "and") else self.graph.constant(known.value != 0)
        if op == "not" and nodes[0].op == "not":
            return nodes[0].args[0]
        return self.graph.node(op, *nodes)

    def __product__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """The matrix product A B."""
        return product(self.graph, A, B)

    def __repeat__(self, *arguments: Any) -> dict[str, Any]:
        """A repetition in this graph: see `dalembert.math.repeat`."""
        from .repeat import repeat

        return repeat(self.graph, *arguments)

    def __scan__(self, *arguments: Any) -> dict[str, Any]:
        """A function over items in this graph: see `dalembert.math.scan`."""
        from .visit import scan

        return scan(self.graph, *arguments)

    def __visit__(self, *arguments: Any) -> dict[str, np.ndarray]:
        """Items that read and write rows of a table in this graph: see `dalembert.math.visit`."""
        from .visit import visit

        return visit(self.graph, *arguments)

    def __lookup__(self, table: np.ndarray, column: int) -> Scalar:
        """Number `column` of row floor(self) of a table of constants (n, m)."""
        return lookup(self, ConstantTable(table), int(column))

    def arctan2(a, x: Any) -> Scalar:
        """atan2(a, x)."""
        return a.__traced__("atan2", a, x)

    def conjugate(a) -> Scalar:
        """Itself: a traced value is real (np.vdot and np.linalg.norm call this)."""
        return a

    sqrt, sin, cos, tan = _unary("sqrt"), _unary("sin"), _unary("cos"), _unary("tan")
    arcsin, arccos, arctan = _unary("asin"), _unary("acos"), _unary("atan")
    exp, log, tanh, sign = _unary("exp"), _unary("log"), _unary("tanh"), _unary("sign")
    floor, __abs__ = _unary("floor"), _unary("abs")


def _lift_or_defer(a: Scalar, b: Any) -> Any:
    """`b` as a node beside `a`; arrays are left to NumPy, which works element by element."""
    if b.__class__ is float:  # by far the most frequent
        return a.graph.constant(b)
    return NotImplemented if isinstance(b, np.ndarray) else a.lift(b)


def _condition(op: str, a: Scalar, b: Any, swap: bool = False) -> Any:
    """The truth value `a op b` (`b op a` if swapped)."""
    b = _lift_or_defer(a, b)
    return b if b is NotImplemented else a.__traced__(op, b, a) if swap else a.__traced__(op, a, b)
