"""Contacts in slots by number as a run reports them: in the order of candidates, with their geometry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dalembert.contact import ContactLaw
from dalembert.contact.gathering import Motions, freedom_signs, points
from dalembert.contact.rows import Rows, contact_rows, tangent_frame
from dalembert.dynamics.algorithms import poses
from dalembert.math import map as mapped
from dalembert.math import product
from dalembert.model import Body
from dalembert.spatial import cross

from ..elements.base import NOTHING, Situation
from ..elements.contact import CompliantContact, Memory, RigidContact, laws_of
from ..elements.soft import SoftContact
from ..program import Program
from ..system.contact_step import step_of
from ..system.drift import drifted
from ..system.system import System
from .compiled import Programs
from .contacts import Contacts

ALL = 4000  # candidates up to which all of them are reported


class SceneView:
    """Which candidates of a scene a run reports: all, or those that came near at one of its times."""

    def __init__(self, system: System, element: RigidContact, memory: Memory) -> None:
        self.system, self.element, self.memory = system, element, memory
        self.scene = element.scene(system.model)
        self.every = len(element.names) <= ALL
        near = np.unique(memory.numbers[memory.numbers > 0.0]).astype(int) - 1
        ends = np.cumsum([len(patch.names) for patch in element.patches])
        if self.every:
            self.patches = element.patches
            columns = np.arange(ends[-1])
        else:
            kept = np.unique(np.searchsorted(ends, near, side="right")) if len(near) else np.array([0])
            self.patches = tuple(element.patches[k] for k in kept)
            columns = np.concatenate([np.arange(ends[k] - len(element.patches[k].names), ends[k]) for k in kept])
        self.column = np.full(ends[-1] + 1, len(columns))  # of each candidate by its number; the last one: of none
        self.column[columns] = np.arange(len(columns))
        self.names = tuple(name for patch in self.patches for name in patch.names)

    def by_candidate(self, x: np.ndarray, width: int) -> np.ndarray:
        """Contents of slots (n, k width) in the order of the candidates (n, candidates, width)."""
        n = len(x)
        rows = np.zeros((n, len(self.names) + 1, width))
        places = self.column[self.memory.numbers.astype(int) - 1]
        rows[np.arange(n)[:, None], places] = x.reshape(n, -1, width)
        return rows[:, :-1]

    def program(self, identity: str | None) -> Program:
        """gap and position at q; axes and velocities where the last step took them, half a step before."""
        model, k, links = self.system.model, len(self.names), self.scene.links
        owners = [patch for patch in self.patches for _ in patch.names]

        def compute(q: Any, v: Any, h: Any) -> dict[str, Any]:
            here = points(self.patches, poses(model, q))
            before, v_before = step_of(self.system, self.element).drifted(q, v, -0.5 * h[0])
            X = poses(model, before)
            moving = {body.index: _motion(X[body.index], v_before[body.v]) for body in self.scene.loose}
            freedoms = np.zeros((0, 6))
            if links:
                motions = Motions(model, X, before)
                twists = motions.twists(v_before)
                moving |= {body.index: np.concatenate([twists[body.index], motions.reference]) for body in links}
                freedoms = np.array([[*x.turn, *x.move] for x in motions.freedoms])
                freedoms[:, 3:] = [x.move - cross(x.turn, motions.reference) for x in motions.freedoms]
            found = points(self.patches, X)

            def one(position: Any, normal: Any, aside: Any, a: Any, b: Any) -> dict[str, Any]:
                axes = tangent_frame(normal)
                return {"axes": axes, "u": axes @ (_velocity(a, position + aside) - _velocity(b, position - aside))}

            still = np.zeros(9)
            sides = [np.array([moving.get(getattr(p, side), still) for p in owners]) for side in ("first", "second")]
            aside = np.zeros_like(found.position) if found.aside is None else found.aside
            items = {"position": found.position, "normal": found.normal, "aside": aside, "a": sides[0], "b": sides[1]}
            rows = mapped(one, items)
            return {
                "gap": here.gap,
                "position": here.position.reshape(-1),
                "axes": rows["axes"].reshape(-1),
                "u": rows["u"].reshape(-1),
                "at": found.position.reshape(-1),
                "freedoms": freedoms.reshape(-1),
            }

        freedoms = 6 * sum(body.joint.nv for body in model.bodies) if links else 0
        shapes = {"gap": (k,), "position": (3 * k,), "axes": (9 * k,), "u": (3 * k,), "at": (3 * k,)}
        sizes = {"q": model.nq, "v": model.nv, "h": 1}
        known = None if identity is None or not self.every else f"scene contacts {identity}"
        return Program("contacts", known, sizes, shapes | {"freedoms": (freedoms,)}, compute)

    def rows(self, found: dict[str, np.ndarray], columns: np.ndarray) -> np.ndarray:
        """(n, 3 m, nv): velocities of the points with numbers `columns` (m,) along their axes; found: by `program`."""
        n, k, model = len(found["gap"]), len(self.names), self.system.model
        axes, at = found["axes"].reshape(n, k, 3, 3)[:, columns], found["at"].reshape(n, k, 3)[:, columns]
        turn, move = np.split(found["freedoms"].reshape(n, 1, -1, 6), 2, axis=-1)
        owners = [(patch.first, patch.second) for patch in self.patches for _ in patch.names]
        signs = freedom_signs(model, [owners[k] for k in columns])
        motion = (move + np.cross(turn, at[:, :, None])) * signs[..., None]
        along = np.einsum("tkij,tkfj->tkif", axes, motion).reshape(n, 3 * len(columns), -1)
        order = [k for body in model.bodies for k in range(body.v.start, body.v.start + body.joint.nv)]
        J = np.zeros((n, 3 * len(columns), model.nv))
        for freedom, column in enumerate(order):
            J[..., column] += along[..., freedom]
        return J


def _motion(X: Any, v: np.ndarray) -> np.ndarray:
    """Angular velocity, velocity of the origin, and the origin (9,), along the axes of the world."""
    return np.concatenate([X.R @ v[:3], X.R @ v[3:], X.p])


def _velocity(motion: np.ndarray, position: np.ndarray) -> np.ndarray:
    return motion[3:6] + cross(motion[:3], position - motion[6:])


SLACK = 1e-9  # of the normal force: the friction cone is met


def contacts_of(
    programs: Programs, t: np.ndarray, q: np.ndarray, e: np.ndarray, u: np.ndarray, step: float | None
) -> Contacts | None:
    """The contacts of states (n,) of a system after steps of `step` [s]; None: without contact."""
    if programs.system.contact is not None:
        assert step is not None
        return _rigid(programs, t, q, e, step)
    if programs.system.soft is not None:
        return _soft(programs, programs.system.soft, t, q, e, u)
    compliant = [x for x in programs.system.elements if isinstance(x, CompliantContact)]
    return _compliant(programs, compliant[0], t, q, e) if compliant else None


def _compliant(programs: Programs, element: CompliantContact, t: np.ndarray, q: np.ndarray, e: np.ndarray) -> Contacts:
    system, k = programs.system, len(element.names)
    model = system.model

    def compute(q: Any, v: Any, z: Any = NOTHING) -> dict[str, Any]:
        rows, pushes = element.pushes(Situation(model, 0.0, q, v, z, np.zeros(model.nv)))
        return {
            "gap": rows.gap,
            "position": rows.position,
            "axes": rows.axes,
            "u": (rows.J @ v).reshape(k, 3),
            "force": np.array([each.force for each in pushes]),
        }

    shapes = {"gap": (k,), "position": (k, 3), "axes": (k, 3, 3), "u": (k, 3), "force": (k, 3)}
    identity = None if programs.identity is None else f"compliant contacts {programs.identity}"
    sizes, states = {"q": model.nq, "v": model.nv}, {"q": q, "v": system.layout.velocity(e)}
    if element.bristles:
        sizes["z"] = element.size(model)
        states["z"] = system.layout.by_element(system.layout.states(e))[system.elements.index(element)]
    seen = Program("contacts", identity, sizes, shapes, compute)(states, (len(t),))
    force, velocity = (np.einsum("tkij,tki->tkj", seen["axes"], seen[name]) for name in ("force", "u"))
    return Contacts(
        element.names,
        bodies_of(model, element.patches),
        t,
        seen["gap"],
        seen["position"],
        force,
        seen["axes"][:, :, 0],
        np.array([law.static_friction for law in laws_of(element.patches)]),
        element.contact.model,
        velocity,
        sliding=_sliding(laws_of(element.patches)),
    )


def _sliding(laws: Iterable[ContactLaw]) -> np.ndarray | None:
    """Coefficients of sliding; None where they are those at rest."""
    both = np.array([(law.friction, law.static_friction) for law in laws]).reshape(-1, 2)
    return None if np.array_equal(both[:, 0], both[:, 1]) else both[:, 0]


def _soft(
    programs: Programs, element: SoftContact, t: np.ndarray, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> Contacts | None:
    """The contacts of MuJoCo's model, with the forces of each state."""
    problem = element.problem
    system, k = programs.system, len(problem.names)
    model = system.model
    if not k:
        return None

    def compute(t: Any, q: Any, e: Any, u: Any) -> dict[str, Any]:
        v, acting = system.layout.velocity(e), system.acting(t[0], q, e, u)
        return problem.touching(model, q, v, acting.forces, acting.wrenches)[1]._asdict()

    shapes = {"gap": (k,), "position": (k, 3), "normal": (k, 3), "velocity": (k, 3), "force": (k, 3)}
    sizes = {"t": 1, "q": model.nq, "e": system.ne, "u": system.nu}
    identity = None if programs.identity is None else f"soft contacts {programs.identity}"
    program = Program("contacts", identity, sizes, shapes, compute, interpreted=system.called)
    seen = program({"t": t[:, None], "q": q, "e": e, "u": u}, (len(t),))
    friction = np.array([patch.parameters.friction[0] for patch in problem.patches for _ in patch.names])
    grounded = [patch.grounded or patch.second < 0 for patch in problem.patches]
    bodies = tuple(
        (model.bodies[patch.first].name, "ground" if level else model.bodies[patch.second].name)
        for patch, level in zip(problem.patches, grounded, strict=True)
        for _ in patch.names
    )
    return Contacts(
        problem.names,
        bodies,
        t,
        seen["gap"],
        seen["position"],
        seen["force"],
        seen["normal"],
        friction,
        problem.contact.model,
        seen["velocity"],
    )


