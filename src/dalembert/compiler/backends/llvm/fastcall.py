"""One call from Python at C speed: a builtin function compiled by LLVM.

CPython calls it with the arguments in a C array (METH_FASTCALL | METH_KEYWORDS). It takes positional arguments and
keywords, choices such as a frame and its axes, numbers of Python beside arrays, `out`, `check` and `threads=1`. If the
arrays are aligned float64 (or float32) of the right shape, one state or a small batch, it allocates the result and
calls the kernel: about 0.1 µs besides the kernel itself. Anything else goes to a Python function, which converts,
broadcasts, or raises a clear error. One builtin serves all robots (`builtin` writes it): all differences are in the
table that is its `self`, and in those of its variants. DALEMBERT_FASTCALL=off sends every call to the Python function.
"""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
import warnings
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from dalembert.compiler.backends.signature import Parameter, Record, View
from dalembert.errors import DalembertError

from . import tables
from .tables import (
    MAX_DIMS,
    MAX_INPUTS,
    MAX_OUTPUTS,
    MAX_RECORDS,
    MAX_VIEWS,
    VECTORS,
    EntryWords,
    NodeWords,
    VariantWords,
)

_Word = ctypes.c_size_t
FAST_WORK = 2_000_000  # operations in a batch above which it goes through Python, which may use threads
ELEMENTS = {"double": VariantWords.KERNELS, "float": VariantWords.KERNELS + 2}
SWITCHED_OFF = "it is switched off by DALEMBERT_FASTCALL"
_CONSTANTS: dict[str, Any] = {
    "array": np.ndarray, "text": str, "tuple": tuple, "list": list, "float": float, "float64": np.float64, "int": int,
    "none": None, "true": True, "false": False, "one": 1,
    "double": np.dtype(np.float64), "single": np.dtype(np.float32),
    **{name: sys.intern(name) for name in ("out", "threads", "check", "backend")},
}  # fmt: skip


class CallTable(np.ndarray):
    """The words that one builtin reads; `keep` keeps alive what they point to.

    A builtin is pickled as an attribute of its `self`, by name: the table pickles as its owner.
    """

    keep: list[Any]
    owner: Any = None
    root: CallTable  # of an entry: the first node
    behind: dict[Hashable, CallTable]  # of a node

    def __reduce__(self) -> tuple[Any, ...]:
        if self.owner is None:
            raise TypeError(
                "a function traced from your own expression cannot be pickled: trace it again where it is used"
            )
        return _itself, (self.owner,)


def _itself(owner: Any) -> Any:
    return owner


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


# Never freed: a builtin reads its definition even while it is deallocated, when other objects of its cycle may be gone.
_methods: dict[tuple[str, str, int], _MethodDef] = {}


def _method(name: str, doc: str, address: int) -> _MethodDef:
    definition = _MethodDef(name.encode(), address, 0x82, f"{name}{doc}".encode())
    return _methods.setdefault((name, doc, address), definition)  # atomic: all threads get the one that is kept


def entry(
    name: str,
    doc: str,
    parameters: Sequence[Parameter],
    positional: int,
    slow: Callable[..., Any],
    address: int,
    owner: Any = None,
) -> Callable[..., Any]:
    """A builtin over the code at `address`; the first `positional` parameters may stand without a name.

    All its calls go to `slow` until `lead` says where they find their variant. It holds its table as its `self`, and
    that everything it points to. owner: the object that has it as attribute `name`.
    """
    vectors = MAX_RECORDS * VECTORS if any(each.record for each in parameters) else 0
    table = np.zeros(EntryWords.FIRST + EntryWords.WORDS * (len(parameters) + vectors), np.uint64).view(CallTable)
    table.owner = owner
    names = [sys.intern(each.name) for each in parameters]  # the interpreter's only copies: compared by address
    table.keep = [slow, names, [each.default for each in parameters]]
    table.root = _node()
    table[EntryWords.ROOT] = table.root.ctypes.data
    table[EntryWords.SLOW], table[EntryWords.PARAMETERS], table[EntryWords.POSITIONAL] = (
        id(slow),
        len(parameters),
        positional,
    )
    for k, constant in enumerate(EntryWords.CONSTANTS, EntryWords.constant(EntryWords.CONSTANTS[0])):
        table[k] = id(_CONSTANTS[constant])
    for k, (its_name, each) in enumerate(zip(names, parameters, strict=True)):
        default, layout, mark = 0 if each.required else id(each.default), _layout(each.record), k
        table.keep += layout, mark
        begin = EntryWords.FIRST + k * EntryWords.WORDS
        table[begin : begin + EntryWords.WORDS] = id(its_name), each.role, default, id(mark), layout.ctypes.data
    return _builtin(_method(name, doc, address), table)


