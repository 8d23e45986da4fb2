"""Remarks of a run: joints beyond their limits or held by friction, and the ground at the start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.compiler.execute import RecentSame
from dalembert.contact import Contact, Patch, candidates
from dalembert.contact.bounds import body_radius, deepest
from dalembert.contact.candidates import in_the_ground, law_sources
from dalembert.contact.meshes import mesh_remarks
from dalembert.contact.planes import left_out, moves
from dalembert.contact.touching import named_shapes
from dalembert.dynamics.algorithms import integrate, poses
from dalembert.dynamics.algorithms.free_bodies import drifts
from dalembert.model import Closure, Model
from dalembert.typing import Array

from ..elements.base import Element
from ..system.system import System

SLACK = 1e-9  # relative: a joint that starts on its limit is within it


def beyond_limits(model: Model, elements: Sequence[Element], t: Array, q: Array, v: Array, tau: Array) -> list[str]:
    """A line for each kind of limit (range, speed, effort) that was exceeded, with the first joint to do so."""
    joints = [body.joint for body in model.independent]
    lower, upper, speed, effort = (
        np.concatenate([getattr(joint, field) for joint in joints])
        for field in ("lower", "upper", "velocity_limit", "effort_limit")
    )
    for element in elements:  # these act, each in its own way
        joint = getattr(element, "joint", None)
        if joint is not None and "range" in element.enforces:
            where = model.joint(joint).q
            lower[where], upper[where] = -np.inf, np.inf
        if joint is not None and "effort" in element.enforces:
            effort[model.joint(joint).v] = np.inf
    lines = (
        _line("range", model.coordinate_names, t, q, lower, upper, "limits act only with elements=robot.stops()"),
        _line("speed", model.freedom_names, t, v, -speed, speed, "nothing enforces it"),
        _line("effort", model.freedom_names, t, tau, -effort, effort, "elements.Motor limits what a motor gives"),
    )
    return [line for line in lines if line]


def _line(what: str, names: Sequence[str], t: Array, x: Array, low: Array, high: Array, note: str) -> str:
    """Words for the first number beyond its limits; empty if there is none."""
    over = np.maximum(x - high, low - x) > SLACK * (1.0 + np.abs(x))
    if not over.any():
        return ""
    row, k = np.argwhere(over)[0]
    limit = (high[k] if x[row, k] > high[k] else low[k]) + 0.0  # no "-0"
    others = int(over.any(axis=0).sum()) - 1
    more = f" ({others} more {'joint exceeds its' if others == 1 else 'joints exceed theirs'})" if others else ""
    return f"{what} of {names[k]!r} exceeded at t = {t[row]:.4g} s: {x[row, k]:.4g}, limit {limit:.4g}{more}; {note}"


def held_at_the_end(system: System, e: Array) -> list[str]:
    """A line on joints that dry friction holds at the end of a run (n, ne) although a law drives them."""
    held: dict[str, bool] = {}
    for k, owner in enumerate(system.row_owners[system.permanent_count :] if system.layout.nm else ()):
        active = [bool(owner.constraint.admissible.active(mode)) for mode in system.layout.modes(e)[..., k].tolist()]
        if np.isinf(owner.constraint.admissible.lower) and np.isinf(owner.constraint.admissible.upper) and active[-1]:
            held[owner.constraint.name.removeprefix("friction ")] = all(active)
    if not held:
        return []
    never = [name for name, always in held.items() if always]
    words = f"; at no record did {', '.join(never)} move" if never else ""
    return [f"dry friction holds {', '.join(held)} at the end, where the law may not want them{words}"]


SEEN, MOST_PLACES = 5e-3, 100  # [m] between places that are looked at on the way of half a step; at most so many
DEEP = 1e-4  # [m]: a penetration at the start that is worth a word


def about_ground(model: Model, contact: Contact | None, q: Array, v: Array, step: float | None) -> list[str]:
    """Remarks on the start of a run: that there is no ground, whose friction it takes, what starts inside it.

    Also what would be passed through before the first of fixed steps [s] can act.
    """
    if contact is None:
        falls = any(drifts(model, body) for body in model.bodies) and bool(model.gravity.any())
        remark = "there is no ground: only torques and elements hold the base up; contact=dalembert.Contact() has one"
        return [f"contact: {remark}"] if falls else []
    if contact.model == "mujoco":
        return []
    patches, remarks = candidates(model, contact), [*_recent.get((model, contact), lambda: _shapes(model, contact))]
    if names := in_the_ground(model, contact, q):
        remarks.append(
            f"contact: {', '.join(map(repr, names))} stays in the ground, however the joints move, and is left out"
        )
    point = deepest(model, patches, q)
    if point.gap >= -DEEP:
        return [*remarks, *(_passed(model, patches, q, v, step) if contact.model == "rigid" and step else [])]
    floats = any(drifts(model, body) for body in model.bodies)
    cure = "start higher" if floats else 'the base is fixed: lower the ground, or load(…, base="free") and start higher'
    if not point.fixed:
        cure = "start with the bodies apart, or leave the pair out of pairs=[…] where a joint lets them overlap"
    if contact.model == "rigid":
        follows = f"comes out at {contact.recovery_speed:g} m/s at most"
    else:
        push = -point.law.stiffness * point.gap
        if push <= float(np.linalg.norm(model.gravity)) * sum(body.inertia.mass for body in model.bodies):
            return remarks  # no deeper than what rests there
        follows = f"is pushed out with {push:.3g} N"
    return [
        *remarks,
        f"contact: {point.name!r} starts {_length(-point.gap)} deep in what it touches, and {follows}: {cure}",
    ]


def _shapes(model: Model, contact: Contact) -> list[str]:
    """Remarks on laws and shapes, which no state changes."""
    remarks = [*law_sources(model, contact), *mesh_remarks(model, contact)]
    if names := _left_out(model, contact):
        listed = ", ".join([*map(repr, names[:3]), *([f"… {len(names)} in all"] if len(names) > 3 else [])])
        remarks.append(f"contact: pairs='ground' leaves out what stands in the world ({listed}): pairs='all' takes it")
    if names := left_out(model, contact):
        remarks.append(
            f"contact: {', '.join(map(repr, names))}, a plane of the robot's file, is left out: it is not the ground"
        )
    return remarks


_recent = RecentSame(8)


def _left_out(model: Model, contact: Contact) -> list[str]:
    """Names of the shapes that stand in a world in which something moves freely, and that nothing may touch."""
    if contact.pairs != "ground" or not any(drifts(model, body) for body in model.bodies):
        return []
    shapes = [shape for shape in named_shapes(model) if not moves(model, shape.body)]
    return [shape.name for shape in shapes if shape.geometry.shape.is_bounded]


def _passed(model: Model, patches: Sequence[Patch], q: Array, v: Array, step: float) -> list[str]:
    """A remark on what is inside something on the way of half a step, over which contact does not act yet."""
    first, last = poses(model, q), poses(model, integrate(model, q, 0.5 * step * v))
    moved = [(first[k], last[k], body_radius(body)) for k, body in enumerate(model.bodies)]
    ways = [np.linalg.norm(y.p - x.p) + radius * np.linalg.norm(y.R - x.R) for x, y, radius in moved]
    places = min(int(np.ceil(max(ways) / SEEN)), MOST_PLACES)
    for k in range(1, places + 1):
        point = deepest(model, patches, integrate(model, q, (0.5 * step * k / places) * v))
        if point.gap < -DEEP:
            longest = step * (k - 1) / places
            cure = f"take steps of at most {longest:.2g} s" if longest else "more slowly"
            return [
                f"contact: {point.name!r} meets what it touches within half a step, before contact acts, and passes "
                f"into it: start farther away, or {cure}"
            ]
    return []


def _length(x: float) -> str:
    """A length for people [m]."""
    return f"{x:.3g} m" if x >= 1.0 else f"{1e3 * x:.3g} mm"


def carried(system: System) -> bool:
    """Whether wheels, or joints that close loops with the ground, carry bodies that are free."""
    wheels = any(each.element is not None and not each.constraint.admissible.switches for each in system.constraints)
    fixed = {-1} if system.model.bodies[0].joint.nv else {-1, 0}
    ends = [{c.a.body, c.b.body} for c in system.model.closures if isinstance(c, Closure)]
    return wheels or any(bodies & fixed for bodies in ends)
