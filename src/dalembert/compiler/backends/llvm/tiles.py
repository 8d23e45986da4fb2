"""Rows of row-major arrays to vectors across states and back, by transposes in registers.

A kernel works on `width` states at once; its arrays have one state per row. Blocks of four columns are
loaded from each row and transposed with shuffles, which is several times cheaper than gathering element by element.
"""

from __future__ import annotations

from collections.abc import Callable

from .ir import Builder

UNROLLED = 16  # copies up to which the loop is unrolled
MANY = 64  # values of a state from which on they are copied as vectors: those that were just stored must have arrived


def blocks(n: int, k: int) -> list[int]:
    """Starts of the blocks of k that cover n ≥ k columns; the last one may overlap the one before."""
    return [min(start, n - k) for start in range(0, n, k)]


def each_block(b: Builder, n: int, work: Callable[[str | int], str], name: str) -> list[str]:
    """work(offset in bytes) for the blocks of `width` that cover n elements; the values it returns, or their sum."""
    starts = [start * b.size for start in blocks(n, b.width)]
    if len(starts) <= UNROLLED:
        return [work(start) for start in starts]
    table = b.module.table(name, starts)
    return b.repeat(
        name, str(len(starts)), lambda k, sums: [b.add(sums[0], work(table_entry(b, table, k)))], [b.const(0.0)]
    )


def copy_runs(b: Builder, moves: list[tuple[int, int]], source: str, target: str, lanes: int, name: str) -> None:
    """Copy single elements from one array to another by pairs of places; runs of neighbours are copied together."""
    runs: list[list[tuple[int, int]]] = []
    for move in moves:
        if runs and (runs[-1][-1][0] + 1, runs[-1][-1][1] + 1) == move:
            runs[-1].append(move)
        else:
            runs.append([move])
    for width in {lanes, 1}:
        wide = b.wide(width)
        chosen = [run for run in runs if (len(run) >= lanes) == (width == lanes)]
        pairs = [run[start] for run in chosen for start in blocks(len(run), width)]

        def copy(start: str | int, place: str | int, wide: Builder = wide) -> None:
            x = b.op(f"load {wide.type}, ptr {b.address(source, start)}, align {b.size}")
            b.do(f"store {wide.type} {x}, ptr {b.address(target, place)}, align {b.size}")

        if len(pairs) <= UNROLLED:
            for start, place in pairs:
                copy(start * b.size, place * b.size)
            continue
        tables = [b.module.table(f"{name}.{width}.{k}", [p[k] * b.size for p in pairs]) for k in (0, 1)]

        def body(k: str, carried: list[str], copy=copy, tables=tables) -> list[str]:
            copy(*[table_entry(b, table, k) for table in tables])
            return carried

        b.repeat(f"{name}.{width}", str(len(pairs)), body)


def copy_state(
    b: Builder, moves: list[tuple[int, int]], memory: str, lanes: int, name: str, moving: str | None = None
) -> None:
    """Copy values from slots to slots of one memory, all read before any is written; many in a loop, as vectors.

    moving: of the lanes, those that are copied; None: all.
    """

    def moved(source: str | int, target: str | int) -> str:
        """The value that the place `target` bytes from the begin shall have."""
        x = b.load(b.address(memory, source), 0)
        return x if moving is None else b.select(moving, x, b.load(b.address(memory, target), 0))

    moves = [move for move in moves if move[0] != move[1]]
    apart = not {source for source, _ in moves} & {target for _, target in moves}
    if apart and len(moves) > MANY:
        if b.width == 1 and moving is None:
            copy_runs(b, moves, memory, memory, lanes, name)
            return
        tables = [b.module.table(f"{name}.{k}", [move[k] for move in moves]) for k in (0, 1)]

        def one(index: str, carried: list[str]) -> list[str]:
            places = [b.op(f"mul i64 {table_entry(b, table, index)}, {b.stride}") for table in tables]
            b.store(moved(*places), b.address(memory, places[1]), 0)
            return carried

        b.repeat(name, str(len(moves)), one)
        return
    loaded = [(moved(source * b.stride, target * b.stride), target) for source, target in moves]
    for value, target in loaded:
        b.store(value, memory, target)


