"""Scaling a robot in size or mass, similar in shape and in motion.

With lengths × λ and masses × μ under the same gravity, motions are the same but slower by √λ (Froude's similarity), so
that speeds grow with √λ, energies with μ λ, torques with μ λ, forces with μ. Joint parameters follow that law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import CamEquation, Geometry, JointEquation, Keyframe, LinkPlan, Model
from dalembert.model.assembly import Closing, Link
from dalembert.model.joints import Joint
from dalembert.model.joints.joint import RATE_LIMITS
from dalembert.spatial import Inertia, Pose

from .change import Change, State, shared_states

RATE_POWERS = (0.5, 1.0, 1.0, 1.5)  # of time in each of RATE_LIMITS, as powers of length
AS_THEY_ARE = ("normal", "file", "triangles", "hull")  # fields of shapes that are not lengths


def exponents(joint: Joint) -> tuple[np.ndarray, np.ndarray]:
    """The power of length in each entry of q (nq,) and of v (nv,): 1 for lengths, 0 for angles."""
    q, v = (np.array([float(unit == "m") for unit in units]) for units in (joint.coordinate_units, joint.units))
    return q, v


def scale(plan: LinkPlan, length: float, mass: float) -> Change:
    """Lengths × `length`, masses × `mass`."""
    joints = {name: link.joint for name, link in plan.joints.items()}
    total = sum(float(link.inertia.mass) for link in plan.links.values())
    plan.links = {name: _scaled_link(link, length, mass) for name, link in plan.links.items()}
    plan.places = {
        name: place and place._replace(placement=_scaled(place.placement, length))
        for name, place in plan.places.items()
    }
    for name, mimic in plan.mimics.items():
        power, leading = _length(joints[name]), _length(joints[mimic.leader])
        ratio, offset = mimic.ratio * length ** (power - leading), mimic.offset * length**power
        plan.mimics[name] = mimic._replace(ratio=ratio, offset=offset)
    plan.closings = [_scaled_closing(closing, length) for closing in plan.closings]
    plan.equations = [_scaled_equation(equation, joints, length) for equation in plan.equations]
    plan.keyframes = [_scaled_keyframe(keyframe, joints, length) for keyframe in plan.keyframes]
    action = (
        f"inertia × {mass * length**2:g}; limits, rotors, damping, friction, springs and efforts by similarity under "
        f"the same gravity: torques × {mass * length:g}, forces × {mass:g}, times × {np.sqrt(length):g}"
    )
    if plan.actuators and (length, mass) != (1.0, 1.0):
        plan.actuators, plan.joint_force_limits = [], []
        action += "; actuators are left out, since the units of their commands are not known"
    if plan.surroundings.medium is not None and (length, mass) != (1.0, 1.0):
        plan.surroundings = replace(plan.surroundings, medium=None)
        action += "; the fluid is left out, since its shapes are those of the old size"
    if plan.mujoco is not None and plan.mujoco.tendons and (length, mass) != (1.0, 1.0):
        plan.mujoco = replace(plan.mujoco, tendons=())
        action += "; tendons are left out, since their springs are those of the old size"
    change = Change(plan, f"lengths × {length:g}, masses × {mass:g}", action, total * (mass - 1.0))
    change.changed, change.relative_to, change.energy = frozenset(plan.links), None, mass * length
    change.pairing = partial(scaled_states, length=length)
    return change


def scaled_states(before: Model, after: Model, rng: np.random.Generator, length: float) -> tuple[State, State]:
    """A state of the robot, and the similar one after scaling."""
    (q0, v0), _ = shared_states(before, after, rng)
    return (q0, v0), similar_state(before, q0, v0, length)


def similar_state(model: Model, q: np.ndarray, v: np.ndarray, length: float) -> State:
    """The state of the scaled robot at the similar time of the similar motion."""
    powers = [exponents(body.joint) for body in model.independent]
    q_power, v_power = (np.concatenate([power[k] for power in powers]) for k in (0, 1))
    return q * length**q_power, v * length ** (v_power - 0.5)


def _scaled(X: Pose, length: float) -> Pose:
    return Pose(X.R, X.p * length)


def _scaled_link(link: Link, length: float, mass: float) -> Link:
    I = link.inertia
    inertia = Inertia(I.mass * mass, I.moment * (mass * length), I.I * (mass * length**2))
    geometry = tuple(_scaled_geometry(shape, length) for shape in link.geometry)
    joint = link.joint.changed(lambda plain: _scaled_joint(plain, length, mass))
    placement = _scaled(link.placement, length)
    return replace(link, placement=placement, joint=joint, inertia=inertia, geometry=geometry)


def _scaled_geometry(geometry: Geometry, length: float) -> Geometry:
    shape: Any = geometry.shape
    sizes: dict[str, Any] = {
        f.name: getattr(shape, f.name) * length for f in fields(shape) if f.name not in AS_THEY_ARE
    }
    if getattr(shape, "hull", None) is not None:
        sizes["hull"] = replace(shape.hull, points=shape.hull.points * length)
    return replace(geometry, shape=replace(shape, **sizes), placement=_scaled(geometry.placement, length))


def _scaled_joint(joint: Joint, length: float, mass: float) -> Joint:
    q, v = exponents(joint)
    rubbing = {float(power) for power in v[joint.friction + joint.stribeck > 0.0]}
    if len(rubbing) > 1 and length != 1.0:
        raise DalembertError(
            f"scale: joint {joint.name!r} has friction against turning and against sliding with one slip_speed, which "
            "scale differently: set one of them to 0 with set_joint"
        )
    power = rubbing.pop() if rubbing else float(v[0]) if joint.nv else 0.0
    values: dict[str, Any] = {
        "armature": joint.armature * mass * length ** (2.0 - 2.0 * v),
        "damping": joint.damping * mass * length ** (1.5 - 2.0 * v),
        "friction": joint.friction * mass * length ** (1.0 - v),
        "slip_speed": joint.slip_speed * length ** (power - 0.5),
        "stribeck": joint.stribeck * mass * length ** (1.0 - v),
        "stribeck_speed": joint.stribeck_speed * length ** (power - 0.5),
        "stiffness": joint.stiffness * mass * length ** (1.0 - 2.0 * v),
        "effort_limit": joint.effort_limit * mass * length ** (1.0 - v),
        "continuous_limit": joint.continuous_limit * mass * length ** (1.0 - v),
        **{
            limit: getattr(joint, limit) * length ** (v - power)
            for limit, power in zip(RATE_LIMITS, RATE_POWERS, strict=True)
        },
        "rest": joint.rest * length**q,
        "lower": joint.lower * length**q,
        "upper": joint.upper * length**q,
    }
    for field in fields(joint):
        if power_of_length := field.metadata.get("length"):
            values[field.name] = getattr(joint, field.name) * length**power_of_length
    return replace(joint, **values)


def _scaled_closing(closing: Closing, length: float) -> Closing:
    make: Callable[..., Any] = closing.make
    if isinstance(make, partial):
        lengths = {key: make.keywords[key] * length for key in ("length", "pitch") if key in make.keywords}
        make = partial(make.func, **(make.keywords | lengths))
    a, b = _scaled(closing.placement_a, length), _scaled(closing.placement_b, length)
    return replace(closing, placement_a=a, placement_b=b, make=make)


def _scaled_equation(equation: JointEquation, joints: dict[str, Joint], length: float) -> JointEquation:
    power = _length(joints[equation.follower])
    leading = _length(joints[equation.leader]) if equation.leader else 0.0
    powers = power - leading * np.arange(equation.coefficients.size)
    if isinstance(equation, CamEquation):
        powers = np.full(equation.coefficients.size, power)
    others = tuple((joint, factor * length ** (power - _length(joints[joint]))) for joint, factor in equation.others)
    return replace(equation, coefficients=equation.coefficients * length**powers, others=others)


def _scaled_keyframe(keyframe: Keyframe, joints: dict[str, Joint], length: float) -> Keyframe:
    parts = []
    for part in keyframe.joints:
        q, v = exponents(joints[part.joint])
        parts.append(replace(part, q=part.q * length**q, v=part.v * length ** (v - 0.5)))
    return replace(keyframe, joints=tuple(parts))


def _length(joint: Joint) -> float:
    """The power of length in the one coordinate of a joint."""
    return float(exponents(joint)[0][0])
