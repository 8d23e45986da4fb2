"""A time step with rigid contact: half a drift, all impulses at once, half a drift.

    q½ = q ⊕ h/2 v,   (M + h D + h²/4 K) (v1 − v) = h f + Jᵀ p at q½,   q1 = q½ ⊕ h/2 v1

(Moreau 1988), with forces of inertia at the velocity in the middle of the kick. Where a robot with joints rebounds,
half of them are at the velocity before the impact and half at that after it, which a first solution tells. Smooth
motion is followed to second order, and v belongs to the same time as q. Impulses p put all contacts, stops and dry
friction on their laws together. A gap may close within the step and no more: u_n + gap/h ≥ 0 with the gap at q½, which
then is never below zero, nor is its mean with the next one, that at q1.

Free bodies drift straight ahead in the world, with their velocities turned into the new axes, so that no force has to
bend their way; loose ones keep their angular momentum as well.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, reduce
from itertools import repeat as always
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.contact import Patch
from dalembert.contact.candidates import WORLD
from dalembert.contact.solver.motions import SIZE
from dalembert.dynamics.algorithms.free_bodies import drifts
from dalembert.math import abs as absolute
from dalembert.math import logical_and, logical_not, logical_or, minimum, repeat, where
from dalembert.model import Model
from dalembert.model.aligned import aligned_frames
from dalembert.model.tool import chain

from ..elements.contact import Memory, RigidContact
from .bodies import Bodies
from .contact_problem import ContactImpulses, Middle, Situated, Solved
from .drift import drifted
from .each_contact import EachImpulses
from .gathered_contacts import GatheredImpulses
from .links import LinkedModel, linked_model
from .loose_bodies import LooseBodies
from .scene_contacts import SceneImpulses, memory_parts
from .turning import Turning

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .system import Applied, System

IN_VAIN = 0.1  # of the recovery speed: an error of velocities that may come from asking for it
SHORTEST, MOST_PARTS = 1.0 / 1024.0, 3000  # of a step: the least part into which it is divided; parts tried at most
JAMS, LEAST = 10.0, 1e-9  # times the kinetic energy, and energy [J]: what contacts exchange only in a jam


def contact_step(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after a step of h [s] with the system's contacts, divided where something would pass through another."""
    element = system.contact
    assert element is not None
    if not element.divides:
        return _whole_step(system, t, h, q, e, u)

    def attempt(
        q: np.ndarray, e: np.ndarray, sum: np.ndarray, left: Any, last: Any, next: Any, count: Any, _: Any
    ) -> dict[str, Any]:
        last_one = count > MOST_PARTS - 1.5
        part = where(last_one, left, minimum(next, left))
        before = system.contact_memory(e)
        passes = where(part > last, -1.0, before.passes)  # the part before did not look so far ahead
        begin = element.scaled(before, part)._replace(passes=passes)
        q1, e1 = _whole_step(system, t + (1.0 - left) * h, part * h, q, system.with_contact_memory(e, begin), u)
        pushed = system.contact_memory(e1)
        after = element.scaled(pushed, 1.0 / part)
        e1 = system.with_contact_memory(e1, after._replace(share=part))
        passes_by = logical_not(after.passed > before.passed)  # as does what is no longer a number
        follows = reduce(logical_or, [passes_by, part <= SHORTEST, last_one])
        left = where(follows, left - part, left)
        return {
            "q": where(follows, q1, q),
            "e": where(follows, e1, e),
            "sum": where(follows, summed(sum, before, pushed), sum),
            "left": left,
            "last": where(follows, part, last),
            "next": where(follows, minimum(2.0 * part, 1.0), 0.5 * part),
            "count": count + 1.0,
            "done": where(left < 0.5 * SHORTEST, 1.0, 0.0),
        }

    share = system.contact_memory(e).share
    last = where(share > 0.0, share, 1.0)
    none = pushes(system.contact_memory(np.zeros(len(e))))
    begin = {"q": q, "e": e, "sum": none, "left": 1.0, "last": last, "next": minimum(2.0 * last, 1.0), "count": 0.0}
    end = repeat(attempt, MOST_PARTS, begin | {"done": 0.0}, "done")
    memory = with_pushes(system.contact_memory(end["e"]), end["sum"])
    return end["q"], system.with_contact_memory(end["e"], memory)


