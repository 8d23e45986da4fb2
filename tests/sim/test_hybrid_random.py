"""A thousand random hybrid motions against their exact solutions; `make test-long` runs all of them."""

from __future__ import annotations

import pytest

from hybrid_cases import balls_in_a_row, pucks_under_forces, random_pucks

CASES = {"walls": random_pucks, "forces": pucks_under_forces, "row": balls_in_a_row}
EACH, BLOCK = {"walls": 300, "forces": 400, "row": 300}, 20


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_a_few(name: str, seed: int) -> None:
    CASES[name](seed)


@pytest.mark.long
@pytest.mark.parametrize(("name", "first"), [(name, k) for name in CASES for k in range(0, EACH[name], BLOCK)])
def test_all(name: str, first: int) -> None:
    for seed in range(first, first + BLOCK):
        CASES[name](seed)
