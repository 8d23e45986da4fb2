"""An equation: one quantity of one robot as SymPy, LaTeX and text, with the symbols in it."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from unicodedata import combining

import numpy as np

from dalembert.compiler.backends.sympy import sympy
from dalembert.errors import DalembertError

from .parameters import INPUT, Parameter

LISTED = 12  # zero entries that are listed by name
# left-hand sides: for text, in LaTeX; any other quantity is written with its name
LEFT = {
    "mass_matrix": ("M", r"M(q)"),
    "inverse_mass_matrix": ("W", r"M(q)^{-1}"),
    "coriolis_matrix": ("C", r"C(q, \dot{q})"),
    "gravity": ("g", r"g(q)"),
    "bias": ("h", r"h(q, \dot{q})"),
    "inverse_dynamics": ("tau", r"\tau"),
    "forward_dynamics": ("qddot", r"\ddot{q}"),
    "kinetic_energy": ("T", r"T"),
    "potential_energy": ("U", r"U"),
    "energy": ("E", r"E"),
    "pose": ("X", r"X(q)"),
    "jacobian": ("J", r"J(q)"),
    "jacobian_rate": ("Jdot", r"\dot{J}(q, \dot{q})"),
    "velocity": ("V", r"V(q, \dot{q})"),
    "center_of_mass": ("r", r"r(q)"),
    "regressor": ("Y", r"Y(q, \dot{q}, \ddot{q})"),
}

Write = Callable[..., Sequence[Any]]  # write(digits=…, ordered=…, wave=…) gives the elements, row-major


@dataclass(frozen=True)
class Equation:
    """A quantity of a robot on paper. Print it, or show it in a notebook.

    name: of the quantity. shape: of the result. parameters: the meaning of the symbols for constants of the model.
    variables: input (name, index) → symbol. monomials: how many, in sines and cosines of single angles written as
    exponentials, before they are put together; 0 where nothing was simplified.
    """

    name: str
    robot: str
    shape: tuple[int, ...]
    parameters: tuple[Parameter, ...]
    variables: Mapping[tuple[str, int], Any]
    write: Write
    monomials: int = 0

    @cached_property
    def sympy(self) -> Any:
        """The expression in full precision: a SymPy Matrix (a vector is a column), an Array, or one expression."""
        return self._shaped(self.write())

    @property
    def values(self) -> dict[Any, float]:
        """Symbol → its number in the model, to substitute."""
        s = sympy()
        return {s.Symbol(p.name): p.value for p in self.parameters}

    @cached_property
    def used(self) -> tuple[Parameter, ...]:
        """The parameters that occur in the expression, in the order of the model."""
        names = {symbol.name for symbol in self.sympy.free_symbols}
        return tuple(p for p in self.parameters if p.name in names)

    def latex(self, *, digits: int | None = 6, short: bool = False, left: bool = True) -> str:
        r"""LaTeX of the equation, without dollars.

        digits: significant digits of numbers (None: all). short: \cos(q_1 + q_2) is written c_{12}. left: with the
        left-hand side, such as M(q) =.
        """
        s = sympy()
        body = s.latex(self._shaped(self.elements(digits, short)), order="none", mat_delim="[", mul_symbol=None)
        head = LEFT[self.name][1] if self.name in LEFT else r"\mathrm{" + self.name.replace("_", r"\_") + "}"
        return f"{head} = {body}" if left else body

    def text(self, *, digits: int | None = 6, width: int | None = None, unicode: bool = True) -> str:
        """The equation for a terminal, element by element; zeros together at the end. width: where sums are broken."""
        s, shown = sympy(), []
        zeros = []
        for name, x in self.named(digits):
            if x != 0:
                shown += _broken(s.Symbol(name), x, width, unicode)
            else:
                zeros.append(s.pretty(s.Symbol(name), use_unicode=unicode))
        if not shown:
            return f"{self.letter} = 0"
        if len(zeros) > LISTED:
            shown.append(f"the other {len(zeros)} entries of {self.letter} are 0")
        elif zeros:
            shown.append(" = ".join([*zeros, "0"]))
        return "\n".join(shown)

    @property
    def letter(self) -> str:
        """The letter of its elements, such as M."""
        return LEFT[self.name][0] if self.name in LEFT else self.name.replace("_", "")

    def named(self, digits: int | None = None, short: bool = False) -> list[tuple[str, Any]]:
        """(name such as M_12, expression) of every element, in the order of reading."""
        comma = "," if max(self.shape, default=0) > 9 else ""
        places = (comma.join(str(k + 1) for k in index) for index in np.ndindex(self.shape))
        names = [f"{self.letter}_{place}" if place else self.letter for place in places]
        return list(zip(names, self.elements(digits, short), strict=True))

    def python(self) -> str:
        """Python source that defines the symbols, the expression and the values of symbolic parameters."""
        return python_source([self])

    def evaluate(self, *inputs: Any, **values: float) -> np.ndarray:
        """Numbers of the expression at one state; parameters have the model's values unless passed by name."""
        s = sympy()
        names = list(dict.fromkeys(name for name, _ in self.variables if name != INPUT))
        if len(inputs) != len(names):
            raise TypeError(f"{self.name} takes {len(names)} arguments ({', '.join(names)}), got {len(inputs)}")
        arrays = dict(zip(names, (np.atleast_1d(x) for x in inputs), strict=True))
        numbers = {symbol: float(arrays[n][k]) for (n, k), symbol in self.variables.items() if n != INPUT}
        numbers |= self.values | {s.Symbol(name): value for name, value in values.items()}
        try:
            function = s.lambdify(list(numbers), self._flat(), modules="numpy")
        except RecursionError:
            raise DalembertError(f"{self.name} is too long to be evaluated as it is written") from None
        return np.array(function(*numbers.values()), float).reshape(self.shape)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Equation {self.name} of {self.robot}: {self.shape or 'one number'}>"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def elements(self, digits: int | None = None, short: bool = False) -> Sequence[Any]:
        """The expressions, row-major, with sums in the order of reading, for printing with order='none'."""
        return self.write(digits=digits, ordered=True, wave=_short if short else _usual)

    def _flat(self) -> list[Any]:
        return list(sympy().flatten(self.sympy)) if self.shape else [self.sympy]

    def _shaped(self, elements: Sequence[Any]) -> Any:
        s = sympy()
        if not self.shape:
            return elements[0]
        if len(self.shape) <= 2:
            rows, columns = self.shape if len(self.shape) == 2 else (self.shape[0], 1)
            return s.ImmutableDenseMatrix(rows, columns, list(elements))
        return s.ImmutableDenseNDimArray(list(elements), self.shape)


