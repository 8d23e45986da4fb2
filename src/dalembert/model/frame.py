"""Frames: named places fixed in bodies."""

from __future__ import annotations

from dataclasses import dataclass, field

from dalembert.spatial import Pose

from .content import SHOWN


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame F fixed in a body."""

    name: str
    body: int
    placement: Pose  # X_BF
    mount: str = field(default="", metadata=SHOWN)  # the link that carries it; for a link's frame, the link itself
