"""C source: a traced function or loop as self-contained C99 that needs only <math.h>.

`emit` returns a header, a source file and a test program that reproduces a stored result; `write` saves them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from dalembert.compiler.graph import Function, Loop
from dalembert.errors import unknown
from dalembert.files import write_text

from .body import PART, CBody, places
from .names import CParameter, function_identifier, identifier, parameters
from .program import TOLERANCE, check_program
from .text import block, declaration

__all__ = ["PART", "TOLERANCE", "CSource", "emit", "write"]


@dataclass(frozen=True)
class CSource:
    """Text of the three files `name`.h, `name`.c and `name`_test.c."""

    name: str
    header: str
    source: str
    test: str


def emit(
    function: Function | Loop,
    name: str | None = None,
    dtype: str = "double",
    *,
    sample: Mapping[str, Any] | None = None,
) -> CSource:
    """C99 of a traced function: `void name(const double q[6], …, double tau[6])`, row-major, in its own order.

    No allocation, no globals, no warnings under -Wall -Wextra -pedantic. A loop takes the number of passes, `size_t n`,
    first. Functions of more than PART operations become several static ones that share an array on the stack.
    Inputs and outputs without elements are left out. Guards are not emitted: C code trusts its inputs.

    dtype: "double" or "float", the type of everything. sample: the inputs of the test program (sequences (n, size)),
    by default numbers between -1 and 1; its tolerance is TOLERANCE[dtype].
    """
    if dtype not in TOLERANCE:
        raise unknown("dtype", dtype, TOLERANCE, "C source")
    step = function.in_order("C").step if isinstance(function, Loop) else function
    name = function_identifier(step.name if name is None else name)
    inputs, outputs = parameters(function, name)
    every = [*inputs.values(), *outputs.values()]
    arguments = [*(["size_t n"] if isinstance(function, Loop) else []), *(p.declare(dtype) for p in every)]
    head = declaration(f"void {name}", arguments)
    if isinstance(function, Loop):
        body, code = _loop(function, name, dtype, inputs, outputs, head)
    else:
        body = CBody(function, name, dtype, every, places(inputs), places(outputs))
        code = body.definitions(f"void {name}")
    top = [f"/* {name}: see {name}.h */", f'#include "{name}.h"', "", "#include <math.h>"]
    texts = ["\n".join(top), *code]
    header = _header(function, name, head, body, inputs, outputs)
    test = check_program(function, name, dtype, (inputs, outputs), sample)
    return CSource(name, header, "\n\n".join(texts) + "\n", test)


def write(source: CSource, folder: str | PathLike[str]) -> tuple[Path, Path, Path]:
    """Write header, source and test program; returns their paths. The header says how to compile."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    texts = {f"{source.name}.h": source.header, f"{source.name}.c": source.source, f"{source.name}_test.c": source.test}
    for file, text in texts.items():
        write_text(target / file, text)
    header, code, test = (target / file for file in texts)
    return header, code, test


