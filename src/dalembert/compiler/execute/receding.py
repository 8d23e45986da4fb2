"""Receding horizons, compiled: plans of many motions are improved one after the other by one solver's arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np

from dalembert.compiler.backends.llvm import fastcall
from dalembert.compiler.backends.llvm.stages_calls import KERNELS, SLOTS

from .host import Bound
from .stages import Direction, Evaluation

_ADDRESS, _NUMBER, _FLOAT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
ABSENT = (0, 0, 0, 0)


class RecedingSteps:
    """Iterations of Newton's method from the plans of many motions, each along its last direction first.

    A row of `memory` holds what is carried from call to call of one motion: its pieces go to the arrays `memory_in`,
    and come back from `memory_out` (those of the trajectory in which so many iterations end). A row of `requests` goes
    to the arrays `requests`, a row of `replies` comes from the arrays `replies`.

    evaluations: from the first trajectory into the second, and back. kernels: "measure" (the change of the first
    state), "control" (the replies) and with constraints "rates of nodes", "rates of end", each for both
    trajectories. cells: "length" (2,), "is_first" (1,), "barrier" (1,). reach: with constraints "nodes" (n, 2), "end"
    (1, 2), as the rates leave them.
    """

    def __init__(
        self,
        direction: Direction,
        evaluations: Sequence[Evaluation],
        iterations: int,
        kernels: Mapping[str, Sequence[Bound]],
        cells: Mapping[str, np.ndarray],
        reach: Mapping[str, np.ndarray],
        pieces: Mapping[str, Sequence[np.ndarray]],
    ) -> None:
        lists = {name: _pieces(arrays) for name, arrays in pieces.items()}
        widths = np.array([sum(x.size for x in pieces[name]) for name in ("memory in", "requests", "replies")])
        self.widths = tuple(int(w) for w in widths)
        tables = {"stages": direction.table, "there": evaluations[0].table, "back": evaluations[1].table}
        arrays = dict(cells) | {f"reach of {name}": x for name, x in reach.items()} | {"widths": widths}
        self._kept = direction, evaluations, kernels, arrays, lists, pieces
        addresses = {name: ctypes.addressof(x) for name, x in (tables | lists).items()}
        addresses |= {name: fastcall.address(x) for name, x in arrays.items()}
        slots = [addresses.get(name, 0) for name in SLOTS]
        for name in KERNELS:
            for side in (0, 1):
                bound = kernels[name][side] if name in kernels else None
                slots += ABSENT if bound is None else (bound.code_address, *bound.tables)
        self._table = (_ADDRESS * len(slots))(*slots)
        self._numbers = direction.stages, iterations
        code = ctypes.CFUNCTYPE(None, *[_ADDRESS] * 4, *[_NUMBER] * 4, *[_FLOAT] * 2)
        self._call = code(direction.engine.get_function_address("recede"))

    def __call__(
        self,
        memory: np.ndarray,
        requests: np.ndarray,
        replies: np.ndarray,
        begin: int,
        end: int,
        barrier: float,
        boundary: float,
    ) -> None:
        """Rows begin … end. barrier: of a constraint, as part of the cost; boundary: part of the way to it."""
        rows = [fastcall.address(x) for x in (memory, requests, replies)]
        self._call(self._table, *rows, begin, end, *self._numbers, barrier, boundary)


def _pieces(arrays: Sequence[np.ndarray]) -> ctypes.Array[ctypes.c_int64]:
    """Addresses and sizes, with a null address behind the last."""
    numbers = [n for x in arrays for n in (fastcall.address(x), x.size)]
    return (_NUMBER * (len(numbers) + 2))(*numbers, 0, 0)
