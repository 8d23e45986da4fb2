"""A traced step and what repeats it, compiled: named arrays in, named arrays out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np

from dalembert.backends.llvm.kernel import Kernel
from dalembert.compile import sources
from dalembert.graph import Function, Loop, trace

Shapes = Mapping[str, tuple[int, ...]]


class Program:
    """A function of named vectors, or a loop over one.

    sizes: of the inputs; inputs of size 0 are left out of the compiled code. shapes: of the outputs, in the order in
    which `compute` gives them. carry: output name → input name; sequence, record, settled, index: as in `Loop`.
    identity: text that determines the code without a trace, or None where the function itself must be looked at.
    lanes: as in `Kernel`. interpreted: run `compute` itself on numbers, one state at a time, since it calls what cannot
    be traced.
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
    ) -> None:
        self.sizes = {n: size for n, size in sizes.items() if size}
        self.shapes, self.carry, self.sequence = dict(shapes), carry, sequence
        self.record, self.lanes = record, lanes
        nothing = {n: np.zeros(0) for n, size in sizes.items() if not size}
        self.compute = partial(compute, **nothing)
        self.interpreted = interpreted

        def on_inputs(*arrays: np.ndarray) -> dict[str, Any]:
            made = self.compute(**dict(zip(self.sizes, arrays, strict=True)))
            return {n: np.broadcast_to(np.asarray(made[n], object), shape) for n, shape in self.shapes.items()}

        def build() -> Function | Loop:
            step = trace(on_inputs, self.sizes, name)
            return step if carry is None else Loop(step, tuple(carry.items()), sequence, record, settled, index)

        if interpreted:
            return
        if identity is None:
            made = build()
            identity = made.fingerprint()
            self.kernel = self._kernel(name, identity, lambda: made)
        else:
            self.kernel = self._kernel(name, f"{identity} {carry} {sequence} {record} {settled} {index}", build)

    def _kernel(self, name: str, identity: str, build: Callable[[], Function | Loop]) -> Kernel:
        sizes, shapes = list(self.sizes.values()), list(self._kept().values())
        return Kernel(name, f"{sources()} {name} {identity}", sizes, shapes, build, self.lanes)

    def _kept(self) -> dict[str, tuple[int, ...]]:
        """The outputs that come back."""
        if self.carry is None:
            return self.shapes
        return {n: s for n, s in self.shapes.items() if n in self.carry or n in self.record}

    def __call__(
        self, inputs: Mapping[str, np.ndarray], batch: tuple[int, ...] = (1,), passes: int = 1, threads: int | None = 1
    ) -> dict[str, np.ndarray]:
        """Run for a batch: inputs (*batch, size), of a sequence (*batch, passes · size); outputs (*batch, …)."""
        if self.interpreted:
            return self._interpret(inputs, passes)
        arrays = [inputs[n] for n in self.sizes]
        outs = {}
        for n, shape in self._kept().items():
            rows = (passes,) if n in self.record else ()
            outs[n] = np.empty((*batch, *rows, *shape))
        if batch == (1,) and passes:
            self.kernel.run_row(arrays, list(outs.values()), passes)
        elif prod(batch) and passes:
            self.kernel.run_batch(arrays, list(outs.values()), batch, threads, passes)
        return outs

    def _interpret(self, inputs: Mapping[str, np.ndarray], passes: int) -> dict[str, np.ndarray]:
        """One state, pass after pass, in Python."""
        state = {n: np.asarray(inputs[n], float) for n in self.sizes}
        records: dict[str, list[Any]] = {n: [] for n in self.record}
        made: dict[str, Any] = {}
        for _ in range(passes):
            made = self.compute(**state)
            for name, rows in records.items():
                rows.append(np.asarray(made[name], float))
            state |= {taken: np.asarray(made[name], float) for name, taken in (self.carry or {}).items()}
        kept = {n: np.array(records[n]) if n in records else np.asarray(made[n], float) for n in self._kept()}
        return {n: x[None] for n, x in kept.items()}
