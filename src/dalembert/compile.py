"""A compiled function as a callable: conversion of arguments, batches, precision, checks, and its kernel."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from .errors import DalembertError
from .graph import Function, Scalar, poisoned, pullback
from .interop import is_foreign

NOT_FINITE = 1  # bit of a kernel's status
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
MAX_DIMS = 64  # of NumPy: deeper lists, such as one that holds itself, are no arrays
SCANNED = 4096  # states looked at together in search of a bad one


class Call:
    """A compiled function of named vectors, for one state or any batch of them.

    sizes: argument name → length of its last axis. shapes: of the results for one state; several come as a tuple.
    """

    scratch: tuple[int, ...] = ()  # see `interop.calls.Call`

    def __init__(
        self,
        name: str,
        owner: str,
        identity: str,
        sizes: dict[str, int],
        shapes: Sequence[tuple[int, ...]],
        build: Callable[[], Function],
        explain: Callable[[dict[str, np.ndarray]], None],
    ) -> None:
        from .backends.llvm import threads  # LLVM is loaded when something is compiled
        from .backends.llvm.kernel import Kernel

        self.thread_limit = threads.limit
        self.name, self.owner, self.sizes, self.shapes, self.explain = name, owner, sizes, list(shapes), explain
        self.kernel = Kernel(f"{name} of {owner}", identity, list(sizes.values()), self.shapes, build)
        self.operators: dict[str, Any] = {}  # what other libraries make of it; see `interop`
        self._pullback: Call | None = None

    def __call__(
        self, *arguments: Any, out: Any = None, threads: int | None = None, check: bool = True, **others: Any
    ) -> Any:
        """The result for the given states; see `Robot` for the meaning of the keywords."""
        if others:
            raise TypeError(f"{self.name}() has no keyword {next(iter(others))!r}: expected out, threads or check")
        if any(is_foreign(a) for a in arguments):
            from .interop.calls import evaluate

            return evaluate(self, arguments, out, threads, check)
        arrays = self._arrays(arguments)
        dtype = FLOATS[1] if all(is_single(a) for a in arrays) else FLOATS[0]
        batch = self._batch(arrays)
        given = self._given(out)
        results = [self._target(o, batch, s, dtype, arrays) for o, s in zip(given, self.shapes, strict=True)]
        limit = None if threads is None else self.thread_limit(threads)
        if prod(batch) and any(r.size for r in results):
            if batch:
                status = self.kernel.run_batch(arrays, results, batch, limit)
            else:
                status = self.kernel.run_one([np.require(a, dtype, ["C", "A"]) for a in arrays], results)
            if status and check:
                self._complain(arrays, dtype, status)
        answers = [_answer(o, r) for o, r in zip(given, results, strict=True)]
        return answers[0] if len(answers) == 1 else tuple(answers)

    def function(self) -> Function:
        """The traced function."""
        made = self.kernel.function()
        assert isinstance(made, Function)
        return made

    def pullback(self) -> Call:
        """The vector-Jacobian product: arguments and one flat cotangent per result → one gradient per argument.

        Gradients are in coordinates: that of a quaternion has four numbers.
        """
        if self._pullback is None:
            cotangents = {f"{self.name} cotangent {k}": prod(shape) for k, shape in enumerate(self.shapes)}
            self._pullback = Call(
                f"{self.name} vjp",
                self.owner,
                f"{self.kernel.identity} vjp",
                self.sizes | cotangents,
                [(size,) for size in self.sizes.values()],
                lambda: pullback(self.function()),
                self.explain,
            )
        return self._pullback

    def device_kernel(self, check: bool) -> Any:
        """The function for a graphics processor; check: states that fail a check give NaN."""
        from .backends.cuda.kernel import Kernel

        key = f"cuda {check}"
        if key not in self.operators:
            build = (lambda: poisoned(self.function())) if check else self.function
            self.operators[key] = Kernel(self.kernel.name, f"{self.kernel.identity} {key}", build)
        return self.operators[key]

    def builtin(self, name: str, doc: str, slow: Callable[..., Any], owner: Any = None) -> Callable[..., Any]:
        """The fast call from Python, a short way for arrays of other libraries, and `slow` behind both.

        owner: as in `Kernel.builtin`; where that gives no fast call, it is `slow` itself.
        """
        short = partial(self._short, slow)
        made = self.kernel.builtin(name, doc, short, owner)
        return slow if made is short else made

    def _short(self, slow: Callable[..., Any], /, *inputs: Any, **keywords: Any) -> Any:
        """All arguments and nothing else, the first of another library: nothing is left to find out."""
        if not keywords and len(inputs) == len(self.sizes) and is_foreign(inputs[0]):
            from .interop.calls import evaluate

            return evaluate(self, inputs, None, None, True)
        return slow(*inputs, **keywords)

    def _arrays(self, arguments: Sequence[Any]) -> list[np.ndarray]:
        """The arguments as arrays of real numbers with the right last axes, not copied."""
        if len(arguments) != len(self.sizes):
            raise TypeError(
                f"{self.name}() takes {len(self.sizes)} arguments ({', '.join(self.sizes)}), got {len(arguments)}"
            )
        expected = {name: f"expected (…, {size}) for {self.owner}" for name, size in self.sizes.items()}
        arrays = [real_array(f"{self.name}: {n}", x, expected[n]) for n, x in zip(self.sizes, arguments, strict=True)]
        # only now: turning one argument into an array can run code of the caller's that reshapes another
        for k, (name, size) in enumerate(self.sizes.items()):
            if arrays[k].ndim == 0 and size == 1:
                arrays[k] = arrays[k][None]
            if arrays[k].ndim == 0 or arrays[k].shape[-1] != size:
                raise DalembertError(f"{self.name}: {name} has shape {arrays[k].shape}, {expected[name]}")
        return arrays

    def _given(self, out: Any) -> list[Any]:
        """`out` as one array, or None, per result."""
        count = len(self.shapes)
        if count == 1 or out is None:
            return [out] * count
        if not isinstance(out, (tuple, list)) or len(out) != count:
            raise DalembertError(f"{self.name}: out is {_kind(out)}, expected a tuple of {count} arrays")
        plain = [np.asarray(o) for o in out if isinstance(o, np.ndarray)]
        if any(np.may_share_memory(x, y) for x, y in combinations(plain, 2)):
            raise DalembertError(f"{self.name}: the arrays of out overlap, expected {count} that lie apart")
        return list(out)

    def _batch(self, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
        shapes = {a.shape[:-1] for a in arrays}
        if len(shapes) == 1:
            return shapes.pop()
        try:
            return np.broadcast_shapes(*[a.shape[:-1] for a in arrays])
        except ValueError:
            found = ", ".join(f"{n} {a.shape[:-1]}" for n, a in zip(self.sizes, arrays, strict=True))
            raise DalembertError(f"{self.name}: batch shapes do not broadcast: {found}") from None

    def _target(
        self, out: Any, batch: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype, arrays: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Where the kernel writes: `out` itself where that is safe, else a new array."""
        full = (*batch, *shape)
        if out is None:
            try:
                return np.empty(full, dtype)
            except ValueError:  # not a matter of memory, which is a MemoryError
                raise DalembertError(f"{self.name}: no array can have the shape {full} of the result") from None
        a = np.asarray(out)  # of a subclass, the plain array below it
        if not isinstance(out, np.ndarray) or a.shape != full or a.dtype != dtype or not a.flags.writeable:
            raise DalembertError(
                f"{self.name}: out is {_kind(out)}, expected a writeable {dtype} array of shape {full}"
            )
        dense = a.flags.c_contiguous and a.flags.aligned
        shared = any(np.may_share_memory(a, b) for b in arrays)
        return np.empty(full, dtype) if shared or is_maskable(out) or not (dense or batch) else a

    def _complain(self, arrays: Sequence[np.ndarray], dtype: np.dtype, status: int) -> None:
        """Raise the error that names the state and the joint."""
        for name, a in zip(self.sizes, arrays, strict=True):
            for begin, rows in states(a, dtype) if status & NOT_FINITE else ():
                bad = np.argwhere(~np.isfinite(rows))
                if len(bad):
                    row, index = bad[0]
                    raise DalembertError(
                        f"{self.name}: {name}[{index}]{state_place(begin + row, a)} is {rows[row, index]}, expected "
                        f"finite numbers for {self.owner}; pass check=False to let NaN and inf through"
                    )
        self.explain(dict(zip(self.sizes, arrays, strict=True)))


