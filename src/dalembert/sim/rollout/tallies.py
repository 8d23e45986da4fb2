"""Numbers gathered along each motion inside the compiled loop: what is measured at every step, and its reduction."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.compiler.execute import Call
from dalembert.compiler.graph import trace
from dalembert.errors import DalembertError, unknown
from dalembert.math import maximum, minimum, sqrt
from dalembert.model import Model
from dalembert.quantities.guards import function_call
from dalembert.typing import Array

REDUCTIONS = ("max", "min", "mean", "rms", "last")
STATE = ("t", "q", "v", "tau")  # arguments that every measure may have


@dataclass(frozen=True)
class Tally:
    """A number or an array that is measured at every step, and reduced over the motion.

    function: of some of t, q (nq,), v (nv,), tau (what drives the robot over the step), by these names, and of
    arguments that the law has as well; traced. reduce: "max", "min", "mean", "rms", "last". Without tau the state at
    the end counts too; tau acts over steps only.
    """

    name: str
    function: Callable[..., Any]
    reduce: str = "max"

    def __post_init__(self) -> None:
        if not callable(self.function):
            kind = type(self.function).__name__
            raise DalembertError(f"measure {self.name!r} is of type {kind}, expected a function such as (t, q, v, tau)")
        if self.reduce not in REDUCTIONS:
            raise unknown("reduction", str(self.reduce), REDUCTIONS, f"measure {self.name!r}")

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of what the function takes."""
        return tuple(inspect.signature(self.function).parameters)

    @property
    def acts(self) -> bool:
        """Whether it is measured over steps, not in states."""
        return "tau" in self.arguments

    @property
    def waits(self) -> bool:
        """Whether the state at the end decides alone, so that nothing is carried along the motion."""
        return self.reduce == "last" and not self.acts

    def numbers(self, named: Mapping[str, Any]) -> Array:
        """Measured values as an array of numbers."""
        for word in self.arguments:
            if word not in named:
                raise unknown("argument", word, named, f"measure {self.name!r}")
        x = np.asarray(self.function(*(named[word] for word in self.arguments)), object)
        if not x.size:
            raise DalembertError(f"measure {self.name!r} returned no number")
        return x

    def first(self) -> float:
        """The tally before the first step."""
        return {"max": -np.inf, "min": np.inf}.get(self.reduce, 0.0)

    def after(self, old: Array, x: Array) -> Array:
        """The tally with one more measurement."""
        if self.reduce in ("max", "min"):
            pick = maximum if self.reduce == "max" else minimum
            return np.array([pick(a, b) for a, b in zip(old, x, strict=True)], object)
        return x if self.reduce == "last" else old + (x if self.reduce == "mean" else x * x)

    def reduced(self, total: Array, count: int) -> Array:
        """The result of `count` measurements."""
        if self.reduce == "mean":
            return total / count
        return sqrt(total / count) if self.reduce == "rms" else total


@dataclass(frozen=True)
class Tallies:
    """All that is measured of the motions of one robot. sizes: of t, q, v, tau and of the law's arguments."""

    model: Model
    measures: tuple[Tally, ...]
    sizes: Mapping[str, int]

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each measure."""
        shapes: list[tuple[int, ...]] = []

        def compute(*inputs: Array) -> Array:
            named: dict[str, Any] = dict(zip(self.sizes, inputs, strict=True))
            named["t"] = named["t"][0]
            found = [measure.numbers(named) for measure in self.measures]
            shapes[:] = [x.shape for x in found]
            return np.concatenate([x.ravel() for x in found])

        trace(compute, dict(self.sizes), "measures")
        return tuple(shapes)

    @property
    def lengths(self) -> list[int]:
        """Numbers of each measure."""
        return [int(np.prod(shape)) for shape in self.shapes]

    @property
    def size(self) -> int:
        """Numbers that are carried along the motion."""
        return len(self.start)

    @property
    def start(self) -> Array:
        """The tallies (size,) before the first step."""
        lengths = self.lengths if self.measures else []
        first = [np.full(k, m.first()) for m, k in zip(self.measures, lengths, strict=True) if not m.waits]
        return np.concatenate([*first, np.empty(0)])

    def updated(self, old: Array, named: Mapping[str, Any], end: bool = False) -> Array:
        """The tallies (size,) after a measurement; end: those of measures that count in the last state."""
        parts, begin = [old[:0]], 0
        for measure, length in zip(self.measures, self.lengths, strict=True):
            if measure.waits:
                parts += [measure.numbers(named).ravel()] if end else []
                continue
            part = old[begin : begin + length]
            begin += length
            if not (end and measure.acts):
                parts.append(measure.after(part, measure.numbers(named).ravel()))
        return np.concatenate(parts)

    @cached_property
    def _finish(self) -> Call:
        """(t, q, v, law's arguments, tallies) → tallies of measures that count in the last state, compiled."""
        sizes = {**{n: k for n, k in self.sizes.items() if n != "tau"}, "tallies": self.size}

        def compute(*inputs: Array) -> Array:
            given = dict(zip(sizes, inputs, strict=True))
            named = {n: given[n] for n in self.sizes if n != "tau"}
            named["t"] = named["t"][0]
            return self.updated(given["tallies"], named, end=True)

        return function_call(self.model, "measures", sizes, compute)

    def finished(
        self, t: float, q: Array, v: Array, settings: Mapping[str, Any], tallies: Array | None, steps: int
    ) -> dict[str, Array]:
        """Results (…, *shape) of motions of `steps` steps that end in t, q (…, nq), v (…, nv); tallies: (…, size)."""
        others = [settings[name] for name in self.sizes if name not in STATE]
        tallies = np.empty((*q.shape[:-1], 0)) if tallies is None else tallies
        ended = tallies[..., :0]
        if not all(measure.acts for measure in self.measures):
            ended = self._finish(np.full(1, t), q, v, *others, np.ascontiguousarray(tallies), check=False, threads=1)
        results, carried, end = {}, 0, 0
        for measure, length, shape in zip(self.measures, self.lengths, self.shapes, strict=True):
            part = tallies[..., carried : carried + length] if measure.acts else ended[..., end : end + length]
            carried += 0 if measure.waits else length
            end += 0 if measure.acts else length
            count = steps if measure.acts else steps + 1
            results[measure.name] = measure.reduced(part, count).reshape(*part.shape[:-1], *shape)
        return results
