"""The prelude of an emitted kernel: views of device memory, sine and cosine.

sin, cos: as in the LLVM backend (three-step Cody-Waite reduction with fused multiply-adds, minimax polynomials), but
without a branch: the toolkit's versions carry a slow path that costs registers and local memory even where it is never
taken. Within 2 ulp for |x| ≤ FAST_LIMIT; beyond it, where neighbouring floats are far apart on the circle, NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dalembert.compiler.backends.c.body import HELPERS as C_HELPERS
from dalembert.compiler.backends.c.text import literal
from dalembert.compiler.backends.elementary import COS, FAST_LIMIT, HALF_PI, SIN

SPECIAL = """\
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#define INFINITY __int_as_float(0x7f800000)
#endif"""

VIEWS = """\
/* One state of an array in device memory; item: the distance between its numbers. */
struct {name}_in {{
    const {real} *data;
    unsigned item;
    __device__ __forceinline__ {real} operator[](unsigned long long k) const {{ return __ldg(data + k * item); }}
}};
struct {name}_out {{
    {real} *data;
    unsigned item;
    __device__ __forceinline__ {real} &operator[](unsigned long long k) const {{ return data[k * item]; }}
}};"""

ROOM = """
/* Memory of one thread: its numbers lie between those of the other threads of a warp. */
struct {name}_room {{
    {real} *data;
    __device__ __forceinline__ {real} &operator[](int k) const {{ return data[k * 32]; }}
    __device__ __forceinline__ {name}_room operator+(int k) const {{ return {{data + k * 32}}; }}
}};"""

# Values for which no register is left go to shared memory instead of a cache line each (CUDA 13; older ones ignore it).
SPILLING = [
    "#ifdef __CUDA_ARCH__",
    'asm volatile(".pragma \\"enable_smem_spilling\\";");',
    "#endif",
]

# rint by adding and taking away a number so large that no fraction is left; the quadrant is then in its last bits
MAGIC = {"double": "6755399441055744.0", "float": "12582912.0f"}
FLIP = {  # the sign of x changed where bit 1 of n is set
    "double": "__hiloint2double(__double2hiint({x}) ^ (({n} & 2) << 30), __double2loint({x}))",
    "float": "__int_as_float(__float_as_int({x}) ^ (({n} & 2) << 30))",
}
BITS = {"double": "__double2loint", "float": "__float_as_int"}

SINCOS = """\
struct {name}_pair {{ {real} sin, cos; }};
static __device__ __forceinline__ {name}_pair {name}_sincos({real} x)
{{
    const {real} shifted = {fma}(x, {over}, {magic});
    const {real} k = shifted - {magic};
    const int n = {bits}(shifted);
    {real} r = {fma}(k, {p1}, x);
    r = {fma}(k, {p2}, r);
    r = {fma}(k, {p3}, r);
    r = {fabs}(x) <= {limit} ? r : NAN;
    const {real} z = r * r;
    {real} s = {s0};
{s}
    s = {fma}(s * z, r, r);
    {real} c = {c0};
{c}
    const {real} a = n & 1 ? c : s, b = n & 1 ? s : c;
    {name}_pair both;
    both.sin = {flip_a};
    both.cos = {flip_b};
    return both;
}}"""


def _sincos(name: str, real: str) -> str:
    fma = "fmaf" if real == "float" else "fma"

    def horner(variable: str, coefficients: Sequence[float]) -> str:
        return "\n".join(f"    {variable} = {fma}({variable}, z, {literal(x, real)});" for x in coefficients)

    p1, p2, p3 = (literal(-x, real) for x in HALF_PI[real])
    return SINCOS.format(
        name=name,
        real=real,
        fma=fma,
        fabs="fabsf" if real == "float" else "fabs",
        over=literal(2 / math.pi, real),
        magic=MAGIC[real],
        bits=BITS[real],
        p1=p1,
        p2=p2,
        p3=p3,
        limit=literal(FAST_LIMIT[real], real),
        s0=literal(SIN[real][0], real),
        s=horner("s", SIN[real][1:]),
        c0=literal(COS[real][0], real),
        c=horner("c", COS[real][1:]),
        flip_a=FLIP[real].format(x="a", n="n"),
        flip_b=FLIP[real].format(x="b", n="(n + 1)"),
    )


def helper(op: str, name: str, real: str) -> str:
    """The definition of a function that kernels with this name call."""
    if op == "sincos":
        return _sincos(name, real)
    return C_HELPERS[op].replace("static", "static __device__ __forceinline__", 1).format(name=name, real=real)
