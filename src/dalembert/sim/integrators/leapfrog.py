"""Leapfrog for free bodies with multipliers, and the explicit scheme of axis-angle increments for sprung ones.

Velocities are those of half steps: v+ = v + M⁻¹ (h f + Jᵀ p), q+ = q ⊕ h v+, with J v+ = −(φ + e) / h and e += φ. The
numbers e, one per row, learn the curvature ½ h² J̇ v that the linear equation does not see: joints stay closed to third
order in h, with one linear solve per step and no stabilisation. Gyroscopic moments are extrapolated, 1.5 g − 0.5 g of
the step before: second order, without drift of the energy.

Rows that give way, of compliance C, get J v+ + (C / h²) p = −φ / h and learn nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.algorithms import constraints
from dalembert.errors import DalembertError
from dalembert.spatial import cross, so3
from dalembert.typing import Array, Scalar

from ..elements.couplings import Bushing
from ..system.free_bodies import FreeBodies
from ..system.free_body import STILL, FreeBody, Moving, moved, twist_of
from ..system.free_joints import Ask
from ..system.system import Applied, System

OPEN = 1e-6  # [m, rad]: a joint that is open by more at the start is refused
FORGOTTEN = 1e-5  # share of e that is forgotten in a step where rows depend on each other: rounding cannot pile up
FIRST = 0.5  # share of a step that the first kick takes


@dataclass(frozen=True, eq=False)
class Carried:
    """A step that carries numbers of its own, its memory, from one step to the next.

    size: of a system → how many. start: (system, q (…, nq), v (…, nv)) → memory (…, size), of numbers. step: (system,
    t, h, q, e, u, memory) → (q, e, memory), traced. primed: (system, run, q, e, memory) → the memory with which steps
    begin, by `run(q, e, memory)`, which is one compiled step; None: as it is.
    """

    size: Callable[[Any], int]
    start: Callable[..., Array]
    step: Callable[..., tuple[Array, Array, Array]]
    primed: Callable[..., Array] | None = None


class LeapfrogMemory(NamedTuple):
    """Numbers carried from step to step, of all bodies: poses (n, 7) ahead, V and W (n, 3) of the half step, W × I W
    (n, 3), e (count,), kick (1,)."""

    poses: Array
    velocity: Array
    spin: Array
    gyroscopic: Array
    learned: Array
    kick: Array

    def flat(self, bodies: FreeBodies) -> Array:
        """All in one array, the same number of all bodies side by side."""
        return np.concatenate([packed(*self[:4]), self.learned[..., bodies.joints.row_places], self.kick], axis=-1)


@lru_cache(maxsize=16)
def free_bodies(system: System, lanes: bool = False) -> FreeBodies:
    """The free bodies of a system; refuses others."""
    return FreeBodies(system.model, system.elements, "leapfrog", lanes=lanes)


def _sizes(bodies: FreeBodies) -> list[int]:
    n = len(bodies.bodies)
    return [7 * n, 3 * n, 3 * n, 3 * n, bodies.joints.count, 1]


def unpacked(bodies: FreeBodies, memory: Array) -> LeapfrogMemory:
    """The memory by its parts."""
    parts = np.split(memory, np.cumsum(_sizes(bodies))[:-1], axis=-1)
    by_body = [np.swapaxes(x.reshape(*x.shape[:-1], -1, len(bodies.bodies)), -1, -2) for x in parts[:4]]
    poses, velocity, spin, moments = by_body
    return LeapfrogMemory(poses, velocity, spin, moments, parts[4][..., np.argsort(bodies.joints.row_places)], parts[5])


def leapfrog_start(system: System, q: Array, v: Array) -> Array:
    """The memory (…, size) before the first, half kick, of states q (…, nq), v (…, nv)."""
    bodies = free_bodies(system)

    def memory(q: Array, v: Array) -> Array:
        moving = bodies.moving(q, v)
        moments = bodies.over_bodies(lambda body, W: {"g": gyroscopic(body, W)}, W=moving.spin)["g"]
        learned, kick = np.zeros(bodies.joints.count), np.array([FIRST])
        return LeapfrogMemory(bodies.by_body(q), moving.velocity, moving.spin, moments, learned, kick).flat(bodies)

    return _each_state(memory, q, v)


def _each_state(memory: Callable[..., Array], q: Array, v: Array) -> Array:
    """The memories (…, size) of states q (…, nq), v (…, nv)."""
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    states = (np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v))
    return np.array([memory(*state) for state in zip(*states, strict=True)]).reshape(*batch, -1)


def primed(system: System, run: Any, q: Array, e: Array, memory: Array) -> Array:
    """The memory with which whole steps begin: after half a kick, with e from a trial of two steps.

    run(q, e, memory) → (q, e, memory) is one step, compiled.
    """
    bodies = free_bodies(system)
    trial = run(q, e, memory)
    learned = unpacked(bodies, trial[2]).learned
    gap = np.abs(learned)
    if bodies.joints.count and np.max(gap) > OPEN and bodies.joints.compliance is None:
        worst = int(np.argmax(np.max(gap.reshape(-1, bodies.joints.count), axis=0)))
        joint = bodies.joints.names[worst]
        raise DalembertError(
            f"leapfrog: joint {joint!r} of robot {system.model.name!r} is open by {np.max(gap):.3g} m (or rad) at the "
            "start: begin with robot.start of a mechanism, or robot.close_loops(q)"
        )
    learned = unpacked(bodies, run(*trial)[2]).learned - learned
    return run(q, e, unpacked(bodies, memory)._replace(learned=learned).flat(bodies))[2]


def carried_step(
    system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array, memory: Array, alone: bool
) -> tuple[Array, Array, Array]:
    """One step: q and v come to where the memory is ahead, and the memory goes on by a step."""
    bodies = free_bodies(system, alone)
    now = unpacked(bodies, memory)
    (kick,) = now.kick
    whole = 2.0 * kick - 1.0  # 0 for the half kick, which does not move on in time
    ahead = now.poses.reshape(-1)
    before = bodies.moving(q, system.layout.velocity(e))

    def step(body: FreeBody, pose: Array, V: Array, W: Array, V0: Array, W0: Array) -> dict[str, Any]:
        return {"v": twist_of(body, pose, 2.0 * V - V0, 2.0 * W - W0)}

    end = bodies.over_bodies(step, pose=now.poses, V=now.velocity, W=now.spin, V0=before.velocity, W0=before.spin)
    expected = system.layout.replaced(e, end["v"].reshape(-1))  # as far as known: forces may depend on velocities
    acting = _without(system, lambda spring: spring.implicit).acting(t + whole * h, ahead, expected, u)

    def push(body: FreeBody, pose: Array, V: Array, W: Array, g_before: Any, wrench: Array) -> dict[str, Any]:
        g = gyroscopic(body, W)
        V1, W1 = pushed(body, pose, V, W, 1.5 * g - 0.5 * g_before, wrench, bodies.model.gravity, kick * h)
        return {"V": V1, "W": W1, "g": g}

    wrenches = bodies.wrenches(acting.forces, acting.wrenches)
    after_push = bodies.over_bodies(push, pose=now.poses, V=now.velocity, W=now.spin, g=now.gyroscopic, wrench=wrenches)
    moving = Moving(now.poses, after_push["V"], after_push["W"])
    phi, kicks = _held(bodies, moving, now.learned, h)

    def move(body: FreeBody, pose: Array, V: Array, W: Array, V0: Array, W0: Array, kick: Array) -> dict[str, Any]:
        V1, W1 = kicked(body, pose, V, W, kick)
        v = twist_of(body, pose, 0.5 * (V0 + V1), 0.5 * (W0 + W1))
        return {"pose": moved(body, pose, h * V1, h * W1), "V": V1, "W": W1, "v": v}

    after = bodies.over_bodies(move, **moving._asdict(), V0=now.velocity, W0=now.spin, kick=kicks)
    states = system.layout.states(e) + (whole * h) * system.state_rates(acting)
    learned = now.learned + phi if bodies.joints.independent else (1.0 - FORGOTTEN) * (now.learned + phi)
    following = LeapfrogMemory(after["pose"], after["V"], after["W"], after_push["g"], learned, np.array([1.0]))
    return ahead, system.layout.replaced(e, after["v"].reshape(-1), states), following.flat(bodies)


def single_step(system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array) -> tuple[Array, Array]:
    """(q, e) after one step that carries nothing: half a kick, a drift, half a kick, so two solves.

    The same motion as the steps that carry half-step velocities, to the order of the method.
    """
    bodies, layout = free_bodies(system), system.layout
    bare = _without(system, lambda spring: spring.implicit)  # those are rows of the step
    acting = bare.acting(t, q, e, u)
    begin = bodies.moving(q, layout.velocity(e))
    bend = np.zeros(bodies.joints.count)
    if system.model.closures:
        bias = constraints(system.model, q, layout.velocity(e)).bias
        bend = np.concatenate([0.5 * h * h * bias, np.zeros(bodies.joints.count - len(bias))])
    first = _half(bodies, begin, begin.spin, acting, h)
    middle = _after_kicks(bodies, first, _held(bodies, first, bend, h, single=True)[1])
    drift = lambda body, pose, V, W: {"pose": moved(body, pose, h * V, h * W)}  # noqa: E731
    q1 = bodies.over_bodies(drift, **middle._asdict())["pose"].reshape(-1)
    end = Moving(bodies.by_body(q1), 2.0 * middle.velocity - begin.velocity, 2.0 * middle.spin - begin.spin)
    expected = layout.replaced(e, _twists(bodies, end), layout.states(e) + h * system.state_rates(acting))
    acting1 = bare.acting(t + h, q1, expected, u)
    second = _half(bodies, Moving(end.pose, middle.velocity, middle.spin), end.spin, acting1, h)
    v1 = _twists(bodies, _after_kicks(bodies, second, _stopped(bodies, second, h)))
    after = layout.replaced(expected, v1)
    if layout.nw:
        powers = [bare.powers(q, layout.velocity(e), acting), bare.powers(q1, v1, acting1)]
        after = layout.replaced(after, accounts=layout.accounts(e) + 0.5 * h * (powers[0] + powers[1]))
    return q1, after


# ---- parts of a step


def _without(system: System, drop: Callable[[Bushing], bool]) -> System:
    """The system without some of the springs that hold joints."""
    others = tuple(x for x in system.elements if not (isinstance(x, Bushing) and drop(x)))
    return system if len(others) == len(system.elements) else replace(system, elements=others)


def gyroscopic(body: FreeBody, W: Array) -> Array:
    return cross(W, body.inertia @ W)


def pushed(
    body: FreeBody, pose: Any, V: Any, W: Any, gyroscopic: Any, wrench: Any, gravity: Array, h: Scalar
) -> tuple[Array, Array]:
    """V and W of a body after the time h under gravity, a wrench (6,) at its origin, and gyroscopic moments."""
    moment, R = wrench[:3] - cross(body.com, wrench[3:]) - gyroscopic, so3.from_quaternion(pose[3:])
    return V + h * (gravity + R @ (wrench[3:] * (1.0 / body.mass))), W + h * (body.inverse @ moment)


def kicked(body: FreeBody, pose: Any, V: Any, W: Any, kick: Any) -> tuple[Array, Array]:
    """V and W of a body after impulses (…, 6) on its twist [W; Rᵀ V]."""
    kick = sum(kick[1:], kick[0])
    return V + so3.from_quaternion(pose[3:]) @ (kick[3:] * (1.0 / body.mass)), W + body.inverse @ kick[:3]


def packed(*by_body: Array) -> Array:
    """Arrays (…, n, k) in one, the same number of all bodies side by side."""
    return np.concatenate([np.swapaxes(x, -1, -2).reshape(*x.shape[:-2], -1) for x in by_body], axis=-1)


def _twists(bodies: FreeBodies, moving: Moving) -> Array:
    """v (nv,) as the model has it."""
    step = lambda body, pose, V, W: {"v": twist_of(body, pose, V, W)}  # noqa: E731
    return bodies.over_bodies(step, **moving._asdict())["v"].reshape(-1)


def _half(bodies: FreeBodies, moving: Moving, spin: Array, acting: Applied, h: Scalar) -> Moving:
    """After half a step of all forces that are known; spin (n, 3): of the gyroscopic moments."""

    def step(body: FreeBody, pose: Array, V: Array, W: Array, turning: Any, wrench: Array) -> dict[str, Any]:
        V1, W1 = pushed(body, pose, V, W, gyroscopic(body, turning), wrench, bodies.model.gravity, 0.5 * h)
        return {"V": V1, "W": W1}

    wrenches = bodies.wrenches(acting.forces, acting.wrenches)
    after = bodies.over_bodies(step, **moving._asdict(), turning=spin, wrench=wrenches)
    return moving._replace(velocity=after["V"], spin=after["W"])


def _after_kicks(bodies: FreeBodies, moving: Moving, kicks: Array) -> Moving:
    """After impulses (n, …, 6) on all bodies."""

    def step(body: FreeBody, pose: Array, V: Array, W: Array, kick: Array) -> dict[str, Any]:
        return dict(zip("VW", kicked(body, pose, V, W, kick), strict=True))

    after = bodies.over_bodies(step, **moving._asdict(), kick=kicks)
    return moving._replace(velocity=after["V"], spin=after["W"])


def _held(bodies: FreeBodies, moving: Moving, learned: Array, h: Scalar, single: bool = False) -> tuple[Array, Array]:
    """φ (count,) that counts for what is learned, and impulses (n, …, 6) after which J v = −(φ + e) / h.

    single: e is the curvature itself, instead of what was learned.
    """
    if not bodies.joints.count:
        return np.zeros(0), np.zeros((len(bodies.bodies), 1, 6))
    per_h, times = 1.0 / h, 1.0 if single else 2.0

    def wanted(phi: Any, rate: Any, learned: Any, compliance: Any = None) -> Any:
        return -(rate + (times * phi + learned if compliance is None else phi) * per_h)

    rows = bodies.joints.rows(moving, Ask(wanted, (learned,)))
    compliance = bodies.joints.compliance
    softness = None if compliance is None else compliance * (per_h * per_h)
    impulses = bodies.joints.impulses(rows, softness)
    phi = np.concatenate([each.phi for each in rows])
    counts = phi if compliance is None else np.where(compliance == 0.0, phi, 0.0 * phi)
    return counts, bodies.joints.impulsive_pushes(rows, impulses)


def _stopped(bodies: FreeBodies, moving: Moving, h: Scalar) -> Array:
    """Impulses (n, …, 6) after which J v = 0 on rows that do not give way; those that do push for half a step."""
    if not bodies.joints.count:
        return np.zeros((len(bodies.bodies), 1, 6))

    def wanted(phi: Any, rate: Any, compliance: Any = None) -> Any:
        return -rate if compliance is None else -(rate + phi * (2.0 / h))

    rows = bodies.joints.rows(moving, Ask(wanted, ()))
    softness = None if bodies.joints.compliance is None else bodies.joints.compliance * (2.0 / (h * h))
    return bodies.joints.impulsive_pushes(rows, bodies.joints.impulses(rows, softness))


LEAPFROG = Carried(lambda system: sum(_sizes(free_bodies(system))), leapfrog_start, carried_step, primed)


@lru_cache(maxsize=16)
def sprung_bodies(system: System, lanes: bool = False) -> FreeBodies:
    """The free bodies of a system in which springs hold all joints; refuses others."""
    if system.model.closures:
        raise DalembertError(
            f"integrator 'axis-angle' is explicit, and joint {system.model.closures[0].name!r} is held by multipliers: "
            "hold it by springs (hold='springs'), or take 'leapfrog'"
        )
    return FreeBodies(system.model, system.elements, "axis-angle", explicit=True, lanes=lanes)


def axis_angle(system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array) -> tuple[Array, Array]:
    """(q, e) after one explicit step: new velocities, then x + h V and a turn about W / |W| by |W| h.

    Forces, moments and gyroscopic moments are those at the beginning: first order. For free bodies that springs hold.
    """
    bodies, layout = sprung_bodies(system), system.layout
    moving = bodies.moving(q, layout.velocity(e))
    acting = _without(system, lambda spring: True).acting(t, q, e, u)
    following, v1 = _explicit(system, bodies, moving, acting, h)
    after = layout.replaced(e, v1, layout.states(e) + h * system.state_rates(acting))
    if layout.nw:
        mean = layout.replaced(e, 0.5 * (layout.velocity(e) + v1))
        powers = system.powers(q, layout.velocity(mean), system.acting(t, q, mean, u))
        after = layout.replaced(after, accounts=layout.accounts(e) + h * powers)
    return following.pose.reshape(-1), after


def _explicit(
    system: System, bodies: FreeBodies, moving: Moving, acting: Applied, h: Scalar, ground: Moving = STILL
) -> tuple[Moving, Array]:
    """After an explicit step of h; and v (nv,) there."""
    held = [element for element in system.elements if isinstance(element, Bushing)]
    pushes = np.zeros((len(bodies.bodies), 1, 6))
    if held:
        stiffness, damping = (np.concatenate([getattr(x, key) for x in held]) for key in ("stiffness", "damping"))
        springs = Ask(lambda phi, rate, k, d, _: -h * (k * phi + d * rate), (stiffness, damping))
        pushes = bodies.joints.pushes(moving, springs, ground)
    wrenches = bodies.wrenches(acting.forces, acting.wrenches)

    def step(body: FreeBody, pose: Array, V: Array, W: Array, wrench: Array, kick: Array) -> dict[str, Any]:
        V1, W1 = pushed(body, pose, V, W, gyroscopic(body, W), wrench, bodies.model.gravity, h)
        V1, W1 = kicked(body, pose, V1, W1, kick)
        following = moved(body, pose, h * V1, h * W1)
        return {"pose": following, "V": V1, "W": W1, "v": twist_of(body, following, V1, W1)}

    after = bodies.over_bodies(step, **moving._asdict(), wrench=wrenches, kick=pushes)
    return Moving(after["pose"], after["V"], after["W"]), after["v"].reshape(-1)


def carried_explicit(
    system: System, t: Scalar, h: Scalar, q: Array, e: Array, u: Array, memory: Array, alone: bool
) -> tuple[Array, Array, Array]:
    """`axis_angle`, with poses, V and W side by side in the memory, those of the ground before those of the bodies."""
    bodies, layout = sprung_bodies(system, alone), system.layout
    acting = _without(system, lambda spring: True).acting(t, q, e, u)
    n = len(bodies.bodies) + 1
    parts = np.split(memory, [7 * n, 10 * n], axis=-1)
    pose, velocity, spin = (np.swapaxes(x.reshape(*x.shape[:-1], -1, n), -1, -2) for x in parts)
    ground, moving = Moving(pose[0], velocity[0], spin[0]), Moving(pose[1:], velocity[1:], spin[1:])
    following, v1 = _explicit(system, bodies, moving, acting, h, ground if alone else STILL)
    e1 = layout.replaced(e, v1, layout.states(e) + h * system.state_rates(acting))
    return following.pose.reshape(-1), e1, _packed_with(ground, following)


def _packed_with(ground: Moving, moving: Moving) -> Array:
    return packed(*(np.concatenate([[first], others]) for first, others in zip(ground, moving, strict=True)))


def explicit_start(system: System, q: Array, v: Array) -> Array:
    """The memory (…, size) of states q (…, nq), v (…, nv)."""
    bodies = sprung_bodies(system)
    return _each_state(lambda q, v: _packed_with(STILL, bodies.moving(q, v)), q, v)


AXIS_ANGLE = Carried(lambda system: 13 * (len(sprung_bodies(system).bodies) + 1), explicit_start, carried_explicit)
