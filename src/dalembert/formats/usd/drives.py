"""Drives of joints: gains and limits in SI, as servos of the model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.model import ModelBuilder

from ..ledger import Ledger
from .freedoms import Freedom
from .source import Source


@dataclass(frozen=True)
class Drive:
    """A PhysicsDriveAPI: force = stiffness (target - q) + damping (speed - v), within ±limit, all in SI."""

    stiffness: float
    damping: float
    limit: float
    target: float
    speed: float
    acceleration: bool  # a drive whose gains are per unit of inertia
    name: str = ""  # of the actuator, where it is not that of the joint
    passive: bool = False  # it only states the limit of the joint's effort


def read_drives(source: Source, prim: Any, freedoms: list[Freedom]) -> dict[str, Drive]:
    """The drives of a joint by the names of its freedoms; those of other freedoms are logged."""
    stated = [name.partition(":")[2] for name in source.schemas(prim) if name.startswith("PhysicsDriveAPI:")]
    drives = {}
    for word in stated:
        freedom = next((each for each in freedoms if each.word == word), None)
        if (
            freedom is None
            and len(freedoms) == 1
            and word == ("rot" if freedoms[0].turns else "trans") + "XYZ"[int(np.argmax(np.abs(freedoms[0].axis)))]
        ):
            freedom = freedoms[0]
        drive = _drive(source, prim, word, freedom)
        if freedom is None:
            source.ledger.count(source.where(prim), f"drive of {word}, which the joint does not have", "without effect")
        else:
            drives[freedom.name] = drive
    return drives


def _drive(source: Source, prim: Any, word: str, freedom: Freedom | None) -> Drive:
    turns = freedom.turns if freedom is not None else word == "angular" or word.startswith("rot")
    coordinate = math.pi / 180.0 if turns else source.length
    force = source.mass * source.length * (source.length if turns else 1.0)
    prefix, own = f"drive:{word}:physics", f"drive:{word}"
    stiffness, damping = (
        source.number(prim, f"{prefix}:{name}", 0.0) * force / coordinate for name in ("stiffness", "damping")
    )
    limit = source.number(prim, f"{prefix}:maxForce", math.inf, infinite=True) * force
    target = source.number(prim, f"{prefix}:targetPosition", 0.0) * coordinate
    speed = source.number(prim, f"{prefix}:targetVelocity", 0.0) * coordinate
    acceleration = source.word(prim, f"{prefix}:type", "force") == "acceleration"
    if stiffness < 0.0 or damping < 0.0 or limit < 0.0:
        source.ledger.warning(source.where(prim), f"drive of {word} with a negative gain or limit", "its size is used")
    stiffness, damping, limit = (
        abs(source.exact(prim, f"{own}:{name}", value))
        for name, value in (("stiffness", stiffness), ("damping", damping), ("limit", limit))
    )
    name, passive = source.word(prim, "dalembert:actuator"), source.flag(prim, "dalembert:passive", False)
    return Drive(stiffness, damping, limit, target, speed, acceleration, name, passive and not (stiffness or damping))


def add_drive(builder: ModelBuilder, joint: str, drive: Drive, where: str, ledger: Ledger) -> None:
    """A position servo where the drive has stiffness, a velocity servo where it has damping alone, else a motor."""
    limits = np.array([-drive.limit, drive.limit])
    name = drive.name or joint
    if drive.passive:
        return
    if drive.acceleration:
        what = f"drive of joint '{joint}' by acceleration"
        ledger.warning(where, what, "kept by name, without effect: its force depends on the inertia")
        builder.add_actuator(name, obstacle="it commands an acceleration")
        return
    gain, bias = [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    command = ""
    if drive.stiffness:
        gain, bias = [drive.stiffness, 0.0, 0.0], [drive.damping * drive.speed, -drive.stiffness, -drive.damping]
        command = f"the position that the file states is {drive.target:.9g}"
    elif drive.damping:
        gain, bias = [drive.damping, 0.0, 0.0], [0.0, 0.0, -drive.damping]
        command = f"the speed that the file states is {drive.speed:.9g}"
    if command and (drive.target if drive.stiffness else drive.speed):
        ledger.info(where, f"target of the drive of joint '{joint}'", f"its command, which you give: {command}")
    elif command:
        ledger.count(where, "drive that pulls to 0", "an actuator: it acts where commands are given (controls=…)")
    builder.add_actuator(name, joint, gain=gain, bias=bias, force_limits=limits)
