"""Digest of a user's code as far as it can be seen, where an answer is needed for every function."""

from __future__ import annotations

import dis
import os
import sysconfig
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec, resolve_name
from types import CodeType, MappingProxyType
from typing import Any

from .identity import FIXED, Walk, digest_of, is_own, root_of, slots_of
from .sources import PACKAGE


def visible_code(*objects: Any) -> str:
    """Digest of the content of objects and of the code that they bring, as far as it can be seen.

    Modules that were installed, and those of Python, count by their names.
    """
    digest = digest_of(_Visible(others=True), objects)
    return digest or ""


class _Visible(Walk):
    """Goes on where something could change without being noticed."""

    def unseen(self, *what: Any) -> None:
        self.add("unseen", *what)

    def _instance(self, x: Any) -> None:
        root = root_of(type(x))
        if self.is_fixed(root) and root not in FIXED and not is_own(type(x)):
            self.opaque(x)  # of an installed package, whose objects may keep caches among their attributes
        else:
            super()._instance(x)

    def opaque(self, x: Any) -> None:
        """Its wrapped function, its items, the state that a pickle has, or its text without addresses."""
        kind = type(x)
        self.add("opaque", kind.__module__, kind.__qualname__)
        if hasattr(x, "__wrapped__"):
            self.visit(x.__wrapped__)
        elif not self.is_fixed(root_of(kind)):
            self.visit((kind, [getattr(x, name, None) for base in kind.__mro__ for name in slots_of(base)]))
            self._items(x)
        elif not (self._pickled(x) or self._items(x)):
            with suppress(Exception):  # of somebody's own __repr__
                text = repr(x)
                if not text.startswith("<") and not any(sign in text for sign in (" at 0x", "{")):  # sets have no order
                    self.add(text)

    def _items(self, x: Any) -> bool:
        """Go through the items of a mapping or a sequence; False: it is none."""
        if isinstance(x, (dict, MappingProxyType)):
            self.visit(dict(x))
        elif isinstance(x, (list, tuple, deque)):
            self.visit(list(x))
        else:
            return False
        return True

    def _pickled(self, x: Any) -> bool:
        """Go through what a pickle of an object would have; False: it cannot be pickled, or draws random numbers."""
        if type(x).__module__.startswith(("numpy.random", "random", "_random")):
            return False
        try:
            parts = x.__reduce_ex__(4)
            parts = parts if isinstance(parts, str) else [list(p) if isinstance(p, Iterator) else p for p in parts]
        except Exception:  # whatever refuses to be pickled
            return False
        self.visit(parts)
        return True

    def imports(self, code: CodeType, names: dict[str, Any]) -> None:
        """The functions of imported modules that are named; modules of Python and installed ones are not loaded."""
        steps = list(dis.get_instructions(code))
        for k, step in enumerate(steps):
            if step.opname != "IMPORT_NAME":
                continue
            level = steps[k - 2].argval if k > 1 and isinstance(steps[k - 2].argval, int) else 0
            self.add("import", step.argval, level)
            with suppress(Exception):  # it may be missing, and the function prepared for that
                name = resolve_name("." * level + step.argval, names.get("__package__")) if level else step.argval
                root = name.partition(".")[0]
                if root != PACKAGE and not self.is_fixed(root):
                    self.named(import_module(name), code.co_names)

    def place(self, code: CodeType) -> None:
        """Nothing: versions of this package may move their functions."""

    def is_fixed(self, root: str) -> bool:
        return root in FIXED or _is_installed(root)


@cache
def _is_installed(root: str) -> bool:
    """Whether a module is one of an installed package."""
    found = None
    with suppress(Exception):
        found = find_spec(root)
    places = () if found is None else (found.origin or "", *(found.submodule_search_locations or ()))
    installed = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    return any(place.startswith(f"{folder}{os.sep}") for place in places for folder in installed)
