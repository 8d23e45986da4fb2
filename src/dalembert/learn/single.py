"""One environment as a `gymnasium.Env`."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .spaces import gymnasium
from .stepping import DISABLED

if TYPE_CHECKING:
    from .environment import Environment


def single(env: Environment, seed: int = 0, dtype: Any = None, unsound: str = "raise") -> Any:
    """See `Environment.single`."""
    return _class()(env, seed, dtype, unsound)


@lru_cache(1)
def _class() -> Any:
    """The class, with Gymnasium's as its base."""
    base = gymnasium().Env

    class SingleEnvironment(base):  # type: ignore[misc, valid-type]
        """One environment; see `Environment.single`. After an episode it waits for `reset`."""

        def __init__(self, env: Environment, seed: int, dtype: Any, unsound: str) -> None:
            self.environment = env
            self.vector = env.vector(1, seed=seed, autoreset=DISABLED, threads=1, dtype=dtype, unsound=unsound)
            self.observation_space = self.vector.single_observation_space
            self.action_space = self.vector.single_action_space
            self.metadata = {"render_modes": [], "render_fps": 1.0 / env.period}
            self.render_mode = None

        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict]:
            """Begin a new episode: the first one of a seed, or the next one."""
            super().reset(seed=seed)
            obs, _ = self.vector.reset(seed=seed)
            return _row(obs), {}

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            """Observation, reward, terminated, truncated, info after a control step."""
            obs, reward, terminated, truncated, info = self.vector.step(np.asarray(action)[None])
            return _row(obs), float(reward[0]), bool(terminated[0]), bool(truncated[0]), _info(info)

        def render(self) -> None:
            """Nothing: `learn.replay` shows an environment."""

    return SingleEnvironment


def _row(obs: Any) -> Any:
    return {name: x[0] for name, x in obs.items()} if isinstance(obs, dict) else obs[0]


def _info(info: dict[str, Any]) -> dict[str, Any]:
    return {name: _info(x) if isinstance(x, dict) else x[0].item() for name, x in info.items()}
