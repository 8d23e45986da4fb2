"""Named groups of joints, such as an arm or a leg."""

from __future__ import annotations

from typing import NamedTuple


class Group(NamedTuple):
    """A name, and the joints that it stands for."""

    name: str
    joints: tuple[str, ...]
