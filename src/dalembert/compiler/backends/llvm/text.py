"""Text of one LLVM function, written as statements: variables, branches and loops in place of labels and phis."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CallText:
    """The body of a function; `fail` is the label to which `require` goes. Values are names such as %v7, or numbers."""

    def __init__(self, fail: str = "slow") -> None:
        self.fail = fail
        self._memory: list[str] = []  # of variables: it must stand in the first block
        self._lines: list[str] = []
        self._count = 0

    def __str__(self) -> str:
        return "\n".join(("entry:", *self._memory, *self._lines))

    def line(self, text: str) -> None:
        """Write an instruction without a value."""
        self._lines.append(f"  {text}")

    def value(self, text: str) -> str:
        """Write an instruction; its value."""
        self._count += 1
        self.line(f"%v{self._count} = {text}")
        return f"%v{self._count}"

    def memory(self, type: str) -> str:
        """Address of memory on the stack for a value of that type."""
        self._count += 1
        self._memory.append(f"  %m{self._count} = alloca {type}, align 8")
        return f"%m{self._count}"

    def variable(self, type: str, value: str | int) -> str:
        """Address of a variable that starts with this value, each time this line is passed."""
        at = self.memory(type)
        self.store(type, value, at)
        return at

    def load(self, type: str, at: str) -> str:
        """Value at an address."""
        return self.value(f"load {type}, ptr {at}")

    def store(self, type: str, value: str | int, at: str) -> None:
        """Write a value to an address."""
        self.line(f"store {type} {value}, ptr {at}")

    def at(self, base: str, index: str | int, type: str = "i64") -> str:
        """Address of an item of an array of that type."""
        return self.value(f"getelementptr {type}, ptr {base}, i64 {index}")

    def item(self, base: str, index: str | int, type: str = "i64") -> str:
        """Item of an array of words of 8 bytes."""
        return self.load(type, self.at(base, index))

    def field(self, base: str, offset: int, type: str = "ptr") -> str:
        """Field of a struct, so many bytes behind its begin."""
        return self.load(type, self.at(base, offset, "i8"))

    def op(self, name: str, a: str | int, b: str | int, type: str = "i64") -> str:
        """Result of an arithmetic instruction or comparison, such as "add" or "icmp eq"."""
        return self.value(f"{name} {type} {a}, {b}")

    def is_(self, a: str | int, b: str | int, type: str = "ptr") -> str:
        """Whether two values are equal."""
        return self.op("icmp eq", a, b, type)

    def given(self, pointer: str) -> str:
        """Whether a pointer is not null."""
        return self.op("icmp ne", pointer, "null", "ptr")

    def any(self, *conditions: str) -> str:
        """Whether any condition holds."""
        first, *others = conditions
        for other in others:
            first = self.op("or", first, other, "i1")
        return first

    def all(self, *conditions: str) -> str:
        """Whether all conditions hold."""
        first, *others = conditions
        for other in others:
            first = self.op("and", first, other, "i1")
        return first

    def choose(self, condition: str, a: str | int, b: str | int, type: str = "i64") -> str:
        """a where the condition holds, else b."""
        return self.value(f"select i1 {condition}, {type} {a}, {type} {b}")

    def call(self, result: str, function: str, *arguments: str) -> str:
        """Result of a function; the arguments are written with their types."""
        return self.value(f"call {result} {function}({', '.join(arguments)})")

    def require(self, condition: str) -> None:
        """Go on where the condition holds, else to `fail`."""
        after = self._label()
        self.line(f"br i1 {condition}, label %{after}, label %{self.fail}")
        self.mark(after)

    def leave(self, condition: str, result: str) -> None:
        """Return the result, such as "ptr null", where the condition holds."""
        with self.when(condition, falls=False):
            self.line(f"ret {result}")

    @contextmanager
    def when(self, condition: str, falls: bool = True) -> Iterator[None]:
        """Statements for where the condition holds; falls: whether the function goes on behind them."""
        inside, after = self._label(), self._label()
        self.line(f"br i1 {condition}, label %{inside}, label %{after}")
        self.mark(inside)
        yield
        if falls:
            self.line(f"br label %{after}")
        self.mark(after)

    @contextmanager
    def unless(self, condition: str) -> Iterator[None]:
        """Statements for where the condition does not hold."""
        with self.when(self.op("xor", condition, "true", "i1")):
            yield

    @contextmanager
    def each(self, count: str | int) -> Iterator[str]:
        """Statements for 0, 1, … count - 1."""
        number = self.variable("i64", 0)
        test, inside, after = self._label(), self._label(), self._label()
        self.line(f"br label %{test}")
        self.mark(test)
        k = self.load("i64", number)
        self.line(f"br i1 {self.op('icmp ult', k, count)}, label %{inside}, label %{after}")
        self.mark(inside)
        yield k
        self.store("i64", self.op("add", k, 1), number)
        self.line(f"br label %{test}")
        self.mark(after)

    def mark(self, label: str) -> None:
        """Begin the block of that label."""
        self._lines.append(f"{label}:")

    def _label(self) -> str:
        self._count += 1
        return f"l{self._count}"
