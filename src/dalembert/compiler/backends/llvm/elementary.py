"""Elementary functions on vectors: sin and cos together, exp, log, tanh, atan2.

Each is an LLVM function on <width x element>, branch-free but for one test whether a lane is outside the range of
the fast sin/cos. float32 exp, log, tanh and atan2 are computed in float64 and rounded.

sin, cos: three-step Cody-Waite reduction with fused multiply-adds, x − k·(P1+P2+P3) for k = round(2x/π): the first
step is exact, the sum carries 160 bits of π/2, so the reduced argument is right to its last bit while k is exact;
then minimax polynomials. Within 2 ulp for |x| ≤ FAST_LIMIT; lanes beyond it take the C library's sin and cos, which are
right everywhere. A lane's result never depends on its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dalembert.compiler.backends.elementary import COS, FAST_LIMIT, HALF_PI, SIN

from .ir import Builder, Module

LOG = (  # log((1+s)/(1−s)) = 2s + s·R(s²)
    1.479819860511658591e-01,
    1.531383769920937332e-01,
    1.818357216161805012e-01,
    2.222219843214978396e-01,
    2.857142874366239149e-01,
    3.999999999940941908e-01,
    6.666666666666735130e-01,
)
ATAN_P = (
    -8.750608600031904122785e-01,
    -1.615753718733365076637e01,
    -7.500855792314704667340e01,
    -1.228866684490136173410e02,
    -6.485021904942025371773e01,
)
ATAN_Q = (
    1.0,
    2.485846490142306297962e01,
    1.650270098316988542046e02,
    4.328810604912902668951e02,
    4.853903996359136964868e02,
    1.945506571482613964425e02,
)
TANH_P = (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3)
TANH_Q = (1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3)
LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)  # high part has 32 bits: k·high is exact


def sincos(module: Module, element: str, width: int) -> str:
    """Name of the function (x, out): writes sin x to out and cos x to the value after it."""
    b = Builder(module, element, width)
    name = f"sincos.{b.suffix}"
    if name in module.parts:
        return name
    far = b.any(b.compare("ogt", b.intrinsic("fabs", "%x"), b.const(FAST_LIMIT[element])))
    k = b.intrinsic("rint", b.mul("%x", b.const(2 / math.pi)))
    r = "%x"
    for piece in HALF_PI[element]:
        r = b.intrinsic("fma", k, b.const(-piece), r)  # rounded once on every processor, or the reduction fails
    square = b.mul(r, r)
    s = b.fma(b.mul(b.horner(square, SIN[element]), square), r, r)
    c = b.horner(square, COS[element])
    quadrant = b.to_integer(k)
    odd = b.op(f"icmp ne {b.int_type} {b.integer('and', quadrant, b.int_const(1))}, {b.int_const(0)}")

    def signed(value: str, n: str) -> str:
        bit = b.integer("shl", b.integer("and", n, b.int_const(2)), b.int_const(b.bits - 2))
        return b.from_bits(b.integer("xor", b.to_bits(value), bit))

    b.store(signed(b.select(odd, c, s), quadrant), "%out", 0)
    b.store(signed(b.select(odd, s, c), b.integer("add", quadrant, b.int_const(1))), "%out", 1)
    b.do(f"br i1 {far}, label %library, label %done, !prof !0")
    b.label("library")
    b.call(_library_sincos(module, element, width), "void", (b.type, "%x"), ("ptr", "%out"))
    b.do("br label %done")
    b.label("done")
    b.do("ret void")
    module.parts["!0"] = '!0 = !{!"branch_weights", i32 1, i32 100000}'
    module.define(b, f"define internal void @{name}({b.type} %x, ptr %out)")
    return name


def _library_sincos(module: Module, element: str, width: int) -> str:
    """Replace the lanes beyond FAST_LIMIT by the C library's results, computed in float64."""
    b = Builder(module, element, width)
    name = f"library.sincos.{b.suffix}"
    far = b.compare("ogt", b.intrinsic("fabs", "%x"), b.const(FAST_LIMIT[element]))
    for which, slot in (("sin", 0), ("cos", 1)):
        result = "poison"
        for lane in range(width):
            x = "%x" if width == 1 else b.op(f"extractelement {b.type} %x, i32 {lane}")
            x = b.op(f"fpext float {x} to double") if element == "float" else x
            y = b.call(which, "double", ("double", x), declare=True)
            y = b.op(f"fptrunc double {y} to float") if element == "float" else y
            result = y if width == 1 else b.op(f"insertelement {b.type} {result}, {element} {y}, i32 {lane}")
        b.store(b.select(far, result, b.load("%out", slot)), "%out", slot)
    b.do("ret void")
    module.define(b, f"define internal void @{name}({b.type} %x, ptr %out) cold noinline")
    return name


def function(module: Module, op: str, element: str, width: int) -> str:
    """Name of the LLVM function for exp, log, tanh (x) or atan2 (y, x)."""
    b = Builder(module, "double", width)
    outer = Builder(module, element, width)
    name = f"{op}.{outer.suffix}"
    if name in module.parts:
        return name
    arguments = ["%y", "%x"] if op == "atan2" else ["%x"]
    signature = ", ".join(f"{outer.type} {a}" for a in arguments)
    if element == "double":
        b.do(f"ret {b.type} {BODIES[op](b, *arguments)}")
        module.define(b, f"define internal {b.type} @{name}({signature}) noinline")
        return name
    wide = function(module, op, "double", width)
    extended = [(b.type, outer.op(f"fpext {outer.type} {a} to {b.type}")) for a in arguments]
    result = outer.op(f"fptrunc {b.type} {outer.call(wide, b.type, *extended)} to {outer.type}")
    outer.do(f"ret {outer.type} {result}")
    module.define(
        outer, f"define internal {outer.type} @{name}({', '.join(f'{outer.type} {a}' for a in arguments)}) noinline"
    )
    return name


