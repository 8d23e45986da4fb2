"""Programs of a simulation: a function of named arrays, traced and compiled, or called where it cannot be traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from dalembert.compiler import execute
from dalembert.compiler.graph import Function, trace
from dalembert.typing import Array

Shapes = Mapping[str, tuple[int, ...]]


class Program(execute.Program):
    """A function of named vectors, or a loop over one.

    sizes: of the inputs; inputs of size 0 are left out of the compiled code. shapes: of the outputs, in the order in
    which `compute` gives them. carry: output name → input name; sequence, record, settled, index: as in `Loop`.
    identity: text that determines the code without a trace, or None where the function itself must be examined.
    lanes: as in `execute.Program`. interpreted: run `compute` itself on numbers, one state at a time, since it calls
    what cannot be traced. like: a loop over the same step, which is then traced and compiled for one of them.
    """

    def __init__(
        self,
        name: str,
        identity: str | None,
        sizes: Mapping[str, int],
        shapes: Shapes,
        compute: Callable[..., dict[str, Any]],
        *,
        carry: Mapping[str, str] | None = None,
        sequence: tuple[str, ...] = (),
        record: tuple[str, ...] = (),
        settled: str | None = None,
        index: str | None = None,
        lanes: int | None = None,
        interpreted: bool = False,
        like: Program | None = None,
    ) -> None:
        used = {n: size for n, size in sizes.items() if size}
        nothing = {n: np.zeros(0) for n, size in sizes.items() if not size}
        self.compute, self.interpreted = partial(compute, **nothing), interpreted

        def on_inputs(*arrays: Array) -> dict[str, Any]:
            results = self.compute(**dict(zip(used, arrays, strict=True)))
            return {n: np.broadcast_to(np.asarray(results[n], object), shape) for n, shape in shapes.items()}

        @cache
        def step() -> Function:
            return trace(on_inputs, used, name)

        self.traced: Callable[[], Function] = step if like is None else like.traced
        repetition, kept = None, dict(shapes)
        if carry is not None:
            repetition = execute.Repetition(tuple(carry.items()), sequence, record, settled, index)
            kept = {n: shape for n, shape in shapes.items() if n in carry or n in record}
        known = "" if interpreted else identity  # what is not compiled needs no identity, and cannot be traced
        super().__init__(name, known, used, kept, self.traced, repetition, lanes)

    def __call__(
        self,
        inputs: Mapping[str, Array],
        batch: tuple[int, ...] = (1,),
        passes: int = 1,
        threads: int | None = 1,
        backend: str | None = None,
    ) -> dict[str, Array]:
        """Run for a batch: inputs (*batch, size), of a sequence (*batch, passes · size); outputs (*batch, …)."""
        if self.interpreted:
            return self._interpret(inputs, passes)
        return super().__call__(inputs, batch, passes, threads, backend)

    def _interpret(self, inputs: Mapping[str, Array], passes: int) -> dict[str, Array]:
        """One state, pass after pass, in Python."""
        state = {n: np.asarray(inputs[n], float) for n in self.sizes}
        repeat = self.repetition or execute.Repetition(())
        records: dict[str, list[Any]] = {n: [] for n in repeat.record}
        results: dict[str, Any] = {}
        for _ in range(passes):
            results = self.compute(**state)
            for name, rows in records.items():
                rows.append(np.asarray(results[name], float))
            state |= {taken: np.asarray(results[name], float) for name, taken in repeat.carry}
        kept = {n: np.array(records[n]) if n in records else np.asarray(results[n], float) for n in self.shapes}
        return {n: x[None] for n, x in kept.items()}
