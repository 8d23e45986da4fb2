"""Digest of a user's code as far as it can be seen, where an answer is needed for every function."""

from __future__ import annotations

import dis
import os
import sysconfig
from collections import deque
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec, resolve_name
from types import CodeType
from typing import Any

from .identity import FIXED, Walk, digest_of, root_of, slots_of
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

    def opaque(self, x: Any) -> None:
        """Its wrapped function, its items, or its text without addresses."""
        kind = type(x)
        self.add("opaque", kind.__module__, kind.__qualname__)
        if hasattr(x, "__wrapped__"):
            self.visit(x.__wrapped__)
        elif isinstance(x, dict):
            self.visit(dict(x))
        elif isinstance(x, (list, tuple, deque)):
            self.visit(list(x))
        elif not self.is_fixed(root_of(kind)):
            self.visit((kind, [getattr(x, name, None) for base in kind.__mro__ for name in slots_of(base)]))
        else:
            with suppress(Exception):  # of somebody's own __repr__
                text = repr(x)
                if not text.startswith("<") and not any(sign in text for sign in (" at 0x", "{")):  # sets have no order
                    self.add(text)

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
