"""From any state to a target with limited jerk, fast enough for a control loop: through the library ruckig."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.robot import Robot

from .motion import PolynomialMotion
from .points import allowed, configuration, freedom_names, per_freedom
from .polynomials import Polynomials, hermite

MERGED = 1e-12  # s: instants this near to each other are one


def online(
    q: Any,
    v: Any,
    a: Any,
    target: Any,
    *,
    velocity: Any = None,
    acceleration: Any = None,
    jerk: Any = None,
    target_velocity: Any = None,
    robot: Robot | None = None,
) -> PolynomialMotion:
    """The fastest motion from the state q, v, a (n,) to rest, or to a velocity, at a target (n,), with limited jerk.

    velocity, acceleration, jerk: limits, a number or (n,) [rad/s …]; by default those of the robot, of acceleration and
    deceleration the lower one. For targets that change while the robot moves: ask again from where it is. A state
    beyond the limits is braked first.
    Needs the package ruckig.
    """
    try:
        import ruckig
    except ImportError:
        raise DalembertError("motion.online needs ruckig: pip install 'dalembert[online]'") from None
    if robot is not None and not robot.model.flat:
        raise DalembertError(f"online: robot {robot.name!r} has quaternions: plan their motion with motion.spline")
    start, end = configuration("online", "q", q, robot), configuration("online", "target", target, robot)
    n = len(start)
    names = freedom_names(robot, n)
    task = ruckig.InputParameter(n)
    task.current_position, task.target_position = start.tolist(), end.tolist()
    still = np.zeros(n)
    for name, field, value in (
        ("v", "current_velocity", v),
        ("a", "current_acceleration", a),
        ("target_velocity", "target_velocity", still if target_velocity is None else target_velocity),
    ):
        numbers = configuration("online", name, value, None)
        if numbers.shape != (n,) or end.shape != (n,):
            raise DalembertError(f"online: {name} has {len(numbers)} numbers and target {len(end)}, expected {n}")
        setattr(task, field, numbers.tolist())
    for name, of_robot, limit in (
        ("velocity", "velocity", velocity),
        ("acceleration", "steepest", acceleration),
        ("jerk", "jerk", jerk),
    ):
        limit = allowed(of_robot, limit, robot)
        if limit is None:
            raise DalembertError(f"online: what {name} is allowed? pass {name}=…")
        setattr(task, f"max_{name}", per_freedom("online", name, limit, names).tolist())
    plan = ruckig.Trajectory(n)
    outcome = ruckig.Ruckig(n).calculate(task, plan)
    if outcome not in (ruckig.Result.Working, ruckig.Result.Finished):
        raise DalembertError(f"online: ruckig found no motion ({outcome}): is the target velocity within the limits?")
    return PolynomialMotion(_cubics(plan, n), robot, title="online")


def _cubics(plan: Any, n: int) -> Polynomials:
    """The plan as polynomials: between two instants at which the jerk of any joint changes, all are cubics."""
    changes = [np.array([0.0, plan.duration])]
    for profile in plan.profiles[0]:
        phases = [*profile.brake.t, *profile.t]
        changes.append(np.cumsum(phases))
    times = np.unique(np.concatenate(changes))
    times = times[(times >= 0.0) & (times <= plan.duration)]
    times = times[np.concatenate([[True], np.diff(times) > MERGED])]
    if len(times) < 2:  # the robot is there already
        times = np.array([0.0, 1e-9])
    states = np.array([plan.at_time(float(t))[:2] for t in times]).reshape(len(times), 2, n)
    h = np.diff(times)[:, None, None] ** np.array([0.0, 1.0])[:, None]
    return Polynomials(times, hermite(states[:-1] * h, states[1:] * h))
