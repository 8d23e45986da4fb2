"""The equations of motion that are integrated: a model, its force elements, a torque law, and the ledger's powers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert import algorithms
from dalembert.algorithms.center_of_mass import first_moment
from dalembert.algorithms.passive import spring_energy
from dalembert.linear import sparse_product
from dalembert.math import tanh
from dalembert.model import Joint, Model

from ..elements.base import Action, Element, Situation
from .holding import Rows, closing_rows, held_rows, joined

Law = Callable[[Any, np.ndarray, np.ndarray], Any]  # (t, q, v) → tau


class Entry(NamedTuple):
    """One account of the ledger: "work" put in or "heat" given off, and by what."""

    kind: str
    name: str


class Energies(NamedTuple):
    """Kinetic energy, energy in gravity, energy in springs and elements [J]."""

    kinetic: Any
    potential: Any
    elastic: Any


@dataclass(frozen=True, eq=False)
class System:
    """ẋ = f(t, x) with x = (q, e): the configuration q on its manifold, and e = [v, z, w].

    z are the states of the elements, w the accounts of the ledger (nw,): what each entry has given or taken [J].
    Numbers u that come from outside drive it: tau = u[:nv] + u[nv:2nv] (t − u[2nv]); or else a law tau(t, q, v).
    """

    model: Model
    elements: tuple[Element, ...] = ()
    law: Law | None = None
    driven: bool = False  # whether forces come as numbers u
    ledger: bool = True  # whether the accounts are kept
    called: bool = False  # whether the law is Python code that cannot be traced

    @property
    def nu(self) -> int:
        """Numbers that drive it."""
        return 2 * self.model.nv + 1 if self.driven else 0

    @cached_property
    def nz(self) -> int:
        """States of the elements."""
        return sum(element.size(self.model) for element in self.elements)

    @cached_property
    def ne(self) -> int:
        """Length of e = [v, z, w]."""
        return self.model.nv + self.nz + len(self.entries)

    @property
    def measured(self) -> int:
        """Length of [v, z]: the part of e whose error counts."""
        return self.model.nv + self.nz

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The accounts of the ledger."""
        if not self.ledger:
            return ()
        found = []
        if self.driven or self.law:
            found += [Entry("work", f"actuator {name}") for name in self.model.freedom_names]
        for field in ("damping", "friction"):
            names = [b.joint.name for b in self.model.bodies if np.any(getattr(b.joint, field) != 0.0)]
            found += [Entry("heat", f"{field} {name}") for name in names]
        for element, label in zip(self.elements, labels(self.elements), strict=True):
            found += [Entry("work", label)] * element.gives + [Entry("heat", label)] * element.loses
        return tuple(found)

    def torque(self, t: Any, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The commanded generalised force (nv,)."""
        n = self.model.nv
        if self.driven:
            return u[:n] + u[n : 2 * n] * (t - u[2 * n])
        return np.zeros(n) if self.law is None else np.asarray(self.law(t, q, v))

    def rates(self, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> np.ndarray:
        """ė (ne,) = [a, ż, powers]; the rate of q is v = e[:nv]."""
        v, z = self.split(e)
        tau = self.torque(t, q, v, u)
        actions = self.actions(t, q, v, z, tau)
        rows = self.rows(q, v, z)
        a, _ = self.accelerations(q, v, self.forces(tau, actions), self.wrenches(actions), rows)
        return np.concatenate([a, *(action.rate for action in actions), self.powers(q, v, tau, actions)])

    def split(self, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v and z of e."""
        return e[: self.model.nv], e[self.model.nv : self.measured]

    @property
    def held(self) -> bool:
        """Whether there are constraint forces: of equations on q, or of elements that hold joints."""
        return bool(self.closing_count) or any(type(e).held is not Element.held for e in self.elements)

    @property
    def closing_count(self) -> int:
        """Number of equations on the configuration: of closed loops, then of elements."""
        return algorithms.constraint_count(self.model) + sum(element.count for element in self.elements)

    def closing(self, q: np.ndarray, v: np.ndarray) -> algorithms.Constraints:
        """Those equations."""
        parts = [algorithms.constraints(self.model, q, v)] if self.model.closures else []
        parts += [element.closing(self.model, q, v) for element in self.elements if element.count]
        return algorithms.Constraints(*(np.concatenate(x) for x in zip(*parts, strict=True)))

    @property
    def held_count(self) -> int:
        """Number of constraint forces that could act."""
        return self.closing_count + sum(type(e).held is not Element.held for e in self.elements)

    def rows(self, q: np.ndarray, v: np.ndarray, z: np.ndarray) -> Rows | None:
        """Conditions on the acceleration, active or not: equations on the configuration, then joints held."""
        if not self.held:
            return None
        found = [closing_rows(self.closing(q, v), v)] if self.closing_count else []
        seen = self.situations(0.0, q, v, z, np.zeros(self.model.nv))  # whether a joint is held, z alone decides
        held = [row for element, s in zip(self.elements, seen, strict=True) for row in element.held(s)]
        return joined([*found, held_rows(self.model.nv, held)])

    def accelerations(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: dict[int, np.ndarray], rows: Rows | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """a (nv,) under all forces, and those of the rows (nr,), zero where one is not active."""
        if rows is None:
            return algorithms.forward_dynamics(self.model, q, v, tau, wrenches), np.zeros(0)
        force = tau - algorithms.bias(self.model, q, v, wrenches)
        return rows.solver(self.model, q).accelerated(force, rows.goal)

    def kicked(self, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Displacement (nv,) and [v, z] after a step h of symplectic Euler, constraints included.

        v1 = v + M⁻¹ (h f + Jᵀ p) with J v1 = −h J̇ v, so that it fits the rows at the end; the displacement is h v1, and
        what φ + h J v1 + ½ h² J̇ v leaves open goes back by the shortest way in the metric of the inertia. One solver
        serves both. Positions fit to third order in h, velocities to second, and neither drifts.
        """
        v, z = self.split(e)
        tau = self.torque(t, q, v, u)
        actions = self.actions(t, q, v, z, tau)
        forces, wrenches, rows = self.forces(tau, actions), self.wrenches(actions), self.rows(q, v, z)
        z1 = z + h * np.concatenate([np.zeros(0), *(action.rate for action in actions)])
        if rows is None:
            v1 = v + h * algorithms.forward_dynamics(self.model, q, v, forces, wrenches)
            return h * v1, np.concatenate([v1, z1])
        solver = rows.solver(self.model, q)
        impulse = h * (forces - algorithms.bias(self.model, q, v, wrenches))
        change, _ = solver.accelerated(impulse, -h * rows.drift - sparse_product(rows.J, v))
        back = solver.response(solver.forces(0.5 * h * h * rows.drift - rows.residual))
        return h * (v + change) + back, np.concatenate([v + change, z1])

    def multipliers(self, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Forces of closed loops, then those on what elements hold (nr,) [N, N·m]."""
        v, z = self.split(e)
        tau = self.torque(t, q, v, u)
        actions = self.actions(t, q, v, z, tau)
        rows = self.rows(q, v, z)
        return self.accelerations(q, v, self.forces(tau, actions), self.wrenches(actions), rows)[1]

    def projected(self, q: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, e) moved onto closed loops by the shortest way in the metric of the inertia: one Newton step each."""
        v, z = self.split(e)
        there = self.rows(q, v, z) if self.closing_count else None
        if there is None:
            return q, e
        solver = there.solver(self.model, q)
        back = solver.response(solver.forces(-there.residual))
        change = solver.response(solver.forces(-sparse_product(there.J, v)))
        return algorithms.integrate(self.model, q, back), np.concatenate([v + change, e[len(v) :]])

    def gaps(self, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> list[Any]:
        """Numbers of the elements that become negative when something happens."""
        v, z = self.split(e)
        seen = self.situations(t, q, v, z, self.torque(t, q, v, u))
        held = [element.held(s) for element, s in zip(self.elements, seen, strict=True)]
        pushes = iter(self.multipliers(t, q, e, u)[self.closing_count :]) if any(held) else iter(())
        found: list[Any] = []
        for element, s, rows in zip(self.elements, seen, held, strict=True):
            found += element.gaps(s, [direction * next(pushes) for _, _, direction in rows])
        return found

    def residual(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray, wrenches: dict[int, np.ndarray]
    ) -> np.ndarray:
        """The generalised force (nv,) that is missing for the acceleration a."""
        return algorithms.rnea(self.model, q, v, a, wrenches) - tau

    def situations(self, t: Any, q: np.ndarray, v: np.ndarray, z: np.ndarray, tau: np.ndarray) -> list[Situation]:
        """What each element sees."""
        ends = np.cumsum([element.size(self.model) for element in self.elements])
        parts = np.split(z, ends[:-1]) if len(ends) else []
        return [Situation(self.model, t, q, v, part, tau) for part in parts]

    def actions(self, t: Any, q: np.ndarray, v: np.ndarray, z: np.ndarray, tau: np.ndarray) -> list[Action]:
        """What each element does."""
        seen = self.situations(t, q, v, z, tau)
        return [element.act(s) for element, s in zip(self.elements, seen, strict=True)]

    def forces(self, tau: np.ndarray, actions: Sequence[Action]) -> np.ndarray:
        """Commanded forces and those of elements at joints (nv,)."""
        total = np.array(tau, object if any(a.tau for a in actions) else None)
        for action in actions:
            for index, force in action.tau.items():
                where = self.model.bodies[index].v
                total[where] = total[where] + force
        return total

    def wrenches(self, actions: Sequence[Action]) -> dict[int, np.ndarray]:
        """Body index → sum of the wrenches of elements."""
        total: dict[int, np.ndarray] = {}
        for action in actions:
            for index, wrench in action.wrenches.items():
                total[index] = total[index] + wrench if index in total else wrench
        return total

    def powers(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, actions: Sequence[Action]) -> np.ndarray:
        """The rate [W] of each account (nw,)."""
        if not self.ledger:
            return np.zeros(0)
        found: list[Any] = list(tau * v) if self.driven or self.law else []
        for field, law in (("damping", _damping), ("friction", _friction)):
            joints = [b for b in self.model.bodies if np.any(getattr(b.joint, field) != 0.0)]
            found += [law(b.joint, v[b.v]) @ v[b.v] for b in joints]
        for element, action in zip(self.elements, actions, strict=True):
            found += [action.given] * element.gives + [action.lost] * element.loses
        return np.array(found, np.result_type(q, v, *(type(x) for x in found)) if found else float)

    def energies(self, t: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray) -> Energies:
        """What is stored where."""
        v, z = self.split(e)
        _, h = first_moment(self.model, q)
        elastic = spring_energy(self.model, q)
        for element, s in zip(self.elements, self.situations(t, q, v, z, self.torque(t, q, v, u)), strict=True):
            elastic = elastic + element.energy(s)
        return Energies(algorithms.kinetic_energy(self.model, q, v), -(self.model.gravity @ h), elastic)


def _damping(joint: Joint, v: np.ndarray) -> np.ndarray:
    return joint.damping * v


def _friction(joint: Joint, v: np.ndarray) -> np.ndarray:
    return joint.friction * tanh(v / joint.slip_speed)


def labels(elements: Sequence[Element]) -> list[str]:
    """Names of elements for the ledger, numbered where two are alike."""
    plain = [element.label() for element in elements]
    seen: dict[str, int] = {}
    found = []
    for name in plain:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if plain.count(name) == 1 else f"{name} #{seen[name]}")
    return found
