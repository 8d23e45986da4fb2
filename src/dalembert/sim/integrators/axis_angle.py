"""The explicit scheme of axis-angle increments, for free bodies that springs hold together."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

from ..elements.bushing import Bushing
from ..system.free_bodies import FreeBodies
from ..system.free_body import STILL, FreeBody, Moving, moved, twist_of
from ..system.free_joints import Ask
from ..system.system import Applied, System
from .leapfrog import gyroscopic, kicked, packed, pushed
from .record import Carried


@lru_cache(maxsize=16)
def sprung_bodies(system: System, lanes: bool = False) -> FreeBodies:
    """The free bodies of a system in which springs hold all joints; refuses others."""
    if system.model.closures:
        raise DalembertError(
            f"integrator 'axis-angle' is explicit, and joint {system.model.closures[0].name!r} is held by multipliers: "
            "hold it by springs (hold='springs'), or take 'leapfrog'"
        )
    return FreeBodies(system.model, system.elements, "axis-angle", explicit=True, lanes=lanes)


def axis_angle(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, e) after one explicit step: new velocities, then x + h V and a turn about W / |W| by |W| h.

    Forces, moments and gyroscopic moments are those at the beginning: first order. For free bodies that springs hold.
    """
    bodies, layout = sprung_bodies(system), system.layout
    moving = bodies.moving(q, layout.velocity(e))
    acting = _without_springs(system).acting(t, q, e, u)
    following, v1 = _explicit(system, bodies, moving, acting, h)
    after = layout.replaced(e, v1, layout.states(e) + h * system.state_rates(acting))
    if layout.nw:
        mean = layout.replaced(e, 0.5 * (layout.velocity(e) + v1))
        powers = system.powers(q, layout.velocity(mean), system.acting(t, q, mean, u))
        after = layout.replaced(after, accounts=layout.accounts(e) + h * powers)
    return following.pose.reshape(-1), after


def _without_springs(system: System) -> System:
    """The system without the joints that springs hold."""
    return replace(system, elements=tuple(x for x in system.elements if not isinstance(x, Bushing)))


def _explicit(
    system: System, bodies: FreeBodies, moving: Moving, acting: Applied, h: Any, ground: Moving = STILL
) -> tuple[Moving, np.ndarray]:
    """After an explicit step of h; and v (nv,) there."""
    held = [element for element in system.elements if isinstance(element, Bushing)]
    pushes = np.zeros((len(bodies.bodies), 1, 6))
    if held:
        stiffness, damping = (np.concatenate([getattr(x, key) for x in held]) for key in ("stiffness", "damping"))
        springs = Ask(lambda phi, rate, k, d, _: -h * (k * phi + d * rate), (stiffness, damping))
        pushes = bodies.joints.pushes(moving, springs, ground)
    wrenches = bodies.wrenches(acting.forces, acting.wrenches)

    def step(body: FreeBody, pose: Any, V: Any, W: Any, wrench: Any, kick: Any) -> dict[str, Any]:
        V1, W1 = pushed(body, pose, V, W, gyroscopic(body, W), wrench, bodies.model.gravity, h)
        V1, W1 = kicked(body, pose, V1, W1, kick)
        following = moved(body, pose, h * V1, h * W1)
        return {"pose": following, "V": V1, "W": W1, "v": twist_of(body, following, V1, W1)}

    after = bodies.over_bodies(step, **moving._asdict(), wrench=wrenches, kick=pushes)
    return Moving(after["pose"], after["V"], after["W"]), after["v"].reshape(-1)


def carried_explicit(
    system: System, t: Any, h: Any, q: np.ndarray, e: np.ndarray, u: np.ndarray, memory: np.ndarray, alone: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`axis_angle`, with poses, V and W side by side in the memory, those of the ground before those of the bodies."""
    bodies, layout = sprung_bodies(system, alone), system.layout
    acting = _without_springs(system).acting(t, q, e, u)
    pose, velocity, spin = _unpacked(bodies, memory)
    ground, moving = Moving(pose[0], velocity[0], spin[0]), Moving(pose[1:], velocity[1:], spin[1:])
    following, v1 = _explicit(system, bodies, moving, acting, h, ground if alone else STILL)
    e1 = layout.replaced(e, v1, layout.states(e) + h * system.state_rates(acting))
    return following.pose.reshape(-1), e1, _packed_with(ground, following)


def _packed_with(ground: Moving, moving: Moving) -> np.ndarray:
    return packed(*(np.concatenate([[first], others]) for first, others in zip(ground, moving, strict=True)))


def explicit_size(system: System) -> int:
    """Numbers that `carried_explicit` carries."""
    return 13 * (len(sprung_bodies(system).bodies) + 1)


def explicit_start(system: System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The memory (…, size) of states q (…, nq), v (…, nv)."""
    bodies = sprung_bodies(system)
    q, v = (np.broadcast_to(x, (*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), x.shape[-1])) for x in (q, v))
    rows = []
    for one_q, one_v in zip(q.reshape(-1, q.shape[-1]), v.reshape(-1, v.shape[-1]), strict=True):
        rows.append(_packed_with(STILL, bodies.moving(one_q, one_v)))
    return np.array(rows).reshape(*q.shape[:-1], -1)


def _unpacked(bodies: FreeBodies, memory: np.ndarray) -> list[np.ndarray]:
    n = len(bodies.bodies) + 1
    parts = np.split(memory, [7 * n, 10 * n], axis=-1)
    return [np.swapaxes(x.reshape(*x.shape[:-1], -1, n), -1, -2) for x in parts]


def _unchanged(system: System, run: Any, q: np.ndarray, e: np.ndarray, memory: np.ndarray) -> np.ndarray:
    """It begins as it is."""
    return memory


AXIS_ANGLE = Carried(explicit_size, explicit_start, carried_explicit, _unchanged)
