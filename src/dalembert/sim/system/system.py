"""The equations of motion that are integrated: a model, its force elements, a torque law, and the ledger's powers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.dynamics.algorithms.center_of_mass import first_moment
from dalembert.dynamics.algorithms.passive import spring_energy
from dalembert.math.arrays import asked
from dalembert.model import Actuator, Model

from ..elements.base import NOTHING, Action, Element, Situation
from ..elements.contact import Memory, RigidContact
from ..elements.drive import Actuators
from ..elements.soft import SoftContact
from .accounts import Entry, entries_of, numbered_labels, powers, surface_work
from .constraints import Constraint, Rows, joined
from .drive import Command
from .impulses import impulsive_step
from .layout import Layout
from .multipliers import HeldRows, held_rows

Law = Callable[[Any, np.ndarray, np.ndarray], Any]  # (t, q, v) → tau


class Energies(NamedTuple):
    """Kinetic energy, energy in gravity, energy in springs and elements [J]."""

    kinetic: Any
    potential: Any
    elastic: Any


class Owned(NamedTuple):
    """A constraint and the number of the element that owns it; None: the model."""

    constraint: Constraint
    element: int | None


class Applied(NamedTuple):
    """Everything that acts on a state: actions of elements, forces (nv,), wrenches by body, and constraint rows.

    forces: commanded ones, those of elements at joints, and those of rows that slide. rows: all of them, or None.
    soft (nv,): those among the forces that are of MuJoCo's constraints.
    """

    tau: np.ndarray
    actions: list[Action]
    forces: np.ndarray
    wrenches: dict[int, np.ndarray]
    rows: HeldRows | None
    soft: np.ndarray = NOTHING


@dataclass(frozen=True, eq=False)
class System:
    """ẋ = f(t, x) with x = (q, e): the configuration q on its manifold, and e as laid out by `layout`.

    Numbers u that come from outside drive it, the vector of a `Command`; or else a law of (t, q, v). Both give forces
    (nv,), or, where an element `Actuators` turns them into forces, the controls of actuators (nu,).
    """

    model: Model
    elements: tuple[Element, ...] = ()
    law: Law | None = None
    driven: bool = False  # whether forces come as numbers u
    ledger: bool = True  # whether the accounts are kept
    called: bool = False  # whether the law is Python code that cannot be traced
    holding: bool = True  # whether constraints that come and go can hold; if not, all their rows are taken as open
    impulsive: bool = False  # whether steps meet them by impulses: they need no modes then
    undamped: Model | None = (
        None  # whose inertia MuJoCo's constraints see, where a step adds damping to that of `model`
    )

    @property
    def nu(self) -> int:
        """Numbers that drive it."""
        return Command.size(self.input_count) if self.driven else 0

    @cached_property
    def actuators(self) -> int | None:
        """The number of the element `Actuators`; None where forces drive the system."""
        numbers = [k for k, element in enumerate(self.elements) if isinstance(element, Actuators)]
        return numbers[0] if numbers else None

    @property
    def servos(self) -> tuple[Actuator, ...]:
        """The actuators that drive it with feedback of their own."""
        drives = [x for element in self.elements if isinstance(element, Actuators) for x in element.actuators]
        return tuple(x for x in drives if x.is_servo)

    @property
    def input_count(self) -> int:
        """Forces or controls that drive it."""
        if self.actuators is None:
            return self.model.nv
        actuators = self.elements[self.actuators]
        assert isinstance(actuators, Actuators)
        return len(actuators.actuators)

    @cached_property
    def layout(self) -> Layout:
        """Where things lie in e."""
        sizes = tuple(element.size(self.model) for element in self.elements)
        modes = 0 if self.impulsive else self.row_count - self.permanent_count
        return Layout(self.model.nv, sizes, modes, len(self.entries))

    @property
    def ne(self) -> int:
        """Length of e."""
        return self.layout.ne

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The accounts of the ledger."""
        return entries_of(self) if self.ledger else ()

    @cached_property
    def labels(self) -> list[str]:
        """Names of the elements in the ledger."""
        return numbered_labels(self.elements)

    @cached_property
    def contact_number(self) -> int:
        """The place of rigid contact among the elements, −1: there is none."""
        return next((k for k, element in enumerate(self.elements) if isinstance(element, RigidContact)), -1)

    @cached_property
    def contact(self) -> RigidContact | None:
        """Contacts that steps keep by impulses."""
        element = self.elements[self.contact_number] if self.contact_number >= 0 else None
        return element if isinstance(element, RigidContact) else None

    def leaned(self, footless: bool = False) -> System:
        """Itself, or with contacts as graphics processors take them: see `RigidContact.lean`."""
        contact = self.contact
        if contact is None or not contact.slots:
            return self
        elements = [replace(x, lean=True, footless=footless) if x is contact else x for x in self.elements]
        return replace(self, elements=tuple(elements))

    def contact_memory(self, e: np.ndarray) -> Memory:
        """Memory that steps with rigid contact keep in e (…, ne)."""
        assert self.contact is not None
        return self.contact.memory(self.layout.of_element(e, self.contact_number))

    def with_contact_memory(self, e: np.ndarray, memory: Memory) -> np.ndarray:
        """e (ne,) with this memory of rigid contact."""
        states = self.layout.by_element(self.layout.states(e))
        states[self.contact_number] = memory.flat()
        return self.layout.replaced(e, states=np.concatenate(states))

    @cached_property
    def soft(self) -> SoftContact | None:
        """Constraints whose forces depend on all other forces."""
        return next((element for element in self.elements if isinstance(element, SoftContact)), None)

    # constraints

    @cached_property
    def constraints(self) -> tuple[Owned, ...]:
        """All of them: those that always hold (closed loops first), then those that come and go."""
        owned = [Owned(c, k) for k, element in enumerate(self.elements) for c in element.constraints(self.model)]
        count = algorithms.constraint_count(self.model)
        if count:
            owned.insert(0, Owned(Constraint("loops", count, _closure_rows), None))
        return tuple(sorted(owned, key=lambda each: each.constraint.admissible.switches))

    @cached_property
    def row_owners(self) -> tuple[Owned, ...]:
        """The constraint of each row (nr,)."""
        return tuple(each for each in self.constraints for _ in range(each.constraint.count))

    @property
    def row_count(self) -> int:
        """Constraint forces that could act."""
        return len(self.row_owners)

    @cached_property
    def permanent_count(self) -> int:
        """Rows that always hold: they come first."""
        return sum(not each.constraint.admissible.switches for each in self.row_owners)

    @cached_property
    def rows_repeat(self) -> bool:
        """Whether equations of loops follow from others wherever these are closed."""
        return algorithms.rows_repeat(self.model)

    @property
    def solved_count(self) -> int:
        """Rows with forces that follow from a state; impulses of others are those of a step."""
        return self.permanent_count if self.impulsive else self.row_count

    def constraint_rows(self, t: Any, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> Rows:
        """All rows of a state."""
        seen = self.situations(t, q, v, z, np.zeros(self.model.nv))
        alone = Situation(self.model, t, q, v, np.zeros(0), np.zeros(self.model.nv))
        return joined([c.rows(alone if k is None else seen[k]) for c, k in self.constraints], self.model.nv)

    def held_rows(self, t: Any, q: np.ndarray, e: np.ndarray) -> HeldRows | None:
        """The demand of the rows under the modes of e; None if there are none."""
        count = self.solved_count
        if not count:
            return None
        layout = self.layout
        v = layout.velocity(e)
        sets = [each.constraint.admissible for each in self.row_owners[:count]]
        modes = [0.0] * self.permanent_count + list(layout.modes(e))
        return held_rows(self.constraint_rows(t, q, v, layout.states(e)).first(count), sets, modes, v)

    def solved_rows(self, rows: HeldRows | None) -> HeldRows | None:
        """The rows whose forces must be solved for; None if there are none."""
        if rows is None or self.holding:
            return rows
        return rows.first(self.permanent_count) if self.permanent_count else None

    # forces and motion

    def inputs(self, t: Any, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Forces (nv,) or controls (nu,) that drive it now."""
        if self.driven:
            return Command.of(u, self.input_count).at(t)
        return np.zeros(self.input_count) if self.law is None else np.asarray(asked(self.law, t, q, v))

    def torque(self, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The commanded generalised force (nv,)."""
        return self.driven_situations(t, q, e, u)[0]

    def servo_step(
        self, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray, M: np.ndarray
    ) -> algorithms.ServoStep | None:
        """Forces and inertia that servos add in a time step h; None: there are none."""
        if not self.servos or self.actuators is None:
            return None
        v, z = self.layout.velocity(e), self.layout.by_element(self.layout.states(e))[self.actuators]
        actuators = self.elements[self.actuators]
        assert isinstance(actuators, Actuators)
        return actuators.servo_step(self.model, q, v, z, self.inputs(t, q, v, u), h, M)

    def acting(self, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> Applied:
        """The effect of the command and the elements, without any constraint rows."""
        tau, seen = self.driven_situations(t, q, e, u)
        actions = [element.act(s) for element, s in zip(self.elements, seen, strict=True)]
        forces = np.array(tau, object if any(a.tau for a in actions) else None)
        wrenches: dict[int, np.ndarray] = {}
        for action in actions:
            for index, force in action.tau.items():
                where = self.model.bodies[index].v
                forces[where] = forces[where] + force
            for index, wrench in action.wrenches.items():
                wrenches[index] = wrenches[index] + wrench if index in wrenches else wrench
        return Applied(tau, actions, forces, wrenches, None)

    def applied(self, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray, soft: np.ndarray | None = None) -> Applied:
        """All that acts, apart from the forces that are solved for; soft (nv,): of MuJoCo's constraints, if known."""
        acting, rows = self.acting(t, q, e, u), self.held_rows(t, q, e)
        forces = acting.forces
        if rows is not None and self.layout.nm:
            forces = forces + rows.J.T @ rows.sliding
        if self.soft is None:
            return acting._replace(forces=forces, rows=rows)
        if soft is None:
            v = self.layout.velocity(e)
            soft = self.soft.force(self.undamped or self.model, q, v, forces, acting.wrenches)
        return acting._replace(forces=forces + soft, rows=rows, soft=soft)

    def rates(self, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> np.ndarray:
        """ė (ne,); the rate of q is the velocity in e."""
        applied = self.applied(t, q, e, u)
        a, forces = self.accelerations(q, e, applied)
        still = np.zeros(self.layout.nm)
        return self.layout.packed(
            a, self.state_rates(applied), still, self.powers(q, self.layout.velocity(e), applied, forces)
        )

    def state_rates(self, applied: Applied) -> np.ndarray:
        """ż (nz,)."""
        return np.concatenate([np.zeros(0), *(action.rate for action in applied.actions)])

    def next_states(self, h: Any, e: np.ndarray, applied: Applied) -> np.ndarray:
        """z (nz,) after a step h of first order."""
        parts = self.layout.by_element(self.layout.states(e))
        rates = [np.asarray(action.rate) for action in applied.actions]
        ends = [x.advanced(z, rate, h) for x, z, rate in zip(self.elements, parts, rates, strict=True) if len(z)]
        return np.concatenate([np.zeros(0), *ends])

    def accelerations(self, q: np.ndarray, e: np.ndarray, applied: Applied) -> tuple[np.ndarray, np.ndarray]:
        """a (nv,) under all forces, and those of all rows (nr,)."""
        v, rows = self.layout.velocity(e), self.solved_rows(applied.rows)
        sliding = np.zeros(0) if applied.rows is None else applied.rows.sliding
        if rows is None:
            return algorithms.forward_dynamics(self.model, q, v, applied.forces, applied.wrenches), sliding
        force = applied.forces - algorithms.bias(self.model, q, v, applied.wrenches)
        a, forces = rows.solver(self.model, q, self.rows_repeat).accelerated(force, rows.goal)
        return a, sliding + np.concatenate([forces, np.zeros(len(sliding) - len(forces))])

    def kicked(self, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Displacement (nv,) and e, its accounts left as they are, after a step h of symplectic Euler with constraints.

        v1 = v + M⁻¹ (h f + Jᵀ p) with J v1 = −h J̇ v, so that it fits the rows at the end; the displacement is h v1, and
        what φ + h J v1 + ½ h² J̇ v leaves open goes back by the shortest way in the metric of the inertia, every loop
        by itself. One solver serves both. Positions fit to third order in h, velocities to second, and neither drifts.
        """
        if self.impulsive and any(c.admissible.switches or c.compliance for c, _ in self.constraints):
            return impulsive_step(self, t, h, q, e, u)
        layout, applied = self.layout, self.applied(t, q, e, u)
        v, rows = layout.velocity(e), self.solved_rows(applied.rows)
        z1 = self.next_states(h, e, applied)
        if rows is None:
            v1 = v + h * algorithms.forward_dynamics(self.model, q, v, applied.forces, applied.wrenches)
            return h * v1, layout.replaced(e, v1, z1)
        solver = rows.solver(self.model, q, self.rows_repeat)
        impulse = h * (applied.forces - algorithms.bias(self.model, q, v, applied.wrenches))
        change, _ = solver.accelerated(impulse, -h * rows.bias - rows.rate)
        back = solver.displaced(0.5 * h * h * rows.bias - rows.deviation)
        return h * (v + change) + back, layout.replaced(e, v + change, z1)

    def multipliers(self, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Forces of all rows (nr,) [N, N·m]."""
        return self.accelerations(q, e, self.applied(t, q, e, u))[1]

    def projected(self, q: np.ndarray, e: np.ndarray, t: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """(q, e) at t moved onto closed loops, with all that holds, by the shortest way in the metric of the inertia.

        Positions go there loop by loop, velocities all at once.
        """
        if not self.permanent_count:
            return q, e
        layout = self.layout
        rows = self.solved_rows(self.held_rows(t, q, e))
        assert rows is not None
        solver = rows.solver(self.model, q, self.rows_repeat)
        back = solver.displaced(-rows.deviation)
        change = solver.closed(-rows.rate).a
        return algorithms.integrate(self.model, q, back), layout.replaced(e, layout.velocity(e) + change)

    def residual(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, forces: np.ndarray, wrenches: dict[int, np.ndarray]
    ) -> np.ndarray:
        """The generalised force (nv,) that is missing for the acceleration a."""
        return algorithms.rnea(self.model, q, v, a, wrenches) - forces

    def situations(
        self, t: Any, q: np.ndarray, v: np.ndarray, z: np.ndarray, tau: np.ndarray, controls: np.ndarray = NOTHING
    ) -> list[Situation]:
        """The situation of each element."""
        return [Situation(self.model, t, q, v, part, tau, controls) for part in self.layout.by_element(z)]

    def driven_situations(
        self, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, list[Situation]]:
        """The commanded generalised force (nv,), and what each element sees under it."""
        v, z = self.layout.velocity(e), self.layout.states(e)
        inputs = self.inputs(t, q, v, u)
        if self.actuators is None:
            return inputs, self.situations(t, q, v, z, inputs)
        actuators = self.elements[self.actuators]
        assert isinstance(actuators, Actuators)
        tau = actuators.forces(self.model, q, v, self.layout.by_element(z)[self.actuators], inputs)
        return tau, self.situations(t, q, v, z, tau, inputs)

    # energy

    def powers(self, q: np.ndarray, v: np.ndarray, applied: Applied, forces: np.ndarray | None = None) -> np.ndarray:
        """The rate [W] of each account (nw,); forces (nr,) of the rows, if they are known."""
        return powers(self, v, applied, forces) if self.ledger else np.zeros(0)

    def surface_work(self, rows: HeldRows, impulses: np.ndarray) -> np.ndarray:
        """Work [J] for each account (nw,) of impulses along rows on surfaces that move by themselves."""
        return surface_work(self, rows, impulses)

    def energies(self, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> Energies:
        """Kinetic, potential and elastic energy."""
        v = self.layout.velocity(e)
        _, h = first_moment(self.model, q)
        elastic = spring_energy(self.model, q)
        for element, s in zip(self.elements, self.driven_situations(t, q, e, u)[1], strict=True):
            elastic = elastic + element.energy(s)
        return Energies(algorithms.kinetic_energy(self.model, q, v), -(self.model.gravity @ h), elastic)


def _closure_rows(s: Situation) -> Rows:
    """The rows of the model's closed loops."""
    residual, J, bias = algorithms.constraints(s.model, s.q, s.v)
    return Rows(residual, J, bias, np.zeros(len(residual)))
