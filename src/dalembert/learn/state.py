"""The state `s` of one environment, as functions for observations, rewards and terminations take it: traced values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics import algorithms
from dalembert.errors import unknown
from dalembert.model import Model


class Foot(NamedTuple):
    """A body that touches the ground.

    force (3,): of all its contacts, the mean over the last step of the physics, in world axes [N]; contact: 1 while it
    pushes, else 0; air_time: since it last pushed [s], in the step in which it lands still that of the flight;
    contact_time: since it landed [s]; landed: 1 in the step in which it lands, else 0.
    """

    force: np.ndarray
    contact: Any
    air_time: Any
    contact_time: Any
    landed: Any


class Table(dict):
    """Values by name; an unknown name is an error with the nearest one."""

    def __init__(self, kind: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.kind = kind

    def __missing__(self, name: Any) -> Any:
        raise unknown(self.kind, name, self, "learn")


class Command(np.ndarray):
    """All commands as one vector; command["velocity"] is the part of that name."""

    places: dict[str, slice]

    @classmethod
    def of(cls, values: np.ndarray, sizes: Mapping[str, int]) -> Command:
        """The vector with the names of its parts."""
        command = np.asarray(values).view(cls)
        ends = np.cumsum([0, *sizes.values()]).tolist()
        command.places = {name: slice(a, b) for name, a, b in zip(sizes, ends[:-1], ends[1:], strict=True)}
        return command

    def __array_finalize__(self, source: Any) -> None:
        self.places = getattr(source, "places", {})

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.places:
                raise unknown("command", key, self.places, "learn")
            return np.asarray(self)[self.places[key]]
        return np.asarray(self)[key]


class State:
    """The state of one environment at the end of a control step, or after a reset.

    t: time since the reset [s]; q (nq,), v (nv,); tau (nv,): of the last step of the physics [N·m, N]; action: the one
    that led here, previous: the one before it, both zero after a reset; command; feet, sensors, parameters: by name;
    joints, joint_rates: of the joints that the action drives, from where they start [rad, m; rad/s, m/s]; down (3,):
    the direction of gravity in the axes of the base; start (3,): where the base began [m]; model: with the parameters
    of this environment.
    """

    def __init__(self, model: Model, numbers: Mapping[str, Any], tables: Mapping[str, Callable[[State], Any]]) -> None:
        self.model = model
        self.t, self.q, self.v = numbers["t"], numbers["q"], numbers["v"]
        self.acceleration, self.tau = numbers["acceleration"], numbers["tau"]
        self.action, self.previous, self.command = numbers["action"], numbers["previous"], numbers["command"]
        self.start, self.joints, self.joint_rates = numbers["start"], numbers["joints"], numbers["joint_rates"]
        self._tables = tables

    @cached_property
    def poses(self) -> Any:
        """Poses of all bodies, with the parameters of this environment."""
        return algorithms.poses(self.model, self.q)

    @cached_property
    def feet(self) -> Table:
        """`Foot` by the name of its body."""
        return Table("foot", self._tables["feet"](self))

    @cached_property
    def sensors(self) -> Table:
        """Readings of the sensors, by name."""
        return Table("sensor", self._tables["sensors"](self))

    @cached_property
    def parameters(self) -> Table:
        """Each parameter that is drawn (n,), by its name, as it is in this environment."""
        return Table("drawn parameter", self._tables["parameters"](self))

    @cached_property
    def down(self) -> np.ndarray:
        """The unit vector (3,) along gravity as nominal, in the axes of the base."""
        return self.poses[self.base].R.T @ np.array([0.0, 0.0, -1.0])

    @property
    def base(self) -> int:
        """The number of the body that carries the robot: the first one on a free joint, else the first one."""
        return base_of(self.model)


def base_of(model: Model) -> int:
    """The number of the first body on a joint of six freedoms, else of the first one."""
    return next((body.index for body in model.bodies if body.joint.nv == 6), 0)
