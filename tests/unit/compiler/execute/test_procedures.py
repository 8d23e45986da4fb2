"""Procedures as functions of arrays."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.compiler.execute.procedures import F64, Procedures


def doubled(x: F64, n: int):
    """Doubles."""
    for k in range(n):
        x[k] = 2.0 * x[k]


def test_it_works_in_place_and_says_what_it_is_not_given():
    procedures, x = Procedures(doubled), np.arange(5.0)
    procedures.doubled(x, 4)
    np.testing.assert_array_equal(x, [0.0, 2.0, 4.0, 6.0, 4.0])
    with pytest.raises(TypeError, match="doubled: x is float32"):
        procedures.doubled(x.astype(np.float32), 4)
    with pytest.raises(TypeError, match="contiguous"):
        procedures.doubled(x[::2], 2)
    with pytest.raises(AttributeError):
        procedures.tripled(x, 4)


def test_the_code_is_kept_on_disk(tmp_path, monkeypatch):
    from dalembert.compiler.backends.llvm import procedures as compiler

    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    x = np.ones(2)
    Procedures(doubled).doubled(x, 2)
    monkeypatch.setattr(compiler, "compiled", lambda _: pytest.fail("compiled again"))
    Procedures(doubled).doubled(x, 2)
    np.testing.assert_array_equal(x, [4.0, 4.0])
