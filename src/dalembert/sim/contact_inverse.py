"""Inverse dynamics with contact: the joint forces and contact forces of given accelerations, and their slopes.

Springs and MuJoCo's soft constraints have a force in every state of motion (q, v, a), so that the inverse is explicit
and needs no iteration. Rigid contacts answer to the joint forces: see `rigid_inverse`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.execute import Call, Recent, code
from dalembert.contact import Contact, candidates
from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.quantities.dynamics import open_tree
from dalembert.quantities.guards import function_call
from dalembert.quantities.tangent import pushed

from .elements.base import Situation
from .elements.contact import CompliantContact


class ContactSlopes(NamedTuple):
    """∂tau/∂q along velocities, ∂tau/∂v and ∂tau/∂a, each (nv, nv), of the inverse dynamics with soft contact."""

    dq: np.ndarray
    dv: np.ndarray
    da: np.ndarray


def soft_inverse(model: Model, contact: Contact) -> Call:
    """The compiled inverse (q, v, a) → [tau (nv,), contact forces (3 k,) in world axes]."""
    determinants = _determinants(model, contact)
    return _inverses.get(code("inverse", model, *determinants), lambda: _inverse_call(model, contact))


def soft_slopes(model: Model, contact: Contact, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> ContactSlopes:
    """Exact slopes of the inverse at one state, column by column as one batch."""
    determinants = _determinants(model, contact)
    call = _slopes.get(code("slopes", model, *determinants), lambda: _slope_call(model, contact))
    n = model.nv
    ways = np.eye(3 * n).reshape(3 * n, 3, n)
    columns = call(q, v, a, ways[:, 0], ways[:, 1], ways[:, 2]).reshape(3, n, n)
    return ContactSlopes(*columns.swapaxes(1, 2))


def check_soft(where: str, model: Model, contact: Any) -> None:
    """Refuse contacts and robots that one state does not tell all about."""
    if not isinstance(contact, Contact):
        raise DalembertError(f"{where}: contact is {contact!r}, expected a dalembert.Contact")
    if contact.friction_model == "bristle":
        raise DalembertError(
            f"{where}: bristles remember where they took hold, which one state does not tell: take "
            "friction_model='regularized'"
        )
    if contact.model != "mujoco" and (refused := open_tree(model)):
        raise DalembertError(f"{where}: {refused}")


def _determinants(model: Model, contact: Contact) -> tuple[Any, ...]:
    """Objects that determine the code."""
    return (_soft(model, contact) if contact.model == "mujoco" else candidates(model, contact),)


def _soft(model: Model, contact: Contact) -> Any:
    """MuJoCo's constraints, whose room other models of contact do not load."""
    from dalembert.mujoco import mujoco_constraints

    return mujoco_constraints(model, contact, None)


def _forces(model: Model, contact: Contact) -> Any:
    """The inverse as a function of traced (q, v, a)."""
    if contact.model == "mujoco":
        element, tree = _soft(model, contact), model.without("friction", "loops")
        return lambda q, v, a: element.inverse(tree, q, v, a)
    springs = CompliantContact(contact, candidates(model, contact))

    def inverse(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s = Situation(model, 0.0, q, v, np.zeros(0), np.zeros(model.nv))
        rows, pushes = springs.pushes(s)
        tau = np.array(algorithms.rnea(model, q, v, a), object)
        for index, force in springs.act(s).tau.items():
            at = model.bodies[index].v
            tau[at] = tau[at] - force
        return tau, np.array([axes.T @ each.force for axes, each in zip(rows.axes, pushes, strict=True)])

    return inverse


def _inverse_call(model: Model, contact: Contact) -> Call:
    inverse = _forces(model, contact)

    def compute(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        tau, forces = inverse(q, v, a)
        return np.concatenate([tau, np.asarray(forces, object).reshape(-1)])

    return function_call(model, "inverse_dynamics", {"q": model.nq, "v": model.nv, "a": model.nv}, compute)


def _slope_call(model: Model, contact: Contact) -> Call:
    inverse = _forces(model, contact)

    def compute(q: Any, v: Any, a: Any, dq: Any, dv: Any, da: Any) -> np.ndarray:
        return pushed(model, inverse(q, v, a)[0], q, dq, (v, dv), (a, da))

    sizes = {"q": model.nq} | dict.fromkeys(("v", "a", "dq", "dv", "da"), model.nv)
    return function_call(model, "inverse_dynamics_slopes", sizes, compute)


_inverses, _slopes = Recent(64), Recent(64)
