"""One step at a time, for loops that are written in Python: a compiled step that is called like any other function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.execute import Call
from dalembert.functions.guards import function_call
from dalembert.graph import trace
from dalembert.model import Model

from ..elements.base import Element
from ..elements.contact import with_contact
from ..integrators.catalogue import integrator_for
from ..integrators.record import Integrator
from ..system.drive import Command
from ..system.system import System
from .rollout import prepared


class Stepper:
    """q, v = stepper(q, v, tau): the state after one step of `step` [s], tau (…, nv) held [N·m, N], 0 if left out.

    One state or any batch, of NumPy or another library, as with the methods of `Robot`, with their keywords threads and
    check. Where the Newton iteration of an implicit integrator does not settle, as always in float32, or a number
    overflows, the state is NaN, which the next step refuses.
    `call` is the function behind it, whose result is [q; v] in one array.
    """

    def __init__(
        self,
        model: Model,
        step: float,
        integrator: str | Integrator | None,
        elements: Sequence[Element],
        friction: str | None = None,
        contact: Any = None,
    ) -> None:
        self.model, self.step, self.elements, self.friction, self.contact = (
            model,
            step,
            tuple(elements),
            friction,
            contact,
        )
        self._asked = integrator
        self.integrator = integrator_for("stepper", integrator, "semi-implicit", contact)
        self.call = _compiled(model, step, self.integrator, self.elements, friction, contact)
        self._fast = self.call.builtin("stepper", "(q, v, tau)\n--\n\n", self.call)
        self._nothing = np.zeros(model.nv)

    def __call__(self, q: Any, v: Any, tau: Any = None, **keywords: Any) -> tuple[Any, Any]:
        x = self._fast(q, v, self._nothing if tau is None else tau, **keywords)
        n = self.model.nq
        return x[..., :n], x[..., n:]

    def __repr__(self) -> str:
        return f"<Stepper of robot {self.model.name!r}: {self.integrator.name}, {self.step:g} s>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Stepper, (self.model, self.step, self._asked, self.elements, self.friction, self.contact)


def _compiled(
    model: Model, step: float, method: Integrator, elements: tuple[Element, ...], friction: str | None, contact: Any
) -> Call:
    if not (isinstance(step, (int, float, np.number)) and 0.0 < float(step) < np.inf):
        raise DalembertError(f"stepper: step is {step!r}, expected a time above 0 [s]")
    if not model.nv:
        raise DalembertError(f"stepper: robot {model.name!r} has no joint that moves")
    for element in elements:
        if isinstance(element, Element) and element.size(model):
            raise DalembertError(f"stepper: {element.label()} keeps a state of its own: use `rollout` or `simulate`")
    model, elements = prepared("stepper", model, elements, method, friction)
    elements = with_contact("stepper", model, elements, contact)
    system = System(model, elements, None, driven=True, ledger=False, impulsive=True)
    take, memory = method.fixed_step, np.zeros(system.layout.nz)

    def compute(t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        q1, e1 = take(system, t[0], t[0].lift(step), q, np.concatenate([v, memory]), Command.held(tau).flat())
        return np.concatenate([q1, system.layout.velocity(e1)])

    sizes = {"q": model.nq, "v": model.nv, "tau": model.nv}
    if any(node.op == "input" and node.value[0] == "t" for node in trace(compute, {"t": 1, **sizes}).schedule()):
        raise DalembertError("stepper: the elements depend on time, which a step does not know: use `simulate`")

    def at_any_time(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return compute(tau[:1], q, v, tau)

    return function_call(model, "stepper", sizes, at_any_time)
