"""Gravity of a stage, from its PhysicsScene."""

from __future__ import annotations

from typing import Any

import numpy as np

from .source import Source

USUAL = np.array([0.0, 0.0, -9.81])  # [m/s²]


def gravity_of(source: Source, scenes: list[Any]) -> np.ndarray:
    """Gravity (3,) in the world with z up [m/s²]; of several scenes that of the first."""
    if not scenes:
        source.ledger.info(source.label, "no PhysicsScene", "gravity taken as 9.81 m/s² downward")
        return USUAL
    scene = scenes[0]
    if len(scenes) > 1:
        source.ledger.info(source.where(scenes[1]), f"{len(scenes)} scenes of physics", "gravity is that of the first")
    if not source.flag(scene, "newton:gravityEnabled", True) or not source.flag(scene, "mjc:flag:gravity", True):
        return np.zeros(3)
    direction = source.numbers(scene, "physics:gravityDirection", 3)
    size = source.number(scene, "physics:gravityMagnitude", -np.inf, infinite=True)
    unit = USUAL / 9.81
    if direction is not None and np.any(direction):
        unit = source.turn @ (direction / np.linalg.norm(direction))
    g = 9.81 if not np.isfinite(size) or size < 0.0 else size * source.length
    return np.asarray(source.exact(scene, "gravity", g * unit)) + 0.0
