"""Statements: the nodes of a function as C, cut into parts where there are many; functions that they call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import ClassVar

from dalembert.compiler.graph import Function, Scalar
from dalembert.compiler.graph.compound import Compound
from dalembert.compiler.graph.repeat import Repeated
from dalembert.compiler.graph.schedule import depth_first
from dalembert.compiler.graph.visit import Visited

from .arrays import INITIALISED, Arguments, Place, affine, copies
from .names import CParameter
from .needs import needed_nodes, sinking
from .text import Source, block, declaration, literal

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
    "lookup": """\
static {real} {name}_lookup(const {real} *table, {real} last, int columns, {real} row)
{{
    return row != row ? row : table[(long)(row < 0 ? 0 : row > last ? last : row) * columns];
}}""",
}


class CBody:
    """Prints one straight-line function called `name`.

    inputs, outputs: the places of their numbers, by name. A dialect of C overrides the order of the nodes, the kind of
    its functions, and the statements that differ.
    """

    local: ClassVar[str] = "static void"  # a function that is called in this file only
    inner: ClassVar[str] = "static void"  # one that a compound calls
    constant: ClassVar[str] = "static const"

    def __init__(
        self,
        function: Function,
        name: str,
        real: str,
        parameters: Sequence[CParameter],
        inputs: Mapping[str, Sequence[Place]],
        outputs: Mapping[str, Sequence[Place]],
        source: Source | None = None,
    ) -> None:
        self.function, self.name, self.real, self.parameters = sinking(function), name, real, list(parameters)
        self.inputs, self.outputs = inputs, outputs
        self.source = Source(name, real, self.constant) if source is None else source
        roots = [node for output in self.function.outputs for node in output.nodes]
        self.order = results_first(needed_nodes(self.arrange(roots), roots))
        self.temporary = {node.id: f"t{k}" for k, node in enumerate(self.order)}
        self.at = {node.id: k for k, node in enumerate(self.order)}
        self.kinds = {p.identifier: kind for p in parameters if (kind := self.kind(p)) is not None}
        self.used: set[str] = set()  # parameters, and arrays of other parts, that the statements of a part use
        self.hoisted: dict[str, CParameter] = {}  # arrays that several parts use
        self.shared: set[int] = set()  # compounds whose results other parts use

    def kind(self, parameter: CParameter) -> str | None:
        """The type of a pointer into a parameter, "" for a plain pointer; None: there is none."""
        return getattr(parameter, "kind", "")

    def counts(self) -> Counter[str]:
        """The number of operations of each kind, those of the functions that were called once each."""
        direct = Counter(node.op for node in self.order if node.op not in ("compound", "result"))
        if self.source.functions.get(None) is self:
            return sum((body.counts() for key, body in self.source.functions.items() if key is not None), direct)
        return direct

    @property
    def part(self) -> int:
        """How many statements one function may have."""
        return PART

    def arrange(self, roots: Sequence[Scalar]) -> list[Scalar]:
        """The nodes to compute, arguments first."""
        return [node for node in depth_first(roots) if node.op not in ("const", "input")]

    def definitions(self, start: str) -> list[str]:
        """All that the file defines, the last one this function; start: its declaration up to the name."""
        self.source.functions[None] = self
        texts = self.own(start)
        return [*self.source.helpers.values(), *self.source.texts, *texts]

    def own(self, start: str) -> list[str]:
        """The function, behind its parts."""
        parts = _cut(self.order, self.part)
        home = {node.id: k for k, part in enumerate(parts) for node in part}
        slots = self._slots(parts, home)
        passed = CParameter("w", (max(slots.values(), default=0) + 1,), False)
        bodies, needed = [], set()
        for k, nodes in enumerate(parts):
            self.used = set()
            lines = self._part(nodes, slots, last=k == len(parts) - 1)
            bodies.append(([*self.known_arrays(), *lines], self.used))
            needed |= self.used
        head = declaration(start, [p.declare(self.real) for p in (*self.parameters, *self.further)])
        every = [*self.parameters, *self.further, *self.hoisted.values(), passed]
        unused = [f"(void){p.identifier};" for p in self.parameters if p.identifier not in needed]
        if len(parts) == 1:
            return [block(head, [*unused, *bodies[0][0]])]
        lines = [*unused, *(f"{p.declare(self.real)};" for p in self.hoisted.values())]
        if slots:
            lines.append(f"{passed.declare(self.real)}; /* values that pass between the parts */")
        definitions = []
        for k, (statements, used) in enumerate(bodies):
            taken = [p for p in every if p.identifier in used]
            declared = declaration(f"{self.local} {self.name}_part{k}", [p.declare(self.real) for p in taken])
            definitions.append(block(declared, statements))
            lines.append(f"{self.name}_part{k}({', '.join(p.identifier for p in taken)});")
            lines += self.after_call(used)
        return [*definitions, block(head, lines)]

    @property
    def further(self) -> list[CParameter]:
        """Parameters behind those of inputs and outputs, once the statements are written."""
        return []

    def known_arrays(self) -> list[str]:
        """Declarations of arrays of other parts that the statements of a part use."""
        return []

    def after_call(self, used: Iterable[str]) -> list[str]:
        """Statements after the call of a function with these arguments."""
        return []

    def _part(self, nodes: Sequence[Scalar], slots: Mapping[int, int], last: bool) -> list[str]:
        """Statements that compute the nodes and store the outputs among them."""
        self._nodes, self._slots_of = {node.id for node in nodes}, slots
        stores: list[tuple[int, str]] = []
        for output in self.function.outputs:
            for node, place in zip(output.nodes, self.outputs.get(output.name, ()), strict=True):
                if node.id in self._nodes or (last and node.id not in self.temporary):
                    self.used.add(place.array)
                    stores.append((node.id, f"{place.array}[{place.at}] = "))
        lines = self.statements(nodes, stores)
        for node in nodes:
            if node.id in slots:
                self.used.add("w")
                lines.append(f"w[{slots[node.id]}] = {self.temporary[node.id]};")
        return lines

    def operand(self, node: Scalar) -> str:
        """How statements of the part that is being written name a value."""
        if node.op == "const":
            return literal(node.value, self.real)
        place = self.place(node)
        if place is not None:
            self.used.add(place.array)
            return f"{place.array}[{place.at}]"
        if node.id in self._nodes:
            return self.temporary[node.id]
        self.used.add("w")
        place_in_w = f"w[{self._slots_of[node.id]}]"
        return f"({place_in_w} != 0)" if node.boolean else place_in_w

    def statements(self, nodes: Sequence[Scalar], stores: Sequence[tuple[int, str]]) -> list[str]:
        """Lines that compute the nodes and then store the outputs; stores: pairs of a node's id and the place."""
        lines = [line for node in nodes for line in self.computed(node)]
        return lines + self.stored(stores)

    def stored(self, stores: Sequence[tuple[int, str]]) -> list[str]:
        """The statements that store outputs."""
        known = {node.id: node for output in self.function.outputs for node in output.nodes}
        return [f"{target}{self.operand(known[i])};" for i, target in stores]

    def computed(self, node: Scalar) -> list[str]:
        """The statements that compute a node."""
        if node.op == "compound":
            from .loops import statements

            return statements(self, node)
        if node.op == "result":
            whole = node.args[0]
            return [self.assign(node, f"{self.temporary[whole.id]}k")] if self.place(node) is None else []
        operands = [self.operand(a) for a in node.args]
        if node.op == "lookup":
            table, column = node.value
            rows, columns = table.numbers.shape
            place = self.source.table(table.numbers) + (f" + {column}" if column else "")
            call = self.helper("lookup", [place, literal(rows - 1.0, self.real), str(columns), *operands])
            return [self.assign(node, call)]
        return [self.assign(node, self.expression(node.op, operands))]

    def assign(self, node: Scalar, expression: str) -> str:
        """The statement that makes the temporary of a node."""
        return f"const {'int' if node.boolean else self.real} {self.temporary[node.id]} = {expression};"

    def helper(self, op: str, operands: Iterable[str]) -> str:
        """The call of a function that C lacks."""
        if op not in self.source.helpers:
            self.source.helpers[op] = self.definition(op)
        return f"{self.source.name}_{op}({', '.join(operands)})"

    def definition(self, op: str) -> str:
        """The definition of such a function."""
        return HELPERS[op].format(name=self.source.name, real=self.real)

    def expression(self, op: str, operands: Iterable[str]) -> str:
        if op == "dot":
            terms = list(operands)
            half = len(terms) // 2
            return " + ".join(f"{a} * {b}" for a, b in zip(terms[:half], terms[half:], strict=True))
        if op in OPERATORS:
            return OPERATORS[op].format(*operands)
        if op in HELPERS:
            return self.helper(op, operands)
        return f"{LIBRARY[op]}{'f' if self.real == 'float' else ''}({', '.join(operands)})"

    # ---- arrays

    def place(self, node: Scalar) -> Place | None:
        """The array that holds a node, an input or the result of a compound."""
        if node.op == "input":
            return self.inputs[node.value[0]][node.value[1]]
        if node.op == "result":
            whole = node.args[0]
            return result_place(whole.value, self.temporary[whole.id], node.value)
        return None

    def stepping(self, row: Sequence[Scalar]) -> tuple[Place, int] | None:
        """The first place and the distance, where a pointer can go from number to number of a row."""
        places = [self.place(node) for node in row]
        stride = affine(places)
        first = places[0]
        if stride is None or first is None or first.array not in self.kinds:
            return None
        return first, stride

    def array(self, name: str, size: int, node: Scalar, result: bool = False) -> list[str]:
        """The declaration of an array for a compound; result: it holds results, which later parts may use."""
        self.kinds[name] = ""
        if result and node.id in self.shared:
            self.hoisted[name] = CParameter(name, (size,), False)
            self.used.add(name)
            return []
        return [f"{self.real} {name}[{size}];"]

    def filled(
        self, name: str, nodes: Sequence[Scalar], node: Scalar, constant: bool = False, result: bool = False
    ) -> list[str]:
        """The declaration of an array with these numbers."""
        (line,) = self.array(name, len(nodes), node, result) or [""]
        if len(nodes) <= INITIALISED and line.endswith(f"{name}[{len(nodes)}];"):
            texts = ", ".join(self.operand(x) for x in nodes)
            return [f"{'const ' if constant else ''}{line[:-1]} = {{{texts}}};"]
        return [line] * bool(line) + self.copied(name, nodes)

    def copied(self, target: str, nodes: Sequence[Scalar], offset: int = 0) -> list[str]:
        """Statements that write numbers into an array, from `offset` on."""
        places = [self.place(x) for x in nodes]
        self.used.update(p.array for p in places if p is not None)
        return copies(places, lambda k: self.operand(nodes[k]), target, offset)

    def calling(
        self,
        function: Function,
        arguments: Arguments,
        inputs: Mapping[str, Sequence[Place]],
        outputs: Mapping[str, Sequence[Place]],
    ) -> list[str]:
        """The call of the function of a compound."""
        called = self.callee(function, arguments.parameters, inputs, outputs)
        texts = [*arguments.texts, *(self.argument(p, called) for p in called.further)]
        return [f"{called.name}({', '.join(texts)});", *self.after_call([p.identifier for p in called.further])]

    def points_into_arrays(self, function: Function) -> bool:
        """Whether a called function reads arrays where they are; else it gets copies of the numbers that it needs."""
        return True

    def argument(self, parameter: CParameter, called: CBody) -> str:
        """Argument for one of the further parameters of a called function."""
        raise AssertionError(parameter)

    def each(self, size: int, statement: str) -> list[str]:
        """A statement for each i."""
        return [f"for (int i = 0; i < {size}; ++i) {statement}"]

    def callee(
        self,
        function: Function,
        parameters: Sequence[CParameter],
        inputs: Mapping[str, Sequence[Place]],
        outputs: Mapping[str, Sequence[Place]],
    ) -> CBody:
        """The function that a compound calls: a known one where that does the same."""
        key = (
            function.fingerprint(),
            tuple((p.declare("")) for p in parameters),
            tuple((name, *places) for name, places in (*inputs.items(), *outputs.items())),
        )
        known = self.source.functions.get(key)
        if known is None:
            name = f"{self.source.name}_f{len(self.source.functions)}"
            known = self.source.functions[key] = type(self)(
                function, name, self.real, parameters, inputs, outputs, self.source
            )
            self.source.texts += known.own(f"{known.inner} {name}")
        return known

    def _slots(self, parts: Sequence[Sequence[Scalar]], home: Mapping[int, int]) -> dict[int, int]:
        """Places in the array w for values that a later part uses; a place is free again after its value's last use."""
        last: dict[int, int] = {}
        for k, part in enumerate(parts):
            for node in part:
                for argument in node.args:
                    if home.get(argument.id, k) >= k or argument.op == "compound":
                        continue
                    if self.place(argument) is None:
                        last[argument.id] = k
                    elif argument.op == "result":
                        self.shared.add(argument.args[0].id)
        slots: dict[int, int] = {}
        free: list[int] = []
        fresh = count()
        for k, part in enumerate(parts):
            for node in part:
                if node.id in last:
                    slots[node.id] = free.pop() if free else next(fresh)
            free += [slots[i] for i, end in last.items() if end == k]
        return slots


