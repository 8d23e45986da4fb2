"""Contacts in slots by number as a run reports them: in the order of candidates, with their geometry."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.contact.gathering import Motions, freedom_signs, points
from dalembert.contact.rows import tangent_frame
from dalembert.dynamics.algorithms import poses
from dalembert.math import map as mapped
from dalembert.spatial import cross

from ..elements.contact import Memory, RigidContact
from ..program import Program
from ..system.contact_step import step_of
from ..system.system import System

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
