"""Rules on the numbers that come out: laws every mechanism obeys, tried at many states."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .rule import Found, NotRun, Severity, demand, rule
from .subject import Subject

EXACT = 1e-9  # relative, of two ways to one number
CONDITION = 1000.0
DEFINITE = 1e-12  # least eigenvalue of M with a unit diagonal
SWING, DRIFT = 0.5, 1e-5  # s of a free swing, and how much its energy may change
STEP = 1e-6  # of the differences that check derivatives


@rule(
    "mass-matrix",
    "mass-matrix",
    "error",
    reason="kinetic energy is positive for every motion: M is symmetric and positive definite",
    cure="look for links without mass and for impossible inertias",
)
def mass_matrix(subject: Subject) -> Iterator[Found]:
    M = subject.M
    skew = np.max(np.abs(M - np.swapaxes(M, 1, 2))) / max(np.max(np.abs(M)), 1e-300)
    if skew > EXACT:
        yield Found(f"robot '{subject.model.name}'", f"M is not symmetric: {skew:.1e}")
    values, motions = np.linalg.eigh(_scaled(M))
    worst = int(np.argmin(values[:, 0]))
    if not values[worst, 0] > DEFINITE:
        joint = subject.model.freedom_names[int(np.argmax(np.abs(motions[worst, :, 0])))]
        yield Found(
            f"robot '{subject.model.name}'",
            f"M is not positive definite at {subject.configuration(subject.q[worst])}: a motion mostly of joint "
            f"'{joint}' has no kinetic energy",
        )


@rule(
    "mass-condition",
    "mass-matrix",
    "info",
    reason="a badly conditioned M turns small errors of torque into large ones of acceleration",
    cure="rotor inertias help the small joints; avoid the configuration in control laws that use M⁻¹",
    needs=("mass-missing", "mass-matrix"),
)
def mass_condition(subject: Subject) -> Iterator[Found]:
    """Condition of M for the motors' joints, what else moves being free to follow, and for all freedoms, scaled."""
    single = [body.v.start for body in subject.model.independent if body.joint.nv == 1]
    joints = np.array(demand(single, "no joint of one freedom moves"))
    felt = np.linalg.inv(subject.M)[:, joints[:, None], joints]
    scaled, plain = np.linalg.cond(_scaled(subject.M)), np.linalg.cond(felt)
    worst = int(np.argmax(plain))
    if plain[worst] > CONDITION:
        severity: Severity | None = "warning" if np.max(scaled) > CONDITION else None
        yield Found(
            f"robot '{subject.model.name}'",
            f"cond(M) reaches {plain[worst]:.3g} ({np.max(scaled):.3g} with each joint in its own scale) at "
            f"{subject.configuration(subject.q[worst])}",
            severity,
        )


@rule(
    "passivity",
    "passivity",
    "error",
    reason="Ṁ − 2C is skew for a consistent Coriolis matrix; controllers rest their stability on it",
    cure="report it: results of this robot cannot be trusted",
)
def passivity(subject: Subject) -> Iterator[Found]:
    if not np.any(subject.M):
        raise NotRun("no motion has kinetic energy")
    residual = np.max(subject.tree.passivity_residual(subject.q, subject.v))
    scale = np.max(np.abs(subject.M)) * max(np.max(np.abs(subject.v)), 1.0)
    if residual > EXACT * scale:
        yield Found(f"robot '{subject.model.name}'", f"Ṁ − 2C is off skew by {residual:.1e}")


@rule(
    "inverse-forward",
    "mass-matrix",
    "error",
    reason="the torques of an acceleration must cause that acceleration",
    cure="look for joints that move next to no inertia",
    needs=("mass-missing", "mass-matrix"),
)
def inverse_forward(subject: Subject) -> Iterator[Found]:
    tau = subject.tree.inverse_dynamics(subject.q, subject.v, subject.a)
    back = subject.tree.forward_dynamics(subject.q, subject.v, tau)
    error = np.max(np.abs(back - subject.a), axis=1) / np.max(np.abs(subject.a))
    worst = int(np.argmax(error))
    if not error[worst] < 1e-7:
        yield Found(
            f"robot '{subject.model.name}'",
            f"accelerations come back off by {error[worst]:.1e} at {subject.configuration(subject.q[worst])}",
        )


@rule(
    "energy",
    "passivity",
    "error",
    reason="a robot without friction and motors keeps its energy while it swings",
    cure="look for impossible inertias; report it if there are none",
    needs=("mass-missing", "mass-matrix"),
)
def energy(subject: Subject) -> Iterator[Found]:
    """A free swing of the bare tree from a random configuration."""
    run = subject.bare.simulate(*subject.swing, SWING, rtol=1e-9, atol=1e-11, progress=False)
    total = run.energy.kinetic + run.energy.potential
    drift = np.max(np.abs(total - total[0])) / max(np.max(run.energy.kinetic), np.ptp(run.energy.potential))
    if not drift < DRIFT:
        yield Found(f"robot '{subject.model.name}'", f"changes its energy by {drift:.1e} of what is exchanged")


@rule(
    "derivatives",
    "mass-matrix",
    "error",
    reason="analytic derivatives must be the slopes of the torques",
    cure="report it: results of this robot cannot be trusted",
)
def derivatives(subject: Subject) -> Iterator[Found]:
    robot, (q, v, a) = subject.tree, (subject.q[:3], subject.v[:3], subject.a[:3])
    if not np.any(subject.M):
        raise NotRun("no motion has kinetic energy")
    slope = robot.inverse_dynamics_derivatives(q, v, a).dq
    way = np.random.default_rng(3).normal(size=v.shape)
    ends = [robot.inverse_dynamics(robot.integrate(q, way, dt=h), v, a) for h in (STEP, -STEP)]
    difference = (ends[0] - ends[1]) / (2 * STEP)
    product = np.einsum("bij,bj->bi", slope, way)
    error = np.max(np.abs(difference - product)) / max(np.max(np.abs(product)), np.max(np.abs(ends)))
    if error > 1e-5:
        yield Found(f"robot '{subject.model.name}'", f"∂tau/∂q differs from differences by {error:.1e}")


def _scaled(M: np.ndarray) -> np.ndarray:
    """M with a unit diagonal, so that a wrist counts as much as a shoulder."""
    diagonal = np.diagonal(M, axis1=1, axis2=2)
    s = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    return M * s[:, :, None] * s[:, None, :]
