"""Environments on a graphics processor: the same compiled step over arrays in the card's memory, which CuPy holds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from typing import Any

from dalembert.compiler.execute import Program
from dalembert.compiler.execute.device import Array
from dalembert.compiler.graph import Function

from .stepping import Stepping

BYTES = 8


class CardCall:
    """A call of a program on fixed arrays (n, size) of CuPy, the environments last in memory."""

    def __init__(self, program: Program, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        self.kernel = program.on("cuda")
        arrays = [*(inputs[name] for name in program.sizes), *(outputs[name] for name in program.shapes)]
        self.count, self.arrays = len(arrays[-1]), arrays  # kept alive
        self.places = [Array(x.data.ptr, *(step // BYTES for step in x.strides)) for x in arrays if x.size]

    def on_threads(self, threads: int | None) -> None:
        """Queue the call; see `host.Bound`."""
        self.kernel.launch("double", self.count, self.places)


def leaned(stepping: Stepping, mode: str) -> Function:
    """The step for a card: states that need more contacts than feet have a function of their own."""
    system = stepping.physics.system
    if system.leaned() is system:
        return stepping.step(mode)
    step, rare = (_with(stepping, system.leaned(footless)).step(mode) for footless in (False, True))
    return replace(step, rare=rare)


def _with(stepping: Stepping, system: Any) -> Stepping:
    physics = copy(stepping.physics)
    physics.system = system
    return Stepping(replace(stepping.parts, physics=physics))


def on_stream(torch: Any, device: Any) -> AbstractContextManager[Any]:
    """Make PyTorch's current stream that of CuPy."""
    import cupy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its successor is not in older releases of CuPy
        return cupy.cuda.ExternalStream(torch.cuda.current_stream(device).cuda_stream)
