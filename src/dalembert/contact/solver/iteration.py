"""Sweeps and Newton steps that put impulses on their laws: see `impulses`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear.zeros import sparse_product
from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, logical_or, maximum, minimum, repeat, where
from dalembert.math.elementary import is_precise

from .row_laws import ANY

# What breaks at ten times or a tenth of each of these: benchmarks/contact_constants.py, on 64 hard starts. A tenth of
# MOST_STEPS leaves 19 of them unsettled, FALL × 10 8 and 3.5 times the passes, PATIENCE 4 or 11; a tenth of STEPS takes
# 2.7 times the passes, ten times the SWEEPS 1.8 times. STIFFEST, SOFTER and SOFT change them by a fifth at most.
# FINE, ROUNDING, NOISE and WELL_WITHIN change nothing there: their reasons are not shown yet.
SWEEPS, STEPS, MOST_STEPS = 12, 50, 150  # at most: sweeps, and Newton steps of a round, and of the last one
SLOW = 0.3  # a sweep that changes more than this share of what the one before it changed is slow
SOFT, FALL, STIFF = 3e-2, 0.3, 1e-4  # shares of their size by which held contacts and rows give way, from step to step
SOFTER = (3.0, 10.0, 1e3)  # the same shares where further rounds start: contacts that jam must not move far at once
PATIENCE = 0.8  # how these shares fall
ROUNDS = 1 + len(SOFTER)
STIFFEST = 1e-7  # the least share where numbers are precise
CLOSE = 0.2  # of the velocities by which a step moves: an error of its equations that is small beside them
SEARCHED, DESCENT = 12, 1e-2  # trials for the length of a step; the slope there beside that at its start
FINE = 4  # Newton steps towards a finer change than the tolerance
DEEPER = 0.05  # times a much finer change: so far go Newton steps, lest the next time step needs them again
ROUNDING = 2.0**-6  # a change of which this share is lost beside the velocities at work is rounding
NOISE = 0.5  # the same of impulses that stiff dampers make of the rounding of velocities
ACCURACY = 1e-9  # of slopes
WELL_WITHIN = 0.05  # of the tolerance: where the error itself is known, passes go on to this, which is seldom one more


class ConstraintImpulses(NamedTuple):
    """p (3 k + n,): normal and tangents of each contact, then the rows; slip (k,) [velocity per impulse].

    change: the largest velocity by which the last pass moved one contact or row, or left it off its law; passes: sweeps
    and Newton steps; settled: 1 where that was enough.
    """

    p: np.ndarray
    slip: np.ndarray
    change: Any
    passes: Any
    settled: Any


class Yielding(NamedTuple):
    """Laws that give way, at some velocities of the bodies: impulses p, and A, Jᵀ (p − held) (m,).

    A = M + Jᵀ K J, with K = −dp/du, or whatever `Problem.solve` takes for it.
    """

    p: np.ndarray
    A: Any
    push: np.ndarray


class Problem(ABC):
    """Contacts and rows, with their laws and what carries them. Impulses p and velocities u are in one order."""

    M: np.ndarray  # (m, m) inertia of what carries them
    with_contacts: bool
    aim: float = 1.0  # of the tolerance: what the first sweeps go on to
    sizes: np.ndarray  # velocity per impulse of each contact's axes and each row, alone
    scale_of: np.ndarray  # velocities without impulses of contacts and rows that are at work
    added: float = 1.0  # errors of contacts add up to this times the largest one, as over bodies on each other

    @abstractmethod
    def pushed(self, p: np.ndarray) -> np.ndarray:
        """w = Y p of all contacts and rows."""

    def carried(self, p: np.ndarray) -> np.ndarray:
        """State that sweeps carry on beside the impulses."""
        return self.pushed(p)

    @abstractmethod
    def velocities(self, w: np.ndarray) -> np.ndarray:
        """u = c + Xᵀ w of all contacts and rows."""

    @abstractmethod
    def along(self, x: np.ndarray) -> np.ndarray:
        """J x of all contacts and rows, for velocities x (m,) of what carries them."""

    @abstractmethod
    def swept(self, p: np.ndarray, slip: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """Impulses, slips, w = Y p, and the largest velocity that changed, after each contact and row in turn."""

    @abstractmethod
    def yielding(self, held: np.ndarray, u: np.ndarray, give: Any) -> Yielding:
        """Laws that give way about the impulses `held`, at velocities u."""

    @abstractmethod
    def power(self, held: np.ndarray, u: np.ndarray, du: np.ndarray, give: Any) -> tuple[np.ndarray, Any]:
        """Impulses p of such laws, and du · (p − held)."""

    @abstractmethod
    def chosen(self, p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Impulses and slips of each contact and row alone, with the others as they are, and what they change."""

    @abstractmethod
    def solve(self, A: Any, b: np.ndarray) -> np.ndarray:
        """A⁻¹ b; A: of `Yielding`."""

    def unsettled(self, p: np.ndarray, slip: np.ndarray, finer: Any) -> Unsettled | None:
        """The part that a sweep still moves by more than `finer`, as a problem of its own; None: all is one problem."""
        return None


