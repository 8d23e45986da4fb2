"""Trigonometric polynomials in exact normal form: traced expressions as Laurent polynomials in exp(i·angle).

sin and cos of sums of inputs become exponentials, products of them sums of exponentials; what cancels, cancels here.
Everything that is not a polynomial (tanh, a reciprocal, a choice) becomes a variable with its own normal form.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from dalembert.compiler.graph import Function, Scalar
from dalembert.errors import DalembertError

Polynomial = dict[int, complex]  # monomial → coefficient; a monomial is its exponents, BITS each, in one integer

BITS = 24
PART = 2520  # exponents count this fraction of an angle, so that gear ratios of small whole numbers fit
TINY = 1e-13  # remainder of a sum whose terms cancel
TERMS = 20_000  # of one polynomial
PRODUCTS = 4_000_000  # of one multiplication


class TooLong(DalembertError):
    """An expression has more terms than anyone reads."""


class Generator(NamedTuple):
    """A variable: an "input" (name, index), the "turn" exp(i·x/PART) of one, or an "atom" (operation, arguments)."""

    kind: str
    value: Any


class Ring:
    """The variables of some polynomials, and arithmetic. Inputs called `nonzero` are never 0."""

    def __init__(self, nonzero: str = "") -> None:
        self.nonzero = nonzero
        self.generators: list[Generator] = []
        self._index: dict[Any, int] = {}
        self._rules: dict[str, Callable[..., Polynomial]] = {
            "add": lambda a, b: self.add(a, b),
            "sub": lambda a, b: self.add(a, _scaled(b, -1.0)),
            "neg": lambda a: _scaled(a, -1.0),
            "mul": self.multiply,
            "div": lambda a, b: self.multiply(a, self.reciprocal(b)),
            "sin": lambda a: self._wave("sin", a),
            "cos": lambda a: self._wave("cos", a),
            "dot": self._dot,
            "eq": self._equal,
            "where": self._choose,
        }

    def polynomials(self, function: Function) -> list[list[Polynomial]]:
        """Every element of every output of a traced function."""
        values: dict[int, Polynomial] = {}
        for node in function.schedule():
            values[node.id] = self._value(node, values)
        return [[values[node.id] for node in output.nodes] for output in function.outputs]

    def _value(self, node: Scalar, values: dict[int, Polynomial]) -> Polynomial:
        if node.op == "const":
            return {0: complex(node.value)} if node.value else {}
        if node.op == "input":
            return self.variable("input", node.value)
        arguments = [values[x.id] for x in node.args]
        return self._rules[node.op](*arguments) if node.op in self._rules else self._atom(node.op, *arguments)

    def variable(self, kind: str, value: Any, key: Any = None) -> Polynomial:
        """A variable by itself, created on first use."""
        return {1 << (BITS * self._position(kind, value, value if key is None else key)): 1.0 + 0j}

    def _position(self, kind: str, value: Any, key: Any) -> int:
        if (kind, key) not in self._index:
            self._index[kind, key] = len(self.generators)
            self.generators.append(Generator(kind, value))
        return self._index[kind, key]

    def count(self, polynomials: Iterable[Polynomial]) -> int:
        """How many terms have to be written, those inside other functions included."""
        atoms = [a for variable in self.generators if variable.kind == "atom" for a in variable.value[1]]
        return sum(map(len, (*polynomials, *atoms)))

    def exponents(self, monomial: int) -> list[tuple[int, int]]:
        """(position of a variable, its exponent) for all that are not 0."""
        exponents, position = [], 0
        while monomial:
            exponent = monomial & ((1 << BITS) - 1)
            if exponent >> (BITS - 1):
                exponent -= 1 << BITS
            if exponent:
                exponents.append((position, exponent))
            monomial, position = (monomial - exponent) >> BITS, position + 1
        return exponents

    def add(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """a + b."""
        if len(a) < len(b):
            a, b = b, a
        out = dict(a)
        for k, c in b.items():
            before = out.get(k, 0.0)
            out[k] = before + c
            if abs(out[k]) <= TINY * (abs(before) + abs(c)):
                del out[k]
        return _checked(out)

    def multiply(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """a · b."""
        if len(a) * len(b) > PRODUCTS:
            raise TooLong(f"a product of {len(a)} and {len(b)} terms")
        out: Polynomial = {}
        size: dict[int, float] = {}  # of what was summed, where there is more than one contribution
        for m, x in a.items():
            for n, y in b.items():
                k, c = m + n, x * y
                if k in out:
                    size[k] = size.get(k, abs(out[k])) + abs(c)
                    out[k] += c
                else:
                    out[k] = c
        for k, total in size.items():
            if abs(out[k]) <= TINY * total:
                del out[k]
        return _checked(out)

    def reciprocal(self, a: Polynomial) -> Polynomial:
        """1 / a: of a single term again a term, of a sum a new variable."""
        if len(a) == 1:
            ((k, c),) = a.items()
            return {-k: 1.0 / c}
        return self._atom("reciprocal", a)

    def _dot(self, *x: Polynomial) -> Polynomial:
        total: Polynomial = {}
        for a, b in zip(x[: len(x) // 2], x[len(x) // 2 :], strict=True):
            total = self.add(total, self.multiply(a, b))
        return total

    def _equal(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """A condition; False (an empty polynomial) where a product of numbers that are never 0 is compared with 0."""
        if not a or not b:
            for terms in (a, b):
                if len(terms) == 1 and all(self._is_nonzero(p) for p, _ in self.exponents(next(iter(terms)))):
                    return {}
        return self._atom("eq", a, b)

    def _is_nonzero(self, position: int) -> bool:
        kind, value = self.generators[position]
        return kind == "input" and value[0] == self.nonzero

    def _choose(self, condition: Polynomial, a: Polynomial, b: Polynomial) -> Polynomial:
        return self._atom("where", condition, a, b) if condition else b

    def _wave(self, op: str, a: Polynomial) -> Polynomial:
        """sin or cos of a sum of multiples of inputs and a constant, as two exponentials."""
        turn, phase = 0, 1.0 + 0j
        for k, c in a.items():
            if k == 0:
                phase = _snapped(cmath.exp(1j * c.real))
                continue
            parts = self.exponents(k)
            steps = round(c.real * PART)
            simple = len(parts) == 1 and parts[0][1] == 1 and self.generators[parts[0][0]].kind == "input"
            if not simple or abs(c.real * PART - steps) > 1e-9 * abs(steps) or not steps:
                return self._atom(op, a)
            position = parts[0][0]
            turn += steps << (BITS * self._position("turn", position, position))
        if turn == 0:
            return {0: complex(phase.real if op == "cos" else phase.imag)}
        if op == "cos":
            return {turn: phase / 2, -turn: phase.conjugate() / 2}
        return {turn: phase / 2j, -turn: -phase.conjugate() / 2j}

    def _atom(self, op: str, *arguments: Polynomial) -> Polynomial:
        key = (op, *[frozenset(a.items()) for a in arguments])
        return self.variable("atom", (op, arguments), key)


def _scaled(a: Polynomial, c: float) -> Polynomial:
    return {k: c * x for k, x in a.items()}


def _snapped(z: complex) -> complex:
    """Without the round-off of exp(iπ/2)."""
    return complex(*(0.0 if abs(x) < 1e-15 else x for x in (z.real, z.imag)))


def _checked(a: Polynomial) -> Polynomial:
    if len(a) > TERMS:
        raise TooLong(f"{len(a)} terms")
    return a


def conjugate(ring: Ring, monomial: int) -> int:
    """The monomial with every turn reversed."""
    turned = monomial
    for position, exponent in ring.exponents(monomial):
        if ring.generators[position].kind == "turn":
            turned -= 2 * exponent << (BITS * position)
    return turned
