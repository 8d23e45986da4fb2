"""Statements: the nodes of a function as C, cut into parts where there are many; functions that they call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import ClassVar

from dalembert.compiler.graph import Function, Scalar
from dalembert.compiler.graph.calls import Called
from dalembert.compiler.graph.compound import Compound
from dalembert.compiler.graph.lookup import Table
from dalembert.compiler.graph.repeat import Repeated
from dalembert.compiler.graph.schedule import depth_first, without_slopes
from dalembert.compiler.graph.sinking import sunk
from dalembert.compiler.graph.visit import Visited
from dalembert.compiler.graph.weighted import Weighted

from .names import CParameter
from .text import block, declaration, literal, table_of
from .visits import visit_result, visiting
from .weights import matrices, weighing

PART = 2000  # statements in one C function; compilers take superlinear time and memory over longer ones

OPERATORS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "eq": "{} == {}",
    "ne": "{} != {}",
    "and": "{} && {}",
    "or": "{} || {}",
    "not": "!{}",
    "where": "{} ? {} : {}",
}
LIBRARY = {
    "sqrt": "sqrt",
    "sin": "sin",
    "cos": "cos",
    "exp": "exp",
    "log": "log",
    "tanh": "tanh",
    "abs": "fabs",
    "floor": "floor",
    "atan2": "atan2",
}
HELPERS = {  # NaN passes through, unlike fmin and fmax
    "min": "static {real} {name}_min({real} a, {real} b) {{ return a < b || a != a ? a : b; }}",
    "max": "static {real} {name}_max({real} a, {real} b) {{ return a > b || a != a ? a : b; }}",
    "sign": "static {real} {name}_sign({real} a) {{ return a > 0 ? 1 : a < 0 ? -1 : a != a ? a : 0; }}",
}
LOOKUP = """\
static {real} {name}_lookup(const {real} *table, {real} last, int columns, {real} row)
{{
    return row != row ? row : table[(long)(row < 0 ? 0 : row > last ? last : row) * columns];
}}"""


@dataclass
class CBody:
    """Prints one straight-line function called `name`, over its parameters, in the real type `real`.

    A dialect of C overrides the order of the nodes, the kind of its functions, and the statements that differ.
    """

    function: Function
    name: str
    real: str
    inputs: Mapping[str, CParameter]
    outputs: Mapping[str, CParameter]
    order: list[Scalar] = field(init=False)
    temporary: dict[int, str] = field(init=False)
    called: dict[int, CBody] = field(init=False)  # functions that compounds call, by their ids
    tables: dict[str, str] = field(init=False)  # identifiers by digests

    local: ClassVar[str] = "static void"  # a function that is called in this file only
    inner: ClassVar[str] = "static void"  # one that a compound calls
    constant: ClassVar[str] = "static const"  # an array of constants
    lookup: ClassVar[str] = LOOKUP

    def __post_init__(self) -> None:
        self.function = sunk(self.function)
        roots = [node for output in self.function.outputs for node in output.nodes]
        self.order = results_first(without_slopes(self.arrange(roots), roots))
        self.temporary = {node.id: f"t{k}" for k, node in enumerate(self.order)}
        self.called, self.tables = {}, {}
        for node in self.order:
            table = node.value[0] if node.op == "lookup" else node.value
            if isinstance(table, (Table, Weighted)):
                self.tables.setdefault(table.digest, f"{self.name}_table{len(self.tables)}")
            elif node.op == "compound":
                function = called_function(node.value)
                if id(function) not in self.called:
                    self.called[id(function)] = self._inner(function, f"{self.name}_{self.temporary[node.id]}")

    def array(self, identifier: str, size: int, constant: bool) -> CParameter:
        """A parameter of a function that a compound calls."""
        return CParameter(identifier, (size,), constant)

    def _inner(self, function: Function, name: str) -> CBody:
        inputs = {i.name: self.array(f"in{k}", i.size, True) for k, i in enumerate(function.inputs) if i.size}
        outputs = {
            o.name: self.array(f"out{k}", len(o.nodes), False) for k, o in enumerate(function.outputs) if o.nodes
        }
        return type(self)(function, name, self.real, inputs, outputs)

    def counts(self) -> Counter[str]:
        """The number of operations of each kind, those of compounds once each."""
        direct = Counter(node.op for node in self.order if node.op not in ("compound", "result"))
        return sum((body.counts() for body in self.called.values()), direct)

    @property
    def part(self) -> int:
        """How many statements one function may have."""
        return PART

    def arrange(self, roots: Sequence[Scalar]) -> list[Scalar]:
        """The nodes to compute, arguments first."""
        return [node for node in depth_first(roots) if node.op not in ("const", "input")]

    def helpers(self) -> list[str]:
        """Definitions of the functions in use that C lacks."""
        used = {node.op for node in self.order}
        functions = [text.format(real=self.real, name=self.name) for op, text in HELPERS.items() if op in used]
        return [*self.shared(), *functions]

    def shared(self) -> list[str]:
        """Tables, and the definitions of the called functions."""
        tables = {x.value[0].digest: x.value[0] for x in self.order if x.op == "lookup"}
        head = f"{self.constant} {self.real}"
        listed = [table_of(f"{head} {self.tables[key]}", x.numbers, self.real) for key, x in tables.items()]
        reader = [self.lookup.format(real=self.real, name=self.name)] if tables else []
        inner = [text for body in self.called.values() for text in body.helpers()]
        return [*inner, *listed, *matrices(self), *reader]

    def definitions(self, head: str) -> list[str]:
        """The function whose declaration is `head`; first the functions and parts that it calls."""
        inner = []
        for body in self.called.values():
            declared = [p.declare(self.real) for p in (*body.inputs.values(), *body.outputs.values())]
            inner += body.definitions(declaration(f"{self.inner} {body.name}", declared))
        return [*inner, *self._definitions(head)]

    def _definitions(self, head: str) -> list[str]:
        parts = _cut(self.order, self.part)
        slots = _slots(parts, {node.id: k for k, part in enumerate(parts) for node in part})
        passed = CParameter("w", (max(slots.values(), default=0) + 1,), False)
        every = [*self.inputs.values(), passed, *self.outputs.values()]
        bodies, needed = [], set()
        for k, nodes in enumerate(parts):
            lines, used = self._part(nodes, slots, last=k == len(parts) - 1)
            bodies.append((lines, [p for p in every if p.identifier in used]))
            needed |= used
        lines = [f"(void){p.identifier};" for p in every if p.identifier not in {*needed, "w"}]
        if len(parts) == 1:
            return [block(head, lines + bodies[0][0])]
        if slots:
            lines.append(f"{passed.declare(self.real)}; /* values that pass between the parts */")
        definitions = []
        for k, (statements, taken) in enumerate(bodies):
            declared = declaration(f"{self.local} {self.name}_part{k}", [p.declare(self.real) for p in taken])
            definitions.append(block(declared, statements))
            lines.append(f"{self.name}_part{k}({', '.join(p.identifier for p in taken)});")
        return [*definitions, block(head, lines)]

    def _part(self, nodes: Sequence[Scalar], slots: Mapping[int, int], last: bool) -> tuple[list[str], set[str]]:
        """Statements that compute the nodes and store the outputs among them, and the parameters they use."""
        here, used, lines = {node.id for node in nodes}, set(), []

        def operand(node: Scalar) -> str:
            if node.op == "const":
                return literal(node.value, self.real)
            if node.op == "input":
                parameter, index = self.inputs[node.value[0]].identifier, node.value[1]
                used.add(parameter)
                return f"{parameter}[{index}]"
            if node.id in here:
                return self.temporary[node.id]
            used.add("w")
            return f"(w[{slots[node.id]}] != 0)" if node.boolean else f"w[{slots[node.id]}]"

        stores: list[tuple[int, str]] = []
        for output in self.function.outputs:
            for i, node in enumerate(output.nodes):
                if node.id in here or (last and node.id not in self.temporary):
                    parameter = self.outputs[output.name].identifier
                    used.add(parameter)
                    stores.append((node.id, f"{parameter}[{i}] = {operand(node)};"))
        lines += self.statements(nodes, operand, stores)
        for node in nodes:
            if node.id in slots:
                used.add("w")
                lines.append(f"w[{slots[node.id]}] = {self.temporary[node.id]};")
        return lines, used

    def statements(
        self, nodes: Sequence[Scalar], operand: Callable[[Scalar], str], stores: Sequence[tuple[int, str]]
    ) -> list[str]:
        """Lines that compute the nodes and then store the outputs; stores: pairs of a node's id and a statement."""
        lines = [line for node in nodes for line in self.computed(node, operand)]
        return lines + [store for _, store in stores]

    def computed(self, node: Scalar, operand: Callable[[Scalar], str]) -> list[str]:
        """The statements that compute a node."""
        if node.op == "compound":
            return self.compound(node, operand)
        if node.op == "result":
            whole = node.args[0]
            return [self.assign(node, result_place(whole.value, self.temporary[whole.id], node.value))]
        if node.op == "lookup":
            table, column = node.value
            rows, columns = table.numbers.shape
            place = self.tables[table.digest] + (f" + {column}" if column else "")
            last, row = literal(rows - 1.0, self.real), operand(node.args[0])
            return [self.assign(node, f"{self.name}_lookup({place}, {last}, {columns}, {row})")]
        return [self.assign(node, self.expression(node.op, map(operand, node.args)))]

    def compound(self, node: Scalar, operand: Callable[[Scalar], str]) -> list[str]:
        """Arrays for arguments and results, and the calls between them."""
        compound, name = node.value, self.temporary[node.id]
        if isinstance(compound, (Visited, Weighted)):
            return (visiting if isinstance(compound, Visited) else weighing)(self, node, operand)
        body = self.called[id(called_function(compound))]
        operands = [operand(argument) for argument in compound.evaluated(node.args)]
        lines = []
        for word, p in body.inputs.items():
            numbers, operands = operands[: p.size], operands[p.size :]
            kind = self.real if isinstance(compound, Repeated) and word == "state" else f"const {self.real}"
            lines.append(f"{kind} {name}{p.identifier}[{p.size}] = {{{', '.join(numbers)}}};")
        results = [f"{self.real} {name}{p.identifier}[{p.size}];" for p in body.outputs.values()]
        every = (*body.inputs.values(), *body.outputs.values())
        call = f"{body.name}({', '.join(f'{name}{p.identifier}' for p in every)});"
        if not isinstance(compound, Repeated):
            return [*lines, *results, call]
        state, *captured = lines
        going = "" if compound.settled is None else f"{name}in0[{compound.settled}] == 0"
        passes = [
            *captured,
            *results,
            f"for (; {name}k < {compound.times}{going and ' && '}{going}; ++{name}k) {{",
            f"    {call}",
            *(f"    {line}" for line in self.each(compound.width, f"{name}in0[i] = {name}out0[i];")),
            "}",
        ]
        if going:  # where no pass is made, nothing is copied for it
            passes = [f"if ({going}) {{", *(f"    {line}" for line in passes), "}"]
        return [state, f"int {name}k = 0;", *passes]

    def each(self, size: int, statement: str) -> list[str]:
        """A statement for each i."""
        return [f"for (int i = 0; i < {size}; ++i) {statement}"]

    def assign(self, node: Scalar, expression: str) -> str:
        """The statement that makes the temporary of a node."""
        return f"const {'int' if node.boolean else self.real} {self.temporary[node.id]} = {expression};"

    def expression(self, op: str, operands: Iterable[str]) -> str:
        if op == "dot":
            terms = list(operands)
            half = len(terms) // 2
            return " + ".join(f"{a} * {b}" for a, b in zip(terms[:half], terms[half:], strict=True))
        if op in OPERATORS:
            return OPERATORS[op].format(*operands)
        name = f"{self.name}_{op}" if op in HELPERS else LIBRARY[op] + ("f" if self.real == "float" else "")
        return f"{name}({', '.join(operands)})"


