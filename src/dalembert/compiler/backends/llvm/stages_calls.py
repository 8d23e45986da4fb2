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


SUMS_AT = 2  # where the table of `evaluate` has the address of its sums


def evaluate(measures: int) -> str:
    """All stages and the end; sums (measures,) of their measures, one row of which each has written.

    table: measures of the stages, of the end, sums; then for each kernel its code, inputs, strides, outputs and number
    of rows, and a null behind the last.
    """
    each = range(measures)
    starts = "\n".join(
        f"  %e{k} = getelementptr double, ptr %at_end, i64 {k}\n  %x{k} = load double, ptr %e{k}" for k in each
    )
    sums = "\n".join(f"  %s{k} = phi double [ %x{k}, %measured ], [ %t{k}, %each ]" for k in each)
    adds = "\n".join(
        f"  %q{k} = getelementptr double, ptr %row, i64 {k}\n  %y{k} = load double, ptr %q{k}\n"
        f"  %t{k} = fadd double %s{k}, %y{k}"
        for k in each
    )
    stores = "\n".join(
        f"  %o{k} = getelementptr double, ptr %sums, i64 {k}\n  store double %t{k}, ptr %o{k}" for k in each
    )
    return f"""
define i64 @evaluate(ptr %table, i64 %count) nounwind {{
entry:
  %end_slot = getelementptr ptr, ptr %table, i64 1
  %sums_slot = getelementptr ptr, ptr %table, i64 {SUMS_AT}
  %first_kernel = getelementptr ptr, ptr %table, i64 {SUMS_AT + 1}
  %at_stages = load ptr, ptr %table
  %at_end = load ptr, ptr %end_slot
  %sums = load ptr, ptr %sums_slot
  br label %kernel
kernel:
  %at = phi ptr [ %first_kernel, %entry ], [ %next_kernel, %run ]
  %status = phi i64 [ 0, %entry ], [ %statuses, %run ]
  %code = load ptr, ptr %at
  %over = icmp eq ptr %code, null
  br i1 %over, label %measured, label %run
run:
  %inputs_at = getelementptr ptr, ptr %at, i64 1
  %strides_at = getelementptr ptr, ptr %at, i64 2
  %outputs_at = getelementptr ptr, ptr %at, i64 3
  %rows_at = getelementptr ptr, ptr %at, i64 4
  %inputs = load ptr, ptr %inputs_at
  %strides = load ptr, ptr %strides_at
  %outputs = load ptr, ptr %outputs_at
  %rows = load i64, ptr %rows_at
  %one = call i64 %code(ptr %inputs, ptr %strides, ptr %outputs, i64 0, i64 %rows, i64 1)
  %statuses = or i64 %status, %one
  %next_kernel = getelementptr ptr, ptr %at, i64 5
  br label %kernel
measured:
{starts}
  br label %each
each:
  %k = phi i64 [ 0, %measured ], [ %next, %each ]
{sums}
  %place = mul i64 %k, {measures}
  %row = getelementptr double, ptr %at_stages, i64 %place
{adds}
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %each, label %done
done:
{stores}
  ret i64 %status
}}
"""


