"""Contacts of a run: gaps, points, forces, how much of the friction was used, and how well the laws were kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.contact.rows import Rows, contact_rows
from dalembert.contact.support import centre_of_pressure, support_margin, support_polygon
from dalembert.errors import DalembertError
from dalembert.math import product

from ..elements.base import NOTHING, Situation
from ..elements.contact import CompliantContact, Memory, RigidContact, laws_of
from ..elements.mujoco import MujocoConstraints
from ..program import Program
from ..system.drift import drifted
from .compiled import Programs
from .scene_view import SceneView

OVER = 1e-6  # above 1: a ratio that is not rounding
SLACK = 1e-9  # of the normal force: the friction cone is met
NAMED = 40  # points in the legend of a plot: of more, those that push most


@dataclass(frozen=True, eq=False)
class Contacts:
    """Contacts of a run at its n times.

    names: of the k points that may touch, on the first body against the second one or the ground; bodies: (first,
    second) of each, "ground" among them. gap (n, k) [m]; position (n, k, 3) [m]; force (n, k, 3) on the first body, in
    world axes [N], of rigid contact the mean over the step that led there; normal (n, k, 3) from the second body to the
    first; ratio (n, k) = |F_t| / (µ F_n) with µ at rest, 0 where nothing pushes.

    How redundant contacts of rigid bodies share a load is undetermined: force is the least that holds (the sum of
    squares); where that would leave a friction cone, and among three or more loose bodies, one of those that hold.
    passes, residual (n,): of the iteration [m/s]; unsettled: steps that did not reach the tolerance, worst: their
    largest residual [m/s]; crowded: of these, steps with more contacts than there was room for.
    """

    names: tuple[str, ...]
    bodies: tuple[tuple[str, str], ...]
    t: np.ndarray
    gap: np.ndarray
    position: np.ndarray
    force: np.ndarray
    normal: np.ndarray
    friction: np.ndarray  # (k,): the largest coefficient, that at rest
    model: str  # "rigid", "compliant" or "mujoco"
    velocity: np.ndarray = field(repr=False)  # (n, k, 3): of the first body past the second, in world axes [m/s]
    passes: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    residual: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    unsettled: int = 0
    worst: float = 0.0
    crowded: int = 0
    sliding: np.ndarray | None = field(default=None, repr=False)  # (k,): the coefficient of sliding; None: as at rest

    @cached_property
    def normal_force(self) -> np.ndarray:
        """F_n (n, k) [N], ≥ 0."""
        return np.einsum("tki,tki->tk", self.force, self.normal)

    @cached_property
    def ratio(self) -> np.ndarray:
        """|F_t| / (µ F_n) (n, k), µ at rest: 0 where nothing pushes, 1 where a point gives all the friction it can.

        Points that slip do (with less friction of sliding, they have that share); so may points of a face that holds.
        """
        tangential = np.linalg.norm(self.force - self.normal_force[..., None] * self.normal, axis=-1)
        most = self.friction * self.normal_force
        return np.divide(tangential, most, out=np.zeros_like(most), where=most > 0.0)

    @property
    def residuals(self) -> dict[str, np.ndarray]:
        """By how much each law is missed (n, k): zero in an exact solution.

        "signorini": depth of penetration [m]; "complementarity": normal force times gap [J]; "dissipation": what
        friction takes less than it could, µ F_n |u_t| + F_t · u_t [W]; "cone": |F_t| beyond µ F_n [N].
        """
        u_n = np.einsum("tki,tki->tk", self.velocity, self.normal)
        slip = self.velocity - u_n[..., None] * self.normal
        tangential = self.force - self.normal_force[..., None] * self.normal
        most = self.friction * self.normal_force
        sliding = most if self.sliding is None else self.sliding * self.normal_force
        power = np.einsum("tki,tki->tk", tangential, slip)
        return {
            "signorini": np.maximum(-self.gap, 0.0),
            "complementarity": self.normal_force * np.maximum(self.gap, 0.0),
            "dissipation": np.abs(sliding * np.linalg.norm(slip, axis=-1) + power),
            "cone": np.maximum(np.linalg.norm(tangential, axis=-1) - most, 0.0),
        }

    @property
    def table(self) -> dict[str, tuple[float, float]]:
        """(largest, mean) of each of the residuals."""
        return {name: (float(x.max(initial=0.0)), float(x.mean())) for name, x in self.residuals.items()}

    @property
    def zero_moment_point(self) -> np.ndarray:
        """(n, 3) [m]: where the vertical forces of the ground act together; NaN in the air."""
        grounded = self._grounded
        return centre_of_pressure(self.position[:, grounded], self.force[:, grounded])

    def support_polygon(self, k: int = -1) -> np.ndarray:
        """Corners (m, 2) of what the points that push on the ground at time number k span, seen from above [m]."""
        pushing = self._grounded & (self.normal_force[k] > 0.0)
        return support_polygon(self.position[k][pushing])

    @property
    def margin(self) -> np.ndarray:
        """(n,) [m]: how far the zero-moment point is inside the support polygon; −∞ in the air."""
        points = self.zero_moment_point
        inside = [support_margin(self.support_polygon(k), points[k]) for k in range(len(self.t))]
        return np.array(inside)

    @property
    def _grounded(self) -> np.ndarray:
        return np.array([second == "ground" for _, second in self.bodies])

    @property
    def log(self) -> list[str]:
        """Remarks for the user: steps that did not settle, forces outside of the friction cone."""
        lines = []
        if self.crowded:
            lines.append(
                f"contact: {_steps(self.crowded)} had more contacts than a scene has room for; those beyond it had no "
                "forces: take fewer bodies, or shapes with fewer points on one face"
            )
        if self.unsettled > self.crowded:
            lines.append(
                f"contact: {_steps(self.unsettled - self.crowded)} did not reach the tolerance; the laws of contact "
                f"are missed there by up to about {self.worst:.1e} m/s: take shorter steps, or fewer points on one face"
            )
        over = self.ratio > 1.0 + OVER
        for k in np.flatnonzero(over.any(axis=0)):
            at = int(np.argmax(over[:, k]))
            lines.append(
                f"contact: friction of {self.names[k]!r} is {self.ratio[at, k]:.3g} of its limit at {self.t[at]:g} s"
            )
        return lines

    def plot(self) -> Any:
        """A matplotlib figure: gaps, normal forces, and shares of the friction, of the points that ever push."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise DalembertError("plot needs matplotlib: pip install 'dalembert[plot]'") from None
        from .plot import style

        pushing = np.flatnonzero((self.normal_force > 0.0).any(axis=0))
        if len(pushing) > NAMED:
            pushing = pushing[np.argsort(-self.normal_force[:, pushing].max(axis=0))]
        figure = Figure(figsize=(9.0, 7.2), layout="constrained")
        panels = figure.subplots(3, 1, sharex=True)
        curves = (("gap [mm]", 1e3 * self.gap), ("normal force [N]", self.normal_force), ("|F_t| / µ F_n", self.ratio))
        for axes, (label, values) in zip(panels, curves, strict=True):
            for number, k in enumerate(pushing):
                axes.plot(self.t, values[:, k], label=self.names[k], **style(number))
            axes.set_ylabel(label)
            axes.grid(alpha=0.3)
        if len(pushing):
            lines = panels[0].get_lines()[:NAMED]
            figure.legend(handles=lines, fontsize="small", ncols=4, loc="outside lower center")
        panels[-1].set_xlabel("t [s]")
        return figure

    def __repr__(self) -> str:
        touched = int((self.normal_force > 0.0).any(axis=0).sum()) if len(self.t) else 0
        return f"<Contacts: {len(self.names)} points, {touched} of them touched, {len(self.t)} times>"


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
        sliding=np.array([law.friction for law in laws_of(element.patches)]),
    )


