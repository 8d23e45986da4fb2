"""(quantity, model) → callable: conversion of arguments, batches, precision, checks, and the kernel behind them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from .errors import DalembertError
from .graph import Function, Scalar, trace
from .math import abs as absolute
from .model import Model
from .quantities import CATALOGUE, Options

UNIT_TOLERANCE = 1e-6  # by how much the length of a quaternion may miss 1
NOT_FINITE = 1  # bit of a kernel's status
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


class Call:
    """A compiled function of named vectors, for one state or any batch of them.

    sizes: argument name → length of its last axis. shapes: of the results for one state; several come as a tuple.
    """

    def __init__(
        self,
        name: str,
        owner: str,
        identity: str,
        sizes: dict[str, int],
        shapes: Sequence[tuple[int, ...]],
        build: Callable[[], Function],
        explain: Callable[[dict[str, np.ndarray]], DalembertError | None],
    ) -> None:
        from .backends.llvm.kernel import Kernel  # LLVM is loaded when something is compiled

        self.name, self.owner, self.sizes, self.shapes, self.explain = name, owner, sizes, list(shapes), explain
        self.kernel = Kernel(f"{name} of {owner}", identity, list(sizes.values()), self.shapes, build)

    def __call__(self, *arguments: Any, out: Any = None, threads: int | None = None, check: bool = True) -> Any:
        """The result for the given states; see `Robot` for the meaning of the keywords."""
        arrays = [self._array(n, x) for n, x in zip(self.sizes, arguments, strict=True)]
        dtype = FLOATS[1] if all(a.dtype == FLOATS[1] for a in arrays) else FLOATS[0]
        batch = self._batch(arrays)
        given = [None] * len(self.shapes) if out is None else [out] if len(self.shapes) == 1 else list(out)
        results = [self._target(o, (*batch, *s), dtype, arrays) for o, s in zip(given, self.shapes, strict=True)]
        if prod(batch) and any(r.size for r in results):
            if batch:
                status = self.kernel.run_batch(arrays, results, batch, threads)
            else:
                status = self.kernel.run_one([np.ascontiguousarray(a, dtype) for a in arrays], results)
            if status and check:
                self._complain(arrays, status)
        answers = [_answer(o, r) for o, r in zip(given, results, strict=True)]
        return answers[0] if len(answers) == 1 else tuple(answers)

    def _array(self, name: str, x: Any) -> np.ndarray:
        """An argument as an array of a float type that can be read, with the right last axis."""
        size = self.sizes[name]
        expected = f"expected (…, {size}) for {self.owner}"
        if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
            raise DalembertError(f"{self.name}: {name} has masked entries, {expected}: fill them first")
        try:
            a = np.asarray(x)
            if a.dtype.kind not in "fiub":
                raise TypeError
            a = a if a.dtype in FLOATS else a.astype(np.float64)
        except (TypeError, ValueError):
            raise DalembertError(f"{self.name}: {name} is not an array of real numbers, {expected}") from None
        if a.ndim == 0 and size == 1:
            a = a[None]
        if a.ndim == 0 or a.shape[-1] != size:
            raise DalembertError(f"{self.name}: {name} has shape {a.shape}, {expected}")
        return a

    def _batch(self, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
        shapes = {a.shape[:-1] for a in arrays}
        if len(shapes) == 1:
            return shapes.pop()
        try:
            return np.broadcast_shapes(*[a.shape[:-1] for a in arrays])
        except ValueError:
            shapes = ", ".join(f"{n} {a.shape[:-1]}" for n, a in zip(self.sizes, arrays, strict=True))
            raise DalembertError(f"{self.name}: batch shapes do not broadcast: {shapes}") from None

    def _target(self, out: Any, shape: tuple[int, ...], dtype: np.dtype, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Where the kernel writes: `out` itself where that is safe, else a new array."""
        if out is None:
            return np.empty(shape, dtype)
        if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype or not out.flags.writeable:
            found = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise DalembertError(f"{self.name}: out is {found}, expected a writeable {dtype} array of shape {shape}")
        direct = type(out) is np.ndarray and out.flags.c_contiguous and out.flags.aligned
        shared = any(np.may_share_memory(out, a) for a in arrays)
        return out if direct and not shared else np.empty(shape, dtype)

    def _complain(self, arrays: Sequence[np.ndarray], status: int) -> None:
        """Raise the error that names the state and the joint."""
        for name, a in zip(self.sizes, arrays, strict=True):
            bad = np.argwhere(~np.isfinite(a)) if status & NOT_FINITE else ()
            if len(bad):
                *state, index = (int(k) for k in bad[0])
                place = f" of state {tuple(state) if len(state) > 1 else state[0]}" if state else ""
                raise DalembertError(
                    f"{self.name}: {name}[{index}]{place} is {a[tuple(bad[0])]}, expected finite numbers for {self.owner}; "
                    "pass check=False to let NaN and inf through"
                )
        error = self.explain(dict(zip(self.sizes, arrays, strict=True)))
        if error is not None:
            raise error


