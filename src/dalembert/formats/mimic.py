"""Joints that a file lets follow others: whether they do, and what the import log says of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from dalembert.errors import DalembertError, unknown
from dalembert.model import ModelBuilder

from .ledger import Ledger

BASES = ("fixed", "free")
MIMICS = ("couple", "free")
LEADERS = ("revolute", "continuous", "prismatic", "screw")

J = TypeVar("J", bound=Any)  # a dataclass with name, kind, and mimic


@dataclass(frozen=True)
class Mimic:
    """q = multiplier · q(leader) + offset; where: place in the file."""

    leader: str
    multiplier: float
    offset: float
    where: str

    @property
    def law(self) -> tuple[str, float, float]:
        """Leader, ratio and offset, as the model's builder takes them."""
        return self.leader, self.multiplier, self.offset


def check_options(reader: str, base: str | None, mimic: str) -> None:
    """Refuse options of a reader that have no meaning."""
    if base is not None and base not in BASES:
        raise unknown("base", base, BASES, reader)
    if mimic not in MIMICS:
        raise unknown("mimic option", mimic, MIMICS, reader)


def settled(joints: Iterable[J], option: str, ledger: Ledger) -> list[J]:
    """The joints with their valid mimics: none if option is "free", none whose leader cannot lead.

    Rings of joints that follow each other are detected later, by `check_mimics`.
    """
    listed = list(joints)
    kinds = {joint.name: joint.kind for joint in listed}
    for k, joint in enumerate(listed):
        if joint.mimic is None:
            continue
        trouble = _trouble(joint.mimic, kinds)
        leader, ratio, offset = joint.mimic.law
        what = f"joint '{joint.name}' mimics '{leader}': q = {ratio:g}·q('{leader}') + {offset:g}{trouble}"
        if option == "free":
            ledger.info(joint.mimic.where, what, 'independent, because of mimic="free"')
        elif trouble:
            ledger.warning(joint.mimic.where, what, "independent")
        if option == "free" or trouble:
            listed[k] = replace(joint, mimic=None)
    return listed


def _trouble(mimic: Mimic, kinds: dict[str, str]) -> str:
    """Why a mimic is invalid, or ""."""
    if mimic.leader not in kinds:
        return ", which is not a joint of the robot"
    if kinds[mimic.leader] not in LEADERS:
        return f", which is a {kinds[mimic.leader]} joint"
    return ", which never moves" if mimic.multiplier == 0.0 else ""


def check_mimics(builder: ModelBuilder, joints: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Joints that follow others, each with the follower as built; raises at the first that cannot be."""
    found = []
    for joint in joints:
        if joint.mimic is not None:
            try:
                found.append((joint, builder.coupled(joint.name)))
            except DalembertError as error:
                raise DalembertError(f'{joint.mimic.where}: {error}; mimic="free" makes them independent') from None
    return found
