"""SDF text for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from formats.sdf.oracle import Mass


def numbers(x: Any) -> str:
    return " ".join(repr(float(value)) for value in np.ravel(x))


def pose(x: Any, attributes: str = "") -> str:
    return f"<pose {attributes}>{numbers(x)}</pose>"


def inertial(body: Mass) -> str:
    I = body.inertia
    entries = {"ixx": I[0, 0], "iyy": I[1, 1], "izz": I[2, 2], "ixy": I[0, 1], "ixz": I[0, 2], "iyz": I[1, 2]}
    tensor = "".join(f"<{key}>{float(value)!r}</{key}>" for key, value in entries.items())
    at = pose([*body.com, 0, 0, 0])
    return f"<inertial>{at}<mass>{float(body.mass)!r}</mass><inertia>{tensor}</inertia></inertial>"


def link(name: str, body: Mass, at: Any = None, attributes: str = "", inside: str = "") -> str:
    where = "" if at is None else pose(at, attributes)
    return f'<link name="{name}">{where}{inertial(body)}{inside}</link>\n'


def axis(xyz: Any, inside: str = "", tag: str = "axis", attributes: str = "") -> str:
    return f"<{tag}><xyz {attributes}>{numbers(xyz)}</xyz>{inside}</{tag}>"


def joint(name: str, kind: str, parent: str, child: str, inside: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}</joint>\n'


def model(inside: str, version: str = "1.6", name: str = "robot", attributes: str = "") -> str:
    return f'<sdf version="{version}">\n<model name="{name}" {attributes}>\n{inside}</model>\n</sdf>'


def world(inside: str, version: str = "1.6") -> str:
    return f'<sdf version="{version}">\n<world name="w">\n{inside}</world>\n</sdf>'


def random_mass(rng: np.random.Generator) -> Mass:
    """A cloud of six point masses: a possible body by construction."""
    masses, points = rng.uniform(0.1, 0.6, 6), rng.uniform(-0.2, 0.3, (6, 3))
    com = masses @ points / masses.sum()
    arms = points - com
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True))
    return Mass(masses.sum(), com, inertia)


def random_pose(rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([rng.uniform(-0.5, 0.5, 3), rng.uniform(-1.5, 1.5, 3)])


def unit(x: Sequence[float]) -> np.ndarray:
    return np.asarray(x, float) / np.linalg.norm(x)
