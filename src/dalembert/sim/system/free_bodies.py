"""Mechanisms of free bodies: constant inertia along body axes, rows of closures between two bodies, sparse multipliers.

A body moves with the velocity V of its centre of mass in the world and its spin W along its own axes. Rows of a closure
are written along the axes of its frame a, for twists [W; Rᵀ V] along body axes, as they are where the closure is
closed:
then those of body a are mostly constants, and fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.linear import factor_entries, is_zero
from dalembert.model import Closure, Frame, JointEquation, Model
from dalembert.spatial import Pose, cross, so3

from ..elements.base import Element
from ..elements.bushing import Bushing, IndependentJoints

PARALLEL = ("weld", "prismatic")  # closures that keep the axes of their frames parallel
AXIAL = (*PARALLEL, "revolute", "cylindrical", "planar")  # closures that keep one axis of each along the other's
SHARED = 1e-6  # share by which diagonal entries grow where rows can depend on each other


@dataclass(frozen=True, eq=False)
class FreeBody:
    """One body: where it lies in q and v, its mass, centre of mass (3,) and inertia (3, 3) about it, in its axes."""

    index: int
    q: slice
    v: slice
    mass: float
    com: np.ndarray
    inertia: np.ndarray

    @cached_property
    def inverse(self) -> np.ndarray:
        """Of the inertia of twists [W; Rᵀ V] (6, 6)."""
        return _snapped(np.block([[np.linalg.inv(self.inertia), np.zeros((3, 3))],
                                  [np.zeros((3, 3)), np.eye(3) / self.mass]]))  # fmt: skip


class Held(NamedTuple):
    """A closure, and the compliance of its rows (count,) [m/N, rad/(N·m)], None where they do not give way."""

    closure: Closure
    compliance: np.ndarray | None


class Placed(NamedTuple):
    """Rotation (3, 3) and centre of mass (3,) of a body in the world."""

    R: np.ndarray
    x: np.ndarray


class ClosureRows(NamedTuple):
    """phi (k,), and body → rows J (k, 6) on its twist [W; Rᵀ V]."""

    phi: np.ndarray
    J: dict[int, np.ndarray]


class FreeBodies:
    """The free bodies of a model and what holds them together. Refuses models that are not made of free bodies."""

    def __init__(self, model: Model, elements: Sequence[Element], where: str, explicit: bool = False) -> None:
        """explicit: the rows are those of all joints held by springs, in their order; else those of closures, and of
        springs that are taken implicitly."""
        self.model = model
        self.bodies = {body.index: _free_body(model, body, where) for body in model.bodies if body.joint.nv}
        self.held = [Held(closure, None) for closure in _closures(model, where)]
        self.held += [
            Held(_placed_closure(element, model), 1.0 / np.array(element.stiffness))
            for element in elements
            if isinstance(element, Bushing) and (element.implicit or explicit)
        ]
        self.promised = any(isinstance(element, IndependentJoints) for element in elements)
        self.count = sum(held.closure.count for held in self.held)
        self.order = _order([held.closure for held in self.held])

    # ---- where the bodies are, and how they move

    def placed(self, q: np.ndarray) -> dict[int, Placed]:
        """Of every body; the ground, wherever it is named, is at rest in the world."""
        still = Placed(np.eye(3), np.zeros(3))
        places = {-1: still, **{body.index: still for body in self.model.bodies if not body.joint.nv}}
        for index, body in self.bodies.items():
            R = so3.from_quaternion(q[body.q][3:])
            places[index] = Placed(R, q[body.q][:3] + R @ body.com)
        return places

    def moved(self, q: np.ndarray, h: Any, velocity: np.ndarray, spin: np.ndarray) -> np.ndarray:
        """q (nq,) after h at constant V (3 n,) and W (3 n,): x + h V, and a turn by the axis-angle h W."""
        parts = []
        for k, body in enumerate(self.bodies.values()):
            p, quaternion = q[body.q][:3], q[body.q][3:]
            turned = _turned(quaternion, h * spin[3 * k : 3 * k + 3])
            shift = h * velocity[3 * k : 3 * k + 3]
            if np.any(body.com):
                shift = shift + (so3.from_quaternion(quaternion) - so3.from_quaternion(turned)) @ body.com
            parts.append(np.concatenate([p + shift, turned]))
        return np.concatenate(parts)

    def twists(self, places: dict[int, Placed], velocity: np.ndarray, spin: np.ndarray) -> np.ndarray:
        """v (nv,) as the model has it, of V and W."""
        parts = []
        for k, (index, body) in enumerate(self.bodies.items()):
            w = spin[3 * k : 3 * k + 3]
            parts.append(np.concatenate([w, places[index].R.T @ velocity[3 * k : 3 * k + 3] - cross(w, body.com)]))
        return np.concatenate(parts)

    def from_twists(self, places: dict[int, Placed], v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """V and W of v (nv,)."""
        linear, angular = [], []
        for index, body in self.bodies.items():
            w = v[body.v][:3]
            angular.append(w)
            linear.append(places[index].R @ (v[body.v][3:] + cross(w, body.com)))
        return np.concatenate(linear), np.concatenate(angular)

    # ---- what holds them

    def rows(self, places: dict[int, Placed]) -> list[ClosureRows]:
        """Of every closure."""
        return [self._rows(held.closure, places, held.compliance is not None) for held in self.held]

    def _rows(self, closure: Closure, places: dict[int, Placed], exact: bool) -> ClosureRows:
        """exact: also where the closure is open, as those that give way are."""
        K, L = closure.a, closure.b
        A, B = places[K.body], places[L.body]
        r_K, r_L = self._lever(K), self._lever(L)
        F_K, F_L = K.placement.R, L.placement.R
        between = F_K.T @ (A.R.T @ (B.x - A.x) + (A.R.T @ B.R) @ r_L - r_K)
        X = Pose(F_K.T @ (A.R.T @ B.R) @ F_L, between)
        X_a = Pose(np.eye(3), X.p) if closure.kind in AXIAL and not exact else X
        X_b = Pose(np.eye(3), X.p) if closure.kind in PARALLEL and not exact else X
        J: dict[int, np.ndarray] = {}
        if K.body in self.bodies:
            seen = [_twist(F_K, r_K, unit) for unit in np.eye(6)]
            if exact or not closure.coincident:
                seen = [np.concatenate([V[:3], V[3:] + cross(V[:3], X.p)]) for V in seen]
            J[K.body] = _zeros(np.array([closure.rate(X_a, -V) for V in seen]).T)
        if L.body in self.bodies:
            J[L.body] = _zeros(np.array([closure.rate_along_b(X_b, _twist(F_L, r_L, unit)) for unit in np.eye(6)]).T)
        return ClosureRows(closure.residual(X), J)

    def _lever(self, frame: Frame) -> np.ndarray:
        """From the centre of mass of its body to a frame (3,), in the body's axes; of the ground, its place."""
        return frame.placement.p - (self.bodies[frame.body].com if frame.body in self.bodies else 0.0)

    def impulses(self, rows: list[ClosureRows], wanted: np.ndarray, softness: np.ndarray | None) -> np.ndarray:
        """p (count,) with (J M⁻¹ Jᵀ + softness) p = wanted; softness (count,) or None.

        Where rows can depend on each other, every diagonal entry grows by the share SHARED: of all forces that do the
        same, those are found that are least in the metric of the diagonal.
        """
        starts = np.concatenate([[0], np.cumsum([len(each.phi) for each in rows])]).astype(int)
        diagonal: list[Any] = [0.0] * starts[-1]
        below: dict[tuple[int, int], Any] = {}
        for index, body in self.bodies.items():
            on_body = [(starts[k], each.J[index]) for k, each in enumerate(rows) if index in each.J]
            for n, (first, J) in enumerate(on_body):
                Y = J @ body.inverse
                for second, other in on_body[: n + 1]:
                    _add(diagonal, below, first, second, Y @ other.T)
        if softness is not None:
            diagonal = [a + c for a, c in zip(diagonal, softness, strict=True)]
        order = [int(row) for k in self.order for row in range(starts[k], starts[k + 1])]
        if not self.independent:
            diagonal = [(1.0 + SHARED) * x for x in diagonal]
        return factor_entries(diagonal, below, order).solve(wanted)

    def kicks(self, rows: list[ClosureRows], impulses: np.ndarray) -> dict[int, np.ndarray]:
        """Body → change of its twist [W; Rᵀ V] (6,) by impulses (count,) along all rows."""
        changes: dict[int, np.ndarray] = {}
        begin = 0
        for each in rows:
            part = impulses[begin : begin + len(each.phi)]
            begin += len(each.phi)
            for index, J in each.J.items():
                change = J.T @ part
                changes[index] = changes[index] + change if index in changes else change
        return {index: self.bodies[index].inverse @ change for index, change in changes.items()}

    @cached_property
    def compliance(self) -> np.ndarray | None:
        """Of every row (count,); None if no row gives way."""
        if all(held.compliance is None for held in self.held):
            return None
        return np.concatenate(
            [np.zeros(held.closure.count) if held.compliance is None else held.compliance for held in self.held]
        )

    @cached_property
    def independent(self) -> bool:
        """Whether no row can follow from others: without loops, or because it was promised."""
        if self.compliance is not None and np.all(self.compliance > 0.0):
            return True
        groups: dict[int, int] = {}

        def root(body: int) -> int:
            while groups.get(body, body) != body:
                body = groups[body]
            return body

        loops = False
        for held in self.held:
            a, b = (root(max(f.body, 0) if f.body in self.bodies else -1) for f in (held.closure.a, held.closure.b))
            loops = loops or a == b
            groups[b] = a
        return not loops or self.promised