def _whole_step(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after a step of h [s]."""
    layout, element = system.layout, system.contact
    assert element is not None
    step = ContactStep(system, element)
    q_half, v = step.drifted(q, layout.velocity(e), 0.5 * h)
    e_half = layout.replaced(e, v)
    applied = system.applied(t + 0.5 * h, q_half, e_half, u)
    at = step.start(Middle(t + 0.5 * h, h, q_half, v, e_half, u, applied))
    problem, attempts = step.problem(at), _Attempts(step)
    end = attempts.outcome(at) if attempts.several else _solved(problem)
    solved = Solved(**{name: end[name] for name in Solved._fields} | {"memory": element.memory(end["memory"])})
    v1 = end["v1"]
    q1, v_end = step.drifted(q_half, v1, 0.5 * h, problem.displacement(solved.w))
    return q1, _state_after(system, e, h, applied, v_end, solved.memory, lambda: problem.work(applied, v1, solved))


def _state_after(
    system: System, e: np.ndarray, h: Any, applied: Applied, v: np.ndarray, memory: Memory, work: Callable[[], Any]
) -> np.ndarray:
    """e after a step of h [s]; work: the change of each account of the ledger, called where there is one."""
    layout = system.layout
    moved = layout.replaced(e, v, layout.states(e) + h * system.state_rates(applied))
    after = system.with_contact_memory(moved, memory)
    return layout.replaced(after, accounts=layout.accounts(e) + work()) if layout.nw else after


class ContactStep:
    """A step of links, which joints carry, and of loose bodies, where these are looped over.

    linked: the links; where nothing is looped over, all bodies. scene: candidates by pairs of bodies, where these are
    listed in each state; links: numbers of those among its bodies, else of all.
    """

    def __init__(self, system: System, element: RigidContact) -> None:
        self.system, model = system, system.model
        if element.looped:
            loose = element.scene(model).loose
            self.linked = linked_model(model, loose)
            self.frames = self.linked.frames
        else:
            self.frames, loose = aligned_frames(model), []  # in these the equations of motion are short
            self.linked, model = LinkedModel.whole(model), self.frames.model
            element = replace(element, patches=tuple(patch.in_frames(self.frames) for patch in element.patches))
        self.element, self.joints = element, bool(self.linked.model.nv)
        self.scene = element.scene(model) if element.scene_room else None
        self._model, self._bodies = model, model.bodies if self.scene is None else self.scene.bodies
        self.links = [self.linked.number[body.index] for body in self._bodies[len(loose) :]]
        self.loose_bodies = LooseBodies(system, loose)

    @cached_property
    def turning(self) -> Turning:
        """Turning of the shapes of loose bodies, then of links."""
        return Turning(self._model, self._bodies, self.element.patches)

    def drifted(
        self, q: np.ndarray, v: np.ndarray, h: Any, more: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """q, v after a time h [s] without forces; more (nv,): a further displacement."""
        if not self.element.looped:
            return drifted(self.system.model, q, v, h, more)
        linked = self.linked
        q1, v1 = self.loose_bodies.drifted(q, v, h, more)
        of_links = None if more is None else more[linked.v]
        q1[linked.q], v1[linked.v] = drifted(linked.model, q[linked.q], v[linked.v], h, of_links)
        return q1, v1

    def start(self, middle: Middle) -> Situated:
        """The state before impulses."""
        system, linked, (t, h, q, v, e, u, applied) = self.system, self.linked, middle
        bodies = Bodies(system, self.frames, t, h, q, e, u, linked)
        v_links, on_links = v[linked.v], linked.applied(applied)
        loose = self.loose_bodies.moving(q, v, h, applied) if self.element.looped else None
        kick = bodies.kick(v_links, on_links)
        return Situated(h, v_links, bodies, on_links, kick, system.contact_memory(e), middle, loose)

    def problem(self, at: Situated) -> ContactImpulses:
        """The problem there: on pairs that are near, on points that are near, or on all of few points."""
        if self.scene is not None:
            return SceneImpulses(self, at)
        return (GatheredImpulses if self.element.slots else EachImpulses)(self, at)

    def rebounds(self, memory: Memory) -> Any:
        """Whether joints carry a contact that leaves faster than what comes to rest does."""
        kept = [memory]
        if self.scene is not None and self.element.looped:
            parts = self.scene.parts
            every = memory_parts(memory, [part.room for part in parts], len(self.element.turning))
            kept = [each for part, each in zip(parts, every, strict=True) if part.of_links]
        pairs = [pair for each in kept for pair in zip(each.contacts[::3], each.held[::3], strict=True)]
        leaving = [logical_and(p > 0.0, held > self.element.contact.rest_speed) for p, held in pairs]
        return reduce(logical_or, leaving, False)


def _solved(problem: ContactImpulses) -> dict[str, Any]:
    """The numbers of the solution, and velocities after it: v1 (nv,) of the system, joints (n,) of what they carry."""
    solved = problem.solved()
    return solved.numbers() | {"v1": problem.velocity(solved.w), "joints": problem.joints_after(solved.w)}


class _Attempts:
    """A step that may have to be solved again, in the light of a first solution.

    Where joints carry what rebounds, with forces of inertia after the impact as well as before it. Where no motion lets
    all that penetrates come out, with that held as it is. Where friction jams what is to rebound (the cone of a contact
    holds a direction in which no joint moves), the normal would push against the friction with any force and put in as
    much energy as that takes out: the contact then comes to rest.
    """

    def __init__(self, step: ContactStep) -> None:
        self.step, self.element, model = step, step.element, step.system.model
        self.parts = step.joints and self.element.bounces and not all(drifts(model, body) for body in model.bodies)
        self.holds = step.joints and not _all_can_rise(model, self.element.patches)

    @property
    def several(self) -> bool:
        """Whether one attempt may not be enough."""
        return self.parts or self.holds

    def outcome(self, at: Situated) -> dict[str, Any]:
        """The numbers of the last solution, and the velocities v1 (nv,) after it."""

        def attempt(kick: np.ndarray, jump: np.ndarray, parted: Any, recovers: Any, *_: Any) -> dict[str, Any]:
            here = at._replace(kick=kick, measures=self.holds)
            here = here._replace(jump=jump if self.parts else None, recovers=recovers if self.holds else 1.0)
            end = _solved(self.step.problem(here))
            part, hold = self._again(at, end, parted, recovers)
            if self.parts:
                split = at.parted(at.after(end["joints"]))
                kick, jump = where(part, split.kick, kick), where(part, split.jump, jump)
            state = {"kick": kick, "jump": jump, "parted": where(part, 1.0, parted)}
            return {
                **state,
                "recovers": where(hold, 0.0, recovers),
                **end,
                "done": where(part, 0.0, where(hold, 0.0, 1.0)),
            }

        loose = 0 if at.loose is None else at.loose.motion.shape[0]
        nothing = Solved(np.zeros(len(at.v) + SIZE * loose), at.memory, 0.0, 0.0, 0.0)
        begin = {"kick": at.kick, "jump": np.zeros(len(at.v)), "parted": 0.0, "recovers": 1.0}
        begin |= {**nothing.numbers(), "v1": at.middle.v, "joints": at.v, "done": 0.0}
        return repeat(attempt, 1 + self.parts + self.holds, begin, "done")

    def _again(self, at: Situated, end: dict[str, Any], parted: Any, recovers: Any) -> tuple[Any, Any]:
        """Whether the step is to be parted by an impact, and whether what penetrates is to be held."""
        after, speed = self.element.memory(end["memory"]), self.element.contact.recovery_speed
        part = logical_and(self.step.rebounds(after), parted < 0.5) if self.parts else False
        if not self.holds:
            return part, False
        missed = logical_and(after.unsettled > at.memory.unsettled, after.residual > IN_VAIN * speed)
        present = at.bodies.kinetic_energy(at.v + at.bodies.change(at.kick))
        jams = absolute(end["impacts"]) + absolute(end["friction"]) > JAMS * present + LEAST
        return part, logical_and(logical_or(missed, jams), recovers > 0.5)


def _all_can_rise(model: Model, patches: Sequence[Patch]) -> bool:
    """Whether everything that penetrates can come out at once: free robots above one ground."""
    grounds = {None if patch.second != WORLD or patch.ground is None else id(patch.ground) for patch in patches}
    roots = [chain(model, patch.first)[0] for patch in patches]
    return len(grounds) == 1 and None not in grounds and all(drifts(model, root) for root in roots)


# ---- pushes of a step that is divided into parts: what runs report of it is their sum


def pushes(memory: Memory) -> np.ndarray:
    """Impulses, moments of friction and normals of a step in one array, as runs report them."""
    return np.concatenate([memory.contacts, memory.turned, memory.normals])


def with_pushes(memory: Memory, x: np.ndarray) -> Memory:
    """The memory with these numbers in the place of its own; see `pushes`."""
    contacts, turned, normals = _split(memory, x)
    return memory._replace(contacts=contacts, turned=turned, normals=normals)


def summed(x: np.ndarray, before: Memory, pushed: Memory) -> np.ndarray:
    """`pushes` of several parts of a step, of which x came before the one that pushed.

    Impulses add up where a slot holds the same contact as before; a normal is that of the last part that pushed.
    """
    k = len(pushed.slip)
    contacts, turned, normals = (part.reshape(k, -1) for part in _split(pushed, x))
    numbers = zip(before.numbers, pushed.numbers, strict=True) if len(pushed.numbers) else always((0, 0), k)
    same = [old == new for old, new in numbers]
    totals: list[Any] = []
    for old, new in ((contacts, pushed.contacts), (turned, pushed.turned)):
        totals += [where(kept, a, 0.0) + b for kept, a, b in zip(same, old, new.reshape(k, -1), strict=True)]
    rows = zip(pushed.contacts.reshape(k, -1), normals, pushed.normals.reshape(k, -1), strict=True)
    totals += [where(p[0] > 0.0, b, a) for p, a, b in rows]
    return np.concatenate(totals)


def _split(memory: Memory, x: np.ndarray) -> list[np.ndarray]:
    return np.split(x, np.cumsum([len(memory.contacts), len(memory.turned)]))