def places(parameters: Mapping[str, CParameter]) -> dict[str, list[Place]]:
    """The places of the numbers of whole parameters, by name."""
    return {name: [Place(p.identifier, k) for k in range(p.size)] for name, p in parameters.items()}


def result_place(compound: Compound, name: str, k: int) -> Place | None:
    """Where the statements of a compound leave result k; None: the number of passes, no array has that."""
    if isinstance(compound, Repeated):
        return None if k == compound.width else Place(f"{name}s", k)
    if isinstance(compound, Visited) and not compound.sizes.written:  # its table is that of the arguments
        return Place(f"{name}r", k - compound.sizes.table)
    return Place(f"{name}r", k)


def results_first(order: Sequence[Scalar]) -> list[Scalar]:
    """The order with the results of each compound right behind it."""
    results: dict[int, list[Scalar]] = {}
    for node in order:
        if node.op == "result":
            results.setdefault(node.args[0].id, []).append(node)
    return [x for node in order if node.op != "result" for x in (node, *results.get(node.id, ()))]


def _cut(order: Sequence[Scalar], size: int) -> list[list[Scalar]]:
    """Parts of about `size` statements; results stay with their compound."""
    parts: list[list[Scalar]] = [[]]
    statements = 0
    for node in order:
        if statements >= size and node.op != "result":
            parts.append([])
            statements = 0
        parts[-1].append(node)
        statements += node.op != "result"
    return parts