def _answer(out: np.ndarray | None, result: np.ndarray) -> Any:
    """What the caller gets: its own array, the new array, or a number."""
    if out is not None:
        plain = np.asarray(out)
        if not np.may_share_memory(plain, result):
            target = out if is_maskable(out) else plain
            target[...] = result
        return out
    return result if result.ndim else result[()] if result.dtype == FLOATS[1] else float(result)


def real_array(what: str, x: Any, expected: str) -> np.ndarray:
    """x as an array of real numbers of any type; errors begin with `what` and tell what was `expected`."""
    if is_maskable(x) and np.ma.is_masked(x):
        raise DalembertError(f"{what} has masked entries, {expected}: fill them first")
    try:
        a = np.asarray(x)
    except (TypeError, ValueError, RuntimeError) as error:  # PyTorch's is a RuntimeError
        raise DalembertError(f"{what} cannot be read as an array ({error}), {expected}") from None
    if a.dtype.kind not in "fiub":
        raise DalembertError(f"{what} is {_kind(x)}, not an array of real numbers, {expected}")
    return a


def is_maskable(x: Any) -> bool:
    """Whether x is a masked array, with a mask or without. np.ma is not loaded for that: it takes 15 ms."""
    return type(x) is not np.ndarray and "numpy.ma" in sys.modules and isinstance(x, np.ma.MaskedArray)


