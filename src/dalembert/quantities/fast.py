"""Calls of a quantity: what is done around the compiled code in Python, and the text that a fast call carries."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.backends.signature import Role
from dalembert.compiler.execute import is_single
from dalembert.errors import DalembertError

from .definition import Parameter

PLAIN = {str, int}  # types of the items of a tuple that is a choice


class Way(NamedTuple):
    """A way to call a method: what chooses the code, in the order of its search; the places of the code's inputs."""

    choices: list[Any]
    places: list[int]


def way_of_call(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> Way | None:
    """The way of a call with these values of all parameters; None where the fast call takes none of them."""
    choices: list[Any] = []
    places: list[int] = []
    for k, (name, p) in enumerate(parameters.items()):
        value, role = values[name], p.kind.role
        usual = value is p.default
        if role >= Role.CHOICE and not usual and p.default is not inspect.Parameter.empty:
            choices.append(k)
        if role is Role.RECORDS and not usual:
            assert p.kind.record is not None
            if type(value) not in (list, tuple) or any(type(each) is not type(p.kind.record.example) for each in value):
                return None
            choices += [getattr(each, word) for each in value for word in p.kind.record.words]
            places += range(len(parameters), len(parameters) + len(value) * len(p.kind.record.vectors))
        elif role is Role.CHOICE and not usual:
            if type(value) is not str and not (type(value) is tuple and {*map(type, value)} <= PLAIN):
                return None
            choices.append(value)
        elif role in (Role.ARRAY, Role.SCALAR) or (role is Role.OPTIONAL and not usual):
            places.append(k)
    return Way(choices, places)


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


def documented(method: Callable[..., Any]) -> str:
    """Signature and text of a method in the form that a builtin carries: without annotations, all keywords listed."""
    parameters = [p for p in list(inspect.signature(method).parameters.values())[1:] if p.kind is not p.VAR_KEYWORD]
    shared = {"out": None, "threads": None, "check": True, "backend": None}
    keywords = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=d) for n, d in shared.items()]
    signature = inspect.Signature([p.replace(annotation=p.empty) for p in (*parameters, *keywords)])
    return f"{signature}\n--\n\n{method.__doc__}"