def _rigid(programs: Programs, t: np.ndarray, q: np.ndarray, e: np.ndarray, step: float) -> Contacts:
    """The contacts of states (n,) of a system with rigid contact, after steps of `step` [s]."""
    system = programs.system
    element = system.contact
    assert element is not None
    k = len(element.names)
    memory = system.contact_memory(e)
    if element.scene_room:
        return scene_contacts(programs, element, memory, t, q, e, step)
    seen = _observed(programs, element)(
        {"q": q, "v": system.layout.velocity(e), "h": np.full((len(t), 1), step)}, (len(t),)
    )
    memory = element.by_candidate(memory)
    friction = np.array([law.static_friction for law in element.laws])
    axes, J = seen["axes"].reshape(len(t), k, 3, 3), seen["J"]
    if element.keeps_normals:
        before, axes = axes, _with_normals(axes, memory.normals.reshape(len(t), k, 3))
        J = np.einsum("tkij,tklj,tklv->tkiv", axes, before, J.reshape(len(t), k, 3, -1)).reshape(J.shape)
    p = _least(memory.contacts, memory.slip, J, friction, element.contact.tolerance)
    force = np.einsum("tkij,tki->tkj", axes, p.reshape(len(t), k, 3)) / step
    u = seen["u"].reshape(len(t), k, 3)
    if element.keeps_normals:
        u = np.einsum("tkij,tklj,tkl->tki", axes, before, u)
    u[..., 1:] -= memory.held.reshape(len(t), k, 3)[..., 1:]  # at which those that roll are at rest in the mean
    velocity = np.einsum("tkij,tki->tkj", axes, u)
    turned = np.zeros((len(t), k, 3))
    if element.turning:
        turned[..., element.turning] = memory.turned.reshape(len(t), k, -1)
    return Contacts(
        element.names,
        bodies_of(system.model, element.patches),
        t,
        seen["gap"],
        seen["position"].reshape(len(t), k, 3),
        force,
        axes[:, :, 0],
        friction,
        element.contact.model,
        velocity,
        memory.passes,
        memory.residual,
        int(memory.unsettled[-1]),
        float(memory.worst[-1]),
        int(memory.crowded[-1]),
        _turned(system.model.bodies, memory),
        int(memory.passed[-1]),
        step,
        _sliding(element.laws),
        np.einsum("tkij,tki->tkj", axes, turned) / step,
    )


