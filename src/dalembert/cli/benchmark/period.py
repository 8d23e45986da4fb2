"""Shares of a control period: how much of it each call takes on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.errors import DalembertError, is_number, unknown
from dalembert.model import tool_frame
from dalembert.progress import Progress
from dalembert.robot import Robot

from .clock import Job, race

ROUNDS, ROUND = 9, 0.01  # rounds of each call, [s] of a round
FULL = 0.3  # of the period that a controller may take, as in `control.audit`
CALLS = {  # what is called by its name
    "pose": "q, frame",
    "jacobian": "q, frame",
    "gravity": "q",
    "bias": "q, v",
    "inverse_dynamics": "q, v, u",
    "forward_dynamics": "q, v, u",
    "mass_matrix": "q",
    "inverse_mass_matrix": "q",
    "coriolis_matrix": "q, v",
    "operational_inertia": "q, frame",
    "centroidal_momentum": "q, v",
    "inverse_dynamics_derivatives": "q, v, u",
    "forward_dynamics_derivatives": "q, v, u",
}


@dataclass(frozen=True)
class Share:
    """A call, the median of its time [s], and its share of the period."""

    call: str
    seconds: float
    share: float

    @property
    def fits(self) -> bool:
        """Whether it leaves room for everything else in the period."""
        return self.share <= FULL


def shares(robot: Robot, rate: float, calls: Sequence[str] = ()) -> list[Share]:
    """Time of one call from Python times the rate [Hz], for the calls that a controller makes, the dearest last.

    calls: names; default all that the robot allows.
    """
    if not (is_number(rate) and 0.0 < rate < np.inf):
        raise DalembertError(f"bench: rate is {rate!r}, expected above 0 [Hz]")
    for name in calls:
        if name not in CALLS:
            raise unknown("function", name, CALLS, "bench")
    if not robot.nv:
        raise DalembertError(f"bench: robot {robot.name!r} has no joint that moves: there is nothing to control")
    rng = np.random.default_rng(0)
    q, v, u = robot.random(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
    chosen = list(calls or CALLS)
    names = {"robot": robot, "q": q, "v": v, "u": u, "frame": _frame(robot)}
    with Progress(f"calls of {robot.name}", float(len(chosen) + 1), "calls") as shown:
        jobs = {}
        for k, name in enumerate(chosen):
            try:
                getattr(robot, name)(*(names[word] for word in CALLS[name].split(", ")))  # compiles
            except DalembertError:  # such as the task inertia of a planar arm, which is singular
                if calls:
                    raise
                continue
            jobs[name] = Job(f"y = robot.{name}({CALLS[name]})", names)
            shown.show(k + 1)
        found = race(jobs, rounds=ROUNDS, round_time=ROUND)
    listed = [Share(name, sample.median, sample.median * rate) for name, sample in found.items()]
    return sorted(listed, key=lambda each: each.seconds)


def _frame(robot: Robot) -> str:
    """The tool, or the last frame of a robot with several limbs."""
    try:
        return tool_frame(robot.model).name
    except DalembertError:
        return robot.frames[-1].name
