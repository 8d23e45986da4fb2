"""Configurations in which all loops of a mechanism are closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.compiler.execute import one_line
from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.robot import Robot
    from dalembert.typing import ArrayLike


class LoopState(NamedTuple):
    """q (nq,) and v (nv,) with all loops closed."""

    q: np.ndarray
    v: np.ndarray

    def __repr__(self) -> str:
        return one_line(self)


def close_loops(robot: Robot, q: ArrayLike, v: ArrayLike | None = None, *, hold: str | Sequence[str] = ()) -> LoopState:
    """The configuration nearest to q (nq,) that closes all loops, and the velocity nearest to v that keeps them closed.

    hold: joints that stay as they are in q and v, while the others follow: close_loops(q, hold="crank").

    Nearest as `difference` measures it, of the configurations that Newton's method finds from q and from beside it.
    None found is an error that names the loop.
    """
    from dalembert.sim.integrators import INTEGRATORS
    from dalembert.sim.run.compiled import programs
    from dalembert.sim.run.engines import State
    from dalembert.sim.run.initial import closed_start
    from dalembert.sim.system.laws import Inputs, drive

    q = np.asarray(q, float)
    v = np.zeros(robot.model.nv) if v is None else np.asarray(v, float)
    if q.shape != (robot.model.nq,) or v.shape != (robot.model.nv,):
        raise DalembertError(
            f"close_loops: q has shape {q.shape} and v {v.shape}, expected ({robot.model.nq},) and "
            f"({robot.model.nv},) for robot {robot.model.name!r}"
        )
    compiled = programs(robot.model, (), drive(Inputs.torques(robot.model), None, 1.0), INTEGRATORS["rk45"])
    mobile = np.ones(robot.model.nv)
    for name in [hold] if isinstance(hold, str) else hold:
        mobile[robot.model.joint(name).v] = 0.0
    state, _ = closed_start(compiled, State(0.0, q, v), mobile)
    return LoopState(state.q, state.e[: robot.model.nv])