def _usual(name: str, angle: Sequence[tuple[Any, Any]]) -> None:
    """Sines and cosines as SymPy writes them."""


def _short(name: str, angle: Sequence[tuple[Any, Any]]) -> Any:
    """c_{12} for cos(q_1 + q_2); None where an angle is taken twice or backwards, or has no number."""
    numbers = [symbol.name.partition("_")[2] for symbol, _ in angle]
    if any(multiple != 1 for _, multiple in angle) or not all(n.isdigit() for n in numbers):
        return None
    comma = "" if all(len(n) == 1 for n in numbers) else ","
    return sympy().Symbol(f"{name[0]}_{{{comma.join(numbers)}}}")


def python_source(equations: Sequence[Equation]) -> str:
    """Python source of several equations of one robot, with the symbols they share."""
    names = sorted({symbol.name for equation in equations for symbol in equation.sympy.free_symbols})
    for name in names:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise DalembertError(f"equations: {name!r} is not a Python name: rename it for source text")
    lines = [f'"""{", ".join(e.name for e in equations)} of robot {equations[0].robot!r}."""', ""]
    lines += ["from sympy import *", ""]
    if names:
        listed = f"({names[0]},)" if len(names) == 1 else ", ".join(names)
        lines += [f"{listed} = symbols({' '.join(names)!r}, seq=True)"]
    lines += [f"{equation.name} = {sympy().sstr(equation.sympy, full_prec=True)}" for equation in equations]
    values = {p.name: p.value for equation in equations for p in equation.used}
    lines += ["values = {" + ", ".join(f"{name}: {value!r}" for name, value in values.items()) + "}"] if values else []
    return "\n".join(lines) + "\n"


def _columns(picture: str) -> int:
    """Its width; dots above letters take no column of their own."""
    return max(sum(not combining(c) for c in line) for line in picture.split("\n"))


def _broken(name: Any, x: Any, width: int | None, unicode: bool) -> list[str]:
    """name = x in pictures of at most `width` columns, where the terms of a sum are narrow enough."""
    s = sympy()
    usual: dict[str, Any] = {"order": "none", "use_unicode": unicode, "wrap_line": False}
    parts, head = s.Add.make_args(x), True
    pictures: list[str] = []
    held: list[Any] = []

    def picture(terms: list[Any]) -> str:
        margin = [] if head else [s.Symbol(" " * len(s.pretty(name, **usual)) + " ")]
        total = s.Add(*margin, *terms, evaluate=False) if margin or len(terms) > 1 else terms[0]
        shown = s.Eq(name, total, evaluate=False) if head else total
        plain = s.pretty(shown, **usual)
        if width is None or len(terms) > 1 or _columns(plain) <= width:
            return str(plain)
        return str(s.pretty(shown, **usual | {"wrap_line": True, "num_columns": width}))

    for part in parts:
        longer = picture([*held, part])
        if held and width is not None and _columns(longer) > width:
            pictures.append(picture(held))
            head, held = False, []
        held.append(part)
    pictures.append(picture(held))
    return pictures
