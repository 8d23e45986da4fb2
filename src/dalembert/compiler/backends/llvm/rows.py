"""Results of a batch, from vectors across states to the rows of row-major arrays.

Blocks of columns are transposed in registers and stored, one piece per row. Where all rows lie alike with respect to
blocks of memory, whole blocks of memory are stored; rows far into a large array bypass the cache.
"""

from __future__ import annotations

from collections.abc import Callable

from .ir import Builder
from .tiles import block_size, blocks, shuffle, table_entry, transpose

CACHED = 4 << 20  # bytes at the beginning of an array that go through the cache, where its reader may find them


def write_rows(
    b: Builder, rows: list[str], slots: list[int], zero: list[bool], memory: str, name: str, far: str
) -> None:
    """Copy the values in `slots` to consecutive columns of `width` rows.

    zero: whether a column is 0 in every state; far (i1): whether the rows lie beyond `CACHED`.
    """
    n = len(slots)
    if n == 0:
        return
    k = block_size(b, n)
    writer = _Blocks(b, rows, slots, zero, memory, name, k)
    if k < 4 or n % k or n == k:
        starts = b.module.table(f"{name}.start", blocks(n, k))
        writer.loop(name, str(len(blocks(n, k))), lambda index: table_entry(b, starts, index))
        return
    unit = k * b.size
    address = b.op(f"ptrtoint ptr {rows[0]} to i64")
    missing = b.op(f"and i64 {b.op(f'sub i64 0, {address}')}, {unit - 1}")
    skew = b.op(f"udiv i64 {missing}, {b.size}")  # columns up to the first whole block of memory
    skewed = b.op(f"icmp ne i64 {skew}, 0")
    times = b.op(f"sub i64 {n // k}, {b.op(f'zext i1 {skewed} to i64')}")

    def whole(index: str) -> str:
        return b.op(f"add i64 {b.op(f'mul i64 {index}, {k}')}, {skew}")

    edges = b.module.table(f"{name}.edges", [0, n - k])
    b.branch(skewed, f"{name}.edge", lambda: writer.loop(f"{name}.ends", "2", lambda i: table_entry(b, edges, i)))
    b.branch(
        far,
        f"{name}.far",
        lambda: writer.loop(f"{name}.past", times, whole, unit, streamed=True),
        lambda: writer.loop(f"{name}.into", times, whole, unit),
    )


def settle(b: Builder, far: str) -> None:
    """Stores that bypassed the cache (if `far`, i1) reach memory before the kernel returns."""
    b.branch(far, "settle", lambda: b.do("fence seq_cst"))


class _Blocks:
    """Writes blocks of k columns of `width` rows."""

    def __init__(
        self, b: Builder, rows: list[str], slots: list[int], zero: list[bool], memory: str, name: str, k: int
    ) -> None:
        self.b, self.rows, self.memory, self.k = b, rows, memory, k
        self.where = b.module.table(name, slots)
        empty = [int(all(zero[start : start + k])) for start in range(len(slots))]
        self.empty = b.module.table(f"{name}.empty", empty) if 8 * sum(empty) > len(slots) else None

    def loop(
        self, name: str, times: str, start: Callable[[str], str], align: int | None = None, streamed: bool = False
    ) -> None:
        """Write the blocks that begin at the columns start(0), start(1), …, start(times - 1); times ≥ 1."""
        b, k = self.b, self.k
        how = f"align {align or b.size}{b.module.nontemporal() if streamed else ''}"

        def body(index: str, carried: list[str]) -> list[str]:
            first = start(index)
            offset = b.op(f"mul i64 {first}, {b.size}")
            places = [b.address(row, offset) for row in self.rows]
            if self.empty is None:
                self._fill(first, places, how)
            else:
                blank = b.op(f"icmp ne i64 {table_entry(b, self.empty, first)}, 0")
                zero = f"<{k} x {b.element}> zeroinitializer" if k > 1 else f"{b.element} {b.wide(1).const(0.0)}"

                def clear() -> None:
                    for place in places:
                        b.do(f"store {zero}, ptr {place}, {how}")

                b.branch(blank, f"{name}.blank", clear, lambda: self._fill(first, places, how))
            return carried

        b.repeat(name, times, body)

    def _fill(self, first: str, places: list[str], how: str) -> None:
        """Store the values of k columns."""
        b, k = self.b, self.k
        vectors = []
        for j in range(k):
            slot = table_entry(b, self.where, b.op(f"add i64 {first}, {j}"))
            vectors.append(b.load(b.address(self.memory, b.op(f"mul i64 {slot}, {b.stride}")), 0))
        if k == 1:
            for lane, place in enumerate(places):
                x = vectors[0] if b.width == 1 else b.op(f"extractelement {b.type} {vectors[0]}, i32 {lane}")
                b.do(f"store {b.element} {x}, ptr {place}, {how}")
            return
        for i, vector in enumerate(transpose(b, vectors)):
            for group, place in enumerate(places[i::k]):
                x = shuffle(b, vector, vector, [group * k + j for j in range(k)]) if b.width > k else vector
                b.do(f"store <{k} x {b.element}> {x}, ptr {place}, {how}")
