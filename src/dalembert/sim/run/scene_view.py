"""Contacts of a scene of loose bodies as a run reports them: in the order of candidates, with their geometry."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algorithms import poses
from dalembert.contact.gathering import points
from dalembert.contact.rows import tangent_frame
from dalembert.contact.scene import scene_of
from dalembert.math import map as mapped
from dalembert.spatial import cross

from ..elements.contact import Memory, RigidContact
from ..program import Program
from ..system.scene_step import LooseBodies
from ..system.system import System

ALL = 4000  # candidates up to which all of them are reported


class SceneView:
    """Which candidates of a scene a run reports: all, or those that came near at one of its times."""

    def __init__(self, system: System, element: RigidContact, memory: Memory) -> None:
        self.system, self.memory = system, memory
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
        """What slots hold (n, k width) in the order of the candidates (n, candidates, width)."""
        n = len(x)
        rows = np.zeros((n, len(self.names) + 1, width))
        places = self.column[self.memory.numbers.astype(int) - 1]
        rows[np.arange(n)[:, None], places] = x.reshape(n, -1, width)
        return rows[:, :-1]

    def program(self, identity: str | None) -> Program:
        """gap and position at q; axes and velocities where the last step took them, half a step before."""
        model, k = self.system.model, len(self.names)
        bodies = LooseBodies(self.system, scene_of(model, self.patches))
        owners = [patch for patch in self.patches for _ in patch.names]

        def compute(q: Any, v: Any, h: Any) -> dict[str, Any]:
            here = points(self.patches, poses(model, q))
            before, v_before = bodies.drifted(q, v, -0.5 * h[0])
            X = poses(model, before)
            moving = {body.index: _motion(X[body.index], v_before[body.v]) for body in bodies.scene.loose}
            still = np.zeros(9)
            found = points(self.patches, X)

            def one(position: Any, normal: Any, a: Any, b: Any) -> dict[str, Any]:
                axes = tangent_frame(normal)
                return {"axes": axes, "u": axes @ (_velocity(a, position) - _velocity(b, position))}

            sides = [np.array([moving.get(getattr(p, side), still) for p in owners]) for side in ("first", "second")]
            items = {"position": found.position, "normal": found.normal, "a": sides[0], "b": sides[1]}
            rows = mapped(one, items)
            position = here.position.reshape(-1)
            return {"gap": here.gap, "position": position, "axes": rows["axes"].reshape(-1), "u": rows["u"].reshape(-1)}

        shapes = {"gap": (k,), "position": (3 * k,), "axes": (9 * k,), "u": (3 * k,)}
        sizes = {"q": model.nq, "v": model.nv, "h": 1}
        known = None if identity is None or not self.every else f"scene contacts {identity}"
        return Program("contacts", known, sizes, shapes, compute)


def _motion(X: Any, v: np.ndarray) -> np.ndarray:
    """Angular velocity, velocity of the origin, and the origin (9,), along the axes of the world."""
    return np.concatenate([X.R @ v[:3], X.R @ v[3:], X.p])


def _velocity(motion: np.ndarray, position: np.ndarray) -> np.ndarray:
    return motion[3:6] + cross(motion[:3], position - motion[6:])
