"""External wrenches as the algorithms take them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.dynamics.algorithms import Load, body_loads
from dalembert.model import Model

from .kinds import LOAD
from .structure import Wrench


def body_wrenches(model: Model, q: np.ndarray, external: Sequence[Wrench]) -> dict[int, np.ndarray] | None:
    """Body index → wrench [τ; f] (6,) of the external wrenches on it, at its origin, in its axes; None without any."""
    if not external:
        return None
    loads = []
    for wrench in external:
        axes: Any = wrench.axes if wrench.axes in ("frame", "world") else model.frame(wrench.axes)
        loads.append(Load(model.frame(wrench.frame), wrench.torque, wrench.force, wrench.point, axes))
    return body_loads(model, q, loads)


def numbers(external: Sequence[Wrench]) -> list[np.ndarray]:
    """Torque, force and point (3,) of every wrench."""
    return [getattr(wrench, part) for wrench in external for part in LOAD]


def with_numbers(external: Sequence[Wrench], vectors: Iterable[np.ndarray]) -> tuple[Wrench, ...]:
    """The wrenches with other vectors, in the order of `numbers`."""
    vectors = iter(vectors)
    return tuple(replace(wrench, torque=next(vectors), force=next(vectors), point=next(vectors)) for wrench in external)
