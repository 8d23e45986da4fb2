"""Leapfrog for free bodies with multipliers.

Velocities are those of half steps: v+ = v + M⁻¹ (h f + Jᵀ p), q+ = q ⊕ h v+, with J v+ = −(φ + e) / h and e += φ. The
numbers e, one per row, learn the curvature ½ h² J̇ v that the linear equation does not see: joints stay closed to third
order in h, with one linear solve per step and no stabilisation. Gyroscopic moments are extrapolated, 1.5 g − 0.5 g of
the step before: second order, without drift of the energy.

Rows that give way, of compliance C, get J v+ + (C / h²) p = −φ / h and learn nothing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics.algorithms import constraints
from dalembert.errors import DalembertError
from dalembert.spatial import cross, so3

from ..elements.bushing import Bushing
from ..system.free_bodies import FreeBodies
from ..system.free_body import FreeBody, Moving, moved, twist_of
from ..system.free_joints import Ask
from ..system.system import Applied, System
from .record import Carried

OPEN = 1e-6  # [m, rad]: a joint that is open by more at the start is refused
FORGOTTEN = 1e-5  # share of e that is forgotten in a step where rows depend on each other: rounding cannot pile up
FIRST = 0.5  # share of a step that the first kick takes


class Memory(NamedTuple):
    """Numbers carried from step to step, of all bodies: poses (n, 7) ahead, V and W (n, 3) of the half step, W × I W
    (n, 3), e (count,), kick (1,)."""

    poses: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray
    gyroscopic: np.ndarray
    learned: np.ndarray
    kick: np.ndarray

    def flat(self, bodies: FreeBodies) -> np.ndarray:
        """All in one array, the same number of all bodies side by side."""
        return np.concatenate([packed(*self[:4]), self.learned[..., bodies.joints.row_places], self.kick], axis=-1)


@lru_cache(maxsize=16)
def free_bodies(system: System, lanes: bool = False) -> FreeBodies:
    """The free bodies of a system; refuses others."""
    return FreeBodies(system.model, system.elements, "leapfrog", lanes=lanes)


def _sizes(bodies: FreeBodies) -> list[int]:
    n = len(bodies.bodies)
    return [7 * n, 3 * n, 3 * n, 3 * n, bodies.joints.count, 1]


def memory_size(system: System) -> int:
    """Numbers carried."""
    return sum(_sizes(free_bodies(system)))


def unpacked(bodies: FreeBodies, memory: np.ndarray) -> Memory:
    """The memory by its parts."""
    parts = np.split(memory, np.cumsum(_sizes(bodies))[:-1], axis=-1)
    by_body = [np.swapaxes(x.reshape(*x.shape[:-1], -1, len(bodies.bodies)), -1, -2) for x in parts[:4]]
    poses, velocity, spin, moments = by_body
    return Memory(poses, velocity, spin, moments, parts[4][..., np.argsort(bodies.joints.row_places)], parts[5])


def start(system: System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The memory (…, size) before the first, half kick, of states q (…, nq), v (…, nv)."""
    bodies = free_bodies(system)
    q, v = (np.broadcast_to(x, (*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), x.shape[-1])) for x in (q, v))
    rows = []
    for one_q, one_v in zip(q.reshape(-1, q.shape[-1]), v.reshape(-1, v.shape[-1]), strict=True):
        moving = bodies.moving(one_q, one_v)
        moments = bodies.over_bodies(lambda body, W: {"g": gyroscopic(body, W)}, W=moving.spin)["g"]
        learned, kick = np.zeros(bodies.joints.count), np.array([FIRST])
        memory = Memory(bodies.by_body(one_q), moving.velocity, moving.spin, moments, learned, kick)
        rows.append(memory.flat(bodies))
    return np.array(rows).reshape(*q.shape[:-1], -1)


def primed(system: System, run: Any, q: np.ndarray, e: np.ndarray, memory: np.ndarray) -> np.ndarray:
    """The memory with which whole steps begin: after half a kick, with e from a trial of two steps.

    run(q, e, memory) → (q, e, memory) is one step, compiled.
    """
    bodies = free_bodies(system)
    trial = run(q, e, memory)
    gap = np.abs(unpacked(bodies, trial[2]).learned)
    if bodies.joints.count and np.max(gap) > OPEN and bodies.joints.compliance is None:
        worst = int(np.argmax(np.max(gap.reshape(-1, bodies.joints.count), axis=0)))
        joint = bodies.joints.names[worst]
        raise DalembertError(
            f"leapfrog: joint {joint!r} of robot {system.model.name!r} is open by {np.max(gap):.3g} m (or rad) at the "
            "start: begin with robot.start of a mechanism, or robot.close_loops(q)"
        )
    after = run(*trial)
    learned = unpacked(bodies, after[2]).learned - unpacked(bodies, trial[2]).learned
    return run(q, e, unpacked(bodies, memory)._replace(learned=learned).flat(bodies))[2]


