"""Laws in joint space: PD with gravity, feedforward, computed torque, passivity-based control.

With the deviation e from the reference and its rate ė (see `reference.deviation`):

    gravity PD        tau = g(q) + Kp e + Kd ė
    feedforward       tau = M(q_d) a_d + C(q_d, v_d) v_d + g(q_d) + Kp e + Kd ė
    computed torque   tau = M(q) (a_d + kd ė + kp e) + C(q, v) v + g(q),   so that ë + kd ė + kp e = 0
    passivity-based   tau = M(q) a_r + C(q, v) v_r + g(q) + K s,   v_r = v_d + ω e, s = v_r − v   (Slotine, Li 1987)

kp = ω², kd = 2 ζ ω; where gains are torques, Kp = ω² I and Kd = 2 ζ ω I with the inertia I that each joint feels in the
first configuration of the reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError, renamed
from dalembert.robot import Robot

from ..gains import gains, refuse_passive
from ..reference import deviation, reference
from .law import Law, setting_or

STUCK = 1e-3  # rad or m: a smaller error that dry friction leaves is not noted
WHOLE_BODY = "control.lqr, control.energy_shaping or control.whole_body, which know of passive joints"


class _JointLaw(Law):
    """A reference, gains, and the inertia of each joint in the first configuration."""

    def __init__(self, where: str, robot: Robot, goal: Any, frequency: Any, damping: Any, resonance: Any) -> None:
        refuse_passive(where, robot, WHOLE_BODY)
        self.robot, self.reference = robot, reference(where, robot, goal)
        chosen = gains(where, robot, frequency, damping, resonance)
        self.frequency, self.damping, self.notes = chosen.frequency, chosen.damping, chosen.notes
        self.inertia = np.diag(robot.mass_matrix(np.asarray(self.reference.q(0.0), float))).copy()
        self.notes += self._stuck()

    def _stuck(self) -> tuple[str, ...]:
        """A note on joints that dry friction can hold away from the reference."""
        model = self.robot.model
        friction = np.concatenate(
            [body.joint.friction + body.joint.stribeck for body in model.independent if body.joint.nv]
        )
        off = friction / (self.inertia * self.frequency**2)
        held = [f"{model.freedom_names[k]} {off[k]:.2g}" for k in np.flatnonzero(off > STUCK)]
        if not held:
            return ()
        said = "dry friction can hold joints that far from the reference [rad or m]: " + ", ".join(held)
        return (f"{said}; compensate it, add an integral (control.pid) or raise the frequency",)

    def _rates(self, frequency: Any, damping: Any) -> tuple[Any, Any]:
        """kp [1/s²] and kd [1/s]."""
        omega, zeta = setting_or(frequency, self.frequency), setting_or(damping, self.damping)
        return omega * omega, 2.0 * zeta * omega

    def _pd(self, t: Any, q: np.ndarray, v: np.ndarray, frequency: Any, damping: Any) -> np.ndarray:
        """Kp e + Kd ė, as torques."""
        kp, kd = self._rates(frequency, damping)
        off = deviation(self.robot.model, self.reference, t, q, v)
        return self.inertia * (kp * off.e + kd * (off.v - v))


class GravityPD(_JointLaw):
    """tau = g(q) + Kp e + Kd ė."""

    def __call__(
        self, t: Any, q: np.ndarray, v: np.ndarray, frequency: Any = None, damping_ratio: Any = None
    ) -> np.ndarray:
        return self.robot.gravity(q) + self._pd(t, q, v, frequency, damping_ratio)


class ComputedTorque(_JointLaw):
    """tau = M(q) (a_d + kd ė + kp e) + C(q, v) v + g(q)."""

    def __call__(
        self, t: Any, q: np.ndarray, v: np.ndarray, frequency: Any = None, damping_ratio: Any = None
    ) -> np.ndarray:
        kp, kd = self._rates(frequency, damping_ratio)
        off = deviation(self.robot.model, self.reference, t, q, v)
        return self.robot.inverse_dynamics(q, v, off.a + kd * (off.v - v) + kp * off.e)


class Feedforward(_JointLaw):
    """tau = [M a_d] + [C v_d] + [g] of the reference + Kp e + Kd ė, with those of the terms that are asked for."""

    inertial = coriolis = gravity = True

    def __call__(
        self, t: Any, q: np.ndarray, v: np.ndarray, frequency: Any = None, damping_ratio: Any = None
    ) -> np.ndarray:
        target, robot, still = self.reference, self.robot, np.zeros(self.robot.nv)
        q_d, v_d = np.asarray(target.q(t)), np.asarray(target.v(t))
        tau = self._pd(t, q, v, frequency, damping_ratio)
        if self.inertial or self.coriolis:  # without velocities, friction and damping are left out too
            a_d = np.asarray(target.a(t)) if self.inertial else still
            tau = tau + robot.inverse_dynamics(q_d, v_d if self.coriolis else still, a_d) - robot.gravity(q_d)
        return tau + robot.gravity(q_d) if self.gravity else tau


class Passivity(_JointLaw):
    """tau = M(q) a_r + C(q, v) v_r + g(q) + K s."""

    def __call__(
        self, t: Any, q: np.ndarray, v: np.ndarray, frequency: Any = None, damping_ratio: Any = None
    ) -> np.ndarray:
        robot, omega = self.robot, setting_or(frequency, self.frequency)
        zeta = setting_or(damping_ratio, self.damping)
        off = deviation(robot.model, self.reference, t, q, v)
        v_r, a_r = off.v + omega * off.e, off.a + omega * (off.v - v)
        C = robot.coriolis_matrix(q, v)
        lost = robot.bias(q, v) - C @ v - robot.gravity(q)  # friction and damping, which the motors make up for
        K = (2.0 * zeta - 1.0) * omega * self.inertia  # at ζ = 1, both poles are ω
        return robot.mass_matrix(q) @ a_r + C @ v_r + robot.gravity(q) + lost + K * (v_r - v)


@renamed(move="goal", damping="damping_ratio")
def gravity_pd(
    robot: Robot, goal: Any, frequency: Any = 20.0, damping_ratio: Any = 1.0, *, resonance: Any = None
) -> GravityPD:
    """PD with gravity compensation: tau = g(q) + Kp e + Kd ė, Kp = ω² I, Kd = 2 ζ ω I.

    goal: a motion with q(t), v(t), a(t), or a configuration (nq,) to hold. frequency: ω [rad/s], a number or (nv,), or
    a class of robots such as "cobot", with its ratio; damping_ratio: ζ. I: the inertia that each joint feels in the
    first configuration. resonance [Hz] of the joints, a number, (nv,) or a `Sizing` with a stiffness: frequencies above
    a third of it are refused. Holds any configuration without an error; lags behind motions.
    """
    return GravityPD("gravity_pd", robot, goal, frequency, damping_ratio, resonance)


@renamed(move="goal", damping="damping_ratio")
def computed_torque(
    robot: Robot, goal: Any, frequency: Any = 20.0, damping_ratio: Any = 1.0, *, resonance: Any = None
) -> ComputedTorque:
    """Computed torque: M(q) (a_d + kd ė + kp e) + C v + g, so that the error of every joint is ë + kd ė + kp e = 0.

    From rest, with ζ = 1, e(t) = e₀ (1 + ω t) e^(−ω t). Ball joints are controlled on the group of rotations.
    Arguments: see `gravity_pd`.
    """
    return ComputedTorque("computed_torque", robot, goal, frequency, damping_ratio, resonance)


@renamed(move="goal", damping="damping_ratio")
def feedforward(
    robot: Robot,
    goal: Any,
    frequency: Any = 20.0,
    damping_ratio: Any = 1.0,
    *,
    coriolis: bool = True,
    inertial: bool = True,
    gravity: bool = True,
    resonance: Any = None,
) -> Feedforward:
    """Torques of the reference motion, computed from it alone, and a PD: cheap, and free of measurement noise.

    inertial, coriolis, gravity: which terms M a_d, C v_d and g are taken. Arguments: see `gravity_pd`.
    """
    law = Feedforward("feedforward", robot, goal, frequency, damping_ratio, resonance)
    law.inertial, law.coriolis, law.gravity = inertial, coriolis, gravity
    return law


@renamed(move="goal", damping="damping_ratio")
def passivity(
    robot: Robot, goal: Any, frequency: Any = 20.0, damping_ratio: Any = 1.0, *, resonance: Any = None
) -> Passivity:
    """Passivity-based tracking (Slotine, Li): keeps Ṁ − 2C skew, so that errors of the model cannot feed energy in.

    Arguments: see `gravity_pd`; damping_ratio must be above 1/2.
    """
    law = Passivity("passivity", robot, goal, frequency, damping_ratio, resonance)
    if (law.damping <= 0.5).any():
        raise DalembertError(f"passivity: damping_ratio is {law.damping.min():g}, expected above 0.5")
    return law
