"""The identity of code that is not the package's own: a class or function of a user, and all that it refers to.

Two functions have the same identity if they compute the same for the same reason: the same bytecode, constants,
defaults, values they close over, and globals they name, down to functions and modules of the user. Values that cannot
be told apart reliably count as new in every process, so that nothing compiled earlier is mistaken for theirs.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import uuid
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

OWN = __name__.partition(".")[0]
UNKNOWN = uuid.uuid4().hex  # of values that cannot be identified: another one in every process
# of a class: what Python and the dataclass decorator write by themselves, and what computes nothing
IDLE = {
    "__dict__",
    "__weakref__",
    "__module__",
    "__qualname__",
    "__doc__",
    "__annotations__",
    "__annotate_func__",
    "__annotations_cache__",
    "__abstractmethods__",
    "_abc_impl",
    "__firstlineno__",
    "__static_attributes__",
    "__match_args__",
    "__repr__",
    "__eq__",
    "__hash__",
    "__setattr__",
    "__delattr__",
    "__replace__",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__slotnames__",
}
PLAIN = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), slice, range)


def code_identity(x: Any) -> str:
    """A digest (hex) of a class or function, or of any value that one refers to."""
    digest = hashlib.sha256(sys.version.encode())
    for part in _parts(x, []):
        digest.update(part if isinstance(part, bytes) else f"{part};".encode())
    return digest.hexdigest()


def is_own(x: Any) -> bool:
    """Whether a class or function belongs to this package or to Python itself."""
    root = _root(x)
    return root == OWN or (root in sys.stdlib_module_names and root != "__main__")


def _root(x: Any) -> str:
    return str(getattr(x, "__module__", None)).partition(".")[0]


def _installed(root: str) -> str | None:
    """Name and version of an installed package, whose code is settled by them; None: it may change at any time."""
    package = sys.modules.get(root)
    version = getattr(package, "__version__", None)
    return f"{root} {version}" if version and "site-packages" in str(getattr(package, "__file__", "")) else None


def _parts(x: Any, open_: list[Any]) -> Iterator[str | bytes]:
    """Texts and bytes that make up the identity; open_: what is being described, in case it refers to itself."""
    for k, other in enumerate(open_):
        if other is x:
            yield f"the one at {k}"
            return
    if isinstance(x, PLAIN):
        yield f"{type(x).__name__} {x!r}"
        return
    open_.append(x)
    if isinstance(x, CodeType):
        yield from _of_code(x, open_)
    elif isinstance(x, FunctionType):
        yield from _of_function(x, open_)
    elif isinstance(x, type):
        yield from _of_class(x, open_)
    elif isinstance(x, ModuleType):
        yield from _of_module(x)
    else:
        yield from _of_value(x, open_)
    open_.pop()


def _of_code(x: CodeType, open_: list[Any]) -> Iterator[str | bytes]:
    yield x.co_code
    yield f"{x.co_names} {x.co_varnames} {x.co_argcount} {x.co_kwonlyargcount} {x.co_flags}"
    for constant in x.co_consts:
        yield from _parts(constant, open_)


def _of_function(x: FunctionType, open_: list[Any]) -> Iterator[str | bytes]:
    if is_own(x) or _installed(_root(x)):
        yield f"{_installed(_root(x))} {x.__module__}.{x.__qualname__}"
        return
    yield from _parts(x.__code__, open_)
    yield from _parts((x.__defaults__, x.__kwdefaults__), open_)
    for cell in x.__closure__ or ():
        try:
            yield from _parts(cell.cell_contents, open_)
        except ValueError:  # not filled yet
            yield "empty"
    for name in sorted(_names(x.__code__)):
        if name in x.__globals__:
            yield name
            yield from _parts(x.__globals__[name], open_)


def _names(code: CodeType) -> set[str]:
    """Names that a function, or one defined inside it, may look up among its globals."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _of_class(x: type, open_: list[Any]) -> Iterator[str | bytes]:
    for base in x.__mro__:
        yield f"{_installed(_root(base))} {base.__module__}.{base.__qualname__}"
        if is_own(base) or _installed(_root(base)):
            continue
        generated = getattr(
            vars(base).get("__dataclass_params__"), "init", False
        )  # then __init__ follows from the fields
        for name in sorted(set(vars(base)) - IDLE - ({"__init__"} if generated else set())):
            yield name
            yield from _parts(vars(base)[name], open_)


def _of_module(x: ModuleType) -> Iterator[str | bytes]:
    root = x.__name__.partition(".")[0]
    yield x.__name__
    if root == OWN or root in sys.stdlib_module_names:
        return
    if installed := _installed(root):
        yield installed
        return
    for name in sorted(sys.modules):
        if name.partition(".")[0] == root and (source := getattr(sys.modules[name], "__file__", None)):
            yield Path(source).read_bytes()


def _of_value(x: Any, open_: list[Any]) -> Iterator[str | bytes]:
    yield f"{type(x).__module__}.{type(x).__qualname__}"
    if isinstance(x, np.ndarray) and x.dtype != object:
        yield f"{x.dtype} {x.shape}"
        yield x.tobytes()
    elif isinstance(x, np.generic):
        yield repr(x)
    elif isinstance(x, dict):
        for key, value in x.items():
            yield from _parts(key, open_)
            yield from _parts(value, open_)
    elif isinstance(x, (tuple, list)):
        for item in x:
            yield from _parts(item, open_)
    elif isinstance(x, (set, frozenset)):
        yield from sorted(code_identity(item) for item in x)
    elif isinstance(x, (staticmethod, classmethod)):
        yield from _parts(x.__func__, open_)
    elif isinstance(x, property):
        yield from _parts((x.fget, x.fset), open_)
    elif isinstance(x, functools.cached_property):
        yield from _parts(x.func, open_)
    elif isinstance(x, functools.partial):
        yield from _parts((x.func, x.args, x.keywords), open_)
    elif isinstance(x, MethodType):
        yield from _parts((x.__func__, x.__self__), open_)
    elif is_dataclass(x):
        yield from _parts(type(x), open_)
        for field in fields(x):
            yield from _parts(getattr(x, field.name), open_)
    elif type(x).__module__ in ("builtins", "numpy") and hasattr(x, "__name__"):  # built-in functions, ufuncs
        yield f"{_installed(_root(x))} {getattr(x, '__module__', '')}.{x.__name__}"
    elif not is_own(type(x)) and type(x).__repr__ is object.__repr__ and hasattr(x, "__dict__"):
        yield from _parts(type(x), open_)
        yield from _parts(vars(x), open_)
    else:
        yield UNKNOWN
