"""Contacts of links of robots, each of which moves one loose body or none, and all joints: see `crowd`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.math import map, where

from .body_impulses import Sweeps
from .cones import contact_block

SIZE = 6  # numbers of a row


class LinkContacts(NamedTuple):
    """Table of k contacts of links, the first `count`, with m axes of friction about them.

    loose (k,): the row of the loose body that a link meets; −1 where it meets none. J, Y (k, 3 + m, 6):
    velocities along the axes, and about them, per velocity of that body, and what unit impulses change of it. B (k,
    3 + m, 6 r): both of joints. reach (k, m) [m], c (k, 3 + m), mu (k,), about: as of `BodyContacts`.
    """

    loose: np.ndarray
    J: np.ndarray
    Y: np.ndarray
    B: np.ndarray
    reach: np.ndarray
    c: np.ndarray
    mu: np.ndarray
    about: tuple[int, ...]
    count: Any
    group: Any = None  # all of them move joints


class LinkMotion:
    """How one contact of a link moves a loose body, and joints."""

    def __init__(self, numbers: np.ndarray, J: np.ndarray, Y: np.ndarray, B: np.ndarray) -> None:
        self.numbers, self.J, self.Y, self.B = numbers, J, Y, B

    def velocity(self, rows: np.ndarray) -> np.ndarray:
        """(3 + m,) of the velocities of its rows."""
        return self.J @ rows[0] + self.B @ rows[1:].ravel()

    def moved(self, rows: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The rows after impulses p (3 + m,)."""
        joints = rows[1:] + (self.B.T @ p).reshape(-1, SIZE)
        return np.concatenate([(rows[0] + self.Y.T @ p)[None], joints])

    def sides(self) -> list[np.ndarray]:
        """(3 + m, 6) of each row that it moves: velocities along and about the axes per velocity of the row."""
        return [self.J, *np.split(self.B, self.B.shape[1] // SIZE, axis=1)]


class LinkSweeps(Sweeps):
    """Sweeps over contacts of links; rows: of the table, those of joints first."""

    def __init__(self, contacts: LinkContacts, rows: int, tolerance: Any, finer: Any) -> None:
        self.bodies, self.tolerance, self.finer = rows, tolerance, finer
        self.links, self.contacts = contacts, contacts  # type: ignore[assignment]
        joints = contacts.B.shape[2] // SIZE
        numbers = np.tile(np.arange(float(joints)), (len(contacts.mu), 1))
        self.at = np.concatenate([contacts.loose[:, None], numbers], axis=1)
        self.motion = {"numbers": self.at, "J": contacts.J, "Y": contacts.Y, "B": contacts.B}
        self.blocks = map(_block, {"J": contacts.J, "Y": contacts.Y, "B": contacts.B}, contacts.count)
        self.sizes = self.blocks["size"]
        if contacts.about:
            self.gains = self.blocks.pop("gains")
            self.sizes = np.concatenate([self.sizes, self.gains], axis=1)

    def motion_of(self, **motion: Any) -> Any:
        """How one contact moves a loose body and joints, from its rows of `motion`."""
        return LinkMotion(**motion)


def _block(J: Any, Y: Any, B: Any) -> dict[str, Any]:
    """The block of a contact, and velocities per moment about its axes; one that moves nothing gets a block as well."""
    W = J[:3] @ Y[:3].T + B[:3] @ B[:3].T
    W = W + where(W[0, 0] + W[1, 1] + W[2, 2] > 0.0, 0.0, 1.0) * np.eye(3)
    turned = [J[i] @ Y[i] + B[i] @ B[i] for i in range(3, len(J))]
    return contact_block(W)._asdict() | ({"gains": np.array(turned)} if turned else {})
