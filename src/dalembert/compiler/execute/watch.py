"""Whether objects are as they were: the few places where they could have changed are compared, nothing is digested.

`identity.code` says what a piece of code computes; it goes through all of it, which takes 100 µs. A `Watch` does that
once, notes every reference that Python lets somebody replace, and compares these the next time, within a few µs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .identity import ELSEWHERE, PACKAGE, PLAIN, PURE, REACHING, is_own

LARGEST = 4096  # bytes of an array that is compared number by number
MOST = 400  # objects of one watch


class Watch:
    """Notes how objects are. `still()` says whether they are so yet; `complete`: whether all of them can be seen."""

    def __init__(self, *objects: Any) -> None:
        self.complete = True
        self._kept: dict[int, Any] = {}  # all that was seen, lest its id is used again
        self._checks: list[Callable[[], bool]] = []
        try:
            for x in objects:
                self._visit(x)
        except (_Hidden, RecursionError):
            self.complete = False

    def still(self) -> bool:
        """Whether nothing was replaced."""
        return all(check() for check in self._checks)

    def _visit(self, x: Any) -> None:
        kind = type(x)
        if kind in PLAIN or id(x) in self._kept or isinstance(x, (Enum, np.generic, ModuleType)):
            return
        self._kept[id(x)] = x
        if len(self._kept) > MOST:
            raise _Hidden
        if kind is tuple:
            for item in x:
                self._visit(item)
        elif kind is list:
            known = tuple(x)
            self._checks.append(lambda: len(x) == len(known) and all(a is b for a, b in zip(x, known, strict=True)))
            self._visit(known)
        elif kind is dict:
            items = tuple(x.items())
            self._checks.append(
                lambda: len(x) == len(items) and all(x.get(name, items) is value for name, value in items)
            )
            self._visit(items)
        elif kind is np.ndarray and not x.dtype.hasobject and x.nbytes <= LARGEST:
            content = x.dtype, x.shape, x.tobytes()
            self._checks.append(lambda: (x.dtype, x.shape, x.tobytes()) == content)
        elif isinstance(x, FunctionType):
            self._function(x)
        elif isinstance(x, (BuiltinFunctionType, np.ufunc)):
            self._fixed(x)
        elif is_own(kind) and (isinstance(getattr(x, "fingerprint", None), str) or hasattr(kind, "determinants")):
            return  # models and robots do not change
        elif is_own(kind) and is_dataclass(x) and kind.__dataclass_params__.frozen:
            for field in fields(x):
                self._visit(getattr(x, field.name))
        else:
            raise _Hidden

    def _function(self, x: FunctionType) -> None:
        if x.__module__.partition(".")[0] == PACKAGE and not x.__closure__:
            return
        code, defaults, named = x.__code__, x.__defaults__, x.__kwdefaults__
        if vars(x):
            raise _Hidden
        self._checks.append(lambda: x.__code__ is code and x.__defaults__ is defaults and x.__kwdefaults__ is named)
        self._visit((defaults, named))
        for cell in x.__closure__ or ():
            self._cell(cell)
        self._names(code, x.__globals__)

    def _cell(self, cell: Any) -> None:
        try:
            inside = cell.cell_contents
        except ValueError:
            raise _Hidden from None
        self._checks.append(lambda: cell.cell_contents is inside)
        self._visit(inside)

    def _names(self, code: CodeType, known: dict[str, Any]) -> None:
        """The globals that a function names."""
        if any(word in code.co_names for word in ("__import__",)) or "IMPORT_NAME" in _operations(code):
            raise _Hidden
        for name in code.co_names:
            if name in known:
                value = known[name]
                self._checks.append(partial(_is_still, known, name, value))
                if isinstance(value, ModuleType):
                    root = value.__name__.partition(".")[0]
                    if root not in PURE | {PACKAGE} or not ELSEWHERE.isdisjoint(code.co_names):
                        raise _Hidden
                else:
                    self._visit(value)
            elif name in REACHING:
                raise _Hidden
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._names(constant, known)

    def _fixed(self, x: Any) -> None:
        module = getattr(x, "__module__", "") or ""
        if module.partition(".")[0] not in PURE | {PACKAGE}:
            raise _Hidden


def _is_still(known: dict[str, Any], name: str, value: Any) -> bool:
    return known.get(name) is value


class _Hidden(Exception):
    """Something that could change without being noticed."""


def _operations(code: CodeType) -> set[str]:
    from dis import get_instructions

    return {instruction.opname for instruction in get_instructions(code)}
