"""Long loops in pieces of bounded time, so that Ctrl-C is answered soon and the results so far are kept.

Python runs its signal handlers between calls of compiled code. A loop whose passes take long all together is therefore
run in pieces, each from the state that the previous one carries out. When it is interrupted, the states after the
last piece that all rows of the batch have completed are in the outputs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.progress import Progress

if TYPE_CHECKING:
    from .program import Program
    from .registry import Executable

ANSWER = 0.02  # [s] that one call of compiled code should take at most
PIECE = 0.2  # [s] that all rows of a batch should take for the passes of a piece
FEWEST = 64  # passes of a piece of a large batch: fewer would spend its time on loading and storing states


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a compiled loop. result: the results so far, described at the call that loops.

    passes: how many the loop had completed. It is a KeyboardInterrupt: code that stops on Ctrl-C stops on this as well.
    """

    def __init__(self, message: str, passes: int = 0, result: Any = None) -> None:
        super().__init__(message)
        self.passes, self.result = passes, result


def run_loop(
    program: Program,
    executable: Executable,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    batch: tuple[int, ...],
    passes: int,
    threads: int | None,
) -> int:
    """Like `Executable.run`, in pieces where it takes long. Raises `Interrupted` with the outputs up to then."""
    each, group = executable.seconds(outputs[next(iter(program.shapes))].dtype, prod(batch), threads)
    most = min(passes, max(1, int(ANSWER / group)))
    piece = min(most, max(FEWEST, int(PIECE / each)))
    if piece >= passes:
        arrays, results = [inputs[n] for n in program.sizes], [outputs[n] for n in program.shapes]
        return executable.run(arrays, results, batch, passes, threads)
    return _Loop(program, executable, inputs, outputs, batch, threads).run(passes, piece, most)


class _Loop:
    """A loop that is being run in pieces."""

    def __init__(
        self,
        program: Program,
        executable: Executable,
        inputs: Mapping[str, np.ndarray],
        outputs: Mapping[str, np.ndarray],
        batch: tuple[int, ...],
        threads: int | None,
    ) -> None:
        assert program.repetition is not None
        self.program, self.executable, self.repetition = program, executable, program.repetition
        self.inputs, self.outputs, self.batch, self.threads = inputs, outputs, batch, threads
        self.carry = dict(program.repetition.carry)

    def run(self, passes: int, piece: int, most: int) -> int:
        """Piece after piece, each from where the last one ended."""
        status, done = 0, 0
        states = {taken: self.inputs[taken] for taken in self.carry.values()}
        task = Progress(self.program.name, passes, "passes")
        try:
            while done < passes:
                task.show(done)
                begin = time.perf_counter()
                count = min(piece, passes - done)
                after, code = self._piece(states, done, count)
                status |= code
                still = self._is_settled(states, after)
                states, done = after, done + count
                if still:
                    break
                took = max(time.perf_counter() - begin, 1e-6)
                if prod(self.batch) == 1:  # it was one call
                    most = max(1, int(count * ANSWER / took))
                piece = max(1, min(most, int(count * min(max(PIECE / took, 0.25), 4.0))))
        except KeyboardInterrupt:
            self._finish(states)
            raise Interrupted(f"{self.program.name}: interrupted after {done} of {passes} passes", done) from None
        finally:
            task.close()
        self._finish(states)
        return status

    def _piece(self, states: Mapping[str, np.ndarray], begin: int, count: int) -> tuple[dict[str, np.ndarray], int]:
        """The states after `count` more passes, and the status; records are written to their rows."""
        inputs = dict(self.inputs) | dict(states)
        if self.repetition.index is None:
            for name in self.repetition.sequence:
                size = self.program.sizes[name]
                inputs[name] = self.inputs[name][..., begin * size : (begin + count) * size]
        outputs: dict[str, np.ndarray] = {}
        copied = []
        for name, shape in self.program.shapes.items():
            target = self.outputs[name]
            if name not in self.repetition.record:
                outputs[name] = np.empty_like(target)
                continue
            rows = (*(slice(None),) * len(self.batch), slice(begin, begin + count))
            part = target[rows]
            if not part.flags.c_contiguous:  # of several motions, each has its own rows
                copied.append((part, name))
                part = np.empty((*self.batch, count, *shape), target.dtype)
            outputs[name] = part
        arrays, results = [inputs[n] for n in self.program.sizes], [outputs[n] for n in self.program.shapes]
        status = self.executable.run(arrays, results, self.batch, count, self.threads)
        for part, name in copied:
            part[...] = outputs[name]
        return {taken: self._state(name, outputs[name]) for name, taken in self.carry.items()}, status

    def _state(self, name: str, output: np.ndarray) -> np.ndarray:
        """A carried output as the input it becomes, (*batch, size); of a record, its last row."""
        size = self.program.sizes[self.carry[name]]
        if name in self.repetition.record:
            last: Any = (*(slice(None),) * len(self.batch), -1)
            output = output[last]
        return output.reshape(*self.batch, size)

    def _is_settled(self, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> bool:
        """Whether further passes would change nothing."""
        repeat = self.repetition
        if repeat.settled is None or (repeat.sequence and repeat.index is None):
            return False
        return all(np.array_equal(np.broadcast_to(before[n], x.shape), x, equal_nan=True) for n, x in after.items())

    def _finish(self, states: Mapping[str, np.ndarray]) -> None:
        """Put the states where they come back."""
        for name, taken in self.carry.items():
            if name in self.program.shapes and name not in self.repetition.record:
                target = self.outputs[name]
                size = self.program.sizes[taken]
                target[...] = np.broadcast_to(states[taken], (*self.batch, size)).reshape(target.shape)
