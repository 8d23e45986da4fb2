"""Force elements: forces in a state, states of their own, and their effect on the energy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple, get_type_hints

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Body, Model
from dalembert.typing import Array

from ..system.constraints import Constraint

NOTHING = np.zeros(0)


class Situation(NamedTuple):
    """The situation of an element: time t [s], q (nq,), v (nv,), its own states z, and the commanded forces tau (nv,).

    controls (nu,): of actuators, where these drive the robot.
    """

    model: Model
    t: Any
    q: Array
    v: Array
    z: Array
    tau: Array
    controls: Array = NOTHING


@dataclass(frozen=True)
class Action:
    """The effect of an element.

    tau: body of the joint → generalised force (nv_i,) on it; wrenches: body index → wrench [τ; f] (6,) at its origin,
    in its axes; rate: ż of its own states; lost: power turned into heat [W]; given: power put in from outside [W].
    With the energy U that the element stores, force power = given − lost − dU/dt holds at every instant.
    """

    tau: Mapping[int, Any] = field(default_factory=dict)
    wrenches: Mapping[int, Array] = field(default_factory=dict)
    rate: Any = ()
    lost: Any = 0.0
    given: Any = 0.0

    def __post_init__(self) -> None:
        for name in ("tau", "wrenches"):
            if not isinstance(getattr(self, name), Mapping):
                raise DalembertError(
                    f"Action: {name} is {type(getattr(self, name)).__name__}, expected a mapping from the index of a "
                    "body (as of s.model.body(name)) to what acts on it"
                )


class Element:
    """A force element. Written with arithmetic and `dalembert.math`, so that it computes and traces alike."""

    loses: ClassVar[bool] = False  # whether it can turn energy into heat
    gives: ClassVar[bool] = False  # whether it can put in energy from outside
    enforces: ClassVar[tuple[str, ...]] = ()  # limits of its `joint` that it makes act: "range", "effort"

    def __post_init__(self) -> None:
        """Checks numbers; NumPy scalars become plain numbers, lists and arrays tuples: equal elements compare equal."""
        for name, value in vars(self).items():
            if isinstance(value, np.generic):
                object.__setattr__(self, name, value.item())
            elif isinstance(value, (list, np.ndarray)):
                object.__setattr__(self, name, tuple(np.asarray(value, float).tolist()))
        kind: Any = type(self)
        for name, optional in _number_fields(kind):
            value = getattr(self, name)
            if optional and value is None:
                continue
            if not isinstance(value, (int, float)) or np.isnan(value):
                raise DalembertError(f"{self.label()}: {name} is {value!r}, expected a number")

    def label(self) -> str:
        """Name in the ledger: the kind and where it acts."""
        place = getattr(self, "joint", None) or getattr(self, "frame", None)
        return f"{type(self).__name__}({place})" if place else type(self).__name__

    def prepared(self, model: Model) -> Model:
        """The model with what the element adds to its constants; here the names are checked."""
        return model

    def start(self, model: Model, q: Array, v: Array) -> Array:
        """The element's own states at the beginning."""
        return np.zeros(0)

    def size(self, model: Model) -> int:
        """How many states of its own the element has."""
        return 0

    def act(self, s: Situation) -> Action:
        """Forces and powers in a situation; none by itself of one that only gives constraints."""
        if type(self).constraints is Element.constraints:
            raise TypeError(f"{type(self).__name__} must define act(situation)")
        return Action()

    def advanced(self, z: Array, rate: Array, h: Any) -> Array:
        """Its own states after a fixed step h [s] of first order that sets out with this rate of them."""
        return z + h * rate

    def energy(self, s: Situation) -> Any:
        """Energy stored [J]."""
        return 0.0

    def constraints(self, model: Model) -> tuple[Constraint, ...]:
        """Conditions on the motion that the element keeps: see `sim.system.constraints`."""
        return ()

    def gaps(self, s: Situation) -> list[Any]:
        """Numbers that are positive until something happens: `simulate` locates where one reaches zero."""
        return []

    def jumped(self, gap: int, s: Situation) -> Array:
        """The element's states just after gap number `gap` has reached zero, of numbers; by default as before."""
        return s.z


@cache
def _number_fields(kind: Any) -> tuple[tuple[str, bool], ...]:
    """(name, whether it may be None) of the fields of a dataclass that are annotated as numbers."""
    if not is_dataclass(kind):
        return ()
    try:
        hints = get_type_hints(kind)
    except NameError:  # annotations of a class that was defined inside a function
        return ()
    names = [field.name for field in fields(kind)]
    return tuple((name, hints[name] is not float) for name in names if hints[name] in (float, float | None))


def single(model: Model, joint: str, what: str) -> Body:
    """The body of a joint with one coordinate of its own."""
    body = body_of(model, joint, what)
    if body.joint.nv != 1:
        raise DalembertError(
            f"{what}: joint {joint!r} is {body.joint.kind} with {body.joint.nv} freedoms, expected one with a single "
            "coordinate (revolute, continuous, prismatic, screw)"
        )
    return body


def body_of(model: Model, joint: str, what: str) -> Body:
    """The body of a joint that follows no other one."""
    body = model.joint(joint)
    if (mimic := body.joint.mimic) is not None:
        raise DalembertError(f"{what}: joint {joint!r} follows {mimic.leader!r}: act on that one")
    return body


def positive(what: str, **values: float) -> None:
    """Refuse numbers below zero."""
    for name, value in values.items():
        if not value >= 0.0:
            raise DalembertError(f"{what}: {name} is {value!r}, expected a number ≥ 0")


def above_zero(what: str, **values: float) -> None:
    """Refuse numbers that are not above zero."""
    for name, value in values.items():
        if not value > 0.0:
            raise DalembertError(f"{what}: {name} is {value!r}, expected a number above 0")
