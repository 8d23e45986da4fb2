"""Bodies that joints carry, as impulses in the middle of a time step move them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.contact.solver import Carrier
from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.passive import dissipation
from dalembert.dynamics.algorithms.tensors import gathered
from dalembert.linear import factor, sparse_product
from dalembert.model.aligned import AlignedFrames

from .drift import still
from .impulses import Loops
from .links import LinkedModel, check_rows

if TYPE_CHECKING:
    from dalembert.dynamics.algorithms import ServoStep

    from .system import Applied, System


class Bodies:
    """Inertia that impulses move at the middle of a step: with damping, springs, servos at its end, and loops.

    frames: those of the bodies in which the equations of motion are written; q (nq,): coordinates there. linked: which
    bodies of the system these are, None: all. servos: what servos add to forces and inertia, or None; rows: of all
    constraints; loops: those that always hold. whole_servos, whole_rows: with columns for all velocities of the system.
    """

    def __init__(
        self,
        system: System,
        frames: AlignedFrames,
        t: Any,
        h: Any,
        q: np.ndarray,
        e: np.ndarray,
        u: np.ndarray,
        linked: LinkedModel | None = None,
    ) -> None:
        self.frames, self.model, self.h, model = frames, frames.model, h, frames.model
        linked = LinkedModel.whole(model) if linked is None else linked
        self.q = frames.coordinates(q[linked.q])
        self.damping = gathered(model, [b.joint.damping for b in model.bodies])
        stiffness = gathered(model, [b.joint.stiffness for b in model.bodies])
        self.M = algorithms.mass_matrix(model, self.q) + np.diag(h * self.damping + (0.25 * h * h) * stiffness)
        self.whole_servos = system.servo_step(t, h, q, e, u, self._inertia_of_all(system, linked))
        self.servos = None if self.whole_servos is None else _of_links(self.whole_servos, linked)
        if self.servos is not None:
            self.M = self.M + self.servos.inertia
        self.mass, always = factor(self.M, range(model.nv)[::-1]), system.permanent_count
        self.whole_rows = system.constraint_rows(t, q, system.layout.velocity(e), system.layout.states(e))
        check_rows(system.model, self.whole_rows.J, linked.v)
        self.rows = self.whole_rows._replace(J=self.whole_rows.J[:, linked.v])
        self.compliance = np.array([owner.constraint.compliance for owner in system.row_owners])
        self.loops: Loops | None = None
        if always:
            self.loops = Loops(self.mass, self.rows.first(always), self.compliance[:always], h, system.rows_repeat)

    def _inertia_of_all(self, system: System, linked: LinkedModel) -> np.ndarray:
        """Inertia of all velocities of the system; bodies that are not linked have no servos."""
        inertia = np.eye(system.model.nv).astype(object)
        inertia[np.ix_(linked.v, linked.v)] = self.M
        return inertia

    def kick(self, v: np.ndarray, applied: Applied) -> np.ndarray:
        """L⁻¹ h f of all forces but impulses, with those of loops; forces of inertia at the velocity of the middle.

        They are c(v + δ) − c(δ), to second order, with half the change δ that the kick alone makes: at rest there are
        none, whatever the impulses take back of that change. Since c is quadratic, that is c(v) and a force that is
        linear in δ.
        """
        model, q, forces = self.model.without("damping"), self.q, applied.forces - self.damping * v
        wrenches = {body: self.frames.wrench(body, F) for body, F in applied.wrenches.items()}
        if self.servos is not None:
            forces = forces + self.servos.force
        slow = still(model, v)
        kick = self.mass.forward(self.h * (forces - algorithms.bias(model, q, slow, wrenches)))
        if self.loops is not None:
            kick = self.loops.kicked(kick, v, 0.5 * self.loops.rows.bias)
        half = still(model, 0.5 * self.change(kick))
        later = algorithms.velocity_product_force(model, q, slow, half)
        later = later + dissipation(model, slow + half) - dissipation(model, slow)  # smooth friction
        more = self.mass.forward(self.h * later)
        return kick - (more if self.loops is None else self.loops.freed(more))

    def kinetic_energy(self, v: np.ndarray) -> Any:
        """Kinetic energy of velocities v (nv,) [J]."""
        return 0.5 * (v @ sparse_product(self.M, v))

    def change(self, kick: np.ndarray) -> np.ndarray:
        """The change of velocities (nv,) that a kick makes."""
        return self.mass.backward(self.mass.r * kick)

    def carrier(self, J: np.ndarray) -> Carrier:
        """How impulses along rows J (n, nv) move them."""
        carrier = Carrier.bodies(self.M, self.mass, J)
        return carrier if self.loops is None else Carrier.reduced(self.loops.freed(carrier.Y), self.mass.r)


def _of_links(servos: ServoStep, linked: LinkedModel) -> ServoStep:
    return servos._replace(force=servos.force[linked.v], inertia=servos.inertia[np.ix_(linked.v, linked.v)])
