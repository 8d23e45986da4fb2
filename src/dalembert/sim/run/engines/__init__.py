"""Engines: what advances a state from one time to another with a compiled loop, chunk by chunk.

Each gives chunks of steps: nodes (t, q, e), the first of which is where the chunk began, and between two nodes the
dense output where the method has one. A law that changes abruptly is advanced from change to change.
"""

from __future__ import annotations

from ..compiled import Programs
from .adaptive import Adaptive
from .base import Chunk, Engine, State, Trouble, steps_between
from .fixed import Fixed, SampledFixed
from .implicit import Implicit

__all__ = [
    "DEFAULT_STEP",
    "Adaptive",
    "Chunk",
    "Engine",
    "Fixed",
    "SampledFixed",
    "State",
    "Trouble",
    "engine",
    "steps_between",
]

DEFAULT_STEP = 1e-3  # [s] of integrators that do not choose their own


def engine(programs: Programs, step: float | None, rtol: float, atol: float, most: float) -> Engine:
    """The engine of an integrator: adaptive, with steps of `most` [s] at most, where it can be and no step is given."""
    if programs.integrator.adaptive and step is None:
        return Adaptive(programs, rtol, atol, most)
    step = DEFAULT_STEP if step is None else step
    return Fixed(programs, step) if programs.integrator.residual is None else Implicit(programs, step)
