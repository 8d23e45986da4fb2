"""Loops over arrays, written as plain Python functions → LLVM IR: for what no expression graph can state.

A procedure takes arrays (F32, F64, I32, I64, U8, PTR of addresses: flat, and not checked for their ends) and numbers
(int, float), and writes into the arrays. `x: F64 = table[k]` names the array at an address; `x[k:]` is an array's part
from k on. It may hold: assignments, also of several names at once; `for … in range(…)`, `while`, `if`, `break`,
`continue`; arithmetic, comparisons, `and`, `or`, `not` (both sides are computed), `a if c else b` (likewise); `int`,
`float`, `abs`, `min`, `max`, `sqrt`, `floor`; constants of its module; and calls of other such functions, which return
a number or several, and of `External` code. All numbers are computed as 64-bit integers or doubles (so is `floor`:
write int(floor(x)) for an index). Python itself runs the same text, slowly, but for addresses and external code:
that is its meaning.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm

from . import procedure_values as procedure_values
from .procedure_values import ARRAYS, NUMBERS, Expressions, Value, parsed


def compiled(functions: Sequence[Callable[..., Any]]) -> bytes:
    """Object code of procedures, each under its own name, for this host."""
    program = ProcedureModule()
    for function in functions:
        program.add(function, "")
    return program.compiled()


class ProcedureModule:
    """The functions of one module of IR. constants: take the place of constants of the functions' module."""

    def __init__(self, **constants: float) -> None:
        self.constants = constants
        self.parts: dict[str, str] = {
            name: f"declare double @llvm.{name}.f64(double)" for name in ("sqrt", "floor", "fabs")
        }
        self.results: dict[str, list[str]] = {}  # types of what a function returns

    def add(self, function: Callable[..., Any], kind: str = "internal") -> list[str]:
        """Write a function, once; the types of its results."""
        name = function.__name__
        if name not in self.results:
            body = ProcedureWriter(self, function)
            self.results[name] = body.results
            self.parts[name] = body.text(kind)
        return self.results[name]

    def compiled(self, external: str = "") -> bytes:
        """Optimised object code for this host; external: IR that its functions call, which is final."""
        to = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
        )
        text = "\n".join(self.parts.values()) + "\n"
        with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
            module.verify()
            passes = llvm.create_pass_builder(to, llvm.create_pipeline_tuning_options(speed_level=2))
            passes.getModulePassManager().run(module, passes)
            if external:
                module.link_in(llvm.parse_assembly(external, context=context))
            return to.emit_object(module)


