"""How one contact moves its two bodies, and the block of it alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.math import where

from .cones import contact_block


class ContactMotion:
    """How one contact moves its two bodies; see `body_impulses.BodyContacts`."""

    def __init__(
        self,
        about: tuple[int, ...],
        numbers: np.ndarray,
        axes: np.ndarray,
        levers_a: np.ndarray,
        levers_b: np.ndarray,
        turns_a: np.ndarray,
        turns_b: np.ndarray,
        light_a: Any,
        light_b: Any,
        spins_a: Any = (),
        spins_b: Any = (),
    ) -> None:
        self.about, self.numbers, self.axes, self.light = about, numbers, axes, (light_a, light_b)
        self.levers, self.turns, self.spins = (levers_a, levers_b), (turns_a, turns_b), (spins_a, spins_b)

    def sides(self) -> list[np.ndarray]:
        """(3 + m, 6) of each of the two bodies: velocities along and about the axes per velocity of the body."""
        first, second = (np.concatenate([self.axes, levers], axis=1) for levers in self.levers)
        turns = np.array([[0.0, 0.0, 0.0, *self.axes[k]] for k in self.about]).reshape(-1, 6)
        return [np.concatenate([first, turns]), np.concatenate([-second, -turns])]

    def velocity(self, rows: np.ndarray) -> np.ndarray:
        """(3 + m,) of two bodies' velocities (2, 6)."""
        a, b = rows
        along = self.axes @ (a[:3] - b[:3]) + self.levers[0] @ a[3:] - self.levers[1] @ b[3:]
        return np.concatenate([along, [self.axes[k] @ (a[3:] - b[3:]) for k in self.about]])

    def moved(self, rows: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The rows (2, 6) after impulses p (3 + m,)."""
        push = self.axes.T @ p[:3]
        sides = []
        for row, sign, light, turns, spins in zip(rows, (1.0, -1.0), self.light, self.turns, self.spins, strict=True):
            turn = turns.T @ p[:3]
            for j in range(len(self.about)):
                turn = turn + spins[j] * p[3 + j]
            sides.append(np.concatenate([row[:3] + (sign * light) * push, row[3:] + sign * turn]))
        return np.array(sides)


def motion_block(
    axes: Any, levers_a: Any, levers_b: Any, turns_a: Any, turns_b: Any, light_a: Any, light_b: Any
) -> Any:
    """The block of a contact, by name in the order of `Block`; one that moves nothing gets a block that has slopes."""
    W = (light_a + light_b) * np.eye(3) + levers_a @ turns_a.T + levers_b @ turns_b.T
    return contact_block(W + where(light_a + light_b > 0.0, 0.0, 1.0) * np.eye(3))._asdict()
