"""Rules on the simulation, the contact model and the controller that the robot is meant for."""

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
    STEPS_BY_TARGET,
    USUAL_GAINS,
    robot_class,
)
from .expectations import SimulationExpectations
from .rule import Found, NotRun, Severity, rule
from .subject import Subject

IMPLICIT = ("implicit-velocity", "implicit-midpoint", "rodas", "variational", "implicit", "implicitfast")
SWING = 2.0  # s of free swing whose energy is watched
INJECTED = 1e-3  # of the energy exchanged, per second


@rule(
    "step",
    "integrator",
    "info",
    reason="an explicit integrator blows up when its step exceeds 2/ω of the stiffest mode, 2/λ of the fastest decay",
    cure="use a shorter step, or an implicit integrator",
    needs=("mass-missing", "mass-matrix"),
)
def step(subject: Subject) -> Iterator[Found]:
    """At the step that is stated, else at 1 ms."""
    stated = subject.expect.simulation if subject.expect else None
    planned = stated or SimulationExpectations()
    springs = np.concatenate([np.atleast_1d(body.joint.stiffness) for body in subject.model.independent])
    damping = np.concatenate([
        np.asarray(body.joint.damping)
        + (np.asarray(body.joint.friction) + np.asarray(body.joint.stribeck)) / body.joint.slip_speed
        for body in subject.model.independent
    ])  # fmt: skip
    inverse = np.linalg.inv(subject.M[:20])
    omega = np.sqrt(np.max(np.abs(np.linalg.eigvals(inverse * springs))))
    decay = np.max(np.abs(np.linalg.eigvals(inverse * damping)))
    limit = min(2.0 / omega if omega else np.inf, 2.0 / decay if decay else np.inf)
    explicit = planned.integrator not in IMPLICIT
    if explicit and max(omega, decay) * planned.step > 0.2:
        integrator = "implicit-velocity" if decay >= omega else "implicit-midpoint"
        explodes = stated is not None and planned.step > limit
        yield Found(
            f"robot '{subject.model.name}'",
            f"stiffest mode {omega:.3g} rad/s, fastest decay {decay:.3g} 1/s: explicit steps stay below "
            f"{limit:.2g} s"
            + (f", {planned.step:.2g} s explodes" if explodes else "")
            + f"; or integrator='{integrator}'",
            "error" if explodes else None,
        )
    if stated is not None and stated.target in STEPS_BY_TARGET:
        usual, integrator = STEPS_BY_TARGET[stated.target]
        if stated.step > usual.high:
            yield Found(
                f"robot '{subject.model.name}'",
                f"steps of {stated.step:.2g} s are long for {stated.target}: usual are {usual.low:.2g} to "
                f"{usual.high:.2g} s with {integrator}",
                "warning",
            )


@rule(
    "step-energy",
    "integrator",
    "warning",
    reason="an integrator that feeds energy into a free swing ends in an explosion; 0.1 % a second is the most",
    cure="a shorter step, or one of rk4, implicit-midpoint and variational",
    needs=("mass-missing", "mass-matrix"),
)
def step_energy(subject: Subject) -> Iterator[Found]:
    """A free swing of the bare tree with the integrator and the step that are stated."""
    stated = subject.expect.simulation if subject.expect else None
    if stated is None:
        raise NotRun("no simulation is stated ([simulation] of --expect FILE)")
    if stated.integrator not in ("euler", "heun", "rk4", "semi-implicit", *IMPLICIT[:3]):
        raise NotRun(f"integrator '{stated.integrator}' is not one of this package")
    bare = subject.bare
    run = bare.simulate(*subject.swing, SWING, integrator=stated.integrator, step=stated.step, progress=False)
    total = run.energy.kinetic + run.energy.potential
    drift = (total[-1] - total[0]) / np.max(run.energy.kinetic) / SWING
    if not abs(drift) <= INJECTED:
        way = "gains" if drift > 0 else "loses"
        yield Found(
            f"robot '{subject.model.name}'",
            f"a free swing {way} {100 * abs(drift):.2g} % of its energy a second with {stated.integrator} at "
            f"{stated.step:.2g} s",
        )


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
