"""From a quantity of a model to its equation: trace it with symbols for its constants, simplify, write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.compiler.backends import sympy as symbolic
from dalembert.compiler.backends.sympy import sympy
from dalembert.compiler.graph import Function, trace
from dalembert.errors import DalembertError, unknown
from dalembert.model import Model
from dalembert.quantities import Quantity, Variant
from dalembert.robot import Robot

from . import cramer
from .arrange import Arranger, rounded
from .equation import Equation
from .laurent import TERMS, Polynomial, Ring, TooLong
from .parameters import INPUT, names, parameters, rebuilt

ONE: Polynomial = {0: 1.0 + 0j}
WRENCH = {"torque": "n", "force": "F", "point": "p"}
RATES = {"v": "dot", "a": "ddot"}  # v is q̇ where a joint has as many coordinates as freedoms


def derive(
    quantity: Quantity,
    robot: Robot,
    variant: Variant,
    groups: tuple[str, ...],
    simplify: bool,
    rename: Mapping[str, str],
) -> Equation:
    """The equation of a quantity; see `Robot.equations`."""
    name, model = quantity.name, robot.model
    named = names(model, groups) if groups else {}
    sizes = quantity.sizes(model, variant)
    _check(rename, [*named.values(), *_coordinates(model, sizes).values()])
    by_entry = parameters(named, rename)
    constants = {p.name: p for p in by_entry.values()}
    place = {p: k for k, p in enumerate(constants)}

    solving = simplify and cramer.applies(name, model)
    evaluate = cramer.system if solving else quantity.outputs

    def compute(*inputs: np.ndarray) -> Any:
        if not constants:
            return evaluate(robot, variant, *inputs)
        symbolic_model = rebuilt(model, groups, lambda entry: inputs[-1][place[by_entry[entry].name]])
        return evaluate(Robot(symbolic_model), variant, *inputs[:-1])

    function = trace(compute, sizes | ({INPUT: len(constants)} if constants else {}), name)
    every = _variables(_coordinates(model, sizes), list(constants), rename)
    variables = {(i.name, k): every[i.name, k] for i in function.inputs for k in range(i.size)}
    if simplify:
        write, monomials = _simplified(function, variables, bool(groups), model)
    else:
        write, monomials = _plain(function, variables), 0
    shape = cramer.SHAPES[name](model.nv) if solving else function.outputs[0].shape
    return Equation(name, model.name, shape, tuple(constants.values()), variables, write, monomials)


def _check(rename: Mapping[str, str], known: list[str]) -> None:
    for name in rename:
        if name not in known:
            raise unknown("symbol", name, known, "equations")


def _coordinates(model: Model, sizes: Mapping[str, int]) -> dict[tuple[str, int], str]:
    """Input (name, index) → the usual name of its symbol; those of motion always, others as the quantity has them."""
    flat, symbol_names = model.flat, {}
    for name, size in ({"q": model.nq, "v": model.nv, "a": model.nv} | dict(sizes)).items():
        for k in range(size):
            if name in RATES and flat:
                symbol_names[name, k] = _derivative(f"q_{k + 1}", RATES[name])
            elif name.startswith("external["):
                symbol_names[name, k] = _wrench(name, k, several="external[1].force" in sizes)
            else:
                symbol_names[name, k] = f"{name}_{k + 1}"
    return symbol_names


def _variables(
    coordinates: Mapping[tuple[str, int], str], constants: list[str], rename: Mapping[str, str]
) -> dict[tuple[str, int], Any]:
    """Input (name, index) → symbol, each with a unique name; rates are named after their coordinate."""
    s, symbols = sympy(), {}
    for (name, k), usual in coordinates.items():
        dots = RATES.get(name, "")
        if dots and usual == _derivative(f"q_{k + 1}", dots) and usual not in rename:
            text = _derivative(rename.get(f"q_{k + 1}", f"q_{k + 1}"), dots)
        else:
            text = rename.get(usual, usual)
        symbols[name, k] = s.Symbol(text)
    symbols |= {(INPUT, k): s.Symbol(text) for k, text in enumerate(constants)}
    seen: set[str] = set()
    for symbol in symbols.values():
        if symbol.name in seen:
            raise DalembertError(f"equations: two symbols are called {symbol.name!r}: rename one of them")
        seen.add(symbol.name)
    return symbols


def _wrench(name: str, k: int, several: bool) -> str:
    """external[0].force → F_x, or F_1x where there are several wrenches."""
    number, _, field = name.removeprefix("external[").partition("].")
    return f"{WRENCH[field]}_{int(number) + 1 if several else ''}{'xyz'[k]}"


def _derivative(name: str, dots: str) -> str:
    """q_1 → qdot_1, which prints with a dot above the letter."""
    head, underscore, tail = name.partition("_")
    return f"{head}{dots}{underscore}{tail}"


def _simplified(
    function: Function, variables: Mapping[tuple[str, int], Any], exact: bool, model: Model
) -> tuple[Any, int]:
    ring = Ring(nonzero=INPUT)
    try:
        outputs = ring.polynomials(function)
        polynomials, divisor = cramer.solved(ring, *outputs) if len(outputs) == 2 else (outputs[0], ONE)
        if (count := ring.count([*polynomials, divisor])) > TERMS:
            raise TooLong(f"{count} terms")
    except TooLong as error:
        raise DalembertError(
            f"equations: {function.name} of robot {model.name!r} is too long for paper ({error}): ask for a smaller "
            "quantity such as gravity, for fewer symbols, for a part of the robot, or for simplify=False"
        ) from None

    def write(**how: Any) -> Sequence[Any]:
        arranger = Arranger(ring, variables, exact, **how)
        under = [] if divisor == ONE else [sympy().Pow(arranger.expression(divisor), -1)]
        return [arranger.product([arranger.expression(p), *under]) if p else sympy().Integer(0) for p in polynomials]

    return write, count


def _plain(function: Function, variables: Mapping[tuple[str, int], Any]) -> Any:
    inputs: dict[str, list[Any]] = {i.name: [variables[i.name, k] for k in range(i.size)] for i in function.inputs}
    s, elements = sympy(), list(symbolic.run(function, inputs)[function.outputs[0].name].ravel())

    def write(digits: int | None = None, **how: Any) -> Sequence[Any]:
        if digits is None:
            return elements
        return [x.xreplace({n: rounded(float(n), digits) for n in x.atoms(s.Float)}) for x in elements]

    return write
