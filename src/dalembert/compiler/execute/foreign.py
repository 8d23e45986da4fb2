"""One call with arrays of another library: converted, computed on their device, returned as arrays of that library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dalembert.compiler.interop.kinds import FLOATS, Jax, Library, Torch, is_foreign, library
from dalembert.errors import DalembertError

from .arguments import batch_shape


class Launched(Protocol):
    """A function that computes on a device."""

    def launch(self, element: str, count: int, arrays: Sequence[Any], stream: int | None = None) -> None:
        """Queue the computation of `count` states: arguments, results, scratch, each a `device.Array`."""


class ForeignCall(Protocol):
    """The interface of a compiled function: see `call.Call`."""

    name: str
    owner: str
    sizes: dict[str, int]
    shapes: list[tuple[int, ...]]
    operators: dict[str, Any]  # by library, the operator of this call
    scratch: tuple[int, ...]  # numbers per state that a device needs beside arguments and results, array by array

    def __call__(self, *arguments: Any, out: Any = None, threads: int | None = None, check: bool = True) -> Any: ...

    def pullback(self) -> ForeignCall:
        """The vector-Jacobian product: arguments and flat cotangents → one gradient per argument."""

    def device_kernel(self, check: bool) -> Launched:
        """The same function for a graphics processor; check: bad states give NaN."""


def evaluate(
    call: ForeignCall, arguments: Sequence[Any], out: Any, threads: int | None, check: bool, backend: str | None = None
) -> Any:
    """The results of a call with at least one foreign array, as a tuple or, if it is one, by itself."""
    if backend is not None:
        raise DalembertError(f"{call.name}: backend={backend!r} takes NumPy arrays only: convert the arguments first")
    if out is None and arguments:
        from .device import known

        plan = known(call, arguments, check)
        if plan is not None:
            results = plan.run(arguments)
            return results[0] if len(results) == 1 else results
    kind = library(call.name, arguments)
    arrays = _arrays(call, kind, arguments)
    if out is None and isinstance(kind, Torch):
        from .torch_operator import apply

        results = apply(call, check, arrays, kind, threads)
    elif out is None and isinstance(kind, Jax) and any(map(kind.is_traced, arrays)):
        from .jax_operator import operator

        results = operator(call)(*arrays)
    else:
        results = compute(call, kind, arrays, out, threads, check)
    return results[0] if len(results) == 1 else results


def compute(
    call: ForeignCall,
    kind: Library,
    arrays: Sequence[Any],
    out: Any = None,
    threads: int | None = None,
    check: bool = True,
) -> tuple[Any, ...]:
    """The numbers, without a gradient."""
    if out is not None and isinstance(kind, Jax):
        raise DalembertError(f"{call.name}: JAX arrays cannot be written to: omit out=")
    if kind.place is not None:
        from .device import run

        return run(call, kind, arrays, out, check)
    as_numpy = [kind.numpy(x) for x in arrays]
    if out is not None:
        several = isinstance(out, (tuple, list))
        outs = [kind.numpy(x) if is_foreign(x) else x for x in (out if several else [out])]
        call(*as_numpy, out=outs if several else outs[0], threads=threads, check=check)
        return tuple(out) if several else (out,)
    result = call(*as_numpy, threads=threads, check=check)
    results = result if len(call.shapes) > 1 else (result,)
    return tuple(kind.from_numpy(np.asarray(x)) for x in results)


def _arrays(call: ForeignCall, kind: Library, arguments: Sequence[Any]) -> list[Any]:
    """The arguments as arrays of one library and one floating type, with the right last axes."""
    if len(arguments) != len(call.sizes):
        raise TypeError(
            f"{call.name}() takes {len(call.sizes)} arguments ({', '.join(call.sizes)}), got {len(arguments)}"
        )
    single = True
    for name, x in zip(call.sizes, arguments, strict=True):
        if is_foreign(x):
            dtype_of_x = kind.dtype(x)
            if dtype_of_x.kind == "f" and dtype_of_x not in FLOATS:
                raise DalembertError(
                    f"{call.name}: {name} is of type {x.dtype}, expected float64 or float32: convert it"
                )
            single &= dtype_of_x == FLOATS[1]
        elif isinstance(x, np.ndarray):
            single &= x.dtype == FLOATS[1]
    dtype = FLOATS[1] if single else FLOATS[0]
    arrays = [kind.asarray(x, dtype) for x in arguments]
    for k, (name, size) in enumerate(call.sizes.items()):
        if arrays[k].ndim == 0 and size == 1:
            arrays[k] = arrays[k][None]
        if arrays[k].ndim == 0 or arrays[k].shape[-1] != size:
            raise DalembertError(
                f"{call.name}: {name} has shape {tuple(arrays[k].shape)}, expected (…, {size}) for {call.owner}"
            )
    return arrays


def shared_batch(call: ForeignCall, arrays: Sequence[Any]) -> tuple[int, ...]:
    """The batch shape that the arguments share."""
    return batch_shape(call.name, {n: tuple(x.shape[:-1]) for n, x in zip(call.sizes, arrays, strict=True)})


def aligned(arrays: Sequence[Any]) -> list[Any]:
    """The arrays with as many axes each, ones in front: a further batch axis then has one place in all of them."""
    rank = max(x.ndim for x in arrays)
    return [x.reshape((1,) * (rank - x.ndim) + tuple(x.shape)) for x in arrays]


def summed_to_shape(gradient: Any, like: Any) -> Any:
    """The gradient summed over the axes along which `like` was broadcast."""
    extra = gradient.ndim - like.ndim
    axes = tuple(range(extra)) + tuple(
        k + extra for k, size in enumerate(like.shape) if size == 1 and gradient.shape[k + extra] != 1
    )
    summed = gradient.sum(axes) if axes else gradient
    return summed.reshape(tuple(like.shape))
