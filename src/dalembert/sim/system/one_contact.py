"""The laws of one contact in a time step: what its normal and tangents are asked for, given what it did before."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.contact import Contact, ContactLaw
from dalembert.contact.solver import ANY
from dalembert.contact.solver.cones import TINY
from dalembert.linear import is_zero, sparse_product
from dalembert.math import abs as absolute
from dalembert.math import clip, logical_and, logical_not, logical_or, maximum, minimum, sqrt, where
from dalembert.math.elementary import is_precise

from ..elements.contact import Memory, RigidContact
from .impulses import RECOVERED

PASSED = 0.25  # of the way of a contact in a step: a depth that is not from curved ways and surfaces
ALIKE = 4.0  # times as deep as in the step before: no deeper than one may become in a step
THROUGH = 0.25  # of the thickness of the thinner body: a depth from which it may come out on the other side
SINGULAR = 1e-3  # of the mobility of its tangents: that of a normal that joints hardly move
AT_REST = 10.0  # times the tolerance: what slides more slowly before a step is at rest, as far as that step can tell
MICROMETRE = 1e-6  # [m]: a gap that float32 hardly tells from none
STILL = 1e-6  # [m/s]: a contact whose velocity changes less in a drift does not roll


def passed(
    contact: Contact,
    h: Any,
    gap: Any,
    before: np.ndarray,
    impulse: Any,
    memory: Memory,
    apart: Any = 0.0,
    thin: Any = np.inf,
    held: Any = 0.0,
) -> Any:
    """The error of velocity [m/s] of a contact that was passed through before the step could act, 0: it was not.

    A step lets a gap close and no more, so that this is one that started closer to a surface than it moves within half
    a step, or turned too far. The depth at q½ came about in this step; or, beyond something thin, the contact leaves
    from inside in the first step of a motion, while later ones may leave what they started in; and that is no small
    part of the way h before (3,). impulse: of its normal in the step before, which knew of the contact if there was
    one; memory: of that step. apart: `speeds_apart`, of which the way is made where its freedoms move it to and fro.

    Where the other end of a rod or a plate swings into something thin within a step, the nearest points are others than
    those of the step before, whatever their impulses: `thin` is the thickness of the thinner body [m], held: the
    velocity of the normal at which that step held it, above 0 and up to the recovery speed where it was inside before.
    After a shorter step, which did not look so far ahead, memory.passes is below 0.
    """
    start, way = gap - 0.5 * h * before[0], PASSED * h
    sudden = logical_and(gap < -least_gap(contact, h, gap), start > 0.5 * gap)
    beyond = logical_and(gap > 0.0, memory.passes < 0.5)
    depth = where(sudden, -gap, where(beyond, maximum(-start, 0.0), 0.0))
    far = logical_and(depth * depth > way * way * maximum(before @ before, apart), impulse <= 0.0)
    if is_infinite(thin):
        return where(far, depth / h, 0.0)
    was_as_deep = RECOVERED * -gap < ALIKE * h * held  # what came out as fast as it may was as deep as any
    was_inside = logical_and(
        logical_or(was_as_deep, held > 0.99 * contact.recovery_speed), held <= contact.recovery_speed
    )
    deep = logical_and(gap < -THROUGH * thin, before @ before * way * way > PASSED**4 * gap * gap)
    swung = logical_and(logical_and(deep, logical_not(was_inside)), memory.passes > 0.5)
    skipped = logical_and(memory.passes < -0.5, -start > THROUGH * thin)  # nothing was so far inside before
    return where(skipped, -start / h, where(swung, -gap / h, where(far, depth / h, 0.0)))


def is_infinite(x: Any) -> bool:
    """Whether a number, which may be traced, is known to be infinite."""
    return isinstance(x, float) and x == np.inf


def speeds_apart(J: np.ndarray, v: np.ndarray) -> Any:
    """The sum of the squares of the speeds [m²/s²] that each freedom of v (nv,) alone gives a contact; J (3, nv).

    A point of a link that turns fast may be nearly at rest, and still be on a way that is bent.
    """
    return sparse_product(np.sum(J * J, axis=0)[None], v * v)[0]


def mobility(x: np.ndarray, y: np.ndarray) -> Any:
    """Mobility of a contact's normal relative to its tangents: 1, or near 0 where joints hardly move it.

    x, y (m, 3): what its normal and tangents are carried by.
    """
    normal, first, second = (x[:, k] @ y[:, k] for k in range(3))
    return minimum(normal / (SINGULAR * (first + second) + TINY), 1.0)


def normal_shift(contact: Contact, h: Any, gap: Any, before: Any, held: Any, mobile: Any = 1.0) -> Any:
    """Velocity that is added to that of a normal: what is open may close, what penetrates comes out slowly.

    before: its velocity before the step; held: that at which it is at rest, see `rolling_velocity`. What a turning body
    does not need to come out at once may wait, so that this takes no work. mobile: its `mobility`: what joints hardly
    move, as the tip of an arm that is stretched straight down, comes out the more slowly.
    Gaps that the tolerance or the precision cannot tell from none are none: closing them would shake bodies at rest by
    as much as the last step's error.
    """
    closing = gap * (1.0 / h)  # one division for all contacts
    out = mobile * maximum(RECOVERED * closing, -contact.recovery_speed)
    shift = where(absolute(gap) < least_gap(contact, h, gap), 0.0, where(gap > 0.0, closing, out))
    return minimum(shift, maximum(shift - held, before))


def least_gap(contact: Contact, h: Any, gap: Any) -> Any:
    """A gap [m] up to which neither the tolerance nor the precision tells it from none."""
    least = contact.tolerance * h
    return where(is_precise(1.0 + absolute(gap)), least, maximum(least, MICROMETRE))


def meets_ahead(contact: Contact, h: Any, gap: Any, end: Any, impulse: Any, thin: Any = np.inf) -> Any:
    """Whether an open contact, which did not push before, would close on a straight way, but not pass through.

    end: its velocity after the step without impulses, with its shift; thin: see `passed`.
    """
    meets = logical_and(logical_and(gap > contact.tolerance * h, impulse <= 0.0), end < 0.0)
    return meets if is_infinite(thin) else logical_and(meets, -h * end < THROUGH * thin)


def along_the_path(h: Any, shift: Any, free: Any, meets: Any, after: Any) -> Any:
    """The shift of a normal that would close on a straight way (`meets`), where its joints' path leaves it open.

    after: the gap at the end of that path [m], below 0 where it closes there as well. A link that swings over the floor
    moves on an arc, which a straight way leaves by h² v² / 2 r.
    """
    return where(logical_and(meets, after > 0.0), after / h - free, shift)


class Meeting(NamedTuple):
    """When a contact meets: its gap then [m], and the time from the middle of the step on [s]; see `meeting`."""

    gap: Any
    time: Any = 0.0


class Bounce(NamedTuple):
    """Shift of a normal with a rebound, and the square of the speed of an approach that waits for its rebound."""

    shift: Any
    approach: Any


def bounced(
    contact: Contact,
    law: ContactLaw,
    h: Any,
    gap: Any,
    before: Any,
    free: Any,
    shift: Any,
    last: tuple[Any, Any],
    jump: Any = 0.0,
    recovers: Any = 1.0,
    meeting: Meeting | None = None,
) -> Bounce:
    """The shift of a normal if what meets fast enough bounces.

    gap at q½; before, free: the velocity before the step, and after it without impulses; last: the approach that waited
    and the impulse of the step before. With a constant acceleration a, the surface is met at a speed w of
    w² = before² − 2 a x, x = gap − h/2 before being the gap at the start. The rebound u1 rises as high as e w does:
    u1² − 2 a x1 = e² w², where x1 = gap + h/2 u1 ends the step. Where that is below x1, the step brings the gap to
    zero, and the next one has the rebound: until then the approach is remembered. jump, recovers: see `Situated`; a is
    then the mean of those before and after the impact, so that an elastic one keeps the energy. meeting: of a pair that
    goes on from where it meets, which then has x1 = gap there + (h/2 - time) u1.
    """
    there = meeting or Meeting(gap)
    if is_zero(law.restitution):
        return Bounce(shift, 0.0)
    acceleration, waited, impulse = (free - before) / h, *last
    start = gap - 0.5 * h * before
    half, e = (0.5 * h - there.time) * acceleration, law.restitution
    square = before * before - 2.0 * acceleration * start + jump * (before + 0.5 * h * acceleration + 0.25 * jump)
    square = maximum(square, where(impulse > 0.0, waited, 0.0))
    root = half * half + 2.0 * acceleration * there.gap + e * e * square
    speed = where(root > 0.0, half - 0.5 * jump + sqrt(maximum(root, 0.0)), 0.0)
    fast = logical_and(square > contact.rest_speed * contact.rest_speed, e * recovers > 0.0)
    meets = logical_and(fast, free + shift < 0.0)
    leaves = logical_and(meets, speed > 0.0)
    return Bounce(where(leaves, -speed, shift), where(logical_and(meets, speed <= 0.0), square, 0.0))


def can_be_stopped(contact: Contact, law: ContactLaw, h: Any, gap: Any, rebounds: Any) -> Any:
    """Whether a contact would rebound if it met, but does not meet without impulses, and is open: 1, or 0.

    The impulses of others, as of the corner of a face that strikes first, may throw it down within the step.
    """
    may = logical_and(gap > contact.tolerance * h, law.restitution > 0.0)
    return where(logical_and(may, logical_not(rebounds)), 1.0, 0.0)


def stopped_impulse(p: np.ndarray, stops: Any) -> np.ndarray:
    """The impulse that stops a contact, of those along and about its axes; stops: `can_be_stopped`."""
    return np.array([where(p[0] > 0.0, stops, 0.0) * p[0], *[0.0] * (len(p) - 1)])


def stopped_approach(contact: Contact, stops: Any, p: Any, approach: Any, change: Any, before: Any, after: Any) -> Any:
    """The square of the speed of an approach that waits for its rebound [m²/s²], of what is stopped by p as well.

    change: of its velocity by the impulses of all that are stopped; as much energy as these take is that of an approach
    at this speed, which they stop alone. before, after: the step, velocities of the normal.
    """
    square = after * after - change * (before + after)
    taken = logical_and(p * stops > 0.0, square > contact.rest_speed * contact.rest_speed)
    return where(taken, maximum(approach, square), approach)


def braking(approach: Any, waited: Any, p: Any, before: Any, after: Any) -> Any:
    """The energy [J] that an impulse p takes from an approach which waits for its rebound; it may ask for any amount
    where it waited in the step before as well. before, after: the step, velocities of the normal.
    """
    taken = where(waited > 0.0, ANY, -0.5 * p * (before + after))
    return where(approach > 0.0, taken, 0.0)


def friction_coefficient(contact: Contact, law: ContactLaw, slides: np.ndarray, stuck: Any) -> Any:
    """Friction: that of rest for a contact that did not slide before; slides (2,): how fast [m/s]; stuck: before."""
    if law.static_friction is law.friction or is_zero(law.static_friction - law.friction):
        return law.friction
    slow = AT_REST * contact.tolerance
    return where(logical_or(stuck, slides @ slides < slow * slow), law.static_friction, law.friction)


def recovered(heat: Any, gap: Any) -> Any:
    """The work of a normal that lifts what penetrates, where its heat is below 0 [J]."""
    return where(gap < 0.0, maximum(-heat, 0.0), 0.0)


def was_stuck(p: np.ndarray, slip: Any) -> Any:
    """Whether a contact stuck in the step before, with impulses p (3,) and its slip."""
    return logical_and(p[0] > 0.0, slip == 0.0)


def pushed_alone(pushing: Iterable[Any]) -> Any:
    """Whether a contact was the only one that pushed in the step before: then it may roll.

    Velocities at which several are held, each by what it did before, need not be those of any motion of the bodies.
    pushing: how many pushed in each group of contacts that it is tied to.
    """
    return reduce(maximum, pushing, 0.0) < 1.5


def rolling_velocity(before: np.ndarray, p: np.ndarray, last: np.ndarray, stuck: Any, alone: Any) -> np.ndarray:
    """The velocity (3,) along its normal and tangents at which a contact holds: not 0 where it rolls or turns alone.

    The point wanders over the surfaces, and the velocity of what is there changes within a drift from that after
    the step before, `last`, to `before`. Held at minus half of the change, it is at rest in the mean, and does no work,
    to second order: a body that turns fast does not sink in. Tangents hold only what sticks. Where friction still would
    put in some work, against the force of the step before, it does none, and so does a normal; but what no longer rolls
    is held at 0, lest its velocity turn round in every step. p (3,): impulses of that step; alone: `pushed_alone`.
    """
    turned, half, tangents = -0.5 * (before[0] - last[0]), 0.5 * (before[1:] - last[1:]), p[1:]
    gained = clip(tangents @ (last[1:] + half), 0.0, absolute(tangents @ half))
    rolls = logical_and(logical_and(stuck, alone), half @ half > STILL * STILL)
    along = where(rolls, -half - tangents * (gained / (tangents @ tangents + TINY)), 0.0)
    pressed = logical_and(logical_and(p[0] > 0.0, alone), turned > STILL)
    return np.concatenate([[where(pressed, clip(turned, 0.0, maximum(-before[0], 0.0)), 0.0)], along])


class Last(NamedTuple):
    """Memory of a contact from the step before: see `Memory`. p (3,): its impulses; turned (m,): moments.

    approach (1,), or (0,) where none bounces.
    """

    p: np.ndarray
    turned: np.ndarray
    slip: Any
    held: np.ndarray
    approach: np.ndarray


class Asked:
    """Targets of the contact laws in a step of h [s]; about: axes about which some resist turning; recovers: see
    `Situated`.
    """

    def __init__(
        self, element: RigidContact, h: Any, memory: Memory, about: tuple[int, ...], recovers: Any = 1.0
    ) -> None:
        self.element, self.h, self.memory, self.about, self.recovers = element, h, memory, about, recovers

    def held(
        self, gap: Any, before: np.ndarray, last: Last, alone: Any, mobile: Any = 1.0, meeting: Meeting | None = None
    ) -> tuple[np.ndarray, Any]:
        """The velocity (3,) at which a contact holds, see `rolling_velocity`, and the shift of its normal."""
        there = meeting or Meeting(gap)
        held = rolling_velocity(before[:3], last.p, last.held, was_stuck(last.p, last.slip), alone)
        ahead, recovers = self.h - there.time, self.recovers * mobile
        return held, normal_shift(self.element.contact, ahead, there.gap, before[0], held[0], recovers)

    def columns(
        self,
        law: ContactLaw,
        gap: Any,
        before: np.ndarray,
        free: np.ndarray,
        last: Last,
        held: np.ndarray,
        shift: Any,
        thin: Any = np.inf,
        jump: np.ndarray | None = None,
        meeting: Meeting | None = None,
    ) -> dict[str, Any]:
        """Columns of one contact, with velocities (3 + m,) before the step and after it without impulses.

        c: `free` with all that is added to it, and where contacts may bounce c_plain: without rebounds; mu; reach (m,):
        moment per normal impulse [m]; meets (3 + m,): the velocities from which impulses act. p (3 + m,), slip: from
        which the iteration starts. For the next step: held, waits; waited: the approach of the step before; passed
        (1,): see the function of this name. held, shift: see the method `held`; thin: see `passed`; jump (3 + m,), of
        an impact: see `Situated`.
        """
        contact, h, there, stuck = self.element.contact, self.h, meeting or Meeting(gap), was_stuck(last.p, last.slip)

        def shifted(shift: Any) -> np.ndarray:
            return np.concatenate([[free[0] + shift], free[1:3] - held[1:], free[3:]])

        columns = {
            "before": before,
            "free": free,
            "meets": before if jump is None else before + jump,
            "c": shifted(shift),
            "mu": friction_coefficient(contact, law, before[1:3], stuck),
            "reach": np.array([(law.torsion, law.rolling, law.rolling)[axis] for axis in self.about], object),
            "p": np.concatenate([last.p, last.turned]),
            "slip": last.slip,
            "waits": np.zeros(0),
            "passed": np.array([passed(contact, h, gap, before[:3], last.p[0], self.memory, 0.0, thin, last.held[0])]),
        }
        if self.element.bounces:
            normal = before[0], free[0], shift, (last.approach[0], last.p[0]), 0.0 if jump is None else jump[0]
            bounce = bounced(contact, law, h, gap, *normal, self.recovers, there)
            columns |= {"c": shifted(bounce.shift), "c_plain": columns["c"], "waits": np.array([bounce.approach])}
            columns |= {"stops": can_be_stopped(contact, law, h, gap, bounce.shift < shift), "waited": last.approach[0]}
            shift = bounce.shift
        return columns | {"held": np.array([-shift, *held[1:]])}
