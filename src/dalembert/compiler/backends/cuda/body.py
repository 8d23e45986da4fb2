"""Statements: the dialect of C that a graphics processor runs fast, and how one thread sees inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from dalembert.compiler.backends.c.arrays import Place, Pointer
from dalembert.compiler.backends.c.body import CBody
from dalembert.compiler.backends.c.names import CParameter
from dalembert.compiler.backends.c.needs import called_function, memory, sinking
from dalembert.compiler.backends.c.text import Source
from dalembert.compiler.graph import Function, Scalar
from dalembert.compiler.graph.pressure import fewest_at_once, peak
from dalembert.compiler.graph.product import Weighted
from dalembert.compiler.graph.sinking import is_branch
from dalembert.errors import DalembertError

from .prelude import helper

WHOLE = 12_000  # statements up to which a function is left whole, so that values can stay in registers
PART = 3_000  # statements in one part of a longer one: compilers take time that grows with the square
LOCAL = 4_000  # numbers in arrays that a thread may have to itself
SMALL = 32  # numbers up to which an array stays with the thread where others are in the room
INLINED, APART = 200, 2_000  # nodes up to which a function is inlined: with a room; beside rare branches
UNROLLED = 128


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
class CudaText(Source):
    """Definitions of one kernel. roomy: large arrays lie in a room of device memory, not with the thread.

    leaving: states that need a rare branch are left to another kernel.
    """

    roomy: bool = False
    leaving: bool = False

    @property
    def room(self) -> str:
        """The type of a pointer into the room."""
        return f"{self.name}_room"

    def table(self, numbers: Sequence[float] | np.ndarray, single: bool = False) -> str:
        """See `Source.table`. Infinity is no constant on a device: the largest number stands in."""
        values = np.asarray(numbers, float)
        if np.isnan(values).any():
            raise DalembertError(f"{self.name}: a table has NaN, which CUDA cannot have")
        largest = float(np.finfo(np.float32 if single or self.real == "float" else np.float64).max)
        return super().table(np.clip(values, -largest, largest), single)


class CudaBody(CBody):
    """Like the C body, in the order with the fewest live values; outputs stored at once, sine and cosine together."""

    local: ClassVar[str] = "static __device__ __noinline__ void"
    constant: ClassVar[str] = "static __device__ const"
    source: CudaText

    def __init__(
        self,
        function: Function,
        name: str,
        real: str,
        parameters: Sequence[CParameter],
        inputs: Mapping[str, Sequence[Place]],
        outputs: Mapping[str, Sequence[Place]],
        source: CudaText,
    ) -> None:
        super().__init__(function, name, real, parameters, inputs, outputs, source)
        self.frame = 0  # numbers of the room that it takes, with all that it calls
        self.leaves = False  # whether it may leave a state to the kernel of rare branches
        self._taken: list[tuple[int, int, int]] = []  # of the room: begin, end, the last statement that needs it
        self._last: dict[int, int] = {}
        for k, node in enumerate(self.order):
            for argument in node.args:
                self._last[argument.args[0].id if argument.op == "result" else argument.id] = k
        self.now = 0
        self._in_room: dict[str, str] = {}  # declarations
        self._here: set[str] = set()  # declared in the part that is being written

    @property
    def inner(self) -> str:  # type: ignore[override]
        return f"static __device__ {'__noinline__' if self.apart(self.function) else '__forceinline__'} void"

    def apart(self, function: Function) -> bool:
        """Whether a function that a compound calls is not inlined."""
        most = INLINED if self.source.roomy else APART if self.source.leaving else inf
        return len(sinking(function).schedule()) > most

    def points_into_arrays(self, function: Function) -> bool:
        return self.source.roomy or not self.apart(function)  # what has an address stays in no register

    def definition(self, op: str) -> str:
        return helper(op, self.source.name, self.real)

    def kind(self, parameter: CParameter) -> str | None:
        return None if isinstance(parameter, View) else super().kind(parameter)

    def each(self, size: int, statement: str) -> list[str]:
        unrolled = size <= UNROLLED and not self.source.roomy
        return [*(["#pragma unroll"] if unrolled else []), *super().each(size, statement)]

    @property
    def part(self) -> int:
        return max(len(self.order), 1) if self.whole else PART

    def arrange(self, roots: Sequence[Scalar]) -> list[Scalar]:
        return fewest_at_once(roots)

    @property
    def whole(self) -> bool:
        """Whether the function stays in one piece."""
        return len(self.order) <= (PART if self.source.roomy else WHOLE)

    def words(self, more: int = 0) -> int:
        """Registers of 32 bits that the values need which are alive at once, and `more` values beside them."""
        return (peak(self.order) + more) * (2 if self.real == "double" else 1)

    def statements(self, nodes: Sequence[Scalar], stores: Sequence[tuple[int, str]]) -> list[str]:
        here = {node.id for node in nodes}
        due: dict[int, list[tuple[int, str]]] = {}
        for i, target in stores:
            due.setdefault(i, []).append((i, target))
        lines: list[str] = []
        pairs: dict[int, str] = {}  # argument's id → its sine and cosine
        for node in nodes:
            if node.op in ("sin", "cos"):
                (angle,) = node.args
                if angle.id not in pairs:
                    pairs[angle.id] = f"{self.temporary[node.id]}p"
                    call = self.helper("sincos", [self.operand(angle)])
                    lines.append(f"const {self.source.name}_pair {pairs[angle.id]} = {call};")
                lines.append(self.assign(node, f"{pairs[angle.id]}.{node.op}"))
            else:
                lines += self.computed(node)
            lines += self.stored(due.get(node.id, []))
        return lines + self.stored([(i, target) for i, target in stores if i not in here])

    # ---- the room, and rare branches

    def array(self, name: str, size: int, node: Scalar, result: bool = False) -> list[str]:
        if not self.source.roomy or size <= SMALL:
            return super().array(name, size, node, result)
        now, begin = self.at[node.id], 0
        for start, end, last in sorted(self._taken):
            if last >= now and begin < end and begin + size > start:
                begin = end
        self._taken.append((begin, begin + size, self._last.get(node.id, now) if result else now))
        self.frame = max(self.frame, begin + size)
        self.kinds[name] = self.source.room
        self.used.add("room")
        self._in_room[name] = f"const {self.source.room} {name} = room + {begin};"
        self._here.add(name)
        return [self._in_room[name]]

    def known_arrays(self) -> list[str]:
        lines = [self._in_room[name] for name in sorted(self.used - self._here) if name in self._in_room]
        self.used |= {"room"} if lines else set()
        self._here = set()
        return lines

    @property
    def further(self) -> list[CParameter]:
        room = Pointer("room", (1,), True, kind=self.source.room)
        return [*([room] if self.frame else []), *([Rare("rare", (1,), False)] if self.leaves else [])]

    def argument(self, parameter: CParameter, called: CBody) -> str:
        self.used.add(parameter.identifier)
        if isinstance(parameter, Rare):
            self.leaves = True
            return "rare"
        assert isinstance(called, CudaBody)
        top = max((end for _, end, last in self._taken if last >= self.now), default=0)
        self.frame = max(self.frame, top + called.frame)
        return f"room + {top}"

    def after_call(self, used: Iterable[str]) -> list[str]:
        return ["if (rare) return;"] if "rare" in used else []

    def computed(self, node: Scalar) -> list[str]:
        self.now = self.at[node.id]
        if not (self.source.leaving and is_rare(node)):
            return super().computed(node)
        name, repeated = self.temporary[node.id], node.value
        self.leaves = True
        self.used.add("rare")
        lines = self.filled(f"{name}s", node.args[: repeated.width], node, result=True)
        return [*lines, f"if ({name}s[{repeated.settled}] == 0) {{", "    rare = 1;", "    return;", "}"]


@dataclass(frozen=True)
class Rare(CParameter):
    """The mark of a state that is left to another kernel."""

    def declare(self, real: str) -> str:
        return f"int &{self.identifier}"


def is_rare(node: Scalar) -> bool:
    """Whether a node is a branch with more memory than a thread may have to itself."""
    return is_branch(node) and memory(called_function(node.value)) > LOCAL


def usual_memory(function: Function) -> int:
    """About how many numbers the arrays of a function take without its rare branches."""
    own = deepest = 0
    for node in sinking(function).schedule():
        if node.op == "compound" and not isinstance(node.value, Weighted):
            own += node.value.size
            deepest = max(deepest, 0 if is_rare(node) else usual_memory(called_function(node.value)))
    return own + deepest
