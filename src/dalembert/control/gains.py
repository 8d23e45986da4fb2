"""Gains from a frequency and a damping ratio, or from what is usual for a class; and the ceiling that joints set.

After feedback linearisation ë + kd ė + kp e = 0 with kp = ω² and kd = 2 ζ ω. A loop faster than about a fifth of the
first resonance of a joint's structure excites it; from a third on it is refused (Brogliato et al. 2007).

`refuse_passive`: laws for robots with a motor at every freedom.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.audit.classes import BANDWIDTH, CEILING, GAINS
from dalembert.errors import DalembertError, unknown
from dalembert.model import motorized, motors_of
from dalembert.robot import Robot
from dalembert.sizing import Sizing


class Gains(NamedTuple):
    """ω [rad/s] and damping ratio ζ of every freedom (nv,), and what to know about them."""

    frequency: np.ndarray
    damping: np.ndarray
    notes: tuple[str, ...] = ()

    @property
    def kp(self) -> np.ndarray:
        """ω² [1/s²]."""
        return self.frequency**2

    @property
    def kd(self) -> np.ndarray:
        """2 ζ ω [1/s]."""
        return 2.0 * self.damping * self.frequency


def gains(where: str, robot: Robot, frequency: Any, damping: Any, resonance: Any = None) -> Gains:
    """Checked gains.

    frequency: ω [rad/s], a number or (nv,), or the name of a class, such as "cobot", whose gains are usual and which
    then gives the damping too. resonance [Hz]: of the joints' structure, a number, (nv,), or a `Sizing` that was given
    a stiffness.
    """
    notes: tuple[str, ...] = ()
    if isinstance(frequency, str):
        if frequency not in GAINS:
            raise unknown("class of gains", frequency, GAINS, where)
        usual = GAINS[frequency]
        frequency = float(np.sqrt(usual.kp))
        damping = usual.kd / (2.0 * frequency)
        notes = (f"gains of a {usual.kp:g} 1/s², {usual.kd:g} 1/s class",)
    omega = per_freedom(where, robot, "frequency", frequency, "rad/s")
    zeta = per_freedom(where, robot, "damping_ratio", damping, "a ratio, 1 is critical")
    return Gains(omega, zeta, notes + check_ceiling(where, robot, omega, resonance))


def per_freedom(where: str, robot: Robot, name: str, value: Any, unit: str, zero: bool = False) -> np.ndarray:
    """A number, or one for each freedom, as an array (nv,) of numbers above 0; zero: 0 is allowed."""
    try:
        array = np.broadcast_to(np.asarray(value, float), (robot.nv,))
    except (TypeError, ValueError):
        raise DalembertError(f"{where}: {name} is {value!r}, expected a number or ({robot.nv},) [{unit}]") from None
    bad = ~(((array >= 0.0) if zero else (array > 0.0)) & np.isfinite(array))
    if bad.any():
        k = int(np.argmax(bad))
        expected = f"{'0 or more' if zero else 'above 0'} [{unit}]"
        raise DalembertError(
            f"{where}: {name} of joint {robot.model.freedom_names[k]!r} is {array[k]:g}, expected {expected}"
        )
    return array.copy()


def check_ceiling(where: str, robot: Robot, omega: np.ndarray, resonance: Any) -> tuple[str, ...]:
    """Refuse frequencies above a third of a joint's resonance; a note for those above a fifth."""
    if resonance is None:
        return ()
    names, mask = robot.model.freedom_names, motorized(robot.model)
    hertz = omega / (2.0 * np.pi)
    structure = _resonances(where, robot, resonance)
    noted = []
    for k in np.flatnonzero(mask & (hertz * BANDWIDTH > structure)):
        said = (
            f"joint {names[k]!r}: a bandwidth of {hertz[k]:.3g} Hz ({omega[k]:.3g} rad/s) is "
            f"{hertz[k] / structure[k]:.2f} of its resonance, {structure[k]:.3g} Hz"
        )
        if hertz[k] * CEILING > structure[k]:
            most = 2.0 * np.pi * structure[k] / BANDWIDTH
            raise DalembertError(
                f"{where}: {said}, which it would excite: expected at most a third, better a fifth: "
                f"frequency={most:.3g} rad/s"
            )
        noted.append(said)
    return tuple(noted)


def _resonances(where: str, robot: Robot, resonance: Any) -> np.ndarray:
    """[Hz] of every freedom (nv,), infinite where none is known."""
    if not isinstance(resonance, Sizing):
        return per_freedom(where, robot, "resonance", resonance, "Hz")
    resonances = np.full(robot.nv, np.inf)
    for row in resonance.rows:
        if row.resonance is None:
            raise DalembertError(f"{where}: the sizing knows no resonance: call robot.sizing(…, stiffness=…) [N·m/rad]")
        resonances[robot.joint(row.joint).v] = row.resonance
    return resonances


def refuse_passive(where: str, robot: Robot, instead: str) -> None:
    """Raise if a freedom has no motor, or loops tie joints to each other; says which, and what to use instead."""
    model, mask = robot.model, motorized(robot.model)
    if not model.nv:
        raise DalembertError(f"{where}: robot {robot.name!r} has no joint that moves")
    if model.closures:
        raise DalembertError(
            f"{where}: robot {robot.name!r} has closed loops, whose joints do not move one by one: control its "
            "tree, robot.without('loops'), if every joint has a motor"
        )
    for body in model.independent:
        if not mask[body.v].all():
            gives = "robot.edit().set_joint(…, motor=True) gives one"
            why = f"is passive: {motors_of(model).because}; {gives}"
            if body.joint.kind == "free":
                why = "is a free base"
            elif not body.joint.effort_limit.all():
                why = "has an effort limit of 0; robot.edit().set_joint(…, effort_limit=…) gives one"
            raise DalembertError(
                f"{where}: joint {body.joint.name!r} of robot {robot.name!r} has no motor (it {why}): use {instead}"
            )
