"""A program: a traced function of named vectors, or a loop over one, and its identity; runs on any backend."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.compiler.graph import Function, Loop
from dalembert.compiler.graph.traces import Traced

from . import registry
from .interruption import Interrupted, run_loop
from .memory import empty
from .sources import own_code, rooms_of

if TYPE_CHECKING:
    from .host import Bound

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Repetition:
    """How a loop repeats its step: the fields of `graph.Loop`."""

    carry: tuple[tuple[str, str], ...]
    sequence: tuple[str, ...] = ()
    record: tuple[str, ...] = ()
    settled: str | None = None
    index: str | tuple[tuple[str, str], ...] | None = None
    backwards: tuple[str, ...] = ()

    def loop(self, step: Function) -> Loop:
        """The step, repeated."""
        return Loop(step, self.carry, self.sequence, self.record, self.settled, self.index, self.backwards)


class Program:
    """A function of named vectors, or a loop over one.

    sizes: of the inputs; shapes: of the outputs that come back, in their order (of a record, that of one pass). step:
    traces the function; repetition: makes a loop of it. identity: text that, with the code of the rooms of `step`,
    determines the program without a trace; None: it is traced now and known by its graph. lanes: states computed
    together, by default as many as a vector of the processor holds; 1 is faster for loops over a single state.
    """

    def __init__(
        self,
        name: str,
        identity: str | None,
        sizes: Mapping[str, int],
        shapes: Shapes,
        step: Callable[[], Function],
        repetition: Repetition | None = None,
        lanes: int | None = None,
    ) -> None:
        self.name, self.repetition, self.lanes = name, repetition, lanes
        self.sizes, self.shapes = dict(sizes), dict(shapes)
        self._step, self._traced, self._given = step, Traced(step, keep=identity is None), identity
        self._lock = threading.RLock()
        self._prepared: dict[str, tuple[Any, registry.Executable]] = {}
        if identity is None:
            self.identity = f"{own_code()} {self.function().fingerprint()}"
        else:
            described = f"{name} {identity} {repetition} {self.sizes} {self.shapes}"
            self.identity = f"{own_code(*rooms_of(step))} {described}"

    def function(self) -> Function | Loop:
        """The traced function or loop."""
        with self._lock:
            step = self._traced()
        return step if self.repetition is None else self.repetition.loop(step)

    def on_lanes(self, lanes: int) -> Program:
        """The same program with so many states computed together."""
        return Program(self.name, self._given, self.sizes, self.shapes, self._step, self.repetition, lanes)

    def on(self, backend: str | None = None) -> Any:
        """The program as prepared by a backend; see `registry.Executable`."""
        name = registry.usual_backend() if backend is None else backend
        prepare = registry.preparation(name)
        ready = self._prepared.get(name)
        if ready is None or ready[0] is not prepare:  # new, or the backend was registered again
            with self._lock:
                ready = self._prepared.get(name)
                if ready is None or ready[0] is not prepare:
                    ready = self._prepared[name] = prepare, prepare(self)
        return ready[1]

    def run(
        self,
        inputs: Mapping[str, np.ndarray],
        outputs: Mapping[str, np.ndarray],
        batch: tuple[int, ...],
        passes: int = 1,
        threads: int | None = None,
        backend: str | None = None,
    ) -> int:
        """Compute into the outputs; shapes as in `registry.Executable`. Returns the status."""
        executable = self.on(backend)
        if self.repetition is not None:
            return run_loop(self, executable, inputs, outputs, batch, passes, threads)
        arrays, results = [inputs[n] for n in self.sizes], [outputs[n] for n in self.shapes]
        return executable.run(arrays, results, batch, passes, threads)

    def bound(self, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray], passes: int = 1) -> Bound:
        """A call without arguments on fixed arrays, whose addresses are taken once: see `host.Bound`."""
        arrays, results = [inputs[n] for n in self.sizes], [outputs[n] for n in self.shapes]
        return self.on("llvm").bound(arrays, results, passes)

    def __call__(
        self,
        inputs: Mapping[str, np.ndarray],
        batch: tuple[int, ...] = (1,),
        passes: int = 1,
        threads: int | None = 1,
        backend: str | None = None,
    ) -> dict[str, np.ndarray]:
        """The outputs of a batch in float64: (*batch, *shape), of records (*batch, passes, *shape).

        `Interrupted` has them as its result, up to the passes that were completed.
        """
        recorded = () if self.repetition is None else self.repetition.record
        outputs = {}
        for name, shape in self.shapes.items():
            rows = (passes,) if name in recorded else ()
            outputs[name] = empty((*batch, *rows, *shape))
        if passes and 0 not in batch:
            try:
                self.run(inputs, outputs, batch, passes, threads, backend)
            except Interrupted as error:
                error.result = outputs
                raise
        return outputs
