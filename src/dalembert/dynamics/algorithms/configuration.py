"""Configurations as points of a manifold: moving along velocities, differences, interpolation, samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Body, Joint, Model


def integrate(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """q ⊕ v (nq,): from q (nq,), unit time at the constant velocity v (nv,); pass v·dt for a time dt."""
    return np.concatenate([body.joint.integrate(q[body.q], v[body.v]) for body in model.independent])


def difference(model: Model, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """The velocity (nv,) with q0 ⊕ v = q1, for q0, q1 (nq,)."""
    return np.concatenate([body.joint.difference(q0[body.q], q1[body.q]) for body in model.independent])


def displacement_rate(model: Model, d: np.ndarray, v: np.ndarray) -> np.ndarray:
    """ḋ (nv,) of the displacement d = difference(q0, q) (nv,) from a resting q0, while q moves at v (nv,)."""
    return np.concatenate([b.joint.displacement_jacobian(d[b.v]) @ v[b.v] for b in model.independent])


def interpolate(model: Model, q0: np.ndarray, q1: np.ndarray, s: Any) -> np.ndarray:
    """q0 ⊕ s · difference(q0, q1) (nq,): q0 at s = 0, q1 at s = 1."""
    return integrate(model, q0, s * difference(model, q0, q1))


def neutral(model: Model) -> np.ndarray:
    """The configuration (nq,) in which every body coincides with its joint frame."""
    return np.concatenate([body.joint.neutral() for body in model.independent])


def random(model: Model, rng: np.random.Generator, n: int | None = None) -> np.ndarray:
    """A random configuration (nq,), or n of them (n, nq), within the joint limits: of the joint and its followers."""
    drawn = [_limited(model, body).random(rng, 1 if n is None else n) for body in model.independent]
    samples = np.concatenate(drawn, axis=1)
    return samples[0] if n is None else samples


def _limited(model: Model, body: Body) -> Joint:
    """The joint, within the limits of those that follow it."""
    joint = body.joint
    followers = [b.joint for b in model.bodies if b.joint.mimic and b.joint.mimic.leader == joint.name]
    if not followers:
        return joint
    lower = np.max([j.lower for j in (joint, *followers)], axis=0)
    upper = np.min([j.upper for j in (joint, *followers)], axis=0)
    if np.any(lower > upper):
        names = ", ".join(repr(j.name) for j in followers)
        raise DalembertError(
            f"random: joint {joint.name!r} and those that follow it ({names}) have no position within the limits of all"
        )
    return joint.with_values(lower=lower, upper=upper)


def normalize(model: Model, q: np.ndarray) -> np.ndarray:
    """q (nq,) with its quaternions brought to unit length."""
    return np.concatenate([body.joint.normalize(q[body.q]) for body in model.independent])
