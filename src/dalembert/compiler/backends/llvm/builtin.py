"""The code of all fast calls: from the arguments of a Python call to a kernel, and from its results back."""

from __future__ import annotations

from dalembert.compiler.backends.limits import LARGE_RESULT

from .arguments import Arguments
from .tables import (
    ALIGNED,
    DATA,
    DENSE,
    DIMENSIONS,
    DTYPE,
    FLAGS,
    MAX_DIMS,
    MAX_OUTPUTS,
    RANK,
    TUPLE_ITEMS,
    TYPE,
    WRITEABLE,
    EntryWords,
    VariantWords,
)

EXTERNAL = """
declare ptr @dalembert_array_new(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)
declare i32 @dalembert_set_base(ptr, ptr)
declare ptr @dalembert_allocate(ptr, i64)
declare ptr @dalembert_vectorcall(ptr, ptr, i64, ptr)
declare ptr @dalembert_float(double)
declare double @dalembert_integer(ptr)
declare ptr @dalembert_getitem(ptr, ptr)
declare void @dalembert_clear_error()
declare void @dalembert_incref(ptr)
declare void @dalembert_decref(ptr)
"""


def source() -> str:
    """IR of the builtin."""
    call = _Call()
    signature = "define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %keywords) nounwind"
    return f"{EXTERNAL}\n{signature} {{\n{call.body}\n}}\n"


