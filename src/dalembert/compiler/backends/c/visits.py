"""Loops over items that read and write rows of a table, as C."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dalembert.compiler.graph import Scalar
from dalembert.compiler.graph.visit import Visited

if TYPE_CHECKING:
    from .body import CBody


def visiting(body: CBody, node: Scalar, operand: Callable[[Scalar], str]) -> list[str]:
    """The statements of a visit: the table `w`, the carry `in1`, records `r`."""
    visited, name, real = node.value, body.temporary[node.id], body.real
    s, step = visited.sizes, body.called[id(visited.step)]
    parts = visited.split([operand(argument) for argument in node.args])
    lines = [f"{real} {name}w[{s.table}] = {{{', '.join(parts.table)}}};"] if s.table else []
    inner, follow = [], []
    if s.carry:
        lines.append(f"{real} {name}in1[{s.carry}] = {{{', '.join(parts.carry)}}};")
        inner.append(f"{real} {name}out2[{s.carry}];")
        follow += body.each(s.carry, f"{name}in1[i] = {name}out2[i];")
    for part, rows, width in (("at", parts.at, s.read), ("a", parts.item, s.item)):
        if width:
            lines.append(f"const {real} {name}{part}[{width * s.items}] = {{{', '.join(x for r in rows for x in r)}}};")
    if s.read:
        inner.append(f"{real} {name}in0[{s.read * s.columns}];")
        for j in range(s.read):
            number, to = f"{name}at[{s.items * j} + {name}q]", f"{name}in0[{s.columns * j} + i]"
            inner += body.each(s.columns, f"{to} = {_known(number, s.rows)} ? {_entry(name, number, s.columns)} : 0;")
    if s.item:
        inner.append(f"{real} {name}in2[{s.item}];")
        inner += body.each(s.item, f"{name}in2[i] = {name}a[{s.items} * i + {name}q];")
    if parts.common:
        lines.append(f"const {real} {name}in3[{len(parts.common)}] = {{{', '.join(parts.common)}}};")
    if s.written:
        inner += [f"{real} {name}out0[{s.written}];", f"{real} {name}out1[{s.written * s.columns}];"]
        for j in range(s.written):
            number, contents = f"{name}out0[{j}]", f"{name}out1[{s.columns * j} + i]"
            follow += body.each(
                s.columns, f"if ({_known(number, s.rows)}) {_entry(name, number, s.columns)} = {contents};"
            )
    if s.record:
        lines.append(f"{real} {name}r[{s.record * s.items}];")
        inner.append(f"{real} {name}out3[{s.record}];")
        follow += body.each(s.record, f"{name}r[{s.items} * i + {name}q] = {name}out3[i];")
    every = (*step.inputs.values(), *step.outputs.values())
    inner.append(f"{step.name}({', '.join(f'{name}{p.identifier}' for p in every)});")
    if visited.counted is not None:
        zero = body.each(s.record, f"{name}r[{s.items} * i + {name}q] = 0;") if s.record else []
        zero += [f"{name}r[{s.items * k} + {name}q] = {name}in1[{c}];" for k, c in visited.carry_records.items()]
        inner = [f"if (!({name}q < {parts.common[visited.counted]})) {{", *zero, "    continue;", "}", *inner]
    onwards, back = f"{name}q = 0; {name}q < {s.items}; ++{name}q", f"{name}q = {s.items - 1}; {name}q >= 0; --{name}q"
    head = f"for (int {back if visited.reversed else onwards}) {{"
    unread = [f"(void){name}r;"] if s.record else []  # where nothing reads records, compilers would warn
    return [*lines, head, *(f"    {line}" for line in [*inner, *follow]), "}", *unread]


def visit_result(visited: Visited, name: str, k: int) -> str:
    """Where the statements leave result k."""
    s = visited.sizes
    if k < s.table:
        return f"{name}w[{k}]"
    return f"{name}in1[{k - s.table}]" if k < s.table + s.carry else f"{name}r[{k - s.table - s.carry}]"


def _known(number: str, rows: int) -> str:
    return f"({number} >= 0 && {number} < {rows})"


def _entry(name: str, number: str, columns: int) -> str:
    return f"{name}w[(long){number} * {columns} + i]"
