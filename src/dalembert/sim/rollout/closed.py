"""Warnings about starts that do not close the loops: steps close them, which moves what was given."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.compiler.execute import Call
from dalembert.compiler.interop import on_host
from dalembert.quantities.guards import function_call

from ..run.initial import SAID, loop_name
from ..system.system import System
from .live import put

DRIFT = 1e-3  # [m, rad] of loops that steps close to first order only, in a state that is given back to a stepper


class OpenLoops:
    """How far the loops of a system are open. sizes: of q, v, and of live groups by name."""

    def __init__(self, system: System, sizes: Mapping[str, int]) -> None:
        self.system, self.sizes = system, dict(sizes)

    def warn(self, where: str, state: Mapping[str, Any], least: float = SAID, depth: int = 4) -> None:
        """Warn if a loop is open by more than `least` [m, rad], or opens at more than this share of the speed."""
        if not self.system.permanent_count:
            return
        arrays = [np.asarray(x, float) for x in on_host(where, *(state[name] for name in self.sizes))]
        open_by, rate = np.split(np.abs(self._call(*arrays, check=False)), 2, axis=-1)
        speed = np.maximum(np.max(np.abs(arrays[1]), axis=-1, keepdims=True, initial=0.0), 1.0)
        for off, words, moved in ((open_by, "{:.3g} m or rad", "q"), (rate / speed, "{:.3g} of its speed", "v")):
            if np.max(off, initial=0.0) > least:
                place = np.unravel_index(int(np.argmax(off)), off.shape)
                motion = f" of motion {', '.join(map(str, place[:-1]))}" if len(place) > 1 else ""
                warnings.warn(
                    f"{where}: the start{motion} leaves {loop_name(self.system, int(place[-1]))!r} open by "
                    f"{words.format(off[place])}: the first steps close it, which changes {moved}; start from "
                    "robot.close_loops(q, v)",
                    stacklevel=depth,
                )
                return

    @cached_property
    def _call(self) -> Call:
        """How far each row is off, and how fast, (…, 2 rows)."""

        def compute(*inputs: np.ndarray) -> np.ndarray:
            named, system = dict(zip(self.sizes, inputs, strict=True)), self.system
            for name in list(self.sizes)[2:]:
                system = put(system, name, named[name])
            z = np.zeros(system.layout.nz)
            rows = system.constraint_rows(0.0, named["q"], named["v"], z).first(system.permanent_count)
            return np.concatenate([rows.coordinate, rows.rate(named["v"])])

        return function_call(self.system.model, "loops at the start", self.sizes, compute)
