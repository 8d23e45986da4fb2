"""Rules on the contact model and the controller that the robot is meant for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .classes import (
    BANDWIDTH,
    CEILING,
    CONTACTS,
    GAINS,
    LEAST_GROUND_FRICTION,
    RESONANCE,
    USUAL_GAINS,
    robot_class,
)
from .integrator import IMPLICIT
from .rule import Found, NotRun, Severity, rule
from .subject import Subject

SLUGGISH, RINGING = 2.0, 0.4  # damping ratios beyond which a controller creeps or rings
SAMPLES = 10.0  # of a controller within one period of its bandwidth
GAIN_FACTOR = 30.0  # beyond the class's usual gain


@rule(
    "contact",
    "contact",
    "warning",
    reason="too little friction lets feet slide, too stiff a ground breaks explicit steps",
    cure="μ is 0.6 or more on dry ground; 1e6 to 1e8 N/m is hard ground, 1e4 to 1e5 soft; or constraint-based contact",
)
def contact(subject: Subject) -> Iterator[Found]:
    stated = subject.expect.contact if subject.expect else None
    if stated is None:
        raise NotRun("no contact is stated ([contact] of --expect FILE)")
    where = f"robot '{subject.model.name}'"
    if stated.friction is not None:
        if stated.friction < 0.0:
            yield Found(where, f"the friction coefficient is {stated.friction:g}", "error")
        elif stated.friction < LEAST_GROUND_FRICTION and robot_class(subject.model) == "legged":
            yield Found(where, f"feet slide: μ is {stated.friction:g}, legged robots need {LEAST_GROUND_FRICTION:g}")
    if stated.stiffness is not None:
        soft, hard = CONTACTS["soft"][0], CONTACTS["hard"][0]
        if not soft.low <= stated.stiffness <= hard.high:
            yield Found(where, f"the ground's stiffness is {stated.stiffness:.3g} N/m")
        simulation = subject.expect.simulation if subject.expect else None
        limit = 2.0 / np.sqrt(stated.stiffness / max(subject.mass, 1e-12))
        if simulation is not None and simulation.integrator not in IMPLICIT and simulation.step > limit:
            yield Found(
                where,
                f"explodes on contact: {simulation.integrator} steps of {simulation.step:.2g} s on a ground of "
                f"{stated.stiffness:.2g} N/m, the limit is {limit:.2g} s",
                "error",
            )


@rule(
    "controller",
    "controller",
    "warning",
    reason="a controller faster than a fifth of the structure's resonance excites it, one without damping rings",
    cure="start with gravity compensation and PD: kp = ω², kd = 2ζω with ω below a fifth of the resonance, ζ about 1",
)
def controller(subject: Subject) -> Iterator[Found | NotRun]:
    stated = subject.expect.controller if subject.expect else None
    if stated is None or stated.kp is None:
        raise NotRun("no controller is stated ([controller] of --expect FILE)")
    where, kind = f"robot '{subject.model.name}'", robot_class(subject.model)
    if stated.kp <= 0.0:
        yield Found(where, f"kp is {stated.kp:g}, expected above 0", "error")
        return
    omega = float(np.sqrt(stated.kp))
    hertz = omega / (2.0 * np.pi)
    resonance = stated.resonance or (RESONANCE[kind].low if kind in RESONANCE else None)
    source = "stated" if stated.resonance else f"the least usual of the class {kind}"
    if resonance is None:
        yield NotRun(f"the bandwidth was not compared: no resonance is stated, and none is usual for the class {kind}")
    elif hertz > resonance / BANDWIDTH:
        severity: Severity | None = "error" if hertz > resonance / CEILING else None
        what = (
            f"a bandwidth of {hertz:.3g} Hz is {hertz / resonance:.2f} of the resonance, {resonance:.3g} Hz ({source})"
        )
        yield Found(where, what, severity)
    if stated.kd is not None:
        ratio = stated.kd / (2.0 * omega)
        if ratio < RINGING:
            yield Found(where, f"rings: a damping ratio of {ratio:.2f}")
        elif ratio > SLUGGISH:
            yield Found(where, f"creeps: a damping ratio of {ratio:.2f}", "info")
    usual = GAINS[USUAL_GAINS[kind]]
    if stated.kp > GAIN_FACTOR * usual.kp:
        yield Found(where, f"kp is {stated.kp:g}, {stated.kp / usual.kp:.0f} times that of a {USUAL_GAINS[kind]}")
    if stated.rate is not None and stated.rate < SAMPLES * hertz:
        yield Found(where, f"runs at {stated.rate:g} Hz, too slow for a bandwidth of {hertz:.3g} Hz")
