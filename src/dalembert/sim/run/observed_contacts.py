"""Contacts of the states of a run, by each model of contact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dalembert.contact import ContactLaw, Patch
from dalembert.contact.gathering import Motions, freedom_signs, points
from dalembert.contact.rows import contact_rows, tangent_frame
from dalembert.dynamics.algorithms import poses
from dalembert.math import map as mapped
from dalembert.math import product
from dalembert.model import Model
from dalembert.spatial import cross
from dalembert.typing import Array

from ..elements.base import NOTHING, Situation
from ..elements.contact import CompliantContact, Memory, RigidContact, laws_of
from ..elements.soft import SoftContact
from ..program import Program
from ..system.contact_step import ContactStep
from ..system.drift import drifted
from ..system.system import System
from .compiled import Programs
from .contacts import Contacts

SLACK = 1e-9  # of the normal force: the friction cone is met
ROUNDED = 1e-15  # of the largest singular value: a motion below it is none
ALL = 4000  # candidates of a scene up to which all of them are reported


def contacts_of(programs: Programs, t: Array, q: Array, e: Array, u: Array, step: float | None) -> Contacts | None:
    """The contacts of states (n,) of a system after steps of `step` [s]; None: without contact."""
    if programs.system.contact is not None:
        assert step is not None
        return _rigid(programs, programs.system.contact, t, q, e, step)
    if programs.system.soft is not None:
        return _soft(programs, programs.system.soft, t, q, e, u) if programs.system.soft.problem.names else None
    compliant = [x for x in programs.system.elements if isinstance(x, CompliantContact)]
    return _compliant(programs, compliant[0], t, q, e) if compliant else None


def _compliant(programs: Programs, element: CompliantContact, t: Array, q: Array, e: Array) -> Contacts:
    system, k = programs.system, len(element.names)
    model = system.model

    def compute(q: Array, v: Array, z: Array = NOTHING) -> dict[str, Any]:
        rows, pushes = element.pushes(Situation(model, 0.0, q, v, z, np.zeros(model.nv)))
        moving, force = (rows.J @ v).reshape(k, 3), np.array([each.force for each in pushes])
        return {"gap": rows.gap, "position": rows.position, "axes": rows.axes, "u": moving, "force": force}

    shapes = {"gap": (k,), "position": (k, 3), "axes": (k, 3, 3), "u": (k, 3), "force": (k, 3)}
    identity = None if programs.identity is None else f"compliant contacts {programs.identity}"
    sizes, states = {"q": model.nq, "v": model.nv}, {"q": q, "v": system.layout.velocity(e)}
    if element.bristles:
        sizes["z"] = element.size(model)
        states["z"] = system.layout.by_element(system.layout.states(e))[system.elements.index(element)]
    seen = Program("contacts", identity, sizes, shapes, compute)(states, (len(t),))
    force, velocity = (np.einsum("tkij,tki->tkj", seen["axes"], seen[name]) for name in ("force", "u"))
    names, bodies, laws = element.names, _bodies_of(model, element.patches), laws_of(element.patches)
    friction, normal, kind = _static(laws), seen["axes"][:, :, 0], element.contact.model
    places = seen["gap"], seen["position"], force, normal, friction
    return Contacts(names, bodies, t, *places, kind, velocity, sliding=_sliding(laws))


def _soft(programs: Programs, element: SoftContact, t: Array, q: Array, e: Array, u: Array) -> Contacts:
    """The contacts of MuJoCo's model, with the forces of each state."""
    problem, system = element.problem, programs.system
    model, k = system.model, len(problem.names)

    def compute(t: Any, q: Array, e: Array, u: Array) -> dict[str, Any]:
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
    places = seen["gap"], seen["position"], seen["force"], seen["normal"]
    return Contacts(problem.names, bodies, t, *places, friction, problem.contact.model, seen["velocity"])


