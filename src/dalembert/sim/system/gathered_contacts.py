"""The impulses of a time step with many candidates for contact: see `contact_step`.

Those that may touch within the step are gathered into a few slots, and the problem is solved for these alone. Where
they are more than there are slots, or another candidate would be passed through, the step is solved again with room for
all, and with those that were missed. Each state of a batch decides that alone, so that what is computed beside it does
not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algorithms import poses
from dalembert.contact.gathering import NOBODY, Motions, Points, Slot, for_each, in_slots, known_before, points
from dalembert.contact.rows import tangent_frame
from dalembert.linear import ConstraintImpulses, LoopedContacts, looped_impulses, sparse_product
from dalembert.math import clip, logical_and, maximum, minimum, repeat, visit, where
from dalembert.math import map as mapped

from ..elements.contact import Memory, RigidContact
from .contact_problem import (
    ContactImpulses,
    Situated,
    Solved,
    bounced,
    braking,
    friction_coefficient,
    mobility,
    normal_shift,
    passed,
    recovered,
    rolling_velocity,
    was_stuck,
    without_gain,
)
from .impulses import RECOVERED
from .limbs import LimbImpulses, Place, limbs_of, places_of

if TYPE_CHECKING:
    from .system import System


ROUNDS = 4  # in which candidates that a step would pass through are added to those in slots


class GatheredImpulses(ContactImpulses):
    """Contacts in slots."""

    def __init__(self, system: System, element: RigidContact, at: Situated) -> None:
        super().__init__(system, element, at)
        model, q = at.bodies.model, at.bodies.q
        self.gathering = element.gathering(model)
        self.X = poses(model, q)
        self.motions = Motions(model, self.X, q)
        self.bounces = element.bounces

    @cached_property
    def candidates(self) -> Points:
        """All of them, where they are."""
        return points(self.element.patches, self.X)

    @cached_property
    def limbs(self) -> list[list[int]]:
        """Numbers of the candidates of each limb."""
        return limbs_of(self.gathering)

    def solved(self) -> Solved:
        """With one contact for each limb where these are all that touch, else with two, else in slots."""
        gathering = self.gathering
        speeds = gathering.speeds(self.candidates, self.motions, self.v)
        near = gathering.near(self.candidates, speeds, self.h)
        if self.limbs:
            once, twice = (places_of(self.limbs, contacts) for contacts in (1, 2))
            depths = self.candidates.gap + self.h * speeds

            def further(done: Any) -> dict[str, Any]:
                near_here = _while(done, near)
                if len(twice) == len(once):
                    return self._with_slots(near_here)
                on_two = self._on_limbs(twice, _while(done, depths), near)
                on_two["done"] = maximum(on_two["done"], done)  # beside those that take this branch
                return _branch(lambda done: self._with_slots(_while(done, near_here)), on_two)

            end = _branch(further, self._on_limbs(once, depths, near))
        else:
            end = self._with_slots(near)
        memory = self.element.memory(end["memory"])
        unsettled = memory.unsettled + where(end["done"] > 0.0, 0.0, 1.0)
        return Solved(end["w"], memory._replace(unsettled=unsettled), end["impacts"], end["friction"], end["recovery"])

    def _on_limbs(self, places: list[Place], depths: np.ndarray, near: np.ndarray) -> dict[str, Any]:
        """The numbers of a solution with places for limbs, and whether it has settled and is that of all candidates.

        Candidates that bounce all have to have a place, since the speed to which they do depends on that before.
        """
        limbs = LimbImpulses(self.system, self.element, self.at, self.gathering, places)
        numbers, near = limbs.chosen(depths), near.astype(object)
        solved = limbs.solved(numbers, self.candidates, self.motions)
        openings = self._openings(solved.w)
        for place, number in zip(places, numbers, strict=True):
            for k in place.members:
                placed = number == float(k)
                openings[k], near[k] = where(placed, 0.0, openings[k]), where(placed, 0.0, near[k])
        suffices = logical_and(self._known, reduce(minimum, openings) >= -self.element.contact.tolerance)
        suffices = logical_and(suffices, solved.memory.unsettled <= self.at.memory.unsettled)
        if self.bounces:
            suffices = logical_and(suffices, sum(near) < 0.5)
        return {**as_state(solved), "done": where(suffices, 1.0, 0.0)}

    @property
    def _known(self) -> Any:
        """Whether few slots hold all that is remembered of the step before."""
        further = self.at.memory.numbers[self.element.slots :]
        return further[0] < 0.5 if len(further) else True

    def _with_slots(self, near: np.ndarray) -> dict[str, Any]:
        """The numbers of a solution in few slots, or where these are not enough with room for all candidates."""
        gathering, k = self.gathering, self.element.slots
        enough = logical_and(self._known, sum(near) <= float(k))
        nothing = Solved(np.zeros(self.system.model.nv), self.at.memory, 0.0, 0.0, 0.0)

        def few(*state: Any) -> dict[str, Any]:
            solved, missed, count = self._in_slots(_while(state[-1], near), k)
            return {**as_state(solved), "missed": missed, "done": _fits(missed, count, k)}

        begin = {**as_state(nothing), "missed": np.zeros(len(gathering)), "done": where(enough, 0.0, 1.0)}
        first = repeat(few, 1, begin, "done")

        def again(near: Any, *state: Any) -> dict[str, Any]:
            near = maximum(near, state[-2])
            solved, missed, count = self._in_slots(near, len(gathering))
            return {"near": near, **as_state(solved), "missed": missed, "done": _fits(missed, count, len(gathering))}

        begin = {"near": near} | {name: first[name] for name in begin} | {"done": where(enough, first["done"], 0.0)}
        end = repeat(again, ROUNDS, begin, "done")
        return {name: end[name] for name in begin if name not in ("near", "missed")}

    def _in_slots(self, near: np.ndarray, k: int) -> tuple[Solved, np.ndarray, Any]:
        """The problem with the candidates that are near (n,) in k slots, those that it passes through, the count."""
        numbers, count = self.gathering.numbered(near, k)
        solved = self.solved_with(in_slots(self.candidates, numbers, count), k, count)
        return solved, self._missed(near, solved.w), count

    def _missed(self, near: np.ndarray, w: np.ndarray) -> np.ndarray:
        """(n,): 1 for each candidate that is not near and would be passed through."""
        least = -self.element.contact.tolerance

        def step(near: Any, opening: Any) -> dict[str, Any]:
            return {"missed": where(logical_and(near < 0.5, opening < least), 1.0, 0.0)}

        return for_each(step, {"near": near, "opening": self._openings(w)})["missed"]

    def _openings(self, w: np.ndarray) -> np.ndarray:
        """(n,): how much faster than it must each gap opens [m/s], below 0 where a candidate is passed through."""
        speeds, contact = self.gathering.speeds(self.candidates, self.motions, self.velocity(w)), self.element.contact

        def step(gap: Any, speed: Any) -> dict[str, Any]:
            closing = gap / self.h
            return {"opening": speed + maximum(maximum(closing, RECOVERED * closing), -contact.recovery_speed)}

        return for_each(step, {"gap": self.candidates.gap, "speed": speeds})["opening"]

    def solved_with(self, slots: Slot, k: int, count: Any) -> Solved:
        """The problem with k slots, of which `count` hold a contact."""
        last = self._last(slots.number, k, count)
        columns = last | mapped(self._columns, slots._asdict() | last, count)
        m, n = len(self.gathering.turning), self.system.model.nv
        start = np.concatenate([columns["p"].ravel(), columns["turned"].ravel(), self.at.memory.rows])
        tied = self.bodies.loops is None
        J, pattern = (columns["J"], self.gathering.pattern) if tied else (columns["Y"], np.ones((n, n), bool))

        def contacts(bouncing: bool) -> LoopedContacts:
            c = columns["c" if bouncing or not self.bounces else "c_plain"]
            return LoopedContacts(J, columns["X"], columns["Y"], c, columns["mu"], columns["levers"], pattern, count)

        def impulses(bouncing: bool) -> ConstraintImpulses:
            rows, begin = (self.row_carrier, self.row_free, self.row_laws), (start, columns["slip"])
            tolerance, finer = self.element.contact.tolerance, self.finer_tolerance(columns["before"].ravel())
            return looped_impulses(contacts(bouncing), *rows, begin, tolerance, self.row_give, finer)

        def pushed(p: np.ndarray) -> np.ndarray:
            cones, moments, rows = np.split(p, [3 * k, (3 + m) * k])
            each = np.concatenate([cones.reshape(k, 3), moments.reshape(k, m)], axis=1)
            return contacts(True).pushed(each, sparse_product(self.row_carrier.Y, rows))

        def responded(p: np.ndarray) -> np.ndarray:
            w = pushed(p)
            return self._stacked(contacts(True).responses(w), sparse_product(self.row_carrier.X.T, w))

        if self.bounces:
            before, free = (
                self._stacked(columns[x], y) for x, y in (("before", self.row_before), ("free", self.row_free))
            )
            solution, left = without_gain(impulses, before, free, responded, self.at.memory.owed)
        else:
            solution, left = impulses(True), 0.0
        p, turned, rows = np.split(solution.p, [3 * k, (3 + m) * k])
        w = pushed(solution.p)
        lost: tuple[Any, Any, Any] = 0.0, 0.0, 0.0
        if self.system.layout.nw:
            lost = self._lost(columns, p.reshape(k, 3), turned.reshape(k, m), w)
        owed = self._owed(columns, p.reshape(k, 3), w, left) if self.bounces else 0.0
        after = {"p": p.reshape(k, 3), "turned": turned.reshape(k, m), "slip": solution.slip[:, None]}
        after |= {name: columns[name] for name in ("held", "waits")} | {"one_more": columns["one_more"][:, None]}
        kept = self._remembered(np.concatenate(list(after.values()), axis=1), count)
        parts = np.split(kept, np.cumsum([x.shape[1] for x in after.values()])[:-1], axis=1)
        p, turned, slip, held, waits, numbers = (part.ravel() for part in parts)
        arrays = p, turned, rows, slip, held, waits, numbers
        return Solved(w, Memory(*arrays, *self.counts(solution, reduce(maximum, columns["passed"])), owed), *lost)

    def _remembered(self, table: np.ndarray, count: Any) -> np.ndarray:
        """Of the rows of contacts, the first of them `count`, as many as the next step knows: those that push first."""
        places = self.element.places
        if len(table) <= places:
            return np.concatenate([table, np.zeros((places - len(table), table.shape[1]))])

        def entered(_: Any, pushing: Any, row: Any) -> dict[str, Any]:
            pushes = row[0] > 0.0
            slot = where(pushes, pushing, NOBODY)
            return {"pushing": pushing + where(pushes, 1.0, 0.0), "rows": row[None], "to": np.array([slot])}

        begin = np.zeros((places, table.shape[1]))
        return visit(entered, {"row": table}, begin, carry={"pushing": 0.0}, count=count)["table"]

    def _last(self, numbers: np.ndarray, k: int, count: Any) -> dict[str, np.ndarray]:
        """What is remembered of the contacts in k slots."""
        memory = self.at.memory
        return known_before(numbers, count, memory.numbers[:k], len(self.gathering), memory.by_place())

    def _columns(
        self,
        number: Any,
        gap: Any,
        position: Any,
        normal: Any,
        p: Any,
        turned: Any,
        slip: Any,
        held: Any,
        approach: Any,
    ) -> dict[str, Any]:
        """All that the problem needs of one contact."""
        gathering, h = self.gathering, self.h
        law, turning = gathering.law(number), gathering.turning
        axes = tangent_frame(normal)
        J = self.motions.rows(gathering.signs_of(number), axes, position, turning)
        carrier = self.bodies.carrier(J)
        before = J @ self.v
        free = before + carrier.X.T @ self.kick
        contact = self.element.contact
        stuck = was_stuck(p, slip)
        held = rolling_velocity(before[:3], p, held, stuck)
        shift = normal_shift(contact, h, gap, before[0], held[0], mobility(carrier.X, carrier.Y))

        def shifted(shift: Any) -> np.ndarray:
            return np.concatenate([[free[0] + shift], free[1:3] - held[1:], free[3:]])

        columns = {
            "one_more": number + 1.0,
            "J": J,
            "X": carrier.X.T,
            "Y": carrier.Y.T,
            "before": before,
            "free": free,
            "c": shifted(shift),
            "mu": friction_coefficient(law, before[1:3], stuck),
            "levers": np.array([(law.torsion, law.rolling, law.rolling)[axis] for axis in turning], object),
        }
        columns |= {"gap": gap, "waits": np.zeros(0), "passed": passed(contact, h, gap, before[:3], p[0])}
        if self.bounces:
            bounce = bounced(contact, law, h, gap, before[0], free[0], shift, (approach[0], p[0]))
            columns |= {"c": shifted(bounce.shift), "c_plain": columns["c"], "waits": np.array([bounce.approach])}
            shift = bounce.shift
        return columns | {"held": np.array([-shift, *held[1:]])}

    def _stacked(self, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Numbers (k, 3 + m) of contacts in a row: contacts, then moments, then those of further rows."""
        return np.concatenate([x[:, :3].ravel(), x[:, 3:].ravel(), rows])

    def _owed(self, columns: dict[str, np.ndarray], p: np.ndarray, w: np.ndarray, left: Any) -> Any:
        """The energy that approaches which wait for their rebounds have lost, at most what is left of all [J]."""
        v1 = self.velocity(w)

        def step(J: Any, before: Any, waits: Any, approach: Any, p: Any) -> dict[str, Any]:
            return {"taken": braking(waits[0], approach[0], p[0], before[0], J[0] @ v1)}

        names = "J", "before", "waits", "approach"
        taken = mapped(step, {name: columns[name] for name in names} | {"p": p})["taken"]
        return clip(sum(taken), 0.0, maximum(left, 0.0))

    def _lost(
        self, columns: dict[str, np.ndarray], p: np.ndarray, turned: np.ndarray, w: np.ndarray
    ) -> tuple[Any, Any, Any]:
        """The heat of impacts and of friction, and the work of recovery, of all contacts [J]."""
        v1 = self.velocity(w)

        def step(J: Any, before: Any, gap: Any, p: Any, turned: Any) -> dict[str, Any]:
            lost = -0.5 * np.concatenate([p, turned]) * (before + J @ v1)
            lift = recovered(lost[0], gap)
            return {"impact": lost[0] + lift, "friction": sum(lost[1:]), "lift": lift}

        heat = mapped(step, {name: columns[name] for name in ("J", "before", "gap")} | {"p": p, "turned": turned})
        return sum(heat["impact"]), sum(heat["friction"]), sum(heat["lift"])


def as_state(x: Solved) -> dict[str, Any]:
    """As the numbers of a loop."""
    return {"w": x.w, "memory": x.memory.flat(), **{n: getattr(x, n) for n in ("impacts", "friction", "recovery")}}


def _fits(missed: np.ndarray, count: Any, k: int) -> Any:
    """1 where k slots were enough and nothing was passed through."""
    return where(logical_and(sum(missed) < 0.5, count <= float(k)), 1.0, 0.0)


def _branch(step: Callable[[Any], Mapping[str, Any]], state: Mapping[str, Any]) -> dict[str, Any]:
    """The state where its part "done" is not 0, else what the step gives. It takes `done`."""
    end = repeat(lambda *parts: step(parts[-1]), 1, state, "done")
    return {name: end[name] for name in state}


def _while(done: Any, x: np.ndarray) -> np.ndarray:
    """x in a branch that is taken where done is 0, else 0.

    With this a branch depends on its own state; what does not is computed before it, whether it is taken or not.
    """
    return where(done > 0.0, 0.0, x)
