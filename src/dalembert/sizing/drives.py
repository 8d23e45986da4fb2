"""Motors and gears that one could buy: their ratings, the file that lists them, and the lightest pair that fits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dalembert.errors import DalembertError, unknown
from dalembert.files import read_toml

from .demand import Course, Demand, rms

Item = TypeVar("Item", "Motor", "Gear")


@dataclass(frozen=True)
class Motor:
    """A rotary motor: torques [N·m], speed [rad/s], rotor inertia [kg·m²], mass [kg].

    stall: at rest; the torque falls in a straight line to zero at the speed no_load. peak: what it may give for a short
    time (default: stall); continuous: what it may give for ever.
    """

    name: str
    stall: float
    no_load: float
    continuous: float
    inertia: float
    peak: float | None = None
    mass: float = 0.0

    def envelope(self, speed: np.ndarray) -> np.ndarray:
        """The largest torque for a short time at a speed [rad/s] of either sign."""
        line = self.stall * (1.0 - np.abs(speed) / self.no_load)
        return np.clip(line, 0.0, self.stall if self.peak is None else self.peak)


@dataclass(frozen=True)
class Gear:
    """A gear: ratio is motor speed by joint speed [rad/rad, or rad/m for a slide: 2π / lead of its screw].

    efficiency: forward, and taken backward too; rated and peak: torque or force at the output [N·m or N]; speed: most
    at the input [rad/s]; inertia: at the input [kg·m²]; stiffness: at the output [N·m/rad or N/m]; mass [kg].
    """

    name: str
    ratio: float
    efficiency: float = 1.0
    rated: float = np.inf
    peak: float = np.inf
    speed: float = np.inf
    inertia: float = 0.0
    stiffness: float | None = None
    mass: float = 0.0

    @property
    def backdrivability(self) -> float:
        """η / N²: how much of a push at the output is felt at the motor; 1 without a gear."""
        return self.efficiency / self.ratio**2

    @property
    def transparency(self) -> str:
        """The meaning of the backdrivability: a harmonic drive of 100 has 7e-5, a planetary gear of 6 has 0.025."""
        for least, meaning in ((5e-3, "freely backdrivable"), (3e-4, "backdrivable with effort")):
            if self.backdrivability >= least:
                return meaning
        return "barely backdrivable"


DIRECT = Gear("direct drive", 1.0)


@dataclass(frozen=True)
class Catalogue:
    """Motors and gears to choose from; without gears every motor drives its joint directly."""

    motors: tuple[Motor, ...]
    gears: tuple[Gear, ...] = (DIRECT,)


def read_catalogue(path: str | os.PathLike[str]) -> Catalogue:
    """Read a file of [[motor]] and [[gear]] tables; the keys are the fields of `Motor` and `Gear`, or lead [m]."""
    data = read_toml(path)
    for key in data:
        if key not in ("motor", "gear"):
            raise unknown("table", key, ("motor", "gear"), str(path))
    motors = [_item(Motor, entry, f"{path}: [[motor]] number {k + 1}") for k, entry in _entries(data, "motor", path)]
    gears = [_item(Gear, _with_ratio(e, f"{path}: [[gear]] number {k + 1}"), f"{path}: [[gear]] number {k + 1}")
             for k, e in _entries(data, "gear", path)]  # fmt: skip
    if not motors:
        raise DalembertError(f"{path}: has no [[motor]]")
    return Catalogue(tuple(motors), tuple(gears) or (DIRECT,))


def _entries(data: dict[str, Any], key: str, path: Any) -> list[tuple[int, dict[str, Any]]]:
    entries = data.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DalembertError(f"{path}: expected [[{key}]] tables")
    return list(enumerate(entries))


def _with_ratio(entry: dict[str, Any], where: str) -> dict[str, Any]:
    """A gear with the ratio of its lead [m per turn], if that is how it is stated."""
    if "lead" not in entry:
        return entry
    lead = entry["lead"]
    if "ratio" in entry or not isinstance(lead, int | float) or not 0.0 < lead < np.inf:
        raise DalembertError(f"{where}: give ratio, or lead above 0 [m]")
    return {key: value for key, value in entry.items() if key != "lead"} | {"ratio": 2.0 * np.pi / float(lead)}


def _item(kind: type[Item], entry: dict[str, Any], where: str) -> Item:
    known = {member.name: member for member in fields(kind)}
    for key in entry:
        if key not in known:
            raise unknown("key", key, known, where)
    for name, member in known.items():
        if name not in entry and member.default is MISSING:
            raise DalembertError(f"{where}: has no {name}")
        value = entry.get(name)
        if name == "name":
            if not isinstance(value, str) or not value:
                raise DalembertError(f"{where}: name is {value!r}, expected a text")
        elif value is not None:
            least = 0.0 if name in ("mass", "inertia") else np.nextafter(0.0, 1.0)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value:
                expected = "0 or more" if least == 0.0 else "a number above 0"
                raise DalembertError(f"{where}: {name} is {value!r}, expected {expected}")
    if entry.get("efficiency", 1.0) > 1.0:
        raise DalembertError(f"{where}: efficiency is {entry['efficiency']}, expected at most 1")
    numbers: dict[str, Any] = {key: value if key == "name" else float(value) for key, value in entry.items()}
    return kind(**numbers)


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
        driven = output * gear.efficiency / N  # where the joint drives the motor
        torque = np.where(output * course.v >= 0.0, output / (N * gear.efficiency), driven) + N * inertia * course.a
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


def _by(available: float, required: float) -> float:
    return available / required if required > 0.0 else np.inf
