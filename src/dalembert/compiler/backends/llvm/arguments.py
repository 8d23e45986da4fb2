"""The first half of the code of fast calls: from the arguments of a Python call to the inputs of a kernel.

It reads Python's and NumPy's objects at known offsets, and the words of two tables (`tables`). What it does not take
goes to the label "slow".
"""

from __future__ import annotations

from dalembert.compiler.backends.signature import Role

from .tables import (
    ALIGNED,
    DATA,
    DIMENSIONS,
    DTYPE,
    FLAGS,
    LIST_ITEMS,
    MAX_COPIED,
    MAX_INPUTS,
    MAX_PARAMETERS,
    MAX_RECORDS,
    NUMBER,
    RANK,
    SIZE,
    STRIDES,
    TUPLE_ITEMS,
    TYPE,
    VECTORS,
    EntryWords,
    NodeWords,
    Records,
    VariantWords,
)
from .text import CallText


class Arguments:
    """Writes the code in the order in which it runs."""

    def __init__(self) -> None:
        self.body = b = CallText()
        self.entry = b.field("%self", DATA)
        self.array = self._constant("array")
        self.slots = b.memory(f"[{MAX_PARAMETERS + MAX_RECORDS * VECTORS} x ptr]")
        self.copies, self.copied = b.memory(f"[{MAX_COPIED} x i64]"), b.variable("i64", 0)
        self.ins, self.ends = b.memory(f"[{MAX_INPUTS} x ptr]"), b.memory(f"[{MAX_INPUTS} x ptr]")
        self.strides = b.memory(f"[{MAX_INPUTS} x i64]")
        self.parameters = b.item(self.entry, EntryWords.PARAMETERS)
        self.arguments()
        self.variant = self.chosen()
        self.state()
        self.inputs()

    def _constant(self, name: str) -> str:
        return self.body.item(self.entry, EntryWords.constant(name), "ptr")

    def _parameter(self, p: str, word: int, type: str = "i64") -> str:
        b = self.body
        return b.item(self.entry, b.op("add", b.op("mul", p, EntryWords.WORDS), EntryWords.FIRST + word), type)

    def arguments(self) -> None:
        """Put every argument into the slot of its parameter; null: not given."""
        b = self.body
        with b.each(self.parameters) as p:
            b.store("ptr", "null", b.at(self.slots, p, "ptr"))
        b.require(b.op("icmp ule", "%nargs", b.item(self.entry, EntryWords.POSITIONAL)))
        with b.each("%nargs") as k:
            b.store("ptr", b.item("%args", k, "ptr"), b.at(self.slots, k, "ptr"))
        self.out, self.alone = b.variable("ptr", "null"), b.variable("i1", "false")
        self.unchecked = b.variable("i1", "false")
        with b.when(b.given("%keywords")):
            names = b.at("%keywords", TUPLE_ITEMS, "i8")
            with b.each(b.field("%keywords", SIZE, "i64")) as k:
                self._keyword(b.item(names, k, "ptr"), b.item("%args", b.op("add", "%nargs", k), "ptr"))

    def _keyword(self, name: str, value: str) -> None:
        b = self.body
        taken = b.variable("i1", "false")
        with b.each(self.parameters) as p, b.when(b.is_(self._parameter(p, EntryWords.NAME, "ptr"), name)):
            slot = b.at(self.slots, p, "ptr")
            b.require(b.is_(b.load("ptr", slot), "null"))  # else given twice
            b.store("ptr", value, slot)
            b.store("i1", "true", taken)
        with b.unless(b.load("i1", taken)):
            none, false = b.is_(value, self._constant("none")), b.is_(value, self._constant("false"))
            one, true = b.is_(value, self._constant("one")), b.is_(value, self._constant("true"))
            is_out, is_check = b.is_(name, self._constant("out")), b.is_(name, self._constant("check"))
            is_threads = b.is_(name, self._constant("threads"))
            is_backend = b.is_(name, self._constant("backend"))
            b.require(
                b.any(
                    is_out,
                    b.all(is_check, b.any(true, false)),
                    b.all(is_threads, b.any(one, none)),
                    b.all(is_backend, none),
                )
            )
            with b.when(is_out):
                b.store("ptr", b.choose(none, "null", value, "ptr"), self.out)
            with b.when(b.all(is_threads, one)):
                b.store("i1", "true", self.alone)
            with b.when(is_check):
                b.store("i1", false, self.unchecked)

    def chosen(self) -> str:
        """The table of the variant: from node to node, by what is chosen otherwise than by default."""
        b = self.body
        self.node = b.variable("ptr", b.item(self.entry, EntryWords.ROOT, "ptr"))
        with b.each(self.parameters) as p:
            role = self._parameter(p, EntryWords.ROLE)
            with b.when(b.op("icmp uge", role, int(Role.CHOICE))):
                default, given = self._parameter(p, EntryWords.DEFAULT, "ptr"), b.item(self.slots, p, "ptr")
                is_given = b.all(b.given(given), b.op("icmp ne", given, default, "ptr"))
                b.require(b.any(is_given, b.given(default)))
                with b.when(is_given):
                    with b.when(b.given(default)):
                        self._go_to(self._parameter(p, EntryWords.MARK, "ptr"))
                    with b.when(b.is_(role, int(Role.CHOICE), "i64")):
                        b.require(self._is_a(given, "text", "tuple"))
                        self._go_to(given)
                    with b.when(b.is_(role, int(Role.RECORDS), "i64")):
                        self._records(self._parameter(p, EntryWords.RECORD, "ptr"), given)
        variant = b.item(b.load("ptr", self.node), NodeWords.VARIANT, "ptr")
        b.require(b.given(variant))
        return variant

    def _is_a(self, value: str, *types: str) -> str:
        b = self.body
        type = b.field(value, TYPE)
        return b.any(*(b.is_(type, self._constant(name)) for name in types))

    def _go_to(self, key: str) -> None:
        b = self.body
        behind = b.item(b.load("ptr", self.node), NodeWords.BEHIND, "ptr")
        found = b.call("ptr", "@dalembert_getitem", f"ptr {behind}", f"ptr {key}")
        b.require(b.given(found))
        b.store("ptr", b.field(found, DATA), self.node)

    def _items(self, sequence: str) -> tuple[str, str]:
        """The address of the items of a list or tuple, and their number; other objects are not taken."""
        b = self.body
        is_tuple = self._is_a(sequence, "tuple")
        b.require(b.any(is_tuple, self._is_a(sequence, "list")))
        listed = b.at(sequence, b.choose(is_tuple, 0, LIST_ITEMS), "i8")  # of a tuple any address
        items = b.choose(is_tuple, b.at(sequence, TUPLE_ITEMS, "i8"), b.load("ptr", listed), "ptr")
        return items, b.field(sequence, SIZE, "i64")

    def _records(self, layout: str, sequence: str) -> None:
        """Go on by the words of each record; its vectors are put behind the arguments."""
        b = self.body
        items, count = self._items(sequence)
        b.require(b.op("icmp ule", count, MAX_RECORDS))
        kind = b.item(layout, Records.KIND, "ptr")
        with b.each(count) as k:
            record = b.item(items, k, "ptr")
            b.require(b.is_(b.field(record, TYPE), kind))
            for word in range(2):
                text = b.load("ptr", b.at(record, b.item(layout, Records.WORD + word), "i8"))
                b.require(b.given(text))
                b.require(self._is_a(text, "text"))
                self._go_to(text)
            for vector in range(VECTORS):
                x = b.load("ptr", b.at(record, b.item(layout, Records.VECTOR + vector), "i8"))
                place = b.op("add", b.op("mul", k, VECTORS), vector)
                b.store("ptr", x, b.at(self.slots, b.op("add", place, self.parameters), "ptr"))

    def state(self) -> None:
        """Read the float type and the number of states from the first input."""
        b = self.body
        first = b.item(self.slots, b.item(self.variant, VariantWords.INPUT), "ptr")
        b.require(b.given(first))
        dtype, rank, count = b.variable("ptr", self._constant("double")), b.variable("i32", 1), b.variable("i64", 1)
        is_array = b.is_(b.field(first, TYPE), self.array)
        b.require(b.any(is_array, self._is_a(first, "list", "tuple")))  # which hold numbers of Python, or nothing else
        with b.when(is_array):
            b.store("ptr", b.field(first, DTYPE), dtype)
            b.store("i32", b.field(first, RANK, "i32"), rank)
            with b.when(b.is_(b.load("i32", rank), 2, "i32")):
                b.store("i64", b.load("i64", b.field(first, DIMENSIONS)), count)
        self.dtype, its_rank, self.count = b.load("ptr", dtype), b.load("i32", rank), b.load("i64", count)
        self.is_double = b.is_(self.dtype, self._constant("double"))
        b.require(b.any(self.is_double, b.is_(self.dtype, self._constant("single"))))
        self.is_batch = b.is_(its_rank, 2, "i32")
        b.require(b.any(self.is_batch, b.is_(its_rank, 1, "i32")))
        usual = b.item(self.variant, VariantWords.LIMIT)
        alone = b.load("i1", self.alone)  # threads=1: going through Python would only cost time
        limit = b.choose(alone, b.op("mul", usual, 10), usual)
        b.require(b.all(b.op("icmp ne", self.count, 0), b.op("icmp ule", self.count, limit)))
        self.item = b.choose(self.is_double, 8, 4)
        self.type_number = b.choose(self.is_double, 12, 11, "i32")
        self.extra = b.value(f"zext i1 {self.is_batch} to i64")  # axes before those of one state
        place = b.op("add", b.choose(self.is_double, VariantWords.KERNELS, VariantWords.KERNELS + 2), self.extra)
        self.kernel = b.item(self.variant, place, "ptr")
        b.require(b.given(self.kernel))

    def inputs(self) -> None:
        """The address and stride of every input."""
        b = self.body
        self.input_count = b.item(self.variant, VariantWords.INPUTS)
        with b.each(self.input_count) as k:
            word = b.op("add", b.op("mul", k, 2), VariantWords.INPUT)
            p, size = b.item(self.variant, word), b.item(self.variant, b.op("add", word, 1))
            given = b.item(self.slots, p, "ptr")
            value = b.choose(b.given(given), given, self._parameter(p, EntryWords.DEFAULT, "ptr"), "ptr")
            b.require(b.given(value))
            is_array, is_sequence = b.is_(b.field(value, TYPE), self.array), self._is_a(value, "list", "tuple")
            is_number = b.op("xor", b.any(is_array, is_sequence), "true", "i1")
            b.require(b.any(is_number, b.op("icmp ne", self._parameter(p, EntryWords.ROLE), int(Role.SCALAR))))
            with b.when(is_array):
                self._array(k, value, size)
            with b.when(is_sequence):
                self._sequence(k, value, size)
            with b.when(is_number):
                b.require(b.is_(size, 1, "i64"))
                self._number(k, value)

    def _copy(self, k: str, count: str) -> str:
        """Memory for input k of one state, which is the same for all."""
        b = self.body
        begin = b.load("i64", self.copied)
        end = b.op("add", begin, count)
        b.require(b.op("icmp ule", end, MAX_COPIED))
        b.store("i64", end, self.copied)
        at = b.at(self.copies, begin)
        b.store("ptr", at, b.at(self.ins, k, "ptr"))
        b.store("ptr", at, b.at(self.ends, k, "ptr"))
        b.store("i64", 0, b.at(self.strides, k))
        return at

    def _sequence(self, k: str, sequence: str, size: str) -> None:
        """A list or tuple of floats."""
        b = self.body
        b.require(self.is_double)
        items, count = self._items(sequence)
        b.require(b.is_(count, size, "i64"))
        at = self._copy(k, size)
        with b.each(size) as j:
            b.store("double", self._as_double(b.item(items, j, "ptr")), b.at(at, j))

    def _array(self, k: str, array: str, size: str) -> None:
        """An array of one state, or one row per state."""
        b = self.body
        rank, dimensions, strides = b.field(array, RANK, "i32"), b.field(array, DIMENSIONS), b.field(array, STRIDES)
        is_row, is_table = b.is_(rank, 1, "i32"), b.all(self.is_batch, b.is_(rank, 2, "i32"))
        b.require(b.all(b.is_(b.field(array, DTYPE), self.dtype), b.any(is_row, is_table)))
        b.require(b.op("icmp ne", b.op("and", b.field(array, FLAGS, "i32"), ALIGNED, "i32"), 0, "i32"))
        last = b.choose(is_table, 1, 0)
        step = b.item(strides, last)
        dense = b.any(b.is_(step, self.item, "i64"), b.is_(size, 1, "i64"))
        b.require(b.is_(b.item(dimensions, last), size, "i64"))
        data = b.field(array, DATA)
        with b.unless(dense):
            b.require(is_row)
            at = self._copy(k, size)
            with b.each(size) as j:
                x, y = b.at(data, b.op("mul", j, step), "i8"), b.at(at, b.op("mul", j, self.item), "i8")
                with b.when(self.is_double):
                    b.store("i64", b.load("i64", x), y)
                with b.unless(self.is_double):
                    b.store("i32", b.load("i32", x), y)
        with b.when(dense):
            stride = b.variable("i64", 0)
            with b.when(is_table):
                b.require(b.is_(b.load("i64", dimensions), self.count, "i64"))
                b.store("i64", b.load("i64", strides), stride)
            row = b.load("i64", stride)
            b.require(b.op("icmp sge", row, 0))
            bytes = b.op("add", b.op("mul", row, b.op("sub", self.count, 1)), b.op("mul", size, self.item))
            b.store("ptr", data, b.at(self.ins, k, "ptr"))
            b.store("ptr", b.at(data, bytes, "i8"), b.at(self.ends, k, "ptr"))
            b.store("i64", row, b.at(self.strides, k))

    def _number(self, k: str, value: str) -> None:
        """A number of Python, the same for all states."""
        b = self.body
        at, x = self._copy(k, "1"), self._as_double(value)
        with b.when(self.is_double):
            b.store("double", x, at)
        with b.unless(self.is_double):
            b.store("float", b.value(f"fptrunc double {x} to float"), at)

    def _as_double(self, value: str) -> str:
        """The value of a float or int of Python, or of a number of NumPy that decides nothing."""
        b = self.body
        number = b.memory("double")
        precise = b.all(self._is_a(value, "float64"), self.is_double)  # in single precision it decides
        is_float, is_integer = b.any(self._is_a(value, "float"), precise), self._is_a(value, "int")
        b.require(b.any(is_float, is_integer))
        with b.when(is_float):
            b.store("double", b.field(value, NUMBER, "double"), number)
        with b.when(is_integer):
            x = b.call("double", "@dalembert_integer", f"ptr {value}")
            b.require(b.op("fcmp une", x, "-1.0", "double"))  # -1 itself, or an error
            b.store("double", x, number)
        return b.load("double", number)