def called_function(compound: Compound) -> Function:
    """The function that a compound evaluates."""
    if isinstance(compound, (Repeated, Visited)):
        return compound.step
    assert isinstance(compound, Called)
    return compound.function


def result_place(compound: Compound, name: str, k: int) -> str:
    """Where the statements of a compound leave result k."""
    if isinstance(compound, Repeated):
        return f"{name}k" if k == compound.width else f"{name}in0[{k}]"
    if isinstance(compound, Weighted):
        return f"{name}r[{k}]"
    if isinstance(compound, Visited):
        return visit_result(compound, name, k)
    for number, output in enumerate(called_function(compound).outputs):
        if k < len(output.nodes):
            return f"{name}out{number}[{k}]"
        k -= len(output.nodes)
    raise AssertionError(k)


def results_first(order: Sequence[Scalar]) -> list[Scalar]:
    """The order with the results of each compound right behind it."""
    results: dict[int, list[Scalar]] = {}
    for node in order:
        if node.op == "result":
            results.setdefault(node.args[0].id, []).append(node)
    return [x for node in order if node.op != "result" for x in (node, *results.get(node.id, ()))]


def _cut(order: Sequence[Scalar], size: int) -> list[list[Scalar]]:
    """Parts of about `size` nodes; results stay with their compound."""
    parts: list[list[Scalar]] = [[]]
    for node in order:
        if len(parts[-1]) >= size and node.op != "result":
            parts.append([])
        parts[-1].append(node)
    return parts


def _slots(parts: Sequence[Sequence[Scalar]], home: Mapping[int, int]) -> dict[int, int]:
    """Places in the array w for values that a later part uses; a place is free again after its value's last use."""
    last = {}
    for k, part in enumerate(parts):
        for node in part:
            last.update({argument.id: k for argument in node.args if home.get(argument.id, k) < k})
    slots: dict[int, int] = {}
    free: list[int] = []
    fresh = count()
    for k, part in enumerate(parts):
        for node in part:
            if node.id in last:
                slots[node.id] = free.pop() if free else next(fresh)
        free += [slots[i] for i, end in last.items() if end == k]
    return slots
