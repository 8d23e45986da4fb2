"""Gymnasium where it is needed, and the spaces of an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError

from .observing import GROUP

if TYPE_CHECKING:
    from .environment import Environment


def gymnasium() -> Any:
    """The library, or the error that says how to install it."""
    try:
        import gymnasium
    except ImportError:
        raise DalembertError(
            "learn: environments need Gymnasium, which is not installed: pip install 'dalembert[learn]'"
        ) from None
    if not hasattr(gymnasium.vector, "AutoresetMode"):
        raise DalembertError(f"learn: Gymnasium {gymnasium.__version__} is too old: expected 1.1 or newer")
    return gymnasium


def observation_space(env: Environment, dtype: Any) -> Any:
    """The space of one environment's observations."""
    spaces = gymnasium().spaces
    boxes = {group: spaces.Box(-np.inf, np.inf, (size,), dtype) for group, size in env.observing.sizes.items()}
    return boxes[GROUP] if env.observing.flat else spaces.Dict(boxes)


def action_space(env: Environment) -> Any:
    """The space of one environment's actions: within their clip, else ±1, beyond which they act as well."""
    bound = np.ones(env.drive.size) if env.drive.clip is None else env.drive.clip
    return gymnasium().spaces.Box(-bound.astype(np.float32), bound.astype(np.float32), dtype=np.float32)
