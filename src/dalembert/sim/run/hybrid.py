"""A small complementarity problem: forces within bounds, and motions that only forces at a bound allow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.dynamics.algorithms import integrate
from dalembert.typing import Array

from ..system.constraints import IDLE
from ..system.guards import NO_FORCE
from ..system.multipliers import STABILIZED
from .compiled import Programs
from .engines import State

NOISE = 1e-12  # of the terms that add up to a motion: a motion below it is none
PASSES = 50  # changes of the free set per row, after which only rounding can be at work


def bounded_forces(A: Array, b: Array, low: Array, high: Array, scale: Array) -> tuple[Array, Array]:
    """λ (n,) within [low, high], and which of them are free (n,), such that the motion w = A λ + b (n,) obeys:

    w = 0 where λ is strictly between its bounds, w ≥ 0 where it is at the lower one, w ≤ 0 at the upper one. That is
    the minimum of ½ λᵀ A λ + bᵀ λ, A (n, n) ≥ 0 symmetric; low ≤ 0 ≤ high, which may be infinite. The motion is unique,
    and the free rows are independent of each other. scale (n,): the size of the terms in b.

    An active-set method, one row at a time (Lawson, Hanson 1974; bounds on both sides: Stark, Parker 1995).
    """
    size = np.sqrt(np.diag(A))
    unit = 1.0 / np.where(size > 0.0, size, 1.0)
    A, b, scale = A * np.outer(unit, unit), b * unit, scale * unit
    lowest, highest = low / unit, high / unit
    n = len(b)
    x, free, refused = np.zeros(n), np.zeros(n, bool), np.zeros(n, bool)
    for _ in range(PASSES * (n + 1)):
        w = A @ x + b
        wrong = np.abs(w) > NOISE * (scale + np.abs(A) @ np.abs(x))
        pulled = np.where(w < 0.0, x < highest, x > lowest) & wrong & ~free & ~refused
        if not pulled.any():
            break
        k = int(np.argmax(np.where(pulled, np.abs(w), -1.0)))
        free[k] = True
        if _descend(A, b, x, free, lowest, highest):
            refused[:] = False
        else:
            refused[k] = not free[k]  # it was rounding that pulled
    forces = np.where(x >= highest, high, np.where(x <= lowest, low, x * unit))
    return np.where(free, x * unit, forces), free


def _descend(A: Array, b: Array, x: Array, free: Array, low: Array, high: Array) -> bool:
    """Move x to the minimum over its free rows, fixing those that reach a bound on the way; whether it moved."""
    moved = False
    while free.any():
        F = np.flatnonzero(free)
        goal = x[F] - np.linalg.lstsq(A[np.ix_(F, F)], (A @ x + b)[F], rcond=1e-13)[0]
        outside = (goal < low[F]) | (goal > high[F])
        if not outside.any():
            moved |= bool(np.any(x[F] != goal))
            x[F] = goal
            return moved
        bound = np.where(goal < low[F], low[F], high[F])[outside]
        share = (bound - x[F][outside]) / (goal - x[F])[outside]
        first = float(np.min(share))
        moved |= first > 0.0
        x[F] = x[F] + first * (goal - x[F])
        x[F[outside][share <= first]] = bound[share <= first]
        free[F[outside][share <= first]] = False
    return moved


def independent(A: Array, held: Array, row: int) -> bool:
    """Whether a row is independent of the held ones (n,): whether it can move when they do not."""
    H = np.flatnonzero(held)
    if not len(H):
        return bool(A[row, row] > 0.0)
    along = np.linalg.lstsq(A[np.ix_(H, H)], A[H, row], rcond=1e-13)[0]
    return bool(A[row, row] - A[row, H] @ along > 1e-10 * A[row, row])


TOUCHING = 1e-12  # [of a coordinate, relative to 1 + its size]: nearer to the end of its range a row touches it
SLOW = 1e-10  # [relative to 1 + the largest speed]: a slower row is at rest
STOPPED = 1e-6  # likewise, of friction whose speed is known to have just passed zero
ROUNDS = 200  # of impacts at one instant, after which they are taken as inelastic


class Assembly(NamedTuple):
    """The equations of one state: M (nv, nv), acceleration a (nv,) without held rows, and the rows.

    force_scale: the largest force at work; response M⁻¹ Jᵀ (nv, nr); A = J M⁻¹ Jᵀ (nr, nr).
    """

    M: Array
    a: Array
    J: Array
    coordinate: Array
    bias: Array
    surface: Array
    force_scale: Array
    response: Array
    A: Array

    def rate(self, v: Array) -> Array:
        """φ̇ (nr,)."""
        return self.J @ v - self.surface


class Outcome(NamedTuple):
    """An instant's state after it, the rows (nr,) that were hit, and whether impacts had to be ended by force."""

    state: State
    hit: Array
    endless: bool