class Unsettled(NamedTuple):
    """A part of a problem, which does not depend on what is left out, where it starts, and how to put it back.

    restored: from p and slip of the part to those of the whole.
    """

    problem: Problem
    p: np.ndarray
    slip: np.ndarray
    restored: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def solved_problem(
    problem: Problem, start: tuple[np.ndarray, np.ndarray], tolerance: Any, finer: Any = None
) -> ConstraintImpulses:
    """The impulses of a problem, from (p, slip) at the start on; tolerance, finer: as in `constraint_impulses`."""
    p, slip = start
    scale = largest([*problem.scale_of, *(problem.sizes * p)])
    iteration = Iteration(problem, tolerance, tolerance if finer is None else finer, scale)
    target = iteration.finer if problem.aim == 1.0 else minimum(iteration.finer, problem.aim * tolerance)
    first = iteration.sweeps(p, slip, SLOW, 0.0, target)
    begin = {"p": first["p"], "slip": first["slip"], "change": first["change"], "count": first["passes"]}
    done = iteration.settled(first["change"], iteration.finer)
    end = iteration.rounds(begin | {"done": done}, ACCURACY, iteration.corrected)
    return ConstraintImpulses(end["p"], end["slip"], end["change"], end["count"], end["done"])


def newton_correction(problem: Problem) -> Callable[..., dict[str, Any]]:
    """The Newton step at a solution from which its slopes come: of `repeat`, on p, slip, change, count, done."""
    return Iteration(problem, 0.0, 0.0, 0.0).corrected


