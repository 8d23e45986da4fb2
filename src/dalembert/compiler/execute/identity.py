"""The identity of compiled code: the package's code, the content of objects, and users' code.

Machine code is kept on disk under a key that must change with everything that decides what it computes. Three parts:
`own_code`, a digest of the rooms of this package that take part (see `sources`); `content`, the numbers and names in
objects whose classes are the package's; and, wherever a class or a function is somebody else's, the graph that its
trace gives (see `Program`), since only a trace sees everything. `code` is a digest of others' code for use within one
process: it says whether an earlier trace can be used again, and answers None where something could change unseen.
`visible.visible_code` goes around such places: it finds most changes of a user's function, not all.
"""

from __future__ import annotations

import builtins
import hashlib
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property, partial
from opcode import opmap
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .sources import PACKAGE, own_code, room_of

PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), range, slice)
# kinds of values that classes may extend
VALUES: tuple[Any, ...] = (dict, list, tuple, set, frozenset, int, float, complex, str, bytes, np.ndarray)
FIXED = {"builtins", "numpy", *sys.stdlib_module_names}  # modules whose classes change with their version only
# modules among them whose functions depend on nothing but their arguments, save those in ELSEWHERE
PURE = {
    "abc",
    "builtins",
    "bisect",
    "cmath",
    "collections",
    "copy",
    "dataclasses",
    "enum",
    "fractions",
    "functools",
    "itertools",
    "math",
    "numbers",
    "numpy",
    "operator",
    "reprlib",
    "statistics",
    "_thread",
    "types",
    "typing",
}  # fmt: skip; _thread: in the repr of every dataclass
# names, of NumPy and of this package, by which code reads what is neither an argument nor named in it
ELSEWHERE = {
    "DataSource", "formats", "fromfile", "genfromtxt", "geterr", "lib", "load", "load_run", "loading", "loadtxt",
    "logs", "memmap", "random", "read_log", "read_trajectory", "tables",
}  # fmt: skip
# builtin functions that reach what a function's code does not name
REACHING = {
    "__import__",
    "compile",
    "delattr",
    "eval",
    "exec",
    "getattr",
    "globals",
    "hasattr",
    "input",
    "locals",
    "open",
    "setattr",
    "vars",
}
# attributes of a class that are not its code
BOOKKEEPING = {
    "__abstractmethods__",
    "__annotations__",
    "__annotations_cache__",
    "__annotate_func__",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__match_args__",
    "__module__",
    "__orig_bases__",
    "__parameters__",
    "__static_attributes__",
    "__weakref__",
    "_abc_impl",
}
MOST = 5000  # objects examined before a piece of code counts as too large to be seen through


def is_own(x: type | Callable[..., Any]) -> bool:
    """Whether a class or function is the package's own."""
    return root_of(x) == PACKAGE


def content(*objects: Any) -> str | None:
    """Digest of the content of objects, and of the code of their classes and functions.

    None where they hold classes or functions that are not the package's own.
    """
    walk = Walk(others=False)
    digest = digest_of(walk, objects)
    return None if digest is None else f"{digest} {own_code(*walk.rooms)}"


def code(*objects: Any) -> str | None:
    """Digest of the content of objects and of all code that they bring; None where not everything can be seen."""
    return digest_of(Walk(others=True), objects)


class _Unseen(Exception):
    """Something that could change without being noticed."""


def digest_of(walk: Walk, objects: tuple[Any, ...]) -> str | None:
    """Digest of all that a walk sees; None where it gives up."""
    try:
        walk.visit(objects)
    except (_Unseen, RecursionError):
        return None
    return hashlib.sha256("".join(walk.words).encode()).hexdigest()


def root_of(x: Any) -> str:
    """The top-level module of a class or function."""
    return str(getattr(x, "__module__", "")).partition(".")[0]


