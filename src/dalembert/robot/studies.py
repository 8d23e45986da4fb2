"""Studies of a robot: many rows of a function, with other numbers in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.robot import Robot
    from dalembert.study import Job
    from dalembert.study.distributions import Space


def study(
    robot: Robot,
    space: Space,
    run: Any,
    *,
    samples: int | None = None,
    method: str = "random",
    seed: int = 0,
    outputs: Sequence[str] | None = None,
    limit: float | None = None,
) -> Job:
    """A study: `run` for many rows of a space. Nothing is computed before `.run(folder)`.

    run: a function (robot, row) → dict of numbers or arrays, called for each row, where row["payload"] is the value of
    that axis; or `study.motion(…)`, all rows as one compiled rollout. samples: of the random axes; grids multiply them.
    method: "random", "sobol", "lhs" (a Latin hypercube), "saltelli" (for Sobol's indices). seed: numbers of row i
    depend on it and on i alone. outputs: names of what is kept; default all that the first row gives. limit [s]: for
    each row of a function; what takes longer is a failed row.
    """
    from dalembert.study.job import study

    return study(robot, space, run, samples=samples, method=method, seed=seed, outputs=outputs, limit=limit)