def _answer(out: np.ndarray | None, result: np.ndarray) -> Any:
    """What the caller gets: its own array, the new array, or a number."""
    if out is not None:
        if result is not out:
            out[...] = result
        return out
    return result if result.ndim else result[()] if result.dtype == FLOATS[1] else float(result)


def quantity_call(model: Model, name: str, options: Options) -> Call:
    """The compiled form of a quantity of the catalogue for one model."""
    quantity = CATALOGUE[name]
    sizes = quantity.arguments(model, options)

    def compute(*inputs: np.ndarray) -> Any:
        return quantity.compute(model, options, *inputs)

    def build() -> Function:
        return trace(compute, sizes, name, _unit_quaternions(model, sizes) if quantity.normalized else None)

    def explain(named: dict[str, np.ndarray]) -> DalembertError | None:
        return quaternion_error(model, name, named) if quantity.normalized else None

    identity = f"{sources()} {model.fingerprint} {name} {options!r}"
    return Call(name, f"robot {model.name!r}", identity, sizes, [quantity.shape(model)], build, explain)


def function_call(model: Model, name: str, sizes: dict[str, int], compute: Callable[..., Any]) -> Call:
    """The compiled form of a user's own function."""
    traced = trace(compute, sizes, name, _unit_quaternions(model, sizes))

    def explain(named: dict[str, np.ndarray]) -> DalembertError | None:
        return quaternion_error(model, name, named)

    identity = f"{sources()} {traced.fingerprint()}"
    shapes = [o.shape for o in traced.outputs]
    return Call(name, f"robot {model.name!r}", identity, sizes, shapes, lambda: traced, explain)


def _unit_quaternions(model: Model, sizes: dict[str, int]) -> Callable[..., list[Any]]:
    """The guards of a function whose configurations must have unit quaternions."""

    def guards(*inputs: np.ndarray) -> list[Any]:
        found = quaternions(model, dict(zip(sizes, inputs, strict=True)))
        return [absolute(quaternion @ quaternion - 1.0) <= 2.0 * UNIT_TOLERANCE for _, quaternion in found]

    return guards


def quaternions(model: Model, named: dict[str, np.ndarray]) -> list[tuple[str, np.ndarray]]:
    """(joint name, quaternion (…, 4)) of every configuration among the inputs."""
    return [
        (body.joint.name, q[..., body.q][..., -4:])
        for argument, q in named.items()
        if argument in ("q", "q0", "q1")
        for body in model.bodies
        if body.joint.nq > body.joint.nv
    ]


def quaternion_error(model: Model, name: str, named: dict[str, np.ndarray]) -> DalembertError | None:
    """The error for the first quaternion that is not of unit length."""
    for joint, quaternion in quaternions(model, named):
        lengths = np.linalg.norm(quaternion, axis=-1)
        bad = np.argwhere(np.abs(lengths - 1.0) > 0.9 * UNIT_TOLERANCE)
        if len(bad):
            place = f" of state {tuple(int(k) for k in bad[0])}" if bad.shape[1] else ""
            return DalembertError(
                f"{name}: the quaternion of joint {joint!r}{place} has length {lengths[tuple(bad[0])]:.9g}, expected 1 to "
                f"within {UNIT_TOLERANCE:g} (order w, x, y, z): use robot.normalize(q)"
            )
    return None


def is_traced(*arguments: Any) -> bool:
    """Whether any argument holds traced scalars."""
    for x in arguments:
        if isinstance(x, Scalar):
            return True
        if isinstance(x, (list, tuple, np.ndarray)) and getattr(x, "dtype", object) == object:
            if any(isinstance(y, Scalar) for y in np.asarray(x, object).ravel()):
                return True
    return False


@cache
def sources() -> str:
    """Digest of the package's own code that decides what a kernel computes."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    folders = ("graph", "backends/llvm", "spatial", "model", "algorithms")
    files = [p for folder in folders for p in (root / folder).rglob("*.py")]
    for path in sorted([*files, root / "math.py", root / "quantities.py", root / "compile.py"]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