def _rigid(programs: Programs, element: RigidContact, t: Array, q: Array, e: Array, step: float) -> Contacts:
    """The contacts of states (n,) of a system with rigid contact, after steps of `step` [s]."""
    system, n = programs.system, len(t)
    memory = system.contact_memory(e)
    view = (SceneView if element.scene_room else CandidateView)(system, element, memory)
    states = {"q": q, "v": system.layout.velocity(e), "h": np.full((n, 1), step)}
    seen, k, laws = view.program(programs.identity)(states, (n,)), len(view.names), laws_of(view.patches)
    axes, u = seen["axes"].reshape(n, k, 3, 3), seen["u"].reshape(n, k, 3)
    if element.keeps_normals:
        normals = view.by_candidate("normals", 3)
        known, kept = np.any(normals, axis=-1), axes.copy()  # those that a step remembers with the normals it took
        kept[known] = np.moveaxis(tangent_frame(normals[known].T), -1, 0)
        axes, u = kept, np.einsum("tkil,tkl->tki", np.einsum("tkij,tklj->tkil", kept, axes), u)
    p, friction = view.by_candidate("contacts", 3), _static(laws)
    u[..., 1:] -= view.by_candidate("held", 3)[..., 1:]  # at which those that roll are at rest in the mean
    turned = np.zeros((n, k, 3))
    if element.turning:
        turned[..., element.turning] = view.by_candidate("turned", len(element.turning))
    pushing = np.flatnonzero((p[..., 0] > 0.0).any(axis=0))
    if len(pushing) and not view.loose:
        J, slip = view.rows(seen, axes, pushing), view.by_candidate("slip", 1)[:, pushing, 0]
        p[:, pushing] = _least(p[:, pushing], slip, J, friction[pushing], element.contact.tolerance)
    force, velocity, moment = (np.einsum("tkij,tki->tkj", axes, x) for x in (p, u, turned))
    turner = int(memory.turner[-1])
    return Contacts(
        view.names,
        _bodies_of(system.model, view.patches),
        t,
        seen["gap"],
        seen["position"].reshape(n, k, 3),
        force / step,
        axes[:, :, 0],
        friction,
        element.contact.model,
        velocity,
        memory.passes,
        memory.residual,
        int(memory.unsettled[-1]),
        float(memory.worst[-1]),
        int(memory.crowded[-1]),
        (view.bodies[turner - 1].name, float(memory.turn[-1])) if turner else None,
        int(memory.passed[-1]),
        step,
        _sliding(laws),
        moment / step,
    )


class CandidateView:
    """All candidates of a rigid contact whose points are not gathered by number."""

    loose = False

    def __init__(self, system: System, element: RigidContact, memory: Memory) -> None:
        self.system, self.element, self.memory = system, element, element.by_candidate(memory)
        self.names, self.patches, self.bodies = element.names, element.patches, system.model.bodies

    def by_candidate(self, name: str, width: int) -> Array:
        """A part of the memory (n, candidates, width)."""
        x = getattr(self.memory, name)
        return x.reshape(len(x), -1, width).copy()

    def program(self, identity: str | None) -> Program:
        """gap and position at q; axes, rows and velocities where the last step took them, half a step before."""
        model, k, element = self.system.model, len(self.names), self.element

        def rows_of(q: Array) -> Any:
            return element.gathering(model).rows(q) if element.slots else contact_rows(model, q, element.patches)

        def compute(q: Array, v: Array, h: Any) -> dict[str, Any]:
            here = rows_of(q)
            before, v_before = drifted(model, q, v, -0.5 * h[0])
            rows = rows_of(before)
            seen = {"gap": here.gap, "position": here.position.reshape(-1), "axes": rows.axes.reshape(-1)}
            return seen | {"J": rows.J, "u": product(rows.J, v_before[:, None])[:, 0]}

        nv, known = model.nv, None if identity is None else f"contacts {identity}"
        shapes = {"gap": (k,), "position": (3 * k,), "axes": (9 * k,), "J": (3 * k, nv), "u": (3 * k,)}
        return Program("contacts", known, {"q": model.nq, "v": nv, "h": 1}, shapes, compute)

    def rows(self, seen: Mapping[str, Array], axes: Array, columns: Array) -> Array:
        """Velocities (n, m, 3, nv) of the points with numbers `columns` (m,) along their axes; seen: by `program`."""
        n, k, _, _ = axes.shape
        J = seen["J"].reshape(n, k, 3, -1)[:, columns]
        if not self.element.keeps_normals:
            return J
        before = seen["axes"].reshape(axes.shape)[:, columns]
        return np.einsum("tkij,tklj,tklv->tkiv", axes[:, columns], before, J)


