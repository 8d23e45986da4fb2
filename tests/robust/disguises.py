"""The same numbers as many kinds of objects, and objects that are not numbers at all."""

from __future__ import annotations

import array
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

Disguise = Callable[[np.ndarray, np.random.Generator], Any]


class Tagged(np.ndarray):
    """A subclass with nothing of its own."""


class Liar(np.ndarray):
    """Says it has another shape, and wants no NumPy function to touch it."""

    @property
    def shape(self):  # type: ignore[override]
        return (10**6, 3)

    def __array_function__(self, *arguments, **keywords):
        raise AssertionError("a NumPy function was let loose on a subclass")


class Holder:
    """Gives its array when asked; `shape` and `len` are lies."""

    shape = (2, 2)

    def __init__(self, x: Any) -> None:
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x

    def __len__(self) -> int:
        return 10**9


class Sequence:
    """A sequence that says nothing of NumPy."""

    def __init__(self, items: list[Any], length: int) -> None:
        self.items, self.length = items, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, k: int) -> Any:
        return self.items[k]


def _unaligned(x: np.ndarray) -> np.ndarray:
    raw = np.empty(x.nbytes + 1, np.uint8)[1:]
    y = raw.view(x.dtype).reshape(x.shape) if x.size else x
    y[...] = x
    return y


def _spread(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Between poisoned neighbours, at random distances and directions along every axis."""
    steps = rng.integers(1, 4, x.ndim)
    room = np.full([n * s for n, s in zip(x.shape, steps, strict=True)], np.nan, x.dtype)
    view = room[tuple(slice(None, None, s * rng.choice([-1, 1])) for s in steps)]
    view[...] = x
    return view


def _read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


def _stretched(x: np.ndarray) -> np.ndarray:
    """Zero strides along every batch axis whose states are equal anyway."""
    for axis in range(x.ndim - 1):
        first = x.take([0], axis) if x.shape[axis] else x
        if x.shape[axis] > 1 and np.array_equal(np.broadcast_to(first, x.shape), x):
            x = np.broadcast_to(first, x.shape)
    return x


def _nested(x: np.ndarray) -> Any:
    """A list of arrays."""
    return list(x) if x.ndim > 1 and len(x) else x.tolist()


def _matrix(x: np.ndarray) -> np.ndarray:
    return np.asmatrix(x) if x.ndim == 2 else x.view(Tagged)


def _buffer(x: np.ndarray) -> Any:
    return array.array("d", x.tolist()) if x.ndim == 1 else memoryview(x)


def _as(dtype: Any) -> Disguise:
    return lambda x, rng: x.astype(dtype)


def _of(change: Callable[[np.ndarray], Any]) -> Disguise:
    return lambda x, rng: change(x)


# exact for numbers of the pool "binary" and all others
ANY: dict[str, Disguise] = {
    "plain": lambda x, rng: x,
    "copy": _of(np.copy),
    "float32": _as(np.float32),
    "float16": _as(np.float16),
    "longdouble": _as(np.longdouble),
    "big-endian": _as(">f8"),
    "big-endian float32": _as(">f4"),
    "fortran": _of(np.asfortranarray),
    "spread": _spread,
    "spread float32": lambda x, rng: _spread(x.astype(np.float32), rng),
    "unaligned": _of(_unaligned),
    "read-only": _of(_read_only),
    "stretched": _of(_stretched),
    "list": _of(np.ndarray.tolist),
    "tuple": lambda x, rng: tuple(x.tolist()),
    "nested": _of(_nested),
    "matrix": _of(_matrix),
    "masked": _of(np.ma.masked_array),
    "record": lambda x, rng: x.view(np.recarray),
    "tagged": lambda x, rng: x.view(Tagged),
    "liar": lambda x, rng: x.view(Liar),
    "holder": _of(Holder),
    "holder of spread": lambda x, rng: Holder(_spread(x, rng)),
    "sequence": lambda x, rng: Sequence(x.tolist(), len(x)),
    "buffer": _of(_buffer),
    "field": lambda x, rng: np.stack([x, np.full_like(x, np.nan)], -1).view([("a", "f8"), ("b", "f8")])["a"][..., 0],
}
INTEGER: dict[str, Disguise] = {**ANY, **{t: _as(t) for t in ("int8", "int16", "int32", "int64", ">i4", ">i2")}}
BOOLEAN: dict[str, Disguise] = {**INTEGER, **{t: _as(t) for t in ("bool", "uint8", "uint16", "uint32", "uint64")}}
DISGUISES = {"binary": ANY, "integer": INTEGER, "boolean": BOOLEAN}
SINGLE = frozenset(("float32", "big-endian float32", "spread float32"))  # all so: the result is float32, too
SHAPELESS = frozenset(("list", "tuple", "nested", "sequence", "buffer"))  # when empty: [] has no last axis


def _with_nan(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    x = x.astype(rng.choice(["f8", "f4", ">f8"]))
    x.flat[rng.integers(x.size)] = rng.choice([np.nan, np.inf, -np.inf])
    return x


def _endless():
    return itertools.count()


# each must raise; a batch with at least one state is given
SPOILED: dict[str, Disguise] = {
    "none": _of(lambda x: None),
    "number": _of(lambda x: 1.5),
    "0-d": _of(lambda x: np.array(1.5)),
    "text": _of(lambda x: "0 0 0 0 0 0"),
    "texts": _as("U8"),
    "bytes": _of(lambda x: b"123456"),
    "generator": _of(lambda x: (row for row in x)),
    "endless": _of(lambda x: _endless()),
    "dict": _of(lambda x: dict(enumerate(x.flat))),
    "set": _of(lambda x: {1.0, 2.0}),
    "function": _of(lambda x: len),
    "complex": _as(complex),
    "object": _as(object),
    "object of nothing": _of(lambda x: np.full(x.shape, None)),
    "time": _of(lambda x: x.astype(int).astype("m8[s]")),
    "structured": _of(lambda x: np.zeros(x.shape, [("a", "f8"), ("b", "i4")])),
    "too short": _of(lambda x: x[..., :-1]),
    "too long": _of(lambda x: np.concatenate([x, x], -1)),
    "wrong rank": _of(lambda x: x[..., None]),
    "ragged": _of(lambda x: [[1.0, 2.0], [3.0]]),
    "ragged arrays": _of(lambda x: [np.zeros((2, 3)), np.zeros((2, 4))]),
    "masked": _of(lambda x: np.ma.masked_array(x, np.ones(x.shape, bool))),
    "not finite": _with_nan,
    "beyond float64": _of(lambda x: np.full(x.shape, np.longdouble(10) ** 400)),
    "short sequence": _of(lambda x: Sequence([0.0] * 3, x.shape[-1])),
    "lying holder": _of(lambda x: Holder(x.tolist())),
    "holder of too short": _of(lambda x: Holder(x[..., 1:])),
    "itself": _of(lambda x: _loop()),
}


def _loop() -> list[Any]:
    x: list[Any] = []
    x.append(x)
    return x
