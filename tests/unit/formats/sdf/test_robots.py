"""The same robot in URDF and in SDF: one mass matrix, gravity and torque, whatever the layout of the SDF file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert.dynamics import algorithms
from dalembert.formats import read_sdf, read_urdf
from dalembert.model import Model
from dalembert.model.bundled import path
from formats.sdf.from_urdf import STYLES, rewritten

DATA = Path(__file__).parents[3] / "refs" / "data"
ROBOTS = {name: path(name) for name in ("2r", "3r", "humanoid", "panda", "puma560", "quadruped", "scara", "ur5")}
ROBOTS |= {"simple_humanoid": DATA / "simple_humanoid.urdf", "iiwa14": DATA / "iiwa14.urdf"}
FREE = ("humanoid", "quadruped", "simple_humanoid")
CLOSE = 1e-10  # relative to the largest entry


def agree(actual: np.ndarray, expected: np.ndarray) -> None:
    assert np.max(np.abs(actual - expected), initial=0.0) <= CLOSE * max(1.0, np.max(np.abs(expected), initial=0.0))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", ROBOTS)
def test_urdf_and_sdf(name: str, style: str) -> None:
    base = "free" if name in FREE else "fixed"
    urdf = ROBOTS[name].read_text()
    a = read_urdf(urdf, base=base)[0]
    text, D = rewritten(urdf, style, base)
    b = read_sdf(text)[0]
    for body in (body for body in a.bodies if body.joint.kind in ("revolute", "continuous", "prismatic")):
        for field in ("friction", "damping", "lower", "upper", "effort_limit", "velocity_limit"):
            assert np.array_equal(getattr(body.joint, field), getattr(b.joint(body.joint.name).joint, field)), field
    a, b = (each.without("armature", "friction") for each in (a, b))  # SDF has no words for armature and slip speed
    assert [a.nq, a.nv] == [b.nq, b.nv]
    to_q, T = matching(a, b, D)
    rng = np.random.default_rng(3)
    for _ in range(2):
        q = np.concatenate([body.joint.random(rng, 1)[0] for body in a.independent])
        v, acc = rng.normal(size=(2, a.nv))
        q2, v2, acc2 = to_q(q), T @ v, T @ acc
        agree(T.T @ algorithms.mass_matrix(b, q2) @ T, algorithms.mass_matrix(a, q))
        agree(T.T @ algorithms.gravity(b, q2), algorithms.gravity(a, q))
        agree(T.T @ algorithms.rnea(b, q2, v2, acc2), algorithms.rnea(a, q, v, acc))
        for link, X in D.items():
            if link != "world":
                expected = algorithms.frame_pose(a, q, a.frame(link)).matrix() @ X
                agree(algorithms.frame_pose(b, q2, b.frame(link)).matrix(), expected)


def matching(a: Model, b: Model, D: dict[str, np.ndarray]):
    """q of a as q of b, and the matrix of the same for velocities: joints go by name, a floating base by its frame."""
    T, pairs = np.zeros((b.nv, a.nv)), []
    for body in a.independent:
        if body.joint.nv == 0:
            continue
        other = b.bodies[0] if body.joint.kind == "free" else b.joint(body.joint.name)
        pairs.append((body, other))
        if body.joint.kind == "free":
            X = D[body.name]
            R, p = X[:3, :3], X[:3, 3]
            cross = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
            T[other.v, body.v] = np.block([[R.T, np.zeros((3, 3))], [-R.T @ cross, R.T]])
        else:
            T[other.v, body.v] = np.eye(body.joint.nv)

    def to_q(q: np.ndarray) -> np.ndarray:
        made = np.zeros(b.nq)
        for body, other in pairs:
            made[other.q] = q[body.q]
            if body.joint.kind == "free":
                made[other.q] = moved(q[body.q], D[body.name])
        return made

    return to_q, T


def moved(q: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The coordinates of a free joint whose body frame lies at X in the one that q places."""
    w, x, y, z = q[3:]
    R = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    T = R @ X[:3, :3]
    values, vectors = np.linalg.eigh(_symmetric(T))
    quaternion = vectors[:, np.argmax(values)]
    return np.concatenate([R @ X[:3, 3] + q[:3], quaternion])


def _symmetric(R: np.ndarray) -> np.ndarray:
    """The (4, 4) matrix whose eigenvector to its largest eigenvalue is the quaternion w x y z of R."""
    (a, b, c), (d, e, f), (g, h, i) = R
    return np.array([
        [a + e + i, h - f, c - g, d - b],
        [h - f, a - e - i, b + d, c + g],
        [c - g, b + d, e - a - i, f + h],
        [d - b, c + g, f + h, i - a - e],
    ])  # fmt: skip
