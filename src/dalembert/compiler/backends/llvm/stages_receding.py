"""A receding horizon as LLVM IR: for each of many motions, its plan is loaded, improved and stored, in one call."""

from __future__ import annotations

from .stages_calls import SUMS_AT

KERNEL = 4  # pointers of a bound kernel: code, inputs, strides, outputs
SLOTS = (
    *("stages", "there", "back"),  # tables of `direction` and of both `evaluate`
    *("length", "is_first", "barrier", "largest"),  # cells; `largest` (2,) is null without constraints
    *("reach of nodes", "reach of end"),  # (rows, 2), null where there are no constraints
    *("widths", "memory in", "memory out", "requests", "replies"),  # numbers of rows; lists of pieces
)
KERNELS = ("measure", "rates of nodes", "rates of end", "control")  # each for both trajectories, behind the slots


AT = {name: k for k, name in enumerate(SLOTS)}
KERNEL_AT = {name: len(SLOTS) + 2 * KERNEL * k for k, name in enumerate(KERNELS)}


def recede() -> str:
    """`recede` and what it is made of. See `execute.receding.RecedingSteps` for the tables."""
    return _copies() + _kernel() + _reached() + _lengths() + _recede()


def _loads(*names: str) -> str:
    """Slots of the table as values: "memory in" is %memory_in."""
    lines = []
    for name in names:
        word = name.replace(" ", "_")
        lines.append(
            f"  %{word}_at = getelementptr ptr, ptr %table, i64 {AT[name]}\n  %{word} = load ptr, ptr %{word}_at"
        )
    return "\n".join(lines)


def _recede() -> str:
    slots = ("stages", "there", "back", "is_first", "widths", "memory in", "memory out", "requests", "replies")
    return f"""
define void @recede(ptr %table, ptr %memory_rows, ptr %request_rows, ptr %reply_rows, i64 %begin, i64 %end, i64 %count,
                    i64 %iterations, double %weight, double %boundary) nounwind {{
entry:
{_loads(*slots)}
  %kept_width = load i64, ptr %widths
  %request_width_at = getelementptr i64, ptr %widths, i64 1
  %request_width = load i64, ptr %request_width_at
  %reply_width_at = getelementptr i64, ptr %widths, i64 2
  %reply_width = load i64, ptr %reply_width_at
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %motion, label %done
motion:
  %k = phi i64 [ %begin, %entry ], [ %next_motion, %stored ]
  %kept_place = mul i64 %k, %kept_width
  %kept = getelementptr double, ptr %memory_rows, i64 %kept_place
  %request_place = mul i64 %k, %request_width
  %request = getelementptr double, ptr %request_rows, i64 %request_place
  %reply_place = mul i64 %k, %reply_width
  %reply = getelementptr double, ptr %reply_rows, i64 %reply_place
  call void @scatter(ptr %kept, ptr %memory_in)
  call void @scatter(ptr %request, ptr %requests)
  br label %iterate
iterate:
  %i = phi i64 [ 0, %motion ], [ %next, %iterate ]
  %from = phi i64 [ 0, %motion ], [ %side, %iterate ]
  %is_back = icmp ne i64 %from, 0
  %evaluation = select i1 %is_back, ptr %back, ptr %there
  %sums_at = getelementptr ptr, ptr %evaluation, i64 {SUMS_AT}
  %sums = load ptr, ptr %sums_at
  %status = call i64 @evaluate(ptr %evaluation, i64 %count)
  %side = xor i64 %from, 1
  %fresh = icmp eq i64 %i, 0
  %flag = select i1 %fresh, double 1.0, double 0.0
  store double %flag, ptr %is_first
  call void @kernel(ptr %table, i64 {KERNEL_AT["measure"]}, i64 %side, i64 1)
  call void @direction(ptr %stages, double 0.0, i64 %count)
  call void @lengths(ptr %table, ptr %sums, i64 %side, i64 %count, double %weight, double %boundary)
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, %iterations
  br i1 %again, label %iterate, label %stored
stored:
  call void @kernel(ptr %table, i64 {KERNEL_AT["control"]}, i64 %side, i64 1)
  call void @gather(ptr %kept, ptr %memory_out)
  call void @gather(ptr %reply, ptr %replies)
  %next_motion = add i64 %k, 1
  %more = icmp slt i64 %next_motion, %end
  br i1 %more, label %motion, label %done
done:
  ret void
}}
"""


