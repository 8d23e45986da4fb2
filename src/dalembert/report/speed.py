"""How fast the robot's functions run on this machine, measured while the report is written."""

from __future__ import annotations

from timeit import Timer
from typing import NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot

BATCH = 4096


class Speed(NamedTuple):
    """One function: µs for one call from Python, and per state of a batch of 4096 on one thread."""

    function: str
    call: float
    state: float


def speeds(robot: Robot) -> list[Speed]:
    """The functions people call in loops."""
    rng = np.random.default_rng(1)
    q = robot.random(rng, BATCH)
    v, a = rng.normal(size=(2, BATCH, robot.nv))
    arguments = {"inverse_dynamics": (q, v, a), "forward_dynamics": (q, v, a), "mass_matrix": (q,), "gravity": (q,)}
    rows = []
    for name, values in arguments.items():
        function = getattr(robot, name)
        first = tuple(x[0] for x in values)
        try:
            out = function(*values, threads=1)
        except DalembertError:  # no forward dynamics: loops, or joints that move no mass, which the audit reports
            continue
        function(*first)
        one = min(Timer("f(*x)", globals={"f": function, "x": first}).repeat(5, 2000)) / 2000
        batch = {"f": function, "x": values, "out": out}
        every = min(Timer("f(*x, out=out, threads=1)", globals=batch).repeat(5, 1)) / BATCH
        rows.append(Speed(name, 1e6 * one, 1e6 * every))
    return rows
