"""Contacts of a run in the scene: forces as arrows at the points that push, and their friction cones as lines."""

from __future__ import annotations

from typing import Any

import numpy as np

ARROW, CONE = (214, 60, 40), (120, 150, 190)
FORCE_LENGTH = 0.3  # of the robot's size: the longest arrow
EDGES = 12  # lines of a cone


class ContactMarks:
    """Arrows and cones of `run.contacts` below the node `root`; `show(k)` draws those of sample k."""

    def __init__(self, scene: Any, root: str, contacts: Any, size: float) -> None:
        self.contacts, self._on = contacts, True
        self.scale = FORCE_LENGTH * size / max(float(np.linalg.norm(contacts.force, axis=-1).max(initial=0.0)), 1e-9)
        thin, count = 0.006 * size, len(contacts.names)
        self._arrows = scene.add_arrows(
            f"{root}/contact forces",
            np.zeros((count, 2, 3)),
            ARROW,
            shaft_radius=thin,
            head_radius=2.5 * thin,
            head_length=4 * thin,
        )
        self._cones = scene.add_line_segments(
            f"{root}/friction cones", np.zeros((EDGES * count, 2, 3), np.float32), CONE, thickness=0.002 * size
        )
        self.show(0)

    def show(self, k: int) -> None:
        """Draw sample k of the run; points that do not push are drawn as nothing."""
        position, force = self.contacts.position[k], self.contacts.force[k]
        arrows = np.stack([position, position + self.scale * force], axis=1).astype(np.float32)
        pushing = self.contacts.normal_force[k] > 0.0
        self._pushed = bool(pushing.any())
        if self._pushed:  # an arrow without length would still have a head: let it lie within another one
            arrows[~pushing] = arrows[pushing][0]
        self._arrows.points, self._cones.points = arrows, self._edges(k).astype(np.float32)
        self.visible(self._on)

    def visible(self, on: bool) -> None:
        """Show or hide them."""
        self._on = on
        self._arrows.visible = self._cones.visible = on and self._pushed

    def _edges(self, k: int) -> np.ndarray:
        """(EDGES · points, 2, 3): from the points along the cones |F_t| = µ F_n, as high as the normal forces."""
        position, normal = self.contacts.position[k], self.contacts.normal[k]
        helper = np.where(np.abs(normal[:, 2:]) > 0.9, [[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]])
        first = np.cross(normal, helper)
        first /= np.linalg.norm(first, axis=1, keepdims=True)
        second = np.cross(normal, first)
        angle = np.linspace(0.0, 2.0 * np.pi, EDGES, endpoint=False)[:, None, None]
        rim = normal + self.contacts.friction[:, None] * (np.cos(angle) * first + np.sin(angle) * second)
        height = (self.scale * self.contacts.normal_force[k])[:, None]
        ends = position + height * rim
        starts = np.broadcast_to(position, ends.shape)
        return np.stack([starts, ends], axis=2).reshape(-1, 2, 3)
