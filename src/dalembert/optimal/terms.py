"""The user's functions: costs and constraints by name, called on traced values and checked; constraints as rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute.alone import Alone
from dalembert.compiler.graph import Scalar, TracedValueError
from dalembert.compiler.graph.schedule import depth_first
from dalembert.errors import DalembertError

Parameters = Mapping[str, np.ndarray]


class Residual(NamedTuple):
    """A cost ½ Σ weight · value²; weight (m,) and value (m,)."""

    name: str
    weight: np.ndarray
    value: np.ndarray


class Smooth(NamedTuple):
    """Any other cost, a number that can be differentiated twice."""

    name: str
    value: Any


class Weighed(NamedTuple):
    """A cost and what it is multiplied with: the step, 1 at the end and at impacts, 0 where it does not count."""

    term: Residual | Smooth
    scale: Any


@dataclass(frozen=True)
class Equal:
    """A constraint that is kept at zero: {"closed": optimal.Equal(x - y)}."""

    expression: Any


class Constraint(NamedTuple):
    """lower ≤ value ≤ upper, each (m,); names (m,) say which number of what it is."""

    names: tuple[str, ...]
    value: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def without(self, inputs: np.ndarray) -> Constraint:
        """The numbers that are computed from none of these inputs."""
        ids = {x.id for x in inputs}
        kept = np.array([not depends(x, ids) for x in self.value], bool)
        names = tuple(name for name, is_kept in zip(self.names, kept, strict=True) if is_kept)
        return Constraint(names, self.value[kept], self.lower[kept], self.upper[kept])


class UserFunction:
    """A function of q, v, (u) and parameters by name, that returns a dict."""

    def __init__(
        self, role: str, function: Callable[..., Any], arguments: Sequence[str], sizes: Mapping[str, int],
        answer: str = "dict",
    ) -> None:  # fmt: skip
        if not callable(function):
            raise DalembertError(
                f"optimal_control: {role} is of type {type(function).__name__}, expected a function "
                f"({', '.join((*arguments, *sizes))}) → {answer}"
            )
        self.role, self.function = role, function
        known = {*arguments, *sizes}
        parameters = inspect.signature(function).parameters
        self.takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        named = [n for n, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        for name in named:
            if name not in known and parameters[name].default is inspect.Parameter.empty:
                raise DalembertError(
                    f"optimal_control: {role} takes {name!r}, which is none of {', '.join(sorted(known))}: parameters "
                    f"of your own are named with their size, as in optimal_control(…, {name}=3)"
                )
        self.names = [name for name in named if name in known]
        self.alone: Alone | None = None

    def number(self, values: Mapping[str, Any]) -> Any:
        """The one number that a function returns."""
        return _vector(self.role, self._called(values))[0]

    def array(self, values: Mapping[str, Any]) -> np.ndarray:
        """Values of a function that returns an array."""
        answer = np.asarray(self._called(values), object)
        if not answer.size:
            raise DalembertError(f"optimal_control: {self.role} returned nothing, expected an array of numbers")
        return answer

    def __call__(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Its result for traced values."""
        answer = self._called(values)
        if not isinstance(answer, Mapping):
            raise DalembertError(
                f"optimal_control: {self.role} returned {type(answer).__name__}, expected a dict from names to terms"
            )
        return dict(answer)

    def structure(self, values: Mapping[str, Any]) -> tuple[str, np.ndarray]:
        """The names, kinds and sizes of its answer, and all numbers of the answer as one vector."""
        answer = self._answer(values)
        entries = answer if isinstance(answer, Mapping) else {"": answer}
        parts = {name: [np.ravel(np.asarray(x, object)) for x in _numbers(entry)] for name, entry in entries.items()}
        words = [(name, type(entries[name]).__name__, [len(x) for x in part]) for name, part in parts.items()]
        return repr(words), np.concatenate([np.zeros(0, object), *(x for part in parts.values() for x in part)])

    def _called(self, values: Mapping[str, Any]) -> Any:
        answer = self._answer(values)
        if self.alone is not None:
            entries = answer.values() if isinstance(answer, Mapping) else [answer]
            numbers = [np.ravel(np.asarray(x, object)) for entry in entries for x in _numbers(entry)]
            given = [values[name] for name in self.names]
            flat = [y for x in given for y in (x.values() if isinstance(x, Mapping) else [x])]
            self.alone.compare(np.concatenate([np.zeros(0, object), *numbers]), [y for x in flat for y in x])
        return answer

    def _answer(self, values: Mapping[str, Any]) -> Any:
        taken = dict(values) if self.takes_all else {n: values[n] for n in self.names}
        try:
            return self.function(**taken)
        except TracedValueError as error:
            raise DalembertError(
                f"optimal_control: {self.role} does something with its arguments that cannot be compiled: {error}"
            ) from error
        except DalembertError:
            raise
        except (ValueError, IndexError) as error:  # of NumPy, where dimensions disagree
            sizes = ", ".join(f"{name} {np.shape(x)}" for name, x in taken.items() if not isinstance(x, Mapping))
            raise DalembertError(f"optimal_control: {self.role} fails on {sizes}: {error}") from error


