"""Mimic joints of a URDF file: tied to their leaders, or set free and logged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dalembert.errors import DalembertError
from dalembert.model import ModelBuilder

from ..ledger import Ledger
from ..mimic import follows
from ..xml import Document
from .joints import Joint

LEADERS = ("revolute", "continuous", "prismatic")


def settle_mimics(document: Document, joints: list[Joint], option: str, ledger: Ledger) -> list[Joint]:
    """The joints with their valid <mimic>: none if option is "free", none whose leader cannot lead."""
    kinds = {joint.name: joint.kind for joint in joints}
    settled = []
    for joint in joints:
        mimic = joint.mimic
        if mimic is not None:
            where = document.where(mimic.element)
            if not follows(joint.name, mimic, where, kinds, LEADERS, option, ledger):
                joint = replace(joint, mimic=None)
        settled.append(joint)
    return settled


def check_coupling(document: Document, builder: ModelBuilder, joints: Iterable[Joint], ledger: Ledger) -> None:
    """Raise at the first impossible <mimic>; log limits of follower and leader that exclude each other."""
    by_name = {joint.name: joint for joint in joints}
    for joint in by_name.values():
        if joint.mimic is None:
            continue
        try:
            follower = builder.coupled(joint.name)
        except DalembertError as error:
            raise document.error(joint.mimic.element, f'{error}; mimic="free" makes them independent') from None
        lower, upper = (by_name[follower.leader].fields.get(side) for side in ("lower", "upper"))
        if (lower is not None and follower.upper[0] < lower) or (upper is not None and follower.lower[0] > upper):
            what = f"the limits of joint '{joint.name}' and of its leader '{follower.leader}' exclude each other"
            ledger.info(document.where(joint.mimic.element), what, "kept: no position obeys both")
