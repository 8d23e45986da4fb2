"""Compiled callers of the stages: both directions in one call; kernels of all stages, and the sums they need."""

from __future__ import annotations


def direction() -> str:
    """Both ways in one call. table: quadratic, transition, end, value, gains, first, states, controls, result."""
    names = ("quadratic", "transition", "end", "value", "gains", "first", "states", "controls", "result")
    loads = "\n".join(
        f"  %p{k} = getelementptr ptr, ptr %table, i64 {k}\n  %{name} = load ptr, ptr %p{k}"
        for k, name in enumerate(names)
    )
    return f"""
define void @direction(ptr %table, double %damping, i64 %count) nounwind {{
{loads}
  call void @backward(ptr %quadratic, ptr %transition, ptr %end, ptr %value, ptr %gains, double %damping, i64 %count,
                      ptr %result)
  call void @forward(ptr %gains, ptr %transition, ptr %first, ptr %states, ptr %controls, i64 %count)
  ret void
}}
"""


def evaluate(measures: int) -> str:
    """All stages and the end; sums (measures,) of their measures, one row of which each has written.

    table: for stages and end each code, inputs, strides, outputs; measures of the stages, of the end.
    """
    loads = "\n".join(
        f"  %a{k} = getelementptr ptr, ptr %table, i64 {k}\n  %p{k} = load ptr, ptr %a{k}" for k in range(10)
    )
    each = range(measures)
    starts = "\n".join(
        f"  %e{k} = getelementptr double, ptr %p9, i64 {k}\n  %x{k} = load double, ptr %e{k}" for k in each
    )
    sums = "\n".join(f"  %s{k} = phi double [ %x{k}, %entry ], [ %t{k}, %each ]" for k in each)
    adds = "\n".join(
        f"  %q{k} = getelementptr double, ptr %row, i64 {k}\n  %y{k} = load double, ptr %q{k}\n"
        f"  %t{k} = fadd double %s{k}, %y{k}"
        for k in each
    )
    stores = "\n".join(
        f"  %o{k} = getelementptr double, ptr %sums, i64 {k}\n  store double %t{k}, ptr %o{k}" for k in each
    )
    return f"""
define i64 @evaluate(ptr %table, i64 %count, ptr %sums) nounwind {{
entry:
{loads}
  %f = call i64 %p0(ptr %p1, ptr %p2, ptr %p3, i64 0, i64 %count, i64 1)
  %g = call i64 %p4(ptr %p5, ptr %p6, ptr %p7, i64 0, i64 1, i64 1)
{starts}
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %next, %each ]
{sums}
  %place = mul i64 %k, {measures}
  %row = getelementptr double, ptr %p8, i64 %place
{adds}
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %each, label %done
done:
{stores}
  %status = or i64 %f, %g
  ret i64 %status
}}
"""
