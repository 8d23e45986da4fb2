"""One call from Python at C speed: a builtin function compiled by LLVM.

CPython calls it with the arguments in a C array (METH_FASTCALL | METH_KEYWORDS). It looks into the NumPy structs, and
if every argument is an aligned, contiguous float64 (or float32) array of the right shape, one state or a small batch,
it allocates the result and calls the kernel: about 0.1 µs besides the kernel itself. Anything else goes to a Python
function, which converts, broadcasts, or raises a clear error. One builtin serves all robots: all differences are in its
table, the `self` of the builtin. `DALEMBERT_FASTCALL=off` sends every call to the Python function.
"""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
import warnings
from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from dalembert.backends.limits import LARGE_RESULT
from dalembert.errors import DalembertError

from . import builtin_ir

MAX_INPUTS, MAX_OUTPUTS, MAX_DIMS = 16, 4, 4
_Word = ctypes.c_size_t
FAST_WORK = 2_000_000  # operations in a batch above which it goes through Python, which may use threads

# words of the table
SLOW, INPUTS, ARRAY_TYPE, OUT_KEYWORD, THREADS_KEYWORD, NUMBER_ONE, FAST_LIMIT = range(7)
OUT_NDIM, OUT_COUNT, OUT_DIMS = range(7, 10)
KERNELS = {"double": OUT_DIMS + MAX_DIMS, "float": OUT_DIMS + MAX_DIMS + 3}  # descr, one, batch
SIZES = KERNELS["float"] + 3
OUTPUTS = SIZES + MAX_INPUTS  # their number; where there are several, OUT_COUNT is that of all their numbers
MORE_OUTPUTS, OUT_WORDS = OUTPUTS + 1, 1 + MAX_DIMS  # of each of several, its rank and dimensions
NAMES, TEXT_TYPE = 2, 3  # of the table of a builtin whose last argument is a name

TUPLE_ITEMS = tuple.__basicsize__  # where the items of a tuple begin: at 24 before Python 3.14, at 32 since
SWITCHED_OFF = "it is switched off by DALEMBERT_FASTCALL"


def source() -> str:
    """The IR of the builtin."""
    words = {
        "MAX_INPUTS": MAX_INPUTS,
        "MAX_OUTPUTS": MAX_OUTPUTS,
        "INPUTS": INPUTS,
        "OUTPUTS": OUTPUTS,
        "MORE_OUTPUTS": MORE_OUTPUTS,
        "OUT_WORDS": OUT_WORDS,
        "ARRAY_TYPE": ARRAY_TYPE,
        "OUT_KEYWORD": OUT_KEYWORD,
        "THREADS_KEYWORD": THREADS_KEYWORD,
        "NUMBER_ONE": NUMBER_ONE,
        "FAST_LIMIT": FAST_LIMIT,
        "OUT_NDIM": OUT_NDIM,
        "OUT_COUNT": OUT_COUNT,
        "OUT_DIMS": OUT_DIMS,
        "DOUBLE": KERNELS["double"],
        "FLOAT": KERNELS["float"],
        "SIZES": SIZES,
        "NAMES": NAMES,
        "TEXT_TYPE": TEXT_TYPE,
        "TUPLE_ITEMS": TUPLE_ITEMS,
        "LARGE_RESULT": LARGE_RESULT,
    }
    text = builtin_ir.IR
    for name, word in words.items():
        text = text.replace(f" {name}", f" {word}").replace(f"[{name}", f"[{word}")
    return text


class CallTable(np.ndarray):
    """The words that one builtin reads; `keep` keeps alive what they point to.

    A builtin is pickled as an attribute of its `self`, by name: the table pickles as its owner.
    """

    keep: list[Any]
    owner: Any = None

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


