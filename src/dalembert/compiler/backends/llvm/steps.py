"""Machine steps of a traced function: its operations in order, products and sums fused, transcendentals in waves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from dalembert.compiler.graph import Scalar
from dalembert.compiler.graph.repeat import Repeated
from dalembert.compiler.graph.sinking import share

LOOPED = ("sin", "cos", "exp", "log", "tanh")  # of one argument: done for many arguments in one loop
WHOLES = (*LOOPED, "dot", "compound", "result")  # computed together with others, where the first of them is needed
NEVER = 1 << 30
NOBODY = -1


@dataclass(slots=True, eq=False)
class Step:
    """node = op(*args); op is an operation of the graph, or fma (x·y+z), fms (x·y−z), fnma (z−x·y)."""

    node: Scalar
    op: str
    args: tuple[Scalar, ...]


@dataclass
class Looped:
    """One loop over arguments: `kind` is sincos, exp, log or tanh; results start at slot `base`."""

    kind: str
    arguments: list[Scalar] = field(default_factory=list)
    index: dict[int, int] = field(default_factory=dict)  # argument's id → its place
    results: list[tuple[Scalar, int, int]] = field(default_factory=list)  # node, which argument, sin 0 or cos 1
    base: int = 0

    def take(self, step: Step) -> None:
        """One more result."""
        (argument,) = step.args
        index = self.index.setdefault(argument.id, len(self.arguments))
        if index == len(self.arguments):
            self.arguments.append(argument)
        self.results.append((step.node, index, int(step.op == "cos")))

    def lanes(self, group: int) -> int:
        """Arguments computed at once, of at most `group`: no wider than they need."""
        return min(group, 1 << (len(self.arguments) - 1).bit_length())

    def slot(self, index: int, which: int, group: int) -> int:
        """Slot of result `which` of an argument, results stored by groups of lanes."""
        lanes, results = self.lanes(group), 2 if self.kind == "sincos" else 1
        return self.base + (index // lanes) * results * lanes + which * lanes + index % lanes

    def size(self, group: int) -> int:
        """Slots of all results."""
        lanes = self.lanes(group)
        return -(-len(self.arguments) // lanes) * lanes * (2 if self.kind == "sincos" else 1)


def waves(steps: list[Step]) -> list[list[Step] | Looped]:
    """The steps in an order in which transcendentals are computed many at a time.

    A wave is the loops whose arguments need the same number of earlier waves; before it come the steps that it needs
    and that have not been done, after the last wave all others. The stages of an integrator become waves of their own.
    """
    if not any(step.op in LOOPED for step in steps):
        return [steps]
    before: dict[int, int] = {}  # node → waves that must have run
    loops: dict[tuple[int, str], Looped] = {}
    products: dict[int, int] = {}  # block of a product → waves before it: all entries need the same nodes
    for step in steps:
        wave = products.get(id(step.node.value[0])) if step.op == "dot" else None
        if wave is None:
            wave = max([before.get(a.id, 0) for a in needs(step)], default=0)
        if step.op == "dot":
            products[id(step.node.value[0])] = wave
        before[step.node.id] = wave + (step.op in LOOPED)
        if step.op in LOOPED:
            kind = "sincos" if step.op in ("sin", "cos") else step.op
            loops.setdefault((wave, kind), Looped(kind)).take(step)
    due: dict[int, int] = {}  # node → the first wave that needs it
    noted: dict[int, int] = {}  # block of a product → the first wave that needs an entry
    for step in reversed(steps):
        wave = before[step.node.id] - 1 if step.op in LOOPED else due.get(step.node.id, NEVER)
        if step.op == "dot":
            if wave >= noted.get(id(step.node.value[0]), NEVER + 1):
                continue
            noted[id(step.node.value[0])] = wave
        for a in needs(step):
            if wave < due.get(a.id, NEVER):
                due[a.id] = wave
    plain: dict[int, list[Step]] = {}
    for step in steps:
        if step.op not in LOOPED:
            plain.setdefault(due.get(step.node.id, NEVER), []).append(step)
    order: list[list[Step] | Looped] = []
    for wave in sorted({wave for wave, _ in loops}):
        order += [plain.pop(wave, []), *(loop for (w, _), loop in loops.items() if w == wave)]
    return [*order, plain.pop(NEVER, [])]


def deferred(steps: list[Step], kept: Iterable[Scalar]) -> tuple[list[Step], dict[int, list[Step]]]:
    """The steps without those that only a repetition needs, which may make no pass; these, by the id of its node.

    The repetition then has the arguments of its deferred steps as well. kept: nodes that are needed in any case.
    """
    if not any(step.op == "compound" and _is_optional(step.node) for step in steps):
        return steps, {}
    owners: dict[int, int] = {node.id: NOBODY for node in kept}  # node → the only repetition that needs it so far
    for step in reversed(steps):
        required = needs(step)
        if step.op == "compound" and _is_optional(step.node):
            required, optional = required[: step.node.value.width], required[step.node.value.width :]
            share(owners, optional, step.node.id, NOBODY)
        share(owners, required, _owner(step, owners), NOBODY)
    later: dict[int, list[Step]] = {}
    for step in steps:
        if (owner := _owner(step, owners)) != NOBODY:
            later.setdefault(owner, []).append(step)
    moved = {step.node.id for listed in later.values() for step in listed}
    order = []
    for step in steps:
        if step.node.id in later:
            more = {a.id: a for each in later[step.node.id] for a in each.args if a.id not in moved}
            step = Step(step.node, step.op, (*step.args, *more.values()))
        if step.node.id not in moved:
            order.append(step)
    return order, later


def _owner(step: Step, owners: dict[int, int]) -> int:
    """The only repetition that needs a step, or NOBODY."""
    return NOBODY if step.op in WHOLES else owners.get(step.node.id, NOBODY)


def _is_optional(node: Scalar) -> bool:
    return isinstance(node.value, Repeated) and node.value.settled is not None


def split(steps: Iterable[Step]) -> list[list[Step] | Step]:
    """Lists of steps, and between them products and compounds, each where the first of its results is due.

    Results of compounds come as soon as these are known, and an entry of a product at its place.
    """
    entries: list[list[Step] | Step] = []
    current: list[Step] = []
    begun: set[int] = set()  # ids of blocks of products
    for step in steps:
        opens = step.op == "compound" or (step.op == "dot" and id(step.node.value[0]) not in begun)
        if opens and current:
            entries.append(current)
            current = []
        if step.op == "dot":
            begun.add(id(step.node.value[0]))
        if step.op in ("dot", "compound", "result"):
            entries.append(step)
        else:
            current.append(step)
    return [*entries, current] if current else entries


def needs(step: Step) -> tuple[Scalar, ...]:
    """The nodes that a step needs; an entry of a product needs all entries of both factors."""
    return step.node.value[0].nodes if step.op == "dot" else step.args


def fuse(order: list[Scalar], roots: list[Scalar]) -> list[Step]:
    """Steps of a schedule with products folded into the sums that use them, where every use of a product allows it.

    Of two products the older one is folded, in differences as in sums: legs that turn the other way stay alike.
    """
    users = Counter([a.id for node in order for a in node.args])
    users.update([root.id for root in roots])
    summed = Counter([a.id for node in order if node.op in ("add", "sub") for a in node.args])
    foldable = {n.id for n in order if n.op == "mul" and users[n.id] == summed[n.id]}
    chosen: dict[int, int] = {}  # sum → position of the product it takes in
    taken: Counter[int] = Counter()
    for node in order:
        if node.op in ("add", "sub"):
            options = [k for k, a in enumerate(node.args) if a.id in foldable]
            if options:
                k = min(options, key=lambda k: (users[node.args[k].id], node.args[k].id))
                chosen[node.id] = k
                taken[node.args[k].id] += 1
    vanished = {id for id in foldable if taken[id] == users[id]}
    steps = []
    for node in order:
        if node.op in ("const", "input") or node.id in vanished:
            continue
        if node.id not in chosen:
            steps.append(Step(node, node.op, node.args))
            continue
        k = chosen[node.id]
        x, y = node.args[k].args
        op = "fma" if node.op == "add" else ("fms" if k == 0 else "fnma")
        steps.append(Step(node, op, (x, y, node.args[1 - k])))
    return steps