def scene_contacts(
    programs: Programs, element: RigidContact, memory: Memory, t: np.ndarray, q: np.ndarray, e: np.ndarray, step: float
) -> Contacts:
    """Contacts by number: those of all candidates, or, where these are very many, of those that came near."""
    system, seen = programs.system, SceneView(programs.system, element, memory)
    states = {"q": q, "v": system.layout.velocity(e), "h": np.full((len(t), 1), step)}
    found, k = seen.program(programs.identity)(states, (len(t),)), len(seen.names)
    axes = found["axes"].reshape(len(t), k, 3, 3)
    if element.keeps_normals:
        before, axes = axes, _with_normals(axes, seen.by_candidate(memory.normals, 3))
        found["axes"] = axes
        found["u"] = np.einsum("tkij,tklj,tkl->tki", axes, before, found["u"].reshape(len(t), k, 3))
    p, u = seen.by_candidate(memory.contacts, 3), found["u"].reshape(len(t), k, 3)
    u[..., 1:] -= seen.by_candidate(memory.held, 3)[..., 1:]
    friction = np.array([law.static_friction for law in laws_of(seen.patches)])
    turned = np.zeros((len(t), k, 3))
    if element.turning:
        turned[..., element.turning] = seen.by_candidate(memory.turned, len(element.turning))
    pushing = np.flatnonzero((p[..., 0] > 0.0).any(axis=0))
    if len(pushing) and not seen.scene.loose:
        slip, J = seen.by_candidate(memory.slip, 1)[:, pushing, 0], seen.rows(found, pushing)
        least = _least(p[:, pushing].reshape(len(t), -1), slip, J, friction[pushing], element.contact.tolerance)
        p[:, pushing] = least.reshape(len(t), -1, 3)
    return Contacts(
        seen.names,
        bodies_of(system.model, seen.patches),
        t,
        found["gap"],
        found["position"].reshape(len(t), k, 3),
        np.einsum("tkij,tki->tkj", axes, p) / step,
        axes[:, :, 0],
        friction,
        element.contact.model,
        np.einsum("tkij,tki->tkj", axes, u),
        memory.passes,
        memory.residual,
        int(memory.unsettled[-1]),
        float(memory.worst[-1]),
        int(memory.crowded[-1]),
        _turned(seen.scene.bodies if element.looped else system.model.bodies, memory),
        int(memory.passed[-1]),
        step,
        _sliding(laws_of(seen.patches)),
        np.einsum("tkij,tki->tkj", axes, turned) / step,
    )


