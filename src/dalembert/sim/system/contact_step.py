"""A time step with rigid contact: half a drift, all impulses at once, half a drift.

    q½ = q ⊕ h/2 v,   (M + h D + h²/4 K) (v1 − v) = h f + Jᵀ p at q½,   q1 = q½ ⊕ h/2 v1

(Moreau 1988), with forces of inertia at the velocity in the middle of the kick. Smooth motion is followed to second
order, and v belongs to the same time as q. Impulses p put all contacts, stops and dry friction on their laws together.
A gap may close within the step and no more: u_n + gap/h ≥ 0 with the gap at q½, which then is never below zero, nor is
its mean with the next one, that at q1.

Free bodies drift straight ahead in the world, with their velocities turned into the new axes, so that no force has to
bend their way; loose ones keep their angular momentum as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.model.aligned import aligned_frames

from .contact_problem import Bodies, ContactImpulses, Situated
from .drift import drifted
from .each_contact import EachContact, every_candidate
from .gathered_contacts import GatheredImpulses
from .paired_contacts import PairedImpulses
from .scene_step import scene_step

if TYPE_CHECKING:
    from .system import System


def contact_step(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after a step of h [s] with the system's contacts."""
    model, layout, element = system.model, system.layout, system.contact
    assert element is not None
    if element.scene_room and not element.scene(model).links:
        return scene_step(system, t, h, q, e, u)
    q_half, v = drifted(model, q, layout.velocity(e), 0.5 * h)
    e_half = layout.replaced(e, v)
    applied = system.applied(t + 0.5 * h, q_half, e_half, u)
    frames = aligned_frames(model)
    element = replace(element, patches=tuple(patch.in_frames(frames) for patch in element.patches))
    bodies = Bodies(system, frames, t + 0.5 * h, h, q_half, e_half, u)
    z = layout.states(e)
    memory = element.memory(layout.by_element(z)[system.contact_number])
    at = Situated(h, v, bodies, bodies.kick(v, applied), memory)
    step: ContactImpulses
    if element.scene_room:
        step = PairedImpulses(system, element, at)
    elif element.slots:
        step = GatheredImpulses(system, element, at)
    else:
        step = EachContact(system, element, at, every_candidate(element, at))
    solved = step.solved()
    v1 = step.velocity(solved.w)
    q1, v_end = drifted(model, q_half, v1, 0.5 * h, step.displacement())

    states = layout.by_element(z + h * system.state_rates(applied))
    states[system.contact_number] = solved.memory.flat()
    e1 = layout.replaced(e, v_end, np.concatenate(states))
    if layout.nw:
        e1 = layout.replaced(e1, accounts=layout.accounts(e) + step.work(applied, v1, solved))
    return q1, e1
