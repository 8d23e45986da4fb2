"""Steps of fixed size as the body of a compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..program import Program
from ..system.shared import shared
from ..system.system import System
from .explicit import runge_kutta, semi_implicit
from .implicit import implicit_velocity
from .tableaux import TABLEAUX

MANY = 4  # stages from which on they may share their code
Step = Callable[..., tuple[np.ndarray, np.ndarray]]  # (system, t, h, q, e, u) → (q, e)


def _of_tableau(name: str) -> Step:
    def step(system: System, t: Any, h: Any, q: Any, e: Any, u: Any) -> tuple[np.ndarray, np.ndarray]:
        return runge_kutta(system, TABLEAUX[name], t, h, q, e, u)

    return step


STEPS: dict[str, Step] = {
    "semi-implicit": semi_implicit,
    "implicit-velocity": implicit_velocity,
    **{name: _of_tableau(name) for name in TABLEAUX},
}


def program(system: System, name: str, identity: str | None, recorded: bool, rows: bool = False) -> Program:
    """The loop of steps: carried q, e and their number; timing is (begin [s], step [s]); recorded (q, e) of each."""
    model, step, stages = system.model, STEPS[name], len(TABLEAUX[name].c) if name in TABLEAUX else 1

    def compute(q: Any, e: Any, number: Any, timing: Any, u: Any) -> dict[str, Any]:
        t0, h = timing
        used = system if system.called or stages < MANY else shared(system, stages)
        q1, e1 = step(used, t0 + number[0] * h, h, q, e, u)
        return {"q_next": q1, "e_next": e1, "number_next": number + 1.0}

    return Program(
        f"fixed {name}",
        identity,
        {"q": model.nq, "e": system.ne, "number": 1, "timing": 2, "u": system.nu},
        {"q_next": (model.nq,), "e_next": (system.ne,), "number_next": (1,)},
        compute,
        carry={"q_next": "q", "e_next": "e", "number_next": "number"},
        sequence=("u",) if rows else (),
        record=("q_next", "e_next") if recorded else (),
        lanes=1,
        interpreted=system.called,
    )
