"""Facts about the patches of a contact, of which there may be very many: computed once for all that asks."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dalembert.compiler.execute import RecentSame
from dalembert.contact import ContactLaw, Patch


class PatchFacts:
    """Facts about patches, of which there may be very many."""

    def __init__(self, patches: tuple[Patch, ...]) -> None:
        self.patches = patches

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all points."""
        return tuple(name for patch in self.patches for name in patch.names)

    @cached_property
    def laws(self) -> tuple[ContactLaw, ...]:
        """Laws of all points."""
        return laws_of(self.patches)

    @cached_property
    def thin(self) -> tuple[float, ...]:
        """Thickness of the thinner of both shapes of each point [m]; infinite on the ground."""
        return tuple(patch.thickness for patch in self.patches for _ in patch.names)

    @cached_property
    def bounces(self) -> bool:
        """Whether some of them bounce."""
        return any(law.restitution for law in self.laws)

    @cached_property
    def axes(self) -> set[int]:
        """About which some of them resist turning."""
        return {axis for law in self.laws for axis in law.axes}

    @cached_property
    def determinants(self) -> tuple[Any, ...]:
        """Everything that decides what they do; each part once."""
        parts: dict[int, Any] = {}
        numbers = []
        for patch in self.patches:
            for x in (patch.shape, patch.placement, patch.law, patch.ground, patch.other, patch.other_placement):
                parts.setdefault(id(x), x)
            numbers.append((patch.first, patch.second, len(patch.names)))
        order = {key: k for k, key in enumerate(parts)}
        ids = [
            [order[id(x)] for x in (p.shape, p.placement, p.law, p.ground, p.other, p.other_placement)]
            for p in self.patches
        ]
        return tuple(parts.values()), np.array(numbers), np.array(ids), "\n".join(self.names)


_recent = RecentSame(8)


def facts_of(patches: tuple[Patch, ...]) -> PatchFacts:
    """The facts of patches; kept for the same ones, which steps and rollouts ask for again and again."""
    return _recent.get((patches,), lambda: PatchFacts(patches))


def laws_of(patches: tuple[Patch, ...]) -> tuple[ContactLaw, ...]:
    """The law of each point of patches."""
    return tuple(patch.law for patch in patches for _ in patch.names)
