"""Rules on the step and the integrator of a simulation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .classes import STEPS_BY_TARGET
from .expectations import SimulationExpectations
from .rule import Found, NotRun, rule
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
