"""skrl: a wrapper with tensors (n, 1) for rewards and ends; a second group of observations is the critic's state."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..stepping import SAME_STEP
from .wanted import library, wanted


def skrl(vec: Any) -> Any:
    """The environment for skrl's trainers: the first group is the observation, the last one, if another, the state."""
    return _class()(wanted("skrl", vec, SAME_STEP, "torch"))


@lru_cache(1)
def _class() -> Any:
    base = library("skrl", "skrl.envs.wrappers.torch.base", "skrl").Wrapper
    torch = library("skrl", "torch", "torch")

    class SkrlEnvironment(base):  # type: ignore[misc, valid-type]
        """The environment as skrl wants it; see `learn.skrl`."""

        def __init__(self, vec: Any) -> None:
            super().__init__(vec)
            self._device, self._groups = torch.device("cpu"), list(vec.environment.observing.groups)
            self._flat, self._state = vec.environment.observing.flat, None

        @property
        def observation_space(self) -> Any:
            """The space of the policy's observations."""
            space = self._env.single_observation_space
            return space if self._flat else space[self._groups[0]]

        @property
        def state_space(self) -> Any:
            """The space of the critic's observations; None: those of the policy."""
            return self._env.single_observation_space[self._groups[-1]] if len(self._groups) > 1 else None

        @property
        def action_space(self) -> Any:
            """The space of actions."""
            return self._env.single_action_space

        def _shown(self, obs: Any) -> Any:
            if self._flat:
                return obs
            self._state = obs[self._groups[-1]] if len(self._groups) > 1 else None
            return obs[self._groups[0]]

        def state(self) -> Any:
            """The critic's observations, if there are any."""
            return self._state

        def reset(self) -> tuple[Any, dict[str, Any]]:
            """Begin new episodes of all."""
            obs, info = self._env.reset()
            return self._shown(obs), info

        def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Any]:
            """Observation, reward, terminated, truncated (n, 1) and info after a control step."""
            obs, reward, terminated, truncated, info = self._env.step(actions)
            return self._shown(obs), reward.view(-1, 1), terminated.view(-1, 1), truncated.view(-1, 1), info

        def render(self, *arguments: Any, **keywords: Any) -> None:
            """Nothing."""

        def close(self) -> None:
            """Nothing to close."""

    return SkrlEnvironment
