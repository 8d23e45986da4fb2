"""Configurations as points of a manifold: moving along velocities, rates, differences, interpolation, samples."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Body, Joint, Model
from dalembert.model.charts import Line


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
    count, drawn = 1 if n is None else n, []
    for part in _drawn_from(model):
        if isinstance(part, Joint):
            drawn.append(part.random(rng, count))
        else:
            drawn.append(rng.uniform(*part, (len(part[0]), count)).T)
    samples = np.ascontiguousarray(np.concatenate(drawn, axis=1)) if drawn else np.zeros((count, 0))
    return samples[0] if n is None else samples


@lru_cache(maxsize=32)
def _drawn_from(model: Model) -> list[Joint | tuple[np.ndarray, np.ndarray]]:
    """Ends (k, 1) of the intervals of k coordinates in a row, or a joint that draws its own."""
    parts: list[Joint | list[tuple[np.ndarray, np.ndarray]]] = []
    for body in model.independent:
        joint = _limited(model, body)
        ends = [c.interval(joint.lower[q], joint.upper[q]) for c, q, _ in joint.factors if isinstance(c, Line)]
        if type(joint).random is not Joint.random or len(ends) < len(joint.factors):
            parts.append(joint)
        elif parts and isinstance(parts[-1], list):
            parts[-1] += ends
        elif ends:
            parts.append(ends)
    return [p if isinstance(p, Joint) else (np.array([x for x, _ in p]), np.array([x for _, x in p])) for p in parts]


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


def coordinate_rate(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """q̇ (nq,) = G(q) v, for q (nq,), v (nv,)."""
    rate = np.zeros(model.nq, np.result_type(q, v))
    for body in model.bodies:
        rate[body.q] = body.joint.rate(q[body.q], v[body.v])
    return rate


def along_velocities(model: Model, q: np.ndarray, D: np.ndarray) -> np.ndarray:
    """D G(q) (…, nv): from derivatives D (…, nq) in the entries of q (nq,) to derivatives along velocities.

    What is differentiated need only be right where quaternions have unit length: the columns of G lead nowhere else.
    """
    along = np.zeros((*D.shape[:-1], model.nv), np.result_type(q, D))
    for body in model.bodies:
        joint, D_i = body.joint, D[..., body.q]
        if not joint.flat:
            D_i = D_i @ np.stack([joint.rate(q[body.q], unit) for unit in np.eye(joint.nv)], axis=1)
        along[..., body.v] = D_i
    return along