class ProcedureWriter(Expressions):
    """One function while it is written."""

    def __init__(self, program: ProcedureModule, function: Callable[..., Any]) -> None:
        super().__init__(function, program.add, program.constants, program.parts)
        self.results: list[str] = []
        self.loops: list[tuple[str, str]] = []  # where `continue` and `break` go
        tree = parsed(function)
        for argument in tree.args.args:
            word = argument.annotation.id if isinstance(argument.annotation, ast.Name) else ""
            if word not in ARRAYS and word not in NUMBERS:
                raise self.refuse(argument, f"an argument without one of the types {', '.join((*ARRAYS, *NUMBERS))}")
            self.arguments[argument.arg] = word
        for name, word in self.arguments.items():
            if word in NUMBERS:
                self.store(name, (NUMBERS[word], f"%arg.{name}"))
            else:
                self.arrays[name] = word
        self.block(tree.body)

    def text(self, kind: str) -> str:
        """The definition in IR."""
        given = [f"{'ptr noalias' if w in ARRAYS else NUMBERS[w]} %arg.{n}" for n, w in self.arguments.items()]
        rooms = [f"  {place} = alloca {type}" for type, place in self.variables.values()]
        result = self.result_type()
        end = ["  unreachable" if self.results else "  ret void"]
        inlined = " alwaysinline" if kind == "internal" else ""
        head = f"define {kind} {result} @{self.function.__name__}({', '.join(given)}) nounwind{inlined} {{"
        return "\n".join([head, "entry:", *rooms, *self.lines, *end, "}"])

    def result_type(self) -> str:
        if not self.results:
            return "void"
        return self.results[0] if len(self.results) == 1 else f"{{ {', '.join(self.results)} }}"

    # ---- statements

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            write = getattr(self, f"do_{type(statement).__name__}", None)
            if write is None:
                raise self.refuse(statement, type(statement).__name__)
            write(statement)
            if isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
                return

    def do_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.call(node.value)

    def do_Assign(self, node: ast.Assign) -> None:
        (goal,) = node.targets
        if not isinstance(goal, ast.Tuple):
            self.assign(goal, self.value(node.value))
            return
        values = [self.value(x) for x in node.value.elts] if isinstance(node.value, ast.Tuple) else self.several(node)
        for each, value in zip(goal.elts, values, strict=True):
            self.assign(each, value)

    def several(self, node: ast.Assign) -> list[Value]:
        """The results of a call."""
        if not isinstance(node.value, ast.Call):
            raise self.refuse(node, "unpacking")
        kinds, whole = self.call(node.value)
        type = f"{{ {', '.join(kinds)} }}"
        return [(kind, self.op(f"extractvalue {type} {whole}, {k}")) for k, kind in enumerate(kinds)]

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        left = ast.copy_location(ast.parse(ast.unparse(node.target), mode="eval").body, node)
        self.assign(node.target, self.value(ast.copy_location(ast.BinOp(left, node.op, node.value), node)))

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        assert node.value is not None
        value, word = self.value(node.value), getattr(node.annotation, "id", "")
        if word in ARRAYS and isinstance(node.target, ast.Name):
            self.arrays[node.target.id] = word
            value = "ptr", value[1]
        self.assign(node.target, value)

    def do_Return(self, node: ast.Return) -> None:
        if node.value is None:
            self.do("ret void")
            return
        items = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        values = [self.value(x) for x in items]
        self.results = self.results or [type for type, _ in values]
        values = [self.converted(value, type) for value, type in zip(values, self.results, strict=True)]
        if len(values) == 1:
            self.do(f"ret {values[0][0]} {values[0][1]}")
            return
        whole, type = "undef", self.result_type()
        for k, (kind, name) in enumerate(values):
            whole = self.op(f"insertvalue {type} {whole}, {kind} {name}, {k}")
        self.do(f"ret {type} {whole}")

    def do_Break(self, node: ast.Break) -> None:
        self.do(f"br label %{self.loops[-1][1]}")

    def do_Continue(self, node: ast.Continue) -> None:
        self.do(f"br label %{self.loops[-1][0]}")

    def do_If(self, node: ast.If) -> None:
        yes, no, after = self.labels("yes", "no", "after")
        self.do(f"br i1 {self.truth(node.test)}, label %{yes}, label %{no}")
        for label, statements in ((yes, node.body), (no, node.orelse)):
            self.label(label)
            self.block(statements)
            self.leave(after)
        self.label(after)

    def do_While(self, node: ast.While) -> None:
        with self.loop() as (again, inside, after):
            self.label(again)
            self.do(f"br i1 {self.truth(node.test)}, label %{inside}, label %{after}")
            self.label(inside)
            self.block(node.body)
            self.leave(again)

    def do_For(self, node: ast.For) -> None:
        call = node.iter
        if not (isinstance(call, ast.Call) and getattr(call.func, "id", "") == "range" and not node.orelse):
            raise self.refuse(node, "a loop over anything but range(…)")
        bounds = [self.integer(x) for x in call.args]
        start, stop, step = ("0", bounds[0], "1") if len(bounds) == 1 else (*bounds, "1")[:3]
        assert isinstance(node.target, ast.Name)
        hidden = f"{node.target.id}.{next(self.names)}"  # what the body assigns to its index does not last
        self.store(hidden, ("i64", start))
        (test,) = self.labels("test")
        with self.loop() as (again, begin, after):
            self.leave(test)
            self.label(test)
            k = self.op(f"load i64, ptr {self.variables[hidden][1]}")
            self.do(f"br i1 {self.op(f'icmp slt i64 {k}, {stop}')}, label %{begin}, label %{after}")
            self.label(begin)
            self.store(node.target.id, ("i64", k))
            self.block(node.body)
            self.leave(again)
            self.label(again)
            k = self.op(f"load i64, ptr {self.variables[hidden][1]}")
            self.store(hidden, ("i64", self.op(f"add i64 {k}, {step}")))
            self.leave(test)

    @contextmanager
    def loop(self) -> Iterator[tuple[str, str, str]]:
        again, inside, after = self.labels("again", "inside", "after")
        self.loops.append((again, after))
        yield again, inside, after
        self.loops.pop()
        self.label(after)
