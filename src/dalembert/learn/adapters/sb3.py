"""Stable-Baselines3: a `VecEnv` of NumPy arrays, with last observations and time limits in the infos."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..stepping import SAME_STEP
from .wanted import library, wanted


def sb3(vec: Any) -> Any:
    """The environment for Stable-Baselines3's algorithms; groups of observations are a dict (MultiInputPolicy)."""
    return _class()(wanted("sb3", vec, SAME_STEP, "numpy"))


@lru_cache(1)
def _class() -> Any:
    base = library("sb3", "stable_baselines3.common.vec_env", "stable-baselines3").VecEnv

    class StableEnvironment(base):  # type: ignore[misc, valid-type]
        """The environment as Stable-Baselines3 wants it; see `learn.sb3`."""

        def __init__(self, vec: Any) -> None:
            metadata: dict[str, Any] = {"render_modes": []}
            self.vector, self._actions, self.metadata = vec, None, metadata
            self._seeds: list[int | None]
            super().__init__(vec.num_envs, vec.single_observation_space, vec.single_action_space)

        def reset(self) -> Any:
            """Begin new episodes of all; those of a seed if `seed` was called."""
            seed, self._seeds = self._seeds[0], [None] * self.num_envs
            return self.vector.reset(seed=seed)[0]

        def step_async(self, actions: Any) -> None:
            """Take the actions (n, k) of the next step."""
            self._actions = actions

        def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
            """Observations, rewards (n,), done (n,) and a dict for each environment after the step."""
            obs, reward, terminated, truncated, info = self.vector.step(self._actions)
            done = terminated | truncated
            infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
            total = sum(info["terms"].values())
            for k in np.flatnonzero(done):
                infos[k] = {
                    "terminal_observation": info["final_obs"][k],
                    "TimeLimit.truncated": bool(truncated[k] and not terminated[k]),
                    "episode": {"r": float(total[k]), "l": int(info["length"][k]), "t": 0.0},
                }
            return obs, reward.astype(np.float32), done, infos

        def close(self) -> None:
            """Nothing to close."""

        def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
            """An attribute of the environments: they share all."""
            return [getattr(self.vector, attr_name)] * len(list(self._get_indices(indices)))

        def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
            """Set an attribute that all environments share."""
            setattr(self.vector, attr_name, value)

        def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **keywords: Any) -> list[Any]:
            """Call a method that all environments share."""
            answer = getattr(self.vector, method_name)(*arguments, **keywords)
            return [answer] * len(list(self._get_indices(indices)))

        def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
            """Whether each is wrapped: none is."""
            return [False] * len(list(self._get_indices(indices)))

    return StableEnvironment
