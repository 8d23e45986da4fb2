"""One call from Python at C speed: a builtin function made by LLVM.

CPython calls it with the arguments in a C array (METH_FASTCALL | METH_KEYWORDS). It looks into the NumPy structs, and
if every argument is an aligned, contiguous float64 (or float32) array of the right shape, one state or a small batch,
it allocates the result and calls the kernel: about 0.1 µs beside the kernel itself. Anything else goes to a Python
function, which converts, broadcasts, or raises the error that says what is wrong. One builtin serves all robots: what
differs lies in its table, the `self` of the builtin. `DALEMBERT_FASTCALL=off` sends every call to the Python function.
"""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

MAX_INPUTS, MAX_DIMS = 16, 4
FAST_WORK = 2_000_000  # operations in a batch above which it goes through Python, which may use threads

# words of the table
SLOW, INPUTS, ARRAY_TYPE, OUT_KEYWORD, FAST_LIMIT, OUT_NDIM, OUT_COUNT, OUT_DIMS = range(8)
KERNELS = {"double": OUT_DIMS + MAX_DIMS, "float": OUT_DIMS + MAX_DIMS + 3}  # descr, one, batch
SIZES = KERNELS["float"] + 3

# PyArrayObject after the object header: data 16, nd 24, dimensions 32, strides 40, base 48, descr 56, flags 64
IR = """
declare ptr @dalembert_array_new(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)
declare ptr @dalembert_vectorcall(ptr, ptr, i64, ptr)
declare ptr @dalembert_float(double)
declare void @dalembert_incref(ptr)
declare void @dalembert_decref(ptr)

; the data pointer of a C-contiguous, aligned array of this descr, rank, rows and columns; null if it is not one
define internal ptr @data(ptr %o, ptr %array.type, ptr %descr, i32 %rank, ptr %dims, i32 %flags) alwaysinline nounwind {
  %type.at = getelementptr i8, ptr %o, i64 8
  %type = load ptr, ptr %type.at
  %is.array = icmp eq ptr %type, %array.type
  br i1 %is.array, label %array, label %no
array:
  %descr.at = getelementptr i8, ptr %o, i64 56
  %d = load ptr, ptr %descr.at
  %nd.at = getelementptr i8, ptr %o, i64 24
  %nd = load i32, ptr %nd.at
  %flags.at = getelementptr i8, ptr %o, i64 64
  %f = load i32, ptr %flags.at
  %masked = and i32 %f, %flags
  %c1 = icmp eq ptr %d, %descr
  %c2 = icmp eq i32 %nd, %rank
  %c3 = icmp eq i32 %masked, %flags
  %c12 = and i1 %c1, %c2
  %c = and i1 %c12, %c3
  br i1 %c, label %shape, label %no
shape:
  %shape.at = getelementptr i8, ptr %o, i64 32
  %have = load ptr, ptr %shape.at
  br label %each
each:
  %k = phi i32 [ 0, %shape ], [ %k.next, %same ]
  %done = icmp eq i32 %k, %rank
  br i1 %done, label %yes, label %one
one:
  %have.k = getelementptr i64, ptr %have, i32 %k
  %want.k = getelementptr i64, ptr %dims, i32 %k
  %h = load i64, ptr %have.k
  %w = load i64, ptr %want.k
  %eq = icmp eq i64 %h, %w
  br i1 %eq, label %same, label %no
same:
  %k.next = add i32 %k, 1
  br label %each
yes:
  %data.at = getelementptr i8, ptr %o, i64 16
  %p = load ptr, ptr %data.at
  ret ptr %p
no:
  ret ptr null
}

define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {
entry:
  %ins = alloca [MAX_INPUTS x ptr]
  %strides = alloca [MAX_INPUTS x i64]
  %outs = alloca ptr
  %dims = alloca [8 x i64]
  %number = alloca double
  %table.at = getelementptr i8, ptr %self, i64 16
  %table = load ptr, ptr %table.at
  %n.at = getelementptr i64, ptr %table, i64 INPUTS
  %n = load i64, ptr %n.at
  %right.count = icmp eq i64 %nargs, %n
  br i1 %right.count, label %counted, label %slow
counted:
  %no.keywords = icmp eq ptr %kwnames, null
  br i1 %no.keywords, label %first, label %keywords
keywords:                                        ; only `out` is taken here
  %kwcount.at = getelementptr i8, ptr %kwnames, i64 16
  %kwcount = load i64, ptr %kwcount.at
  %single = icmp eq i64 %kwcount, 1
  br i1 %single, label %keyword, label %slow
keyword:
  %kw.at = getelementptr i8, ptr %kwnames, i64 24
  %kw = load ptr, ptr %kw.at
  %outname.at = getelementptr i64, ptr %table, i64 OUT_KEYWORD
  %outname = load ptr, ptr %outname.at
  %is.out = icmp eq ptr %kw, %outname
  br i1 %is.out, label %first, label %slow
first:                                           ; the first argument decides precision and rank
  %o0 = load ptr, ptr %args
  %type.at = getelementptr i8, ptr %o0, i64 8
  %type = load ptr, ptr %type.at
  %array.type.at = getelementptr i64, ptr %table, i64 ARRAY_TYPE
  %array.type = load ptr, ptr %array.type.at
  %is.array = icmp eq ptr %type, %array.type
  br i1 %is.array, label %array, label %slow
array:
  %descr.at = getelementptr i8, ptr %o0, i64 56
  %descr = load ptr, ptr %descr.at
  %nd.at = getelementptr i8, ptr %o0, i64 24
  %nd = load i32, ptr %nd.at
  %f64.at = getelementptr i64, ptr %table, i64 DOUBLE
  %f64 = load ptr, ptr %f64.at
  %f32.at = getelementptr i64, ptr %table, i64 FLOAT
  %f32 = load ptr, ptr %f32.at
  %is64 = icmp eq ptr %descr, %f64
  %is32 = icmp eq ptr %descr, %f32
  %known = or i1 %is64, %is32
  %kernels = select i1 %is64, ptr %f64.at, ptr %f32.at
  %itemsize = select i1 %is64, i64 8, i64 4
  %typenum = select i1 %is64, i32 12, i32 11
  %rank1 = icmp eq i32 %nd, 1
  %rank2 = icmp eq i32 %nd, 2
  %rank12 = or i1 %rank1, %rank2
  %ok = and i1 %known, %rank12
  br i1 %ok, label %rows, label %slow
rows:
  %batch = zext i1 %rank2 to i32
  %shape.at = getelementptr i8, ptr %o0, i64 32
  %shape = load ptr, ptr %shape.at
  %dim0 = load i64, ptr %shape
  %count = select i1 %rank2, i64 %dim0, i64 1
  %limit.at = getelementptr i64, ptr %table, i64 FAST_LIMIT
  %limit = load i64, ptr %limit.at
  %few = icmp ule i64 %count, %limit
  %some = icmp ne i64 %count, 0
  %sized = and i1 %few, %some
  %kernel.index = select i1 %rank2, i64 2, i64 1
  %kernel.at = getelementptr i64, ptr %kernels, i64 %kernel.index
  %kernel = load ptr, ptr %kernel.at
  %compiled = icmp ne ptr %kernel, null
  %go = and i1 %sized, %compiled
  store i64 %count, ptr %dims
  %column = getelementptr i64, ptr %dims, i32 %batch
  br i1 %go, label %inputs, label %slow
inputs:
  %k = phi i64 [ 0, %rows ], [ %k.next, %input.ok ]
  %more = icmp ult i64 %k, %n
  br i1 %more, label %input, label %result
input:
  %size.word = add i64 %k, SIZES
  %size.at = getelementptr i64, ptr %table, i64 %size.word
  %size = load i64, ptr %size.at
  store i64 %size, ptr %column
  %arg.at = getelementptr ptr, ptr %args, i64 %k
  %arg = load ptr, ptr %arg.at
  %p = call ptr @data(ptr %arg, ptr %array.type, ptr %descr, i32 %nd, ptr %dims, i32 257)
  %usable = icmp ne ptr %p, null
  br i1 %usable, label %input.ok, label %slow
input.ok:
  %in.at = getelementptr ptr, ptr %ins, i64 %k
  store ptr %p, ptr %in.at
  %row.bytes = mul i64 %size, %itemsize
  %stride.at = getelementptr i64, ptr %strides, i64 %k
  store i64 %row.bytes, ptr %stride.at
  %k.next = add i64 %k, 1
  br label %inputs
result:
  %outnd.at = getelementptr i64, ptr %table, i64 OUT_NDIM
  %outnd64 = load i64, ptr %outnd.at
  %outnd = trunc i64 %outnd64 to i32
  %outrank = add i32 %outnd, %batch
  %outdims.at = getelementptr i64, ptr %table, i64 OUT_DIMS
  call void @llvm.memcpy.p0.p0.i64(ptr %column, ptr %outdims.at, i64 32, i1 false)
  br i1 %no.keywords, label %plain, label %given
given:                                           ; out= of a batch may overlap other rows: Python looks at that
  %outarg.at = getelementptr ptr, ptr %args, i64 %n
  %outarg = load ptr, ptr %outarg.at
  br i1 %rank1, label %given.one, label %slow
given.one:
  %outdata = call ptr @data(ptr %outarg, ptr %array.type, ptr %descr, i32 %outrank, ptr %dims, i32 1281)
  %writable = icmp ne ptr %outdata, null
  br i1 %writable, label %given.size, label %slow
given.size:                                      ; over an input: if a check fails, Python must find the input as it was
  %outcount.at = getelementptr i64, ptr %table, i64 OUT_COUNT
  %outcount = load i64, ptr %outcount.at
  %outbytes = mul i64 %outcount, %itemsize
  %outend = getelementptr i8, ptr %outdata, i64 %outbytes
  br label %apart
apart:
  %j = phi i64 [ 0, %given.size ], [ %j.next, %apart.one ]
  %all.apart = icmp eq i64 %j, %n
  br i1 %all.apart, label %given.ok, label %apart.one
apart.one:
  %begin.at = getelementptr ptr, ptr %ins, i64 %j
  %begin = load ptr, ptr %begin.at
  %bytes.at = getelementptr i64, ptr %strides, i64 %j
  %bytes = load i64, ptr %bytes.at
  %end = getelementptr i8, ptr %begin, i64 %bytes
  %before = icmp ule ptr %end, %outdata
  %after = icmp ule ptr %outend, %begin
  %clear = or i1 %before, %after
  %j.next = add i64 %j, 1
  br i1 %clear, label %apart, label %slow
given.ok:
  call void @dalembert_incref(ptr %outarg)
  br label %compute
plain:
  %scalar = icmp eq i32 %outrank, 0
  br i1 %scalar, label %scalar.out, label %new
scalar.out:
  br i1 %is64, label %compute, label %slow
new:
  %made = call ptr @dalembert_array_new(ptr %array.type, i32 %outrank, ptr %dims, i32 %typenum, ptr null, ptr null,
                                        i32 0, i32 0, ptr null)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %nothing, label %made.ok
made.ok:
  %made.data.at = getelementptr i8, ptr %made, i64 16
  %made.data = load ptr, ptr %made.data.at
  br label %compute
compute:
  %out = phi ptr [ %outarg, %given.ok ], [ %made, %made.ok ], [ null, %scalar.out ]
  %target = phi ptr [ %outdata, %given.ok ], [ %made.data, %made.ok ], [ %number, %scalar.out ]
  store ptr %target, ptr %outs
  br i1 %rank1, label %state, label %states
state:
  %s1 = call i64 %kernel(ptr %ins, ptr %outs)
  br label %checked
states:
  %s2 = call i64 %kernel(ptr %ins, ptr %strides, ptr %outs, i64 0, i64 %count, i64 1)
  br label %checked
checked:
  %status = phi i64 [ %s1, %state ], [ %s2, %states ]
  %good = icmp eq i64 %status, 0
  %boxed = icmp eq ptr %out, null
  br i1 %good, label %return, label %bad
return:
  br i1 %boxed, label %return.number, label %return.array
return.array:
  ret ptr %out
return.number:
  %value = load double, ptr %number
  %float = call ptr @dalembert_float(double %value)
  ret ptr %float
bad:                                             ; Python says which state and which joint
  br i1 %boxed, label %slow, label %drop
drop:
  call void @dalembert_decref(ptr %out)
  br label %slow
nothing:
  ret ptr null
slow:
  %callable = load ptr, ptr %table
  %answer = call ptr @dalembert_vectorcall(ptr %callable, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


def source() -> str:
    """The IR of the builtin."""
    words = {
        "MAX_INPUTS": MAX_INPUTS,
        "INPUTS": INPUTS,
        "ARRAY_TYPE": ARRAY_TYPE,
        "OUT_KEYWORD": OUT_KEYWORD,
        "FAST_LIMIT": FAST_LIMIT,
        "OUT_NDIM": OUT_NDIM,
        "OUT_COUNT": OUT_COUNT,
        "OUT_DIMS": OUT_DIMS,
        "DOUBLE": KERNELS["double"],
        "FLOAT": KERNELS["float"],
        "SIZES": SIZES,
    }
    text = IR
    for name, word in words.items():
        text = text.replace(f" {name}", f" {word}").replace(f"[{name}", f"[{word}")
    return text


class Table(np.ndarray):
    """The words behind one builtin; `keep` holds what they point to.

    A builtin is pickled as the attribute of that name of its `self`: so the table stands for its owner there.
    """

    keep: list[Any]
    owner: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self.owner is None:
            raise TypeError(
                "a function traced from your own expression cannot be pickled: make it again where it is used"
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


# Never freed: a builtin reads its definition even while it is dropped, when the rest of a cycle may be gone already.
_methods: dict[tuple[str, str, int], _MethodDef] = {}


def _method(name: str, doc: str, address: int) -> _MethodDef:
    made = _MethodDef(name.encode(), address, 0x82, f"{name}{doc}".encode())
    return _methods.setdefault((name, doc, address), made)  # atomic: all threads get the one that is kept


def make(
    name: str,
    doc: str,
    sizes: list[int],
    out_shape: tuple[int, ...],
    slow: Callable[..., Any],
    address: int,
    owner: Any = None,
) -> tuple[Callable[..., Any], Table]:
    """A builtin over the code at `address`, and the table into which kernels are entered with `enter`.

    The builtin holds the table as its `self`, and the table all it points to. owner: whose attribute `name` it is.
    """
    table = np.zeros(SIZES + MAX_INPUTS, np.uint64).view(Table)
    method = _method(name, doc, address)
    keyword = sys.intern("out")
    table.keep, table.owner = [slow, keyword], owner
    table[SLOW], table[INPUTS], table[ARRAY_TYPE] = id(slow), len(sizes), id(np.ndarray)
    table[OUT_KEYWORD] = id(keyword)
    table[OUT_NDIM], table[OUT_COUNT] = len(out_shape), prod(out_shape)
    table[OUT_DIMS : OUT_DIMS + len(out_shape)] = out_shape
    table[SIZES : SIZES + len(sizes)] = sizes
    for element, dtype in (("double", np.dtype(np.float64)), ("float", np.dtype(np.float32))):
        table[KERNELS[element]] = id(dtype)
        table.keep.append(dtype)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(method), table, None), table


def enter(table: Table, element: str, kind: str, address: int, operations: int, owner: Any) -> None:
    """Let the builtin use a kernel ("one" or "batch"); `owner` keeps its code alive."""
    table.keep.append(owner)
    table[FAST_LIMIT] = max(1, FAST_WORK // max(operations, 1))
    table[KERNELS[element] + (1 if kind == "one" else 2)] = address


def fits(sizes: list[int], shapes: list[tuple[int, ...]]) -> bool:
    """Whether a function's signature can have a builtin: few inputs, one output of few dimensions."""
    return 0 < len(sizes) <= MAX_INPUTS and len(shapes) == 1 and len(shapes[0]) <= MAX_DIMS


