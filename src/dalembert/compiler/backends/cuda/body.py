"""Statements: the dialect of C that a graphics processor runs fast, and how one thread sees inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.compiler.backends.c.body import LOOKUP, CBody
from dalembert.compiler.backends.c.names import CParameter
from dalembert.compiler.graph import Scalar
from dalembert.compiler.graph.pressure import fewest_at_once, peak
from dalembert.errors import DalembertError

from .prelude import HELPERS

WHOLE = 12_000  # statements up to which a function is left whole, so that values can stay in registers
PART = 3_000  # statements in one part of a longer one: compilers take time that grows with the square


@dataclass(frozen=True)
class View(CParameter):
    """A parameter in device memory: a pointer and the distance between its numbers, so that any layout will do."""

    struct: str = ""

    def declare(self, real: str) -> str:
        return f"const {self.struct}_{'in' if self.constant else 'out'} {self.identifier}"


@dataclass(frozen=True)
class Held(CParameter):
    """A parameter local to the thread: in registers once the function is inlined."""

    def declare(self, real: str) -> str:
        return f"{'const ' if self.constant else ''}{real} (&{self.identifier})[{self.size}]"


@dataclass
class CudaBody(CBody):
    """Like the C body, in the order with the fewest live values; outputs stored at once, sine and cosine together."""

    local: ClassVar[str] = "static __device__ __noinline__ void"
    inner: ClassVar[str] = "static __device__ __forceinline__ void"
    constant: ClassVar[str] = "static __device__ const"
    lookup: ClassVar[str] = LOOKUP.replace("static", "static __device__ __forceinline__", 1)

    def array(self, identifier: str, size: int, constant: bool) -> CParameter:
        return Held(identifier, (size,), constant)

    def each(self, size: int, statement: str) -> list[str]:
        return ["#pragma unroll", *super().each(size, statement)]

    @property
    def part(self) -> int:
        return max(len(self.order), 1) if self.whole else PART

    def arrange(self, roots: Sequence[Scalar]) -> list[Scalar]:
        return fewest_at_once(roots)

    @property
    def whole(self) -> bool:
        """Whether the function stays in one piece."""
        return len(self.order) <= WHOLE

    def words(self, more: int = 0) -> int:
        """Registers of 32 bits that the values need which are alive at once, and `more` values beside them."""
        return (peak(self.order) + more) * (2 if self.real == "double" else 1)

    def helpers(self) -> list[str]:
        for node in self.order:  # constants of a device are numbers, and infinity is a function there
            if node.op != "lookup":
                continue
            with np.errstate(over="ignore"):
                numbers = node.value[0].numbers.astype(np.float32 if self.real == "float" else float)
            if not np.all(np.isfinite(numbers)):
                name = self.function.name
                raise DalembertError(f"{name}: a table has numbers that are not finite, which CUDA cannot have")
        used = {"sincos" if node.op in ("sin", "cos") else node.op for node in self.order}
        functions = [text(self.name, self.real) for op, text in HELPERS.items() if op in used]
        return [*self.shared(), *functions]

    def statements(
        self, nodes: Sequence[Scalar], operand: Callable[[Scalar], str], stores: Sequence[tuple[int, str]]
    ) -> list[str]:
        here = {node.id for node in nodes}
        due: dict[int, list[str]] = {}
        for i, store in stores:
            due.setdefault(i, []).append(store)
        lines: list[str] = []
        pairs: dict[int, str] = {}  # argument's id → its sine and cosine
        for node in nodes:
            if node.op in ("sin", "cos"):
                (angle,) = node.args
                if angle.id not in pairs:
                    pairs[angle.id] = f"{self.temporary[node.id]}p"
                    lines.append(f"const {self.name}_pair {pairs[angle.id]} = {self.name}_sincos({operand(angle)});")
                lines.append(self.assign(node, f"{pairs[angle.id]}.{node.op}"))
            else:
                lines += self.computed(node, operand)
            lines += due.get(node.id, [])
        return lines + [store for i, store in stores if i not in here]

    def expression(self, op: str, operands: Iterable[str]) -> str:
        if op in HELPERS:
            return f"{self.name}_{op}({', '.join(operands)})"
        return super().expression(op, operands)