class Hybrid:
    """Decides impacts and modes for the rows of a system."""

    def __init__(self, programs: Programs) -> None:
        self.programs, system = programs, programs.system
        self.layout, self.permanent = system.layout, system.permanent_count
        owners = [owner.constraint for owner in system.row_owners]
        self.sets = [owner.admissible for owner in owners]
        self.lower, self.upper = (np.array([getattr(s, side) for s in self.sets]) for side in ("lower", "upper"))
        self.static = np.array([s.static for s in self.sets])
        self.ranged = np.isfinite(self.lower) | np.isfinite(self.upper)
        self.switches = np.array([s.switches for s in self.sets], bool)
        self.restitution = np.array([owner.impact.restitution for owner in owners])
        self.rest_speed = np.array([owner.impact.rest_speed for owner in owners])
        self._last_hit = np.full(len(owners), -np.inf)  # [s]
        self._heat = self._heat_accounts()

    def _heat_accounts(self) -> list[int | None]:
        """The number of the account that takes the heat of each row's impacts."""
        system, names = self.programs.system, self.programs.system.labels
        accounts = {(entry.kind, entry.name): k for k, entry in enumerate(system.entries)}
        owners = [owner.element for owner in system.row_owners]
        return [None if k is None else accounts.get(("heat", names[k])) for k in owners]

    def instant(self, state: State, u: Array, fired: Array, soft: Array) -> Outcome:
        """The state after the guards of some rows that come and go (nm,) have fired.

        soft (nm,): those that meet their end without restitution.
        """
        fired, soft = (np.concatenate([np.zeros(self.permanent, bool), rows]) for rows in (fired, soft))
        modes = np.concatenate([np.zeros(self.permanent), self.layout.modes(state.e)])
        held = np.array([bool(s.active(m)) for s, m in zip(self.sets, modes, strict=True)], bool)
        assembly = self._assembled(state, u)
        near = TOUCHING * (1.0 + np.abs(assembly.coordinate))
        meets = (fired | held) & self.ranged & self.switches
        to_lower, to_upper = assembly.coordinate - self.lower, self.upper - assembly.coordinate
        at_lower = (to_lower <= near) | (meets & (to_lower <= to_upper))
        at_upper = (to_upper <= near) | (meets & (to_upper < to_lower))
        state, hit, endless = self._impacts(state, assembly, at_lower, at_upper, soft)
        v = self.layout.velocity(state.e)
        rate = assembly.rate(v)
        slid = fired & ~self.ranged & ~held  # friction whose speed has reached zero
        fastest = 1.0 + np.abs(v).max()
        still = (np.abs(rate) <= SLOW * fastest) | (slid & ~hit.any() & (np.abs(rate) <= STOPPED * fastest))
        candidates = ~self.switches | (still & (~self.ranged | at_lower | at_upper))
        modes = np.where(self.ranged, 0.0, np.where(candidates, IDLE, np.sign(rate)))
        state = self._with_modes(state, modes)
        held, forces = self._held(self._assembled(state, u), v, candidates, at_lower, at_upper, held & fired)
        for k in np.flatnonzero(candidates):
            modes[k] = self.sets[k].mode(bool(held[k]), float(forces[k]), bool(at_upper[k] and not at_lower[k]))
        state = self._placed(self._with_modes(state, modes), assembly, held, hit, at_lower)
        return Outcome(state, hit, endless)

    def _with_modes(self, state: State, modes: Array) -> State:
        return state._replace(e=self.layout.replaced(state.e, modes=modes[self.permanent :]))

    def _assembled(self, state: State, u: Array) -> Assembly:
        inputs = {"t": np.array([state.t]), "q": state.q, "e": state.e, "u": u}
        parts = {name: x[0] for name, x in self.programs.constrained(inputs).items()}
        response = np.linalg.solve(parts["M"], parts["J"].T)
        A = parts["J"] @ response
        return Assembly(**parts, response=response, A=0.5 * (A + A.T))

    def _impacts(
        self, state: State, assembly: Assembly, at_lower: Array, at_upper: Array, soft: Array
    ) -> tuple[State, Array, bool]:
        """Impulses until nothing moves beyond the end of its range."""
        v, accounts = self.layout.velocity(state.e).copy(), self.layout.accounts(state.e).copy()
        hit = np.zeros(len(self.sets), bool)
        touching = self.switches & (at_lower | at_upper)
        soft = soft | (self.restitution == 0.0)
        soft |= state.t - self._last_hit <= 16.0 * np.finfo(float).eps * max(1.0, abs(state.t))
        for number in range(ROUNDS + 1):
            rate = assembly.rate(v)
            into = np.maximum(np.where(at_lower, -rate, 0.0), np.where(at_upper, rate, 0.0))
            approaching = touching & (into > SLOW * (1.0 + np.abs(v).max()))
            if not approaching.any():
                break
            stays = soft | (into <= self.rest_speed) | (number == ROUNDS)
            rows = ~self.switches | approaching | (touching & ((self.restitution == 0.0) | (number == ROUNDS)))
            bounce = np.where(approaching & ~stays, self.restitution, 0.0)
            impulses = np.zeros(len(rate))
            R = np.flatnonzero(rows)
            impulses[R], _ = bounded_forces(
                assembly.A[np.ix_(R, R)],
                ((1.0 + bounce) * rate)[R],
                np.where(at_upper | ~self.switches, -np.inf, 0.0)[R],
                np.where(at_lower | ~self.switches, np.inf, 0.0)[R],
                (np.abs(assembly.J) @ np.abs(v) + np.abs(assembly.surface))[R],
            )
            v = v + assembly.response @ impulses
            lost = -0.5 * impulses * (rate + assembly.rate(v))
            for k in np.flatnonzero(impulses != 0.0):
                if (account := self._heat[k]) is not None:
                    accounts[account] += lost[k]
            hit |= self.switches & (impulses != 0.0)
        self._last_hit[hit] = state.t
        return state._replace(e=self.layout.replaced(state.e, v, accounts=accounts)), hit, number >= ROUNDS

    def _held(
        self, assembly: Assembly, v: Array, candidates: Array, at_lower: Array, at_upper: Array, leaving: Array
    ) -> tuple[Array, Array]:
        """Which rows hold (nr,), and their forces (nr,)."""
        forces, held = np.zeros(len(candidates)), np.zeros(len(candidates), bool)
        C = np.flatnonzero(candidates)
        if not len(C):
            return held, forces
        wanted = assembly.bias + np.where(
            self.switches, 0.0, 2.0 * STABILIZED * assembly.rate(v) + STABILIZED**2 * assembly.coordinate
        )
        scale = np.abs(assembly.response).sum(axis=0) * assembly.force_scale + np.abs(wanted)
        low, high = -self.static, self.static
        low, high = np.where(at_upper | ~self.switches, -np.inf, low), np.where(at_lower | ~self.switches, np.inf, high)
        A = assembly.A[np.ix_(C, C)]
        forces[C], held[C] = bounded_forces(A, (assembly.J @ assembly.a + wanted)[C], low[C], high[C], scale[C])
        motion = assembly.A @ forces + assembly.J @ assembly.a + wanted
        idle = candidates & ~held & ~leaving & (np.abs(motion) <= NO_FORCE * scale)
        idle &= np.where(self.ranged, forces == 0.0, np.abs(forces) < self.static)
        for k in np.flatnonzero(idle):  # nothing pulls: it holds without a force, unless other rows hold it already
            held[k] = independent(A, held[C], int(np.searchsorted(C, k)))
        return held, forces

    def _placed(self, state: State, assembly: Assembly, held: Array, hit: Array, at_lower: Array) -> State:
        """The state with rows that hold exactly at rest, and those at an end exactly there."""
        end = np.where(at_lower, self.lower, self.upper)
        with np.errstate(invalid="ignore"):
            off = np.where(self.ranged & (held | hit), assembly.coordinate - end, 0.0)
        q, v = state.q, self.layout.velocity(state.e)
        P = np.flatnonzero(held | hit)
        if np.any(off[P] != 0.0):
            q = integrate(self.programs.system.model, q, -_correction(assembly, P, off[P]))
        H = np.flatnonzero(held)
        rate = assembly.rate(v)[H]
        if np.any(rate != 0.0):
            v = v - _correction(assembly, H, rate)
        return State(state.t, q, self.layout.replaced(state.e, v))


def _correction(assembly: Assembly, rows: Array, amount: Array) -> Array:
    """The smallest change (nv,), in the metric of the inertia, that moves some rows by an amount."""
    weights = np.linalg.lstsq(assembly.A[np.ix_(rows, rows)], amount, rcond=1e-12)[0]
    return assembly.response[:, rows] @ weights