class _Call(Arguments):
    """Writes the function `call`, in the order in which it runs."""

    def __init__(self) -> None:
        super().__init__()
        b = self.body
        self.outs, self.number = b.memory(f"[{MAX_OUTPUTS} x ptr]"), b.memory("double")
        self.dims, self.steps = b.memory("[8 x i64]"), b.memory("[8 x i64]")
        b.store("i64", self.count, self.dims)
        self.own_dims = b.at(self.dims, self.extra)
        base = self.memory_of_results()
        self.computed(base)
        self.result(base)
        b.mark("slow")
        b.line("call void @dalembert_clear_error()")  # of a choice that has no hash
        slow = b.item(self.entry, EntryWords.SLOW, "ptr")
        answer = b.call("ptr", "@dalembert_vectorcall", f"ptr {slow}", "ptr %args", "i64 %nargs", "ptr %keywords")
        b.line(f"ret ptr {answer}")

    def memory_of_results(self) -> str:
        """Where the kernel writes: the address of the object that has the memory, null for a number."""
        b = self.body
        base = b.variable("ptr", "null")
        outputs, numbers = b.item(self.variant, VariantWords.OUTPUTS), b.item(self.variant, VariantWords.NUMBERS)
        bytes = b.op("mul", b.op("mul", numbers, self.item), self.count)
        several, out = b.op("icmp ugt", outputs, 1), b.load("ptr", self.out)
        is_given = b.given(out)
        b.require(b.op("xor", b.all(several, is_given), "true", "i1"))
        with b.when(is_given):
            self._given_memory(out, bytes)
            b.line(f"call void @dalembert_incref(ptr {out})")
            b.store("ptr", out, base)
        with b.unless(is_given):
            b.require(b.op("icmp ult", bytes, LARGE_RESULT))  # Python has memory that was used before
            with b.when(several):
                kind = b.item(self.variant, VariantWords.KIND, "ptr")
                pack = b.call("ptr", "@dalembert_allocate", f"ptr {kind}", f"i64 {outputs}")
                b.leave(b.is_(pack, "null"), "ptr null")
                b.store("ptr", pack, base)
                items = b.at(pack, TUPLE_ITEMS, "i8")
                with b.each(outputs) as k:
                    b.store("ptr", self._new_array(k, pack), b.at(items, k, "ptr"))
            with b.unless(several):
                is_number = b.is_(self._rank("0"), 0, "i64")
                with b.when(is_number):
                    b.require(self.is_double)
                    b.store("ptr", self.number, self.outs)
                with b.unless(is_number):
                    b.store("ptr", self._new_array("0", None), base)
        return base

    def _rank(self, k: str) -> str:
        """Rank of output k, that of the batch included; its dimensions are put into `dims`."""
        b = self.body
        word = b.op("add", b.op("mul", k, 1 + MAX_DIMS), VariantWords.OUTPUT)
        dims = b.at(self.variant, b.op("add", word, 1))
        for axis in range(MAX_DIMS):
            b.store("i64", b.item(dims, axis), b.at(self.own_dims, axis))
        return b.op("add", b.item(self.variant, word), self.extra)

    def _new_array(self, k: str, pack: str | None) -> str:
        """A new array for output k; if there is no memory, the call ends, and with it the pack."""
        b = self.body
        array = self._array_of(self._rank(k), "null", "null", 0)
        self._without_memory(b.is_(array, "null"), *([pack] if pack else []))
        b.store("ptr", b.field(array, DATA), b.at(self.outs, k, "ptr"))
        return array

    def _array_of(self, rank: str, steps: str, data: str, flags: int) -> str:
        """A new array of the dimensions in `dims`, with memory of its own if data is null; or null."""
        b = self.body
        kind = f"ptr {self.array}", f"i32 {b.value(f'trunc i64 {rank} to i32')}", f"ptr {self.dims}"
        memory = f"i32 {self.type_number}", f"ptr {steps}", f"ptr {data}", "i32 0", f"i32 {flags}", "ptr null"
        return b.call("ptr", "@dalembert_array_new", *kind, *memory)

    def _without_memory(self, failed: str, *objects: str) -> None:
        b = self.body
        with b.when(failed, falls=False):
            for each in objects:
                b.line(f"call void @dalembert_decref(ptr {each})")
            b.line("ret ptr null")

    def _given_memory(self, out: str, bytes: str) -> None:
        """`out`, dense, writeable, apart from every input: other rows may need these, and Python if a check fails."""
        b = self.body
        b.require(b.is_(b.field(out, TYPE), self.array))
        b.require(b.is_(b.field(out, DTYPE), self.dtype))
        flags = DENSE | ALIGNED | WRITEABLE
        b.require(b.is_(b.op("and", b.field(out, FLAGS, "i32"), flags, "i32"), flags, "i32"))
        rank = self._rank("0")
        b.require(b.is_(b.value(f"zext i32 {b.field(out, RANK, 'i32')} to i64"), rank, "i64"))
        dimensions = b.field(out, DIMENSIONS)
        with b.each(rank) as k:
            b.require(b.is_(b.item(dimensions, k), b.item(self.dims, k), "i64"))
        data = b.field(out, DATA)
        end = b.at(data, bytes, "i8")
        with b.each(self.input_count) as k:
            before = b.op("icmp ule", b.item(self.ends, k, "ptr"), data, "ptr")
            after = b.op("icmp ule", end, b.item(self.ins, k, "ptr"), "ptr")
            b.require(b.any(before, after))
        b.store("ptr", data, self.outs)

    def computed(self, base: str) -> None:
        """Run the kernel; where a check fails, Python says which state and which joint."""
        b = self.body
        status = b.variable("i64", 0)
        with b.when(self.is_batch):
            x = b.call(
                "i64", self.kernel, f"ptr {self.ins}", f"ptr {self.strides}", f"ptr {self.outs}", "i64 0",
                f"i64 {self.count}", "i64 1",
            )  # fmt: skip
            b.store("i64", x, status)
        with b.unless(self.is_batch):
            b.store("i64", b.call("i64", self.kernel, f"ptr {self.ins}", f"ptr {self.outs}"), status)
        good = b.any(b.is_(b.load("i64", status), 0, "i64"), b.load("i1", self.unchecked))
        with b.unless(good):
            made = b.load("ptr", base)
            with b.when(b.given(made)):
                b.line(f"call void @dalembert_decref(ptr {made})")
            b.require("false")

    def result(self, base: str) -> None:
        """A number, the array or the tuple of arrays, or a tuple of views of the array."""
        b = self.body
        made = b.load("ptr", base)
        with b.when(b.is_(made, "null"), falls=False):
            x = b.load("double", self.number)
            b.line(f"ret ptr {b.call('ptr', '@dalembert_float', f'double {x}')}")
        views = b.item(self.variant, VariantWords.VIEWS)
        b.leave(b.is_(views, 0, "i64"), f"ptr {made}")
        kind = b.item(self.variant, VariantWords.KIND, "ptr")
        pack = b.call("ptr", "@dalembert_allocate", f"ptr {kind}", f"i64 {views}")
        self._without_memory(b.is_(pack, "null"), made)
        items, data = b.at(pack, TUPLE_ITEMS, "i8"), b.field(made, DATA)
        row = b.op("mul", b.item(self.variant, VariantWords.NUMBERS), self.item)
        b.store("i64", row, self.steps)
        own_steps = b.at(self.steps, self.extra)
        with b.each(views) as k:
            view = b.at(self.variant, b.op("add", b.op("mul", k, VariantWords.VIEW_WORDS), VariantWords.VIEW))
            for axis in range(MAX_DIMS):
                b.store("i64", b.item(view, 2 + axis), b.at(self.own_dims, axis))
                step = b.op("mul", b.item(view, 2 + MAX_DIMS + axis), self.item)
                b.store("i64", step, b.at(own_steps, axis))
            rank = b.op("add", b.item(view, 1), self.extra)
            begin = b.at(data, b.op("mul", b.load("i64", view), self.item), "i8")
            array = self._array_of(rank, self.steps, begin, ALIGNED | WRITEABLE)
            self._without_memory(b.is_(array, "null"), pack, made)
            b.store("ptr", array, b.at(items, k, "ptr"))
            b.line(f"call void @dalembert_incref(ptr {made})")
            b.call("i32", "@dalembert_set_base", f"ptr {array}", f"ptr {made}")
        b.line(f"call void @dalembert_decref(ptr {made})")
        b.line(f"ret ptr {pack}")