# ---- parts


def _free_body(model: Model, body: Any, where: str) -> FreeBody:
    joint = body.joint
    what = f"{where}: integrator 'leapfrog' moves free bodies"
    base = model.bodies[0]
    on_ground = body.parent < 0 or (body.parent == 0 and not base.joint.nv)
    untouched = [body.placement, *([base.placement] if body.parent == 0 else [])]
    if joint.kind != "free" or not on_ground or any(np.any(X.matrix() != np.eye(4)) for X in untouched):
        raise DalembertError(
            f"{what}, and joint {joint.name!r} of robot {model.name!r} is {joint.kind}: build the mechanism with "
            "coordinates='free', or take another integrator"
        )
    for effect in ("armature", "damping", "friction", "stiffness"):
        if np.any(getattr(joint, effect)):
            raise DalembertError(f"{what}: joint {joint.name!r} has {effect}: use an element in its place")
    inertia = body.inertia
    if inertia.moment.dtype == object:
        raise DalembertError(f"{what}, of constant inertia: it takes no live parameters")
    moments = inertia.about_com()
    if not inertia.mass > 0.0 or np.linalg.eigvalsh(moments)[0] <= 1e-12 * np.max(np.abs(moments)):
        missing = "no inertia about one of its axes" if inertia.mass > 0.0 else "no mass"
        raise DalembertError(
            f"{what}, and {body.name!r} has {missing}: give it some, or build the mechanism with coordinates='tree'"
        )
    return FreeBody(body.index, body.q, body.v, float(inertia.mass), _snapped(inertia.com), _snapped(moments))