def _loop(
    loop: Loop,
    name: str,
    real: str,
    inputs: Mapping[str, CParameter],
    outputs: Mapping[str, CParameter],
    head: str,
) -> tuple[CBody, list[str]]:
    """The step as a static function, and the loop that calls it."""
    kept = tuple(output for output, _ in loop.results())
    step = Function(loop.step.name, loop.step.inputs, kept)
    ins = {key: replace(p, rows=False) for key, p in inputs.items()}
    outs = {key: replace(p, rows=False) for key, p in outputs.items()}
    every = [*ins.values(), *outs.values()]
    body = CBody(step, f"{name}_step", real, every, places(ins), places(outs))
    code = body.definitions(f"static void {body.name}")

    words = {p.identifier for p in [*inputs.values(), *outputs.values()]}
    carried = [(source_name, taken) for source_name, taken in loop.carry if taken in inputs]
    now = {taken: identifier(f"{inputs[taken].identifier}_now", words) for _, taken in carried}
    start, follow = [], []
    for source_name, taken in carried:
        source, target, size = inputs[taken].identifier, outputs[source_name], inputs[taken].size
        start.append(f"{real} {now[taken]}[{size}];")
        start.append(f"for (size_t i = 0; i < {size}; ++i) {now[taken]}[i] = {source}[i];")
        if target.rows:
            row = f"{target.identifier}[{size} * {_pass(source_name, loop)} + i]"
            follow.append(f"for (size_t i = 0; i < {size}; ++i) {now[taken]}[i] = {row};")
        else:
            follow.append(f"for (size_t i = 0; i < {size}; ++i) {now[taken]}[i] = {target.identifier}[i];")
            start.append(f"for (size_t i = 0; i < {size}; ++i) {target.identifier}[i] = {source}[i];")
    arguments = [now.get(key) or _row(p, key, loop) for key, p in inputs.items()]
    arguments += [_row(p, key, loop) for key, p in outputs.items()]
    passes = [f"{body.name}({', '.join(arguments)});", *follow]
    lines = [*start, "for (size_t k = 0; k < n; ++k) {", *(f"    {line}" for line in passes), "}"]
    return body, [*code, block(head, lines)]


def _row(p: CParameter, name: str, loop: Loop) -> str:
    """Where pass k finds its part of a parameter."""
    return f"&{p.identifier}[{p.size} * {_pass(name, loop)}]" if p.rows else p.identifier


def _pass(name: str, loop: Loop) -> str:
    """The row of a sequence or record that pass k takes."""
    return "(n - 1 - k)" if name in loop.backwards else "k"


HEADER = """\
/* {name}
 *
 * inputs:
{inputs}
 * outputs:
{outputs}
 *
 * {count} operations{each}.
 * {notes}
 *
 * Test: cc -std=c99 -O2 {name}.c {name}_test.c -lm -o {name}_test && ./{name}_test
 * Generated by dalembert; the generator claims no rights in this file.
 */
#ifndef {guard}
#define {guard}
{include}
#ifdef __cplusplus
extern "C" {{
#endif

{head};

#ifdef __cplusplus
}}
#endif

#endif
"""
NOTES = """No allocation, no globals, safe to call from several threads. Inputs and outputs must not overlap.
Inputs are trusted: checks that dalembert makes at run time (finite numbers, unit quaternions) are not made here.
Do not compile with -ffast-math: NaN would no longer pass through."""


def _header(
    function: Function | Loop,
    name: str,
    head: str,
    body: CBody,
    inputs: Mapping[str, CParameter],
    outputs: Mapping[str, CParameter],
) -> str:
    counts = body.counts()
    listed = ", ".join(f"{times} {op}" for op, times in counts.most_common())
    loop = isinstance(function, Loop)
    notes = NOTES.splitlines()
    if isinstance(function, Loop):
        notes = [f"n passes; the result of one is the start of the next: {_feeds(function, inputs, outputs)}.", *notes]
    return HEADER.format(
        name=name,
        inputs=_table(inputs, ["n: number of passes"] if loop else []),
        outputs=_table(outputs, []),
        count=counts.total(),
        each=f" in each pass ({listed})" if loop and listed else f" ({listed})" if listed else "",
        notes="\n * ".join(notes),
        guard=f"{name.upper()}_H",
        include="\n#include <stddef.h>\n" if loop else "",
        head=head,
    )


def _feeds(loop: Loop, inputs: Mapping[str, CParameter], outputs: Mapping[str, CParameter]) -> str:
    pairs = [
        f"{outputs[source].identifier} -> {inputs[taken].identifier}" for source, taken in loop.carry if taken in inputs
    ]
    return ", ".join(pairs) or "nothing"


def _table(listed: Mapping[str, CParameter], more: list[str]) -> str:
    lines = more + [f"{p.identifier}: {p.describe()}" for p in listed.values()]
    return "\n".join(f" *   {line}" for line in lines or ["none"])
