"""Contacts of robots with many shapes: in every state the points that touch are gathered into slots.

Pairs of shapes of one kind are a loop. A first one over all pairs lists those whose capsules meet (`bound`); a second
one over these writes the points within their margin to the next free slots. So the size of the code does not grow with
the number of pairs, and most of the cost of a step grows with that of contacts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.contact.gathering import Motions, freedom_signs, number_of, tied
from dalembert.math import lookup, visit, where
from dalembert.math import map as mapped
from dalembert.model import Model
from dalembert.spatial import Pose, cross

from .candidates import MujocoPatch
from .groups import SLOTS, WIDTH, group_of, kind_of, pose_table
from .rows import Contacts, contact_numbers, contact_springs, impedance


class Slots(NamedTuple):
    """Contacts in k slots, of which `count` are taken: pair (k,) and point (k,), their numbers; distance (k,) [m].

    position (k, 3); axes (k, 3, 3), rows normal and two tangents. overfull: whether there were more.
    """

    pair: np.ndarray
    point: np.ndarray
    distance: np.ndarray
    position: np.ndarray
    axes: np.ndarray
    count: Any
    overfull: Any


class MujocoGathering:
    """Pairs of shapes of a model, by kind."""

    def __init__(self, model: Model, patches: Sequence[MujocoPatch]) -> None:
        self.model, self.patches = model, patches
        self.first_points = np.cumsum([0, *(len(patch.names) for patch in patches)])
        groups: dict[Any, list[int]] = {}
        for k, patch in enumerate(patches):
            groups.setdefault(kind_of(patch), []).append(k)
        self.groups = [group_of(model, patches, members, self.first_points) for members in groups.values()]
        self.turning = tuple(range(max(patch.parameters.condim for patch in patches) - 3))

    def __len__(self) -> int:
        """Points in all."""
        return int(self.first_points[-1])

    @cached_property
    def signs(self) -> np.ndarray:
        """(pairs, freedoms): 1 where a freedom moves the first body of a pair, −1 the second."""
        return freedom_signs(self.model, [(patch.first, patch.second) for patch in self.patches])

    @cached_property
    def pattern(self) -> np.ndarray:
        """(nv, nv): whether some pair ties two velocities together."""
        return tied(self.model, self.signs)

    def slots(self, X: Sequence[Pose]) -> Slots:
        """Return all contacts with the bodies at X."""
        k, bodies = min(SLOTS, len(self)), len(X) + 1
        table, count = np.concatenate([pose_table(X), np.zeros((k, WIDTH))]), 0.0
        for group in self.groups:
            table, count = group.gathered(group.near(X), table, count, bodies)
        rows = table[bodies:]
        first, second = rows[:, 6:9], rows[:, 9:12]
        third = mapped(lambda a, b: {"across": cross(a, b)}, {"a": first, "b": second}, count)["across"]
        axes = np.stack([first, second, third], axis=1)
        overfull = where(count > float(k), 1.0, 0.0)
        return Slots(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3:6], axes, count, overfull)

    def contacts(
        self, slots: Slots, motions: Motions, v: np.ndarray, cone: str, impratio: float, shortest: float
    ) -> Contacts:
        """Return constraints of contacts in slots: see `rows`."""
        parameters = _Parameters(self.patches, cone, shortest)

        def one(pair: Any, distance: Any, position: Any, axes: Any) -> dict[str, Any]:
            J = motions.rows(lookup(self.signs, pair), axes, position, self.turning)
            depth = distance - parameters.value("margin", pair)
            springs = [parameters.value(name, pair) for name in ("stiffness", "damping", "sliding_damping")]
            friction = [parameters.value(f"friction {j}", pair) for j in range(len(J) - 1)]
            d, weight = parameters.impedance(pair, depth), parameters.value("weight", pair)
            numbers = contact_numbers(cone, impratio, friction, J @ v, depth, springs, d, weight)
            return {"J": J} | numbers

        items = {"pair": slots.pair, "distance": slots.distance, "position": slots.position, "axes": slots.axes}
        rows = mapped(one, items, slots.count)
        return Contacts(cone, **rows, count=slots.count, pattern=self.pattern)

    def points(self, X: Sequence[Pose]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Distance (n,), position (n, 3) and normal (n, 3) of all points with the bodies at X."""
        rows = np.zeros((len(self), 7), object)
        for group in self.groups:
            for k, of_pair in zip(group.members, group.all_points(X), strict=True):
                rows[self.first_points[k] : self.first_points[k + 1]] = of_pair
        return rows[:, 0], rows[:, 1:4], rows[:, 4:]

    def velocities(self, motions: Motions, position: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(n, 3): how fast the first body of each point moves past the second, in world axes [m/s]."""
        twists = motions.twists(v)
        owners = [patch for patch in self.patches for _ in patch.names]
        relative = np.array([twists[p.first] - twists[p.second] for p in owners])

        def one(position: Any, twist: Any) -> dict[str, Any]:
            return {"velocity": twist[3:] + cross(twist[:3], position - motions.reference)}

        return mapped(one, {"position": position, "twist": relative})["velocity"]

    def by_point(self, slots: Slots, forces: np.ndarray) -> np.ndarray:
        """(n, 3): forces (k, 3) along the axes of slots, in world axes at the points that they are of."""

        def one(_: Any, point: Any, axes: Any, force: Any) -> dict[str, Any]:
            return {"to": np.array([point]), "rows": (axes.T @ force)[None]}

        items = {"point": slots.point, "axes": slots.axes, "force": forces}
        return visit(one, items, np.zeros((len(self), 3)), count=slots.count)["table"]


class _Parameters:
    """Parameters of all pairs, by number; what is the same for all is a constant."""

    def __init__(self, patches: Sequence[MujocoPatch], cone: str, shortest: float) -> None:
        self.softness = list(dict.fromkeys(patch.parameters.softness for patch in patches))
        self.columns: dict[str, Sequence[float]] = {
            "softness": [float(self.softness.index(p.parameters.softness)) for p in patches],
            "margin": [p.parameters.margin for p in patches],
            "weight": [p.linear for p in patches],
        }
        springs = [contact_springs(p.parameters, cone, shortest) for p in patches]
        for name, values in zip(("stiffness", "damping", "sliding_damping"), zip(*springs, strict=True), strict=True):
            self.columns[name] = values
        for j in range(5):
            sizes = [p.parameters.friction[j] if j < p.parameters.condim - 1 else 0.0 for p in patches]
            self.columns[f"friction {j}"] = sizes

    def value(self, name: str, pair: Any) -> Any:
        return number_of(self.columns[name], pair)

    def impedance(self, pair: Any, depth: Any) -> Any:
        """d(r) of the softness of a pair."""
        kind, d = self.value("softness", pair), impedance(self.softness[0], depth)
        for k, softness in enumerate(self.softness[1:], 1):
            d = where(kind == float(k), impedance(softness, depth), d)
        return d
