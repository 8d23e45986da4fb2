"""Recursive Newton-Euler as one writes it with array operations: what vmap and batched tensors make of it.

Generic over jax.numpy and torch: arrays (…, n), leading axes are the batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert import Robot


def inverse_dynamics(robot: Robot, xp: Any, constant: Any):
    """(q, v, a) → tau for a tree of revolute, prismatic and free joints; constant: NumPy array → array of xp."""
    bodies, g = robot.model.bodies, constant(-np.asarray(robot.model.gravity, float))
    frames = [(constant(b.placement.matrix()[:3, :3]), constant(b.placement.matrix()[:3, 3])) for b in bodies]
    mass = [(float(b.inertia.mass), constant(b.inertia.com), constant(b.inertia.about_com())) for b in bodies]
    freedom = [b.joint.subspace(robot.neutral()[b.q]) for b in bodies]
    axes = [constant(S[:3, 0] + S[3:, 0]) if S.shape[1] == 1 else None for S in freedom]
    turns = [bool(S.shape[1] == 1 and S[:3].any()) for S in freedom]

    def cross(x, y):
        i, j = [1, 2, 0], [2, 0, 1]
        return x[..., i] * y[..., j] - x[..., j] * y[..., i]

    def times(A, x):
        return (A @ x[..., None])[..., 0]

    def rotation(s, angle):
        c, n = xp.cos(angle)[..., None, None], xp.sin(angle)[..., None, None]
        K = constant(np.array([[0, -s[2], s[1]], [s[2], 0, -s[0]], [-s[1], s[0], 0]]))
        return constant(np.eye(3)) + n * K + (1 - c) * (K @ K)

    def quaternion(x):
        w, i, j, k = (x[..., m] for m in range(4))
        rows = [
            [1 - 2 * (j * j + k * k), 2 * (i * j - w * k), 2 * (i * k + w * j)],
            [2 * (i * j + w * k), 1 - 2 * (i * i + k * k), 2 * (j * k - w * i)],
            [2 * (i * k - w * j), 2 * (j * k + w * i), 1 - 2 * (i * i + j * j)],
        ]
        return xp.stack([xp.stack(row, -1) for row in rows], -2)

    def compute(q, v, a):
        R, p, W, A, B, F, N = [], [], [], [], [], [], []
        still = v[..., :3] * 0
        for b, (R0, p0), s, turn, (m, c, I) in zip(bodies, frames, axes, turns, mass, strict=True):
            above = (W[b.parent], A[b.parent], B[b.parent]) if b.parent >= 0 else (still, still, still + g)
            x, r, u = q[..., b.q], v[..., b.v], a[..., b.v]
            if b.joint.nv == 6:
                Rb, pb = R0 @ quaternion(x[..., 3:]), p0 + times(R0, x[..., :3])
                w, al = r[..., :3], u[..., :3]
                li = times(Rb.swapaxes(-1, -2), above[2]) + u[..., 3:] + cross(w, r[..., 3:])
            else:
                rate, push = (s * r, s * u) if b.joint.nv else (still, still)
                Rb = R0 @ rotation(_plain(s), x[..., 0]) if turn else R0 + x[..., :1, None] * 0 if b.joint.nv else R0
                pb = p0 + times(R0, s * x) if b.joint.nv and not turn else p0 + still
                T = Rb.swapaxes(-1, -2)
                w, al = times(T, above[0]), times(T, above[1])
                li = times(T, above[2] + cross(above[1], pb) + cross(above[0], cross(above[0], pb)))
                if turn:
                    al, w = al + push + cross(w, rate), w + rate
                else:
                    li = li + push + 2 * cross(w, rate)
            f = m * (li + cross(al, c + still) + cross(w, cross(w, c + still)))
            n = times(I, al) + cross(w, times(I, w)) + cross(c + still, f)
            for kept, value in zip((R, p, W, A, B, F, N), (Rb, pb, w, al, li, f, n), strict=True):
                kept.append(value)
        tau = [None] * len(bodies)
        for i in reversed(range(len(bodies))):
            b = bodies[i]
            if b.joint.nv == 6:
                tau[i] = xp.concatenate([N[i], F[i]], -1)
            elif b.joint.nv:
                tau[i] = ((N[i] if turns[i] else F[i]) * axes[i]).sum(-1)[..., None]
            if b.parent >= 0:
                force = times(R[i], F[i])
                F[b.parent] = F[b.parent] + force
                N[b.parent] = N[b.parent] + times(R[i], N[i]) + cross(p[i], force)
        return xp.concatenate([t for t in tau if t is not None], -1)

    return compute


def _plain(s: Any) -> np.ndarray:
    return np.asarray(s.cpu() if hasattr(s, "cpu") else s, float)
