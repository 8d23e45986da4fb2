"""How one contact moves joints and loose bodies, and how fast these move it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear.zeros import sparse_product

SIZE = 6  # numbers of a loose body: velocity of its centre of mass and angular velocity


class Moved(NamedTuple):
    """Coordinates of joints (n,), and rows (b, 6) of loose bodies: of all, or of those that one contact moves."""

    joints: np.ndarray
    bodies: np.ndarray

    @classmethod
    def split(cls, w: np.ndarray, n: int) -> Moved:
        """Parts of a vector (n + 6 b,)."""
        return cls(w[:n], w[n:].reshape(-1, SIZE))

    def flat(self) -> np.ndarray:
        """All numbers in one vector."""
        return np.concatenate([self.joints, self.bodies.ravel()])


class Side(NamedTuple):
    """A block of c numbers that a contact moves, for its three axes and m moments.

    J (3 + m, c): velocities along and about the axes per velocity of the block. Y (3 + m, c): changes of the block by
    unit impulses; X (3 + m, c): velocities per unit of these changes, which is J where Y changes velocities.
    """

    J: np.ndarray
    X: np.ndarray
    Y: np.ndarray


class Motion:
    """How one contact moves joints, or a loose body, or both."""

    def __init__(self, joints: Side | None, bodies: Sequence[Side] = ()) -> None:
        self.joints, self.bodies = joints, bodies

    def velocity(self, at: Moved) -> np.ndarray:
        """(3 + m,) along and about the axes."""
        return self._product(at, lambda side: side.X)

    def rate(self, at: Moved) -> np.ndarray:
        """(3 + m,) along and about the axes, where `at` is velocities."""
        return self._product(at, lambda side: side.J)

    def along(self, at: Moved) -> np.ndarray:
        """Velocities (3,) along the axes; what changed last comes last in the sums."""
        return self._product(at, lambda side: side.X[:3, ::-1], slice(None, None, -1))

    def about(self, at: Moved, i: int) -> Any:
        """Angular velocity about the axis of row i."""
        return self._product(at, lambda side: side.X[[i]])[0]

    def moved(self, at: Moved, p: np.ndarray) -> Moved:
        """State after impulses p (3 + m,)."""
        return self._changed(at, lambda side: sparse_product(side.Y.T, p))

    def pushed(self, at: Moved, p: np.ndarray) -> Moved:
        """State after impulses p (3,) along the axes."""
        return self._changed(at, lambda side: sparse_product(side.Y[:3].T, p))

    def turned(self, at: Moved, i: int, moment: Any) -> Moved:
        """State after a moment about the axis of row i."""
        return self._changed(at, lambda side: side.Y[i] * moment)

    def forced(self, at: Moved, p: np.ndarray) -> Moved:
        """State with Jᵀ p added."""
        joints = at.joints if self.joints is None else at.joints + sparse_product(self.joints.J.T, p)
        rows = [row + J.T @ p for row, J in zip(at.bodies, self.sides(), strict=True)]
        return Moved(joints, np.array(rows) if rows else at.bodies)

    def sides(self) -> list[np.ndarray]:
        """J (3 + m, 6) of each loose body."""
        return [side.J for side in self.bodies]

    def alone(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocities along the axes per impulse along them (3, 3), and about each axis per moment about it (m,)."""
        sides = [*([] if self.joints is None else [self.joints]), *self.bodies]
        W = sum(sparse_product(side.X[:3], side.Y[:3].T) for side in sides)
        rows = range(3, len(sides[0].X))
        gains = [sum(sparse_product(side.X[[i]], side.Y[i])[0] for side in sides) for i in rows]
        return np.asarray(W), np.array(gains).reshape(-1)

    def _product(self, at: Moved, matrix: Callable[[Side], np.ndarray], order: slice = slice(None)) -> np.ndarray:
        parts = [] if self.joints is None else [sparse_product(matrix(self.joints), at.joints[order])]
        pairs = zip(self.bodies, at.bodies, strict=True)
        return np.asarray(sum([*parts, *(sparse_product(matrix(side), row[order]) for side, row in pairs)]))

    def _changed(self, at: Moved, change: Callable[[Side], np.ndarray]) -> Moved:
        joints = at.joints if self.joints is None else at.joints + change(self.joints)
        rows = [row + change(side) for side, row in zip(self.bodies, at.bodies, strict=True)]
        return Moved(joints, np.array(rows) if rows else at.bodies)


class PairMotion(Motion):
    """How a contact moves two loose bodies, with fewer operations than two sides; see `PairContacts`."""

    def __init__(self, about: tuple[int, ...], axes: np.ndarray, **sides: Any) -> None:
        super().__init__(None)
        self.turning, self.axes = about, axes
        names = "levers", "turns", "light", "spins"
        self.levers, self.turns, self.light, self.spins = ([sides[f"{x}_a"], sides[f"{x}_b"]] for x in names)

    def velocity(self, at: Moved) -> np.ndarray:
        """(3 + m,) along and about the axes."""
        return np.concatenate([self.along(at), [self.about(at, i) for i in range(3, 3 + len(self.turning))]])

    rate = velocity

    def along(self, at: Moved) -> np.ndarray:
        """Velocities (3,) along the axes."""
        a, b = at.bodies
        along = self.axes @ (a[:3] - b[:3]) + self.levers[0] @ a[3:] - self.levers[1] @ b[3:]
        return np.asarray(along)

    def about(self, at: Moved, i: int) -> Any:
        """Angular velocity about the axis of row i."""
        a, b = at.bodies
        return self.axes[self.turning[i - 3]] @ (a[3:] - b[3:])

    def moved(self, at: Moved, p: np.ndarray) -> Moved:
        """State after impulses p (3 + m,)."""
        at = self.pushed(at, p[:3])
        for i in range(3, len(p)):
            at = self.turned(at, i, p[i])
        return at

    def pushed(self, at: Moved, p: np.ndarray) -> Moved:
        """State after impulses p (3,) along the axes."""
        push, rows = self.axes.T @ p, []
        for row, sign, light, turns in zip(at.bodies, (1.0, -1.0), self.light, self.turns, strict=True):
            rows.append(np.concatenate([row[:3] + (sign * light) * push, row[3:] + sign * (turns.T @ p)]))
        return Moved(at.joints, np.array(rows))

    def turned(self, at: Moved, i: int, moment: Any) -> Moved:
        """State after a moment about the axis of row i."""
        sides = zip(at.bodies, (1.0, -1.0), self.spins, strict=True)
        rows = [np.concatenate([row[:3], row[3:] + sign * (spins[i - 3] * moment)]) for row, sign, spins in sides]
        return Moved(at.joints, np.array(rows))

    def sides(self) -> list[np.ndarray]:
        """J (3 + m, 6) of both bodies."""
        first, second = (np.concatenate([self.axes, levers], axis=1) for levers in self.levers)
        turns = np.array([[0.0, 0.0, 0.0, *self.axes[k]] for k in self.turning]).reshape(-1, SIZE)
        return [np.concatenate([first, turns]), np.concatenate([-second, -turns])]

    def alone(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocities per impulse (3, 3) and per moment (m,)."""
        pairs = zip(self.levers, self.turns, strict=True)
        W = sum(self.light) * np.eye(3) + sum(levers @ turns.T for levers, turns in pairs)
        both = zip(self.turning, *self.spins, strict=True)
        return W, np.array([self.axes[k] @ (a + b) for k, a, b in both]).reshape(-1)
