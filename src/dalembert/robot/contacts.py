"""Behaviour near a state, also in contact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dalembert.errors import DalembertError
from dalembert.quantities import analysis

if TYPE_CHECKING:
    import numpy as np

    from dalembert.contact import Contact
    from dalembert.quantities.structure import Wrench
    from dalembert.robot import Robot


def linearize(
    robot: Robot,
    q: Any,
    v: Any,
    tau: Any,
    *,
    step: float | None = None,
    actuated: str | Sequence[str] | None = None,
    coordinates: str | Sequence[str] | None = None,
    external: Sequence[Wrench] = (),
    contact: Contact | None = None,
    threads: int | None = None,
    check: bool = True,
) -> analysis.Linearization:
    """ẋ = A x + B u of small deviations x = [δq; δv], u = δtau from the motion through (q, v, tau).

    δq = difference(q0, q) are tangent coordinates (nv,). In body axes, as ball and free joints have them, δq̇ is not
    δv but δv − V × δq, which A contains. step [s]: instead, the exact x' = A x + B u after that time with u held
    constant (zero-order hold). Away from an equilibrium A and B are those of the instant. External wrenches
    keep their numbers along their axes. actuated: names of the joints that have a motor, so that u and the columns of B
    are those of their freedoms alone, in the order of tau; default all.

    A robot with closed loops: x are the deviations of as many independent freedoms as the loops leave, those of the
    joints `coordinates`, or chosen here; the result also has their names and the basis (nv, nf) of all deviations,
    δq = basis · δq of the independent ones. One state, in which the loops are closed (`close_loops`).

    contact: a `dalembert.Contact`; one state. Compliant contact and model="mujoco" have slopes in all deviations.
    Rigid contacts that carry force are constraints, as loops are: those that stick hold along all axes, those that
    slide along the normal, with friction µ N against the slip; x are the deviations that they leave free.
    """
    if contact is None:
        return analysis.linearize(
            robot,
            q,
            v,
            tau,
            step=step,
            actuated=actuated,
            coordinates=coordinates,
            external=external,
            threads=threads,
            check=check,
        )
    from dalembert.sim.around_contact import linearize

    if external:
        raise DalembertError("linearize: external and contact are both given, expected one of them")
    analysis.check_step(step)
    return linearize(robot, q, v, tau, contact, step=step, actuated=actuated, coordinates=coordinates)


def equilibrium(
    robot: Robot,
    q: Any,
    tau: Any = None,
    *,
    external: Sequence[Wrench] = (),
    contact: Contact | None = None,
    motors: str | Sequence[str] | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
) -> analysis.Equilibrium:
    """The equilibrium found from q (nq,) under the constant generalised force tau (nv,), default none.

    Newton's method on the manifold, damped (Levenberg-Marquardt) where it would not come nearer: it solves
    equilibrium_torque(q, external=external) = tau, so that the equilibrium may be unstable (see `modes`); joint
    limits play no part. tolerance: largest residual relative to the forces at the start, or 1 [N·m or N]. None
    found is an error.

    With closed loops: what the loops leave free is at rest, and residual is what no force of the loops balances. It
    starts from the closed configuration near q.

    contact: a `dalembert.Contact`, what carries the robot; without tau the motors hold the posture, those of
    `robot.motors` or of `motors`, names of joints. The result also has `.tau` (nv,) of the motors and `.force` (k, 3)
    of the contacts. Of all configurations with balance, steps go to the nearest one. Compliant contact and
    model="mujoco" sink in as far as their forces ask for. Rigid contacts within 2 cm are closed, and of the forces in
    their friction cones and those of the motors the least are taken.
    """
    if contact is None:
        if motors is not None:
            raise DalembertError("equilibrium: motors belong to contact=: without it tau is what acts")
        return analysis.equilibrium(
            robot, q, tau, external=external, tolerance=tolerance, max_iterations=max_iterations
        )
    from dalembert.sim.contact_equilibrium import equilibrium

    if external:
        raise DalembertError("equilibrium: external and contact are both given, expected one of them")
    return equilibrium(robot, q, tau, contact, motors=motors, tolerance=tolerance, max_iterations=max_iterations)


def inverse_dynamics(robot: Robot, q: Any, v: Any, a: Any, *, contact: Contact, **keywords: Any) -> np.ndarray:
    """tau (…, nv) of accelerations a with contact: see `Robot.inverse_dynamics`."""
    from dalembert.sim.around_contact import inverse_dynamics

    return inverse_dynamics(robot, q, v, a, contact=contact, **keywords)