class SceneView:
    """Candidates of a scene whose points are gathered by number: all, or those that came near at one of the times."""

    def __init__(self, system: System, element: RigidContact, memory: Memory) -> None:
        self.system, self.element, self.memory = system, element, memory
        self.scene = element.scene(system.model)
        self.bodies = self.scene.bodies
        self.loose, self.every = bool(self.scene.loose), len(element.names) <= ALL
        near = np.unique(memory.numbers[memory.numbers > 0.0]).astype(int) - 1
        ends = np.cumsum([len(patch.names) for patch in element.patches])
        if self.every:
            self.patches, columns = element.patches, np.arange(ends[-1])
        else:
            kept = np.unique(np.searchsorted(ends, near, side="right")) if len(near) else np.array([0])
            self.patches = tuple(element.patches[k] for k in kept)
            columns = np.concatenate([np.arange(ends[k] - len(element.patches[k].names), ends[k]) for k in kept])
        self.column = np.full(ends[-1] + 1, len(columns))  # of each candidate by its number; the last one: of none
        self.column[columns] = np.arange(len(columns))
        self.names = tuple(name for patch in self.patches for name in patch.names)

    def by_candidate(self, name: str, width: int) -> Array:
        """A part of the memory in the order of the candidates (n, candidates, width)."""
        x = getattr(self.memory, name)
        rows = np.zeros((len(x), len(self.names) + 1, width))
        places = self.column[self.memory.numbers.astype(int) - 1]
        rows[np.arange(len(x))[:, None], places] = x.reshape(len(x), -1, width)
        return rows[:, :-1]

    def program(self, identity: str | None) -> Program:
        """gap and position at q; axes and velocities where the last step took them, half a step before."""
        model, k, links = self.system.model, len(self.names), self.scene.links
        owners = [patch for patch in self.patches for _ in patch.names]

        def moving_on(X: Any, v: Array) -> Array:
            """Angular velocity, velocity of the origin, and the origin (9,), along the axes of the world."""
            return np.concatenate([X.R @ v[:3], X.R @ v[3:], X.p])

        def velocity(motion: Array, position: Array) -> Array:
            return motion[3:6] + cross(motion[:3], position - motion[6:])

        def one(position: Array, normal: Array, aside: Any, a: Any, b: Any) -> dict[str, Any]:
            axes = tangent_frame(normal)
            return {"axes": axes, "u": axes @ (velocity(a, position + aside) - velocity(b, position - aside))}

        def compute(q: Array, v: Array, h: Any) -> dict[str, Any]:
            here = points(self.patches, poses(model, q))
            before, v_before = ContactStep(self.system, self.element).drifted(q, v, -0.5 * h[0])
            X = poses(model, before)
            moving = {body.index: moving_on(X[body.index], v_before[body.v]) for body in self.scene.loose}
            freedoms = np.zeros((0, 6))
            if links:
                motions = Motions(model, X, before)
                twists = motions.twists(v_before)
                moving |= {body.index: np.concatenate([twists[body.index], motions.reference]) for body in links}
                freedoms = np.array([[*x.turn, *x.move] for x in motions.freedoms])
                freedoms[:, 3:] = [x.move - cross(x.turn, motions.reference) for x in motions.freedoms]
            found = points(self.patches, X)
            still = np.zeros(9)
            sides = [np.array([moving.get(getattr(p, side), still) for p in owners]) for side in ("first", "second")]
            aside = np.zeros_like(found.position) if found.aside is None else found.aside
            items = {"position": found.position, "normal": found.normal, "aside": aside, "a": sides[0], "b": sides[1]}
            seen = {"gap": here.gap, "position": here.position, **mapped(one, items), "at": found.position}
            return {name: x.reshape(-1) for name, x in (seen | {"freedoms": freedoms}).items()}

        freedoms = 6 * sum(body.joint.nv for body in model.bodies) if links else 0
        shapes = {"gap": (k,), "position": (3 * k,), "axes": (9 * k,), "u": (3 * k,), "at": (3 * k,)}
        known = None if identity is None or not self.every else f"scene contacts {identity}"
        sizes = {"q": model.nq, "v": model.nv, "h": 1}
        return Program("contacts", known, sizes, shapes | {"freedoms": (freedoms,)}, compute)

    def rows(self, seen: Mapping[str, Array], axes: Array, columns: Array) -> Array:
        """Velocities (n, m, 3, nv) of the points with numbers `columns` (m,) along their axes; seen: by `program`."""
        n, k, model = len(axes), len(self.names), self.system.model
        at = seen["at"].reshape(n, k, 3)[:, columns]
        turn, move = np.split(seen["freedoms"].reshape(n, 1, -1, 6), 2, axis=-1)
        owners = [(patch.first, patch.second) for patch in self.patches for _ in patch.names]
        signs = freedom_signs(model, [owners[k] for k in columns])
        motion = (move + np.cross(turn, at[:, :, None])) * signs[..., None]
        along = np.einsum("tkij,tkfj->tkif", axes[:, columns], motion)
        order = [k for body in model.bodies for k in range(body.v.start, body.v.start + body.joint.nv)]
        J = np.zeros((n, len(columns), 3, model.nv))
        for freedom, column in enumerate(order):
            J[..., column] += along[..., freedom]
        return J


