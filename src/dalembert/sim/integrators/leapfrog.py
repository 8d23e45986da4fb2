"""Leapfrog for free bodies with multipliers, and the explicit scheme of axis-angle increments.

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

from dalembert.algorithms import constraints
from dalembert.errors import DalembertError
from dalembert.spatial import cross

from ..elements.bushing import Bushing
from ..system.free_bodies import FreeBodies, Placed
from ..system.system import System

OPEN = 1e-6  # [m, rad]: a joint that is open by more at the start is refused
FORGOTTEN = 1e-5  # share of e that is forgotten in a step where rows depend on each other: rounding cannot pile up
FIRST = 0.5  # share of a step that the first kick takes


class Memory(NamedTuple):
    """What is carried from step to step: q ahead (nq,), V and W (3 n,) of the half step, g (3 n,), e (count,), kick."""

    q: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray
    gyroscopic: np.ndarray
    learned: np.ndarray
    kick: np.ndarray

    def flat(self) -> np.ndarray:
        """All in one array."""
        return np.concatenate(self, axis=-1)


@lru_cache(maxsize=8)
def free_bodies(system: System) -> FreeBodies:
    """The free bodies of a system; refuses others."""
    return FreeBodies(system.model, system.elements, "leapfrog")


def _sizes(bodies: FreeBodies) -> list[int]:
    n = 3 * len(bodies.bodies)
    return [bodies.model.nq, n, n, n, bodies.count, 1]


def memory_size(system: System) -> int:
    """Numbers carried."""
    return sum(_sizes(free_bodies(system)))


def unpacked(bodies: FreeBodies, memory: np.ndarray) -> Memory:
    """The memory by its parts."""
    return Memory(*np.split(memory, np.cumsum(_sizes(bodies))[:-1], axis=-1))


def start(system: System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The memory (…, size) before the first, half kick, of states q (…, nq), v (…, nv)."""
    bodies = free_bodies(system)
    q, v = (np.broadcast_to(x, (*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), x.shape[-1])) for x in (q, v))
    flat_q, flat_v = q.reshape(-1, q.shape[-1]), v.reshape(-1, v.shape[-1])
    rows = []
    for one_q, one_v in zip(flat_q, flat_v, strict=True):
        velocity, spin = bodies.from_twists(bodies.placed(one_q), one_v)
        gyroscopic = _gyroscopic(bodies, spin)
        rows.append(Memory(one_q, velocity, spin, gyroscopic, np.zeros(bodies.count), np.array([FIRST])).flat())
    return np.array(rows).reshape(*q.shape[:-1], -1)


def primed(system: System, run: Any, q: np.ndarray, e: np.ndarray, memory: np.ndarray) -> np.ndarray:
    """The memory with which whole steps begin: after half a kick, with e from a trial of two steps.

    run(q, e, memory) → (q, e, memory) is one step, compiled.
    """
    bodies = free_bodies(system)
    trial = run(q, e, memory)
    gap = np.abs(unpacked(bodies, trial[2]).learned)
    if bodies.count and np.max(gap) > OPEN and bodies.compliance is None:
        names = [held.closure.name for held in bodies.held for _ in range(held.closure.count)]
        worst = int(np.argmax(np.max(gap.reshape(-1, bodies.count), axis=0)))
        raise DalembertError(
            f"leapfrog: joint {names[worst]!r} of robot {system.model.name!r} is open by {np.max(gap):.3g} m "
            "(or rad) at "
            "the start: begin with robot.start of a mechanism, or robot.close_loops(q)"
        )
    after = run(*trial)
    learned = unpacked(bodies, after[2]).learned - unpacked(bodies, trial[2]).learned
    return run(q, e, unpacked(bodies, memory)._replace(learned=learned).flat())[2]


