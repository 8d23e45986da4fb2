"""The quantities of a robot, one family per file: inputs, options, shape of the result, docstring, algorithm.

Each is defined once, by a function of a robot and one state; see `quantity`.

In: a `Robot`, arrays, options. Out: the compiled call of this robot, which answers from then on. Read in this order:
`dynamics`, a family; `quantity` and `definition`, what the decorator makes of a function; `kinds`, what an argument can
be; `results`, named tuples; `fast`, calls that stay in machine code; `live`, constants that become inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from dalembert.errors import DalembertError, unknown

from . import (
    configurations,
    derivatives,
    distances,
    dynamics,
    hamilton,
    inverse_kinematics,
    kinematics,
    loops,
    momentum,
    operational,
    products,
    reactions,
    regressor,
    second,
)
from .definition import Variant
from .quantity import Quantity, definition, quantity

if TYPE_CHECKING:
    from dalembert.compiler.execute import Call
    from dalembert.robot import Robot

FAMILIES = (
    dynamics,
    kinematics,
    configurations,
    derivatives,
    momentum,
    reactions,
    regressor,
    operational,
    products,
    second,
    hamilton,
    loops,
    inverse_kinematics,
    distances,
)
CATALOGUE: dict[str, Quantity] = {
    definition(function).name: definition(function)
    for family in FAMILIES
    for function in vars(family).values()
    if hasattr(function, "quantity")
}


def find(what: str | Callable[..., Any] | Quantity, owner: str) -> Quantity:
    """A quantity of the catalogue by name, or by its function; owner: the caller's name, for messages."""
    if isinstance(what, Quantity):
        return what
    if not callable(what):
        if not isinstance(what, str) or what not in CATALOGUE:
            raise unknown("quantity", what, CATALOGUE, owner)
        return CATALOGUE[what]
    if not hasattr(what, "quantity"):
        raise DalembertError(f"{owner}: expected the name of a quantity or a function made by `quantity`, got {what!r}")
    return definition(what)


def compiled(
    robot: Robot, what: str | Callable[..., Any] | Quantity, live: str | Iterable[str] = (), **options: Any
) -> Call:
    """The compiled call of a quantity with these options, all of them checked; None: the default."""
    chosen = find(what, f"robot {robot.name!r}")
    return chosen.call(robot, chosen.variant(robot.model, live, **options))


__all__ = ["CATALOGUE", "Quantity", "Variant", "compiled", "definition", "find", "quantity"]
