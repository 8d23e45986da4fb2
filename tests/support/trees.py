"""Random robots for tests of laws: every joint type, random branching, placements, inertias and joint effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.model import KINDS, Model, ModelBuilder
from dalembert.spatial import Pose, so3

ALL_KINDS = tuple(kind for kind in KINDS if kind != "fixed")


def random_model(
    rng: Any,
    n_bodies: int = 8,
    kinds: Sequence[str] = ALL_KINDS,
    base: str = "fixed",
    effects: bool = True,
    coupled: bool = False,
) -> Model:
    """A random tree of `n_bodies` moving bodies on a base that is "fixed" or "free".

    rng: a NumPy generator or a seed. Every kind comes up once before any comes up twice. Fixed links are sprinkled in,
    and merged. With `effects`: armature, damping, friction and springs. With `coupled`: of the joints with one
    coordinate one leads, and the others follow it or each other, whatever their order in the tree.
    """
    rng = np.random.default_rng(rng)
    builder = ModelBuilder("random", gravity=rng.uniform(-10.0, 10.0, 3))
    builder.add_body("base", parent="world", joint=base, placement=random_pose(rng), **random_mass(rng))
    links = ["base"]
    chosen = _cycled(rng, kinds, n_bodies)
    mimics = _mimics(rng, chosen) if coupled else {}
    for i, kind in enumerate(chosen):
        if rng.random() < 0.3:
            name = f"link{i}"
            builder.add_body(name, parent=_parent(rng, links), placement=random_pose(rng), **random_mass(rng))
            links.append(name)
        joint = _axes(rng, kind) | _limits(rng, kind) | (_effects(rng, kind) if effects else {})
        name = f"body{i}"
        builder.add_body(
            name,
            parent=_parent(rng, links),
            joint=kind,
            joint_name=f"joint{i}",
            placement=random_pose(rng),
            mimic=mimics.get(i),
            **random_mass(rng),
            **joint,
        )
        links.append(name)
    builder.add_frame("tool", body=links[-1], placement=random_pose(rng))
    return builder.model()


def with_stribeck(model: Model) -> Model:
    """The model with friction that is larger in slow sliding, at every joint that has friction."""
    bodies = []
    for body in model.bodies:
        level = body.joint.uncoupled.friction
        more = {"stribeck": 0.6 * level, "stribeck_speed": 0.8} if np.any(level) else {}
        bodies.append(replace(body, joint=body.joint.with_values(**more)))
    return replace(model, bodies=tuple(bodies))


def random_pose(rng: np.random.Generator) -> Pose:
    """A pose half a metre off at most; one in three is turned by quarter turns, one in three not at all."""
    quarter = so3.from_rpy(*(np.pi / 2 * rng.integers(-1, 3, 3)))
    turned = so3.exp(rng.uniform(-np.pi, np.pi) * random_axis(rng))
    R = [np.eye(3), quarter, turned][rng.integers(3)]
    return Pose(R, rng.uniform(-0.3, 0.3, 3) * rng.integers(0, 2, 3))


def random_mass(rng: np.random.Generator) -> dict[str, Any]:
    """mass, com and inertia of a cloud of six point masses: a possible body by construction."""
    masses, points = rng.uniform(0.05, 0.6, 6), rng.uniform(-0.2, 0.3, (6, 3))
    com = masses @ points / masses.sum()
    arms = so3.skew(points - com)
    inertia = np.einsum("n,nki,nkj->ij", masses, arms, arms)
    return {"mass": masses.sum(), "com": com, "inertia": 0.5 * (inertia + inertia.T)}


def random_axis(rng: np.random.Generator) -> np.ndarray:
    """A unit vector (3,), every other time along ± a coordinate axis."""
    if rng.random() < 0.5:
        return rng.choice([-1.0, 1.0]) * np.eye(3)[rng.integers(3)]
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def random_state(rng: np.random.Generator, model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q (nq,), v (nv,) and a (nv,): configurations as each joint draws them, rates of order 1."""
    q = np.concatenate([body.joint.random(rng, 1)[0] for body in model.independent])
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)


def _cycled(rng: np.random.Generator, kinds: Sequence[str], n: int) -> list[str]:
    rounds = -(-n // len(kinds))
    return [kind for _ in range(rounds) for kind in rng.permutation(list(kinds)).tolist()][:n]


def _mimics(rng: np.random.Generator, kinds: list[str]) -> dict[int, tuple[str, float, float]]:
    """Joint → (leader, ratio, offset): chains of two at most, offsets so small that all limits can be obeyed."""
    single = rng.permutation([i for i, kind in enumerate(kinds) if KINDS[kind].nq == 1]).tolist()
    mimics = {}
    for n, i in enumerate(single[1:], 1):
        leader = single[rng.integers(min(n, 2))]
        mimics[i] = (f"joint{leader}", rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 1.5), rng.uniform(-0.03, 0.03))
    return mimics


def _parent(rng: np.random.Generator, links: list[str]) -> str:
    """The last link twice as often as any: branches, but long ones."""
    return links[-1] if rng.random() < 0.6 else links[rng.integers(len(links))]


def _axes(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    axis = random_axis(rng)
    across = np.cross(axis, np.roll(axis, 1) + rng.uniform(0.1, 0.5, 3) * (rng.random() < 0.5))
    return {
        "axis": axis,
        "axis2": across if kind == "universal" and np.linalg.norm(across) > 0.1 else np.roll(axis, 1),
        "pitch": rng.uniform(0.02, 0.3) if kind == "screw" else 0.0,
    }


def _limits(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    if kind not in ("revolute", "prismatic") or rng.random() < 0.5:
        return {}
    return {"lower": -rng.uniform(0.1, 0.5), "upper": rng.uniform(0.1, 0.5)}


def _effects(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    joint = KINDS[kind]
    stiffness = rng.uniform(0.0, 5.0, joint.nv)
    if kind in ("ball", "free"):  # equal about all axes, and for a free joint rotational only
        stiffness = stiffness[0] * np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])[: joint.nv]
    return {
        "armature": 0.0 if kind == "free" else rng.uniform(0.0, 0.2, joint.nv),
        "damping": rng.uniform(0.0, 0.5, joint.nv),
        "friction": rng.uniform(0.0, 0.3, joint.nv),
        "slip_speed": 0.5,  # gentle, so that differences of the friction force stay accurate
        "stiffness": stiffness,
        "rest": joint(name="rest").random(rng, 1)[0],
    }
