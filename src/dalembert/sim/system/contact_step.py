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
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algorithms.free_bodies import drifts
from dalembert.contact import Patch
from dalembert.contact.candidates import WORLD
from dalembert.math import logical_and, logical_or, repeat, where
from dalembert.model import Model
from dalembert.model.aligned import aligned_frames
from dalembert.model.tool import chain

from ..elements.contact import Memory, RigidContact
from .contact_problem import Bodies, ContactImpulses, Situated, Solved, state_after
from .crowd_step import crowd_step
from .drift import drifted
from .each_contact import EachContact, every_candidate
from .gathered_contacts import GatheredImpulses
from .paired_contacts import PairedImpulses
from .scene_step import scene_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .system import Applied, System

IN_VAIN = 0.1  # of the recovery speed: an error of velocities that may come from asking for it


def contact_step(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after a step of h [s] with the system's contacts."""
    model, layout, element = system.model, system.layout, system.contact
    assert element is not None
    if element.mixed:
        return crowd_step(system, t, h, q, e, u)
    if element.scene_room and not element.scene(model).links:
        return scene_step(system, t, h, q, e, u)
    q_half, v = drifted(model, q, layout.velocity(e), 0.5 * h)
    e_half = layout.replaced(e, v)
    applied = system.applied(t + 0.5 * h, q_half, e_half, u)
    frames = aligned_frames(model)
    element = replace(element, patches=tuple(patch.in_frames(frames) for patch in element.patches))
    bodies = Bodies(system, frames, t + 0.5 * h, h, q_half, e_half, u)
    at = Situated(h, v, bodies, bodies.kick(v, applied), system.contact_memory(e))
    step = _problem(system, element, at)
    attempts = _Attempts(system, element, applied)
    end = attempts.outcome(at) if attempts.several else _solved(step)
    solved = Solved(**{name: end[name] for name in Solved._fields} | {"memory": element.memory(end["memory"])})
    v1 = end["v1"]
    q1, v_end = drifted(model, q_half, v1, 0.5 * h, step.displacement())
    return q1, state_after(system, e, h, applied, v_end, solved.memory, lambda: step.work(applied, v1, solved))


def _problem(system: System, element: RigidContact, at: Situated) -> ContactImpulses:
    if element.scene_room:
        return PairedImpulses(system, element, at)
    if element.slots:
        return GatheredImpulses(system, element, at)
    return EachContact(system, element, at, every_candidate(element, at))


def _solved(step: ContactImpulses) -> dict[str, Any]:
    """The numbers of the solution, and the velocities v1 (nv,) after it."""
    solved = step.solved()
    return solved.numbers() | {"v1": step.velocity(solved.w)}


class _Attempts:
    """A step that may have to be solved again, in the light of a first solution.

    Where joints carry what rebounds, with forces of inertia after the impact as well as before it. Where no motion lets
    all that penetrates come out, with that held as it is.
    """

    def __init__(self, system: System, element: RigidContact, applied: Applied) -> None:
        self.system, self.element, self.applied, bodies = system, element, applied, system.model.bodies
        self.parts = element.bounces and not all(drifts(system.model, body) for body in bodies)
        self.holds = not _all_can_rise(system.model, element.patches)

    @property
    def several(self) -> bool:
        """Whether one attempt may not be enough."""
        return self.parts or self.holds

    def outcome(self, at: Situated) -> dict[str, Any]:
        """The numbers of the last solution, and the velocities v1 (nv,) after it."""

        def attempt(kick: np.ndarray, jump: np.ndarray, parted: Any, recovers: Any, *_: Any) -> dict[str, Any]:
            here = at._replace(kick=kick, jump=jump if self.parts else None, recovers=recovers if self.holds else 1.0)
            end = _solved(_problem(self.system, self.element, here))
            part, hold = self._again(at, end, parted, recovers)
            if self.parts:
                split = at.parted(at.bodies.kick(end["v1"], self.applied))
                kick, jump = where(part, split.kick, kick), where(part, split.jump, jump)
            state = {"kick": kick, "jump": jump, "parted": where(part, 1.0, parted)}
            return {
                **state,
                "recovers": where(hold, 0.0, recovers),
                **end,
                "done": where(part, 0.0, where(hold, 0.0, 1.0)),
            }

        nothing = Solved(np.zeros(len(at.v)), at.memory, 0.0, 0.0, 0.0)
        begin = {"kick": at.kick, "jump": np.zeros(len(at.v)), "parted": 0.0, "recovers": 1.0}
        return repeat(
            attempt, 1 + self.parts + self.holds, {**begin, **nothing.numbers(), "v1": at.v, "done": 0.0}, "done"
        )

    def _again(self, at: Situated, end: dict[str, Any], parted: Any, recovers: Any) -> tuple[Any, Any]:
        """Whether the step is to be parted by an impact, and whether what penetrates is to be held."""
        after, speed = self.element.memory(end["memory"]), self.element.contact.recovery_speed
        part = logical_and(_rebounds(self.element, after), parted < 0.5) if self.parts else False
        missed = logical_and(after.unsettled > at.memory.unsettled, after.residual > IN_VAIN * speed)
        return part, logical_and(missed, recovers > 0.5) if self.holds else False


def _rebounds(element: RigidContact, memory: Memory) -> Any:
    """Whether some contact leaves faster than what comes to rest does: what joints carry then moves otherwise."""
    contacts = zip(memory.contacts[::3], memory.held[::3], strict=True)
    leaving = [logical_and(p > 0.0, held > element.contact.rest_speed) for p, held in contacts]
    return reduce(logical_or, leaving)


def _all_can_rise(model: Model, patches: Sequence[Patch]) -> bool:
    """Whether everything that penetrates can come out at once: free robots above one ground."""
    grounds = {None if patch.second != WORLD or patch.ground is None else id(patch.ground) for patch in patches}
    roots = [chain(model, patch.first)[0] for patch in patches]
    return len(grounds) == 1 and None not in grounds and all(drifts(model, root) for root in roots)
