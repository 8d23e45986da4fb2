"""Swing-up by shaping the energy, and handing over to a regulator near the goal.

The driven freedoms d are accelerated as we like (collocated partial feedback linearisation, Spong 1994), which moves
the energy E of the passive ones p at the rate −v_pᵀ M_pd a_d. With Ẽ = E − E(goal), E taken with the motors at rest,

    a_d = kE Ẽ M_dp v_p − kp e_d − kd v_d

brings Ẽ to zero while the motors stay near their place. With all joints driven it is the pump τ = −kE Ẽ v of the
pendulum (Åström, Furuta 2000).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError, check_positive, renamed
from dalembert.math import where
from dalembert.model import motorized
from dalembert.robot import Robot

from .law import Law, within_effort
from .linear import LinearQuadratic, lqr, wrapped_difference

LINEAR = 0.2  # rad: how far from the goal its linear model is trusted
PUMPED = 0.6  # rad/s of the passive joints at which the default gain drives the motors to their limits


class EnergyShaping(Law):
    """The law above; `hold`, where it is given, takes over where its cost to go is below `region`."""

    def __init__(self, robot: Robot, hold: LinearQuadratic, gains: dict[str, float], region: float) -> None:
        self.robot, self.hold, self.region = robot, hold, region
        self.smooth = robot.without("friction")
        self.goal = hold.q
        self.energy = float(self.smooth.energy(hold.q, np.zeros(robot.nv)))
        self.gains, self.mask = gains, motorized(robot.model)
        self.motors = tuple(body.joint.name for body in robot.model.independent if self.mask[body.v].any())

    def pumped(self, q: np.ndarray, v: np.ndarray, energy: Any = None) -> np.ndarray:
        """Torques (nv,) that bring the energy to that of the goal, before limits."""
        robot, mask, k = self.smooth, self.mask, self.gains if energy is None else self.gains | {"energy": energy}
        if mask.all():
            return -k["energy"] * (robot.energy(q, v) - self.energy) * v
        swinging = np.where(mask, 0.0, v)
        E = robot.energy(q, swinging) - self.energy
        e = wrapped_difference(robot.model, self.goal, q)
        a = k["energy"] * E * (robot.mass_matrix(q) @ swinging) - k["position"] * e - k["damping"] * v
        return robot.hybrid_dynamics(q, v, np.where(mask, a, 0.0), accelerations=self.motors).tau

    def near(self, q: np.ndarray, v: np.ndarray) -> Any:
        """Whether the regulator holds the robot."""
        return self.hold.cost(q, v) < self.region

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray, energy: Any = None) -> np.ndarray:
        level = None if energy is None else np.asarray(energy).reshape(-1)[0]
        swing = within_effort(self.robot, self.pumped(q, v, level))
        return where(self.near(q, v), self.hold(t, q, v), swing)


@renamed(q="goal", damping="damping_ratio")
def energy_shaping(
    robot: Robot,
    goal: Any,
    *,
    energy: float | None = None,
    frequency: float = 1.0,
    damping_ratio: float = 1.0,
    hold: LinearQuadratic | None = None,
    region: float | None = None,
) -> EnergyShaping:
    """Swing a robot up to the unstable equilibrium `goal` (nq,), and hold it there.

    energy kE: how hard energy is pumped, by default as hard as the motors allow; frequency [rad/s] and damping_ratio:
    of the springs that keep the driven joints near their place. hold: the regulator that takes over, default
    `control.lqr(robot, goal)`; region: of its cost to go xᵀPx, default what 0.2 rad of one joint cost. Torques stay
    within the motors' limits.
    """
    weights = {"energy": 1.0 if energy is None else energy, "frequency": frequency, "damping_ratio": damping_ratio}
    for name, value in weights.items():
        check_positive(f"energy_shaping: {name}", value)
    hold = lqr(robot, goal) if hold is None else hold
    if not isinstance(hold, LinearQuadratic):
        raise DalembertError(f"energy_shaping: hold is {type(hold).__name__}, expected the result of control.lqr")
    gains = {"energy": 1.0, "position": frequency**2, "damping": 2.0 * damping_ratio * frequency}
    law = EnergyShaping(
        robot,
        hold,
        gains,
        float(LINEAR**2 * np.diag(hold.P)[: hold.robot.nv].min()) if region is None else float(region),
    )
    law.gains["energy"] = _strong(law) if energy is None else float(energy)
    return law


def _strong(law: EnergyShaping) -> float:
    """kE with which, as far below the goal's energy as it goes, the motors reach their limits at PUMPED rad/s."""
    robot, mask = law.smooth, law.mask
    q = robot.random(np.random.default_rng(5), 400)
    deepest = max(law.energy - float(np.min(robot.potential_energy(q))), 1e-9)
    effort = np.where(np.isfinite(robot.limits.effort), robot.limits.effort, np.abs(robot.gravity(q)).max() + 1e-9)
    M = robot.mass_matrix(q)
    if mask.all():
        return float(np.max(effort) / (deepest * PUMPED))
    coupling = np.abs(M[:, mask][:, :, ~mask]).max()
    if coupling < 1e-9 * np.abs(M).max():
        raise DalembertError(f"energy_shaping: no motor of robot {robot.name!r} moves its passive joints")
    capacity = float(np.max(effort[mask] / np.diagonal(M, axis1=1, axis2=2)[:, mask]))
    return capacity / (deepest * float(coupling) * PUMPED)


def region_of_attraction(law: Law, goal: Any, q: Any, v: Any, duration: float = 5.0, step: float = 2e-3) -> np.ndarray:
    """From which states q (…, nq), v (…, nv) a law brings its robot to the goal (nq,) and holds it there (…,).

    All are rolled out at once; at the end every joint must be within 0.05 rad (or m) and 0.1 rad/s of the goal.
    """
    robot = law.robot
    end = robot.rollout(q, v, law, step, round(duration / step), "semi-implicit", friction="smooth", check=False)
    model = robot.model
    rows = np.asarray(end.q).reshape(-1, robot.nq)
    off = np.array([wrapped_difference(model, np.asarray(goal, float), row) for row in rows])
    still = np.abs(np.asarray(end.v).reshape(-1, robot.nv)).max(axis=1) < 0.1
    with np.errstate(invalid="ignore"):
        arrived = (np.abs(off).max(axis=1) < 0.05) & still
    return arrived.reshape(np.shape(end.q)[:-1])
