"""Accelerations and contact forces of a single state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.compiler.execute import Call, Recent, RecentSame, code
from dalembert.compiler.interop import is_foreign
from dalembert.contact import Contact, Patch, candidates
from dalembert.contact.solver import DryFriction, with_dry_friction
from dalembert.dynamics import algorithms
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.quantities.dynamics import open_tree
from dalembert.quantities.guards import function_call

from .elements.base import Situation
from .elements.contact import CompliantContact, slots_for
from .rigid_dynamics import AHEAD, ContactDynamics, joint_friction, rigid_dynamics, rigid_dynamics_in_slots
from .rollout.live import CONTACT_FRICTION, LiveInputs, friction_as_input

if TYPE_CHECKING:
    from dalembert.mujoco import MujocoConstraints


def contact_dynamics(
    model: Model, q: Any, v: Any, tau: Any, contact: Any, parameters: Mapping[str, Any] | None = None, **keywords: Any
) -> ContactDynamics:
    """See `Robot.contact_dynamics`."""
    if not isinstance(contact, Contact):
        raise DalembertError(f"contact_dynamics: contact is {contact!r}, expected a dalembert.Contact")
    parameters = dict(parameters or {})
    if CONTACT_FRICTION not in parameters and not is_foreign(q):
        contact, mu = friction_as_input(model, contact)
        parameters |= {} if mu is None else {CONTACT_FRICTION: mu}
    live = LiveInputs("contact_dynamics", model, tuple(parameters), contact)
    if contact.model == "mujoco":
        if live.names:
            raise DalembertError(
                "contact_dynamics: parameters: contacts of MuJoCo's model take the numbers of the file"
            )
        return _soft_dynamics(model, q, v, tau, contact, keywords)
    if contact.friction_model == "bristle":
        raise DalembertError(
            "contact_dynamics: bristles remember where they took hold, which one state does not tell: use `simulate`, "
            "`rollout` or `stepper`, or friction_model='regularized'"
        )
    if refused := open_tree(model):
        raise DalembertError(f"contact_dynamics: {refused}")
    call, count = _called(model, contact, live)
    values = live.taken(q, {"check": keywords.get("check", True), **parameters})
    x, nv = call(q, v, tau, *values, **keywords), model.nv
    force = x[..., nv : nv + 3 * count]
    return ContactDynamics(x[..., :nv], force.reshape((*force.shape[:-1], count, 3)), x[..., nv + 3 * count :])


def _soft_dynamics(
    model: Model, q: Any, v: Any, tau: Any, contact: Contact, keywords: dict[str, Any]
) -> ContactDynamics:
    """With all constraints of MuJoCo's model, those of joints and loops included."""
    from dalembert.mujoco import mujoco_constraints

    element = mujoco_constraints(model, contact, None)
    tree, nv, count = model.without("friction", "loops"), model.nv, len(element.names)

    def looked_up() -> Call:
        return _recent.get(code(tree, element), lambda: _soft_call(tree, element))

    call = _last.get((model, element), looked_up) if contact.terrain is None else looked_up()  # its code may change
    x = call(q, v, tau, **keywords)
    force = x[..., nv : nv + 3 * count]
    return ContactDynamics(x[..., :nv], force.reshape((*force.shape[:-1], count, 3)), x[..., nv + 3 * count :])


def _soft_call(model: Model, element: MujocoConstraints) -> Call:
    def compute(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        a, touching = element.touching(model, q, v, tau, {})
        return np.concatenate([a, touching.force.reshape(-1), touching.gap])

    return function_call(model, "contact_dynamics", {"q": model.nq, "v": model.nv, "tau": model.nv}, compute)


_recent, _last = Recent(64), RecentSame(8)


def _called(model: Model, contact: Contact, live: LiveInputs) -> tuple[Call, int]:
    """The compiled call and the number of contacts; at once where `candidates` has these from the last calls."""
    patches = candidates(model, contact)

    def looked_up() -> tuple[Call, int]:
        return _recent.get(code(model, contact, patches, live.names), lambda: _compiled(model, contact, live))

    by_names: dict[tuple[str, ...], tuple[Call, int]] = _last.get((model, patches), dict)
    if live.names not in by_names:
        by_names[live.names] = looked_up()
    return by_names[live.names]


def _compiled(model: Model, contact: Contact, live: LiveInputs) -> tuple[Call, int]:
    patches = candidates(model, contact)

    def compute(q: np.ndarray, v: np.ndarray, tau: np.ndarray, *values: np.ndarray) -> np.ndarray:
        robot, points = live.put_state(model, patches, values)
        friction = joint_friction(robot, v)
        robot = robot.without("friction")
        if contact.model == "compliant":
            a, force, gap = _compliant(robot, contact, points, friction, q, v, tau)
        elif slots_for(model, patches):
            a, force, gap = rigid_dynamics_in_slots(robot, points, friction, q, v, tau)
        else:
            a, force, gap = rigid_dynamics(robot, points, friction, q, v, tau)
        return np.concatenate([a, force.reshape(-1), gap])

    sizes = {"q": model.nq, "v": model.nv, "tau": model.nv} | live.sizes
    count = sum(len(patch.names) for patch in patches)
    return function_call(model, "contact_dynamics", sizes, compute), count


def _compliant(
    model: Model,
    contact: Contact,
    patches: tuple[Patch, ...],
    friction: Mapping[int, Any],
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
) -> ContactDynamics:
    element = CompliantContact(contact, patches)
    s = Situation(model, 0.0, q, v, np.zeros(0), tau)
    rows, pushes = element.pushes(s)
    forces = np.array(tau, object)
    for index, force in element.act(s).tau.items():
        at = model.bodies[index].v
        forces[at] = forces[at] + force
    world = np.array([axes.T @ each.force for axes, each in zip(rows.axes, pushes, strict=True)])
    if not friction:
        return ContactDynamics(algorithms.forward_dynamics(model, q, v, forces), world, rows.gap)
    M, h = algorithms.mass_matrix(model, q), AHEAD
    momentum = M @ v + h * (forces - algorithms.bias(model, q, v))
    after = with_dry_friction(M, momentum, v, {k: DryFriction(h * level) for k, level in friction.items()})
    return ContactDynamics((after - v) / h, world, rows.gap)
