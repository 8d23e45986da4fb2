"""Products with matrices of constants as loops over a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dalembert.compiler.graph import Scalar
from dalembert.compiler.graph.weighted import Weighted

from .text import table_of

if TYPE_CHECKING:
    from .body import CBody


def weighing(body: CBody, node: Scalar, operand: Callable[[Scalar], str]) -> list[str]:
    """The statements of such a product, column after column."""
    table, name, (m, n) = body.tables[node.value.digest], body.temporary[node.id], node.value.W.shape
    return [
        f"const {body.real} {name}in0[{n}] = {{{', '.join(map(operand, node.args))}}};",
        f"{body.real} {name}r[{m}] = {{0}};",
        f"for (int {name}k = 0; {name}k < {n}; ++{name}k)",
        f"    for (int i = 0; i < {m}; ++i) {name}r[i] += {table}[{m} * {name}k + i] * {name}in0[{name}k];",
    ]


def matrices(body: CBody) -> list[str]:
    """Definitions of the matrices, by columns; in single precision where that holds them exactly."""
    listed = []
    for digest, weighted in {n.value.digest: n.value for n in body.order if isinstance(n.value, Weighted)}.items():
        kind = "float" if weighted.is_single else body.real
        listed.append(table_of(f"{body.constant} {kind} {body.tables[digest]}", weighted.W.T, kind))
    return listed
