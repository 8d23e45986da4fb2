"""Columns of a table by name: there and back, of rows and of tables, of numbers and of traced values."""

from __future__ import annotations

import numpy as np

from dalembert.compiler.graph import trace
from dalembert.linear import Columns

LAYOUT = Columns(number=(), place=(3,), turn=(2, 2), nothing=(0,))


def test_a_table_gives_back_what_it_was_made_of():
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=(4, *shape)) for name, shape in LAYOUT.shapes.items()}
    table = LAYOUT.table(**arrays)
    assert table.shape == (4, LAYOUT.width) == (4, 8)
    for name, x in LAYOUT.named(table).items():
        np.testing.assert_array_equal(x, arrays[name])
    assert Columns.of(arrays).shapes == LAYOUT.shapes


def test_a_row_is_a_row_of_the_table():
    rng = np.random.default_rng(1)
    arrays = {name: rng.normal(size=(2, *shape)) for name, shape in LAYOUT.shapes.items()}
    row = LAYOUT.row(**{name: x[1] for name, x in arrays.items()})
    np.testing.assert_array_equal(row, LAYOUT.table(**arrays)[1])
    np.testing.assert_array_equal(LAYOUT.named(row)["turn"], arrays["turn"][1])
    assert LAYOUT.named(row)["number"] == arrays["number"][1]


def test_traced_numbers_come_back_as_numbers():
    """Not as arrays without axes, which have no operations of traced values."""

    def double(x):
        row = LAYOUT.row(number=x[0], place=x[1:4], turn=np.zeros((2, 2)), nothing=())
        named = LAYOUT.named(row)
        return {"y": 2.0 * named["number"] * named["place"]}

    function = trace(double, {"x": 4})
    assert [output.shape for output in function.outputs] == [(3,)]