def _numbers(entry: Any) -> tuple[Any, ...]:
    """The arrays of an entry: an expression, or a weight and a residual."""
    return (entry.expression,) if isinstance(entry, Equal) else entry if isinstance(entry, tuple) else (entry,)


def _vector(where: str, x: Any) -> np.ndarray:
    try:
        array = np.atleast_1d(np.asarray(x, object))
    except ValueError as error:
        raise DalembertError(f"optimal_control: {where}: {error}: expected a number or a vector") from None
    if array.ndim != 1:
        raise DalembertError(f"optimal_control: {where} has shape {array.shape}, expected a number or a vector")
    for item in array:
        if not isinstance(item, (Scalar, int, float, np.number)):
            raise DalembertError(f"optimal_control: {where} holds a {type(item).__name__}, expected numbers")
        if not isinstance(item, Scalar) and not np.isfinite(float(item)):
            raise DalembertError(f"optimal_control: {where} is {item}, expected finite numbers")
    return array


def costs(role: str, answer: Mapping[str, Any]) -> list[Residual | Smooth]:
    """The terms of a cost function: name → (weight, residual), or a number for any other smooth cost."""
    terms: list[Residual | Smooth] = []
    for name, entry in answer.items():
        where = f"cost {name!r} of {role}"
        if isinstance(entry, tuple):
            if len(entry) != 2:
                raise DalembertError(f"optimal_control: {where} has {len(entry)} parts, expected (weight, residual)")
            value, weight = _vector(f"{where}: the residual", entry[1]), _vector(f"{where}: the weight", entry[0])
            if len(weight) not in (1, len(value)):
                raise DalembertError(
                    f"optimal_control: {where} has {len(weight)} weights for {len(value)} residuals, expected one, or "
                    "one for each"
                )
            for w in weight:
                if not isinstance(w, Scalar) and float(w) < 0.0:
                    raise DalembertError(f"optimal_control: {where} has the weight {w}, expected weights ≥ 0")
            terms.append(Residual(name, np.broadcast_to(weight, value.shape), value))
        else:
            value = _vector(where, entry)
            if len(value) != 1:
                raise DalembertError(
                    f"optimal_control: {where} is a vector: expected (weight, residual), or one number for a cost "
                    "that is no sum of squares"
                )
            terms.append(Smooth(name, value[0]))
    return terms


def smooth(term: Residual | Smooth) -> Smooth:
    """A sum of squares as a cost whose second derivatives are taken in full."""
    if isinstance(term, Smooth):
        return term
    total: Any = 0.0
    for weight, value in zip(term.weight, term.value, strict=True):
        total = total + 0.5 * weight * value * value
    return Smooth(term.name, total)


def depends(x: Any, on: set[int]) -> bool:
    """Whether a value is computed from any of the nodes with these ids."""
    return isinstance(x, Scalar) and any(node.id in on for node in depth_first([x]))


def constraints_of(function: UserFunction | None, values: Mapping[str, Any]) -> list[Constraint]:
    """The rows of a constraint function: name → expression that stays ≥ 0, or `Equal(expression)`."""
    if function is None:
        return []
    rows = []
    for name, entry in function(values).items():
        is_equal = isinstance(entry, Equal)
        value = _vector(f"constraint {name!r} of {function.role}", entry.expression if is_equal else entry)
        names = (name,) if len(value) == 1 else tuple(f"{name}[{k}]" for k in range(len(value)))
        upper = np.zeros(len(value)) if is_equal else np.full(len(value), np.inf)
        rows.append(Constraint(names, value, np.zeros(len(value)), upper))
    return rows


INSIDE = 0.1  # of a limit, or of 1: starts on limits take as many iterations as those inside; with 0.01, more


class ConstraintRow(NamedTuple):
    """A constraint c = sign · value + offset: c ≥ 0, or c = 0. expression: which value; state: without the control."""

    name: str
    expression: int
    sign: float
    offset: float
    is_equality: bool

    @property
    def size(self) -> float:
        """The limit, or 1 where that is less: what violations are compared with."""
        return max(1.0, abs(self.offset))


@dataclass(frozen=True)
class ConstraintRows:
    """The constraints of a node. alone: whether a row depends on the state alone."""

    rows: tuple[ConstraintRow, ...]
    alone: tuple[bool, ...]

    @property
    def equalities(self) -> np.ndarray:
        return np.array([row.is_equality for row in self.rows], bool)

    @property
    def scales(self) -> np.ndarray:
        """A distance from the constraint that counts as well inside: no slack begins below."""
        return np.array([INSIDE * row.size for row in self.rows])


def rows_of(constraints: list[Constraint]) -> tuple[list[ConstraintRow], np.ndarray]:
    """Rows, and the expressions that they are about."""
    rows: list[ConstraintRow] = []
    values: list[Any] = []
    for each in constraints:
        for name, value, lower, upper in zip(each.names, each.value, each.lower, each.upper, strict=True):
            k = len(values)
            values.append(value)
            if lower == upper:
                rows.append(ConstraintRow(name, k, 1.0, -float(lower), True))
                continue
            if np.isfinite(upper):
                rows.append(ConstraintRow(name, k, -1.0, float(upper), False))
            if np.isfinite(lower):
                rows.append(ConstraintRow(name, k, 1.0, -float(lower), False))
    return rows, np.array(values, object)
