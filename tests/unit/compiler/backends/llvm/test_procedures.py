"""Procedures: the compiled code does what Python does with the same text."""

from __future__ import annotations

from math import floor, sqrt

import numpy as np
import pytest

from dalembert import DalembertError
from dalembert.compiler.backends.llvm.procedures import ProcedureModule
from dalembert.compiler.execute.procedures import F32, F64, I32, I64, U8, Procedures
from tolerances import REORDERED

STRIDE = 3


def two(x: float, k: int):
    """Several results, of both kinds."""
    if x < 0.0:
        return -x, k + 1
    return sqrt(x), k - 1


def everything(a: F64, b: F32, c: I32, d: U8, e: I64, n: int, scale: float):
    """Loops, branches and arithmetic of all types."""
    total, k = 0.0, 0
    for i in range(n):
        x, m = two(a[i], i)
        total += scale * x - min(a[i], 0.5, b[i]) / 3.0
        if m & 1 == 1 and not x > 1.5:
            continue
        elif x > 1.9:
            break
        c[i] = m << 2 | (i >> 1)
        d[i] = min(max(int(255.0 * x / 2.0), 0), 255)
    for i in range(1, n, STRIDE):
        b[i] = floor(a[i]) if abs(a[i]) < 1.0 else -a[i]
        e[i] -= 7 * i
    while k * k < n:
        k += 1
    e[0] = k
    a[0], a[1] = total, a[0] + 1


def unknown_word(a: F64, n: int):
    a[0] = n**2


def untyped(a, n: int):
    a[0] = n


def narrowed(a: I32, x: float):
    a[0] = x


def of_lists(a: F64, n: int):
    for x in [1.0, 2.0]:
        a[0] = x


compiled = Procedures(everything)


def numbers(seed: int, n: int):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-2.0, 2.0, n), rng.uniform(-2.0, 2.0, n).astype(np.float32)
    return a, b, np.zeros(n, np.int32), np.zeros(n, np.uint8), rng.integers(-9, 9, n)


@pytest.mark.parametrize("seed", range(20))
def test_python_and_the_code_agree(seed):
    theirs = numbers(seed, 17)
    ours = [x.tolist() for x in theirs]  # numbers of Python, which are doubles
    everything(*ours, 17, 1.25)
    compiled.everything(*theirs, 17, 1.25)
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(x).astype(y.dtype), y, rtol=REORDERED)


@pytest.mark.parametrize(
    ("function", "word"),
    [(unknown_word, "Pow"), (untyped, "types"), (narrowed, "i64 is expected"), (of_lists, "range")],
)
def test_what_cannot_be_compiled_is_refused_by_name(function, word):
    with pytest.raises(DalembertError, match=f"procedure {function.__name__}.*{word}"):
        ProcedureModule().add(function)