def _closures(model: Model, where: str) -> list[Closure]:
    for closure in model.closures:
        if isinstance(closure, JointEquation):
            raise DalembertError(
                f"{where}: integrator 'leapfrog' holds free bodies, and {closure.kind} {closure.name!r} ties joint "
                "coordinates: take another integrator"
            )
    return [closure for closure in model.closures if not isinstance(closure, JointEquation)]


def _placed_closure(element: Bushing, model: Model) -> Closure:
    return replace(element.closure, a=model.frame(element.frame), b=model.frame(element.other))


def _order(closures: list[Closure]) -> list[int]:
    """Minimum degree over the graph of closures; of equals the one that waits least, as of a chain both ends."""
    on: dict[int, set[int]] = {}
    for k, closure in enumerate(closures):
        for frame in (closure.a, closure.b):
            on.setdefault(frame.body, set()).add(k)
    near = [set().union(*(on[f.body] for f in (c.a, c.b) if f.body > 0)) - {k} for k, c in enumerate(closures)]
    left, depth, order = set(range(len(closures))), [0] * len(closures), []
    while left:
        k = min(left, key=lambda i: (sum(closures[j].count for j in near[i]), depth[i], i))
        left.discard(k)
        order.append(k)
        for i in near[k]:
            near[i] = (near[i] | near[k]) - {i, k}
            depth[i] = max(depth[i], depth[k] + 1)
    return order


def _twist(R: np.ndarray, lever: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """The motion of a frame at its origin, along its axes, for a twist of its body at the centre of mass."""
    return np.concatenate([R.T @ unit[:3], R.T @ (unit[3:] + cross(unit[:3], lever))])


def _add(diagonal: list[Any], below: dict[tuple[int, int], Any], first: int, second: int, block: np.ndarray) -> None:
    for (i, j), value in np.ndenumerate(block):
        row, column = int(first + i), int(second + j)
        if row == column:
            diagonal[row] = diagonal[row] + value
        elif (first != second or j < i) and not is_zero(value):
            below[row, column] = below[row, column] + value if (row, column) in below else value


def _turned(quaternion: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """A unit quaternion after a turn [rad] along the body's axes: a series, exact to 1e-15 up to half a radian."""
    s = 0.25 * (turn @ turn)
    cosine = 1.0 + s * (-1 / 2 + s * (1 / 24 + s * (-1 / 720 + s * (1 / 40320 - s / 3628800))))
    sine = 0.5 * (1.0 + s * (-1 / 6 + s * (1 / 120 + s * (-1 / 5040 + s / 362880))))
    w, u, x = quaternion[0], quaternion[1:], sine * turn
    turned = np.concatenate([[cosine * w - u @ x], cosine * u + w * x + cross(u, x)])
    return turned * (1.5 - 0.5 * (turned @ turned))


def _snapped(x: np.ndarray) -> np.ndarray:
    """Numbers that are round-off beside the largest one made 0, so that they fold."""
    x = np.asarray(x, float)
    return np.where(np.abs(x) <= 1e-14 * np.max(np.abs(x), initial=0.0), 0.0, x)


def _zeros(J: np.ndarray) -> np.ndarray:
    """Constant entries that are round-off made 0."""
    return _snapped(J) if J.dtype != object else np.array(
        [[0.0 if is_zero(x) else x for x in row] for row in J], object
    )  # fmt: skip
