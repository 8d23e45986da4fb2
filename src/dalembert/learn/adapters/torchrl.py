"""TorchRL: an `EnvBase` with one batch axis, which TorchRL itself resets by mask."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..observing import GROUP
from ..stepping import DISABLED
from .wanted import library, wanted


def torchrl(vec: Any) -> Any:
    """The environment for TorchRL: keys "observation" or the names of groups, "action", "reward", "terminated", …"""
    return _class()(wanted("torchrl", vec, DISABLED, "torch"))


@lru_cache(1)
def _class() -> Any:
    torch, TensorDict = library("torchrl", "torch", "torch"), library("torchrl", "tensordict", "tensordict").TensorDict
    data = library("torchrl", "torchrl.data", "torchrl")
    base = library("torchrl", "torchrl.envs", "torchrl").EnvBase

    class TorchEnvironment(base):  # type: ignore[misc, valid-type]
        """The environment as TorchRL wants it; see `learn.torchrl`."""

        def __init__(self, vec: Any) -> None:
            n = vec.num_envs
            super().__init__(device="cpu", batch_size=[n])
            self.vector, env = vec, vec.environment
            groups = {group: data.Unbounded((n, size)) for group, size in env.observing.sizes.items()}
            self.observation_spec = data.Composite(groups, shape=(n,))
            space = vec.single_action_space
            low, high = (torch.as_tensor(x).expand(n, -1).clone() for x in (space.low, space.high))
            self.action_spec = data.Bounded(low, high, (n, env.drive.size), dtype=torch.float32)
            self.reward_spec = data.Unbounded((n, 1))
            flags = {
                name: data.Categorical(2, shape=(n, 1), dtype=torch.bool)
                for name in ("done", "terminated", "truncated")
            }
            self.done_spec = data.Composite(flags, shape=(n,))

        def _given(self, obs: Any) -> dict[str, Any]:
            return {GROUP: obs} if self.vector.environment.observing.flat else dict(obs)

        def _reset(self, tensordict: Any = None, **keywords: Any) -> Any:
            mask = None if tensordict is None else tensordict.get("_reset", None)
            options = None
            if mask is not None and self.vector.ready:
                chosen = mask.reshape(self.num_envs, -1).any(-1).numpy()
                options = {"reset_mask": chosen}
            obs, _ = self.vector.reset(options=options)
            off = torch.zeros(self.num_envs, 1, dtype=torch.bool)
            flags = {name: off.clone() for name in ("done", "terminated", "truncated")}
            return TensorDict(self._given(obs) | flags, batch_size=[self.num_envs])

        def _step(self, tensordict: Any) -> Any:
            obs, reward, terminated, truncated, _ = self.vector.step(tensordict["action"])
            ends = {"done": terminated | truncated, "terminated": terminated, "truncated": truncated}
            flags = {name: x[:, None] for name, x in ends.items()}
            return TensorDict(self._given(obs) | flags | {"reward": reward[:, None]}, batch_size=[self.num_envs])

        def _set_seed(self, seed: int | None) -> None:
            if seed is not None:
                self.vector.reset(seed=int(np.abs(seed)))

        @property
        def num_envs(self) -> int:
            """Environments."""
            return int(self.vector.num_envs)

    return TorchEnvironment
