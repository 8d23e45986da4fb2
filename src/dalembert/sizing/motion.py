"""Motions and their motor torques: a standard move by default, loops kept closed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dalembert.audit.closed import WHICH, ClosedManifold, motors
from dalembert.errors import DalembertError
from dalembert.logs import Trajectory
from dalembert.model import motors_of
from dalembert.motion import quintic
from dalembert.robot import Robot

MOVE = 0.5  # rad, or m/5 for slides
DURATION = 1.0  # s
PEAK = 1.875  # speed of a quintic move by its mean speed
OF_SPEED = 0.95  # of the speed limits
APART = 1e-3  # m or rad by which measured loops may be open
UNCARRIED = 1e-6  # share of the base's load that contacts may miss


def standard_motion(robot: Robot, samples: int = 201, about: np.ndarray | None = None) -> Trajectory:
    """A quintic move of 0.5 rad (0.1 m) on every joint, from and to rest, about the middle of the ranges.

    It takes 1 s, or as long as the speed limits ask for.
    about (nq,): a tenth of that about this position instead, as for linkages, which may not go far.
    """
    if not robot.nv:
        raise DalembertError(f"standard_motion: robot {robot.name!r} has no joint that moves")
    if about is not None:
        away = np.array([0.1 * MOVE if unit == "rad" else 0.02 * MOVE for unit in robot.model.freedom_units])
        motion = quintic(robot.integrate(about, -0.5 * away), robot.integrate(about, 0.5 * away), DURATION, robot)
        title = (
            f"quintic move of {0.1 * MOVE:g} rad ({0.02 * MOVE:g} m) on every joint in {DURATION:g} s, about its start"
        )
        return replace(motion.sample(DURATION / (samples - 1)), title=title)
    step = np.zeros(robot.nv)
    start = robot.neutral()
    for body in robot.model.independent:
        joint = body.joint
        if joint.nv != 1:
            continue
        low, high = float(joint.lower[0]), float(joint.upper[0])
        room = high - low
        move = min(MOVE if joint.units[0] == "rad" else MOVE / 5, 0.8 * room if np.isfinite(room) else np.inf)
        middle = 0.5 * (low + high) if np.isfinite(room) else min(max(0.0, low + move / 2), high - move / 2)
        step[body.v], start[body.q] = move, middle - move / 2
    limits = robot.limits.velocity
    moved = (step > 0.0) & (limits > 0.0)
    duration = max(DURATION, float(np.max(PEAK * step[moved] / (OF_SPEED * limits[moved]), initial=0.0)))
    motion = quintic(start, robot.integrate(start, step), duration, robot)
    title = (
        f"quintic move of {MOVE:g} rad ({MOVE / 5:g} m) on every joint in {duration:.3g} s, in the middle of its range"
    )
    return replace(motion.sample(duration / (samples - 1)), title=title)


class Efforts(NamedTuple):
    """A motion, and the generalised forces (n, nv) that cause it and that only hold it; notes for the reader.

    driven: names of the joints whose motors give them; None where each freedom is taken to have one. coriolis: peak of
    ‖C v‖ by peak of ‖g‖, of the driven freedoms.
    """

    motion: Trajectory
    tau: np.ndarray
    holding: np.ndarray
    driven: tuple[str, ...] | None
    coriolis: float
    notes: tuple[str, ...]


def efforts(robot: Robot, motion: Trajectory, contacts: Sequence[str] = ()) -> Efforts:
    """Inverse dynamics along a motion.

    With loops: of the motion of the motors, the loops kept closed. With a free base: the smallest forces at the frames
    `contacts` that carry it, and what the motors then give; without contacts, what would have to hold the base is left.
    """
    if robot.model.closures:
        return _closed_efforts(robot, motion)
    still, none = robot.without("friction", "damping"), np.zeros_like(motion.v)
    tau, holding = robot.inverse_dynamics(motion.q, motion.v, motion.a), robot.gravity(motion.q)
    turning = still.bias(motion.q, motion.v) - still.bias(motion.q, none)
    notes = _left_out(robot)
    if robot.model.floating:
        tau, told = _carried(robot, motion, tau, contacts)
        notes = (*notes, *told)
        holding, _ = _carried(robot, motion, holding, contacts)
        turning, _ = _carried(robot, motion, turning, contacts)
    elif contacts:
        raise DalembertError(f"robot {robot.name!r} has a fixed base: contacts are those of a free one")
    rows = [body.v.start for body in motors(robot.model)]
    return Efforts(motion, tau, holding, None, _ratio(turning[:, rows], holding[:, rows]), notes)


def _left_out(robot: Robot) -> tuple[str, ...]:
    """Forces that act in simulations, but not in inverse dynamics."""
    around = robot.model.surroundings
    words = ["the fluid around the robot"] * (around.medium is not None)
    words += ["the balanced part of gravity"] * bool(around.compensations)
    return (f"without {' and '.join(words)}, which acts in simulations only",) if words else ()


def _ratio(turning: np.ndarray, holding: np.ndarray) -> float:
    peak = float(np.max(np.linalg.norm(holding, axis=1), initial=0.0))
    return float(np.max(np.linalg.norm(turning, axis=1), initial=0.0)) / peak if peak > 0.0 else 0.0


def _closed_efforts(robot: Robot, motion: Trajectory) -> Efforts:
    driven = motors(robot.model)
    names = tuple(body.joint.name for body in driven)
    if not motors_of(robot.model).passive:
        raise DalembertError(f"robot {robot.name!r} has loops: state {WHICH}, or every joint would be a motor")
    manifold = ClosedManifold(robot, driven)
    q, v, a = manifold.follow(motion.q, motion.v, motion.a)
    moved = float(np.max(np.abs(robot.difference(motion.q, q)), initial=0.0))
    notes = [*_left_out(robot), f"motors are {', '.join(names)}; passive joints follow so that the loops stay closed"]
    if motion.tau is not None and moved > APART:
        notes.append(f"the loops of the motion in the file are open by up to {moved:.2g} m or rad")
    smooth, none = robot.without("friction", "damping"), np.zeros_like(v)
    tau = robot.loop_inverse_dynamics(q, v, a, actuated=names).tau
    holding = smooth.loop_inverse_dynamics(q, none, none, actuated=names).tau
    _, _, unforced = manifold.follow(q, v, none)
    turning = smooth.loop_inverse_dynamics(q, v, unforced, actuated=names).tau - holding
    closed = replace(motion, q=q, v=v, a=a)
    ratio = _ratio(turning[:, manifold.rows], holding[:, manifold.rows])
    return Efforts(closed, tau, holding, names, ratio, tuple(notes))


def _carried(
    robot: Robot, motion: Trajectory, tau: np.ndarray, contacts: Sequence[str]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Generalised forces of a floating robot with the smallest contact forces that carry its base taken off."""
    base = robot.model.base.v
    if not contacts:
        note = "efforts of the free base are what would have to hold it: ground or thrust are not in the motion"
        return tau, (f"{note} (contacts=…, --contact FRAME)",)
    J = np.concatenate([robot.jacobian(motion.q, frame)[:, 3:, :] for frame in contacts], axis=1)
    A = np.swapaxes(J[:, :, base], 1, 2)  # (n, 6, 3k): base wrench of contact forces
    forces = np.einsum("bij,bj->bi", np.linalg.pinv(A, rcond=1e-9), tau[:, base])
    left = tau - np.einsum("bji,bj->bi", J, forces)
    size = float(np.max(np.abs(tau[:, base]), initial=1e-12))
    notes = [f"the base is carried at {', '.join(contacts)} by the smallest forces that do"]
    missing = float(np.max(np.abs(left[:, base]), initial=0.0)) / size
    if missing > UNCARRIED:
        notes.append(f"these contacts leave {100 * missing:.3g} % of the support of the base unexplained")
    return left, tuple(notes)
