"""A compiled function as users call it: arguments converted and checked, batches, precision, `out`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from dalembert.compiler.graph import Function, poisoned, pullback
from dalembert.compiler.interop import is_foreign
from dalembert.errors import DalembertError

from .arguments import FLOATS, batch_shape, described, is_maskable, is_single, real_array, state_place, states
from .memory import empty
from .program import Program
from .registry import NOT_FINITE, has_32_bits
from .threads import limit

ELEMENT = {FLOATS[0]: "double", FLOATS[1]: "float"}  # the compilers' names


class Call:
    """A compiled function of named vectors, for one state or any batch of them.

    sizes: argument name → length of its last axis. shapes: of the results for one state; several come as a tuple.
    """

    scratch: tuple[int, ...] = ()  # see `foreign.ForeignCall`

    def __init__(
        self,
        name: str,
        owner: str,
        identity: str | None,
        sizes: dict[str, int],
        shapes: Mapping[str, tuple[int, ...]],
        build: Callable[[], Function],
        explain: Callable[[dict[str, np.ndarray]], None],
    ) -> None:
        self.name, self.owner, self.sizes, self.explain = name, owner, sizes, explain
        self.shapes = list(shapes.values())
        self.program = Program(f"{name} of {owner}", identity, sizes, shapes, build)
        self.operators: dict[str, Any] = {}  # its forms in other libraries; see `foreign`
        self._pullback: Call | None = None

    def __call__(
        self,
        *arguments: Any,
        out: Any = None,
        threads: int | None = None,
        check: bool = True,
        backend: str | None = None,
        **named: Any,
    ) -> Any:
        """The result for these states, by position or by name; see `Robot` for the meaning of the keywords."""
        arguments += self._named(len(arguments), named) if named else ()
        if any(is_foreign(a) for a in arguments):
            from .foreign import evaluate

            return evaluate(self, arguments, out, threads, check, backend)
        arrays = self._arrays(arguments)
        dtype = FLOATS[1] if all(is_single(a) for a in arrays) else FLOATS[0]
        batch = batch_shape(self.name, {n: a.shape[:-1] for n, a in zip(self.sizes, arrays, strict=True)})
        targets = self._targets(out)
        results = [self._memory(o, batch, s, dtype, arrays) for o, s in zip(targets, self.shapes, strict=True)]
        most = None if threads is None else limit(threads)
        if prod(batch) and any(r.size for r in results):
            status = self.program.on(backend).run(arrays, results, batch, 1, most)
            if status and check:
                self._complain(arrays, dtype, status)
        answers = [_answer(o, r) for o, r in zip(targets, results, strict=True)]
        return answers[0] if len(answers) == 1 else tuple(answers)

    def prepare(self, batch: bool, dtype: Any) -> None:
        """Compile ahead of the first call, for one state or for batches of a float type."""
        self.program.on("llvm").executable("batch" if batch else "one", ELEMENT[np.dtype(dtype)]).complete()

    def function(self) -> Function:
        """The traced function."""
        function = self.program.function()
        assert isinstance(function, Function)
        return function

    def pullback(self) -> Call:
        """The vector-Jacobian product: arguments and one flat cotangent per result → one gradient per argument.

        Gradients are in coordinates: that of a quaternion has four numbers.
        """
        if self._pullback is None:
            cotangents = {f"{name} cotangent": prod(shape) for name, shape in self.program.shapes.items()}
            self._pullback = Call(
                f"{self.name} vjp",
                self.owner,
                f"{self.program.identity} vjp",
                self.sizes | cotangents,
                {f"{name} gradient": (size,) for name, size in self.sizes.items()},
                lambda: pullback(self.function()),
                self.explain,
            )
        return self._pullback

    def device_kernel(self, check: bool) -> Any:
        """The function for a graphics processor; check: states that fail a check give NaN."""
        from .device import CudaKernel

        key = f"cuda {check}"
        if key not in self.operators:
            build = (lambda: poisoned(self.function())) if check else self.function
            self.operators[key] = CudaKernel(self.program.name, f"{self.program.identity} {key}", build)
        return self.operators[key]

    def builtin(self, name: str, doc: str, slow: Callable[..., Any]) -> Callable[..., Any]:
        """The fast call from Python, a short way for arrays of other libraries, and `slow` behind both.

        Without a fast call, it is `slow` itself.
        """
        if has_32_bits():
            return slow
        short = partial(self._short, slow)
        fast = self.program.on("llvm").builtin(name, doc, short, list(self.sizes))
        return slow if fast is short else fast

    def variant(self, places: Sequence[int], kind: type[tuple] | None, views: Sequence[Any]) -> Any:
        """The table that leads a fast call with more parameters to this code, or None; see `fastcall.variant`."""
        return None if has_32_bits() else self.program.on("llvm").variant(places, kind, views)

    def _short(self, slow: Callable[..., Any], /, *inputs: Any, **keywords: Any) -> Any:
        """All arguments and nothing else, the first of another library: the plan is known."""
        if not keywords and len(inputs) == len(self.sizes) and is_foreign(inputs[0]):
            from .foreign import evaluate

            return evaluate(self, inputs, None, None, True)
        return slow(*inputs, **keywords)

    def _named(self, count: int, named: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments after the first `count`, given by name, in their order."""
        names = list(self.sizes)
        for name in named:
            if name not in names:
                raise TypeError(f"{self.name}() has no keyword {name!r}: expected out, threads, check or backend")
            if name in names[:count]:
                raise TypeError(f"{self.name}() got multiple values for argument {name!r}")
        missing = [name for name in names[count:] if name not in named]
        if missing:
            raise TypeError(f"{self.name}() misses {', '.join(map(repr, missing))}: expected {', '.join(names)}")
        return tuple(named[name] for name in names[count:])

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

    def _targets(self, out: Any) -> list[Any]:
        """`out` as one array, or None, per result."""
        count = len(self.shapes)
        if count == 1 or out is None:
            return [out] * count
        if not isinstance(out, (tuple, list)) or len(out) != count:
            raise DalembertError(f"{self.name}: out is {described(out)}, expected a tuple of {count} arrays")
        plain = [np.asarray(o) for o in out if isinstance(o, np.ndarray)]
        if any(np.may_share_memory(x, y) for x, y in combinations(plain, 2)):
            raise DalembertError(f"{self.name}: the arrays of out overlap, expected {count} that lie apart")
        return list(out)

    def _memory(
        self, out: Any, batch: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype, arrays: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Where the kernel writes: `out` itself where that is safe, else a new array."""
        full = (*batch, *shape)
        if out is None:
            try:
                return empty(full, dtype)
            except ValueError:  # a wrong shape; lack of memory would be a MemoryError
                raise DalembertError(f"{self.name}: no array can have the shape {full} of the result") from None
        a = np.asarray(out)  # of a subclass, the plain array below it
        if not isinstance(out, np.ndarray) or a.shape != full or a.dtype != dtype or not a.flags.writeable:
            raise DalembertError(
                f"{self.name}: out is {described(out)}, expected a writeable {dtype} array of shape {full}"
            )
        if sum(abs(step) * (size - 1) for size, step in zip(a.shape, a.strides, strict=True)) + a.itemsize < a.nbytes:
            raise DalembertError(
                f"{self.name}: out has strides {a.strides}, so that numbers of the result share memory: expected "
                f"an array of shape {full} with memory of its own"
            )
        dense = a.flags.c_contiguous and a.flags.aligned
        shared = any(np.may_share_memory(a, b) for b in arrays)
        return empty(full, dtype) if shared or is_maskable(out) or not (dense or batch) else a

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
    """The caller's return value: its `out`, the new array, or a number."""
    if out is not None:
        plain = np.asarray(out)
        if not np.may_share_memory(plain, result):
            target = out if is_maskable(out) else plain
            target[...] = result
        return out
    return result if result.ndim else result[()] if result.dtype == FLOATS[1] else float(result)