def _exp(b: Builder, x: str) -> str:
    """2ᵏ·eʳ with |r| ≤ ln 2 / 2; the scaling is done in two steps so that subnormal results round once."""
    bounded = b.intrinsic("maximum", b.intrinsic("minimum", x, b.const(710.0)), b.const(-746.0))
    k = b.intrinsic("rint", b.mul(bounded, b.const(1 / math.log(2))))
    r = b.fma(k, b.const(-LN2[1]), b.fma(k, b.const(-LN2[0]), bounded))
    y = b.horner(r, [1 / math.factorial(n) for n in range(13, -1, -1)])
    n = b.to_integer(b.select(b.compare("uno", k, k), b.const(0.0), k))
    half = b.integer("ashr", n, b.int_const(1))
    for exponent in (half, b.integer("sub", n, half)):
        power = b.from_bits(b.integer("shl", b.integer("add", exponent, b.int_const(1023)), b.int_const(52)))
        y = b.mul(y, power)
    return y


def _log(b: Builder, x: str) -> str:
    """x = 2ᵏ·m with m near 1; log m from s = f/(2+f), f = m − 1."""
    tiny = b.compare("olt", x, b.const(2.2250738585072014e-308))
    scaled = b.select(tiny, b.mul(x, b.const(2.0**54)), x)
    offset = b.select(tiny, b.const(54.0), b.const(0.0))
    bits = b.to_bits(scaled)
    root = 0x3FE6A09E667F3BCD  # bits of sqrt(1/2): m lies in [sqrt(1/2), sqrt(2))
    shifted = b.integer("sub", bits, b.int_const(root))
    k = b.sub(b.to_float(b.integer("ashr", shifted, b.int_const(52))), offset)
    mantissa = b.integer("and", shifted, b.int_const((1 << 52) - 1))
    f = b.sub(b.from_bits(b.integer("add", mantissa, b.int_const(root))), b.const(1.0))
    s = b.div(f, b.add(f, b.const(2.0)))
    z = b.mul(s, s)
    half = b.mul(b.mul(f, f), b.const(0.5))
    r = b.mul(z, b.horner(z, LOG))
    low = b.fma(s, b.add(half, r), b.mul(k, b.const(LN2[1])))
    y = b.fma(k, b.const(LN2[0]), b.sub(f, b.sub(half, low)))
    y = b.select(b.compare("oeq", x, b.const(0.0)), b.const(-math.inf), y)
    y = b.select(b.compare("olt", x, b.const(0.0)), b.const(math.nan), y)
    unusual = b.compare("ueq", x, b.const(math.inf))  # inf stays inf, NaN stays NaN
    return b.select(unusual, x, y)


def _tanh(b: Builder, x: str) -> str:
    """A rational function near zero, 1 − 2/(e²ˣ + 1) elsewhere."""
    size = b.intrinsic("fabs", x)
    z = b.mul(x, x)
    small = b.fma(b.mul(x, z), b.div(b.horner(z, TANH_P), b.horner(z, TANH_Q)), x)
    e = b.call(function(b.module, "exp", "double", b.width), b.type, (b.type, b.add(size, size)))
    large = b.sub(b.const(1.0), b.div(b.const(2.0), b.add(e, b.const(1.0))))
    return b.select(b.compare("olt", size, b.const(0.625)), small, b.intrinsic("copysign", large, x))


def _atan2(b: Builder, y: str, x: str) -> str:
    """atan of the smaller over the larger, then moved to the right octant; signed zeros and infinities as in C."""
    ax, ay = b.intrinsic("fabs", x), b.intrinsic("fabs", y)
    steep = b.compare("ogt", ay, ax)
    big, small = b.select(steep, ay, ax), b.select(steep, ax, ay)
    both_infinite = b.compare("oeq", small, b.const(math.inf))
    zero = b.compare("oeq", big, b.const(0.0))
    t = b.div(small, b.select(zero, b.const(1.0), big))
    t = b.select(both_infinite, b.const(1.0), t)
    middle = b.compare("ogt", t, b.const(0.4142135623730951))
    u = b.select(middle, b.div(b.sub(t, b.const(1.0)), b.add(t, b.const(1.0))), t)
    z = b.mul(u, u)
    a = b.fma(b.mul(u, z), b.div(b.horner(z, ATAN_P), b.horner(z, ATAN_Q)), u)
    a = b.select(middle, b.add(b.add(a, b.const(3.061616997868383e-17)), b.const(math.pi / 4)), a)
    a = b.select(steep, b.add(b.sub(b.const(math.pi / 2), a), b.const(6.123233995736766e-17)), a)
    negative = b.op(f"icmp slt {b.int_type} {b.to_bits(x)}, {b.int_const(0)}")
    a = b.select(negative, b.add(b.sub(b.const(math.pi), a), b.const(1.2246467991473532e-16)), a)
    nan = b.compare("uno", x, y)
    return b.select(nan, b.add(x, y), b.intrinsic("copysign", a, y))


BODIES: dict[str, Callable[..., str]] = {"exp": _exp, "log": _log, "tanh": _tanh, "atan2": _atan2}
