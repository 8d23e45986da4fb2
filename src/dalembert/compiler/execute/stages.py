"""Linear-quadratic problems in stages, compiled: the step of Newton's method on fixed arrays.

The arrays lie as `linear.stages.StageLayout` says; addresses are taken once, so that a call takes a fraction of a µs.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.compiler.backends import cache
from dalembert.compiler.backends.llvm import fastcall, stages, target
from dalembert.linear.stages import LANES, StageLayout
from dalembert.progress import Progress

from .host import Bound
from .sources import own_code

_ADDRESS, _NUMBER, _FLOAT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
_engines: dict[str, Any] = {}
_lock = threading.Lock()


def aligned(*shape: int) -> np.ndarray:
    """Zeros (*shape,) that begin where a vector may."""
    size = int(np.prod(shape))
    memory = np.zeros(size + LANES)
    start = -memory.ctypes.data // 8 % LANES
    return memory[start : start + size].reshape(shape)


def lanes() -> int:
    """Stages that one vector of the processor holds."""
    return target.lanes("double")


def _engine(layout: StageLayout, step: float, measures: int) -> Any:
    with _lock:
        identity = f"stages {own_code()} {layout} {float(step)!r} {measures}"
        if identity not in _engines:
            name = cache.key(identity, target.description())
            entry = cache.read(name)
            if entry is None:
                with Progress("compiling the stages of an optimal control problem"):
                    entry = cache.CacheEntry(stages.compiled(layout, step, measures), {})
                cache.write(name, entry)
            _engines[identity] = target.load_object(entry.code)
        return _engines[identity]


def _table(items: Sequence[np.ndarray | int]) -> Any:
    addresses = [x if isinstance(x, int) else fastcall.address(x) for x in items]
    return (_ADDRESS * len(addresses))(*addresses)


class Direction:
    """A Newton step of all stages, from their quadratic models.

    stages: how many; step [s] between them, where the layout has two parts. quadratic (stages, quadratic_width),
    transition (stages, transition_width), end (value_width,) are read; gains (stages, controls,
    state_width), states (stages + 1, state_width) and controls (stages, control_width) are written; first
    (state_width,) is the change of the first state.
    """

    def __init__(self, layout: StageLayout, stages: int, step: float, measures: int) -> None:
        self.layout = layout
        general = len(layout.parts) == 1
        self.quadratic = aligned(stages, layout.quadratic_width)
        self.transition = aligned(stages if general else 1, layout.transition_width)
        self.end = aligned(layout.value_width)
        self.gains = aligned(stages, layout.controls, layout.state_width)
        self.first = aligned(layout.state_width)
        self.states = aligned(stages + 1, layout.state_width)
        self.controls = aligned(stages + 1, layout.control_width)  # a row more, so that stages and end have like rows
        self._value = aligned(layout.value_width + LANES)  # rows are read a little beyond their end
        self._result = np.zeros(2)
        self.engine = _engine(layout, step, measures)
        arrays = (self.quadratic, self.transition, self.end, self._value, self.gains, self.first, self.states)
        self._arrays = (*arrays, self.controls, self._result)
        self.table, self.stages = _table(self._arrays), stages
        code = ctypes.CFUNCTYPE(None, _ADDRESS, _FLOAT, _NUMBER)
        self._call = code(self.engine.get_function_address("direction"))
        code = ctypes.CFUNCTYPE(None, *[_ADDRESS] * 5, _NUMBER)
        self._forward = code(self.engine.get_function_address("forward"))
        self.free: np.ndarray | None = None  # (state_width, k): how the first state moves with numbers that are free

    def __call__(self, damping: float) -> tuple[float, float]:
        """Solve; damping is added to the control's Hessian.

        Returns twice the decrease that the model promises, were there no gaps, and the smallest pivot: that of a
        convex problem is above 0.
        """
        if self.free is not None:
            self.first[:] = 0.0
        self._call(self.table, damping, self.stages)
        gain, least = float(self._result[0]), float(self._result[1])
        return (gain, least) if self.free is None else self._freed(self.free, damping, gain, least)

    def _freed(self, free: np.ndarray, damping: float, gain: float, least: float) -> tuple[float, float]:
        """The best first state, and the states and controls from there on."""
        n, columns = self.layout.states, list(self.layout.columns)
        value = self._value[: n * self.layout.state_width].reshape(n, -1)
        F = free[columns]
        H = F.T @ value[:, columns] @ F
        H = 0.5 * (H + H.T) + damping * np.eye(len(H))
        g = F.T @ value[:, self.layout.constant]
        if not (np.all(np.isfinite(H)) and np.all(np.isfinite(g))):
            return gain, -1.0
        curvatures, axes = np.linalg.eigh(H)
        slopes = axes.T @ g
        if curvatures[0] <= 0.0 and least > 0.0:
            least = float(min(curvatures[0], 0.0))
            return gain, least
        change = -slopes / curvatures
        self.first[:] = free @ (axes @ change)
        addresses = [fastcall.address(x) for x in (self.gains, self.transition, self.first, self.states, self.controls)]
        self._forward(*addresses, self.stages)
        return gain - float(slopes @ change), least


class Evaluation:
    """Kernels of the stages and of the end, bound to arrays, in one call; sums (measures,) of their measures.

    measures: rows of the stages, and of the end, as the kernels write them.
    """

    def __init__(self, direction: Direction, kernels: Sequence[Bound], measures: Sequence[np.ndarray]) -> None:
        self._kept = direction, kernels, measures
        self.sums = np.zeros(measures[0].shape[1])
        pointers = [x for bound in kernels for x in (bound.code_address, *bound.tables, bound.rows)]
        self.table, self._stages = _table([*measures, self.sums, *pointers, 0]), len(measures[0])
        code = ctypes.CFUNCTYPE(_NUMBER, _ADDRESS, _NUMBER)
        self._call = code(direction.engine.get_function_address("evaluate"))

    def __call__(self) -> int:
        """Evaluate; returns the status of the kernels."""
        return self._call(self.table, self._stages)


class FullSteps:
    """Newton's method without damping and line search, in one call: full steps while each lowers the cost enough.

    evaluations: from the first trajectory into the second, and back; last: the same without slopes, for the step after
    which none follows. length (2,): what they read as step length. armijo: part of the promised decrease that must come
    true; noise: part of the cost that rounding may add; nothing: costs below this, and below this part of the first
    cost, count as none.
    """

    def __init__(
        self,
        direction: Direction,
        evaluations: Sequence[Evaluation],
        last: Sequence[Evaluation],
        length: np.ndarray,
        armijo: float,
        noise: float,
        nothing: float,
    ) -> None:
        self._kept, self.last = (direction, evaluations, length), last
        self._numbers = np.array([0.0, 0.0, 0.0, 0.0, armijo, noise, nothing])  # see backends/llvm/stages_calls.newton
        tables = [ctypes.addressof(x) for x in (direction.table, *(e.table for e in (*evaluations, *last)))]
        self._table, self._stages = _table([*tables, length, self._numbers]), direction.stages
        code = ctypes.CFUNCTYPE(_NUMBER, _ADDRESS, *[_NUMBER] * 3, _FLOAT)
        self._call = code(direction.engine.get_function_address("newton"))

    def begin(self, most: int, tolerance: float) -> tuple[int, bool, float, float]:
        """The models at the first trajectory, in the second, and from there at most so many steps.

        The direction must hold finite numbers. Returns what a call does, then the cost, and the decrease that counts
        as none of all steps from here on.
        """
        taken = self._call(self._table, -1, most, self._stages, tolerance)
        cost, _, floor, settled = self._numbers[:4].tolist()
        return taken, settled == 1.0, cost, floor

    def __call__(self, cost: float, side: int, most: int, tolerance: float, floor: float) -> tuple[int, bool, float]:
        """From the trajectory `side`, at this cost; at most so many steps.

        Returns how many were taken, whether the last model promised a decrease of no more than `tolerance` times the
        cost, or `floor`, and the cost. Fewer than `most` and not settled: a direction does not exist or a step was
        refused.
        """
        self._numbers[0], self._numbers[2] = cost, floor
        taken = self._call(self._table, side, most, self._stages, tolerance)
        return taken, self._numbers[3] == 1.0, float(self._numbers[0])
