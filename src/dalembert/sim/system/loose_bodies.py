"""Loose bodies of a scene, looped over: what drifts, what forces make of it in a step, and what impulses change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.contact.bounds import body_radius, possible_motion
from dalembert.linear import Columns, nonzeros
from dalembert.math import map as mapped
from dalembert.model import Body
from dalembert.spatial import cross, so3

from .drift import loose_drift

if TYPE_CHECKING:
    from .system import Applied, System

MOTION = Columns(centre=(3,), light=(), mobility=(6,), before=(6,), kick=(6,))  # of a row: see `Moving`
HALF = np.triu_indices(3)  # of a symmetric matrix


class Side:
    """One of the two bodies of a contact; a row of zeros is one that does not move."""

    def __init__(self, row: np.ndarray, axes: np.ndarray, position: np.ndarray, about: tuple[int, ...]) -> None:
        motion = MOTION.named(row)
        xx, xy, xz, yy, yz, zz = motion["mobility"]
        inverse = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        r = position - motion["centre"]
        self.light = motion["light"]
        self.levers = np.array([cross(r, axis) for axis in axes])
        self.turns = np.array([inverse @ lever for lever in self.levers])
        self.spins = np.array([inverse @ axes[k] for k in about]).reshape(len(about), 3)
        self.before, self.kick = (self._velocity(axes, motion[name], about) for name in ("before", "kick"))

    def _velocity(self, axes: np.ndarray, velocity: np.ndarray, about: tuple[int, ...]) -> np.ndarray:
        """(3 + m,) along and about the axes, of a velocity and an angular velocity (6,) of the body."""
        along = axes @ velocity[:3] + self.levers @ velocity[3:]
        return np.concatenate([along, [axes[k] @ velocity[3:] for k in about]])


class Moving(NamedTuple):
    """Bodies in the middle of a step: placed (n + 1, 13), later (n + 1, 12) as `Scene.touching` takes them.

    motion (n, 22): rows of `MOTION`: centre of mass, 1/mass, inverse inertia (xx xy xz yy yz zz), velocity and angular
    velocity, and what all forces but contact add to both. inertia (n, 7): mass, and inertia about the centre of mass,
    as its inverse.
    """

    placed: np.ndarray
    later: np.ndarray
    motion: np.ndarray
    inertia: np.ndarray

    @property
    def before(self) -> np.ndarray:
        """(n, 6): velocities and angular velocities before the step."""
        return MOTION.named(self.motion)["before"]

    def later_pushed(self, h: Any) -> np.ndarray:
        """Poses (n, 12) after a step of h [s] under all forces but contact."""
        moves = h * MOTION.named(self.motion)["kick"][:, :3]
        return np.concatenate([self.later[:-1, :9], self.later[:-1, 9:] + moves], axis=1)

    def changes(self, w: np.ndarray) -> np.ndarray:
        """(n, 6) of velocities in the step, by contacts w (n, 6) and all other forces."""
        return MOTION.named(self.motion)["kick"] + w


class LooseBodies:
    """The bodies that are looped over."""

    def __init__(self, system: System, bodies: Sequence[Body]) -> None:
        self.system, self.bodies, self.model = system, bodies, system.model
        self.q, self.v = [body.q for body in bodies], [body.v for body in bodies]
        inertias = [body.inertia.about_com() for body in bodies]
        self.isotropic = all(np.array_equal(x, x[0, 0] * np.eye(3)) for x in inertias)
        self.constants = {
            "com": np.array([body.inertia.com for body in bodies]),
            "inertia": np.array(inertias),
            "inverse": np.array([np.linalg.inv(x) for x in inertias]),
        }

    def _by_body(self, x: np.ndarray, places: list[slice]) -> np.ndarray:
        return np.array([x[place] for place in places])

    def drifted(
        self, q: np.ndarray, v: np.ndarray, h: Any, more: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """q, v after a time h without forces; more (nv,): how bodies turn and move beside that, along their axes."""

        def one(com: Any, inertia: Any, inverse: Any, q: Any, v: Any, *more: Any) -> dict[str, Any]:
            extra = more[0] if more else np.zeros(6)
            place, velocity = loose_drift(com, inertia, inverse, self.isotropic, q, v, h, extra)
            return {"q1": place, "v1": velocity}

        items = self.constants | {"q": self._by_body(q, self.q), "v": self._by_body(v, self.v)}
        items |= {} if more is None else {"more": self._by_body(more, self.v)}
        after = mapped(one, items)
        q1, v1 = q.astype(object), v.astype(object)
        for k, (of_q, of_v) in enumerate(zip(self.q, self.v, strict=True)):
            q1[of_q], v1[of_v] = after["q1"][k], after["v1"][k]
        return q1, v1

    def moving(self, q: np.ndarray, v: np.ndarray, h: Any, applied: Applied) -> Moving:
        """All bodies at q, v under forces."""
        forces = np.zeros((len(self.v), 6), object)
        for k, body in enumerate(self.bodies):
            forces[k] = applied.forces[body.v]
            if body.index in applied.wrenches:
                forces[k] = forces[k] + applied.wrenches[body.index]
        pushed = bool(nonzeros(forces).any())

        def one(
            com: Any, inertia: Any, inverse: Any, mass: Any, radius: Any, q: Any, v: Any, *force: Any
        ) -> dict[str, Any]:
            R = so3.from_quaternion(q[3:])
            spin, velocity = R @ v[:3], R @ (v[3:] + cross(v[:3], com))
            mobility, inertia = R @ inverse @ R.T, R @ inertia @ R.T
            kick, turn = h * self.model.gravity, np.zeros(3)
            if force:
                (wrench,) = force
                kick = kick + (h / mass) * (R @ wrench[3:])
                turn = h * (mobility @ (R @ (wrench[:3] - cross(com, wrench[3:]))))
            ahead = possible_motion(h, velocity, spin, radius)
            motion = MOTION.row(
                centre=q[:3] + R @ com,
                light=1.0 / mass,
                mobility=mobility[HALF],
                before=np.concatenate([velocity, spin]),
                kick=np.concatenate([kick, turn]),
            )
            placed = np.array([*R.ravel(), *q[:3], ahead])
            turned = R @ so3.exp(h * v[:3])
            later = np.array([*turned.ravel(), *(q[:3] + R @ com + h * velocity - turned @ com)])
            inertias = np.array([mass, *inertia[HALF]])
            return {"placed": placed, "later": later, "motion": motion, "inertia": inertias}

        items = self.constants | {
            "mass": np.array([body.inertia.mass for body in self.bodies]),
            "radius": np.array([body_radius(body) for body in self.bodies]),
            "q": self._by_body(q, self.q),
            "v": self._by_body(v, self.v),
        }
        moving = mapped(one, items | ({"force": forces} if pushed else {}))
        world = np.array([[*np.eye(3).ravel(), 0.0, 0.0, 0.0, 0.0]])
        placed, later = np.concatenate([moving["placed"], world]), np.concatenate([moving["later"], world[:, :-1]])
        return Moving(placed, later, moving["motion"], moving["inertia"])

    def moved_back(self, q: np.ndarray, times: np.ndarray, w: np.ndarray) -> np.ndarray:
        """(nv,): how bodies turn and move along their axes, back along w (n, 6) by times (n,) [s]: see `meeting`.

        With the same angular momentum, a body that is turned has another energy, unless its inertia is the same about
        all axes: others are only moved.
        """

        def one(q: Any, time: Any, w: Any) -> dict[str, Any]:
            R = so3.from_quaternion(q[3:])
            turn = R.T @ (-time * w[3:]) if self.isotropic else np.zeros(3)
            return {"more": np.concatenate([turn, R.T @ (-time * w[:3])])}

        rows = mapped(one, {"q": self._by_body(q, self.q), "time": times, "w": w})["more"]
        more = np.zeros(self.model.nv, object)
        for place, row in zip(self.v, rows, strict=True):
            more[place] = row
        return more

    def changed(self, q: np.ndarray, v: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """v (nv,) with changes (n, 6) of velocities of centres of mass and of angular velocities, along world axes."""

        def one(com: Any, q: Any, v: Any, change: Any) -> dict[str, Any]:
            R = so3.from_quaternion(q[3:])
            spin = R.T @ change[3:]
            return {"v": v + np.concatenate([spin, R.T @ change[:3] - cross(spin, com)])}

        items = {"com": self.constants["com"], "q": self._by_body(q, self.q), "v": self._by_body(v, self.v)}
        rows = mapped(one, items | {"change": changes})["v"]
        v1 = v.astype(object)
        for place, row in zip(self.v, rows, strict=True):
            v1[place] = row
        return v1