class Iteration:
    """Sweeps and Newton steps towards the solution of a problem; scale: of the velocities at work."""

    def __init__(self, problem: Problem, tolerance: Any, finer: Any, scale: Any) -> None:
        self.problem, self.tolerance, self.finer, self.scale = problem, tolerance, finer, scale
        self.finest = finer if finer is tolerance else finer * clip(finer / maximum(tolerance, 1.0 / ANY), DEEPER, 1.0)
        self.with_contacts = problem.with_contacts
        self.stiffest = where(is_precise(scale), STIFFEST, STIFF)

    def settled(self, change: Any, tolerance: Any) -> Any:
        """1 where a change of velocities is small enough."""
        return settled(change, tolerance, self.scale)

    def sweeps(self, p: np.ndarray, slip: np.ndarray, slow: float, done: Any, tolerance: Any) -> dict[str, Any]:
        """Sweeps until all is settled or one of them is slow; rows without contacts get a single one, as a start."""

        def sweep(p: np.ndarray, slip: np.ndarray, w: np.ndarray, before: Any, done: Any) -> dict[str, Any]:
            p, slip, w, change = self.problem.swept(p, slip, w)
            done = where(change > slow * before, 1.0, self.settled(change, tolerance))
            return {"p": p, "slip": slip, "w": w, "change": change, "done": done}

        begin = {"p": p, "slip": slip, "w": self.problem.carried(p), "change": ANY, "done": done}
        return repeat(sweep, SWEEPS if self.with_contacts else 1, begin, "done")

    def rounds(
        self,
        begin: dict[str, Any],
        fixed_point: float | None = None,
        correction: Callable[..., dict[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """Rounds of Newton steps and sweeps from p, slip, change, count, done on; the last two: as of `repeat`."""

        def corrected(*parts: Any) -> dict[str, Any]:
            assert correction is not None
            return correction(*parts) | {"round": 0.0}

        slopes = None if correction is None else corrected
        return repeat(self.one_round, ROUNDS, begin | {"round": 0.0}, "done", fixed_point, slopes)

    def one_round(
        self, p: np.ndarray, slip: np.ndarray, change: Any, count: Any, _done: Any, number: Any
    ) -> dict[str, Any]:
        """Newton steps, and sweeps where these do not settle it; number: of this round.

        The first one starts with dampers that are rather stiff. Where friction times the mobility of a normal by a
        tangent is above that of the normal (Painlevé), the impulses of contacts that jam then go in circles. Soft
        dampers let them move little at a time, and become stiffer slowly. What further rounds reach is kept where it is
        better.
        """
        part = self.problem.unsettled(p, slip, self.finer)
        if part is None:
            after = self._steps_and_sweeps(p, slip, change, number)
        else:
            of_part = Iteration(part.problem, self.tolerance, self.finer, self.scale)
            after = of_part._steps_and_sweeps(part.p, part.slip, change, number)
            after["p"], after["slip"] = part.restored(after["p"], after["slip"])
        kept = logical_and(number > 0.5, change < after["change"])
        return {
            "p": numbers(where(kept, p, after["p"])),
            "slip": numbers(where(kept, slip, after["slip"])),
            "change": where(kept, change, after["change"]),
            "count": count + after["passes"],
            "done": after["done"],
            "round": number + 1.0,
        }

    def _steps_and_sweeps(self, p: np.ndarray, slip: np.ndarray, change: Any, number: Any) -> dict[str, Any]:
        """p, slip and change after a round, how many passes it took, and whether it is done."""
        give = where(change <= self.tolerance, STIFF, SOFT)  # within the tolerance all are on their parts of the laws
        for k, softer in enumerate(SOFTER, 1):
            give = where(number > k - 0.5, softer, give)
        p = numbers(where(number > 1.5, 0.0, p))  # where a round from what is known was of no use
        begin: dict[str, Any] = {
            "p": p,
            "u": self.problem.velocities(self.problem.pushed(p)),
            "x": np.zeros(len(self.problem.M)),
        }
        begin |= {"slip": slip, "change": change, "give": give, "count": 0.0, "done": 0.0, "over": 0.0}
        most = where(number > len(SOFTER) - 0.5, float(MOST_STEPS), float(STEPS))
        steps = repeat(partial(self._step, most), MOST_STEPS, begin, "over")
        swept = self.sweeps(steps["p"], steps["slip"], ANY, steps["done"], self.tolerance)
        further = swept["passes"] > 0.0
        return {
            "p": swept["p"],
            "slip": swept["slip"],
            "change": where(further, swept["change"], steps["change"]),
            "passes": steps["passes"] + swept["passes"],
            "done": where(further, self.settled(swept["change"], self.tolerance), steps["done"]),
        }

    def corrected(self, p: np.ndarray, slip: np.ndarray, *_: Any) -> dict[str, Any]:
        """A Newton step at the solution, on the parts of the laws that all are on there: what its slopes come from.

        Of the ways in which contacts can share a load it changes nothing, so that velocities have slopes there too.
        """
        problem = self.problem
        u = problem.velocities(problem.pushed(p))
        laws = problem.yielding(p, u, STIFF)
        moved = problem.along(problem.solve(laws.A, laws.push))
        after, _ = problem.power(p, u + moved, moved, STIFF)
        return {"p": numbers(after), "slip": 0.0 * slip, "change": 0.0, "count": 0.0, "done": 1.0}

    def _step(
        self,
        most: Any,
        held: np.ndarray,
        u: np.ndarray,
        x: np.ndarray,
        slip: np.ndarray,
        _: Any,
        give: Any,
        count: Any,
        _done: Any,
        _over: Any,
    ) -> dict[str, Any]:
        """One Newton step, of at most so many, with laws that give way about the impulses `held`.

        u: velocities with these; x (m,): how far those of the bodies have moved from there. Once impulses and
        velocities agree, what is held becomes what they are, and gives way less.
        """
        problem = self.problem
        here = u + problem.along(x)
        laws = problem.yielding(held, here, give)
        momentum = sparse_product(problem.M, x)
        step = problem.solve(laws.A, laws.push - momentum)
        moved = problem.along(step)
        inertia = step @ momentum, step @ sparse_product(problem.M, step)
        share = self._share(held, here, moved, give, step @ (momentum - laws.push), *inertia)
        x, here = x + share * step, here + share * moved
        p, _ = problem.power(held, here, moved, give)
        after = problem.velocities(problem.pushed(p))
        error = largest(after - here)
        lost = self.scale + NOISE * give * error == self.scale  # rounding of velocities, times what holds them
        chosen, slip, change = problem.chosen(p, numbers(where(lost, here, after)))
        done = self.settled(problem.added * change, where(count < FINE, self.finest, self.tolerance))
        agree = logical_or(logical_or(error <= CLOSE * share * largest(moved), 10.0 * error <= self.tolerance), lost)
        return {
            "p": numbers(where(logical_and(done > 0.0, lost), chosen, where(logical_or(agree, done > 0.0), p, held))),
            "u": numbers(where(agree, after, u)),
            "x": numbers(where(agree, 0.0, x)),
            "slip": slip,
            "change": change,
            "give": where(agree, maximum(where(give > SOFT, PATIENCE, FALL) * give, self.stiffest), give),
            "count": count + 1.0,
            "done": done,
            "over": where(count + 1.0 < most, done, 1.0),
        }

    def _share(
        self, held: np.ndarray, u: np.ndarray, moved: np.ndarray, give: Any, slope: Any, begin: Any, size: Any
    ) -> Any:
        """How much of a step is taken: up to where the energy that laws which give way take no longer falls along it.

        By false position (Illinois). slope: step · (M x − push), below 0; begin: step · M x; size: step · M step.
        """

        def rise(share: Any) -> Any:
            _, power = self.problem.power(held, u + share * moved, moved, give)
            return begin + share * size - power

        def narrowed(
            low: Any, high: Any, at_low: Any, at_high: Any, side: Any, share: Any, done: Any
        ) -> dict[str, Any]:
            share = (low * at_high - high * at_low) / (at_high - at_low)
            there = rise(share)
            above = there > 0.0
            return {
                "low": where(above, low, share),
                "high": where(above, share, high),
                "at_low": where(above, where(side > 0.0, 0.5 * at_low, at_low), there),
                "at_high": where(above, there, where(side < 0.0, 0.5 * at_high, at_high)),
                "side": where(above, 1.0, -1.0),
                "share": share,
                "done": where(absolute(there) <= -DESCENT * slope, 1.0, 0.0),
            }

        at_high = rise(1.0)
        searched = logical_and(slope < 0.0, at_high > -DESCENT * slope)
        start = {"low": 0.0, "high": 1.0, "at_low": slope, "at_high": at_high, "side": 0.0, "share": 1.0}
        return repeat(narrowed, SEARCHED, start | {"done": where(searched, 0.0, 1.0)}, "done")["share"]


def settled(change: Any, tolerance: Any, scale: Any) -> Any:
    """1 where a change of velocities is within the tolerance, or is rounding beside those at work, `scale`."""
    return where(logical_or(change <= tolerance, scale + ROUNDING * change == scale), 1.0, 0.0)


def at_work(c: np.ndarray) -> np.ndarray:
    """Velocities c (k, 3 + m) without impulses of contacts in a row, 0 of normals that open.

    Gaps are part of these: what is far away, or 1e6 m for want of a corner, says nothing of rounding.
    """
    return np.concatenate([[minimum(x, 0.0) for x in c[:, 0]], c[:, 1:].ravel()])


def largest(x: Sequence[Any] | np.ndarray) -> Any:
    """The largest size of some numbers."""
    return reduce(maximum, [absolute(y) for y in x])


def numbers(x: np.ndarray) -> np.ndarray:
    """An array of plain numbers as such."""
    return x if any(hasattr(y, "__traced__") for y in x) else x.astype(float)
