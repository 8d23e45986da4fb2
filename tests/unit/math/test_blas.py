"""NumPy's linear algebra on one thread."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.math import blas


def test_one_thread_within_and_as_before_afterwards() -> None:
    control = blas._control()
    if control is None:
        pytest.skip("NumPy's BLAS is not the one of its wheels")
    get, put = control
    before = get()
    put(2)
    most = get()  # 1 where the machine has one core
    try:
        with pytest.raises(ZeroDivisionError), blas.one_blas_thread():
            assert get() == 1
            1 / 0  # noqa: B018
        assert get() == most
    finally:
        put(before)


def test_of_another_blas_nothing_changes(monkeypatch) -> None:
    monkeypatch.setattr(blas, "_control", lambda: None)
    with blas.one_blas_thread():
        assert np.linalg.eigvalsh(np.eye(3)).sum() == 3.0
