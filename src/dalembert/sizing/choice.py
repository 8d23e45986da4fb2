"""A motor and a gear on a joint: the requirements, whether the pair meets them, and the lightest pair that does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .demand import Course, Demand, rms
from .drives import Catalogue, Gear, Motor


class Drive(NamedTuple):
    """A motor and a gear on a joint. Ratios are available over required values, margin included: 1 or more fits.

    peak: the torque-speed envelope at every sample, and the worst gravity; continuous: the RMS of the motions, and the
    worst gravity held for ever; speed: of motor and gear; output: peak and rated torque of the gear. reflected: N²
    times the rotor and gear inertia [kg·m² or kg]; share: of that in what the joint accelerates at most.
    """

    joint: str
    motor: Motor
    gear: Gear
    peak: float
    continuous: float
    speed: float
    output: float
    motor_torque: float  # peak at the motor [N·m]
    motor_speed: float  # peak at the motor [rad/s]
    reflected: float
    share: float
    mass: float

    @property
    def fits(self) -> bool:
        return min(self.peak, self.continuous, self.speed, self.output) >= 1.0

    @property
    def tightest(self) -> str:
        """The tightest limit, in words."""
        ratios = {"peak torque": self.peak, "continuous torque": self.continuous, "speed": self.speed}
        ratios["gear torque"] = self.output
        name = min(ratios, key=lambda key: ratios[key])
        return f"{name} {ratios[name]:.2f} times what is needed"


def drive(demand: Demand, courses: Sequence[Course], motor: Motor, gear: Gear, margin: float) -> Drive:
    """Try a motor with a gear on a joint.

    The rotor in the model (armature) is replaced by N² times that of the motor and the gear. Where the joint is driven,
    friction in the gear adds to the motor's torque, τ / (N η); where it drives the motor, it helps, τ η / N.
    """
    N, inertia = gear.ratio, motor.inertia + gear.inertia
    reflected = N * N * inertia
    peak, required, outputs, top = np.inf, [], [], 0.0
    for course in courses:
        output = course.tau - demand.rotor * course.a
        torque = _at_the_motor(output, course.v, gear) + N * inertia * course.a
        allowed = motor.envelope(N * course.v)
        required.append((course.t, torque))
        outputs.append((course.t, output))
        top = max(top, float(np.max(np.abs(torque))))
        with np.errstate(divide="ignore"):
            ratio = np.where(torque == 0.0, np.inf, allowed / (margin * np.abs(torque)))
        peak = min(peak, float(np.min(ratio)))
    hold = demand.gravity / (N * gear.efficiency)
    peak = min(peak, _by(float(motor.envelope(np.zeros(1))[0]), margin * hold))
    most = max(demand.gravity, max(float(np.max(np.abs(output))) for _, output in outputs))
    return Drive(
        joint=demand.joint,
        motor=motor,
        gear=gear,
        peak=peak,
        continuous=_by(motor.continuous, margin * max(rms(required), hold)),
        speed=_by(min(motor.no_load, gear.speed), N * demand.speed),
        output=min(_by(gear.peak, margin * most), _by(gear.rated, max(rms(outputs), demand.gravity))),
        motor_torque=max(top, hold),
        motor_speed=N * demand.speed,
        reflected=reflected,
        share=reflected / (reflected + demand.inertia[1] - demand.rotor),
        mass=motor.mass + gear.mass,
    )


def choose(
    demand: Demand, courses: Sequence[Course], catalogue: Catalogue, margin: float
) -> tuple[Drive | None, Drive]:
    """The lightest pair that fits (None if none does), and the closest pair.

    Of equally light ones the one with the smaller reflected inertia.
    """
    tried = [drive(demand, courses, motor, gear, margin) for motor in catalogue.motors for gear in catalogue.gears]
    fitting = [candidate for candidate in tried if candidate.fits]
    best = min(fitting, key=lambda d: (d.mass, d.reflected), default=None)
    nearest = max(tried, key=lambda d: min(d.peak, d.continuous, d.speed, d.output))
    return best, nearest


def _at_the_motor(output: np.ndarray, v: np.ndarray, gear: Gear) -> np.ndarray:
    driving = output * v >= 0.0
    return np.where(driving, output / (gear.ratio * gear.efficiency), output * gear.efficiency / gear.ratio)


def _by(available: float, required: float) -> float:
    return available / required if required > 0.0 else np.inf