def carried_step(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray, memory: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One step: q and v come to where the memory is ahead, and the memory goes on by a step."""
    bodies = free_bodies(system)
    now = unpacked(bodies, memory)
    (kick,) = now.kick
    places = bodies.placed(now.q)
    whole = 2.0 * kick - 1.0  # 0 for the half kick, which does not move on in time
    velocity, spin = bodies.from_twists(bodies.placed(q), system.layout.velocity(e))
    end = bodies.twists(places, 2.0 * now.velocity - velocity, 2.0 * now.spin - spin)
    expected = system.layout.replaced(e, end)
    acting = _without_implicit(system).acting(t + whole * h, now.q, expected, u)
    gyroscopic = _gyroscopic(bodies, now.spin)
    turning = 1.5 * gyroscopic - 0.5 * now.gyroscopic
    velocity, spin = _pushed(bodies, places, acting, now.velocity, now.spin, turning, kick * h)
    phi, velocity, spin = _held(bodies, places, velocity, spin, now.learned, h)
    v = bodies.twists(places, 0.5 * (now.velocity + velocity), 0.5 * (now.spin + spin))
    states = system.layout.states(e) + (whole * h) * system.state_rates(acting)
    ahead = bodies.moved(now.q, h, velocity, spin)
    learned = now.learned + phi if bodies.independent else (1.0 - FORGOTTEN) * (now.learned + phi)
    following = Memory(ahead, velocity, spin, gyroscopic, learned, np.array([1.0]))
    return now.q, system.layout.replaced(e, v, states), following.flat()


def single_step(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after one step that carries nothing: half a kick, a drift, half a kick, so two solves.

    The same motion as the steps that carry half-step velocities, to the order of the method.
    """
    bodies, layout = free_bodies(system), system.layout
    bare = _without_implicit(system)
    places = bodies.placed(q)
    acting = bare.acting(t, q, e, u)
    velocity, spin = bodies.from_twists(places, layout.velocity(e))
    first = _pushed(bodies, places, acting, velocity, spin, _gyroscopic(bodies, spin), 0.5 * h)
    bend = np.zeros(bodies.count)
    if system.model.closures:
        bias = constraints(system.model, q, layout.velocity(e)).bias
        bend = np.concatenate([0.5 * h * h * bias, np.zeros(bodies.count - len(bias))])
    _, middle_velocity, middle_spin = _held(bodies, places, *first, bend, h, single=True)
    q1 = bodies.moved(q, h, middle_velocity, middle_spin)
    places1 = bodies.placed(q1)
    end = bodies.twists(places1, 2.0 * middle_velocity - velocity, 2.0 * middle_spin - spin)
    expected = layout.replaced(e, end, layout.states(e) + h * system.state_rates(acting))
    acting1 = bare.acting(t + h, q1, expected, u)
    gyroscopic = _gyroscopic(bodies, 2.0 * middle_spin - spin)
    second = _pushed(bodies, places1, acting1, middle_velocity, middle_spin, gyroscopic, 0.5 * h)
    v1 = bodies.twists(places1, *_stopped(bodies, places1, *second, h))
    after = layout.replaced(expected, v1)
    if layout.nw:
        powers = [bare.powers(q, layout.velocity(e), acting), bare.powers(q1, v1, acting1)]
        after = layout.replaced(after, accounts=layout.accounts(e) + 0.5 * h * (powers[0] + powers[1]))
    return q1, after


def axis_angle(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after one explicit step: new velocities, then x + h V and a turn about W / |W| by |W| h.

    Forces, moments and gyroscopic moments are those at the beginning: first order. For free bodies that springs hold.
    """
    bodies, layout = FreeBodies(system.model, system.elements, "axis-angle", explicit=True), system.layout
    if system.model.closures:
        raise DalembertError(
            f"integrator 'axis-angle' is explicit, and joint {system.model.closures[0].name!r} is held by multipliers: "
            "hold it by springs (hold='springs'), or take 'leapfrog'"
        )
    held = [element for element in system.elements if isinstance(element, Bushing)]
    bare = replace(system, elements=tuple(element for element in system.elements if element not in held))
    places, acting = bodies.placed(q), bare.acting(t, q, e, u)
    before = bodies.from_twists(places, layout.velocity(e))
    velocity, spin = _pushed(bodies, places, acting, *before, _gyroscopic(bodies, before[1]), h)
    if held:
        rows = bodies.rows(places)
        stiffness, damping = (np.concatenate([getattr(x, key) for x in held]) for key in ("stiffness", "damping"))
        phi = np.concatenate([each.phi for each in rows])
        impulses = -h * (stiffness * phi + damping * _rates(bodies, places, rows, *before))
        velocity, spin = _kicked(bodies, places, rows, impulses, velocity, spin)
    q1 = bodies.moved(q, h, velocity, spin)
    v1 = bodies.twists(bodies.placed(q1), velocity, spin)
    after = layout.replaced(e, v1, layout.states(e) + h * system.state_rates(acting))
    if layout.nw:
        mean = layout.replaced(e, 0.5 * (layout.velocity(e) + v1))
        powers = system.powers(q, layout.velocity(mean), system.acting(t, q, mean, u))
        after = layout.replaced(after, accounts=layout.accounts(e) + h * powers)
    return q1, after


# ---- parts of a step


def _without_implicit(system: System) -> System:
    """The system without the springs that the step takes as rows."""
    explicit = tuple(x for x in system.elements if not (isinstance(x, Bushing) and x.implicit))
    return system if len(explicit) == len(system.elements) else replace(system, elements=explicit)


def _gyroscopic(bodies: FreeBodies, spin: np.ndarray) -> np.ndarray:
    """W × I W of all bodies (3 n,)."""
    parts = []
    for k, body in enumerate(bodies.bodies.values()):
        w = spin[3 * k : 3 * k + 3]
        parts.append(cross(w, body.inertia @ w))
    return np.concatenate(parts)


def _pushed(
    bodies: FreeBodies,
    places: dict[int, Placed],
    acting: Any,
    velocity: np.ndarray,
    spin: np.ndarray,
    gyroscopic: np.ndarray,
    h: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """V and W after the time h under gravity, all forces that are known, and gyroscopic moments."""
    linear, angular = [], []
    for k, (index, body) in enumerate(bodies.bodies.items()):
        wrench = acting.forces[body.v]
        if index in acting.wrenches:
            wrench = wrench + acting.wrenches[index]
        force = wrench[3:]
        moment = wrench[:3] - cross(body.com, force) - gyroscopic[3 * k : 3 * k + 3]
        push = bodies.model.gravity + places[index].R @ (force * (1.0 / body.mass))
        linear.append(velocity[3 * k : 3 * k + 3] + h * push)
        angular.append(spin[3 * k : 3 * k + 3] + h * (body.inverse[:3, :3] @ moment))
    return np.concatenate(linear), np.concatenate(angular)


def _held(
    bodies: FreeBodies,
    places: dict[int, Placed],
    velocity: np.ndarray,
    spin: np.ndarray,
    learned: np.ndarray,
    h: Any,
    single: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """φ (count,) that counts for what is learned, and V, W with J v = −(φ + e) / h.

    single: e is the curvature itself, in the place of what was learned.
    """
    if not bodies.count:
        return np.zeros(0), velocity, spin
    rows = bodies.rows(places)
    phi = np.concatenate([each.phi for each in rows])
    rate = _rates(bodies, places, rows, velocity, spin)
    compliance = bodies.compliance
    open_by = phi + learned if single else 2.0 * phi + learned
    if compliance is None:
        wanted, softness = -(rate + open_by * (1.0 / h)), None
    else:
        rigid = compliance == 0.0
        wanted = -(rate + np.where(rigid, open_by, phi) * (1.0 / h))
        softness, phi = compliance * (1.0 / (h * h)), np.where(rigid, phi, 0.0 * phi)
    impulses = bodies.impulses(rows, wanted, softness)
    return phi, *_kicked(bodies, places, rows, impulses, velocity, spin)


def _stopped(
    bodies: FreeBodies, places: dict[int, Placed], velocity: np.ndarray, spin: np.ndarray, h: Any
) -> tuple[np.ndarray, np.ndarray]:
    """V and W with J v = 0 on rows that do not give way; those that do push for half a step."""
    if not bodies.count:
        return velocity, spin
    rows = bodies.rows(places)
    rate = _rates(bodies, places, rows, velocity, spin)
    compliance = bodies.compliance
    if compliance is None:
        impulses = bodies.impulses(rows, -rate, None)
    else:
        phi = np.concatenate([each.phi for each in rows])
        rigid = compliance == 0.0
        softness = compliance * (2.0 / (h * h))
        impulses = bodies.impulses(rows, np.where(rigid, -rate, -(rate + phi * (2.0 / h))), softness)
    return _kicked(bodies, places, rows, impulses, velocity, spin)


def _rates(
    bodies: FreeBodies, places: dict[int, Placed], rows: Any, velocity: np.ndarray, spin: np.ndarray
) -> np.ndarray:
    """J v (count,)."""
    twists = {
        index: np.concatenate([spin[3 * k : 3 * k + 3], places[index].R.T @ velocity[3 * k : 3 * k + 3]])
        for k, index in enumerate(bodies.bodies)
    }
    return np.concatenate([sum(J @ twists[index] for index, J in each.J.items()) for each in rows])


def _kicked(
    bodies: FreeBodies,
    places: dict[int, Placed],
    rows: Any,
    impulses: np.ndarray,
    velocity: np.ndarray,
    spin: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """V and W after impulses along all rows."""
    changes = bodies.kicks(rows, impulses)
    linear, angular = [], []
    for k, index in enumerate(bodies.bodies):
        V, W = velocity[3 * k : 3 * k + 3], spin[3 * k : 3 * k + 3]
        change = changes.get(index)
        linear.append(V if change is None else V + places[index].R @ change[3:])
        angular.append(W if change is None else W + change[:3])
    return np.concatenate(linear), np.concatenate(angular)
