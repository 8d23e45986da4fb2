"""Meshes in MJCF files, and states in which two bodies touch, for tests of Contact(model="mujoco")."""

from __future__ import annotations

import numpy as np

from mujoco_contact.twin import Twin, mj

SHAPES = {
    "sphere": 'type="sphere" size=".08"',
    "capsule": 'type="capsule" size=".05 .08"',
    "box": 'type="box" size=".1 .08 .06"',
    "cylinder": 'type="cylinder" size=".08 .06"',
    "ellipsoid": 'type="ellipsoid" size=".1 .08 .06"',
}
DEPTHS = (1e-3, 5e-3, 1e-2)  # [m] by which two bodies are pushed into each other, or into their margin


def cloud(count: int, seed: int) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1)[:, None] * [0.1, 0.07, 0.05]


def prism(angles: np.ndarray) -> np.ndarray:
    return np.array([[0.08 * np.cos(t), 0.1 * np.sin(t), z] for z in (-0.05, 0.04) for t in angles])


def uneven(count: int, seed: int) -> np.ndarray:
    """A prism over a polygon whose sides differ."""
    return prism(np.sort(np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, count)))


HULLS = {
    "tetrahedron": cloud(4, 0),
    "cuboid": np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.07, 0.07) for z in (-0.05, 0.05)]),
    "hexagon": prism(np.arange(6) * np.pi / 3.0),
    "heptagon": uneven(7, 0),
    "many corners": uneven(25, 3),
    "cloud": cloud(40, 2),
    "large cloud": cloud(300, 4),
}


def mesh(name: str) -> str:
    """The asset."""
    return f'<mesh name="{name}" vertex="{" ".join(repr(float(x)) for x in HULLS[name].ravel())}"/>'


def geom(name: str) -> str:
    """Attributes of a geom."""
    return SHAPES.get(name) or f'type="mesh" mesh="{name}"'


def two(a: str, b: str, cone: str, condim: int, margin: float) -> str:
    """Two free bodies."""
    assets = "".join(mesh(name) for name in dict.fromkeys((a, b)) if name in HULLS)
    first = f'condim="{condim}" margin="{margin}" friction=".7 .02 .01"'
    return f"""<mujoco><option timestep=".002" cone="{cone}"/><asset>{assets}</asset><worldbody>
    <body><freejoint/><geom {geom(a)} {first}/></body><body><freejoint/><geom {geom(b)}/></body></worldbody></mujoco>"""


def touching(twin: Twin, rng: np.random.Generator) -> None:
    """Both bodies turned anyhow, moved towards each other in any direction until they touch and somewhat further."""
    m, d = twin.m, twin.d
    while True:
        mj.mj_resetData(m, d)
        for part in (slice(3, 7), slice(10, 14)):
            d.qpos[part] = rng.normal(size=4)
            mj.mju_normalize4(d.qpos[part])
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        near, far = 0.0, 0.5
        for _ in range(40):
            d.qpos[7:10] = 0.5 * (near + far) * direction
            mj.mj_forward(m, d)
            near, far = (0.5 * (near + far), far) if d.ncon else (near, 0.5 * (near + far))
        d.qpos[7:10] = (near - rng.choice(DEPTHS)) * direction
        d.qvel[:] = rng.normal(size=m.nv)
        mj.mj_forward(m, d)
        if d.ncon:
            return
