"""The impulses of a time step with few candidates for contact, each with its own place: see `contact_step`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.contact import ContactLaw
from dalembert.contact.gathering import Motions, tied_together
from dalembert.contact.rows import contact_rows, pair_motions
from dalembert.contact.solver import Carrier, Law, Moment, constraint_impulses, impulses_from_rest
from dalembert.dynamics.algorithms import poses
from dalembert.linear import nonzeros, sparse_product
from dalembert.math import branch, clip, logical_or, maximum, take, where

from ..elements.contact import Memory, RigidContact
from .contact_problem import ContactImpulses, Situated, Solved, counts, without_gain
from .one_contact import (
    Bounce,
    along_the_path,
    bounced,
    braking,
    can_be_stopped,
    friction_coefficient,
    meets_ahead,
    mobility,
    normal_shift,
    passed,
    pushed_alone,
    recovered,
    rolling_velocity,
    speeds_apart,
    stopped_approach,
    stopped_impulse,
    was_stuck,
)
from .turning import STILL, Nearby, Turned, Turning, may_turn_into, most_turned, robot_rows, turned_too_far, where_fast

if TYPE_CHECKING:
    from .system import System


MOST_HELD = 8  # contacts up to which holding all of them at once takes less time than the sweeps that it saves


class Faces(NamedTuple):
    """Rows of contacts and their moments, P B: of the velocities B (m, nv) of pairs of bodies, P (n, m)."""

    P: np.ndarray
    B: np.ndarray


class Touching(NamedTuple):
    """k contacts: gap (k,) [m], J (3 k, nv) of their velocities, laws, and what the step before left of them.

    moments: (contact, axis) of friction about axes, and spin (m, nv) of them. thin: thicknesses [m], see `passed`;
    normals (k, 3). places (k, 3) and bodies (k, 2), numbers of both of each: None where nothing can turn too far for
    the step to follow it. faces: rows of contacts and moments by pairs of bodies, where these have fewer. numbers (k,):
    of candidates; None: of all, in their order.
    """

    gap: np.ndarray
    J: np.ndarray
    laws: Sequence[ContactLaw]
    moments: Sequence[tuple[int, int]]
    spin: np.ndarray
    memory: Memory
    thin: Sequence[Any]
    normals: np.ndarray
    places: np.ndarray | None = None
    bodies: np.ndarray | None = None
    faces: Faces | None = None
    numbers: np.ndarray | None = None


def every_candidate(element: RigidContact, at: Situated) -> Touching:
    """All candidates."""
    model, q = at.bodies.model, at.bodies.q
    ahead = None
    if any(patch.passes_by for patch in element.patches):
        X = poses(model, q)
        ahead = Motions(model, X, q).later(X, at.v, at.h)
    touching, moments = contact_rows(model, q, element.patches, ahead), element.moments
    spins = touching.spin.reshape(len(element.names), 3, -1)
    spin = np.array([spins[i, axis] for i, axis in moments]).reshape(len(moments), model.nv)
    faces = None
    if (motions := pair_motions(model, q, element.patches, touching)) is not None:
        P = np.concatenate([motions.P, motions.S[[3 * i + axis for i, axis in moments]]])
        used = nonzeros(P).any(axis=0)
        if used.sum() < model.nv and _independent(motions.B[used]):
            faces = Faces(P[:, used], motions.B[used])
    contacts = touching.gap, touching.J, element.laws, moments, spin, at.memory, element.thin, touching.axes[:, 0]
    if not any(map(may_turn_into, element.patches)):
        return Touching(*contacts, faces=faces)
    bodies = np.array([(patch.first, patch.second) for patch in element.patches for _ in patch.names], float)
    return Touching(*contacts, touching.position, bodies, faces)


def _independent(B: np.ndarray) -> bool:
    """Whether rows can all move apart from each other, by their pattern: as many joints as rows move them."""
    pattern = nonzeros(B)
    return all((pattern <= columns).all(axis=1).sum() <= columns.sum() for columns in pattern)


class EachContact(ContactImpulses):
    """Every contact has its own place in the problem: columns Y = L⁻¹ Jᵀ, velocities without impulses, and laws."""

    def __init__(self, system: System, element: RigidContact, at: Situated, touching: Touching) -> None:
        super().__init__(system, element, at)
        self.touching, memory, moments, k = touching, touching.memory, touching.moments, len(touching.gap)
        self.gap, self.faces = touching.gap, None if len(self.row_before) else touching.faces
        self.contact_rows = np.concatenate([touching.J, touching.spin])
        if self.faces is None:
            self.all = self.bodies.carrier(np.concatenate([self.contact_rows, self.rows.J[self.switching]]))
            if not len(self.row_before):  # where inertia is diagonal there is less to keep for Newton steps
                self.all = Carrier.reduced(self.all.Y, self.mass.r)
            self.before = np.concatenate([sparse_product(self.contact_rows, self.v), self.row_before])
            self.free = self.before + self._changes(self.kick)
        else:
            self.of_faces = self.bodies.carrier(self.faces.B)
            self.all = self.of_faces.condensed(self.faces.P)
            self.before = sparse_product(self.faces.P, sparse_product(self.faces.B, self.v))
            self.free = self.before + self._changes(self.kick)
        self.meets = self.before if at.jump is None else self.before + self._changes(at.jump)
        levers = [(law.torsion, law.rolling, law.rolling) for law in touching.laws]
        self.laws: list[Law | Moment] = [Moment(i, levers[i][axis]) for i, axis in moments]
        self.laws += self.row_laws
        self.give = np.concatenate([np.zeros(len(moments)), self.row_give])
        before, impulses = self.before[: 3 * k].reshape(k, 3), memory.contacts.reshape(k, 3)
        stuck = [was_stuck(*each) for each in zip(impulses, memory.slip, strict=True)]
        groups = tied_together(np.any(nonzeros(touching.J).reshape(k, 3, -1), axis=1))
        pushing = sparse_product(groups.T.astype(float), np.array([where(x > 0.0, 1.0, 0.0) for x in impulses[:, 0]]))
        alone = [pushed_alone(pushing[tied]) for tied in groups]
        motions = zip(before, impulses, memory.held.reshape(k, 3), stuck, alone, strict=True)
        self.held = np.array([rolling_velocity(*each) for each in motions]).reshape(k, 3)
        places = [slice(3 * i, 3 * i + 3) for i in range(k)]
        mobile = [self.at.recovers * mobility(self.all.X[:, at], self.all.Y[:, at]) for at in places]
        normals = zip(self.gap, before[:, 0], self.held[:, 0], mobile, strict=True)
        self.shifts = self._along_the_path([normal_shift(element.contact, self.h, *each) for each in normals])
        self.bounces = self._bounces() if element.bounces else []
        sliding = zip(touching.laws, before[:, 1:], stuck, strict=True)
        self.mu = [friction_coefficient(element.contact, *each) for each in sliding]

    def _along_the_path(self, shifts: list[Any]) -> list[Any]:
        """Shifts of normals, without those contacts that only a straight way closes."""
        at, free = self.touching, self.free[: 3 * len(self.gap) : 3]
        open_ones = zip(self.gap, free + np.array(shifts), at.memory.contacts[::3], at.thin, strict=True)
        meets = [meets_ahead(self.element.contact, self.h, *each) for each in open_ones]
        gaps = self.gaps_ahead(reduce(logical_or, meets))
        after = gaps if at.numbers is None else take(gaps[:, None], at.numbers)[:, 0]
        return [along_the_path(self.h, *each) for each in zip(shifts, free, meets, after, strict=True)]

    def solved(self) -> Solved:
        """All impulses on their laws."""
        memory, tolerance = self.touching.memory, self.element.contact.tolerance
        finer = self.finer_tolerance(self.before)
        anew = self._starts_anew()

        def impulses(bouncing: bool) -> Any:
            c = self._shifted(bouncing)
            if anew:
                return impulses_from_rest(self.all, c, self.mu, tolerance, finer)
            start = memory.impulses, memory.slip
            return constraint_impulses(self.all, c, self.mu, self.laws, start, tolerance, self.give, finer)

        def responded(p: np.ndarray) -> np.ndarray:
            return sparse_product(self.all.X.T, sparse_product(self.all.Y, p))

        approach, owed = np.zeros(0), 0.0
        if self.bounces:
            solution, left = without_gain(impulses, self.meets, self.free, responded, memory.owed)
            after = self.free + responded(solution.p)
            approach = self._approaches(solution.p, after, responded)
            normals = [x[: 3 * len(self.gap) : 3] for x in (solution.p, self.before, after)]
            taken = [braking(*each) for each in zip(approach, memory.approach, *normals, strict=True)]
            owed = clip(sum(taken), 0.0, maximum(left, 0.0))
        else:
            solution = impulses(True)
        w, n = self._pushed(solution.p), len(self.contact_rows)
        p, turned, rows = np.split(solution.p, [3 * len(self.gap), n])
        impacts, friction, recovery = 0.0, 0.0, 0.0
        if self.measures:
            mean = 0.5 * (self.meets[:n] + self._velocities(self.velocity(w)))
            lost = -solution.p[:n] * mean
            normals = lost[: len(p) : 3]
            lifts = [recovered(heat, gap) for heat, gap in zip(normals, self.gap, strict=True)]
            impacts, friction, recovery = sum(normals) + sum(lifts), sum(lost) - sum(normals), sum(lifts)
        ends = [each.shift for each in self.bounces] if self.bounces else self.shifts
        held = np.array([[-shift, *x[1:]] for shift, x in zip(ends, self.held, strict=True)]).ravel()
        memory = Memory(
            contacts=p,
            turned=turned,
            rows=rows,
            slip=solution.slip,
            held=held,
            approach=approach,
            numbers=np.zeros(0),
            normals=self.touching.normals.ravel() if self.element.keeps_normals else np.zeros(0),
            owed=owed,
            **counts(self.at.memory, solution, self._missed(), self._turned(self.velocity(w), p)),
        )
        return Solved(w, memory, impacts, friction, recovery)

    def _pushed(self, p: np.ndarray) -> np.ndarray:
        """Y p (nv,) of all impulses."""
        w = sparse_product(self.all.Y, p)
        return w if self.faces is None else sparse_product(self.of_faces.Y, w)

    def _changes(self, kick: np.ndarray) -> np.ndarray:
        """Changes of the velocities of all rows by a kick (nv,)."""
        if self.faces is None:
            return sparse_product(self.all.X.T, kick)
        return sparse_product(self.faces.P, sparse_product(self.of_faces.X.T, kick))

    def _velocities(self, v: np.ndarray) -> np.ndarray:
        """Velocities of contacts and moments, at velocities v (nv,) of the robot."""
        if self.faces is None:
            return sparse_product(self.contact_rows, v)
        return sparse_product(self.faces.P, sparse_product(self.faces.B, v))

    def _starts_anew(self) -> bool:
        """Whether nothing is known of a step before, and contacts alone, each on bodies of its own, are solved for."""
        bodies = [body for patch in self.element.patches for body in [patch.first] * len(patch.names)]
        alone = len(set(bodies)) == len(bodies) <= MOST_HELD and len(self.before) == 3 * len(bodies)
        return alone and not nonzeros(self.touching.memory.impulses).any()

    def _missed(self) -> Any:
        """The most that a contact was passed through before this step [m/s]."""
        contact, before = self.element.contact, self.before[: 3 * len(self.gap)].reshape(-1, 3)
        contacts = list(zip(self.gap, before, self.touching.memory.contacts[::3], strict=True))
        further = list(zip(self.touching.thin, self.touching.memory.held[::3], strict=True))

        def most(apart: Sequence[Any]) -> Any:
            each = [
                passed(contact, self.h, *at, self.at.memory, x, *of_pair)
                for at, x, of_pair in zip(contacts, apart, further, strict=True)
            ]
            return reduce(maximum, each, 0.0)

        def at_length() -> dict[str, Any]:
            rows = self.touching.J.reshape(len(contacts), 3, -1)
            return {"missed": most([speeds_apart(J, self.v) for J in rows])}

        suspected = most([0.0] * len(contacts))
        return branch(suspected > 0.0, at_length, {"missed": suspected})["missed"]

    def _turned(self, v1: np.ndarray, p: np.ndarray) -> Turned:
        """Find what turns too far at v1 (nv,), after impulses p (3 k,), for the step to follow it."""
        places, bodies = self.touching.places, self.touching.bodies
        if places is None or bodies is None:
            return STILL

        model, turning = self.bodies.model, Turning(self.bodies.model, self.bodies.model.bodies, self.element.patches)

        def at_length() -> Turned:
            q, at = self.bodies.q, self.touching
            X = poses(model, q)
            table = robot_rows(turning, X, Motions(model, X, q), v1)
            return turned_too_far(self.h, table, Nearby(bodies, at.normals, places, at.gap, p[::3], np.array(at.thin)))

        return where_fast(most_turned(self.h, v1, model), turning.followed, at_length)

    def _bounces(self) -> list[Bounce]:
        """Bounces of all contacts."""
        contact, memory, normals = self.element.contact, self.touching.memory, slice(0, 3 * len(self.gap), 3)
        velocities = self.before[normals], self.free[normals], self.shifts
        last = zip(memory.approach, memory.contacts[::3], strict=True)
        jumps = [0.0] * len(self.gap) if self.at.jump is None else (self.meets - self.before)[normals]
        each = zip(self.touching.laws, self.gap, *velocities, last, jumps, strict=True)
        recovers = self.at.recovers
        return [bounced(contact, law, self.h, *numbers, recovers) for law, *numbers in each]  # type: ignore[call-arg]

    def _approaches(
        self, p: np.ndarray, after: np.ndarray, responded: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Squares of the speeds at which contacts met that are to bounce in the next step (k,)."""
        contact, normals = self.element.contact, slice(0, 3 * len(self.gap), 3)
        each = list(zip(self.touching.laws, self.gap, self.bounces, self.shifts, strict=True))
        stops = [can_be_stopped(contact, law, self.h, gap, x.shift < shift) for law, gap, x, shift in each]
        stopped = np.zeros(len(p), object)
        stopped[normals] = [stopped_impulse(p[3 * i : 3 * i + 1], x)[0] for i, x in enumerate(stops)]
        motions = responded(stopped)[normals], self.before[normals], after[normals]
        waiting = zip(stops, p[normals], [x.approach for x in self.bounces], *motions, strict=True)
        return np.array([stopped_approach(contact, *x) for x in waiting])

    def _shifted(self, bouncing: bool) -> np.ndarray:
        """Velocities without impulses, normals with their shifts."""
        velocities, shifts = self.free.copy(), self.shifts
        if bouncing and self.bounces:
            shifts = [each.shift for each in self.bounces]
        for i, shift in enumerate(shifts):
            velocities[3 * i] += shift
            velocities[3 * i + 1 : 3 * i + 3] -= self.held[i, 1:]
        return velocities