def _lengths() -> str:
    """Directions of slacks and multipliers at a barrier, and how far both may go; nothing without constraints."""
    return f"""
define private void @lengths(ptr %table, ptr %sums, i64 %side, i64 %count, double %weight, double %boundary) nounwind {{
entry:
{_loads("length", "barrier", "largest", "reach of nodes", "reach of end")}
  %second = getelementptr double, ptr %largest, i64 1
  %dual = getelementptr double, ptr %length, i64 1
  %free = icmp eq ptr %largest, null
  br i1 %free, label %done, label %constrained
constrained:
  %cost = load double, ptr %sums
  %negative = fneg double %cost
  %sign = fcmp olt double %cost, 0.0
  %size = select i1 %sign, double %negative, double %cost
  %height = fmul double %size, %weight
  store double %height, ptr %barrier
  call void @kernel(ptr %table, i64 {KERNEL_AT["rates of nodes"]}, i64 %side, i64 %count)
  call void @kernel(ptr %table, i64 {KERNEL_AT["rates of end"]}, i64 %side, i64 1)
  store double 1.000000e-300, ptr %largest
  store double 1.000000e-300, ptr %second
  call void @reached(ptr %reach_of_nodes, i64 %count, ptr %largest)
  call void @reached(ptr %reach_of_end, i64 1, ptr %largest)
  %far0 = load double, ptr %largest
  %far1 = load double, ptr %second
  %way0 = fdiv double %boundary, %far0
  %way1 = fdiv double %boundary, %far1
  %short0 = fcmp olt double %way0, 1.0
  %short1 = fcmp olt double %way1, 1.0
  %length0 = select i1 %short0, double %way0, double 1.0
  %length1 = select i1 %short1, double %way1, double 1.0
  store double %length0, ptr %length
  store double %length1, ptr %dual
  br label %done
done:
  ret void
}}
"""


def _copies() -> str:
    """A row in memory to its pieces, and back. pieces: (address, numbers) of each; a null address ends them."""

    def copy(name: str, source: str, target: str) -> str:
        return f"""
define private void @{name}(ptr %row, ptr %pieces) nounwind {{
entry:
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %next, %copied ]
  %at = phi ptr [ %row, %entry ], [ %behind, %copied ]
  %place = mul i64 %k, 2
  %piece_at = getelementptr ptr, ptr %pieces, i64 %place
  %piece = load ptr, ptr %piece_at
  %count_at = getelementptr ptr, ptr %piece_at, i64 1
  %count = load i64, ptr %count_at
  %over = icmp eq ptr %piece, null
  br i1 %over, label %done, label %head
head:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %number, label %copied
number:
  %i = phi i64 [ 0, %head ], [ %j, %number ]
  %from = getelementptr double, ptr {source}, i64 %i
  %to = getelementptr double, ptr {target}, i64 %i
  %x = load double, ptr %from
  store double %x, ptr %to
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %count
  br i1 %more, label %number, label %copied
copied:
  %next = add i64 %k, 1
  %behind = getelementptr double, ptr %at, i64 %count
  br label %each
done:
  ret void
}}
"""

    return copy("scatter", "%at", "%piece") + copy("gather", "%piece", "%at")


def _kernel() -> str:
    """A bound kernel by its slot in the table and its trajectory; nothing where its code is null."""
    return f"""
define private void @kernel(ptr %table, i64 %slot, i64 %side, i64 %rows) nounwind {{
entry:
  %offset = mul i64 %side, {KERNEL}
  %place = add i64 %slot, %offset
  %code_at = getelementptr ptr, ptr %table, i64 %place
  %inputs_at = getelementptr ptr, ptr %code_at, i64 1
  %strides_at = getelementptr ptr, ptr %code_at, i64 2
  %outputs_at = getelementptr ptr, ptr %code_at, i64 3
  %code = load ptr, ptr %code_at
  %inputs = load ptr, ptr %inputs_at
  %strides = load ptr, ptr %strides_at
  %outputs = load ptr, ptr %outputs_at
  %absent = icmp eq ptr %code, null
  br i1 %absent, label %done, label %run
run:
  %status = call i64 %code(ptr %inputs, ptr %strides, ptr %outputs, i64 0, i64 %rows, i64 1)
  br label %done
done:
  ret void
}}
"""


def _reached() -> str:
    """The largest of both columns of rows (count, 2), or what is in `largest` if that is larger."""
    return """
define private void @reached(ptr %rows, i64 %count, ptr %largest) nounwind {
entry:
  %second = getelementptr double, ptr %largest, i64 1
  %first0 = load double, ptr %largest
  %first1 = load double, ptr %second
  %absent = icmp eq ptr %rows, null
  br i1 %absent, label %done, label %each
each:
  %k = phi i64 [ 0, %entry ], [ %next, %each ]
  %m0 = phi double [ %first0, %entry ], [ %n0, %each ]
  %m1 = phi double [ %first1, %entry ], [ %n1, %each ]
  %place = mul i64 %k, 2
  %at0 = getelementptr double, ptr %rows, i64 %place
  %at1 = getelementptr double, ptr %at0, i64 1
  %x0 = load double, ptr %at0
  %x1 = load double, ptr %at1
  %higher0 = fcmp ogt double %x0, %m0
  %higher1 = fcmp ogt double %x1, %m1
  %n0 = select i1 %higher0, double %x0, double %m0
  %n1 = select i1 %higher1, double %x1, double %m1
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %each, label %finished
finished:
  store double %n0, ptr %largest
  store double %n1, ptr %second
  br label %done
done:
  ret void
}
"""