class Walk:
    """Goes through objects, classes and functions. others: whether also through what is not the package's own."""

    def __init__(self, others: bool) -> None:
        self.others = others
        self.words: list[str] = []  # all that was seen, in order
        self.rooms: set[str] = set()  # of the package's own classes and functions that were seen
        self.seen: dict[int, tuple[int, Any]] = {}  # id → its number; the object is kept, lest its id is used again

    def add(self, *words: Any) -> None:
        self.words.append(repr(words))

    def unseen(self, *what: Any) -> None:
        """Something that could change without being noticed."""
        raise _Unseen

    def opaque(self, x: Any) -> None:
        """An object whose state cannot be read."""
        self.unseen(type(x).__name__)

    def imports(self, code: CodeType, names: dict[str, Any]) -> None:
        """Imports inside a function, whose modules are not known before it runs."""
        self.unseen("import")

    def is_fixed(self, root: str) -> bool:
        """Whether what a module holds changes with its version only."""
        return root in FIXED

    def visit(self, x: Any) -> None:
        """Anything."""
        kind = type(x)
        if kind in PLAIN:
            self.add(kind.__name__, x)
            return
        if id(x) in self.seen:
            self.add("again", self.seen[id(x)][0])
            return
        if len(self.seen) >= MOST:
            self.unseen("more")
            return
        self.seen[id(x)] = len(self.seen), x
        if kind in (tuple, list):
            self.add(kind.__name__, len(x))
            for item in x:
                self.visit(item)
        elif kind is dict:
            self.add("dict", len(x))
            for item in x.items():
                self.visit(item)
        elif kind in (set, frozenset):
            self.add(kind.__name__, sorted(repr(item) for item in x if type(item) in PLAIN))
            for item in x:
                if type(item) not in PLAIN:
                    self.unseen("no order")
        elif isinstance(x, np.ma.MaskedArray):
            self.visit((kind, x.data, np.ma.getmaskarray(x), x.fill_value))
        elif isinstance(x, (np.ndarray, np.generic)) and root_of(kind) == "numpy":
            self._array(np.asarray(x))
        elif isinstance(x, type):
            self._class(x)
        elif isinstance(x, Enum):
            self.add("enum", x.name)
            self.visit(kind)
        elif isinstance(x, ModuleType):
            self._fixed(x.__name__)
        elif callable(x) and hasattr(x, "__name__") and self._function(x):
            pass
        else:
            self._instance(x)

    def _array(self, x: np.ndarray) -> None:
        self.add("array", x.dtype.str, x.shape)
        if x.dtype.hasobject:
            for item in x.ravel():
                self.visit(item)
        else:
            self.words.append(hashlib.sha256(x.tobytes()).hexdigest())

    def _class(self, x: type) -> None:
        self.add("class", x.__module__, x.__qualname__)
        if root_of(x) == PACKAGE:
            self.rooms.add(room_of(x.__module__))
            return
        if self.is_fixed(root_of(x)):
            self._fixed(x.__module__, x.__name__)  # pathlib.Path reads files
            return
        self._demand_others()
        for base in x.__bases__:
            self.visit(base)
        if type(x) not in (type, type(Enum)) and not is_own(type(x)):
            self.visit(type(x))
        for name in sorted(vars(x).keys() - BOOKKEEPING):
            value = vars(x)[name]
            if type(value).__name__ in ("member_descriptor", "getset_descriptor", "_tuplegetter"):
                continue  # of slots, and of the fields of a named tuple
            self.add(name)
            self.visit(value)
        if is_dataclass(x):
            for field in fields(x):
                self.add(field.name, str(field.type))
                self.visit(field.default_factory if callable(field.default_factory) else None)

    def _function(self, x: Any) -> bool:
        """A function, method or wrapper of one; False: none of these."""
        if isinstance(x, FunctionType):
            self.add("function", x.__module__, x.__qualname__)
            if self.is_fixed(root_of(x)) or root_of(x) == PACKAGE:
                self._fixed(x.__module__, x.__name__)
                if not self.is_fixed(root_of(x)):
                    self.place(x.__code__)
                if not x.__closure__:
                    return True
            else:
                self._demand_others()
                self._code(x.__code__, x.__globals__)
            self.visit((x.__defaults__, x.__kwdefaults__))
            for cell in x.__closure__ or ():
                try:
                    inside = cell.cell_contents
                except ValueError:
                    self.add("empty")
                    continue
                self.visit(inside)
            self.visit(vars(x))
            return True
        if isinstance(x, MethodType):
            self.add("method")
            self.visit((x.__func__, x.__self__))
            return True
        if isinstance(x, BuiltinFunctionType):
            if isinstance(x.__self__, type):  # a method of a class, such as tuple.__new__
                self._fixed(x.__self__.__module__, x.__qualname__)
            elif isinstance(x.__self__, (ModuleType, type(None))):
                self._fixed(x.__module__ or "", x.__name__)
            else:
                self.unseen(x.__name__)
            return True
        name = getattr(x, "__name__", "")
        if root_of(x) == "numpy" and getattr(sys.modules.get(x.__module__), name, None) is x:
            self._fixed(x.__module__, name)  # a ufunc or another callable of NumPy, not one around a user's
            return True
        return False

    def _instance(self, x: Any) -> None:
        kind = type(x)
        if is_own(kind):
            self.rooms |= {room_of(part.__module__) for part in (kind, *getattr(x, "types", ())) if is_own(part)}
        if isinstance(x, (staticmethod, classmethod)):
            self.add(kind.__name__)
            self.visit(x.__func__)
        elif isinstance(x, property):
            self.add("property")
            self.visit((x.fget, x.fset, x.fdel))
        elif isinstance(x, cached_property):
            self.add("cached property")
            self.visit(x.func)
        elif isinstance(x, partial):
            self.add("partial")
            self.visit((x.func, x.args, x.keywords))
        elif root_of(kind) == "dataclasses":  # marks such as MISSING
            self.add(kind.__qualname__)
        elif is_own(kind) and isinstance(getattr(x, "fingerprint", None), str):
            self.add("known", kind.__qualname__, x.fingerprint)
            others = [part for part in getattr(x, "types", ()) if not is_own(part)]
            for part in sorted(others, key=lambda t: (t.__module__, t.__qualname__)):
                self.visit(part)
        elif isinstance(x, tuple) and (is_own(kind) or root_of(kind) not in FIXED):  # a record
            self.visit(kind)
            self.visit((tuple(x), getattr(x, "__dict__", {})))
        elif is_own(kind) and hasattr(kind, "determinants"):
            self.add("determined", kind.__qualname__)
            parts = x.determinants()
            if parts is None:
                self.unseen(kind.__qualname__)
            self.visit(parts)
        elif is_dataclass(x):
            self.visit(kind)
            for field in fields(x):
                self.add(field.name)
                self.visit(getattr(x, field.name))
            if not is_own(kind) and hasattr(x, "__dict__"):
                self.visit({n: y for n, y in vars(x).items() if n not in {f.name for f in fields(x)}})
        elif root_of(kind) not in FIXED and type(x).__flags__ & (1 << 9) and hasattr(x, "__dict__"):
            self.visit(kind)
            self.visit(vars(x))
            for plain in VALUES:
                if isinstance(x, plain):
                    self.visit(np.asarray(x) if plain is np.ndarray else plain(x))
            for base in kind.__mro__:
                for name in slots_of(base):
                    self.visit((name, getattr(x, name, None)))
        else:
            self.opaque(x)

    def place(self, code: CodeType) -> None:
        """Which of the functions of a module it is: those written within one function may have one name."""
        numbers = [x for x in code.co_consts if type(x) in PLAIN]
        self.add(code.co_firstlineno, code.co_code, code.co_names, numbers)

    def _code(self, code: CodeType, names: dict[str, Any]) -> None:
        """Instructions, constants, and the globals that are named."""
        if opmap["IMPORT_NAME"] in code.co_code[::2]:
            self.imports(code, names)
        self.add(code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant, names)
            else:
                self.visit(constant)
        for name in code.co_names:
            if name in names:
                self.add(name)
                self.named(names[name], code.co_names)
            elif name in REACHING and hasattr(builtins, name):
                self.unseen(name)

    def named(self, x: Any, attributes: tuple[str, ...]) -> None:
        """The value of a global name; of a module, the attributes that the code may use."""
        if not isinstance(x, ModuleType):
            self.visit(x)
            return
        root = x.__name__.partition(".")[0]
        if root == PACKAGE or self.is_fixed(root):
            self._fixed(x.__name__, *(ELSEWHERE.intersection(attributes) if root in (PACKAGE, "numpy") else ()))
            return
        self._demand_others()
        for name in attributes:
            if name in vars(x):
                self.add(name)
                self.named(vars(x)[name], attributes if isinstance(vars(x)[name], ModuleType) else ())

    def _fixed(self, module: str, *names: str) -> None:
        """A module, and names in it, that change with its version only and compute from their arguments alone."""
        root, *inner = module.split(".")
        self.rooms |= {room_of(module)} if root == PACKAGE else set()
        if root not in PURE | {PACKAGE} or not ELSEWHERE.isdisjoint((*inner, *names)):
            self.unseen(module, *names)
        self.add("fixed", module, *names)

    def _demand_others(self) -> None:
        if not self.others:
            raise _Unseen


def slots_of(kind: type) -> tuple[str, ...]:
    """Names of the slots that a class itself has."""
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