def _layout(record: Record | None) -> np.ndarray:
    """Words for the records of a parameter: their type, and where their slots lie."""
    if record is None:
        return np.zeros(1, np.uint64)
    words = (ctypes.c_void_p * (type(record.example).__basicsize__ // 8)).from_address(id(record.example))
    places = {word: 8 * k for k, word in enumerate(words) if k > 1}
    names = (*record.words, *record.vectors)
    slots = [places[id(getattr(record.example, name))] for name in names]
    return np.array([id(type(record.example)), *slots], np.uint64)


def lead(function: Callable[..., Any], choices: Sequence[Hashable], table: CallTable) -> None:
    """Let calls of a builtin with these choices (the keys of `tables.NodeWords`) use the variant of that table."""
    node: CallTable = function.__self__.root  # type: ignore[attr-defined]
    for choice in choices:
        node = node.behind.setdefault(choice, _node())
    node.keep.append(table)
    node[NodeWords.VARIANT] = table.ctypes.data


def _node() -> CallTable:
    table = np.zeros(2, np.uint64).view(CallTable)
    table.behind = {}
    table.keep, table[NodeWords.BEHIND] = [], id(table.behind)
    return table


def variant(
    sizes: Sequence[int],
    places: Sequence[int],
    shapes: Sequence[tuple[int, ...]],
    kind: type[tuple] | None = None,
    views: Sequence[View] = (),
) -> CallTable:
    """The table of a kernel, into which `enter` puts its code.

    sizes: of its inputs; places: their parameters; shapes: of its outputs. kind: of the tuple that a call returns, of
    the outputs or, where views are given, of these.
    """
    table = np.zeros(VariantWords.WORDS, np.uint64).view(CallTable)
    several = len(shapes) > 1
    kind = tuple if kind is None and several else kind
    table.keep = [kind]
    table[VariantWords.INPUTS], table[VariantWords.OUTPUTS] = len(sizes), len(shapes)
    table[VariantWords.NUMBERS], table[VariantWords.VIEWS] = sum(map(prod, shapes)), len(views)
    table[VariantWords.KIND] = 0 if kind is None else id(kind)
    for k, pair in enumerate(zip(places, sizes, strict=True)):
        table[VariantWords.INPUT + 2 * k : VariantWords.INPUT + 2 * k + 2] = pair
    for k, shape in enumerate(shapes):
        begin = VariantWords.OUTPUT + k * (1 + MAX_DIMS)
        table[begin : begin + 1 + len(shape)] = len(shape), *shape
    for k, view in enumerate(views):
        begin, rank = VariantWords.VIEW + k * VariantWords.VIEW_WORDS, len(view.shape)
        table[begin : begin + 2 + rank] = view.offset, rank, *view.shape
        table[begin + 2 + MAX_DIMS : begin + 2 + MAX_DIMS + rank] = view.strides
    return table


def _builtin(method: _MethodDef, table: CallTable) -> Callable[..., Any]:
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(method), table, None)


def enter(table: CallTable, element: str, kind: str, address: int, operations: int, owner: Any) -> None:
    """Let a variant use the code of a kernel ("one" or "batch"); `owner` keeps it alive."""
    table.keep.append(owner)
    table[VariantWords.LIMIT] = max(1, FAST_WORK // max(operations, 1))
    table[ELEMENTS[element] + (kind == "batch")] = address


def fits(sizes: Sequence[int], shapes: Sequence[tuple[int, ...]], views: int = 0) -> bool:
    """Whether a fast call can have such a signature: few inputs, an output of few dimensions or a few arrays."""
    few = 0 < len(sizes) <= MAX_INPUTS and 0 < len(shapes) <= MAX_OUTPUTS and max(map(len, shapes)) <= MAX_DIMS
    return few and views <= MAX_VIEWS and (len(shapes) == 1 or all(shapes))


@cache
def symbols() -> dict[str, int] | None:
    """Addresses that the builtin needs; None where the fast call is unavailable: `missing` says why."""
    return None if missing() else _addresses()


@cache
def missing() -> str:
    """Why the fast call is unavailable; empty where it works."""
    if not _switched_on():
        return SWITCHED_OFF
    if sys.implementation.name != "cpython":
        return f"it needs CPython, this is {sys.implementation.name}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "it needs an interpreter with a global lock, and this is a free-threaded one"
    if hasattr(sys, "gettotalrefcount"):
        return "objects of a debug build of Python have another layout"
    try:
        known = bool(_addresses()) and _layout_is_known()
    except (ImportError, AttributeError, ValueError) as error:
        return f"Python {sys.version.split()[0]} or NumPy {np.__version__} lacks something it needs ({error})"
    return "" if known else f"Python {sys.version.split()[0]} or NumPy {np.__version__} has another layout of objects"


@cache
def _addresses() -> dict[str, int]:
    """The functions of Python and NumPy that the builtin calls."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    api = (ctypes.c_void_p * 300).from_address(get(_multiarray_umath._ARRAY_API, None))
    if api[2] != id(np.ndarray):
        raise ValueError("NumPy's table of functions")
    addresses: dict[str, Any] = {"dalembert_array_new": api[93], "dalembert_set_base": api[282]}
    for ours, theirs in (
        ("dalembert_vectorcall", "PyObject_Vectorcall"),
        ("dalembert_float", "PyFloat_FromDouble"),
        ("dalembert_allocate", "PyType_GenericAlloc"),
        ("dalembert_integer", "PyLong_AsDouble"),
        ("dalembert_clear_error", "PyErr_Clear"),
        ("dalembert_getitem", "PyDict_GetItemWithError"),
        ("dalembert_incref", "Py_IncRef"),
        ("dalembert_decref", "Py_DecRef"),
    ):
        addresses[ours] = ctypes.cast(getattr(ctypes.pythonapi, theirs), ctypes.c_void_p).value
    return addresses


@cache
def warn_if_missing() -> None:
    """Warn once that the fast call is unavailable, unless it was switched off."""
    if missing() and missing() != SWITCHED_OFF:
        warnings.warn(
            f"no fast call from Python: {missing()}. Results are the same; a call of one state takes 20 µs longer. "
            "DALEMBERT_FASTCALL=off silences this",
            stacklevel=2,
        )


def address(a: np.ndarray) -> int:
    """The address of an array's numbers: a.ctypes.data in a tenth of its time."""
    return a.ctypes.data if symbols() is None else _Word.from_address(id(a) + tables.DATA).value


def _switched_on() -> bool:
    setting = os.environ.get("DALEMBERT_FASTCALL", "").lower()
    if setting in ("off", "0", "no", "false"):
        return False
    if setting in ("", "on", "1", "yes", "true"):
        return True
    raise DalembertError(f"environment variable DALEMBERT_FASTCALL is {setting!r}: expected on or off")


def _layout_is_known() -> bool:
    """Read objects at the offsets that the builtin uses and compare with what Python and NumPy say of them."""
    a, number = np.arange(6.0).reshape(2, 3)[:, :2], 0.1
    pair = tuple(map(sys.intern, ("out", "threads")))
    listed = list(pair)

    def word(of: Any, offset: int, type: Any = ctypes.c_void_p) -> Any:
        return type.from_address(id(of) + offset).value

    def words(address: int, count: int) -> tuple[int, ...]:
        return tuple((ctypes.c_int64 * count).from_address(address))

    return (
        word(a, tables.TYPE) == id(np.ndarray)
        and word(a, tables.DATA) == a.ctypes.data
        and word(a, tables.RANK, ctypes.c_int32) == 2
        and words(word(a, tables.DIMENSIONS), 2) == a.shape
        and words(word(a, tables.STRIDES), 2) == a.strides
        and word(a, tables.DTYPE) == id(a.dtype)
        and word(a, tables.FLAGS, ctypes.c_int32) & 0x501 == 0x500  # aligned, writeable, not dense
        and all(word(x, tables.NUMBER, ctypes.c_double) == x for x in (number, np.float64(number)))
        and word(pair, tables.SIZE, ctypes.c_ssize_t) == 2
        and words(id(pair) + tables.TUPLE_ITEMS, 2) == tuple(map(id, pair))
        and word(listed, tables.SIZE, ctypes.c_ssize_t) == 2
        and list.__basicsize__ == tables.LIST_ITEMS + 16  # their address and its room come last
        and words(word(listed, tables.LIST_ITEMS), 2) == tuple(map(id, pair))
    )
