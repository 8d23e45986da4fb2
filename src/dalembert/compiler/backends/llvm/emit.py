"""Kernels as LLVM IR: the one-state kernel and the SIMD batch kernel of a traced function or loop.

    i64 one(ptr inputs, ptr outputs)
    i64 batch(ptr inputs, ptr strides, ptr outputs, i64 begin, i64 end, i64 passes)

`inputs` and `outputs` are arrays of pointers; `strides` has the distance in bytes between the rows of each input (0
repeats one row); outputs are dense. A loop makes `passes` ≥ 1 passes; a row of one of its sequences or records is
(passes, size). The result is a status: bit 0, an input is not finite; bit 1, a guard failed. The inputs of a group of
states are copied before anything of it is stored.

    void step_of_loop(ptr memory)

is the step of a loop, apart from the kernel that repeats it: loops over one step have it in common.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import groupby
from math import nan

from dalembert.compiler.graph import Function, Loop, Output

from .compounds import Product
from .ir import Builder, Module
from .layout import Layout
from .parts import call_parts, is_zero, store_leaves, write_parts
from .plan import SlotPlan
from .steps import Looped
from .target import STEP
from .tiles import CACHED, copy_runs, copy_state, each_block, read_rows, settle, write_rows

GUARD_FAILED = 2  # bit of the status; bit 0: an input is not finite
# Up to so many steps, groups of states that a batch kernel computes part by part: code that the processor's first cache
# does not hold is then read once for all of them.
GROUPS, MOST = ((4000, 1), (30_000, 2)), 4
STACK_LIMIT = 65536  # bytes of kernel memory taken from the stack; more comes from malloc


def one_kernel(function: Function, element: str, width: int) -> Module:
    """IR of the kernel for one state; `width` lanes serve its transcendentals."""
    module, plan = Module(), SlotPlan(function, group=width, keep_outputs=False)
    function, layout = plan.function, Layout.of(plan)
    parts = write_parts(module, plan, element, 1, scatter=True)
    b = Builder(module, element, 1)
    memory, block = _allocate(b, layout)
    not_finite = _copy_inputs(b, layout, memory)
    outputs = [b.op(f"load ptr, ptr {b.address('%outputs', 8 * k)}") for k in range(len(function.outputs))]
    for pointer, output in zip(outputs, function.outputs, strict=True):
        if any(is_zero(node) for node in output.nodes):
            size = len(output.nodes) * b.size
            b.do(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {size}, i1 false)")
            module.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
    call_parts(b, plan, parts, memory)
    for k, (pointer, output) in enumerate(zip(outputs, function.outputs, strict=True)):
        store_leaves(b, plan, memory, pointer, output.nodes, f"leaves{k}")
    status = _status(b, layout, memory, not_finite)
    _release(b, block)
    b.do(f"ret i64 {status}")
    module.define(b, "define i64 @one(ptr %inputs, ptr %outputs)")
    plan.close()
    return module


def step_of_loop(step: Function, element: str, width: int, vector: int) -> tuple[Layout, Module]:
    """The memory in which a step of a loop is computed, and IR of the function that computes it there."""
    module = Module()
    plan = SlotPlan(step, group=vector if width == 1 else 1, keep_outputs=True)
    parts = write_parts(module, plan, element, width, scatter=False)
    b = Builder(module, element, width)
    call_parts(b, plan, parts, "%memory", outputs="null")
    b.do("ret void")
    module.define(b, f"define void @{STEP}(ptr %memory)")
    layout = Layout.of(plan)
    plan.close()
    return layout, module


def loop_kernel(loop: Loop, layout: Layout, element: str, width: int) -> Module:
    """IR of the batch kernel of a loop, whose step, with this layout, is defined elsewhere."""
    b = Builder(Module(), element, width)

    def compute(memory: str) -> None:
        b.call(STEP, "void", ("ptr", memory), declare=True)

    return _batch_kernel(b, loop, layout, compute)


def batch_kernel(function: Function, element: str, width: int, vector: int = 1) -> Module:
    """IR of the kernel for rows `begin` to `end` of a batch, `width` states at a time.

    vector: where states come one at a time, the lanes that serve its transcendentals, as in `one_kernel`.
    """
    module = Module()
    plan = SlotPlan(function, group=vector if width == 1 else 1, keep_outputs=True)
    parts = write_parts(module, plan, element, width, scatter=False)
    b, layout = Builder(module, element, width), Layout.of(plan)
    steps = sum(len(part) for part in plan.parts if isinstance(part, list))
    plain = width > 1 and all(isinstance(part, list | Looped | Product) for part in plan.parts)
    groups = next((count for longest, count in GROUPS if steps <= longest), MOST) if plain else 1

    def compute(memory: str, count: str | None = None) -> None:
        call_parts(b, plan, parts, memory, groups=None if count is None else (count, plan.size * b.stride))

    _batch_kernel(b, plan.function, layout, compute, groups)
    plan.close()
    return module


def _batch_kernel(
    b: Builder, program: Function | Loop, layout: Layout, compute: Callable[..., None], groups: int = 1
) -> Module:
    """IR of a batch kernel. compute: writes what computes one pass in memory of this layout.

    groups: of rows, each with its memory, for which each part is computed before the next part; compute takes the first
    memory and the number of groups.
    """
    width, module = b.width, b.module
    memory, block = _allocate(b, layout, groups)
    b.do("br label %group")
    b.label("group")
    b.do("%i = phi i64 [ %begin, %entry ], [ %next, %after ]")
    b.do("%status = phi i64 [ 0, %entry ], [ %newstatus, %after ]")
    last = b.op("sub i64 %end, 1")

    def group_at(row: str, memory: str) -> _RowGroup:
        rows = [_minimum(b, b.op(f"add i64 {row}, {lane}"), last) for lane in range(width)]
        return _RowGroup(b, layout, compute, memory, row, rows)

    if groups == 1:
        status = group_at("%i", memory).write(program)
    else:
        assert isinstance(program, Function)
        status = _in_groups(b, program, layout, memory, groups, group_at, compute)
    b.do("br label %after")
    b.label("after")
    b.do(f"%newstatus = or i64 %status, {status}")
    b.do(f"%next = add i64 %i, {groups * width}")
    more = b.op("icmp slt i64 %next, %end")
    b.do(f"br i1 {more}, label %group, label %done")
    b.label("done")
    largest = max((len(places.slots) for places in layout.outputs.values()), default=0) * b.size
    settle(b, _far(b, b.op("mul i64 %end, %passes"), str(largest)))
    _release(b, block)
    b.do("ret i64 %newstatus")
    arguments = "ptr %inputs, ptr %strides, ptr %outputs, i64 %begin, i64 %end, i64 %passes"
    module.define(b, f"define i64 @batch({arguments})")
    return module


def _in_groups(
    b: Builder,
    function: Function,
    layout: Layout,
    memory: str,
    groups: int,
    group_at: Callable[[str, str], _RowGroup],
    compute: Callable[..., None],
) -> str:
    """Read all groups, compute each part for all of them, store; returns the status."""
    rest = b.op("sub i64 %end, %i")
    left = b.op(f"sdiv i64 {b.op(f'add i64 {rest}, {b.width - 1}')}, {b.width}")
    count = _minimum(b, left, str(groups))

    def chosen(index: str) -> _RowGroup:
        row = b.op(f"add i64 %i, {b.op(f'mul i64 {index}, {b.width}')}")
        return group_at(row, b.address(memory, b.op(f"mul i64 {index}, {layout.size * b.stride}")))

    def read(index: str, carried: list[str]) -> list[str]:
        group = chosen(index)
        return [reduce(b.add, [group.read(k) for k in range(len(function.inputs))], carried[0])]

    def store(index: str, carried: list[str]) -> list[str]:
        group, (failed,) = chosen(index), carried
        for k, output in enumerate(function.outputs):
            group.store(k, output, group.slots(output))
        for guard in layout.guards:
            broken = b.compare("oeq", b.load(group.memory, guard), b.const(0.0))
            failed = b.select(broken, b.const(1.0), failed)
        return [failed]

    checks = b.repeat("read", count, read, [b.const(0.0)])
    compute(memory, count)
    (failed,) = b.repeat("store", count, store, [b.const(0.0)])
    any_failed = b.any(b.compare("oeq", failed, b.const(1.0)))
    flag = b.op(f"select i1 {any_failed}, i64 {GUARD_FAILED}, i64 0")
    return b.op(f"or i64 {flag}, {b.op(f'zext i1 {_not_finite(b, checks)} to i64')}")


class _RowGroup:
    """Writes the code of a batch kernel for one group of rows."""

    def __init__(
        self, b: Builder, layout: Layout, compute: Callable[..., None], memory: str, row: str, rows: list[str]
    ) -> None:
        self.b, self.layout, self.compute, self.memory, self.row, self.rows = b, layout, compute, memory, row, rows

    def write(self, program: Function | Loop) -> str:
        """Read, compute, store; returns the status."""
        b, layout = self.b, self.layout
        if isinstance(program, Function):
            checks = [self.read(k) for k in range(len(program.inputs))]
            self.compute(self.memory)
            for k, output in enumerate(program.outputs):
                self.store(k, output, self.slots(output))
            return _status(b, layout, self.memory, _not_finite(b, checks))
        names = [i.name for i in program.step.inputs]
        check = b.const(0.0)
        for k, name in enumerate(names):
            if name not in program.sequence:
                check = b.add(check, self.read(k))

        def one_pass(index: str, carried: list[str]) -> list[str]:
            (check,) = carried
            chosen_rows = {name: self.row_numbers(name) for name in set(program.rows_by.values())}
            from_end = b.op(f"sub i64 {b.op('sub i64 %passes, 1')}, {index}")
            for name in program.sequence:
                row = from_end if name in program.backwards else index
                at = chosen_rows[program.rows_by[name]] if name in program.rows_by else [row] * b.width
                check = b.add(check, self.read(names.index(name), at))
            self.compute(self.memory)
            for guard in layout.guards:  # a failure is remembered like a number that is not finite
                failed = b.compare("oeq", b.load(self.memory, guard), b.const(0.0))
                check = b.add(check, b.select(failed, b.const(nan), b.const(0.0)))
            for k, (output, recorded) in enumerate(program.results()):
                if recorded:
                    self.store(k, output, self.slots(output), from_end if output.name in program.backwards else index)
            self.carry(program, index)
            return [check]

        def unsettled() -> str:
            (slot,) = self.slots(next(o for o in program.step.outputs if o.name == program.settled))
            return b.any(b.compare("oeq", b.load(self.memory, slot), b.const(0.0)))

        again = unsettled if program.settled else None
        (check,) = b.repeat("pass", "%passes", one_pass, [check], again)
        becomes = dict(program.carry)
        for k, (output, recorded) in enumerate(program.results()):
            if not recorded:  # it has become an input
                base = layout.bases[becomes[output.name]]
                self.store(k, output, list(range(base, base + len(output.nodes))))
        return _status(b, layout, self.memory, _not_finite(b, [check]))

    def slots(self, output: Output) -> list[int]:
        return self.layout.outputs[output.name].slots

    def row_numbers(self, name: str) -> list[str]:
        """The number in an input, as i64 for each lane."""
        b = self.b
        x = b.load(self.memory, self.layout.bases[name])
        each = [x] if b.width == 1 else [b.op(f"extractelement {b.type} {x}, i32 {k}") for k in range(b.width)]
        return [b.op(f"fptosi {b.element} {number} to i64") for number in each]

    def read(self, k: int, at: list[str] | None = None) -> str:
        """Copy an input's rows into memory (of a sequence, rows `at` of the lanes); 0 where all is finite."""
        b, each = self.b, self.layout.inputs[k]
        base = b.op(f"load ptr, ptr {b.address('%inputs', 8 * k)}")
        stride = b.op(f"load i64, ptr {b.address('%strides', 8 * k)}")
        pointers = [b.address(base, b.op(f"mul i64 {row}, {stride}")) for row in self.rows]
        if at is not None:
            pointers = [
                b.address(p, b.op(f"mul i64 {k}, {each.size * b.size}")) for p, k in zip(pointers, at, strict=True)
            ]
        return read_rows(b, pointers, each.size, self.memory, self.layout.bases[each.name])

    def store(self, k: int, output: Output, slots: list[int], index: str | None = None) -> None:
        """Copy an output from its slots into its rows (of a record, the row of pass `index`)."""
        b = self.b
        base = b.op(f"load ptr, ptr {b.address('%outputs', 8 * k)}")
        row_bytes = str(len(output.nodes) * b.size)
        if index is not None:
            base = b.address(base, b.op(f"mul i64 {index}, {row_bytes}"))
            row_bytes = b.op(f"mul i64 %passes, {row_bytes}")
        pointers = [b.address(base, b.op(f"mul i64 {row}, {row_bytes}")) for row in self.rows]
        if b.width == 1:
            copy_runs(b, [(slot, k) for k, slot in enumerate(slots)], self.memory, pointers[0], 4, f"slots{k}")
            return
        zero = self.layout.outputs[output.name].zero
        write_rows(b, pointers, slots, zero, self.memory, f"slots{k}", _far(b, self.row, row_bytes))

    def carry(self, loop: Loop, index: str) -> None:
        """Copy the carried outputs into the inputs they become, all read before any is written.

        What no step reads is copied in the last pass alone.
        """
        b, layout = self.b, self.layout
        moves: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        for name, taken in loop.carry:
            for j, slot in enumerate(layout.outputs[name].slots):
                wanted = (taken, j) in layout.read or loop.settled is not None
                moves[wanted].append((slot, layout.bases[taken] + j))
        if moves[False]:
            last = b.op(f"icmp eq i64 {index}, {b.op('sub i64 %passes, 1')}")
            b.branch(last, "last", lambda: copy_state(b, moves[False], self.memory, layout.group, "last"))
        copy_state(b, moves[True], self.memory, layout.group, "carry")


