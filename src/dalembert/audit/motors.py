"""Rules on what the motors can hold, and the step a simulation needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .rule import Found, rule
from .subject import EFFECTS, Subject

MARGIN = 1.3  # for payload variance, model error and friction
ROUNDS = 12


class Headroom(NamedTuple):
    """What gravity asks of a joint at its worst configuration, beside what the joint may give [N·m or N]."""

    joint: str
    gravity: float
    limit: float
    q: np.ndarray  # the configuration

    @property
    def ratio(self) -> float:
        """limit / gravity; infinite for a joint gravity does not load."""
        return self.limit / self.gravity if self.gravity > 0.0 else np.inf


def headroom(subject: Subject) -> list[Headroom]:
    """Gravity's worst case for each joint with an effort limit: random configurations, the best of them refined."""
    robot = subject.loaded.without(*EFFECTS)
    rng = np.random.default_rng(11)
    rows = []
    for body in subject.model.independent:
        joint = body.joint
        if joint.nv != 1 or not np.all(np.isfinite(joint.effort_limit)) or not np.all(joint.effort_limit > 0):
            continue
        q = robot.random(rng, 512)
        index, width = body.v.start, 1.0
        for _ in range(ROUNDS):
            load = np.abs(robot.gravity(q)[:, index])
            best = q[np.argmax(load)]
            q = _within(
                subject, robot.integrate(np.broadcast_to(best, q.shape), rng.normal(size=(512, robot.nv)) * width)
            )
            q[0] = best
            width *= 0.6
        rows.append(Headroom(joint.name, float(np.max(load)), float(joint.effort_limit[0]), best))
    return rows


@rule(
    "headroom",
    "motors",
    "warning",
    reason="a motor that cannot hold the arm stretched out lets it fall; 1.3 times gravity is the usual least",
    cure="check effort limits and masses; a smaller payload, a counterweight or a larger motor",
)
def gravity_headroom(subject: Subject) -> Iterator[Found]:
    if not subject.carried:
        return
    for row in headroom(subject):
        if row.ratio < MARGIN:
            held = "cannot hold" if row.ratio < 1.0 else "barely holds"
            yield Found(
                f"joint '{row.joint}'",
                f"{held} the robot: gravity asks {row.gravity:.3g}, the limit is {row.limit:.3g} "
                f"({row.ratio:.2f} times) at {subject.configuration(row.q)}",
            )


@rule(
    "step",
    "motors",
    "info",
    reason="an explicit integrator blows up when its step exceeds 2/ω of the stiffest mode, 2/λ of the fastest decay",
    cure="use the step named, or an implicit integrator",
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


def _within(subject: Subject, q: np.ndarray) -> np.ndarray:
    for body in subject.model.independent:
        if body.joint.nq == 1:
            q[:, body.q] = np.clip(q[:, body.q], body.joint.lower, body.joint.upper)
    return q