@cache
def symbols() -> dict[str, int] | None:
    """Addresses the builtin needs; None where it is switched off or the interpreter or NumPy has another layout."""
    if not _switched_on():
        return None
    if (
        sys.implementation.name != "cpython"
        or sysconfig.get_config_var("Py_GIL_DISABLED")
        or hasattr(sys, "gettotalrefcount")
    ):
        return None
    try:
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

        api = (ctypes.c_void_p * 100).from_address(get(_multiarray_umath._ARRAY_API, None))
        found: dict[str, Any] = {"dalembert_array_new": api[93]}
        for ours, theirs in (
            ("dalembert_vectorcall", "PyObject_Vectorcall"),
            ("dalembert_float", "PyFloat_FromDouble"),
            ("dalembert_incref", "Py_IncRef"),
            ("dalembert_decref", "Py_DecRef"),
        ):
            found[ours] = ctypes.cast(getattr(ctypes.pythonapi, theirs), ctypes.c_void_p).value
    except (ImportError, AttributeError, ValueError):
        return None
    return found if api[2] == id(np.ndarray) and _layout_is_known() else None


def _switched_on() -> bool:
    setting = os.environ.get("DALEMBERT_FASTCALL", "").lower()
    if setting in ("off", "0", "no", "false"):
        return False
    if setting in ("", "on", "1", "yes", "true"):
        return True
    raise DalembertError(f"environment variable DALEMBERT_FASTCALL is {setting!r}: expected on or off")


def _layout_is_known() -> bool:
    """Read an array's struct at the offsets the builtin uses and compare with what NumPy says."""
    a = np.arange(6.0).reshape(2, 3)

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
        and ctypes.c_void_p.from_address(id(("out",)) + 24).value == id(sys.intern("out"))
    )