def _far(b: Builder, row: str, row_bytes: str) -> str:
    """i1: whether a row is far into an output."""
    return b.op(f"icmp ugt i64 {b.op(f'mul i64 {row}, {row_bytes}')}, {CACHED}")


def _minimum(b: Builder, x: str, y: str) -> str:
    return b.op(f"select i1 {b.op(f'icmp slt i64 {x}, {y}')}, i64 {x}, i64 {y}")


# ---- kernel memory


def _allocate(b: Builder, layout: Layout, groups: int = 1) -> tuple[str, str | None]:
    """Address of an aligned array of values, with what is stored there from the begin, and the block to free (None if
    it is on the stack)."""
    size, block = groups * layout.size * b.stride + 64, None
    if size <= STACK_LIMIT:
        memory = b.op(f"alloca i8, i64 {size}, align 64")
    else:
        block = b.call("malloc", "ptr", ("i64", str(size)), declare=True)
        start = b.op(f"add i64 {b.op(f'ptrtoint ptr {block} to i64')}, 63")
        memory = b.op(f"inttoptr i64 {b.op(f'and i64 {start}, -64')} to ptr")
    for (base, lanes), numbers in groupby(layout.stored, lambda each: each[:2]):
        wide = b.wide(lanes) if lanes > 1 else b
        places = [b.address(memory, (base + k * layout.size) * b.stride) for k in range(groups)]
        for each in numbers:
            for place in places:
                wide.store(wide.const(each.value), place, each.slot)
    return memory, block


