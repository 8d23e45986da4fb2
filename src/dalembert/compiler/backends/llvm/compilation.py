"""Object code of kernels. A loop is compiled in two objects, its step and what repeats it.

Loops over one step differ in what they record and in which inputs have a row for each pass. That is a small part of
them: the step, which is nearly all, is laid out, written and compiled for the first of them.
"""

from __future__ import annotations

from typing import NamedTuple

from dalembert.compiler.graph import Function, Loop

from . import emit, target
from .plan import SlotPlan


class _Step(NamedTuple):
    """The step of loops, compiled."""

    plan: SlotPlan
    code: bytes


def one_object(function: Function, element: str, vector: int) -> list[bytes]:
    """Objects of the kernel for one state."""
    return [target.compile_object(emit.one_kernel(function, element, vector))]


def batch_objects(program: Function | Loop, element: str, lanes: int, vector: int) -> list[bytes]:
    """Objects of the kernel for a batch."""
    if isinstance(program, Function):
        return [target.compile_object(emit.batch_kernel(program, element, lanes, vector))]
    step = _step(program.step, element, lanes, vector)
    return [target.compile_object(emit.loop_kernel(program, step.plan, element, lanes)), step.code]


def _step(function: Function, element: str, lanes: int, vector: int) -> _Step:
    """The step, kept with its function for as long as that is."""
    key = "llvm", element, lanes
    if key not in function.kept:
        plan, text = emit.step_of_loop(function, element, lanes, vector)
        function.kept[key] = _Step(plan, target.compile_object(text))
    return function.kept[key]
