"""Polynomials as sums of terms: number · monomial · sines and cosines, in multiple angles or in products."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from .laurent import PART, Polynomial, Ring

REAL = 1e-13  # part of a coefficient below which it is round-off
EXPANDED = 400  # terms up to which products of sines and cosines are tried

Angle = tuple[tuple[int, Fraction | int], ...]  # (position of an input, its multiple), in the order of inputs
Wave = tuple[str, Angle]  # ("cos" or "sin", of what)
Monomial = tuple[tuple[int, int], ...]  # (position of a variable, its exponent)


class Term(NamedTuple):
    """coefficient · Π waves^exponent · Π variables^exponent."""

    coefficient: float
    waves: tuple[tuple[Wave, int], ...]
    monomial: Monomial


def split(ring: Ring, monomial: int) -> tuple[Angle, Monomial]:
    """The turns of a monomial as an angle, and its other variables."""
    parts = ring.exponents(monomial)
    kinds = {position: ring.generators[position] for position, _ in parts}
    turns = ((kinds[p].value, e) for p, e in parts if kinds[p].kind == "turn")
    angle = [(value, Fraction(e, PART) if e % PART else e // PART) for value, e in turns]
    others = [(p, e) for p, e in parts if kinds[p].kind != "turn"]
    return tuple(sorted(angle, key=lambda pair: ring.generators[pair[0]].value)), tuple(others)


def multiple_angles(ring: Ring, polynomial: Polynomial) -> list[Term]:
    """Sines and cosines of sums of angles, each once: c e^{iα} and its conjugate are 2 Re c cos α − 2 Im c sin α."""
    terms = []
    for key, c in polynomial.items():
        angle, others = split(ring, key)
        if not angle:
            terms.append(Term(c.real, (), others))
        elif angle[0][1] > 0:  # the other half is its mirror
            for wave, x in (("cos", 2 * c.real), ("sin", -2 * c.imag)):
                if abs(x) > REAL * abs(c):
                    terms.append(Term(x, (((wave, angle), 1),), others))
    return terms


def products(ring: Ring, polynomial: Polynomial, kept: str) -> list[Term] | None:
    """Powers of sines and cosines of single angles, squares of the wave that is not `kept` replaced by 1 − kept².

    None where an angle is divided, or the expression is long.
    """
    if len(polynomial) > EXPANDED:
        return None
    sums: dict[tuple[tuple[tuple[Wave, int], ...], Monomial], complex] = {}
    sizes: dict[object, float] = {}
    for key, c in polynomial.items():
        angle, others = split(ring, key)
        if any(multiple.denominator != 1 for _, multiple in angle):
            return None
        for waves, x in _expanded(angle, kept):
            sums[waves, others] = sums.get((waves, others), 0.0) + c * x
            sizes[waves, others] = sizes.get((waves, others), 0.0) + abs(c * x)
    return [Term(x.real, *key) for key, x in sums.items() if abs(x.real) > REAL * sizes[key]]


def _expanded(angle: Angle, kept: str) -> Iterable[tuple[tuple[tuple[Wave, int], ...], complex]]:
    """exp(i·angle) as products of powers of sines and cosines."""
    terms: list[tuple[tuple[tuple[Wave, int], ...], complex]] = [((), 1.0 + 0j)]
    for position, multiple in angle:
        single: Angle = ((position, 1),)  # a number of Python: its hash and comparison are fast
        powers = _turned(int(multiple), kept)
        terms = [
            ((*waves, *[((name, single), n) for name, n in (("cos", c), ("sin", s)) if n]), x * y)
            for waves, x in terms
            for (c, s), y in powers.items()
        ]
    return terms


def _turned(n: int, kept: str) -> dict[tuple[int, int], complex]:
    """(cos + i sin)ⁿ as {(power of cos, power of sin): coefficient}, the wave that is not kept at most to the first."""
    one: dict[tuple[int, int], complex] = {(0, 0): 1.0 + 0j}
    for _ in range(abs(n)):
        following: dict[tuple[int, int], complex] = {}
        for (c, s), x in one.items():
            for (dc, ds), y in (((1, 0), 1.0), ((0, 1), 1j if n > 0 else -1j)):
                for power, sign in _reduced(c + dc, s + ds, kept):
                    following[power] = following.get(power, 0.0) + sign * x * y
        one = {power: x for power, x in following.items() if x}
    return one


def _reduced(c: int, s: int, kept: str) -> list[tuple[tuple[int, int], float]]:
    """cosᶜ sinˢ with at most the first power of the wave that is not kept; c and s are such that one step suffices."""
    if kept == "cos" and s == 2:
        return [((c, 0), 1.0), ((c + 2, 0), -1.0)]
    if kept == "sin" and c == 2:
        return [((0, s), 1.0), ((0, s + 2), -1.0)]
    return [((c, s), 1.0)]
