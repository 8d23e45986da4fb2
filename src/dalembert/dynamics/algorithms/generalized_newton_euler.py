"""The generalised Newton-Euler equations: every joint's equation of motion in closed form, independent of the others.

By d'Alembert's principle a link and all links behind it are in equilibrium under their weight, their inertial forces
and the force of the joint that carries them. Written for one joint, that is one row of M(q) a + H(q, v) + G(q) = tau:
sums over the links behind it, with no recursion through the other joints' forces. O(n²) for all joints.

The known form is for chains of hinges. Here it serves trees, and every joint whose axes are fixed in the body that it
moves: hinges, sliders, screws, cylinders, balls and free bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model import Body, Model
from dalembert.spatial import cross

from .kinematics import chain, poses
from .passive import armature, dissipation, spring_force


class MovingLink(NamedTuple):
    """A link as it moves when all joint accelerations are zero; vectors in world axes.

    p, c: origin and centre of mass (3,) [m]; m [kg]; I (3, 3) about c [kg·m²]; S (6, nv_i): twists [s; t] of its joint
    at p; w, alpha (3,): angular velocity and acceleration; a, a_C (3,): accelerations of p and c; n, f (3,): external
    moment about p and force.
    """

    body: Body
    p: np.ndarray
    c: np.ndarray
    m: float
    I: np.ndarray
    S: np.ndarray
    w: np.ndarray
    alpha: np.ndarray
    a: np.ndarray
    a_C: np.ndarray
    n: np.ndarray
    f: np.ndarray


class JointTerms(NamedTuple):
    """A joint's rows of M a + H + G = tau: M (nv_i, nv), H (nv_i,) of velocities, G (nv_i,) of weights and loads."""

    M: np.ndarray
    H: np.ndarray
    G: np.ndarray


def generalized_newton_euler(
    model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, external: Mapping[int, np.ndarray] | None = None
) -> np.ndarray:
    """Inverse dynamics, tau (nv,) [N·m or N], one joint at a time; arguments as `rnea`."""
    M, H, G = equations(model, q, v, external)
    return M @ a + H + G + dissipation(model, v)


def equations(
    model: Model, q: np.ndarray, v: np.ndarray, external: Mapping[int, np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M (nv, nv), H (nv,), G (nv,) of all joints: armatures are in M, springs in G, damping and friction nowhere."""
    links = moving_links(model, q, v, external)
    M, H, G = (np.zeros(shape, np.result_type(q, v)) for shape in ((model.nv, model.nv), model.nv, model.nv))
    for body in model.bodies:
        row = equation(model, links, body)
        M[body.v] += row.M
        H[body.v] += row.H
        G[body.v] += row.G
    return M + np.diag(armature(model)), H, G + spring_force(model, q)


def equation(model: Model, links: list[MovingLink], body: Body) -> JointTerms:
    """The equilibrium of one body and all bodies behind it, in the directions of its joint; of no other joint."""
    base = links[body.index]
    dtype = np.result_type(*[x for link in links for x in (link.p, link.w)])
    M, H, G = (np.zeros(shape, dtype) for shape in ((body.joint.nv, model.nv), body.joint.nv, body.joint.nv))
    for link in links[body.index :]:
        carriers = chain(model, link.body.index)
        if body not in carriers:
            continue
        arm = link.c - base.p
        for carrier in (links[b.index] for b in carriers):
            for k, S_k in enumerate(carrier.S.T, carrier.body.v.start):
                s, reach = S_k[:3], link.c - carrier.p
                M[:, k] += _felt(base.S, arm, link.I @ s, link.m * (S_k[3:] + cross(s, reach)))
        gyration = link.I @ link.alpha + cross(link.w, link.I @ link.w)
        H += _felt(base.S, arm, gyration, link.m * link.a_C)
        G -= _felt(base.S, arm, np.zeros(3), link.m * model.gravity) + _felt(base.S, link.p - base.p, link.n, link.f)
    return JointTerms(M, H, G)


def moving_links(
    model: Model, q: np.ndarray, v: np.ndarray, external: Mapping[int, np.ndarray] | None = None
) -> list[MovingLink]:
    """The links as they move at zero joint accelerations, root to tips; external: as `rnea`."""
    links: list[MovingLink] = []
    for body, X in zip(model.bodies, poses(model, q), strict=True):
        joint, inertia, R = body.joint, body.inertia, X.R
        if len(joint.stages) != 1:
            raise DalembertError(
                f"generalized-newton-euler: joint {joint.name!r} is {joint.kind}, with axes that turn in the body it "
                "moves: split it into joints of one freedom, or use method='newton-euler' or 'lagrange'"
            )
        S_B = joint.subspace(q[body.q])
        S = np.concatenate([R @ S_B[:3], R @ S_B[3:]])
        w_J, v_J = S[:3] @ v[body.v], S[3:] @ v[body.v]
        w = alpha = a = np.zeros(3)
        if body.parent >= 0:
            parent = links[body.parent]
            w, alpha, r = parent.w, parent.alpha, X.p - parent.p
            a = parent.a + cross(alpha, r) + cross(w, cross(w, r))
        a = a + cross(w + w + w_J, v_J)
        alpha, w = alpha + cross(w, w_J), w + w_J
        r = R @ inertia.com
        load = (external or {}).get(body.index, np.zeros(6))
        a_C = a + cross(alpha, r) + cross(w, cross(w, r))
        I = R @ inertia.about_com() @ R.T
        links.append(MovingLink(body, X.p, X.p + r, inertia.mass, I, S, w, alpha, a, a_C, R @ load[:3], R @ load[3:]))
    return links


def _felt(S: np.ndarray, arm: np.ndarray, n: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Generalised forces on the freedoms S (6, k) of a moment n and a force f that acts at the distance `arm`."""
    return S[:3].T @ (n + cross(arm, f)) + S[3:].T @ f