# Full steps of Newton's method as long as each lowers the cost enough; returns how many.
#
# table: that of `direction`; those of `evaluate` from the first trajectory into the second and back; those of the last
# evaluation, without slopes, there and back; length (2,), which all of them read; numbers (7,): cost, the decrease that
# the last model promised, twice, the least decrease that counts, 1.0 if the model promised no more than that, or than
# `tolerance` times the cost; parts of the promised decrease that must come true, of the cost that rounding may add, and
# of the first cost, or of 1, below which costs count as none. most: steps, ≥ 1. side: the trajectory to begin from;
# below 0 the models of the first one are evaluated before, into the second.
NEWTON = f"""
define i64 @newton(ptr %table, i64 %side, i64 %most, i64 %count, double %tolerance) nounwind {{
entry:
  %length_at = getelementptr ptr, ptr %table, i64 5
  %numbers_at = getelementptr ptr, ptr %table, i64 6
  %stages = load ptr, ptr %table
  %length = load ptr, ptr %length_at
  %numbers = load ptr, ptr %numbers_at
  %dual = getelementptr double, ptr %length, i64 1
  %result_at = getelementptr ptr, ptr %stages, i64 8
  %result = load ptr, ptr %result_at
  %least_at = getelementptr double, ptr %result, i64 1
  %gain_at = getelementptr double, ptr %numbers, i64 1
  %floor_at = getelementptr double, ptr %numbers, i64 2
  %settled_at = getelementptr double, ptr %numbers, i64 3
  %armijo_at = getelementptr double, ptr %numbers, i64 4
  %noise_at = getelementptr double, ptr %numbers, i64 5
  %nothing_at = getelementptr double, ptr %numbers, i64 6
  %armijo = load double, ptr %armijo_at
  %noise = load double, ptr %noise_at
  store double 0.0, ptr %settled_at
  %is_new = icmp slt i64 %side, 0
  br i1 %is_new, label %begin, label %prepared
begin:
  store double 0.0, ptr %length
  store double 0.0, ptr %dual
  %begin_at = getelementptr ptr, ptr %table, i64 1
  %begin_table = load ptr, ptr %begin_at
  %begin_status = call i64 @evaluate(ptr %begin_table, i64 %count)
  %begin_sums_at = getelementptr ptr, ptr %begin_table, i64 {SUMS_AT}
  %begin_sums = load ptr, ptr %begin_sums_at
  %begin_cost = load double, ptr %begin_sums
  store double %begin_cost, ptr %numbers
  %begin_size = call double @llvm.fabs.f64(double %begin_cost)
  %one_or_size = call double @llvm.maxnum.f64(double %begin_size, double 1.0)
  %nothing = load double, ptr %nothing_at
  %none = fmul double %nothing, %one_or_size
  %begin_floor = fmul double %tolerance, %none
  store double %begin_floor, ptr %floor_at
  %known = fcmp olt double %begin_size, 0x7FF0000000000000
  br i1 %known, label %prepared, label %lost
lost:
  ret i64 0
prepared:
  %start = phi i64 [ %side, %entry ], [ 1, %begin ]
  store double 1.0, ptr %length
  store double 1.0, ptr %dual
  %first = load double, ptr %numbers
  %floor = load double, ptr %floor_at
  br label %direct
direct:
  %taken = phi i64 [ 0, %prepared ], [ %more, %accepted ]
  %from = phi i64 [ %start, %prepared ], [ %into, %accepted ]
  %cost = phi double [ %first, %prepared ], [ %new, %accepted ]
  call void @direction(ptr %stages, double 0.0, i64 %count)
  %gain = load double, ptr %result
  %least = load double, ptr %least_at
  store double %gain, ptr %gain_at
  %convex = fcmp ogt double %least, 0.0
  %finite = fcmp olt double %gain, 0x7FF0000000000000
  %exists = and i1 %convex, %finite
  br i1 %exists, label %step, label %refused
step:
  %size = call double @llvm.fabs.f64(double %cost)
  %part = fmul double %tolerance, %size
  %is_part = fcmp ogt double %part, %floor
  %enough = select i1 %is_part, double %part, double %floor
  %half = fmul double %gain, 5.000000e-01
  %goes_on = fcmp ogt double %half, %enough
  %flag = select i1 %goes_on, double 0.0, double 1.0
  %first_table = select i1 %goes_on, i64 1, i64 3
  %chosen = add i64 %first_table, %from
  %evaluation_at = getelementptr ptr, ptr %table, i64 %chosen
  %evaluation = load ptr, ptr %evaluation_at
  %status = call i64 @evaluate(ptr %evaluation, i64 %count)
  %sums_at = getelementptr ptr, ptr %evaluation, i64 {SUMS_AT}
  %sums = load ptr, ptr %sums_at
  %new = load double, ptr %sums
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
  store double %flag, ptr %settled_at
  %left = icmp slt i64 %more, %most
  %again = and i1 %goes_on, %left
  br i1 %again, label %direct, label %done
done:
  ret i64 %more
refused:
  ret i64 %taken
}}
declare double @llvm.fabs.f64(double)
declare double @llvm.maxnum.f64(double, double)
"""