def read_rows(b: Builder, rows: list[str], n: int, memory: str, base: int) -> str:
    """Copy n columns of `width` rows into slots base…base+n−1. Returns a value that is 0·x summed: 0 if all finite."""
    if n == 0:
        return b.const(0.0)
    k = block_size(b, n)
    table = b.module.table(f"read{base}", blocks(n, k))
    zero = b.const(0.0)

    def body(index: str, carried: list[str]) -> list[str]:
        (check,) = carried
        start = table_entry(b, table, index)
        offset = b.op(f"mul i64 {start}, {b.size}")
        vectors = columns_of(b, [b.address(row, offset) for row in rows], k)
        target = b.address(memory, b.op(f"add i64 {b.op(f'mul i64 {start}, {b.stride}')}, {base * b.stride}"))
        for j, x in enumerate(vectors):
            b.store(x, target, j)
            check = b.fma(x, zero, check)
        return [check]

    return b.repeat(f"read{base}", str(len(blocks(n, k))), body, [zero])[0]


def block_size(b: Builder, n: int) -> int:
    """Columns taken at once."""
    return 4 if b.width >= 4 and n >= 4 else 2 if b.width >= 2 and n >= 2 else 1


def table_entry(b: Builder, table: str, index: str) -> str:
    """i64 at `index` of an i32 table."""
    place = b.address(table, b.op(f"mul i64 {index}, 4"))
    return b.op(f"sext i32 {b.op(f'load i32, ptr {place}')} to i64")


def columns_of(b: Builder, rows: list[str], k: int) -> list[str]:
    """k vectors across states from k columns of each row."""
    part = f"<{k} x {b.element}>" if k > 1 else b.element
    loaded = [b.op(f"load {part}, ptr {row}, align {b.size}") for row in rows]
    if k == 1:
        vector = "poison"
        for lane, x in enumerate(loaded):
            vector = x if b.width == 1 else b.op(f"insertelement {b.type} {vector}, {b.element} {x}, i32 {lane}")
        return [vector]
    return transpose(b, [_concatenate(b, loaded[i::k], k) for i in range(k)])


def put_columns(b: Builder, columns: list[str], rows: list[str]) -> None:
    """Store vectors across states, 1, 2 or 4 of them, as columns of each row: the way back from `columns_of`."""
    k = len(columns)
    if k == 1:
        for lane, row in enumerate(rows):
            x = b.op(f"extractelement {b.type} {columns[0]}, i32 {lane}")
            b.do(f"store {b.element} {x}, ptr {row}, align {b.size}")
        return
    for i, vector in enumerate(transpose(b, columns)):
        for first in range(0, len(rows), k):
            piece = shuffle(b, vector, vector, list(range(first, first + k)))
            b.do(f"store <{k} x {b.element}> {piece}, ptr {rows[first + i]}, align {b.size}")


def transpose(b: Builder, v: list[str]) -> list[str]:
    """Transpose k×k blocks, each of k neighbouring lanes of k vectors; its own inverse."""
    groups = range(0, b.width, len(v))

    def pick(x: str, y: str, pattern: list[int]) -> str:
        """Per group of lanes; pattern entries from k on mean y."""
        k = len(v)
        return shuffle(b, x, y, [g + p if p < k else b.width + g + p - k for g in groups for p in pattern])

    if len(v) == 2:
        return [pick(v[0], v[1], [0, 2]), pick(v[0], v[1], [1, 3])]
    even = [pick(v[i], v[i + 1], [0, 4, 2, 6]) for i in (0, 2)]
    odd = [pick(v[i], v[i + 1], [1, 5, 3, 7]) for i in (0, 2)]
    return [pick(x, y, pattern) for pattern in ([0, 1, 4, 5], [2, 3, 6, 7]) for x, y in (even, odd)]


def _concatenate(b: Builder, pieces: list[str], size: int) -> str:
    """Join equal vectors (a power of two of them) end to end."""
    while len(pieces) > 1:
        joined = []
        for x, y in zip(pieces[::2], pieces[1::2], strict=True):
            mask = ", ".join(f"i32 {m}" for m in range(2 * size))
            type = f"<{size} x {b.element}>"
            joined.append(b.op(f"shufflevector {type} {x}, {type} {y}, <{2 * size} x i32> <{mask}>"))
        pieces, size = joined, 2 * size
    return pieces[0]


def shuffle(b: Builder, x: str, y: str, lanes: list[int]) -> str:
    """Lanes of x, and of y (numbered on from those of x), as one vector."""
    mask = ", ".join(f"i32 {m}" for m in lanes)
    return b.op(f"shufflevector {b.type} {x}, {b.type} {y}, <{len(lanes)} x i32> <{mask}>")


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
