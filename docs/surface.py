"""The public surface as text: every public name with its signature. `python docs/surface.py` rewrites docs/surface.txt.

Public are the names in `dalembert.__all__`, those in the `__all__` of its rooms, and what classes among them define.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import dalembert

FILE = Path(__file__).with_name("surface.txt")


def text() -> str:
    """The listing, a name a line, in the order of names."""
    lines = {line for name in dalembert.__all__ for line in listed(name, getattr(dalembert, name))}
    return "\n".join(sorted(lines)) + "\n"


def listed(name: str, thing: Any) -> Iterator[str]:
    """Lines of a public thing: a room with its names, a class with its members, a function."""
    if isinstance(thing, ModuleType):
        own = [n for n, x in vars(thing).items() if n[0] != "_" and getattr(x, "__module__", "") == thing.__name__]
        for inner in getattr(thing, "__all__", own):
            yield from listed(f"{name}.{inner}", getattr(thing, inner))
    elif inspect.isclass(thing):
        yield f"class {name}{form(thing)}"
        yield from members(name, thing)
    elif callable(thing):
        yield f"{name}{form(thing)}"
    else:
        yield name


def members(name: str, owner: type) -> Iterator[str]:
    """Lines of what a class defines, itself or by bases of this package that are not public."""
    public = {id(thing) for thing in (getattr(dalembert, name) for name in dalembert.__all__) if inspect.isclass(thing)}
    for base in owner.__mro__:
        if not base.__module__.startswith("dalembert") or (base is not owner and id(base) in public):
            continue
        for inner, value in vars(base).items():
            if inner.startswith("_") and inner != "__call__":
                continue
            if isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            if inspect.isfunction(value) or hasattr(value, "quantity"):
                yield f"{name}.{inner}{form(value)}"
            elif not (inspect.isclass(value) or isinstance(value, ModuleType)):
                yield f"{name}.{inner}"


def form(thing: Any) -> str:
    """Parameters with their defaults, without types; nothing: not to be known."""
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return ""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return ""
    words, starred = [], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not starred:
            words.append("*")
        starred = starred or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        words.append(f"{mark}{p.name}" + ("" if p.default is p.empty else f"={value(p.default)}"))
    return f"({', '.join(words)})"


def value(default: Any) -> str:
    """A default as text; "…" for what has an address or is made anew."""
    if isinstance(default, (bool, int, float, str, type(None))):
        return repr(default)
    if isinstance(default, (tuple, list)):
        return "(" + ", ".join(map(value, default)) + ")"
    return "…"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
