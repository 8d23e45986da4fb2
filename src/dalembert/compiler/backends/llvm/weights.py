"""Products of a matrix of constants with a vector, as loops over tiles of rows whose sums stay in registers.

In a batch kernel every number is a vector across states, and a weight is the same in all lanes. In a one-state kernel
the lanes are rows. Weights that float32 holds exactly are read as such there: memory is what takes the time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.compiler.graph.product import Weighted

from .compounds import Weighing, runs
from .ir import Builder
from .tiles import copy_state

VALUES = 8  # sums of a tile, each a vector


def weighing(weighted: Weighted, slots: list[int], group: int, take: Callable[[int, int], int]) -> Weighing:
    """The plan of a product with x in these slots. take: makes room in memory, count and alignment."""
    tile = group * min(VALUES, -(-weighted.size // group))
    row = slots[0] if len(runs(slots)) == 1 else take(len(slots), 1)
    return Weighing(weighted, slots, row, take(-(-weighted.size // tile) * tile, group), tile)


def write_weighted(b: Builder, part: Weighing, memory: str, group: int, name: str) -> None:
    """The loop, in the caller. group: lanes of a one-state kernel; 1 where lanes are states. name: of the part."""
    m, n = part.weighted.W.shape
    wide = b.wide(group) if group > 1 else b
    narrow = group > 1 and b.bits == 64 and part.weighted.is_single
    element, bits = ("float", 32) if narrow else (b.element, b.bits)
    tiles = -(-m // part.tile)
    padded = np.zeros((tiles * part.tile, n), f"<f{bits // 8}")
    padded[:m] = part.weighted.W
    table = f"weights.{part.weighted.digest[:16]}.{part.tile}.{bits}"
    b.module.matrix(table, padded.reshape(tiles, part.tile, n).swapaxes(1, 2).tobytes())
    copy_state(b, [(slot, part.row + k) for k, slot in enumerate(part.arguments)], memory, group, f"{name}.row")
    row = b.address(memory, part.row * b.stride)
    values = part.tile // group

    def weight(place: str, k: int) -> str:
        at = b.address(place, k * group * bits // 8)
        if group == 1:
            return b.splat(b.op(f"load {element}, ptr {at}, align {bits // 8}"))
        loaded = b.op(f"load <{group} x {element}>, ptr {at}, align {bits // 8}")
        return b.op(f"fpext <{group} x {element}> {loaded} to {wide.type}") if narrow else loaded

    def rows(tile: str, carried: list[str]) -> list[str]:
        first = b.op(f"mul i64 {tile}, {n * part.tile * bits // 8}")
        begin = b.address(f"@{table}", first)

        def term(k: str, sums: list[str]) -> list[str]:
            here = b.address(begin, b.op(f"mul i64 {k}, {part.tile * bits // 8}"))
            x = b.load(b.address(row, b.op(f"mul i64 {k}, {b.stride}")), 0)
            x = x if group == 1 else wide.splat(x)
            return [wide.fma(weight(here, k), x, s) for k, s in enumerate(sums)]

        sums = wide.repeat(f"{name}.term", str(n), term, [wide.const(0.0)] * values)
        done = b.op(f"mul i64 {tile}, {part.tile * b.stride}")
        place = b.address(b.address(memory, part.base * b.stride), done)
        for k, s in enumerate(sums):
            wide.do(f"store {wide.type} {s}, ptr {b.address(place, k * wide.stride)}, align {b.stride}")
        return carried

    b.repeat(f"{name}.rows", str(tiles), rows)
