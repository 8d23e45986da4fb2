"""Variables and expressions of procedures: the part of `procedures` below its statements."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dalembert.errors import DalembertError

from .ir import literal

F32: TypeAlias = np.ndarray  # words for the arguments of procedures: arrays of numbers of a kind
F64: TypeAlias = np.ndarray
I32: TypeAlias = np.ndarray
I64: TypeAlias = np.ndarray
U8: TypeAlias = np.ndarray
PTR: TypeAlias = Any  # an array of addresses
ARRAYS = {"F32": "float", "F64": "double", "I32": "i32", "I64": "i64", "U8": "i8", "PTR": "ptr"}  # types of elements
NUMBERS = {"int": "i64", "float": "double"}
FLAGS = "contract nsz arcp"
FLOATS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
INTEGERS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.LShift: "shl", ast.RShift: "ashr", ast.BitAnd: "and",
    ast.BitOr: "or",
}  # fmt: skip
ORDER = {
    ast.Lt: ("olt", "slt"), ast.LtE: ("ole", "sle"), ast.Gt: ("ogt", "sgt"), ast.GtE: ("oge", "sge"),
    ast.Eq: ("oeq", "eq"), ast.NotEq: ("une", "ne"),
}  # fmt: skip


class External(NamedTuple):
    """Code outside that procedures call: the type of its result, "" for none, and the call in IR."""

    result: str
    form: str


Value = tuple[str, str]  # its type ("i64", "double", "i1", or "F32" … of arrays) and its name in the IR


def parsed(function: Callable[..., Any]) -> ast.FunctionDef:
    """The text of a function as a tree."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


