"""A traced function as jax.numpy operations: jit, vmap, grad and all of JAX see through it.

A repetition is a jax.lax.while_loop, which JAX differentiates forwards only (jvp, jacfwd); in reverse, trace the
function with `graph.vjp` instead.
"""

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
    """Outputs by name, (*batch, *shape), of inputs (*batch, size); a loop makes n passes, as one jax.lax.scan."""
    return evaluate(_library(), program, inputs, n)


def prepared(program: Function | Loop) -> Callable[[Mapping[str, Any], int | None], dict[str, Any]]:
    """`run` of a program. A loop is compiled once for all calls alike; of a function each operation is quick anyway."""
    if not isinstance(program, Loop):
        return partial(run, program)
    _library()
    import jax

    return jax.jit(partial(run, program), static_argnums=1)


@cache
def _library() -> ArrayMath:
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        raise DalembertError("JAX is missing: pip install 'dalembert[jax]'") from None

    def scan(step: Any, state: Any, rows: Any, n: int) -> tuple[Any, Any]:
        return jax.lax.scan(step, state, rows, length=n)

    def repeat(step: Any, state: Any, n: int, going: Any) -> Any:
        def more(carried: Any) -> Any:
            return (carried[0] < n) & going(carried[1])

        return jax.lax.while_loop(more, lambda carried: (carried[0] + 1, step(carried[1])), (0, state))[1]

    return ArrayMath(
        table={
            **{op: MEANING[op] for op in ("add", "sub", "mul", "neg", "lt", "le", "eq", "ne", "dot")},
            **{
                op: getattr(jnp, op)
                for op in ("sqrt", "sin", "cos", "exp", "log", "tanh", "abs", "sign", "floor", "where")
            },
            "div": operator.truediv,
            "atan2": jnp.arctan2,
            "min": jnp.minimum,
            "max": jnp.maximum,
            "and": jnp.logical_and,
            "or": jnp.logical_or,
            "not": jnp.logical_not,
        },
        asarray=jnp.asarray,
        constant=lambda value, like: jnp.asarray(value, like.dtype),
        broadcast=jnp.broadcast_to,
        stack=lambda values: jnp.stack(values, axis=-1),
        empty=lambda shape, like: jnp.empty(shape, like.dtype),
        moveaxis=jnp.moveaxis,
        scan=scan,
        repeat=repeat,
        flip=lambda x: jnp.flip(x, 0),
        numbers=lambda x, like: jnp.asarray(x, like.dtype),
        take=lambda numbers, index, like: jnp.asarray(numbers, like.dtype)[index.astype(int)],
        take_rows=lambda x, index: jnp.take_along_axis(x, index.astype(int)[..., None, None], -2)[..., 0, :],
    )
