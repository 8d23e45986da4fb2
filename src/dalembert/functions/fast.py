"""Fast calls: the method that replaces a quantity's once it is compiled, and what it checks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.execute import is_single

DOUBLE = np.dtype(np.float64)


class Unpacked:
    """The call of a quantity that gives a named tuple; as a method of `owner` it is pickled as that."""

    def __init__(
        self, run: Callable[..., Any], unpack: Callable[[Any], Any], method: partial[Any] | None = None, name: str = ""
    ) -> None:
        self.run, self.unpack, self.method = run, unpack, method
        if method is not None:
            self.__name__, self.__doc__ = name, method.func.__doc__

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        if keywords and self.method is not None:
            return self.method(*inputs, **keywords)
        return self.unpack(self.run(*inputs, **keywords))

    @property
    def __signature__(self) -> inspect.Signature:
        """Signature of the method, for help and completion."""
        return inspect.signature(self.run if self.method is None else self.method)

    def __repr__(self) -> str:
        return f"<compiled method {self.__name__} of {self.method.args[0]!r}>" if self.method else f"<{self.run!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        assert self.method is not None, "only methods are pickled"
        return getattr, (self.method.args[0], self.__name__)


def in_double(name: str, run: Callable[..., Any], state: int) -> Callable[..., Any]:
    """A call that computes single precision in double and rounds the result; state: how many arrays decide."""

    def precise(*numbers: Any, out: Any = None, **controls: Any) -> Any:
        if not all(is_single(x) for x in numbers[:state]):
            return run(*numbers, **controls) if out is None else run(*numbers, out=out, **controls)
        result = run(*(np.asarray(x, float) for x in numbers), **controls)
        if out is None:
            return result.astype(np.float32)
        if not isinstance(out, np.ndarray) or out.dtype != np.float32 or out.shape != result.shape:
            raise DalembertError(f"{name}: out must be a float32 array of shape {result.shape}")
        out[...] = result
        return out

    return precise


def finite(name: str, run: Callable[..., Any], explain: Callable[[np.ndarray], str]) -> Callable[..., Any]:
    """A call whose result must be finite unless check=False; `explain` says in words why it is not."""

    def checked(*numbers: Any, check: bool = True, **controls: Any) -> Any:
        result = run(*numbers, **controls) if check else run(*numbers, check=False, **controls)
        if check and isinstance(result, np.ndarray) and result.dtype.kind == "f" and not np.isfinite(result).all():
            raise DalembertError(f"{name}: {explain(result)}")
        return result

    return checked


def is_double(x: Any) -> bool:
    """Whether x is a plain array of float64."""
    return type(x) is np.ndarray and x.dtype is DOUBLE


def with_defaults(
    fast: Callable[..., Any], defaults: Sequence[np.ndarray], evaluate: Callable[..., Any]
) -> Callable[..., Any]:
    """A fast call of the state alone, completed by numbers in double precision; other states go to `evaluate`."""

    def completed(*state: Any) -> Any:
        for x in state:
            if not is_double(x):
                return evaluate(*state)
        return fast(*state, *defaults)

    return completed


def documented(method: Callable[..., Any]) -> str:
    """Signature and text of a method in the form that a builtin carries: without annotations, all keywords listed."""
    parameters = [p for p in list(inspect.signature(method).parameters.values())[1:] if p.kind is not p.VAR_KEYWORD]
    shared = {"out": None, "threads": None, "check": True, "backend": None}
    keywords = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=d) for n, d in shared.items()]
    signature = inspect.Signature([p.replace(annotation=p.empty) for p in (*parameters, *keywords)])
    return f"{signature}\n--\n\n{method.__doc__}"