def _soft(
    programs: Programs, element: MujocoConstraints, t: np.ndarray, q: np.ndarray, e: np.ndarray, u: np.ndarray
) -> Contacts | None:
    """The contacts of MuJoCo's model, with the forces of each state."""
    system, k = programs.system, len(element.names)
    model = system.model
    if not k:
        return None

    def compute(t: Any, q: Any, e: Any, u: Any) -> dict[str, Any]:
        v, acting = system.layout.velocity(e), system.acting(t[0], q, e, u)
        return element.touching(model, q, v, acting.forces, acting.wrenches)[1]._asdict()

    shapes = {"gap": (k,), "position": (k, 3), "normal": (k, 3), "velocity": (k, 3), "force": (k, 3)}
    sizes = {"t": 1, "q": model.nq, "e": system.ne, "u": system.nu}
    identity = None if programs.identity is None else f"soft contacts {programs.identity}"
    program = Program("contacts", identity, sizes, shapes, compute, interpreted=system.called)
    seen = program({"t": t[:, None], "q": q, "e": e, "u": u}, (len(t),))
    friction = np.array([patch.parameters.friction[0] for patch in element.patches for _ in patch.names])
    grounded = [patch.grounded or patch.second < 0 for patch in element.patches]
    bodies = tuple(
        (model.bodies[patch.first].name, "ground" if level else model.bodies[patch.second].name)
        for patch, level in zip(element.patches, grounded, strict=True)
        for _ in patch.names
    )
    return Contacts(
        element.names,
        bodies,
        t,
        seen["gap"],
        seen["position"],
        seen["force"],
        seen["normal"],
        friction,
        element.contact.model,
        seen["velocity"],
    )


