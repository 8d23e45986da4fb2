"""Keywords of `robot.optimal_control` as one value, for problems that share them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.robot.settings import Keywords


@dataclass(frozen=True, kw_only=True, repr=False)
class ProblemSettings(Keywords):
    """Keywords of `Robot.optimal_control`, where they are explained, given once as `settings=`.

    A keyword that is given beside them wins.
    """

    limits: Sequence[str] | Mapping[str, Any] = ()
    constraints: Callable[..., Any] | None = None
    terminal_constraints: Callable[..., Any] | None = None
    motors: Sequence[str] | None = None
    actuation: Callable[[Any, Any, Any], Any] | None = None
    control_count: int | None = None
    integrator: str = "semi-implicit"
    curvature: str = "auto"
    contacts: Any = ()
    contact_decay: float = 50.0
    impact: Callable[..., Any] | None = None
    unknowns: Sequence[str] = ()
    free_start: bool = False
    contact: Any = None