def is_single(x: Any) -> bool:
    """Whether x is an array of float32, in any byte order."""
    return isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.dtype.itemsize == 4


def states(a: np.ndarray, dtype: np.dtype) -> Iterator[tuple[int, np.ndarray]]:
    """(number of the first, states (n, size) as the kernel saw them): a batch in pieces, since all may be large."""
    count, size = prod(a.shape[:-1]), a.shape[-1]
    for begin in range(0, count, SCANNED):
        end = min(begin + SCANNED, count)
        with np.errstate(over="ignore"):
            yield begin, a.flat[begin * size : end * size].reshape(end - begin, size).astype(dtype)


def state_place(number: int, a: np.ndarray) -> str:
    """Words for the state of this number among those of an argument."""
    index = tuple(int(k) for k in np.unravel_index(number, a.shape[:-1])) if a.ndim > 1 else ()
    return f" of state {index if len(index) > 1 else index[0]}" if index else ""


def _kind(x: Any) -> str:
    """What came, in words."""
    if not isinstance(x, np.ndarray):
        return f"of type {type(x).__name__}"
    return f"a {'' if x.flags.writeable else 'read-only '}{x.dtype} array of shape {np.asarray(x).shape}"


def is_traced(*arguments: Any) -> bool:
    """Whether any argument holds traced scalars."""
    return any(_holds_scalar(x, MAX_DIMS) for x in arguments)


def _holds_scalar(x: Any, depth: int) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind == "O" and any(isinstance(y, Scalar) for y in x.ravel())
    if isinstance(x, (list, tuple)):
        return depth > 0 and any(_holds_scalar(y, depth - 1) for y in x)
    return isinstance(x, Scalar)


@cache
def sources() -> str:
    """Digest of the package's own code that decides what a kernel computes."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    folders = (
        "graph",
        "backends/llvm",
        "backends/c",
        "backends/cuda",
        "spatial",
        "model",
        "algorithms",
        "functions",
        "sim",
    )
    files = [p for folder in folders for p in (root / folder).rglob("*.py")]
    for path in sorted([*files, root / "math.py", root / "compile.py", root / "backends/elementary.py"]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
