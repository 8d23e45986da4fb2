"""Object code of kernels. A loop is compiled in two objects, its step and what repeats it.

Loops over one step differ in what they record and in which inputs have a row for each pass. That is a small part of
them: the step, which is nearly all, is laid out, written and compiled for the first of them.
"""

from __future__ import annotations

from typing import NamedTuple

from dalembert.compiler.graph import Function, Loop

from . import emit, target
from .ir import Module
from .layout import Layout
from .rare import compressed


class Compiled(NamedTuple):
    """Objects, and the texts of the rare branches that they ask for, by their digests."""

    objects: list[bytes]
    rare: dict[str, bytes]


class _CompiledStep(NamedTuple):
    """The step of loops, compiled."""

    layout: Layout
    code: Compiled


def one_object(function: Function, element: str, vector: int) -> Compiled:
    """The kernel for one state."""
    return _compiled(emit.one_kernel(function, element, vector))


def batch_objects(program: Function | Loop, element: str, lanes: int, vector: int) -> Compiled:
    """The kernel for a batch."""
    if isinstance(program, Function):
        return _compiled(emit.batch_kernel(program, element, lanes, vector))
    step = _step(program.step, element, lanes, vector)
    around = target.compile_object(emit.loop_kernel(program, step.layout, element, lanes).text())
    return Compiled([around, *step.code.objects], step.code.rare)


def _compiled(module: Module) -> Compiled:
    return Compiled([target.compile_object(module.text())], compressed(module))


def _step(function: Function, element: str, lanes: int, vector: int) -> _CompiledStep:
    """The step, kept with its function for as long as that is."""
    key = "llvm", element, lanes
    if key not in function.kept:
        layout, module = emit.step_of_loop(function, element, lanes, vector)
        function.kept[key] = _CompiledStep(layout, _compiled(module))
    return function.kept[key]
