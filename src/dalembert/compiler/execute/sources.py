"""Digest of the package's own code that decides what a program computes: the rooms that it uses, and no others.

A room is a folder or a file of the package. Which rooms one uses follows from the import statements in its files, also
from those inside of functions. The methods of `Robot` alone open rooms above them when they are called, which traced
code does not do: of `robot`, only what it imports at the top counts.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any

PACKAGE = __package__.partition(".")[0]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPENING = frozenset({"robot"})
COMPILERS = frozenset({"compiler"})  # all that a program needs whose graph is known
_IMPORTED = time.time()

# They begin with letters, which is fast; what looks like an import in a text does no harm.
_FOR_CHECKERS = re.compile(r"if TYPE_CHECKING:.*\n(?:[ \t]+.*\n|\n)*")
_FROM = re.compile(r"from (\.*)([\w.]*) import (\([^)]*\)|[^\n]*)")
_IMPORT = re.compile(rf"import {PACKAGE}\.(\w+)")


def own_code(*rooms: str) -> str:
    """Digest of these rooms and of all that they use.

    The compilers always count. Code that was edited after it was imported belongs to this process alone.
    """
    return _digest(used(COMPILERS.union(rooms)))


@cache
def _digest(rooms: frozenset[str]) -> str:
    read = [_room(room) for room in sorted(rooms)]
    edited = any(newest > _IMPORTED for _, newest, _ in read)
    mark = f" edited {os.getpid()} {_IMPORTED}" if edited else ""
    return hashlib.sha256("".join(digest for digest, _, _ in read).encode()).hexdigest() + mark


@cache
def used(rooms: frozenset[str]) -> frozenset[str]:
    """These rooms, and those that they import, directly or not."""
    found: set[str] = set()
    waiting = {room for room in rooms if room}
    while waiting:
        room = waiting.pop()
        found.add(room)
        waiting |= _room(room)[2] - found
    return frozenset(found)


@cache
def _room(room: str) -> tuple[str, float, frozenset[str]]:
    """Digest of the files of a room, the time of the last change, the rooms that it imports."""
    digest, newest = hashlib.sha256(room.encode()), 0.0
    imported: set[str] = set()
    for path in sorted(_files(room)):
        with open(path, "rb") as file:
            newest = max(newest, os.fstat(file.fileno()).st_mtime)
            text = file.read()
        inner = path[len(ROOT) + 1 :].replace(os.sep, "/")
        digest.update(inner.encode() + text)
        imported.update(_imports(text.decode(), inner.count("/") + 1, room in OPENING))
    return digest.hexdigest(), newest, frozenset(name for name in imported if _files(name))


@cache
def _files(room: str) -> tuple[str, ...]:
    """The files of a room; none: there is no such room."""
    place = os.path.join(ROOT, room)
    if os.path.isfile(f"{place}.py"):
        return (f"{place}.py",)
    return tuple(os.path.join(folder, f) for folder, _, files in os.walk(place) for f in files if f.endswith(".py"))


def _imports(text: str, depth: int, top: bool) -> Iterator[str]:
    """The rooms that a file imports, among other names; depth: dots that lead to the package; top: not in functions."""
    text = _FOR_CHECKERS.sub("", text)
    for found in _FROM.finditer(text):
        dots, module, names = found.groups()
        root, _, inner = (PACKAGE, ".", module) if len(dots) == depth else module.partition(".")
        if root != PACKAGE or (dots and len(dots) != depth) or (top and _is_indented(text, found.start())):
            continue
        yield from [inner.partition(".")[0]] if inner else re.findall(r"\w+", names)  # from dalembert import …
    yield from (found[1] for found in _IMPORT.finditer(text) if not (top and _is_indented(text, found.start())))


def _is_indented(text: str, place: int) -> bool:
    return text[place - 1 : place] in (" ", "\t")


def room_of(module: str) -> str:
    """The room of a module of the package; "": it is another's."""
    root, _, inner = module.partition(".")
    return inner.partition(".")[0] if root == PACKAGE else ""


def rooms_of(step: Callable[..., Any]) -> frozenset[str]:
    """The rooms of a function, of those that it is made of, and of the objects that they are bound to."""
    rooms: set[str] = set()
    waiting: list[Any] = [step]
    seen: set[int] = set()
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, partial):
            waiting += [x.func, *x.args, *x.keywords.values()]
            continue
        rooms |= {room_of(str(getattr(part, "__module__", ""))) for part in (x, type(x))}
        if callable(x):
            waiting += [getattr(x, "__wrapped__", None), getattr(x, "__self__", None)]
            for cell in getattr(x, "__closure__", None) or ():
                waiting += _inside(cell)
    return frozenset(rooms)


def _inside(cell: Any) -> Iterable[Any]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # not bound yet
        return ()
