"""Laws that run at a rate and keep something: PID with anti-windup, and encoders that quantise what a law sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, check_positive, renamed
from dalembert.math import floor, where
from dalembert.robot import Robot
from dalembert.sim.system.sampled import Sampled

from ..gains import gains, per_freedom, refuse_passive
from ..reference import deviation, reference
from .joint import WHOLE_BODY
from .law import setting_or, within_effort


class PID:
    """tau = g(q) + I (kp e + kd ė) + ki ∫e, within the motors' limits; state: the integral (nv,) [N·m]."""

    def __init__(
        self, robot: Robot, goal: Any, frequency: Any, damping: Any, integral: Any, period: float, resonance: Any = None
    ) -> None:
        refuse_passive("pid", robot, WHOLE_BODY)
        self.robot, self.period, self.reference = robot, float(period), reference("pid", robot, goal)
        chosen = gains("pid", robot, frequency, damping, resonance)
        self.frequency, self.damping, self.notes = chosen.frequency, chosen.damping, chosen.notes
        self.integral = per_freedom("pid", robot, "integral", integral, "1/s", zero=True)
        self.inertia = np.diag(robot.mass_matrix(np.asarray(self.reference.q(0.0), float))).copy()

    def __call__(
        self, t: Any, q: np.ndarray, v: np.ndarray, state: np.ndarray, frequency: Any = None, damping_ratio: Any = None,
        integral: Any = None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        omega, zeta = setting_or(frequency, self.frequency), setting_or(damping_ratio, self.damping)
        off = deviation(self.robot.model, self.reference, t, q, v)
        kp = self.inertia * omega * omega
        tau = self.robot.gravity(q) + kp * off.e + 2.0 * self.inertia * zeta * omega * (off.v - v)
        grown = state + self.period * setting_or(integral, self.integral) * kp * off.e
        wanted = tau + grown
        limited = within_effort(self.robot, wanted)
        further = (wanted - limited) * off.e  # positive at the limit, where the error would take the torque beyond it
        held = [where(x > 0.0, old, new) for x, old, new in zip(further, state, grown, strict=True)]
        return limited, np.array(held)


@renamed(move="goal", damping="damping_ratio")
def pid(
    robot: Robot,
    goal: Any,
    frequency: Any = 20.0,
    damping_ratio: Any = 1.0,
    integral: Any = 2.0,
    *,
    period: float = 1e-3,
    delay: float = 0.0,
    resonance: Any = None,
) -> Sampled:
    """PID with gravity compensation, run every `period` [s]: an integral takes away what the model does not know of.

    integral [1/s]: rate at which it grows beside kp e; 0: none. While a motor is at its limit, its integral does not
    grow further (anti-windup by clamping). delay [s] of the answer. Others: see `gravity_pd`. The result is a
    `dalembert.Sampled`, whose state is the integral (nv,).
    """
    law = PID(robot, goal, frequency, damping_ratio, integral, period, resonance)
    return Sampled(law, period, delay, state=np.zeros(robot.nv))


class Encoders:
    """A law that sees q in whole counts, and velocities as filtered differences of them.

    state: [q of the sample before, filtered velocity, state of the law].
    """

    def __init__(self, robot: Robot, law: Sampled, resolution: np.ndarray, cutoff: float) -> None:
        self.robot, self.inner, self.resolution = robot, law, resolution
        self.period = float(law.period)
        self.share = 1.0 - float(np.exp(-2.0 * np.pi * cutoff * self.period))  # of a new difference in the filter

    def start(self, q: np.ndarray, v: np.ndarray) -> dict[str, Any]:
        """The state at the beginning: counts of now, and the true velocity."""
        inner = self.inner.state(q, v) if callable(self.inner.state) else self.inner.state
        return {"q": self.counted(q), "v": np.array(v), **({"law": inner} if self.inner.keeps else {})}

    def counted(self, q: np.ndarray) -> np.ndarray:
        """q in whole counts."""
        return self.resolution * floor(np.asarray(q) / self.resolution + 0.5)

    def __call__(self, t: Any, q: np.ndarray, v: np.ndarray, state: Any, **others: Any) -> tuple[np.ndarray, Any]:
        seen = self.counted(q)
        speed = state["v"] + self.share * ((seen - state["q"]) / self.period - state["v"])
        if not self.inner.keeps:
            return self.inner.law(t, seen, speed, **others), {"q": seen, "v": speed}
        tau, kept = self.inner.law(t, seen, speed, state["law"], **others)
        return tau, {"q": seen, "v": speed, "law": kept}


def encoders(robot: Robot, law: Sampled | Callable[..., Any], resolution: Any, cutoff: float = 50.0,
             *, period: float = 1e-3) -> Sampled:  # fmt: skip
    """A law that measures with encoders: q in steps of `resolution` [rad or m], a number or (nv,).

    v is the difference of counts, low-passed at `cutoff` [Hz]. law: a `Sampled`, or a law (t, q, v) → tau that is then
    run every `period` [s].
    """
    if not robot.model.flat:
        joint = next(body.joint.name for body in robot.model.independent if not body.joint.flat)
        raise DalembertError(f"encoders: joint {joint!r} of robot {robot.name!r} has a quaternion, which has no counts")
    sampled = law if isinstance(law, Sampled) else Sampled(law, period, state=())
    if isinstance(sampled.state, dict):
        raise DalembertError("encoders: the law's state is a dict, expected an array")
    check_positive("encoders: cutoff", cutoff, "Hz")
    counts = per_freedom("encoders", robot, "resolution", resolution, "rad or m")
    around = Encoders(robot, sampled, counts, cutoff)
    return Sampled(around, sampled.period, sampled.delay, state=around.start, inputs=sampled.inputs)
