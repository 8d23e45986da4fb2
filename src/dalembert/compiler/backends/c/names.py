"""C identifiers and parameters for the inputs and outputs of a traced function."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dalembert.compiler.graph import Function, Loop

# keywords of C and C++, and names that the emitted functions use
RESERVED = """
    alignas alignof and asm auto bitand bitor bool break case catch char class compl concept const constexpr
    const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern false float for
    friend goto if import inline int long module mutable namespace new noexcept not nullptr operator or private
    protected public register reinterpret_cast requires restrict return short signed sizeof static static_assert
    static_cast struct switch template this thread_local throw true try typedef typeid typename typeof union unsigned
    using virtual void volatile wchar_t while xor
    i k n w size_t NULL INFINITY NAN sqrt sin cos atan2 exp log tanh fabs floor
    sqrtf sinf cosf atan2f expf logf tanhf fabsf floorf
"""
# names that a function, unlike a parameter, cannot have beside <math.h> and the test program
FUNCTIONS = """
    abs acos acosh asin asinh atan atanh cbrt ceil copysign cosh erf erfc exp2 expm1 fdim fma fmax fmin fmod
    frexp gamma hypot ilogb j0 j1 jn ldexp lgamma llrint llround log10 log1p log2 logb lrint lround modf nan nearbyint
    nextafter pow remainder remquo rint round scalbln scalbn sinh tan tgamma trunc y0 y1 yn
    check exit free main malloc printf remove rename worst
"""


@dataclass(frozen=True)
class CParameter:
    """One array argument of a C function: its identifier, its shape for one pass, whether it has a row per pass."""

    identifier: str
    shape: tuple[int, ...]
    constant: bool
    rows: bool = False

    @property
    def size(self) -> int:
        """How many numbers one pass reads or writes."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    def declare(self, real: str) -> str:
        """The declaration as a parameter, for instance `const double q[6]`."""
        return f"{'const ' if self.constant else ''}{real} {self.identifier}[{'' if self.rows else self.size}]"

    def describe(self) -> str:
        """Its shape in words."""
        extents = [*(["n"] if self.rows else []), *map(str, self.shape)]
        if len(extents) > 1:
            return " x ".join(extents) + ", row-major"
        return f"{extents[0]} numbers" if extents and extents != ["1"] else "1 number"


def function_identifier(name: str) -> str:
    """`name` as the identifier of a C function."""
    return identifier(name, FUNCTIONS.split())


def identifier(name: str, taken: Iterable[str] = (), suffix: str = "_", function: str = "") -> str:
    """`name` as a free C identifier: other characters become _, and the suffix is added until it is unique.

    Temporaries (t0, t1, …) and the helpers of `function` (its parts, step, min, …) are never free.
    """
    word = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not re.match(r"[A-Za-z]", word):
        word = "x" + word
    blocked = {*taken, *RESERVED.split()}
    while word in blocked or re.fullmatch(
        rf"t\d+([a-z]+\d*)?|{function}_(step_?)?(t\d+_?)*(min|max|sign|lookup|table\d+|part\d+)?", word
    ):
        word += suffix
    return word


def parameters(function: Function | Loop, name: str) -> tuple[Mapping[str, CParameter], Mapping[str, CParameter]]:
    """Inputs and outputs by their traced names; those without elements have no parameter in C."""
    step = function.step if isinstance(function, Loop) else function
    sequence = function.sequence if isinstance(function, Loop) else ()
    results = function.results() if isinstance(function, Loop) else tuple((o, False) for o in step.outputs)
    taken = {name}
    inputs, outputs = {}, {}
    for each in step.inputs:
        if each.size:
            word = identifier(each.name, taken, function=name)
            inputs[each.name] = CParameter(word, (each.size,), True, each.name in sequence)
            taken.add(word)
    for output, recorded in results:
        if output.nodes:
            word = identifier(output.name, taken, "_out", name)
            outputs[output.name] = CParameter(word, output.shape, False, recorded)
            taken.add(word)
    return inputs, outputs
