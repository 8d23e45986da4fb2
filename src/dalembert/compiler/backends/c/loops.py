"""Compounds as C: calls, repetitions, loops over items, products with matrices. Results of each lie in one array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dalembert.compiler.graph import Scalar
from dalembert.compiler.graph.product import Weighted
from dalembert.compiler.graph.repeat import Repeated
from dalembert.compiler.graph.visit import Visited, VisitParts

from .arrays import Arguments, Place, affine
from .needs import called_function, taken, used_inputs

if TYPE_CHECKING:
    from .body import CBody


def statements(body: CBody, node: Scalar) -> list[str]:
    """The statements of a compound."""
    write = next((write for kind, write in WRITERS.items() if isinstance(node.value, kind)), _call)
    unread = [] if write is _repeated else [f"(void){body.temporary[node.id]}r;"]  # or compilers would warn
    return [*write(body, node), *unread]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _call(body: CBody, node: Scalar) -> list[str]:
    """One call of a function of whole vectors."""
    function, name = called_function(node.value), body.temporary[node.id]
    arguments = Arguments(body, node, function)
    numbers = iter(arguments.numbers(node.args, taken(function)))
    inputs = {i.name: [next(numbers) for _ in range(i.size)] for i in function.inputs}
    lines = body.array(f"{name}r", node.value.size, node, result=True)
    results = iter(arguments.results(f"{name}r", node.value.size))
    outputs = {o.name: [next(results) for _ in o.nodes] for o in function.outputs}
    return [*lines, *arguments.lines, *body.calling(function, arguments, inputs, outputs)]


def _repeated(body: CBody, node: Scalar) -> list[str]:
    """The state `s`; a branch is a repetition of at most one pass."""
    repeated, name, width = node.value, body.temporary[node.id], node.value.width
    step, arguments = repeated.step, Arguments(body, node, repeated.step)
    lines = body.filled(f"{name}s", node.args[:width], node, result=True)
    used = used_inputs(step)
    in_place = not any(used["state"])
    captured = arguments.numbers(node.args[repeated.body.taken], used["captured"])
    inputs = {"state": [Place(arguments.pointer(f"{name}s", body.kinds[f"{name}s"]), k) for k in range(width)]}
    room = f"{name}s" if in_place else f"{name}o"
    if not in_place:
        arguments.lines += body.array(room, width, node)
    outputs = {"state": arguments.results(room, width)}
    going = "" if repeated.settled is None else f"{name}s[{repeated.settled}] == 0"
    call = body.calling(step, arguments, inputs | {"captured": captured}, outputs)
    follow = [] if in_place else body.each(width, f"{name}s[i] = {name}o[i];")
    passes = [
        *arguments.lines,
        f"for (; {name}k < {repeated.times}{going and ' && '}{going}; ++{name}k) {{",
        *_indented([*call, *follow]),
        "}",
    ]
    if going:  # where no pass is made, nothing is copied for it
        passes = [f"if ({going}) {{", *_indented(passes), "}"]
    return [*lines, f"int {name}k = 0;", f"(void){name}k;", *passes]


def _way(name: str, n: int, backwards: bool) -> str:
    return f"{name}q = {n - 1}; {name}q >= 0; --{name}q" if backwards else f"{name}q = 0; {name}q < {n}; ++{name}q"


def _visited(body: CBody, node: Scalar) -> list[str]:
    """A loop over items that read rows of a table and write some: the results are the table, the carry, records."""
    visited, name, s = node.value, body.temporary[node.id], node.value.sizes
    parts, used, n = visited.split(node.args), used_inputs(visited.step), s.items
    arguments, first = Arguments(body, node, visited.step), s.table if s.written else 0
    lines = body.array(f"{name}r", visited.size - s.table + first, node, result=True)
    entry = _table(body, node, parts, lines, written=bool(s.written)) if s.table else str
    lines += body.copied(f"{name}r", parts.carry, first)
    inputs: dict[str, list[Place]] = {"rows": [], "carry": []}
    outputs: dict[str, list[Place]] = {"to": [], "rows": [], "carry": [], "record": []}
    inner, follow = [], []
    if s.read:
        inner += body.array(f"{name}in", s.read * s.columns, node)
        for j, number in enumerate(_numbers(body, arguments, parts.at)):
            lines_of_row = f"{name}in[{f'{s.columns * j} + ' if j else ''}i] = {_known(number, s.rows)} ? "
            inner += body.each(s.columns, f"{lines_of_row}{entry(number)} : 0;")
        rows = arguments.pointer(f"{name}in", body.kinds[f"{name}in"])
        inputs["rows"] = [Place(rows, k) for k in range(s.read * s.columns)]
    if s.carry:
        inner += body.array(f"{name}d", s.carry, node)
        carry = arguments.pointer(f"{name}r", body.kinds[f"{name}r"])
        inputs["carry"] = [Place(carry, first + k) for k in range(s.carry)]
        outputs["carry"] = arguments.results(f"{name}d", s.carry)
        follow += body.each(s.carry, f"{name}r[{first} + i] = {name}d[i];")
    inputs["item"] = arguments.rows(parts.item, used["item"])
    inputs["captured"] = arguments.numbers(parts.common, used["captured"])
    if s.written:
        inner += [*body.array(f"{name}to", s.written, node), *body.array(f"{name}out", s.written * s.columns, node)]
        outputs["to"] = arguments.results(f"{name}to", s.written)
        outputs["rows"] = arguments.results(f"{name}out", s.written * s.columns)
        for j in range(s.written):
            number, contents = f"{name}to[{j}]", f"{name}out[{f'{s.columns * j} + ' if j else ''}i]"
            row = body.each(s.columns, f"{entry(number)} = {contents};")
            follow += [f"if ({_known(number, s.rows)}) {{", *_indented(row), "}"]
    if s.record:
        outputs["record"] = arguments.results(f"{name}r + {name}q", s.record, first + s.carry, n)
    inner += [*body.calling(visited.step, arguments, inputs, outputs), *follow]
    if visited.counted is not None:
        zero = body.each(s.record, f"{name}r[{first + s.carry} + {n} * i + {name}q] = 0;") if s.record else []
        zero += [
            f"{name}r[{first + s.carry + n * k} + {name}q] = {name}r[{first + c}];"
            for k, c in visited.carry_records.items()
        ]
        count = body.operand(parts.common[visited.counted])
        inner = [f"if (!({name}q < {count})) {{", *_indented([*zero, "continue;"]), "}", *inner]
    return [*lines, *arguments.lines, f"for (int {_way(name, n, visited.reversed)}) {{", *_indented(inner), "}"]


def _table(body: CBody, node: Scalar, parts: VisitParts, lines: list[str], written: bool) -> Callable[[str], str]:
    """How statements name an entry `i` of the row with a number: of a copy where rows are written."""
    name, s = body.temporary[node.id], node.value.sizes
    places = [body.place(x) for x in parts.table]
    down, along = affine(places[:: s.columns]), affine(places[: s.columns])
    first = places[0]
    even = first is not None and down is not None and along is not None
    if even and first is not None:
        expected = [(first.array, first.at + down * j + along * i) for j in range(s.rows) for i in range(s.columns)]  # type: ignore[operator]
        even = places == expected
    if not written and even and first is not None:
        body.used.add(first.array)
        return lambda number: f"{first.array}[{first.at} + (int){number} * {down} + {along} * i]"
    if written:
        lines += body.copied(f"{name}r", parts.table)
    else:
        lines += body.filled(f"{name}w", parts.table, node, constant=True)
    return lambda number: f"{name}{'r' if written else 'w'}[(int){number} * {s.columns} + i]"


def _numbers(body: CBody, arguments: Arguments, rows: Sequence[Sequence[Scalar]]) -> list[str]:
    """Expressions for numbers of the item `q`."""
    places = arguments.rows(rows, [True] * len(rows))
    known = {p.identifier: text for p, text in zip(arguments.parameters, arguments.texts, strict=True)}
    return [f"({known[place.array]})[{place.at}]" for place in places]


def _known(number: str, rows: int) -> str:
    return f"{number} >= 0 && {number} < {rows}"


def _weighted(body: CBody, node: Scalar) -> list[str]:
    """A product with a matrix of constants, column after column."""
    name, (m, n) = body.temporary[node.id], node.value.W.shape
    table = body.source.table(node.value.W.T, node.value.is_single and body.real == "double")
    return [
        *body.filled(f"{name}x", node.args, node, constant=True),
        *body.array(f"{name}r", m, node, result=True),
        f"for (int i = 0; i < {m}; ++i) {name}r[i] = 0;",
        f"for (int {name}k = 0; {name}k < {n}; ++{name}k)",
        f"    for (int i = 0; i < {m}; ++i) {name}r[i] += {table}[{m} * {name}k + i] * {name}x[{name}k];",
    ]


WRITERS: dict[type, Callable[[CBody, Scalar], list[str]]] = {
    Repeated: _repeated,
    Visited: _visited,
    Weighted: _weighted,
}
