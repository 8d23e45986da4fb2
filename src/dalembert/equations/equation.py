"""An equation: one quantity of one robot as SymPy, LaTeX and text, with the symbols in it."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.backends.sympy import library
from dalembert.errors import DalembertError

from .parameters import Parameter

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
}

Write = Callable[..., Sequence[Any]]  # write(digits=…, ordered=…, wave=…) gives the elements, row-major


@dataclass(frozen=True)
class Equation:
    """A quantity of a robot on paper. Print it, or show it in a notebook.

    name: of the quantity. shape: of the result. parameters: what the symbols for constants of the model are.
    variables: input (name, index) → symbol.
    """

    name: str
    robot: str
    shape: tuple[int, ...]
    parameters: tuple[Parameter, ...]
    variables: Mapping[tuple[str, int], Any]
    write: Write

    @cached_property
    def sympy(self) -> Any:
        """The expression in full precision: a SymPy Matrix (a vector is a column), an Array, or one expression."""
        return self._shaped(self.write())

    @property
    def values(self) -> dict[Any, float]:
        """Symbol → its number in the model, to substitute."""
        s = library()
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
        s = library()
        body = s.latex(self._arranged(digits, short), order="none", mat_delim="[", mul_symbol=None)
        head = LEFT[self.name][1] if self.name in LEFT else _upright(self.name)
        return f"{head} = {body}" if left else body

    def text(self, *, digits: int | None = 6, width: int | None = None, unicode: bool = True) -> str:
        """The equation for a terminal, element by element; zeros are left out. width: where lines are broken."""
        s = library()
        letter = LEFT[self.name][0] if self.name in LEFT else self.name.replace("_", "")
        shown = []
        for index, x in np.ndenumerate(np.array(self._elements(digits, False), object).reshape(self.shape)):
            comma = "," if max(self.shape, default=0) > 9 else ""
            place = comma.join(str(k + 1) for k in index)
            equation = s.Eq(s.Symbol(f"{letter}_{place}" if place else letter), x, evaluate=False)
            if x != 0:
                wrap = {"wrap_line": width is not None, **({} if width is None else {"num_columns": width})}
                shown.append(s.pretty(equation, order="none", use_unicode=unicode, **wrap))
        return "\n".join(shown) or f"{letter} = 0"

    def python(self) -> str:
        """Python source that defines the symbols, the expression and the values of symbolic parameters."""
        s = library()
        names = sorted({symbol.name for symbol in self.sympy.free_symbols})
        for name in names:
            if not name.isidentifier() or keyword.iskeyword(name):
                raise DalembertError(f"equations: {name!r} is no name in Python: rename it for source text")
        lines = [f'"""{self.name} of robot {self.robot!r}."""', "", "from sympy import *", ""]
        if names:
            listed = f"({names[0]},)" if len(names) == 1 else ", ".join(names)
            lines += [f"{listed} = symbols({' '.join(names)!r}, seq=True)"]
        lines += [f"{self.name} = {s.sstr(self.sympy, full_prec=True)}"]
        if self.used:
            lines += ["values = {" + ", ".join(f"{p.name}: {p.value!r}" for p in self.used) + "}"]
        return "\n".join(lines) + "\n"

    def evaluate(self, *inputs: Any, **values: float) -> np.ndarray:
        """Numbers of the expression at one state; parameters have the model's values unless given by name."""
        s = library()
        names = list(dict.fromkeys(name for name, _ in self.variables))
        given = {symbol: float(np.atleast_1d(inputs[names.index(n)])[k]) for (n, k), symbol in self.variables.items()}
        given |= self.values | {s.Symbol(name): value for name, value in values.items()}
        function = s.lambdify(list(given), [x for x in _flat(self.sympy)], modules="numpy")
        return np.array(function(*given.values()), float).reshape(self.shape)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Equation {self.name} of {self.robot}: {self.shape or 'one number'}>"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def _elements(self, digits: int | None, short: bool) -> Sequence[Any]:
        return self.write(digits=digits, ordered=True, wave=_short if short else _usual)

    def _arranged(self, digits: int | None, short: bool) -> Any:
        return self._shaped(self._elements(digits, short))

    def _shaped(self, elements: Sequence[Any]) -> Any:
        s = library()
        if not self.shape:
            return elements[0]
        if len(self.shape) <= 2:
            rows, columns = self.shape if len(self.shape) == 2 else (self.shape[0], 1)
            return s.ImmutableDenseMatrix(rows, columns, list(elements))
        return s.ImmutableDenseNDimArray(list(elements), self.shape)


def _flat(expression: Any) -> list[Any]:
    s = library()
    if isinstance(expression, s.NDimArray):
        return list(s.flatten(expression))
    return list(expression) if isinstance(expression, s.MatrixBase) else [expression]


def _upright(name: str) -> str:
    return r"\mathrm{" + name.replace("_", r"\_") + "}"


def _usual(name: str, angle: Sequence[tuple[Any, Any]]) -> None:
    """Sines and cosines as SymPy writes them."""


def _short(name: str, angle: Sequence[tuple[Any, Any]]) -> Any:
    """c_{12} for cos(q_1 + q_2); None where an angle is taken twice or backwards, or has no number."""
    numbers = [symbol.name.partition("_")[2] for symbol, _ in angle]
    if any(multiple != 1 for _, multiple in angle) or not all(n.isdigit() for n in numbers):
        return None
    comma = "" if all(len(n) == 1 for n in numbers) else ","
    return library().Symbol(f"{name[0]}_{{{comma.join(numbers)}}}")
