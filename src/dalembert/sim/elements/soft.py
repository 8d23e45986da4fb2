"""MuJoCo's constraints as an element; its room, `dalembert.mujoco`, is imported where a contact asks for that model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dalembert.contact import Contact
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.model.mujoco import MujocoOption
from dalembert.typing import Array

from .base import Action, Element, Situation

if TYPE_CHECKING:
    from dalembert.mujoco import MujocoConstraints


@dataclass(frozen=True)
class SoftContact(Element):
    """Constraints whose forces depend on all other forces: a system asks for them after it has the others."""

    loses: ClassVar[bool] = True

    problem: MujocoConstraints

    def label(self) -> str:
        return "contact"

    def act(self, s: Situation) -> Action:
        """Return no force: see `force`."""
        return Action()

    def force(self, model: Model, q: Array, v: Array, forces: Array, wrenches: dict[int, Array]) -> Array:
        """Generalized force (nv,) of all constraints, where forces (nv,) and wrenches on bodies act beside them."""
        return self.problem.balance(model, q, v, forces, wrenches).force


def is_soft(contact: Any) -> bool:
    """Whether a contact is of MuJoCo's model."""
    return isinstance(contact, Contact) and contact.model == "mujoco"


def softened(
    model: Model, elements: tuple[Element, ...], contact: Any, step: float | None
) -> tuple[Model, tuple[Element, ...]]:
    """For a contact of MuJoCo's model: the model without the parts that constraints replace, and all elements.

    step [s]: of the integrator; None: it chooses its own.
    """
    if not is_soft(contact):
        return model, elements
    from dalembert.mujoco import mujoco_constraints

    if rising := [body.joint.name for body in model.bodies if np.any(body.joint.stribeck)]:
        raise DalembertError(
            f"contact of MuJoCo's model has no Stribeck friction, and joint {rising[0]!r} states some: "
            "set its stribeck to 0, or use model='rigid'"
        )
    return model.without("friction", "loops"), (*elements, SoftContact(mujoco_constraints(model, contact, step)))


def first_step(model: Model, contact: Any, integrator: Any, step: float | None) -> float | None:
    """Step [s] of a run; where none is stated, contacts of MuJoCo's model take that of the file."""
    if step is None and not integrator.adaptive and is_soft(contact):
        return (model.mujoco.option if model.mujoco else MujocoOption()).timestep
    return step
