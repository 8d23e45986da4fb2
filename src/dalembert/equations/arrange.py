"""Terms as readable SymPy expressions: accelerations first, then velocities; equal waves together; factors in front."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from dalembert.compiler.backends.sympy import meaning, sympy

from .laurent import Generator, Polynomial, Ring
from .terms import EXPANDED, Monomial, Term, Wave, multiple_angles, products

RATES = ("a", "tau", "v")  # inputs that are factors of whole groups
LEADING = ("a", "tau")  # of these, the ones in which the equations of motion are linear
DENOMINATORS = (1, 2, 3, 4, 6, 8, 16, 32)  # of fractions that symbolic coefficients may have
CLOSE = 1e-13
NESTED = 60  # terms up to which factors of some of them are looked for


class Functions(NamedTuple):
    """A product of sines and cosines, and of other functions."""

    waves: tuple[tuple[Wave, int], ...]
    atoms: Monomial


class Piece(NamedTuple):
    """A term in the order in which it is grouped: number · functions · rates · constants."""

    coefficient: float
    functions: Functions
    rates: Monomial
    constants: Monomial


@dataclass
class Arranger:
    """How polynomials of one ring are written.

    symbols: input (name, index) → SymPy symbol. exact: small fractions are written as such. digits: significant ones of
    numbers (None: all). ordered: sums keep this order, for printing; otherwise SymPy's, for algebra.
    wave("cos" or "sin", [(symbol, multiple), …]): how to write one of a sum, or None for the usual way.
    """

    ring: Ring
    symbols: Mapping[tuple[str, int], Any]
    exact: bool = False
    digits: int | None = None
    ordered: bool = False
    wave: Callable[[str, list[tuple[Any, Any]]], Any] = lambda name, angle: None
    _atoms: dict[int, Any] = field(default_factory=dict)
    _ranks: dict[int, tuple[int, str, int]] = field(default_factory=dict)

    def expression(self, polynomial: Polynomial) -> Any:
        """The shortest of: multiple angles, products with powers of cosines, products with powers of sines."""
        forms = [multiple_angles(self.ring, polynomial)]
        if any(len(wave[1]) > 1 or wave[1][0][1] > 1 for term in forms[0] for wave, _ in term.waves):
            forms += [form for kept in ("cos", "sin") if (form := products(self.ring, polynomial, kept)) is not None]
        return _shortest([self._form(terms) for terms in forms])

    def _form(self, terms: Sequence[Term]) -> Any:
        """Groups of accelerations, each with its factor; then everything else, by velocities or by functions."""
        pieces = [self._piece(term) for term in terms]
        leading = [piece for piece in pieces if any(self._name(p) in LEADING for p, _ in piece.rates)]
        moving = [piece for piece in pieces if piece.rates and piece not in leading]
        resting = [piece for piece in pieces if not piece.rates]
        ways = [self._sum(self._by_rate(moving))]
        if len(moving) <= EXPANDED:
            ways.append(self._sum(self._by_function(moving)))
        return self._sum([*self._by_rate(leading), _shortest(ways), *self._by_function(resting)])

    def _piece(self, term: Term) -> Piece:
        kinds: dict[str, list[tuple[int, int]]] = {"atom": [], "rate": [], "constant": []}
        for p, n in sorted(term.monomial, key=lambda pair: self._rank_of(pair[0])):
            atom = self.ring.generators[p].kind == "atom"
            kinds["atom" if atom else "rate" if self._name(p) in RATES else "constant"].append((p, n))
        functions = Functions(term.waves, tuple(kinds["atom"]))
        return Piece(term.coefficient, functions, tuple(kinds["rate"]), tuple(kinds["constant"]))

    def _by_rate(self, pieces: Iterable[Piece]) -> list[Any]:
        """Σ rate · (Σ function · (coefficients))."""
        order = sorted(pieces, key=lambda piece: self._rank(piece.rates))
        return [
            self.product([self._sum(self._by_function([x._replace(rates=()) for x in group])), *self._powers(rate)])
            for rate, group in groupby(order, key=lambda piece: piece.rates)
        ]

    def _by_function(self, pieces: Iterable[Piece]) -> list[Any]:
        """Σ function · (coefficients and rates)."""
        order = sorted(pieces, key=lambda piece: self._function_rank(piece.functions))
        return [
            self.product([*self._coefficient(list(group)), *self._function(functions)])
            for functions, group in groupby(order, key=lambda piece: piece.functions)
        ]

    def _coefficient(self, pieces: list[Piece]) -> list[Any]:
        """Σ number · rates · constants as factors, (Σ rates) · (Σ constants) where it can be."""
        groups: dict[Monomial, dict[Monomial, float]] = {}
        for piece in pieces:
            groups.setdefault(piece.rates, {})[piece.constants] = piece.coefficient
        (lead, first), *others = sorted(groups.items(), key=lambda item: self._rank(item[0]))
        ratios = {rate: x for rate, other in others if (x := _ratio(first, other)) is not None}
        if others and len(ratios) == len(others):
            ratios[lead] = 1.0
            least = min(ratios.values(), key=abs)
            rates = {rate: x / least for rate, x in ratios.items()}
            return [
                *self._factored({constants: c * least for constants, c in first.items()}),
                *self._factored(rates),
            ]
        return self._factored(
            {(*rate, *constants): c for rate, sums in groups.items() for constants, c in sums.items()}
        )

    def _factored(self, sums: Mapping[Monomial, float]) -> list[Any]:
        """Σ number · monomial as factors: the common factors, and the sum of the quotients."""
        order = sorted(sums, key=self._rank)
        if len(order) == 1:
            return [self._number(sums[order[0]]), *self._powers(order[0])]
        powers = [dict(monomial) for monomial in order]
        shared = {p: n for p in powers[0] if (n := min(other.get(p, 0) for other in powers)) > 0}
        common = self._content([sums[monomial] for monomial in order])
        left = {
            tuple((p, n - shared.get(p, 0)) for p, n in monomial if n != shared.get(p, 0)): sums[monomial] / common
            for monomial in order
        }
        return [self._number(common), *self._powers(tuple(shared.items())), self._nested(left)]

    def _nested(self, sums: dict[Monomial, float]) -> Any:
        """Σ number · monomial with factors that several terms share written once: l² (m_2 + m_3) + …"""
        parts, left = [], dict(sums)
        while 0 < len(left) <= NESTED:
            shared: dict[Monomial, list[Monomial]] = {}
            for monomial in sorted(left, key=self._rank):
                for k in range(len(monomial) if len(monomial) > 1 else 0):
                    shared.setdefault((*monomial[:k], *monomial[k + 1 :]), []).append(monomial)
            factor = max(shared, key=lambda key: len(shared[key]), default=())
            if len(shared.get(factor, ())) < 2:
                break
            inner = {tuple(x for x in monomial if x not in factor): left.pop(monomial) for monomial in shared[factor]}
            parts.append((shared[factor][0], self.product([*self._powers(factor), *self._factored(inner)])))
        parts += [(m, self.product([self._number(c), *self._powers(m)])) for m, c in left.items()]
        parts.sort(key=lambda pair: (-sum(n for _, n in pair[0]), self._rank(pair[0])))
        return self._sum([part for _, part in parts])

    def _content(self, numbers: Sequence[float]) -> float:
        """A common factor of all numbers, negative if all are: their size where they are equal, or a whole number."""
        least = min(abs(x) for x in numbers)
        whole = all(abs(x / least - round(x / least)) <= CLOSE * abs(x / least) for x in numbers)
        alike = all(abs(abs(x) - least) <= CLOSE * least for x in numbers)
        common = least if alike or (self.exact and whole) else 1.0
        return -common if all(x < 0 for x in numbers) else common

    def _name(self, position: int) -> str:
        variable = self.ring.generators[position]
        return variable.value[0] if variable.kind == "input" else ""

    # ---- canonical order: by the names of variables, never by the order in which a trace met them

    def _rank(self, monomial: Monomial) -> Any:
        keys = sorted((*self._rank_of(p), -n) for p, n in monomial)
        return (not keys, keys)

    def _rank_of(self, position: int) -> Any:
        if position not in self._ranks:
            variable = self.ring.generators[position]
            name, index = variable.value if variable.kind == "input" else (str(self.variable(position)), 0)
            place = (*LEADING, "v", name).index(name) if variable.kind == "input" else 9
            self._ranks[position] = (place, name, index)
        return self._ranks[position]

    def _function_rank(self, functions: Functions) -> Any:
        waves = [
            (sum(m if m > 0 else -m for _, m in angle), name, [(self._rank_of(p), m) for p, m in angle], n)
            for (name, angle), n in functions.waves
        ]
        return [(self._rank_of(p), n) for p, n in functions.atoms], waves

    # ---- pieces

    def _powers(self, monomial: Monomial) -> list[Any]:
        order = sorted(monomial, key=lambda x: self._rank_of(x[0]))
        return [self.variable(p) ** n for p, n in order]

    def _function(self, functions: Functions) -> list[Any]:
        return [*self._powers(functions.atoms), *[self._wave(wave) ** n for wave, n in functions.waves]]

    def variable(self, position: int) -> Any:
        """A variable of the ring as an expression."""
        variable = self.ring.generators[position]
        if variable.kind == "input":
            return self.symbols[variable.value]
        if position not in self._atoms:
            self._atoms[position] = self._atom(variable)
        return self._atoms[position]

    def _atom(self, variable: Generator) -> Any:
        op, arguments = variable.value
        inner = [self._argument(a) for a in arguments]
        return 1 / inner[0] if op == "reciprocal" else meaning()[op](*inner)

    def _argument(self, polynomial: Polynomial) -> Any:
        """An argument of an atom: a condition unchanged, a number as an expression."""
        if len(polynomial) == 1:
            ((key, c),) = polynomial.items()
            parts = self.ring.exponents(key)
            if c == 1 and len(parts) == 1 and parts[0][1] == 1 and self.ring.generators[parts[0][0]].kind == "atom":
                return self.variable(parts[0][0])
        return self.expression(polynomial)

    def _wave(self, wave: Wave) -> Any:
        s, name = sympy(), wave[0]
        angle = [(self.variable(p), m) for p, m in wave[1]]
        written = self.wave(name, angle)
        if written is not None:
            return written
        return getattr(s, name)(s.Add(*[s.Rational(m.numerator, m.denominator) * x for x, m in angle]))

    def _number(self, x: float) -> Any:
        s = sympy()
        for d in DENOMINATORS if self.exact else (1,):
            n = round(x * d)
            if n and abs(x * d - n) <= CLOSE * abs(x * d) and abs(n) <= 10**6:
                return s.Rational(n, d)
        if self.exact:
            for root in (2, 3):
                for d in DENOMINATORS:
                    n = round(x * d / root**0.5)
                    if n and abs(x * d / root**0.5 - n) <= CLOSE * abs(n) and abs(n) <= 100:
                        return s.Rational(n, d) * s.sqrt(root)
        return s.Float(x) if self.digits is None else rounded(x, self.digits)

    def _sum(self, parts: Sequence[Any]) -> Any:
        s = sympy()
        flat = [x for part in parts for x in s.Add.make_args(part) if x != 0]
        return s.Add(*flat, evaluate=not self.ordered) if len(flat) != 1 else flat[0]

    def product(self, factors: Sequence[Any]) -> Any:
        """A product in which sums stay whole."""
        s = sympy()
        factors = [f for f in factors if f != 1]
        sums = [f for f in factors if f.is_Add]
        if not self.ordered or not sums or len(factors) == 1:
            return s.Mul(*factors)
        plain = s.Mul(*[f for f in factors if not f.is_Add])
        return s.Mul(*(s.Mul.make_args(plain) if plain != 1 else ()), *sums, evaluate=False)


def rounded(x: float, digits: int) -> Any:
    """A number to `digits` significant digits, whole numbers exactly."""
    s = sympy()
    text = f"{x:.{digits}g}"
    return s.Integer(int(float(text))) if float(text).is_integer() and abs(x) < 10**digits else s.Float(text)


def _ratio(a: Mapping[Monomial, float], b: Mapping[Monomial, float]) -> float | None:
    """b / a, if one is a multiple of the other."""
    if a.keys() != b.keys():
        return None
    ratio = next(b[key] / a[key] for key in a)
    return ratio if all(abs(b[key] - ratio * a[key]) <= CLOSE * abs(b[key]) for key in a) else None


def _shortest(expressions: Sequence[Any]) -> Any:
    return expressions[0] if len(expressions) == 1 else min(expressions, key=sympy().count_ops)