class Expressions:
    """Writes variables and expressions of one function."""

    def __init__(
        self,
        function: Callable[..., Any],
        callee: Callable[[Callable[..., Any]], list[str]],
        constants: Mapping[str, float],
        parts: dict[str, str],
    ) -> None:
        """callee: writes another function, and gives the types of its results. parts: of the module, by name."""
        self.function, self.callee, self.parts = function, callee, parts
        self.constants = dict(vars(inspect.getmodule(function)), **constants)
        self.lines: list[str] = []
        self.variables: dict[str, Value] = {}  # type and address of each local variable
        self.arguments: dict[str, str] = {}
        self.arrays: dict[str, str] = {}  # kinds of arrays: of arguments, and of variables that point to some
        self.names = iter(range(1 << 30))

    def refuse(self, node: ast.AST, what: str) -> DalembertError:
        line = getattr(node, "lineno", 0)
        return DalembertError(f"procedure {self.function.__name__}, line {line}: {what} cannot be compiled")

    # ---- variables and text

    def assign(self, goal: ast.expr, value: Value) -> None:
        if isinstance(goal, ast.Name):
            self.store(goal.id, value)
        elif isinstance(goal, ast.Subscript):
            element, place = self.element(goal)
            kind = "double" if element in ("float", "double") else "i64"
            name = self.converted(value, kind)[1]
            if element != kind:
                name = self.op(f"{'fptrunc' if element == 'float' else 'trunc'} {kind} {name} to {element}")
            self.do(f"store {element} {name}, ptr {place}")
        else:
            raise self.refuse(goal, "this target of an assignment")

    def store(self, name: str, value: Value) -> None:
        if name not in self.variables:
            self.variables[name] = value[0], f"%var.{name}"
        type, place = self.variables[name]
        self.do(f"store {type} {self.converted(value, type)[1]}, ptr {place}")

    def op(self, text: str) -> str:
        name = f"%v{next(self.names)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def labels(self, *words: str) -> list[str]:
        number = next(self.names)
        return [f"{word}.{number}" for word in words]

    def label(self, name: str) -> None:
        """Start a block; the one before leads into it, unless it has ended."""
        self.leave(name)
        self.lines.append(f"{name}:")

    def leave(self, name: str) -> None:
        """Go to a block, unless the one being written has ended already."""
        last = self.lines[-1].split()[0] if self.lines else ""
        if last not in ("br", "ret"):
            self.do(f"br label %{name}")

    # ---- expressions

    def value(self, node: ast.expr) -> Value:
        write = getattr(self, f"get_{type(node).__name__}", None)
        if write is None:
            raise self.refuse(node, type(node).__name__)
        value: Value = write(node)
        return value

    def get_Constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            raise self.refuse(node, repr(node.value))
        return ("i64", str(node.value)) if isinstance(node.value, int) else ("double", literal(node.value, "double"))

    def get_Name(self, node: ast.Name) -> Value:
        if node.id in self.variables:
            type, place = self.variables[node.id]
            return type, self.op(f"load {type}, ptr {place}")
        if node.id in self.arguments:
            return self.arguments[node.id], f"%arg.{node.id}"
        return self.get_Constant(ast.copy_location(ast.Constant(self.constants.get(node.id)), node))

    def get_Subscript(self, node: ast.Subscript) -> Value:
        element, place = self.element(node)
        if isinstance(node.slice, ast.Slice):
            return "ptr", place
        name = self.op(f"load {element}, ptr {place}")
        if element in ("double", "i64", "ptr"):
            return element, name
        if element == "float":
            return "double", self.op(f"fpext float {name} to double")
        return "i64", self.op(f"{'zext' if element == 'i8' else 'sext'} {element} {name} to i64")

    def element(self, node: ast.Subscript) -> tuple[str, str]:
        """Type and address of an element of an array; of `x[k:]` the first one."""
        word = self.arrays.get(getattr(node.value, "id", ""), "")
        place = node.slice.lower if isinstance(node.slice, ast.Slice) else node.slice
        if not word or place is None:
            raise self.refuse(node, "an index of anything but an array")
        index, base = self.integer(place), self.value(node.value)[1]
        return ARRAYS[word], self.op(f"getelementptr {ARRAYS[word]}, ptr {base}, i64 {index}")

    def get_BinOp(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Div) or "double" in (left[0], right[0]):
            a, b = (self.converted(x, "double")[1] for x in (left, right))
            if type(node.op) not in FLOATS:
                raise self.refuse(node, type(node.op).__name__)
            return "double", self.op(f"{FLOATS[type(node.op)]} {FLAGS} double {a}, {b}")
        if type(node.op) not in INTEGERS:
            raise self.refuse(node, type(node.op).__name__)
        a, b = (self.converted(x, "i64")[1] for x in (left, right))
        return "i64", self.op(f"{INTEGERS[type(node.op)]} i64 {a}, {b}")

    def get_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return "i1", self.op(f"xor i1 {self.truth(node.operand)}, true")
        type_, name = self.value(node.operand)
        if not isinstance(node.op, ast.USub):
            raise self.refuse(node, type(node.op).__name__)
        return type_, self.op(f"fneg {FLAGS} double {name}" if type_ == "double" else f"sub i64 0, {name}")

    def get_BoolOp(self, node: ast.BoolOp) -> Value:
        word = "and" if isinstance(node.op, ast.And) else "or"
        names = [self.truth(x) for x in node.values]
        whole = names[0]
        for name in names[1:]:
            whole = self.op(f"{word} i1 {whole}, {name}")
        return "i1", whole

    def get_Compare(self, node: ast.Compare) -> Value:
        values = [self.value(x) for x in (node.left, *node.comparators)]
        whole = ""
        for k, op in enumerate(node.ops):
            single = self.compared(values[k], values[k + 1], *ORDER[type(op)])
            whole = self.op(f"and i1 {whole}, {single}") if whole else single
        return "i1", whole

    def compared(self, left: Value, right: Value, of_floats: str, of_integers: str) -> str:
        if "double" in (left[0], right[0]):
            a, b = (self.converted(x, "double")[1] for x in (left, right))
            return self.op(f"fcmp {of_floats} double {a}, {b}")
        return self.op(f"icmp {of_integers} i64 {left[1]}, {right[1]}")

    def get_IfExp(self, node: ast.IfExp) -> Value:
        condition, yes, no = self.truth(node.test), self.value(node.body), self.value(node.orelse)
        return self.chosen(condition, yes, no)

    def chosen(self, condition: str, yes: Value, no: Value) -> Value:
        type = "double" if "double" in (yes[0], no[0]) else "i64"
        a, b = (self.converted(x, type)[1] for x in (yes, no))
        return type, self.op(f"select i1 {condition}, {type} {a}, {type} {b}")

    def get_Call(self, node: ast.Call) -> Value:
        kinds, name = self.call(node)
        return kinds[0], name

    def call(self, node: ast.Call) -> tuple[list[str], str]:
        """Types of the results of a call, and its value; with several results with the type before it."""
        word, values = getattr(node.func, "id", ""), [self.value(x) for x in node.args]
        if word in ("sqrt", "floor"):
            return ["double"], self.op(f"call double @llvm.{word}.f64(double {self.converted(values[0], 'double')[1]})")
        if word == "int":
            return ["i64"], self.converted(values[0], "i64", truncate=True)[1]
        if word == "float":
            return ["double"], self.converted(values[0], "double")[1]
        if word == "abs":
            return ["double"], self.op(f"call double @llvm.fabs.f64(double {self.converted(values[0], 'double')[1]})")
        if word in ("min", "max"):
            whole = values[0]
            for other in values[1:]:
                order = ORDER[ast.Lt if word == "min" else ast.Gt]
                whole = self.chosen(self.compared(other, whole, *order), other, whole)
            return [whole[0]], whole[1]
        function = self.constants.get(word)
        if isinstance(function, External):
            called = f"{function.result or 'void'} {function.form}"
            if function.form.startswith("@"):
                self.parts[word] = "declare " + called.replace("{}", "")
            called = "call " + called.format(*(name for _, name in values))
            if not function.result:
                self.do(called)
                return [], ""
            return [function.result], self.op(called)
        if not callable(function):
            raise self.refuse(node, f"the call of {word or 'this'}")
        kinds = self.callee(function)
        wanted = [getattr(a.annotation, "id", "") for a in parsed(function).args.args]
        given = [
            f"ptr {value[1]}" if w in ARRAYS else " ".join(self.converted(value, NUMBERS[w]))
            for value, w in zip(values, wanted, strict=True)
        ]
        type = "void" if not kinds else kinds[0] if len(kinds) == 1 else f"{{ {', '.join(kinds)} }}"
        called = f"call {type} @{word}({', '.join(given)})"
        if not kinds:
            self.do(called)
            return [], ""
        return kinds, self.op(called)

    def truth(self, node: ast.expr) -> str:
        type, name = self.value(node)
        if type != "i1":
            raise self.refuse(node, "a number as a condition")
        return name

    def integer(self, node: ast.expr) -> str:
        return self.converted(self.value(node), "i64")[1]

    def converted(self, value: Value, type: str, truncate: bool = False) -> Value:
        """A value as another type; numbers with fractions become integers by int(…) alone."""
        kind, name = value
        if kind == type:
            return value
        if (kind, type) == ("i64", "double"):
            return type, self.op(f"sitofp i64 {name} to double")
        if (kind, type) == ("double", "i64") and truncate:
            return type, self.op(f"fptosi double {name} to i64")
        raise DalembertError(f"procedure {self.function.__name__}: {kind} where {type} is expected")