def _with_normals(axes: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Axes (n, k, 3, 3) of contacts, of those that a step remembers with the normals (n, k, 3) that it took."""
    known, frames = np.any(normals, axis=-1), axes.copy()
    frames[known] = np.moveaxis(tangent_frame(normals[known].T), -1, 0)
    return frames


def _turned(bodies: Sequence[Body], memory: Memory) -> tuple[str, float] | None:
    """The body that turned farthest in a step that did not follow it, and the angle; bodies: as steps number them."""
    number = int(memory.turner[-1])
    return (bodies[number - 1].name, float(memory.turn[-1])) if number else None


def bodies_of(model: Any, patches: Any) -> tuple[tuple[str, str], ...]:
    """(first, second) of each point, by name."""
    second = {patch.second: "ground" if patch.second < 0 else model.bodies[patch.second].name for patch in patches}
    return tuple((model.bodies[x.first].name, second[x.second]) for x in patches for _ in x.names)


def _observed(programs: Programs, element: RigidContact) -> Program:
    """gap and position at q; axes, rows and velocities where the last step took them, half a step before."""
    system = programs.system
    model, k, nv = system.model, len(element.names), system.model.nv

    def compute(q: Any, v: Any, h: Any) -> dict[str, Any]:
        here = rows_of(q)
        before, v_before = drifted(model, q, v, -0.5 * h[0])
        rows = rows_of(before)
        return {
            "gap": here.gap,
            "position": here.position.reshape(-1),
            "axes": rows.axes.reshape(-1),
            "J": rows.J,
            "u": product(rows.J, v_before[:, None])[:, 0],
        }

    def rows_of(q: Any) -> Rows:
        return element.gathering(model).rows(q) if element.slots else contact_rows(model, q, element.patches)

    shapes = {"gap": (k,), "position": (3 * k,), "axes": (9 * k,), "J": (3 * k, nv), "u": (3 * k,)}
    sizes = {"q": model.nq, "v": nv, "h": 1}
    identity = None if programs.identity is None else f"contacts {programs.identity}"
    return Program("contacts", identity, sizes, shapes, compute)


def _least(p: np.ndarray, slip: np.ndarray, J: np.ndarray, friction: np.ndarray, tolerance: float) -> np.ndarray:
    """Impulses (n, 3 k) with the same effect whose squares are least, of the contacts that stick, within their cones.

    friction (k,): of each at rest; tolerance [m/s]: what slides less sticks.
    Where these are not redundant, or the least would leave a cone, they stay as they are.
    """
    speed = slip * np.linalg.norm(p.reshape(len(p), -1, 3)[..., 1:], axis=-1)
    sticking = np.repeat((p[:, ::3] > 0.0) & (speed <= tolerance), 3, axis=1)
    crowded = np.flatnonzero(sticking.sum(1) > np.linalg.matrix_rank(J * sticking[..., None]))
    if not len(crowded):
        return p
    least = p.copy()
    rows = J[crowded] * sticking[crowded][..., None]
    effect = np.einsum("tij,ti->tj", rows, p[crowded])
    shared = np.einsum("tji,tj->ti", np.linalg.pinv(rows), effect)
    shared = np.where(sticking[crowded], shared, p[crowded]).reshape(len(crowded), -1, 3)
    most = friction * shared[..., 0] * (1.0 + SLACK)
    allowed = (shared[..., 0] >= 0.0) & (np.linalg.norm(shared[..., 1:], axis=-1) <= most)
    free = ~sticking[crowded].reshape(len(crowded), -1, 3)[..., 0]
    good = (allowed | free).all(axis=1)
    least[crowded[good]] = shared.reshape(len(crowded), -1)[good]
    return least
