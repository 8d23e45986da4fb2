"""Parameters of a robot by name, such as "elbow.armature", among the live groups of rollouts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.quantities.live import FIELDS, GROUPS
from dalembert.robot import Robot

AXES = ("x", "y", "z")
ALONE = ("payload", "contact_friction")


class Chosen:
    """Parameters by name: where they lie among the live groups of a robot."""

    def __init__(self, robot: Robot, names: Sequence[str]) -> None:
        self.robot, self.names = robot, tuple(names)
        if not self.names or isinstance(names, str):
            raise DalembertError(f"fit: parameters is {names!r}, expected names such as ['elbow.armature']")
        if len(set(self.names)) < len(self.names):
            raise DalembertError(f"fit: parameters names {max(self.names, key=self.names.count)!r} twice")
        self.groups: dict[str, np.ndarray] = {}
        self.put: list[Callable[[dict[str, np.ndarray], np.ndarray], None]] = []
        self.own = np.array([self._found(name) for name in self.names])

    def _found(self, name: str) -> float:
        """The robot's own value of a parameter, whose place is noted."""
        model = self.robot.model
        if name in ALONE:
            self.groups[name] = np.zeros(1)
            self.put.append(partial(_put, name, slice(0, 1)))
            return 0.0 if name == "payload" else 0.6
        owner, _, what = name.partition(".")
        joints = [body.joint.name for body in model.bodies if body.joint.nv]
        if owner in joints and what in FIELDS:
            self.groups.setdefault(what, GROUPS[what].values(model))
            starts = np.cumsum([0, *(body.joint.nv for body in model.bodies)])
            k = model.joint(owner).index
            place = slice(int(starts[k]), int(starts[k + 1]))
            self.put.append(partial(_put, what, place))
            return float(np.mean(self.groups[what][place]))
        bodies = [body.name for body in model.bodies]
        if owner in bodies and (what == "mass" or what in [f"com.{axis}" for axis in AXES]):
            self.groups.setdefault("inertia", GROUPS["inertia"].values(model))
            row = slice(10 * bodies.index(owner), 10 * bodies.index(owner) + 10)
            mass, *moments = self.groups["inertia"][row][:4]
            if not mass > 0.0:
                raise DalembertError(f"fit: parameter {name!r}: body {owner!r} has no mass in the file")
            if what == "mass":
                self.put.append(partial(_scale_mass, row))
                return float(mass)
            axis = AXES.index(what[-1])
            self.put.append(partial(_move_center, row, axis))
            return float(moments[axis] / mass)
        known = [f"{joint}.{each}" for joint in joints for each in FIELDS]
        known += [f"{body}.{each}" for body in bodies for each in ("mass", "com.x", "com.y", "com.z")]
        raise unknown("parameter", name, [*known, *ALONE], "fit")

    def live(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Live groups (B, …) with the values x (B, n)."""
        groups = {name: np.repeat(values[None], len(x), axis=0) for name, values in self.groups.items()}
        for put, column in zip(self.put, x.T, strict=True):
            put(groups, column)
        return groups

    def robot_with(self, x: np.ndarray) -> Robot:
        """The robot with the values x (n,); payload and contact friction, which no model has, left out."""
        model = self.robot.model
        for name, values in self.live(x[None]).items():
            if name not in ALONE:
                model = GROUPS[name].put(model, values[0])
        return Robot(model, self.robot.import_log)

    def bounds(self, given: Mapping[str, Sequence[float]]) -> np.ndarray:
        """(n, 2): as stated, else 0 and more for what cannot be negative."""
        for name in given:
            if name not in self.names:
                raise unknown("parameter", name, self.names, "fit: bounds")
        rows = []
        for name in self.names:
            default = (-np.inf, np.inf) if ".com." in name else (0.0, np.inf)
            low, high = given.get(name, default)
            if not low < high:
                raise DalembertError(f"fit: bounds of {name!r} are {low!r} and {high!r}, expected low < high")
            rows.append((float(low), float(high)))
        return np.array(rows)


def _put(name: str, place: slice, groups: dict[str, np.ndarray], values: np.ndarray) -> None:
    groups[name][:, place] = values[:, None]


def _scale_mass(row: slice, groups: dict[str, np.ndarray], mass: np.ndarray) -> None:
    """Another density: centre of mass and radii of gyration stay."""
    rows = groups["inertia"][:, row]
    groups["inertia"][:, row] = rows * (mass / rows[:, 0])[:, None]


def _move_center(row: slice, axis: int, groups: dict[str, np.ndarray], place: np.ndarray) -> None:
    """Another centre of mass, with the same inertia about it."""
    rows = groups["inertia"][:, row].copy()
    mass, center = rows[:, :1], rows[:, 1:4] / rows[:, :1]
    moved = center.copy()
    moved[:, axis] = place
    for sign, c in ((-1.0, center), (1.0, moved)):
        squares = np.sum(c * c, axis=1)
        for k in range(3):
            rows[:, 4 + k] += sign * mass[:, 0] * (squares - c[:, k] ** 2)
        for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
            rows[:, 7 + k] -= sign * mass[:, 0] * c[:, i] * c[:, j]
    rows[:, 1:4] = mass * moved
    groups["inertia"][:, row] = rows