def carried_step(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray, memory: np.ndarray, alone: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One step: q and v come to where the memory is ahead, and the memory goes on by a step."""
    bodies = free_bodies(system, alone)
    now = unpacked(bodies, memory)
    (kick,) = now.kick
    whole = 2.0 * kick - 1.0  # 0 for the half kick, which does not move on in time
    ahead = now.poses.reshape(-1)
    acting = _without_implicit(system).acting(t + whole * h, ahead, _expected(system, bodies, q, e, now), u)

    def push(body: FreeBody, pose: Any, V: Any, W: Any, g_before: Any, wrench: Any) -> dict[str, Any]:
        g = gyroscopic(body, W)
        V1, W1 = pushed(body, pose, V, W, 1.5 * g - 0.5 * g_before, wrench, bodies.model.gravity, kick * h)
        return {"V": V1, "W": W1, "g": g}

    wrenches = bodies.wrenches(acting.forces, acting.wrenches)
    after_push = bodies.over_bodies(push, pose=now.poses, V=now.velocity, W=now.spin, g=now.gyroscopic, wrench=wrenches)
    moving = Moving(now.poses, after_push["V"], after_push["W"])
    phi, kicks = _held(bodies, moving, now.learned, h)

    def move(body: FreeBody, pose: Any, V: Any, W: Any, V0: Any, W0: Any, kick: Any) -> dict[str, Any]:
        V1, W1 = kicked(body, pose, V, W, kick)
        v = twist_of(body, pose, 0.5 * (V0 + V1), 0.5 * (W0 + W1))
        return {"pose": moved(body, pose, h * V1, h * W1), "V": V1, "W": W1, "v": v}

    after = bodies.over_bodies(move, **moving._asdict(), V0=now.velocity, W0=now.spin, kick=kicks)
    states = system.layout.states(e) + (whole * h) * system.state_rates(acting)
    learned = now.learned + phi if bodies.joints.independent else (1.0 - FORGOTTEN) * (now.learned + phi)
    following = Memory(after["pose"], after["V"], after["W"], after_push["g"], learned, np.array([1.0]))
    return ahead, system.layout.replaced(e, after["v"].reshape(-1), states), following.flat(bodies)


def _expected(system: System, bodies: FreeBodies, q: np.ndarray, e: np.ndarray, now: Memory) -> np.ndarray:
    """e where the memory is ahead, its velocity as far as it is known before the step: forces may depend on it."""
    before = bodies.moving(q, system.layout.velocity(e))

    def step(body: FreeBody, pose: Any, V: Any, W: Any, V0: Any, W0: Any) -> dict[str, Any]:
        return {"v": twist_of(body, pose, 2.0 * V - V0, 2.0 * W - W0)}

    end = bodies.over_bodies(step, pose=now.poses, V=now.velocity, W=now.spin, V0=before.velocity, W0=before.spin)
    return system.layout.replaced(e, end["v"].reshape(-1))


def single_step(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after one step that carries nothing: half a kick, a drift, half a kick, so two solves.

    The same motion as the steps that carry half-step velocities, to the order of the method.
    """
    bodies, layout = free_bodies(system), system.layout
    bare = _without_implicit(system)
    acting = bare.acting(t, q, e, u)
    begin = bodies.moving(q, layout.velocity(e))
    bend = np.zeros(bodies.joints.count)
    if system.model.closures:
        bias = constraints(system.model, q, layout.velocity(e)).bias
        bend = np.concatenate([0.5 * h * h * bias, np.zeros(bodies.joints.count - len(bias))])
    first = _half(bodies, begin, begin.spin, acting, h)
    middle = _after_kicks(bodies, first, _held(bodies, first, bend, h, single=True)[1])
    q1 = _drifted(bodies, middle, h)
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


def _without_implicit(system: System) -> System:
    """The system without the springs that the step takes as rows."""
    explicit = tuple(x for x in system.elements if not (isinstance(x, Bushing) and x.implicit))
    return system if len(explicit) == len(system.elements) else replace(system, elements=explicit)


def gyroscopic(body: FreeBody, W: np.ndarray) -> np.ndarray:
    return cross(W, body.inertia @ W)


def pushed(
    body: FreeBody, pose: Any, V: Any, W: Any, gyroscopic: Any, wrench: Any, gravity: np.ndarray, h: Any
) -> tuple[np.ndarray, np.ndarray]:
    """V and W of a body after the time h under gravity, a wrench (6,) at its origin, and gyroscopic moments."""
    moment, R = wrench[:3] - cross(body.com, wrench[3:]) - gyroscopic, so3.from_quaternion(pose[3:])
    return V + h * (gravity + R @ (wrench[3:] * (1.0 / body.mass))), W + h * (body.inverse @ moment)


def kicked(body: FreeBody, pose: Any, V: Any, W: Any, kick: Any) -> tuple[np.ndarray, np.ndarray]:
    """V and W of a body after impulses (…, 6) on its twist [W; Rᵀ V]."""
    kick = sum(kick[1:], kick[0])
    return V + so3.from_quaternion(pose[3:]) @ (kick[3:] * (1.0 / body.mass)), W + body.inverse @ kick[:3]


def packed(*by_body: np.ndarray) -> np.ndarray:
    """Arrays (…, n, k) in one, the same number of all bodies side by side."""
    return np.concatenate([np.swapaxes(x, -1, -2).reshape(*x.shape[:-2], -1) for x in by_body], axis=-1)


def _twists(bodies: FreeBodies, moving: Moving) -> np.ndarray:
    """v (nv,) as the model has it."""
    step = lambda body, pose, V, W: {"v": twist_of(body, pose, V, W)}  # noqa: E731
    return bodies.over_bodies(step, **moving._asdict())["v"].reshape(-1)


def _drifted(bodies: FreeBodies, moving: Moving, h: Any) -> np.ndarray:
    """q (nq,) after h at constant V and W."""

    def step(body: FreeBody, pose: Any, V: Any, W: Any) -> dict[str, Any]:
        return {"pose": moved(body, pose, h * V, h * W)}

    return bodies.over_bodies(step, **moving._asdict())["pose"].reshape(-1)


def _half(bodies: FreeBodies, moving: Moving, spin: np.ndarray, acting: Applied, h: Any) -> Moving:
    """After half a step of all forces that are known; spin (n, 3): of the gyroscopic moments."""

    def step(body: FreeBody, pose: Any, V: Any, W: Any, turning: Any, wrench: Any) -> dict[str, Any]:
        V1, W1 = pushed(body, pose, V, W, gyroscopic(body, turning), wrench, bodies.model.gravity, 0.5 * h)
        return {"V": V1, "W": W1}

    wrenches = bodies.wrenches(acting.forces, acting.wrenches)
    after = bodies.over_bodies(step, **moving._asdict(), turning=spin, wrench=wrenches)
    return moving._replace(velocity=after["V"], spin=after["W"])


def _after_kicks(bodies: FreeBodies, moving: Moving, kicks: np.ndarray) -> Moving:
    """After impulses (n, …, 6) on all bodies."""

    def step(body: FreeBody, pose: Any, V: Any, W: Any, kick: Any) -> dict[str, Any]:
        return dict(zip("VW", kicked(body, pose, V, W, kick), strict=True))

    after = bodies.over_bodies(step, **moving._asdict(), kick=kicks)
    return moving._replace(velocity=after["V"], spin=after["W"])


def _held(
    bodies: FreeBodies, moving: Moving, learned: np.ndarray, h: Any, single: bool = False
) -> tuple[np.ndarray, np.ndarray]:
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


def _stopped(bodies: FreeBodies, moving: Moving, h: Any) -> np.ndarray:
    """Impulses (n, …, 6) after which J v = 0 on rows that do not give way; those that do push for half a step."""
    if not bodies.joints.count:
        return np.zeros((len(bodies.bodies), 1, 6))

    def wanted(phi: Any, rate: Any, compliance: Any = None) -> Any:
        return -rate if compliance is None else -(rate + phi * (2.0 / h))

    rows = bodies.joints.rows(moving, Ask(wanted, ()))
    softness = None if bodies.joints.compliance is None else bodies.joints.compliance * (2.0 / (h * h))
    return bodies.joints.impulsive_pushes(rows, bodies.joints.impulses(rows, softness))


LEAPFROG = Carried(memory_size, start, carried_step, primed)
