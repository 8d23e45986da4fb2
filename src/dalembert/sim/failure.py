"""Errors of motions that cannot go on: what happened when, where, and what to try; with what was computed so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.compiler.execute import Interrupted
from dalembert.errors import DalembertError
from dalembert.typing import Array

if TYPE_CHECKING:
    from .rollout.result import Rollout
    from .run.run import Run

FASTEST = 1e8  # [rad/s or m/s]: nothing that is built moves faster; a motion that does has diverged


class SimulationError(DalembertError):
    """A motion that had to stop, with what was computed until then, if anything was.

    run: of `simulate`; rollout: the records of `rollout` before the first motion of the batch had to stop; result: of
    a mechanism with changes, all runs before the one that had to stop.
    """

    run: Run | None = None
    rollout: Rollout | None = None
    result: Any = None


class Crowded(SimulationError):
    """More contacts than there is room for. growth: of the room with which to begin again.

    called: whether a function of the user's drives the run, which may not begin again by itself.
    """

    growth, called = 2, False


@contextmanager
def part_completed(complete: Callable[[Run], Run]) -> Iterator[None]:
    """Complete the part of a run that an error or an interrupt carries out of the block."""
    try:
        yield
    except SimulationError as error:
        error.run = None if error.run is None else complete(error.run)
        raise
    except Interrupted as error:
        error.result = None if error.result is None else complete(error.result)
        raise


def sound(q: Array, e: Array, nv: int) -> Array:
    """Whether states q (…, nq), e (…, ne) are numbers, with velocities e[…, :nv] that something can have."""
    numbers = np.isfinite(q).all(axis=-1) & np.isfinite(e[..., nv:]).all(axis=-1)
    return numbers & (np.abs(e[..., :nv]) <= FASTEST).all(axis=-1)
