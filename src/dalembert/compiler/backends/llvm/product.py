"""Products of matrices as loops over tiles kept in registers.

In a batch kernel every entry is a vector across states, and a tile is TILE rows by TILE columns. In a one-state kernel
the vectors run along the columns, and a tile is TILE rows by two vectors.
"""

from __future__ import annotations

from .compounds import TILE, Product
from .ir import Builder
from .plan import SlotPlan
from .tiles import table_entry


def write_product(b: Builder, plan: SlotPlan, product: Product, name: str) -> None:
    """The body of a function that reads the entries of A and B from their slots and writes C to its slots."""
    moves = [(plan.slots[node.id], slot) for node, slot in product.moves() if plan.slots[node.id] != slot]
    source = b.module.table(f"{name}.from", [s for s, _ in moves])
    target = b.module.table(f"{name}.to", [t for _, t in moves])

    def move(index: str, carried: list[str]) -> list[str]:
        value = b.load(_slot(b, table_entry(b, source, index)), 0)
        b.store(value, _slot(b, table_entry(b, target, index)), 0)
        return carried

    if moves:
        b.repeat(f"{name}.pack", str(len(moves)), move)
    terms = b.module.table(f"{name}.terms", [t for terms in product.terms for t in terms])
    starts = [0]
    for listed in product.terms:
        starts.append(starts[-1] + len(listed))
    first = b.module.table(f"{name}.first", starts)
    wide = b.wide(plan.group) if b.width == 1 else b
    step = wide.width // b.width  # columns in one value
    values = product.columns // step

    def columns(block: str, carried: list[str]) -> list[str]:
        begin = table_entry(b, first, block)
        count = b.op(f"sub i64 {table_entry(b, first, b.op(f'add i64 {block}, 1'))}, {begin}")
        column = b.op(f"mul i64 {block}, {product.columns}")

        def rows(tile: str, carried: list[str]) -> list[str]:
            row = b.op(f"mul i64 {tile}, {TILE}")

            def term(index: str, sums: list[str]) -> list[str]:
                t = table_entry(b, terms, b.op(f"add i64 {begin}, {index}"))
                at_a = b.op(f"add i64 {b.op(f'mul i64 {t}, {product.rows}')}, {row}")
                at_b = b.op(f"add i64 {b.op(f'mul i64 {t}, {product.width}')}, {column}")
                A = [_spread(b, wide, b.load(_slot(b, at_a, product.base), r)) for r in range(TILE)]
                B = [wide.load(_slot(b, at_b, product.base + product.B), c) for c in range(values)]
                return [wide.fma(A[k // values], B[k % values], s) for k, s in enumerate(sums)]

            zeros = [wide.const(0.0)] * (TILE * values)
            sums = wide.repeat(f"{name}.term", count, term, zeros)
            for r in range(TILE):
                line = b.op(f"mul i64 {b.op(f'add i64 {row}, {r}')}, {product.width}")
                start = b.op(f"add i64 {line}, {column}")
                place = _slot(b, start, product.base + product.C)
                for c in range(values):
                    wide.store(sums[r * values + c], place, c)
            return carried

        b.repeat(f"{name}.rows", str(product.rows // TILE), rows)
        return carried

    b.repeat(f"{name}.columns", str(len(product.terms)), columns)
    b.do("ret void")


def _slot(b: Builder, slot: str, base: int = 0) -> str:
    """Address of memory slot base + slot."""
    return b.address("%memory", b.op(f"add i64 {b.op(f'mul i64 {slot}, {b.stride}')}, {base * b.stride}"))


def _spread(b: Builder, wide: Builder, x: str) -> str:
    """A value in every lane of a wider vector."""
    if wide.width == b.width:
        return x
    one = b.op(f"insertelement {wide.type} poison, {b.element} {x}, i32 0")
    zeros = f"<{wide.width} x i32> zeroinitializer"
    return b.op(f"shufflevector {wide.type} {one}, {wide.type} poison, {zeros}")
