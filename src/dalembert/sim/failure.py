"""The error of a run that cannot go on: what happened when, where, and what to try; with what was computed so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from .run.run import Run


class SimulationError(DalembertError):
    """A run that had to stop. `run` holds what was computed until then, or None if nothing was."""

    run: Run | None = None
