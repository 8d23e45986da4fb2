"""The zero-moment point of a wrench."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import DalembertError

PARALLEL = 1e-9  # part of a force across the plane below which it counts as parallel to it


def zero_moment_point(
    wrench: Any, normal: Any = (0.0, 0.0, 1.0), height: Any = 0.0, *, at: Any = (0.0, 0.0, 0.0)
) -> Any:
    """The point (…, 3) of a plane about which a wrench has no moment but along the plane's normal [m].

    wrench (…, 6): [τ; f] at the point `at` (…, 3) [N·m, N; m]. The plane: all p with normal · p = height, the normal
    (3,) of any length counting as a unit vector, the height [m] along it. All along one set of axes, from one origin.
    p = at + (n × τ + (height − n · at) f) / (n · f). Of the ground's wrench on a robot it is the centre of pressure.
    """
    F, n, at, height = (
        _numbers(*named) for named in (("wrench", wrench), ("normal", normal), ("at", at), ("height", height))
    )
    for name, x, size in (("wrench", F, 6), ("normal", n, 3), ("at", at, 3)):
        if x.ndim == 0 or x.shape[-1] != size or (name == "normal" and x.ndim > 1):
            expected = f"({size},)" if name == "normal" else f"(…, {size})"
            raise DalembertError(f"zero_moment_point: {name} has shape {x.shape}, expected {expected}")
    length = np.linalg.norm(n)
    if not 0.0 < length < np.inf:
        raise DalembertError(f"zero_moment_point: normal is {n}, expected a direction such as (0, 0, 1)")
    n = n / length
    f, across = F[..., 3:], F[..., 3:] @ n
    bad = np.argwhere(~(np.abs(across) > PARALLEL * np.linalg.norm(f, axis=-1)))
    if len(bad):
        place = f" of wrench {tuple(bad[0].tolist())}" if across.ndim else ""
        raise DalembertError(
            f"zero_moment_point: the force{place} has no part along the normal {n}, so that there is no such point: "
            "leave out states without contact"
        )
    lever = np.cross(n, F[..., :3]) + (height - at @ n)[..., None] * f
    return at + lever / across[..., None]


def _numbers(name: str, x: Any) -> np.ndarray:
    try:
        return np.asarray(x, float)
    except (TypeError, ValueError):
        raise DalembertError(f"zero_moment_point: {name} is not an array of real numbers") from None
