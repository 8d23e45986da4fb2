"""rsl-rl: a `VecEnv` with observations as a TensorDict of groups, and time-outs apart."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..stepping import SAME_STEP
from .wanted import library, wanted


def rsl_rl(vec: Any) -> Any:
    """The environment for rsl-rl's runners. A flat table of observations is the group "policy".

    Environments begin anew within the step that ends them; extras["time_outs"] says which were truncated, and
    extras["log"] has the mean of each term of the reward over the episodes that ended.
    """
    return _class()(wanted("rsl_rl", vec, SAME_STEP, "torch"))


@lru_cache(1)
def _class() -> Any:
    torch, TensorDict = library("rsl_rl", "torch", "torch"), library("rsl_rl", "tensordict", "tensordict").TensorDict
    base = library("rsl_rl", "rsl_rl.env", "rsl-rl-lib").VecEnv

    class RslEnvironment(base):  # type: ignore[misc, valid-type]
        """The environment as rsl-rl wants it; see `learn.rsl_rl`."""

        def __init__(self, vec: Any) -> None:
            env = vec.environment
            self.vector, self.num_envs, self.num_actions = vec, vec.num_envs, env.drive.size
            self.max_episode_length = env.steps or 10**9
            self.device, self.unwrapped = "cpu", self
            self.cfg: dict[str, Any] = {}
            self._obs = self._groups(vec.reset()[0])

        @property
        def episode_length_buf(self) -> Any:
            """Control steps of the episode of each environment; may be set."""
            return torch.from_numpy(self.vector.steps_done.astype(np.int64))

        @episode_length_buf.setter
        def episode_length_buf(self, x: Any) -> None:
            self.vector.steps_done = np.asarray(x)

        def _groups(self, obs: Any) -> Any:
            groups = {"policy": obs} if self.vector.environment.observing.flat else dict(obs)
            return TensorDict(groups, batch_size=[self.num_envs], device=self.device)

        def get_observations(self) -> Any:
            """The observations as they are now."""
            return self._obs

        def reset(self) -> tuple[Any, dict[str, Any]]:
            """Begin new episodes of all."""
            self._obs = self._groups(self.vector.reset()[0])
            return self._obs, {}

        def step(self, actions: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
            """Observations, rewards (n,), done (n,) and extras after a control step."""
            obs, reward, terminated, truncated, info = self.vector.step(actions)
            done = terminated | truncated
            self._obs, extras = self._groups(obs), {"time_outs": truncated, "log": {}}
            ended = done.numpy()
            if ended.any():
                extras["log"] = {f"/reward/{n}": float(x[ended].mean()) for n, x in info["terms"].items()}
            return self._obs, reward, done.long(), extras

    return RslEnvironment
