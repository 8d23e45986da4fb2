"""Motions and what they ask of the motors: a standard move where none is given, loops kept closed."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dalembert.audit.closed import ClosedManifold, motors
from dalembert.errors import DalembertError
from dalembert.logs import Trajectory
from dalembert.robot import Robot

MOVE = 0.5  # rad, or m/5 for slides
DURATION = 1.0  # s
APART = 1e-3  # m or rad by which measured loops may be open


def standard_motion(robot: Robot, samples: int = 201) -> Trajectory:
    """A quintic move of 0.5 rad (0.1 m) on every joint, from and to rest, about the middle of the ranges."""
    t = np.linspace(0.0, DURATION, samples)
    s = t / DURATION
    way, rate, bend = (
        10 * s**3 - 15 * s**4 + 6 * s**5,
        (30 * s**2 - 60 * s**3 + 30 * s**4) / DURATION,
        (60 * s - 180 * s**2 + 120 * s**3) / DURATION**2,
    )
    step = np.zeros(robot.nv)
    start = robot.neutral()
    for body in robot.model.independent:
        joint = body.joint
        if joint.nv != 1:
            continue
        low, high = float(joint.lower[0]), float(joint.upper[0])
        room = high - low
        move = min(MOVE if joint.units[0] == "rad" else MOVE / 5, 0.8 * room if np.isfinite(room) else np.inf)
        middle = 0.5 * (low + high) if np.isfinite(room) else 0.0
        step[body.v], start[body.q] = move, middle - move / 2
    q = robot.integrate(start, way[:, None] * step)
    title = f"quintic move of {MOVE:g} rad ({MOVE / 5:g} m) on every joint in {DURATION:g} s, amid the ranges"
    return Trajectory(t, q, rate[:, None] * step, bend[:, None] * step, title=title)


class Efforts(NamedTuple):
    """A motion, and the generalised forces (n, nv) that cause it and that only hold it; notes for the reader.

    driven: names of the joints whose motors give them; None where each freedom is taken to have one.
    """

    motion: Trajectory
    tau: np.ndarray
    holding: np.ndarray
    driven: tuple[str, ...] | None
    notes: tuple[str, ...]


def efforts(robot: Robot, motion: Trajectory) -> Efforts:
    """Inverse dynamics along a motion; with loops, of the motion of the motors with the loops kept closed."""
    if not robot.model.closures:
        tau, holding = robot.inverse_dynamics(motion.q, motion.v, motion.a), robot.gravity(motion.q)
        return Efforts(motion, tau, holding, None, _free_base(robot))
    driven = motors(robot.model)
    names = tuple(body.joint.name for body in driven)
    if not any(np.asarray(body.joint.effort_limit)[0] == 0.0 for body in robot.model.independent if body.joint.nv == 1):
        raise DalembertError(
            f"robot {robot.name!r} has loops: state which joints are passive by an effort limit of 0, or every joint "
            "would be a motor"
        )
    manifold = ClosedManifold(robot, driven)
    q, v, a = manifold.follow(motion.q, motion.v, motion.a)
    moved = float(np.max(np.abs(robot.difference(motion.q, q)), initial=0.0))
    notes = [f"motors are {', '.join(names)}; passive joints follow so that the loops stay closed"]
    if motion.tau is not None and moved > APART:
        notes.append(f"the loops of the motion in the file are open by up to {moved:.2g} m or rad")
    tau = robot.loop_inverse_dynamics(q, v, a, actuated=names).tau
    still = np.zeros_like(v)
    holding = robot.without("friction", "damping").loop_inverse_dynamics(q, still, still, actuated=names).tau
    closed = replace(motion, q=q, v=v, a=a)
    return Efforts(closed, tau, holding, names, (*notes, *_free_base(robot)))


def _free_base(robot: Robot) -> tuple[str, ...]:
    if not robot.model.floating:
        return ()
    return ("efforts of the free base are what would have to hold it: ground or thrust are not in the motion",)