def _static(laws: Iterable[ContactLaw]) -> Array:
    return np.array([law.static_friction for law in laws])


def _sliding(laws: Iterable[ContactLaw]) -> Array | None:
    """Coefficients of sliding; None where they are those at rest."""
    both = np.array([(law.friction, law.static_friction) for law in laws]).reshape(-1, 2)
    return None if np.array_equal(both[:, 0], both[:, 1]) else both[:, 0]


def _bodies_of(model: Model, patches: Iterable[Patch]) -> tuple[tuple[str, str], ...]:
    """(first, second) of each point, by name."""
    second = {patch.second: "ground" if patch.second < 0 else model.bodies[patch.second].name for patch in patches}
    return tuple((model.bodies[x.first].name, second[x.second]) for x in patches for _ in x.names)


def _least(p: Array, slip: Array, J: Array, friction: Array, tolerance: float) -> Array:
    """Impulses (n, k, 3) with the same effect whose squares are least, of the contacts that stick, within their cones.

    J (n, k, 3, nv); friction (k,): of each at rest; tolerance [m/s]: what slides less sticks.
    Where these are not redundant, or the least would leave a cone, they stay as they are.
    """
    sticking = (p[..., 0] > 0.0) & (slip * np.linalg.norm(p[..., 1:], axis=-1) <= tolerance)
    most = int(sticking.sum(axis=1).max())
    if not most:
        return p
    at = np.arange(len(p))[:, None], np.argsort(~sticking, axis=1, kind="stable")[:, :most]  # those that stick first
    holds = sticking[at]
    rows = (J[at] * holds[..., None, None]).reshape(len(p), 3 * most, -1)
    U, s, _ = np.linalg.svd(rows, full_matrices=False)
    relative = s / np.maximum(s[:, :1], np.finfo(float).tiny)
    redundant = 3 * sticking.sum(axis=1) > (relative > max(rows.shape[1:]) * np.finfo(float).eps).sum(axis=1)
    U = U * (relative > ROUNDED)[:, None]
    along = np.einsum("tij,ti->tj", U, (p[at] * holds[..., None]).reshape(len(p), -1))
    shared = np.einsum("tij,tj->ti", U, along).reshape(p[at].shape)  # the part of p that has an effect
    inside = np.linalg.norm(shared[..., 1:], axis=-1) <= friction[at[1]] * shared[..., 0] * (1.0 + SLACK)
    good = redundant & (((shared[..., 0] >= 0.0) & inside) | ~holds).all(axis=1)
    least = p.copy()
    least[at] = np.where(good[:, None, None] & holds[..., None], shared, p[at])
    return least
