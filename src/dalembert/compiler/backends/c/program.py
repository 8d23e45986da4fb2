"""The test program that comes with emitted C: stored inputs, expected outputs, an exit status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.compiler.backends import interpreter
from dalembert.compiler.graph import Function, Loop

from .names import CParameter
from .text import block, rows_of

# Largest error of an output over its largest expected magnitude (or 1): above the rounding of long chains of
# operations, below any mistake.
TOLERANCE = {"double": 1e-9, "float": 1e-3}
PASSES = 3  # of a loop, unless the sample has sequences

CHECK = """
/* {name}: reproduces a stored result. Returns 0 if every output is within {tolerance:g} of what is expected, relative
 * to the largest magnitude in that output (or 1); NaN and infinity must be the same. */
#include <math.h>
#include <stdio.h>
#include "{name}.h"

static double worst = 0;

static void check(const char *output, const {real} *got, const {real} *want, int size)
{{
    double scale = 1, largest = 0;
    int i;
    for (i = 0; i < size; ++i)
        if (fabs((double)want[i]) > scale && fabs((double)want[i]) < HUGE_VAL)
            scale = fabs((double)want[i]);
    for (i = 0; i < size; ++i) {{
        const double error = fabs((double)got[i] - (double)want[i]) / scale;
        if (got[i] == want[i] || (got[i] != got[i] && want[i] != want[i]))
            continue;
        if (!(error <= largest))
            largest = error < HUGE_VAL ? error : HUGE_VAL;
    }}
    printf("%s: error %.2g\\n", output, largest);
    if (largest > worst)
        worst = largest;
}}
""".lstrip()


def check_program(
    function: Function | Loop,
    name: str,
    real: str,
    parameters: tuple[Mapping[str, CParameter], Mapping[str, CParameter]],
    sample: Mapping[str, Any] | None,
) -> str:
    """Source of a program that returns 0 if the emitted function agrees with the interpreter."""
    inputs, outputs = parameters
    values = _sample(function, sample, np.dtype(np.float32 if real == "float" else np.float64))
    passes = None
    if isinstance(function, Loop):
        passes = values[function.sequence[0]].shape[0] if function.sequence else PASSES
    expected = interpreter.run(function, values, passes)
    data = [_array(f"in_{p.identifier}", values[key], real) for key, p in inputs.items()]
    data += [_array(f"want_{p.identifier}", expected[key], real) for key, p in outputs.items()]
    sizes = {f"{p.identifier}": max(expected[key].size, 1) for key, p in outputs.items()}
    results = [f"static {real} got_{word}[{size}];" for word, size in sizes.items()]
    lines = [f"for (i = 0; i < {size}; ++i) got_{word}[i] = NAN;" for word, size in sizes.items()]
    arguments = [*([] if passes is None else [str(passes)]), *(f"in_{p.identifier}" for p in inputs.values())]
    lines.append(f"{name}({', '.join([*arguments, *(f'got_{word}' for word in sizes)])});")
    lines += [f'check("{word}", got_{word}, want_{word}, {size});' for word, size in sizes.items()]
    lines.append(f'printf("{name}: largest error %.2g, tolerance {TOLERANCE[real]:g}\\n", worst);')
    lines.append(f"return worst <= {TOLERANCE[real]:g} ? 0 : 1;")
    main = block("int main(void)", [*(["int i;"] if sizes else []), *lines])
    head = CHECK.format(name=name, real=real, tolerance=TOLERANCE[real])
    return "\n".join([head, *data, *results, "", main, ""])


def _sample(function: Function | Loop, sample: Mapping[str, Any] | None, dtype: np.dtype) -> dict[str, np.ndarray]:
    """One set of inputs: `sample`, or numbers between -1 and 1."""
    step = function.step if isinstance(function, Loop) else function
    sequence = function.sequence if isinstance(function, Loop) else ()
    rng = np.random.default_rng(0)
    drawn: dict[str, Any] = {}
    for each in step.inputs:
        shape = (PASSES, each.size) if each.name in sequence else (each.size,)
        drawn[each.name] = rng.uniform(-1, 1, shape).round(3)
    return {name: np.asarray(x, dtype) for name, x in (drawn if sample is None else sample).items()}


def _array(name: str, values: np.ndarray, real: str) -> str:
    return f"static const {real} {name}[{max(values.size, 1)}] = {{\n{rows_of(values, real)}\n}};"
