"""Steps of fixed size as the body of a compiled loop."""

from __future__ import annotations

from typing import Any

from ..program import Program
from ..system.drive import Command
from ..system.sampling import Sampling
from ..system.shared import shared
from ..system.system import System
from .record import Integrator

MANY = 4  # evaluations from which on they may share their code


def program(
    system: System,
    integrator: Integrator,
    identity: str | None,
    recorded: bool,
    rows: bool = False,
    like: Program | None = None,
) -> Program:
    """The loop of steps: carried q, e and their number; timing is (begin [s], step [s]); recorded (q, e) of each.

    like: the same with other records or rows.
    """
    model, step, evaluations = system.model, integrator.fixed_step, integrator.evaluations

    def compute(q: Any, e: Any, number: Any, timing: Any, u: Any) -> dict[str, Any]:
        t0, h = timing
        used = system if system.called or evaluations < MANY else shared(system, evaluations)
        q1, e1 = step(used, t0 + number[0] * h, h, q, e, u)
        return {"q_next": q1, "e_next": e1, "number_next": number + 1.0}

    return Program(
        f"fixed {integrator.name}",
        identity,
        {"q": model.nq, "e": system.ne, "number": 1, "timing": 2, "u": system.nu},
        {"q_next": (model.nq,), "e_next": (system.ne,), "number_next": (1,)},
        compute,
        carry={"q_next": "q", "e_next": "e", "number_next": "number"},
        sequence=("u",) if rows else (),
        record=("q_next", "e_next") if recorded else (),
        lanes=1,
        interpreted=system.called,
        like=like,
    )


def sampled_program(system: System, integrator: Integrator, sampling: Sampling) -> Program:
    """Like `program`, driven by controllers that run at rates: their memory and the command are carried too.

    number: of the step in the whole run; recorded (q, e, command) of each step.
    """
    model, step = system.model, integrator.fixed_step

    def compute(q: Any, e: Any, number: Any, timing: Any, memory: Any, command: Any) -> dict[str, Any]:
        t0, h = timing
        t = t0 + number[0] * h
        tau, after = sampling.advanced(number[0], t, q, system.layout.velocity(e), memory, {})
        u = Command.held(tau).flat()
        q1, e1 = step(system, t, h, q, e, u)
        following = {"q_next": q1, "e_next": e1, "number_next": number + 1.0}
        return following | {"memory_next": after, "command_next": u}

    sizes = {"q": model.nq, "e": system.ne, "number": 1, "timing": 2, "memory": sampling.size, "command": system.nu}
    carried = {name: size for name, size in sizes.items() if name != "timing"}
    return Program(
        f"sampled {integrator.name}",
        None,
        sizes,
        {f"{name}_next": (size,) for name, size in carried.items()},
        compute,
        carry={f"{name}_next": name for name in carried},
        record=("q_next", "e_next", "command_next"),
        lanes=1,
    )
