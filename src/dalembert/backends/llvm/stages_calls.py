"""Compiled callers of the stages: both directions, all kernels with the sums of their measures, full Newton steps."""

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


# Full steps of Newton's method as long as each lowers the cost enough; returns how many.
#
# stages: the table of `direction`. there, back: tables of `evaluate`, from the first trajectory into the second and
# back, each followed by the address of its sums; side: 0 to begin with `there`. length (2,) is what they read.
# numbers: cost, in and out; the decrease that the last model promised, twice; the decrease that counts as none at
# least; 1.0 out if the model promised no more than that, or than `tolerance` times the cost. most: steps, ≥ 1.
NEWTON = """
define i64 @newton(ptr %stages, ptr %there, ptr %back, ptr %length, ptr %numbers, i64 %side, i64 %most, i64 %count,
                   double %tolerance, double %armijo, double %noise) nounwind {
entry:
  %dual = getelementptr double, ptr %length, i64 1
  store double 1.0, ptr %length
  store double 1.0, ptr %dual
  %result_at = getelementptr ptr, ptr %stages, i64 8
  %result = load ptr, ptr %result_at
  %least_at = getelementptr double, ptr %result, i64 1
  %gain_at = getelementptr double, ptr %numbers, i64 1
  %floor_at = getelementptr double, ptr %numbers, i64 2
  %settled_at = getelementptr double, ptr %numbers, i64 3
  %first = load double, ptr %numbers
  %floor = load double, ptr %floor_at
  store double 0.0, ptr %settled_at
  br label %direct
direct:
  %taken = phi i64 [ 0, %entry ], [ %more, %accepted ]
  %from = phi i64 [ %side, %entry ], [ %into, %accepted ]
  %cost = phi double [ %first, %entry ], [ %new, %accepted ]
  call void @direction(ptr %stages, double 0.0, i64 %count)
  %gain = load double, ptr %result
  %least = load double, ptr %least_at
  store double %gain, ptr %gain_at
  %convex = fcmp ogt double %least, 0.0
  %finite = fcmp olt double %gain, 0x7FF0000000000000
  %exists = and i1 %convex, %finite
  br i1 %exists, label %step, label %refused
step:
  %is_back = icmp ne i64 %from, 0
  %table = select i1 %is_back, ptr %back, ptr %there
  %sums_at = getelementptr ptr, ptr %table, i64 10
  %sums = load ptr, ptr %sums_at
  %status = call i64 @evaluate(ptr %table, i64 %count, ptr %sums)
  %new = load double, ptr %sums
  %negative = fneg double %cost
  %sign = fcmp olt double %cost, 0.0
  %size = select i1 %sign, double %negative, double %cost
  %fall = fmul double %armijo, %gain
  %rounding = fmul double %noise, %size
  %rise = fsub double %rounding, %fall
  %highest = fadd double %cost, %rise
  %falls = fcmp ole double %new, %highest
  br i1 %falls, label %accepted, label %refused
accepted:
  %more = add i64 %taken, 1
  %into = xor i64 %from, 1
  store double %new, ptr %numbers
  %part = fmul double %tolerance, %size
  %is_part = fcmp ogt double %part, %floor
  %enough = select i1 %is_part, double %part, double %floor
  %half = fmul double %gain, 5.000000e-01
  %goes_on = fcmp ogt double %half, %enough
  %left = icmp slt i64 %more, %most
  %flag = select i1 %goes_on, double 0.0, double 1.0
  store double %flag, ptr %settled_at
  %again = and i1 %goes_on, %left
  br i1 %again, label %direct, label %done
done:
  ret i64 %more
refused:
  ret i64 %taken
}
"""
