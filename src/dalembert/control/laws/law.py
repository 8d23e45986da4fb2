"""The base class of all laws."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.math import clip
from dalembert.robot import Robot


class Law:
    """A law of control: tau = law(t, q, v), (nv,) [N·m, N], of numbers or traced scalars.

    It is passed as `torque` to `simulate` and `rollout`, which trace and compile it. Some of its settings are
    keyword arguments of the call too: `rollout(…, torque=law, parameters={"frequency": …})` takes them per motion, with
    gradients. notes: what the user should know about its settings.
    """

    robot: Robot
    notes: tuple[str, ...] = ()

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} must define __call__(t, q, v)")

    def determinants(self) -> dict[str, Any]:
        """Everything its results depend on (see `execute.identity`): attributes whose names do not begin with _."""
        return {name: x for name, x in vars(self).items() if not name.startswith("_")}

    def __repr__(self) -> str:
        notes = "".join(f"; {note}" for note in self.notes)
        return f"<{type(self).__name__} of robot {self.robot.name!r}{notes}>"


def setting_or(value: Any, default: np.ndarray) -> Any:
    """A setting passed to the call, one number (1,) or one for each freedom; else the law's own."""
    if value is None:
        return default
    value = np.asarray(value)
    return value[0] if value.shape == (1,) else value


def within_effort(robot: Robot, tau: np.ndarray) -> np.ndarray:
    """Torques kept within the motors' limits; passive joints get none."""
    most = robot.limits.effort
    bounded = np.isfinite(most)
    if not bounded.any():
        return tau
    kept = np.array(tau, np.result_type(np.asarray(tau), float))
    kept[bounded] = clip(np.asarray(tau)[bounded], -most[bounded], most[bounded])
    return kept