def make(
    name: str,
    doc: str,
    sizes: list[int],
    shapes: list[tuple[int, ...]],
    slow: Callable[..., Any],
    address: int,
    owner: Any = None,
) -> tuple[Callable[..., Any], CallTable]:
    """A builtin over the code at `address`, and the table into which kernels are entered with `enter`.

    The builtin holds the table as its `self`, and the table everything it points to. owner: has it as attribute `name`.
    """
    table = np.zeros(MORE_OUTPUTS + MAX_OUTPUTS * OUT_WORDS, np.uint64).view(CallTable)
    method = _method(name, doc, address)
    keywords = sys.intern("out"), sys.intern("threads"), 1  # the interpreter's only copies
    table.keep, table.owner = [slow, keywords], owner
    table[SLOW], table[INPUTS], table[ARRAY_TYPE] = id(slow), len(sizes), id(np.ndarray)
    table[OUT_KEYWORD], table[THREADS_KEYWORD], table[NUMBER_ONE] = map(id, keywords)
    table[OUTPUTS], table[OUT_NDIM], table[OUT_COUNT] = len(shapes), len(shapes[0]), sum(map(prod, shapes))
    table[OUT_DIMS : OUT_DIMS + len(shapes[0])] = shapes[0]
    for k, shape in enumerate(shapes):
        at = MORE_OUTPUTS + k * OUT_WORDS
        table[at : at + 1 + len(shape)] = len(shape), *shape
    table[SIZES : SIZES + len(sizes)] = sizes
    for element, dtype in (("double", np.dtype(np.float64)), ("float", np.dtype(np.float32))):
        table[KERNELS[element]] = id(dtype)
        table.keep.append(dtype)
    return _builtin(method, table), table


def make_named(
    name: str, doc: str, inputs: int, names: dict[str, CallTable], slow: Callable[..., Any], address: int, owner: Any
) -> Callable[..., Any]:
    """A builtin of `count` arrays and a name, which chooses the builtin (its table) that gets the arrays.

    address: of the code "named"; names may grow later; unknown names, and keywords, go to `slow`.
    """
    table = np.zeros(TEXT_TYPE + 1, np.uint64).view(CallTable)
    table.keep, table.owner = [slow, names], owner
    table[SLOW], table[INPUTS], table[NAMES], table[TEXT_TYPE] = id(slow), inputs, id(names), id(str)
    return _builtin(_method(name, doc, address), table)


def _builtin(method: _MethodDef, table: CallTable) -> Callable[..., Any]:
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(method), table, None)


def enter(table: CallTable, element: str, kind: str, address: int, operations: int, owner: Any) -> None:
    """Let the builtin use a kernel ("one" or "batch"); `owner` keeps its code alive."""
    table.keep.append(owner)
    table[FAST_LIMIT] = max(1, FAST_WORK // max(operations, 1))
    table[KERNELS[element] + (1 if kind == "one" else 2)] = address


def fits(sizes: list[int], shapes: list[tuple[int, ...]]) -> bool:
    """Whether a function's signature can have a builtin: few inputs, an output of few dimensions or a few arrays."""
    few = 0 < len(sizes) <= MAX_INPUTS and 0 < len(shapes) <= MAX_OUTPUTS and max(map(len, shapes)) <= MAX_DIMS
    return few and (len(shapes) == 1 or all(shapes))


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

    api = (ctypes.c_void_p * 100).from_address(get(_multiarray_umath._ARRAY_API, None))
    if api[2] != id(np.ndarray):
        raise ValueError("NumPy's table of functions")
    addresses: dict[str, Any] = {"dalembert_array_new": api[93]}
    for ours, theirs in (
        ("dalembert_vectorcall", "PyObject_Vectorcall"),
        ("dalembert_float", "PyFloat_FromDouble"),
        ("dalembert_tuple_new", "PyTuple_New"),
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
    return a.ctypes.data if symbols() is None else _Word.from_address(id(a) + 16).value


def _switched_on() -> bool:
    setting = os.environ.get("DALEMBERT_FASTCALL", "").lower()
    if setting in ("off", "0", "no", "false"):
        return False
    if setting in ("", "on", "1", "yes", "true"):
        return True
    raise DalembertError(f"environment variable DALEMBERT_FASTCALL is {setting!r}: expected on or off")


def _layout_is_known() -> bool:
    """Read an array's struct at the offsets that the builtin uses and compare with NumPy's own attributes."""
    a = np.arange(6.0).reshape(2, 3)
    pair = tuple(map(sys.intern, ("out", "threads")))
    names = tuple(map(id, pair))

    def word(offset: int, type: Any) -> int:
        return type.from_address(id(a) + offset).value

    dims = (ctypes.c_int64 * 2).from_address(word(32, ctypes.c_void_p))
    return (
        word(8, ctypes.c_void_p) == id(np.ndarray)
        and word(16, ctypes.c_void_p) == a.ctypes.data
        and word(24, ctypes.c_int32) == 2
        and tuple(dims) == (2, 3)
        and word(56, ctypes.c_void_p) == id(a.dtype)
        and word(64, ctypes.c_int32) & 0x501 == 0x501
        and ctypes.c_ssize_t.from_address(id(pair) + 16).value == 2
        and tuple(ctypes.c_void_p.from_address(id(pair) + TUPLE_ITEMS + 8 * k).value for k in (0, 1)) == names
    )
