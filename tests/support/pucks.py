"""Small machines whose hybrid motion is known in closed form."""

from __future__ import annotations

import numpy as np

from dalembert import ModelBuilder, Robot

EVERY = {  # integrator → step that makes these motions exact to rounding or nearly so
    "rk45": None,
    "rk8": None,
    "rk23": None,
    "merson": None,
    "rk4": 1e-2,
    "heun": 1e-2,
    "euler": 1e-4,
    "semi-implicit": 1e-4,
    "implicit-velocity": 1e-4,
    "implicit-midpoint": 1e-2,
    "variational": 1e-2,
}
FIRST_ORDER = ("euler", "semi-implicit", "implicit-velocity")


def slides(masses: list[float], axis=(1.0, 0.0, 0.0), gravity: float = 0.0, **joint) -> Robot:
    """Pucks, each on a slide of its own."""
    builder = ModelBuilder("pucks", gravity=(0.0, 0.0, -gravity))
    for k, mass in enumerate(masses):
        builder.add_body(
            f"puck{k}", parent="world", joint="prismatic", joint_name=f"slide{k}", axis=axis, mass=mass,
            inertia=1e-3 * np.eye(3), xyz=(0.0, float(k), 0.0), **joint,
        )  # fmt: skip
    return builder.build()


def row(masses: list[float]) -> Robot:
    """Pucks on one line, each on a slide that the one before it carries: coordinates are distances."""
    builder = ModelBuilder("row", gravity=(0.0, 0.0, 0.0))
    for k, mass in enumerate(masses):
        builder.add_body(
            f"puck{k}", parent=f"puck{k - 1}" if k else "world", joint="prismatic", joint_name=f"slide{k}",
            mass=mass, inertia=1e-3 * np.eye(3),
        )  # fmt: skip
    return builder.build()


def folded(x: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Where a puck that moves freely to x is, if it is reflected at two walls."""
    width = upper - lower
    y = np.mod(x - lower, 2.0 * width)
    return lower + np.minimum(y, 2.0 * width - y)
