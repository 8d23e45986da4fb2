"""Impulses of a time step with many candidates for contact: see `contact_step`.

The candidates that may touch within the step are gathered into a few slots, and the problem is solved for these. If
they are more than there are slots, or if another candidate would be passed through, the step is solved again with room
for all candidates. Each state of a batch decides this alone, so its result does not depend on the other states.

Robots that stand on balls are solved on their feet first: over plane ground one bound for each other shape tells
whether the feet suffice (`contact.clearance`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.contact.clearance import Clearance, is_bounded
from dalembert.contact.gathering import AHEAD, NEAR, Points, for_each, in_slots, points
from dalembert.math import branch, logical_and, maximum, minimum, repeat, where

from .contact_problem import ContactImpulses, Situated, Solved
from .impulses import RECOVERED
from .limbs import Place, chosen, contacts_of_limbs, limbs_of, places_of, tips_of
from .looped_contacts import LinkContacts
from .turning import FOLLOWED, most_turned

if TYPE_CHECKING:
    from .contact_step import ContactStep


CLOSE = 1e-4  # [m] a height up to which a shape is taken to touch; where it does not, that only costs time
ROUNDS = 4  # in which candidates that a step would pass through are added to those in slots


class GatheredImpulses(ContactImpulses):
    """Contacts in slots, or on limbs."""

    def __init__(self, step: ContactStep, at: Situated) -> None:
        super().__init__(step, at)
        self.gathering, self.bounces = self.element.gathering(self.model), self.element.bounces

    @cached_property
    def candidates(self) -> Points:
        """Points of all candidates."""
        patches = self.element.patches
        later = self.motions.later(self.X, self.v, self.h) if any(patch.passes_by for patch in patches) else None
        return points(patches, self.X, later)

    @cached_property
    def limbs(self) -> list[list[int]]:
        """Numbers of the candidates of each limb."""
        return limbs_of(self.gathering)

    @cached_property
    def feet(self) -> list[list[int]]:
        """Numbers of the balls at the end of each limb."""
        return tips_of(self.gathering, self.limbs)

    @cached_property
    def clearance(self) -> Clearance | None:
        """Bounds for all shapes but feet; None where there are none for all of them."""
        on_feet = {id(self.gathering.owner[k]) for tips in self.feet for k in tips}
        others = [patch for patch in self.gathering.patches if id(patch) not in on_feet]
        bounded = bool(self.feet) and not self.element.footless and all(map(is_bounded, others))
        return Clearance(others, self.X, self.motions) if bounded else None

    @property
    def _reach(self) -> np.ndarray:
        """(n,): of each candidate, how far its bodies reach that turn [m]."""
        radius = np.array([*self.step.turning.facts["radius"], 0.0])  # the last one is that of the world
        return 2.0 * radius[self.gathering.bodies.astype(int)].sum(axis=1)

    @property
    def _nothing(self) -> dict[str, Any]:
        """Numbers of a step that is not solved yet."""
        memory = self.element.memory(np.zeros(self.element.size(self.system.model)))
        return Solved(np.zeros(self.system.model.nv), memory, 0.0, 0.0, 0.0).numbers() | {"done": 0.0}

    def solved(self) -> Solved:
        """Solve on the feet alone where nothing else is in reach of the ground, else on all candidates."""
        if self.clearance is None:
            end = self._of_all(0.0)
        else:
            on_feet = branch(self._out_of_reach(), self._on_feet, self._nothing)
            done = on_feet["done"]
            end = branch(done < 0.5, partial(self._of_all, done), on_feet)
        memory = self.element.memory(end["memory"])
        unsettled = memory.unsettled + where(end["done"] > 0.0, 0.0, 1.0)
        return Solved(end["w"], memory._replace(unsettled=unsettled), end["impacts"], end["friction"], end["recovery"])

    def _out_of_reach(self) -> Any:
        """Whether all shapes but feet are so far above the ground that it is worth while to solve for feet alone.

        Where something bounces, they are so far that none of them gets a slot.
        """
        assert self.clearance is not None
        heights = self.clearance.least(0.0, self.v)
        if self.bounces:
            heights += self.clearance.least(AHEAD * self.h, self.v)
        return reduce(minimum, heights, np.inf) > (NEAR if self.bounces else CLOSE)

    def _on_feet(self) -> dict[str, Any]:
        """Numbers of a solution with one contact for each foot, and whether no other shape would be passed through.

        A bound tells how deep the other shapes are at most at the end of the step.
        """
        assert self.clearance is not None
        end = self._on_limbs(places_of(self.feet, 1), [k for tips in self.feet for k in tips])
        depths = self.clearance.least(self.h, self.velocity(end["w"]))
        passes = reduce(minimum, depths, np.inf) < -self.element.contact.tolerance * self.h
        return {**end, "done": where(passes, 0.0, end["done"])}

    def _of_all(self, done: Any) -> dict[str, Any]:
        """Numbers of a solution on all candidates, where there is none yet.

        It has one contact for each limb where these seem to be all that touch, else two, else slots.
        """
        everyone = range(len(self.gathering))
        speeds = self.gathering.speeds(self.candidates, self.motions, self.v)
        spins = most_turned(self.h, self.v, self.bodies.model) > FOLLOWED
        reach = np.array([where(spins, x, 0.0) for x in self._reach])
        near = self.gathering.near(self.candidates, speeds, self.h, reach=reach)
        end = {**self._nothing, "done": done}
        for contacts in self._contacts_of_limbs:
            places = places_of(self.limbs, contacts)
            fits = self._fit(self.candidates.gap + self.h * speeds, contacts)
            end = branch(logical_and(end["done"] < 0.5, fits), partial(self._on_limbs, places, everyone), end)
        return branch(end["done"] < 0.5, partial(self._with_slots, where(end["done"] > 0.0, 0.0, near)), end)

    @property
    def _contacts_of_limbs(self) -> tuple[int, ...]:
        """For how many contacts of each limb a step is tried; where its feet do not suffice, one is too few."""
        if not self.limbs or self.element.lean:
            return ()
        return (1, 2) if self.clearance is None else (2,)

    def _fit(self, depths: np.ndarray, contacts: int) -> Any:
        """Whether so many contacts for each limb seem to be all that touch; depths (n,): gaps after the step."""
        touching = np.array([where(depth < CLOSE, 1.0, 0.0) for depth in depths])
        of_limbs = [sum(touching[members]) for members in self.limbs]
        elsewhere = sum(touching) - sum(of_limbs)
        return logical_and(reduce(maximum, of_limbs) <= float(contacts), elsewhere < 0.5)

    def _on_limbs(self, places: list[Place], candidates: Sequence[int]) -> dict[str, Any]:
        """Numbers of a solution with places for limbs, and whether it settled and no candidate without place is passed.

        Every candidate that bounces needs a place: its rebound depends on its velocity before the step.
        """
        every = self.candidates
        before = self.gathering.speeds(every, self.motions, self.v, candidates)
        depths = {k: every.gap[k] + self.h * speed for k, speed in zip(candidates, before, strict=True)}
        numbers = chosen(places, depths)
        solved = self.solution([contacts_of_limbs(self, places, numbers)])
        without_place = dict.fromkeys(candidates, 1.0)
        for place, number in zip(places, numbers, strict=True):
            for k in place.members:
                without_place[k] = where(number == float(k), 0.0, without_place[k])
        openings = zip(self._openings(solved.w, candidates), without_place.values(), strict=True)
        least = reduce(minimum, [opening * without for opening, without in openings])
        suffices = logical_and(self._known, least >= -self.element.contact.tolerance)
        suffices = logical_and(suffices, solved.memory.unsettled <= self.at.memory.unsettled)
        suffices = logical_and(suffices, most_turned(self.h, self.velocity(solved.w), self.bodies.model) <= FOLLOWED)
        if self.bounces:
            near = self.gathering.near(every, before, self.h, candidates)
            suffices = logical_and(suffices, near @ np.array(list(without_place.values())) < 0.5)
        return {**solved.numbers(), "done": where(suffices, 1.0, 0.0)}

    @property
    def _known(self) -> Any:
        """Whether few slots hold all that is remembered of the step before."""
        further = self.at.memory.numbers[self.element.slots :]
        return further[0] < 0.5 if len(further) else True

    def _with_slots(self, near: np.ndarray) -> dict[str, Any]:
        """Numbers of a solution in few slots or, where these are not enough, with room for all candidates."""
        gathering, k = self.gathering, self.element.slots
        most = k if self.element.lean else len(gathering)
        enough = logical_and(self._known, sum(near) <= float(k))

        def few() -> dict[str, Any]:
            solved, missed, count = self._in_slots(where(enough, near, 0.0), k)
            return {**solved.numbers(), "missed": missed, "done": _fits(missed, count, k)}

        first: dict[str, Any] = {"missed": np.zeros(len(gathering)), **self._nothing}
        if not self.element.lean:
            first = branch(enough, few, first)

        def again(near: Any, missed: Any, *_: Any) -> dict[str, Any]:
            near = maximum(near, missed)
            solved, missed, count = self._in_slots(near, most)
            return {"near": near, **solved.numbers(), "missed": missed, "done": _fits(missed, count, most)}

        end = repeat(again, ROUNDS, {"near": near, **first}, "done")
        return {name: end[name] for name in first if name != "missed"}

    def _in_slots(self, near: np.ndarray, k: int) -> tuple[Solved, np.ndarray, Any]:
        """Solution with the candidates that are near (n,) in k slots, those that it passes through, and the count."""
        gathering = self.gathering
        numbers, count = gathering.numbered(near, k)
        memory, places = self.at.memory, self.element.places
        signs = lambda number, _: gathering.signs_of(number)  # noqa: E731
        moves = signs, gathering.groups_of, gathering.pattern
        slots = in_slots(self.candidates, numbers, count)
        solved = self.solution([LinkContacts(self, slots, count, memory, places, *moves)])
        return solved, self._missed(near, solved.w), count

    def _missed(self, near: np.ndarray, w: np.ndarray) -> np.ndarray:
        """(n,): 1 for each candidate that is not near and would be passed through."""
        least = -self.element.contact.tolerance

        def step(near: Any, opening: Any) -> dict[str, Any]:
            return {"missed": where(logical_and(near < 0.5, opening < least), 1.0, 0.0)}

        return for_each(step, {"near": near, "opening": self._openings(w, range(len(near)))})["missed"]

    def _openings(self, w: np.ndarray, candidates: Sequence[int]) -> np.ndarray:
        """How much faster than it must the gap of each candidate opens [m/s], below 0 where it is passed through."""
        contact = self.element.contact
        speeds = self.gathering.speeds(self.candidates, self.motions, self.velocity(w), candidates)

        def step(gap: Any, speed: Any) -> dict[str, Any]:
            closing = gap / self.h
            return {"opening": speed + maximum(maximum(closing, RECOVERED * closing), -contact.recovery_speed)}

        return for_each(step, {"gap": self.candidates.gap[list(candidates)], "speed": speeds})["opening"]


def _fits(missed: np.ndarray, count: Any, k: int) -> Any:
    """1 where k slots were enough and nothing was passed through."""
    return where(logical_and(sum(missed) < 0.5, count <= float(k)), 1.0, 0.0)
