"""A compiled function as an operation that PyTorch differentiates, any number of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dalembert.compiler.interop.kinds import Library, library

from .foreign import ForeignCall, aligned, compute, summed_to_shape


class Operator(torch.autograd.Function):
    """apply(call, check, *tensors) → tuple of tensors. Its gradient is the operator of the call's pullback."""

    @staticmethod
    def forward(call: ForeignCall, check: bool, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return compute(call, library(call.name, tensors), tensors, check=check)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.call = inputs[0]
        ctx.save_for_backward(*inputs[2:])

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> tuple[Any, ...]:
        tensors = ctx.saved_tensors
        ranks = [len(shape) for shape in ctx.call.shapes]
        flat = [c.flatten(c.ndim - rank) if rank else c[..., None] for c, rank in zip(cotangents, ranks, strict=True)]
        gradients = apply(ctx.call.pullback(), False, [*tensors, *flat])
        return (None, None, *(summed_to_shape(g, x) for g, x in zip(gradients, tensors, strict=True)))

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[int | None], call: ForeignCall, check: bool, *tensors: torch.Tensor) -> Any:
        places = in_dims[2:]
        moved = [x[None] if d is None else x.movedim(d, 0) for x, d in zip(tensors, places, strict=True)]
        inner = aligned([x[0] for x in moved])
        ready = [x.reshape(x.shape[0], *y.shape) for x, y in zip(moved, inner, strict=True)]
        return Operator.apply(call, check, *ready), (0,) * len(call.shapes)


def apply(
    call: ForeignCall,
    check: bool,
    tensors: Sequence[torch.Tensor],
    kind: Library | None = None,
    threads: int | None = None,
) -> tuple[torch.Tensor, ...]:
    """The results, with their history if gradients are needed. kind: the result of `library`, if already known."""
    kind = kind or library(call.name, tensors)
    if kind.is_watched(tensors):
        return Operator.apply(call, check, *tensors)
    return compute(call, kind, tensors, threads=threads, check=check)
