"""Elements of a mechanism as generalised forces: their sum and its slopes, and what chosen actuators must do.

Elements act as at the time 0 of a run that begins in `robot.start`: functions of time have that value, cylinders the
length to which they were filled.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import one_line
from dalembert.compiler.graph import jacobian
from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError, unknown
from dalembert.linear import is_zero
from dalembert.model import Model
from dalembert.quantities.added import AddedForces
from dalembert.quantities.guards import function_call
from dalembert.quantities.tangent import spread
from dalembert.sim.elements import Action, Element, IndependentJoints
from dalembert.sim.system.system import System
from dalembert.typing import Array

from .elements import AxisForce, LineForce

if TYPE_CHECKING:
    from .robot import MechanismRobot

CONSISTENT = 1e-8  # share of the forces that may be left over


class Efforts(NamedTuple):
    """tau (nu,) of the chosen actuators [N·m or N] in the order in which they were named, and multipliers (nc,)."""

    tau: Array
    multipliers: Array

    def __repr__(self) -> str:
        return one_line(self)


def generalized(system: System, q: Array, v: Array, z: Array) -> Array:
    """The generalised force (nv,) of all elements of a system at the time 0."""
    model = system.model
    acting = system.acting(0.0, q, system.layout.packed(v, z, np.zeros(system.layout.nm), np.zeros(0)), np.zeros(0))
    still = np.zeros(model.nv)
    weightless = replace(model, gravity=np.zeros(3)).without("springs", "surroundings")
    return acting.forces - algorithms.rnea(weightless, q, still, still, acting.wrenches)


def acting_alone(robot: MechanismRobot, where: str) -> tuple[System, Array]:
    """The system of the robot's elements, and their states; refuses elements that are more than forces of q and v."""
    system = System(robot.model, _forces(robot.elements), ledger=False)
    for element in system.elements:
        if element.prepared(robot.model) != robot.model:
            raise DalembertError(
                f"{where}: {element.label()!r} of mechanism {robot.name!r} changes the inertia of its joint: leave it "
                "out, and give that joint the armature"
            )
    z = np.concatenate([np.zeros(0), *(x.start(robot.model, *robot.start) for x in system.elements)])
    rows = [(element.label(), row) for element in system.elements for row in element.constraints(robot.model)]
    for name, row in rows:
        if not row.admissible.switches:
            raise DalembertError(
                f"{where}: {name!r} of mechanism {robot.name!r} holds its motion, as a wheel does: "
                "robot.eigenvalues(q, v) has small deviations from a steady motion"
            )
    if rows:
        names = ", ".join(repr(name) for name, _ in rows)
        warnings.warn(f"{where}: {names} of mechanism {robot.name!r}: stops and dry friction are ignored", stacklevel=5)
    return system, z


def _forces(elements: Sequence[Element]) -> tuple[Element, ...]:
    return tuple(element for element in elements if not isinstance(element, IndependentJoints))


def compiled_forces(robot: MechanismRobot) -> Any:
    """q (…, nq), v (…, nv) → force, dq, dv, compiled."""
    model = robot.model
    system, z = acting_alone(robot, "linearize")

    def compute(q: Array, v: Array) -> dict[str, Array]:
        layout = system.layout
        e = layout.packed(v, z, np.zeros(layout.nm), np.zeros(0))
        moving_states_refused("linearize", robot, system.elements, system.acting(0.0, q, e, np.zeros(0)).actions)
        force = np.asarray(generalized(system, q, v, z), object) + 0.0 * v
        return {"force": force, "dq": spread(model, force, q), "dv": jacobian(force, v)}

    return function_call(model, "element forces", {"q": model.nq, "v": model.nv}, compute)


def moving_states_refused(
    where: str, robot: MechanismRobot, elements: Sequence[Element], actions: Sequence[Action]
) -> None:
    """Refuse elements whose own states move."""
    for element, action in zip(elements, actions, strict=True):
        if not all(is_zero(x) for x in np.atleast_1d(action.rate)):
            raise DalembertError(
                f"{where}: {element.label()!r} of mechanism {robot.name!r} has states of its own that move: "
                "replace it by springs and dampers, or look at a run (simulate)"
            )


