"""Sensors as data: what of a motion each of them reads. They have no effect on it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.spatial import Pose

# kinds, as MuJoCo names them, and how many numbers each reads
OF_FRAMES = {
    "accelerometer": 3, "gyro": 3, "velocimeter": 3, "force": 3, "torque": 3, "touch": 1, "framepos": 3,
    "framequat": 4, "framexaxis": 3, "frameyaxis": 3, "framezaxis": 3, "framelinvel": 3, "frameangvel": 3,
    "framelinacc": 3, "frameangacc": 3, "subtreecom": 3, "subtreelinvel": 3, "subtreeangmom": 3,
}  # fmt: skip
OF_JOINTS = {"jointpos": 1, "jointvel": 1, "ballquat": 4, "ballangvel": 3, "jointactuatorfrc": 1}
OF_ACTUATORS = {"actuatorpos": 1, "actuatorvel": 1, "actuatorfrc": 1}
ALONE = {"clock": 1, "e_potential": 1, "e_kinetic": 1}
SENSORS = OF_FRAMES | OF_JOINTS | OF_ACTUATORS | ALONE


@dataclass(frozen=True, eq=False)
class Sensor:
    """A sensor of one of the kinds of `SENSORS`.

    name: in `run.sensors`. frame: a body or frame, with the sensor at `placement` in it; joint, and ratio: of what an
    actuator moves, and its gear. reference: a frame, with `reference_placement` in it, from which positions and
    velocities of frames are seen; "": the world. cutoff: what is read lies within ± it; 0: no bound. volume: the shape
    of the site of a touch sensor.
    """

    name: str
    kind: str
    frame: str = ""
    placement: Pose = field(default_factory=Pose.identity)
    joint: str = ""
    ratio: float = 1.0
    reference: str = ""
    reference_placement: Pose = field(default_factory=Pose.identity)
    cutoff: float = 0.0
    volume: Any = None

    @property
    def size(self) -> int:
        """How many numbers it reads."""
        return SENSORS[self.kind]

    def bounded(self, values: np.ndarray) -> np.ndarray:
        """Readings within the cutoff; quaternions and axes have none."""
        if self.cutoff <= 0.0 or self.kind in ("framequat", "ballquat", "framexaxis", "frameyaxis", "framezaxis"):
            return values
        return np.clip(values, -self.cutoff, self.cutoff)

    def has_place(self, frames: Collection[str], joints: Collection[str]) -> bool:
        """Whether all that it names is there."""
        known = {*frames, "world", ""}
        return {self.frame, self.reference} <= known and self.joint in {*joints, ""}

    def check(self, others: Collection[str], frames: Collection[str], joints: Collection[str]) -> None:
        """Refuse an unknown kind, a name that another one has, and a place that is not there."""
        where = f"sensor {self.name!r}"
        if self.kind not in SENSORS:
            raise unknown("kind", self.kind, SENSORS, where)
        if self.name in others:
            raise DalembertError(f"{where}: there is already one of that name: names must differ")
        for place in (self.frame, self.reference):
            if place not in {*frames, "world", ""}:
                raise unknown("frame", place, frames, where)
        if self.joint not in {*joints, ""}:
            raise unknown("joint", self.joint, joints, where)

    def renamed(self, links: Mapping[str, str], joints: Mapping[str, str], name: str) -> Sensor:
        """The sensor of a robot whose links, frames and joints have other names."""
        frame, reference = (links.get(x, x) for x in (self.frame, self.reference))
        return replace(self, name=name, frame=frame, reference=reference, joint=joints.get(self.joint, self.joint))
