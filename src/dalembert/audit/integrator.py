"""Rules on the step that a simulation needs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .rule import Found, rule
from .subject import Subject


@rule(
    "step",
    "integrator",
    "info",
    reason="an explicit integrator blows up when its step exceeds 2/ω of the stiffest mode, 2/λ of the fastest decay",
    cure="use the step named, or an implicit integrator",
    needs=("mass-missing", "mass-matrix"),
)
def step(subject: Subject) -> Iterator[Found]:
    springs = np.concatenate([np.atleast_1d(body.joint.stiffness) for body in subject.model.independent])
    damping = np.concatenate([
        np.asarray(body.joint.damping) + np.asarray(body.joint.friction) / body.joint.slip_speed
        for body in subject.model.independent
    ])  # fmt: skip
    inverse = np.linalg.inv(subject.M[:20])
    omega = np.sqrt(np.max(np.abs(np.linalg.eigvals(inverse * springs))))
    decay = np.max(np.abs(np.linalg.eigvals(inverse * damping)))
    if max(omega, decay) * 1e-3 > 0.2:
        limit = min(2.0 / omega if omega else np.inf, 2.0 / decay if decay else np.inf)
        integrator = "implicit-velocity" if decay >= omega else "implicit-midpoint"
        yield Found(
            f"robot '{subject.model.name}'",
            f"stiffest mode {omega:.3g} rad/s, fastest decay {decay:.3g} 1/s: explicit steps stay below "
            f"{limit:.2g} s, or integrator='{integrator}'",
        )
