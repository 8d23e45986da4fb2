"""Sweeps and Newton steps that put impulses on their laws: see `impulses`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.math import abs as absolute
from dalembert.math import logical_or, maximum, minimum, repeat, where
from dalembert.math.elementary import is_precise

from .row_laws import ANY

if TYPE_CHECKING:
    from .problem import ContactProblem

SWEEPS, STEPS = 12, 150  # at most: first sweeps, and Newton steps
SLOW = 0.3  # a sweep that changes more than this share of what the one before it changed is slow
FIRST, NEW = 0.01, 0.1  # shares of their size by which contacts and rows give way at first: that push, and others
FLIP, STAY, LATER = 10.0, 0.3, 0.8  # times that share for one that changes its active set, or stays; after so many
PATIENCE = 20  # Newton steps, from which on one that stays becomes stiffer slowly
MOST_SOFT, WORSE = 10.0, 100.0  # the largest share; an error so many times that before: all become softer
STIFFEST, STIFF = 1e-7, 1e-4  # the least share where numbers are precise, and else
FINE = 4  # Newton steps towards a finer change than the tolerance
DEEPER = 0.05  # times a much finer change: so far go Newton steps, lest the next time step needs them again
ROUNDING = 2.0**-6  # a change of which this share is lost beside the velocities at work is rounding
ACCURACY = 1e-9  # of slopes
LARGE = 48  # loose bodies up to which all islands are solved for by Newton steps together
CYCLES = 2  # of sweeps and Newton steps, at most, where all bodies fit
PACE = 0.75  # of what a sweep there and back changes, left by the next one: slower ones cost more than Newton steps
SLOWER = 0.9  # a sweep over all that leaves more than this share of the changes before it is the last one
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


class LinearLaws(NamedTuple):
    """Laws of contacts and rows, linear about some impulses and velocities, each on the part of its law that it is on.

    change, K: changes of impulses towards the laws, and −dp/du, by kind and of rows. sets: numbers of these parts.
    give: shares by which what is held gives way. push: Jᵀ change.
    """

    change: Any
    K: Any
    sets: np.ndarray
    give: np.ndarray
    push: np.ndarray


class Unsettled(NamedTuple):
    """A part of a problem, which does not depend on what is left out, where it starts, and how to put it back.

    restored: from p and slip of the part to those of the whole.
    """

    problem: ContactProblem
    p: np.ndarray
    slip: np.ndarray
    restored: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def solved_problem(
    problem: ContactProblem, start: tuple[np.ndarray, np.ndarray], tolerance: Any, finer: Any = None
) -> ConstraintImpulses:
    """The impulses of a problem, from (p, slip) at the start on; tolerance, finer: as in `constraint_impulses`."""
    p, slip = start
    iteration = Iteration(problem, tolerance, tolerance if finer is None else finer, problem.scale(p))
    if problem.bodies:
        return iteration.in_islands(p, slip)
    target = iteration.finer if problem.aim == 1.0 else minimum(iteration.finer, problem.aim * tolerance)
    first = iteration.sweeps(p, slip, SLOW, 0.0, target)
    begin = {"p": first["p"], "slip": first["slip"], "change": first["change"], "count": first["passes"]}
    done = iteration.settled(first["change"], iteration.finer)
    end = iteration.newton(begin | {"done": done}, ACCURACY, iteration.corrected)
    return ConstraintImpulses(end["p"], end["slip"], end["change"], end["count"], end["done"])


def newton_correction(problem: ContactProblem) -> Callable[..., dict[str, Any]]:
    """The Newton step at a solution from which its slopes come: of `repeat`, on p, slip, change, count, done."""
    return Iteration(problem, 0.0, 0.0, 0.0).corrected


class Iteration:
    """Sweeps and Newton steps towards the solution of a problem; scale: of the velocities at work."""

    def __init__(self, problem: ContactProblem, tolerance: Any, finer: Any, scale: Any) -> None:
        self.problem, self.tolerance, self.finer, self.scale = problem, tolerance, finer, scale
        self.finest = DEEPER * finer
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
        return repeat(sweep, SWEEPS if self.problem.kinds else 1, begin, "done")

    def in_islands(self, p: np.ndarray, slip: np.ndarray) -> ConstraintImpulses:
        """The impulses of a problem with loose bodies: sweeps over the islands that are not settled, then Newton steps.

        Where there are more bodies than Newton steps take together, sweeps go on as far as they come; beside robots,
        Newton steps then solve for the islands that fit, and sweeps over all tell what is left.
        """
        problem, tolerance, finer, scale = self.problem, self.tolerance, self.finer, self.scale
        large = problem.bodies > LARGE
        p, slip, _, change = problem.swept(p, slip, problem.pushed(p))
        begin = {"p": p, "slip": slip, "change": change, "count": 1.0, "done": self.settled(change, finer)}
        resting = 0.0 if large else where(finer < tolerance, 1.0, 0.0)  # Newton steps take errors so far back that one
        pace = None if large else PACE  # sweep is enough

        def swept(p: np.ndarray, slip: np.ndarray, _: Any, count: Any, _done: Any) -> dict[str, Any]:
            after = problem.islands_swept(p, slip, tolerance, finer, scale, pace)
            state = {name: getattr(after, name) for name in ("p", "slip", "change")}
            return state | {"count": count + after.passes, "done": 1.0}

        def over_all(p: np.ndarray, slip: np.ndarray, _: Any, count: Any, _done: Any) -> dict[str, Any]:
            after = self.sweeps(p, slip, SLOWER, 0.0, tolerance)
            state = {name: after[name] for name in ("p", "slip", "change")}
            return state | {"count": count + after["passes"], "done": self.settled(after["change"], tolerance)}

        def cycle(*parts: Any) -> dict[str, Any]:
            state = repeat(swept, 1, dict(zip(begin, parts, strict=True)) | {"done": resting}, "done")
            aim = tolerance if large else finer
            state = {name: state[name] for name in begin} | {"done": self.settled(state["change"], aim)}
            if large and not problem.n:  # the code of Newton steps would take longer to compile than all else
                return state
            after = self.newton(state)
            if large:
                after = repeat(over_all, 1, {name: after[name] for name in begin} | {"done": state["done"]}, "done")
            return {name: after[name] for name in begin}

        if large:
            end = repeat(cycle, 1, begin, "done")
        else:
            end = repeat(cycle, CYCLES, begin, "done", ACCURACY, self.corrected)
        return ConstraintImpulses(end["p"], end["slip"], end["change"], end["count"], end["done"])

    def newton(
        self,
        begin: dict[str, Any],
        fixed_point: float | None = None,
        correction: Callable[..., dict[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """Newton steps where p, slip, change, count, done are not settled; the last two arguments: as of `repeat`."""

        def steps(p: np.ndarray, slip: np.ndarray, change: Any, count: Any, _done: Any) -> dict[str, Any]:
            part = self.problem.unsettled(p, slip, self.finer)
            if part is None:
                after = self._newton_steps(p, slip)
            else:
                of_part = Iteration(part.problem, self.tolerance, self.finer, self.scale)
                after = of_part._newton_steps(part.p, part.slip)
                after["p"], after["slip"] = part.restored(after["p"], after["slip"])
            state = {"p": numbers(after["p"]), "slip": numbers(after["slip"]), "change": after["error"]}
            return state | {"count": count + after["passes"], "done": after["done"]}

        return repeat(steps, 1, begin, "done", fixed_point, correction)

    def _newton_steps(self, p: np.ndarray, slip: np.ndarray) -> dict[str, Any]:
        """p, slip, change and done after Newton steps on the active set, and their number.

        Each step solves the laws at once, with what is held giving way a little. Impulses are not put back on the cones
        between steps, which would stagnate where points share a load, but once the error is small. One that changes its
        active set gives way more, so that others need not wait for it.
        """
        problem = self.problem
        u = problem.velocities(problem.pushed(p))
        count = sum(len(kind) for kind in problem.kinds) + len(problem.rows.c)
        begin: dict[str, Any] = {"p": p, "u": u, "slip": slip, "sets": np.zeros(count), "give": np.zeros(count)}
        begin |= {"error": problem.missed(p, u)[0], "failed": 0.0, "count": 0.0, "done": 0.0}
        return repeat(self._step, STEPS, begin, "done")

    def _step(
        self,
        p: np.ndarray,
        u: np.ndarray,
        slip_before: np.ndarray,
        sets: np.ndarray,
        give: np.ndarray,
        error: Any,
        failed: Any,
        count: Any,
        _done: Any,
    ) -> dict[str, Any]:
        """One Newton step; where it made the error far worse, it is taken back, and all become softer.

        failed: whether that happened to the last one.
        """
        problem, early = self.problem, count < PATIENCE
        stay, softest = where(early, STAY, LATER), where(early, 1.0, MOST_SOFT)

        def softened(number: Any, before: Any, give: Any, p: Any) -> Any:
            kept = where(number == before, maximum(stay * give, self.stiffest), minimum(FLIP * give, softest))
            kept = where(failed > 0.5, minimum(FLIP * give, MOST_SOFT), kept)
            return where(count < 0.5, where(p == 0.0, NEW, FIRST), kept)

        laws = problem.linear(p, u, sets, give, softened)
        after = numbers(p + problem.newton_step(laws))
        velocities = problem.velocities(problem.pushed(after))
        missed, slip = problem.missed(after, velocities)
        near = self.settled(missed, where(count < FINE, self.finest, self.tolerance))
        failed = where(missed <= WORSE * error, 0.0, 1.0)  # also where it is no number

        back = failed > 0.5

        def within_cones(after: np.ndarray, *_: Any) -> dict[str, Any]:
            new = problem.projected(after)
            velocities = problem.velocities(problem.pushed(new))
            missed, slip = problem.missed(new, velocities)
            return {"p": new, "u": velocities, "slip": slip, "error": missed, "over": 1.0}

        state = {"p": where(back, p, after), "u": where(back, u, velocities), "slip": where(back, slip_before, slip)}
        state = {name: numbers(x) for name, x in state.items()} | {"error": where(back, error, missed)}
        end = repeat(within_cones, 1, state | {"over": 1.0 - near}, "over")
        done = where(back, 0.0, near * self.settled(end["error"], self.tolerance))
        state = {name: end[name] for name in ("p", "u", "slip")} | {"sets": laws.sets, "give": laws.give}
        state |= {"error": end["error"], "failed": failed, "count": count + 1.0, "done": done}
        return state

    def corrected(self, p: np.ndarray, slip: np.ndarray, *_: Any) -> dict[str, Any]:
        """A Newton step at the solution, on the parts of the laws that all are on there: what its slopes come from.

        Of the ways in which contacts can share a load it changes nothing, so that velocities have slopes there too.
        """
        problem, none = self.problem, np.zeros(sum(len(kind) for kind in self.problem.kinds) + len(self.problem.rows.c))
        laws = problem.linear(p, problem.velocities(problem.pushed(p)), none, none, lambda *_: STIFF)
        after = numbers(p + problem.newton_step(laws))
        return {"p": after, "slip": 0.0 * slip, "change": 0.0, "count": 0.0, "done": 1.0}


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
