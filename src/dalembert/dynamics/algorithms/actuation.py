"""Actuators acting on a robot: the length each one acts along, and the generalised forces of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.linear import sparse_product
from dalembert.math import sqrt, where
from dalembert.model import Actuator, JointForceLimits, Model
from dalembert.model.actuators import within
from dalembert.spatial import so3

from .jacobian import jacobian
from .kinematics import chain, frame_pose


class Transmission(NamedTuple):
    """The length x of an actuator and its moment arms (nv,): ẋ = moment · v; a force f along x acts as moment f."""

    length: Any
    moment: np.ndarray


def transmission(model: Model, actuator: Actuator, q: np.ndarray) -> Transmission:
    """The transmission of an actuator at q (nq,)."""
    if actuator.joint:
        return _on_joint(model, actuator, q)
    if actuator.tendon:
        return _on_tendon(model, actuator, q)
    if actuator.path:
        return _on_path(model, actuator, q)
    return _on_site(model, actuator, q)


def actuator_forces(
    model: Model,
    actuators: Sequence[Actuator],
    limits: Sequence[JointForceLimits],
    q: np.ndarray,
    v: np.ndarray,
    commands: Sequence[Any],
) -> np.ndarray:
    """Generalised forces (nv,) of all actuators; commands: of each, after its limits and dynamics."""
    forces = list(_unlimited(model, actuators, q, v, commands))
    for at, lower, upper in _within_joints(model, limits):
        forces[at] = within(forces[at], (lower, upper))
    return np.array(forces)


class ServoStep(NamedTuple):
    """Servos whose forces are those of the end of a step: what they add to forces (nv,) and to the inertia (nv, nv)."""

    force: np.ndarray
    inertia: np.ndarray


def servo_step(
    model: Model,
    actuators: Sequence[Actuator],
    limits: Sequence[JointForceLimits],
    q: np.ndarray,
    v: np.ndarray,
    commands: Sequence[Any],
    h: Any,
    M: np.ndarray,
) -> ServoStep:
    """Terms that servos add to `actuator_forces` at q, v and to the inertia M (nv, nv), in a step of h [s] around q.

    A servo with the stiffness k and the damping d that demands f now, and changes its speed by Δẋ, pushes with
    f − (d + h/4 k) Δẋ in the step. Where that is beyond its limit, as far as the inertia along x alone can tell, it is
    the limit, and nothing is added.
    """
    force, inertia = np.zeros(model.nv, object), np.zeros((model.nv, model.nv), object)
    for actuator, command in zip(actuators, commands, strict=True):
        narrow = _along(actuator, actuators, limits)
        if not actuator.is_servo or narrow is None:
            continue
        length, moment = transmission(model, actuator, q)
        demand, (stiffness, damping) = actuator.demand(command, length, moment @ v), actuator.feedback(command)
        added = h * damping + (0.25 * h * h) * stiffness
        square = moment @ moment
        alone = moment @ sparse_product(M, moment)  # the inertia along x is this / square²
        left = demand * alone / (alone + added * square * square)
        free = left == within(left, narrow)
        force = force + moment * where(free, demand - within(demand, narrow), 0.0)
        inertia = inertia + np.outer(moment, moment) * where(free, added, 0.0)
    return ServoStep(force, inertia)


def _along(
    actuator: Actuator, actuators: Sequence[Actuator], limits: Sequence[JointForceLimits]
) -> tuple[float, float] | None:
    """Limits of an actuator's force along x, with those of its joint; None: it shares the joint's with others."""
    lower, upper = actuator.force_limits
    for joint, *ends in limits:
        if joint not in actuator.joints:
            continue
        if not actuator.joint or sum(joint in other.joints for other in actuators) > 1:
            return None
        least, most = sorted(end / actuator.gear for end in ends)
        lower, upper = max(lower, least), min(upper, most)
    return lower, upper


def _unlimited(
    model: Model, actuators: Sequence[Actuator], q: np.ndarray, v: np.ndarray, commands: Sequence[Any]
) -> np.ndarray:
    """Generalised forces (nv,) before the limits of joints."""
    total: Any = np.zeros(model.nv)
    for actuator, command in zip(actuators, commands, strict=True):
        length, moment = transmission(model, actuator, q)
        total = total + moment * actuator.push(command, length, moment @ v)
    return total


def _within_joints(model: Model, limits: Sequence[JointForceLimits]) -> Iterator[tuple[int, float, float]]:
    """(freedom, lower, upper) of each limit on the force of a joint."""
    for joint, lower, upper in limits:
        body = model.joint(joint)
        size = 1.0 if body.joint.mimic is None else abs(body.joint.mimic.ratio)
        yield body.v.start, size * lower, size * upper


def _on_joint(model: Model, actuator: Actuator, q: np.ndarray) -> Transmission:
    body = model.joint(actuator.joint)
    moment: Any = np.zeros(model.nv, q.dtype)
    if body.joint.nv == 1:
        ratio = 1.0 if body.joint.mimic is None else body.joint.mimic.ratio
        moment[body.v] = actuator.gear * ratio
        return Transmission(actuator.gear * body.joint.coordinate(q[body.q])[0], moment)
    gear = np.asarray(actuator.gear)
    if body.joint.nv == 3:
        moment[body.v] = gear
        return Transmission(gear @ so3.quaternion_log(q[body.q]), moment)
    R = body.joint.pose(q[body.q]).R
    moment[body.v] = np.concatenate([gear[:3], R.T @ gear[3:]])
    return Transmission(0.0, moment)


def _on_tendon(model: Model, actuator: Actuator, q: np.ndarray) -> Transmission:
    length: Any = 0.0
    moment: Any = np.zeros(model.nv, q.dtype)
    for name, coefficient in actuator.tendon:
        body = model.joint(name)
        ratio = 1.0 if body.joint.mimic is None else body.joint.mimic.ratio
        length = length + coefficient * body.joint.coordinate(q[body.q])[0]
        moment[body.v] = moment[body.v] + coefficient * ratio
    return Transmission(actuator.gear * length, actuator.gear * moment)


def _on_path(model: Model, actuator: Actuator, q: np.ndarray) -> Transmission:
    frames = [model.frame(name) for name in actuator.path]
    points = [frame_pose(model, q, frame).p for frame in frames]
    arms = [jacobian(model, q, frame)[3:] for frame in frames]
    length: Any = 0.0
    moment: Any = np.zeros(model.nv)
    for k in range(len(frames) - 1):
        line = points[k + 1] - points[k]
        size = sqrt(line @ line)
        length = length + size
        moment = moment + (line / size) @ (arms[k + 1] - arms[k])
    return Transmission(actuator.gear * length, actuator.gear * moment)


def _on_site(model: Model, actuator: Actuator, q: np.ndarray) -> Transmission:
    site, gear = model.frame(actuator.site), np.asarray(actuator.gear)
    X, J = frame_pose(model, q, site), jacobian(model, q, site)
    if not actuator.reference:
        return Transmission(0.0, np.concatenate([X.R @ gear[:3], X.R @ gear[3:]]) @ J)
    reference = model.frame(actuator.reference)
    Y = frame_pose(model, q, reference)
    between = J - jacobian(model, q, reference)
    for body in set(chain(model, site.body)) & set(chain(model, reference.body)):  # what moves both moves x not
        between[:, body.v] = 0.0
    length = gear[3:] @ (Y.R.T @ (X.p - Y.p))
    if np.any(gear[:3]):
        length = length + gear[:3] @ so3.log(Y.R.T @ X.R)
    return Transmission(length, np.concatenate([Y.R @ gear[:3], Y.R @ gear[3:]]) @ between)