def added_forces(call: Any, q: Any, v: Any) -> AddedForces:
    """The result of `compiled_forces` for states of any batch shape."""
    return AddedForces(*call(*(np.ascontiguousarray(x) for x in (q, v))))


def compiled_efforts(robot: MechanismRobot, actuators: Sequence[str]) -> Any:
    """q (…, nq), v (…, nv), a (…, nv) → efforts, multipliers, left, opening, scale, compiled."""
    model = robot.model
    chosen = [_unit(robot, name) for name in actuators]
    others = tuple(x for x in _forces(robot.elements) if x.label() not in actuators)
    passive = System(model, others, ledger=False)
    z = np.concatenate([np.zeros(0), *(x.start(model, *robot.start) for x in others)])

    def compute(q: Array, v: Array, a: Array) -> dict[str, Any]:
        S = np.stack([_column(model, q, each) for each in chosen], axis=1)
        needed = algorithms.rnea(model, q, v, a) - generalized(passive, q, v, z)
        if model.closures:
            _, J, drift = algorithms.constraints(model, q, v)
        else:
            J, drift = np.zeros((0, model.nv)), np.zeros(0)
        efforts, multipliers = algorithms.shared_efforts(J, S, needed)
        left = needed - S @ efforts - J.T @ multipliers
        return {"tau": efforts, "multipliers": multipliers, "needed": needed, "left": left, "opening": J @ a + drift}

    return function_call(model, "efforts", {"q": model.nq, "v": model.nv, "a": model.nv}, compute)


def efforts(robot: MechanismRobot, call: Any, q: Any, v: Any, a: Any, actuators: Sequence[str]) -> Efforts:
    """Checked: what the actuators cannot cause is an error."""
    tau, multipliers, needed, left, opening = call(*(np.ascontiguousarray(x) for x in (q, v, a)))
    short = np.max(np.abs(left), initial=0.0) / max(1.0, float(np.max(np.abs(needed), initial=0.0)))
    if short > CONSISTENT:
        freedom = robot.model.freedom_names[int(np.argmax(np.max(np.abs(left).reshape(-1, robot.nv), axis=0)))]
        raise DalembertError(
            f"efforts: {', '.join(map(repr, actuators))} cannot cause this motion of mechanism {robot.name!r}: "
            f"{short:.1e} of the forces is left over at {freedom!r}: name more actuators"
        )
    gap = np.max(np.abs(opening), initial=0.0) / max(1.0, float(np.max(np.abs(a), initial=0.0)))
    if gap > CONSISTENT**0.5:
        raise DalembertError(
            f"efforts: the acceleration opens a loop of mechanism {robot.name!r}, by {gap:.1e} of it: take one that "
            "keeps the loops closed, as of a run or of robot.loop_dynamics"
        )
    return Efforts(tau, multipliers)


def _unit(robot: MechanismRobot, name: str) -> Element | int:
    """An element that acts with an effort of 1, or the number of a joint's freedom."""
    for element in robot.elements:
        if element.label() == name and isinstance(element, AxisForce):
            return AxisForce(name, element.frame, element.other, element.axis, element.turning, effort=1.0)
        if element.label() == name and isinstance(element, LineForce):
            return LineForce(name, element.frame, element.other, 1.0)
    single = {body.joint.name: body.v.start for body in robot.model.independent if body.joint.nv == 1}
    if name in single:
        return single[name]
    able = [x.label() for x in robot.elements if isinstance(x, AxisForce | LineForce)]
    raise unknown("actuator", name, [*able, *single], f"efforts of mechanism {robot.name!r}")


def _column(model: Model, q: Array, unit: Element | int) -> Array:
    """The generalised force (nv,) of an effort of 1."""
    if isinstance(unit, int):
        return np.eye(model.nv)[unit]
    return generalized(System(model, (unit,), ledger=False), q, np.zeros(model.nv), np.zeros(0))
