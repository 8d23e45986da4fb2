"""Fast calls of methods: one builtin for all choices of a function, which leads each call to the code it needs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from dalembert.compiler.backends.signature import Parameter

from .registry import has_32_bits


def method(
    name: str, doc: str, parameters: Sequence[Parameter], positional: int, slow: Callable[..., Any], owner: Any
) -> Callable[..., Any]:
    """A builtin with these parameters, the first `positional` also without names; `slow` where there are none.

    It hands all calls to `slow` that `lead` has told nothing about. owner: the object whose attribute `name` it is.
    """
    if has_32_bits():
        return slow
    from dalembert.compiler.backends.llvm import fastcall, tables
    from dalembert.compiler.backends.llvm.kernel import fast_address

    address = fast_address()
    if address is None or len(parameters) > tables.MAX_PARAMETERS:
        return slow
    return fastcall.entry(name, doc, parameters, positional, slow, address, owner)


def lead(builtin: Callable[..., Any], choices: Sequence[Hashable], table: Any) -> None:
    """Let calls of a builtin with these choices, in the order of its parameters, use the code of a `Call.variant`."""
    from dalembert.compiler.backends.llvm import fastcall

    fastcall.lead(builtin, choices, table)