def _rigid(programs: Programs, t: np.ndarray, q: np.ndarray, e: np.ndarray, step: float) -> Contacts:
    """The contacts of states (n,) of a system with rigid contact, after steps of `step` [s]."""
    system = programs.system
    element = system.contact
    assert element is not None
    k = len(element.names)
    memory = element.memory(system.layout.by_element(system.layout.states(e))[system.contact_number])
    if element.scene_room:
        return scene_contacts(programs, element, memory, t, q, e, step)
    seen = _observed(programs, element)(
        {"q": q, "v": system.layout.velocity(e), "h": np.full((len(t), 1), step)}, (len(t),)
    )
    memory = element.by_candidate(memory)
    friction = np.array([law.static_friction for law in element.laws])
    p = _least(memory.contacts, memory.slip, seen["J"], friction, element.contact.tolerance)
    axes = seen["axes"].reshape(len(t), k, 3, 3)
    force = np.einsum("tkij,tki->tkj", axes, p.reshape(len(t), k, 3)) / step
    u = seen["u"].reshape(len(t), k, 3)
    u[..., 1:] -= memory.held.reshape(len(t), k, 3)[..., 1:]  # at which those that roll are at rest in the mean
    velocity = np.einsum("tkij,tki->tkj", axes, u)
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
        np.array([law.friction for law in element.laws]),
    )


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def scene_contacts(
    programs: Programs, element: RigidContact, memory: Memory, t: np.ndarray, q: np.ndarray, e: np.ndarray, step: float
) -> Contacts:
    """Of contacts by number: those of all candidates, or, where these are very many, of those that came near."""
    system, seen = programs.system, SceneView(programs.system, element, memory)
    states = {"q": q, "v": system.layout.velocity(e), "h": np.full((len(t), 1), step)}
    found, k = seen.program(programs.identity)(states, (len(t),)), len(seen.names)
    axes = found["axes"].reshape(len(t), k, 3, 3)
    p, u = seen.by_candidate(memory.contacts, 3), found["u"].reshape(len(t), k, 3)
    u[..., 1:] -= seen.by_candidate(memory.held, 3)[..., 1:]
    friction = np.array([law.static_friction for law in laws_of(seen.patches)])
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
        np.array([law.friction for law in laws_of(seen.patches)]),
    )


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
