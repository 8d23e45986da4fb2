"""Whether a joint that a file lets follow another one does so, and what the import log says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from .ledger import Ledger


class Mimic(Protocol):
    """q = multiplier · q(leader) + offset."""

    @property
    def leader(self) -> str: ...
    @property
    def multiplier(self) -> float: ...
    @property
    def offset(self) -> float: ...


def follows(
    joint: str,
    mimic: Mimic,
    where: str,
    kinds: Mapping[str, str],
    leaders: tuple[str, ...],
    option: str,
    ledger: Ledger,
) -> bool:
    """Whether the joint follows its leader: not with option "free", nor where the leader cannot lead.

    kinds: of all joints by name; leaders: the kinds that can lead. Rings of joints that follow each other are detected
    later.
    """
    trouble = _trouble(mimic, kinds, leaders)
    law = f"q = {mimic.multiplier:g}·q('{mimic.leader}') + {mimic.offset:g}"
    what = f"joint '{joint}' mimics '{mimic.leader}': {law}{trouble}"
    if option == "free":
        ledger.info(where, what, 'independent, because of mimic="free"')
    elif trouble:
        ledger.warning(where, what, "independent")
    return option != "free" and not trouble


def _trouble(mimic: Mimic, kinds: Mapping[str, str], leaders: tuple[str, ...]) -> str:
    """Why a mimic is invalid, or ""."""
    if mimic.leader not in kinds:
        return ", which is not a joint of the robot"
    if kinds[mimic.leader] not in leaders:
        return f", which is a {kinds[mimic.leader]} joint"
    return ", which never moves" if mimic.multiplier == 0.0 else ""
