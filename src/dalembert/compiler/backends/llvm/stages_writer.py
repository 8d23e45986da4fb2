"""Rows of the matrices of stages as vectors at addresses, written as LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from dalembert.linear.stages import LANES, StageLayout

from .ir import Builder, Module
from .tiles import shuffle

UNROLLED = 3000  # vector operations of a product that are written out; longer ones loop
ACCUMULATORS = 24  # vectors that a product adds up in registers
VECTOR = 8 * LANES  # bytes


class StageWriter:
    """Shared by both directions: vectors of rows at addresses, products of matrices."""

    def __init__(self, text: Module, layout: StageLayout, step: float) -> None:
        self.module, self.layout, self.step = text, layout, step
        self.b = Builder(text, "double", LANES)
        self.names = count()
        self.sv, self.cv = layout.state_vectors, layout.control_vectors
        self.row = VECTOR * (self.sv + self.cv)  # bytes of a row over state and control
        self.is_integrator = len(layout.parts) == 2

    def at(self, base: str, index: int | str, size: int) -> str:
        """base + index · size bytes."""
        if isinstance(index, int):
            return self.b.address(base, index * size)
        return self.b.address(base, self.b.op(f"mul i64 {index}, {size}"))

    def load(self, base: str, vectors: int, skip: int = 0) -> list[str]:
        return [self.b.load(base, skip + k) for k in range(vectors)]

    def store(self, values: Sequence[str], base: str, skip: int = 0) -> None:
        for k, x in enumerate(values):
            self.b.store(x, base, skip + k)

    def broadcast(self, base: str, column: int) -> str:
        """A number of a row in all lanes."""
        return self.b.splat(self.b.op(f"load double, ptr {self.b.address(base, 8 * column)}, align 8"))

    def unit(self, lane: int) -> str:
        return f"<{', '.join(f'double {float(k == lane)}' for k in range(LANES))}>"

    def transposed(self, rows: list[str]) -> list[str]:
        """The columns of LANES vectors of LANES numbers: pairs of blocks change places, ever larger ones."""
        size = 1
        while size < LANES:
            low = [k if not k & size else LANES + k - size for k in range(LANES)]
            high = [k + size if not k & size else LANES + k for k in range(LANES)]
            pairs = [(rows[k & ~size], rows[k | size], high if k & size else low) for k in range(LANES)]
            rows = [shuffle(self.b, x, y, lanes) for x, y, lanes in pairs]
            size *= 2
        return rows

    def transposed_square(self, rows: list[list[str]]) -> list[list[str]]:
        """Rows of the transpose of a square matrix of so many rows; columns beyond them are left out."""
        n = len(rows)
        turned: list[list[str]] = [[] for _ in rows]
        for start in range(0, n, LANES):
            for block in range(0, n, LANES):
                vectors = [row[block // LANES] for row in rows[start : start + LANES]]
                vectors += [self.b.const(0.0)] * (LANES - len(vectors))
                for row, x in zip(turned[block : block + LANES], self.transposed(vectors), strict=False):
                    row.append(x)
        return turned

    def scratch(self, rows: int, vectors: int) -> str:
        """Memory on the stack."""
        return self.b.op(f"alloca i8, i64 {max(1, rows * vectors) * VECTOR}, align {VECTOR}")

    def product(
        self,
        rows: int,
        depth: int,
        vectors: int,
        left: Callable[[int, int | str], str],
        right: Callable[[int | str], list[str]],
        begin: Callable[[int], list[str]],
        finish: Callable[[int, list[str]], None],
    ) -> None:
        """finish(i, begin(i) + Σₖ left(i, k) · right(k)) for each row i, a few rows at a time."""
        b, tile = self.b, max(1, ACCUMULATORS // vectors)

        def added(k: int | str, indices: range, sums: list[str]) -> list[str]:
            factor, out = right(k), []
            for t, i in enumerate(indices):
                x = left(i, k)
                out += [b.fma(x, y, z) for y, z in zip(factor, sums[t * vectors :][:vectors], strict=True)]
            return out

        for start in range(0, rows, tile):
            indices = range(start, min(start + tile, rows))
            sums = [x for i in indices for x in begin(i)]
            if rows * depth * vectors <= UNROLLED:
                for k in range(depth):
                    sums = added(k, indices, sums)
            else:

                def again(k: str, carried: list[str], indices: range = indices) -> list[str]:
                    return added(k, indices, carried)

                sums = b.repeat(f"product{next(self.names)}", str(depth), again, sums)
            for t, i in enumerate(indices):
                finish(i, sums[t * vectors :][:vectors])

    def products(self, rows: list[list[str]], x: list[str]) -> list[str]:
        """Rows times x, as vectors of LANES results, zeros behind the last."""
        b, totals = self.b, []
        for row in rows:
            total = b.mul(row[0], x[0])
            for y, z in zip(row[1:], x[1:], strict=True):
                total = b.fma(y, z, total)
            totals.append(total)
        totals += [b.const(0.0)] * (-len(totals) % LANES)
        return [self.lane_sums(totals[k : k + LANES]) for k in range(0, len(totals), LANES)]

    def lane_sums(self, totals: list[str]) -> str:
        """The vector of the sums over the lanes of LANES vectors, pairwise."""
        b, size = self.b, 1
        while len(totals) > 1:
            low = [k + (LANES - size if k & size else 0) for k in range(LANES)]
            high = [k + size for k in low]
            totals = [
                b.add(shuffle(b, x, y, low), shuffle(b, x, y, high))
                for x, y in zip(totals[::2], totals[1::2], strict=True)
            ]
            size *= 2
        return totals[0]
