"""Frames: named places fixed in bodies."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.spatial import Pose


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame F fixed in a body."""

    name: str
    body: int
    placement: Pose  # X_BF
