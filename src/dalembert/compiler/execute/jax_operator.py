"""A compiled function as an operation that JAX differentiates, compiles (jit) and batches (vmap).

Inside jit the numbers pass through a callback to the host's kernels, without checks: NaN passes through.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dalembert.compiler.interop.kinds import Jax

from .foreign import ForeignCall, aligned, compute, shared_batch, summed_to_shape


def operator(call: ForeignCall) -> Callable[..., tuple[Any, ...]]:
    """(arrays) → tuple of arrays. Its gradient is the operator of the call's pullback."""
    if "jax" not in call.operators:
        call.operators["jax"] = _operator(call)
    return call.operators["jax"]


def _operator(call: ForeignCall) -> Callable[..., tuple[Any, ...]]:
    @jax.custom_vjp
    def apply(*arrays: Any) -> tuple[Any, ...]:
        kind = Jax()
        arrays = tuple(map(jnp.asarray, arrays))  # constants come as a JAX subclass of NumPy arrays
        if not any(map(kind.is_traced, arrays)):
            places = {kind.device(x) for x in arrays}
            kind.place = places.pop() if len(places) == 1 else None
            return compute(call, kind, arrays, check=False)
        batch, dtype = shared_batch(call, arrays), arrays[0].dtype
        wanted = tuple(jax.ShapeDtypeStruct((*batch, *shape), dtype) for shape in call.shapes)
        return jax.pure_callback(numbers, wanted, *aligned(arrays), vmap_method="expand_dims")

    def numbers(*arrays: Any) -> tuple[np.ndarray, ...]:
        as_numpy = [np.asarray(x) for x in arrays]
        result = call(*as_numpy, check=False)
        batch = np.broadcast_shapes(*[x.shape[:-1] for x in as_numpy])
        results = result if len(call.shapes) > 1 else (result,)
        return tuple(np.asarray(x).reshape(*batch, *shape) for x, shape in zip(results, call.shapes, strict=True))

    def forward(*arrays: Any) -> tuple[Any, Any]:
        return apply(*arrays), arrays

    def backward(arrays: tuple[Any, ...], cotangents: tuple[Any, ...]) -> tuple[Any, ...]:
        batch = shared_batch(call, arrays)
        flat = [jnp.reshape(c, (*batch, prod(s))) for c, s in zip(cotangents, call.shapes, strict=True)]
        gradients = operator(call.pullback())(*arrays, *flat)
        return tuple(summed_to_shape(g, x) for g, x in zip(gradients, arrays, strict=True))

    apply.defvjp(forward, backward)
    return apply
