"""The behaviour of a robot near a state in contact: linear models and inverse dynamics, for each model of contact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.compiler.execute import is_traced, real_array
from dalembert.contact import Contact
from dalembert.errors import DalembertError
from dalembert.quantities.analysis import ClosedLinearization, Linearization, after, freedoms_of
from dalembert.quantities.closed import reduced
from dalembert.robot import Robot

from .contact_dynamics import contact_dynamics
from .contact_inverse import check_soft, soft_inverse, soft_slopes
from .contact_rigid import constrained_slopes, rigid_inverse

LASTING = 1e-5  # [m/s]: speed along what a contact holds, up to which it lasts


def linearize(
    robot: Robot,
    q: Any,
    v: Any,
    tau: Any,
    contact: Contact,
    *,
    step: float | None = None,
    actuated: str | Sequence[str] | None = None,
    coordinates: str | Sequence[str] | None = None,
) -> Linearization:
    """See `Robot.linearize`."""
    check_soft("linearize", robot.model, contact)
    model, n = robot.model, robot.nv
    q, v, tau = state("linearize", robot, q=q, v=v, tau=tau)
    added = robot._added_forces(q, v)
    total = tau if added is None else tau + added.force
    if contact.model == "rigid":
        s = constrained_slopes(robot, q, v, total, contact)
        speed = float(np.abs(s.J @ v).max(initial=0.0))
        if speed > LASTING:
            raise DalembertError(
                f"linearize: contacts of robot {robot.name!r} close or open at {speed:.3g} m/s: a linear model is of "
                "contacts that last; linearize before or after the impact"
            )
        if added is not None:
            s = s._replace(dq=s.dq + s.dtau @ added.dq, dv=s.dv + s.dtau @ added.dv)
        A, B, chart = reduced(model, s, v, coordinates)
        if actuated is not None:
            B = B[:, freedoms_of(model, actuated)]
        A, B = (A, B) if step is None else after(robot, A, B, step, check=True)
        return ClosedLinearization(A, B, chart.names(model), chart.basis)
    if coordinates is not None:
        raise DalembertError(
            f"linearize: model={contact.model!r} of contact holds nothing exactly: leave out coordinates"
        )
    a = contact_dynamics(model, q, v, total, contact).a
    soft = soft_slopes(model, contact, q, v, a)
    B_a = np.linalg.inv(soft.da)
    dq, dv = -B_a @ soft.dq, -B_a @ soft.dv
    if added is not None:
        dq, dv = dq + B_a @ added.dq, dv + B_a @ added.dv
    A, B = np.zeros((2 * n, 2 * n)), np.concatenate([np.zeros((n, n)), B_a])
    A[:n, n:], A[n:, :n], A[n:, n:] = np.eye(n), dq, dv
    for body in model.bodies:
        A[body.v, body.v] += body.joint.displacement_rate(v[body.v])
    if not np.isfinite(A).all():
        raise DalembertError(f"linearize: slopes of robot {robot.name!r} in contact are not finite at this state")
    if actuated is not None:
        B = B[:, freedoms_of(model, actuated)]
    return Linearization(A, B) if step is None else after(robot, A, B, step, check=True)


def inverse_dynamics(robot: Robot, q: Any, v: Any, a: Any, *, contact: Contact, **keywords: Any) -> np.ndarray:
    """tau (…, nv), see `Robot.inverse_dynamics`."""
    check_soft("inverse_dynamics", robot.model, contact)
    if is_traced(q, v, a):
        raise DalembertError("inverse_dynamics: contact= inside a traced law: take the quantity without it")
    if keywords.pop("external", ()):
        raise DalembertError("inverse_dynamics: external and contact are both given, expected one of them")
    if contact.model != "rigid":
        x = soft_inverse(robot.model, contact)(q, v, a, **keywords)
        tau = np.array(x[..., : robot.nv])
        if keywords.get("check", True) and not np.isfinite(tau).all():
            raise DalembertError(f"inverse_dynamics: forces of robot {robot.name!r} in contact are not finite")
        return tau
    sizes = {"q": robot.nq, "v": robot.nv, "a": robot.nv}
    given = [
        real_array(f"inverse_dynamics: {name}", x, f"expected (…, {sizes[name]})").astype(float)
        for name, x in (("q", q), ("v", v), ("a", a))
    ]
    for (name, size), x in zip(sizes.items(), given, strict=True):
        if x.shape[-1:] != (size,):
            raise DalembertError(f"inverse_dynamics: {name} has shape {x.shape}, expected (…, {size})")
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in given))
    rows = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in given]
    taus = [rigid_inverse(robot, q, v, a, contact).tau for q, v, a in zip(*rows, strict=True)]
    return np.array(taus).reshape(*batch, robot.nv)


def state(where: str, robot: Robot, **given: Any) -> list[np.ndarray]:
    """One state, checked: arrays of floats by name, q (nq,) and others (nv,)."""
    arrays = []
    for name, x in given.items():
        size = robot.nq if name == "q" else robot.nv
        array = real_array(f"{where}: {name}", x, f"expected ({size},)").astype(float)
        if array.shape != (size,) or not np.isfinite(array).all():
            raise DalembertError(
                f"{where}: {name} has shape {array.shape}, expected ({size},) of finite numbers: with contact, "
                "one state"
            )
        arrays.append(array)
    return arrays