def _release(b: Builder, block: str | None) -> None:
    if block:
        b.call("free", "void", ("ptr", block), declare=True)


def _copy_inputs(b: Builder, layout: Layout, memory: str) -> str:
    """Copy the inputs of one state into memory; returns i1: some number is not finite."""
    bad = "false"
    for k, i in enumerate(layout.inputs):
        pointer = b.op(f"load ptr, ptr {b.address('%inputs', 8 * k)}")
        target = b.address(memory, layout.bases[i.name] * b.size)
        wide = b.wide(4 if i.size >= 4 else 1)

        def copy(start: str | int, wide: Builder = wide, pointer: str = pointer, target: str = target) -> str:
            x = b.op(f"load {wide.type}, ptr {b.address(pointer, start)}, align {b.size}")
            b.do(f"store {wide.type} {x}, ptr {b.address(target, start)}, align {b.size}")
            return wide.mul(x, wide.const(0.0))

        checks = each_block(wide, i.size, copy, f"input{k}")
        bad = b.op(f"or i1 {bad}, {_not_finite(wide, checks)}")
    return bad


def _not_finite(b: Builder, zeros: list[str]) -> str:
    """i1: one of the products 0·x is not zero."""
    while len(zeros) > 1:  # pairwise, for short chains
        pairs = [b.add(x, y) for x, y in zip(zeros[::2], zeros[1::2], strict=False)]
        zeros = pairs + zeros[len(pairs) * 2 :]
    return b.any(b.compare("uno", zeros[0], zeros[0])) if zeros else "false"


def _status(b: Builder, layout: Layout, memory: str, not_finite: str) -> str:
    """i64 status word of this pass."""
    failed = "false"
    for guard in layout.guards:
        broken = b.any(b.compare("oeq", b.load(memory, guard), b.const(0.0)))
        failed = b.op(f"or i1 {failed}, {broken}")
    flag = b.op(f"select i1 {failed}, i64 {GUARD_FAILED}, i64 0")
    return b.op(f"or i64 {flag}, {b.op(f'zext i1 {not_finite} to i64')}")
