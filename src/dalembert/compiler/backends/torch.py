"""A traced function as PyTorch operations: autograd, torch.compile and torch.func see through it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from dalembert.compiler.graph import Function, Loop
from dalembert.compiler.graph.operations import MEANING
from dalembert.errors import DalembertError

from .elementwise import ArrayMath
from .elementwise import run as evaluate


def run(program: Function | Loop, inputs: Mapping[str, Any], n: int | None = None) -> dict[str, Any]:
    """Outputs by name, (*batch, *shape), of inputs (*batch, size); a loop makes n passes, one after the other."""
    return evaluate(_library(), program, inputs, n)


def prepared(program: Function | Loop) -> Callable[[Mapping[str, Any], int | None], dict[str, Any]]:
    """`run` of a program."""
    return partial(run, program)


@cache
def _library() -> ArrayMath:
    try:
        import torch
    except ImportError:
        raise DalembertError("PyTorch is missing: pip install 'dalembert[torch]'") from None

    def sign(x: Any) -> Any:
        return torch.where(torch.isnan(x), x, torch.sign(x))

    def scan(step: Any, state: Any, rows: Any, n: int) -> tuple[Any, Any]:
        records = []
        for k in range(n):
            state, record = step(state, {name: x[k] for name, x in rows.items()})
            records.append(record)
        return state, {name: torch.stack([record[name] for record in records]) for name in records[0]}

    def repeat(step: Any, state: Any, n: int, going: Any) -> Any:
        for _ in range(n):
            if not going(state):
                break
            state = step(state)
        return state

    return ArrayMath(
        table={
            **{op: MEANING[op] for op in ("add", "sub", "mul", "neg", "lt", "le", "eq", "ne", "dot")},
            **{
                op: getattr(torch, op)
                for op in ("sqrt", "sin", "cos", "exp", "log", "tanh", "abs", "floor", "where", "atan2")
            },
            "div": operator.truediv,
            "sign": sign,
            "min": torch.minimum,
            "max": torch.maximum,
            "and": torch.logical_and,
            "or": torch.logical_or,
            "not": torch.logical_not,
        },
        asarray=torch.as_tensor,
        constant=lambda value, like: torch.tensor(value, dtype=like.dtype, device=like.device),
        broadcast=torch.broadcast_to,
        stack=lambda values: torch.stack(values, dim=-1),
        empty=lambda shape, like: torch.empty(shape, dtype=like.dtype, device=like.device),
        moveaxis=torch.moveaxis,
        scan=scan,
        repeat=repeat,
        flip=lambda x: torch.flip(x, (0,)),
        numbers=lambda x, like: torch.tensor(x, dtype=like.dtype, device=like.device),
        take=lambda numbers, index, like: torch.tensor(numbers, dtype=like.dtype, device=like.device)[index.long()],
        take_rows=lambda x, index: torch.take_along_dim(x, index.long()[..., None, None], -2)[..., 0, :],
    )
