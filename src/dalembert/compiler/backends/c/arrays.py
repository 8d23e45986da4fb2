"""Arrays of an emitted function: which number lies where, and arguments of calls that point into them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dalembert.compiler.graph import Function, Scalar

from .names import CParameter

if TYPE_CHECKING:
    from .body import CBody

FEW = 4  # numbers from one array up to which a call gets copies of them
SMALL = 64  # numbers that a called function takes, up to which it gets copies: then equal functions stay equal
INITIALISED = 64  # numbers in an initialiser
RUN = 8  # neighbours that are copied in a loop


class Place(NamedTuple):
    """Where a number is: an array, or an argument that points into one, and the index."""

    array: str
    at: int


@dataclass(frozen=True)
class Pointer(CParameter):
    """A parameter that points into an array of the caller. kind: its type, "" for a plain pointer."""

    kind: str = ""

    def declare(self, real: str) -> str:
        return (
            f"const {self.kind} {self.identifier}"
            if self.kind
            else super().declare(real).split("[")[0].replace(f" {self.identifier}", f" *{self.identifier}")
        )


class Arguments:
    """Arguments of the calls of one compound: pointers into arrays, and arrays of copies where there are none.

    lines: statements before the calls; parameters: of the called function; texts: of the arguments.
    """

    def __init__(self, body: CBody, node: Scalar, function: Function) -> None:
        self.body, self.name, self.node = body, body.temporary[node.id], node
        self.points = body.points_into_arrays(function)
        self.lines: list[str] = []
        self.parameters: list[Pointer] = []
        self.texts: list[str] = []

    def pointer(self, text: str, kind: str, constant: bool = True) -> str:
        """The parameter for an argument."""
        for parameter, known in zip(self.parameters, self.texts, strict=True):
            if known == text and parameter.constant == constant:
                return parameter.identifier
        parameter = Pointer(f"{'a' if constant else 'o'}{len(self.texts)}", (1,), constant, kind=kind)
        self.parameters.append(parameter)
        self.texts.append(text)
        return parameter.identifier

    def numbers(self, nodes: Sequence[Scalar], used: Sequence[bool]) -> list[Place]:
        """Places of numbers, as the called function sees them; those that it does not use have no meaning."""
        places = [self.body.place(node) if wanted else None for node, wanted in zip(nodes, used, strict=True)]
        often = Counter(p.array for p in places if p is not None and p.array in self.body.kinds)
        pointed = {array for array, times in often.items() if times > FEW} if self.points else set()
        pointed = pointed if len(nodes) > SMALL else set()
        result: list[Place] = []
        copied: list[Scalar] = []
        for node, place, wanted in zip(nodes, places, used, strict=True):
            if not wanted:
                result.append(Place("", 0))
            elif place is not None and place.array in pointed:
                result.append(Place(self.pointer(place.array, self.body.kinds[place.array]), place.at))
                self.body.used.add(place.array)
            else:
                result.append(Place("copied", len(copied)))
                copied.append(node)
        if not copied:
            return result
        array = f"{self.name}in{len(self.texts)}"
        self.lines += self.body.filled(array, copied, self.node, constant=True)
        parameter = self.pointer(array, self.body.kinds[array])
        return [p._replace(array=parameter) if p.array == "copied" else p for p in result]

    def rows(self, rows: Sequence[Sequence[Scalar]], used: Sequence[bool]) -> list[Place]:
        """Places of the numbers of one item, `q` in the caller: pointers that move from item to item."""
        result: list[Place] = []
        copied: list[Sequence[Scalar]] = []
        constants: list[Sequence[Scalar]] = []
        for row, wanted in zip(rows, used, strict=True):
            step = self.body.stepping(row) if wanted else None
            if not wanted:
                result.append(Place("", 0))
            elif step is not None:
                (array, index), stride = step
                text = f"{array} + {self._times(stride)}"
                result.append(Place(self.pointer(text, self.body.kinds[array]), index))
                self.body.used.add(array)
            else:
                kind = constants if all(x.op == "const" for x in row) else copied
                result.append(Place("constant" if kind is constants else "copied", len(row) * len(kind)))
                kind.append(row)
        named = {}
        if constants:
            table = self.body.source.table([x.value for row in constants for x in row])
            named["constant"] = self.pointer(f"{table} + {self._times(1)}", "")
        if copied:
            array = f"{self.name}rows{len(self.texts)}"
            self.lines += self.body.filled(array, [x for row in copied for x in row], self.node, constant=True)
            named["copied"] = self.pointer(f"{array} + {self._times(1)}", self.body.kinds[array])
        return [p._replace(array=named.get(p.array, p.array)) for p in result]

    def _times(self, stride: int) -> str:
        return f"{self.name}q" if stride == 1 else f"{stride} * {self.name}q"

    def results(self, array: str, size: int, offset: int = 0, stride: int = 1) -> list[Place]:
        """Places where the called function writes `size` numbers."""
        parameter = self.pointer(array, self.body.kinds[array.split(" ")[0]], constant=False)
        return [Place(parameter, offset + stride * k) for k in range(size)]


def affine(places: Sequence[Place | None]) -> int | None:
    """The distance between neighbours, if all lie in one array, evenly."""
    first = places[0]
    if first is None:
        return None
    second = places[1] if len(places) > 1 else first
    if second is None:
        return None
    stride = second.at - first.at
    for k, place in enumerate(places):
        if place is None or place.array != first.array or place.at != first.at + k * stride:
            return None
    return stride


def copies(places: Sequence[Place | None], texts: Callable[[int], str], target: str, offset: int = 0) -> list[str]:
    """Statements that copy numbers one after the other into `target` from `offset` on; runs of neighbours in a loop."""
    lines, k, n = [], 0, len(places)
    while k < n:
        place, end = places[k], k + 1
        if place is not None:
            while end < n and places[end] == (place.array, place.at + end - k):
                end += 1
        if place is not None and end - k >= RUN:
            shift = f" + {place.at}" if place.at else ""
            to = f"{k + offset} + i" if k + offset else "i"
            lines.append(f"for (int i = 0; i < {end - k}; ++i) {target}[{to}] = {place.array}[i{shift}];")
        else:
            lines += [f"{target}[{j + offset}] = {texts(j)};" for j in range(k, end)]
        k = end
    return lines
