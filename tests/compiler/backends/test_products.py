"""Matrix products that kernels compute as loops: every size, whatever the padding to whole tiles and vectors."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import function, load
from dalembert.math import product
from tolerances import RECURSION, RECURSION32, assert_close


@pytest.mark.parametrize(("n", "k", "m"), [(27, 27, 54), (13, 17, 19), (4, 201, 5), (16, 16, 16), (1, 61, 61)])
def test_product_of_any_size(n, k, m):
    def compute(x):
        return product(x[: n * k].reshape(n, k), x[n * k :].reshape(k, m))

    compiled = function(compute, load("2r"), x=n * k + k * m)
    x = np.random.default_rng(0).normal(size=(5, n * k + k * m))
    expected = [row[: n * k].reshape(n, k) @ row[n * k :].reshape(k, m) for row in x]
    assert_close(compiled(x[0]), expected[0], RECURSION)
    assert_close(compiled(x), expected, RECURSION)
    assert_close(compiled(x.astype(np.float32)[0]), expected[0], RECURSION32)
