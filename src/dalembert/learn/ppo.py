"""Proximal policy optimisation in PyTorch: the reference trainer. Schulman et al., arXiv 1707.06347, 2017."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.errors import DalembertError

from .adapters.wanted import library


@dataclass(frozen=True, kw_only=True)
class PPO:
    """Settings of a training. envs: environments; horizon: control steps of each between two updates.

    discount, smoothing: γ and λ of advantages; clip: of the ratio; epochs, batches: passes over the data and parts of
    each; rate: of Adam, at first; divergence: of the policy in an update, by which the rate goes up or down; entropy:
    weight of its bonus; spread: standard deviation of actions at first; hidden: sizes of layers of policy and value.
    """

    envs: int = 1024
    horizon: int = 24
    discount: float = 0.99
    smoothing: float = 0.95
    clip: float = 0.2
    epochs: int = 5
    batches: int = 4
    rate: float = 1e-3
    divergence: float = 0.01
    entropy: float = 0.005
    spread: float = 1.0
    hidden: tuple[int, ...] = (128, 64)


def torch() -> Any:
    """The library, or the error that says how to install it."""
    return library("learn: training needs PyTorch", "torch", "torch")


class Policy:
    """A policy and its value function on observations (n, size), which it normalises itself."""

    def __init__(self, size: int, actions: int, settings: PPO, critic: int | None = None) -> None:
        nn = torch().nn
        self.size, self.actions, self.settings, self.critic = size, actions, settings, critic or size

        def layers(begin: int, end: int) -> Any:
            sizes = [begin, *settings.hidden]
            parts = [x for a, b in pairwise(sizes) for x in (nn.Linear(a, b), nn.ELU())]
            last = nn.Linear(sizes[-1], end)
            last.weight.data *= 0.1
            return nn.Sequential(*parts, last)

        self.actor, self.value = layers(size, actions), layers(self.critic, 1)
        self.spread = nn.Parameter(torch().full((actions,), float(np.log(settings.spread))))
        self.means = [torch().zeros(size), torch().zeros(self.critic)]
        self.variances, self.count = [torch().ones(size), torch().ones(self.critic)], 1e-2

    def parameters(self) -> list[Any]:
        """All that is trained."""
        return [*self.actor.parameters(), *self.value.parameters(), self.spread]

    def normal(self, obs: Any, which: int = 0) -> Any:
        """Observations of the policy (0) or the value function (1), normalised."""
        return ((obs - self.means[which]) / (self.variances[which] + 1e-8).sqrt()).clamp(-10.0, 10.0)

    def learn_normal(self, *observations: Any) -> None:
        """Take observations into the running means and variances."""
        for which, obs in enumerate(observations):
            share, change = len(obs) / (self.count + len(obs)), obs.mean(0) - self.means[which]
            spread = obs.var(0, unbiased=False) + (1.0 - share) * change**2
            self.variances[which] = (1.0 - share) * self.variances[which] + share * spread
            self.means[which] = self.means[which] + share * change
        self.count += len(observations[0])

    def __call__(self, obs: Any) -> np.ndarray:
        """The mean actions (n, actions) for observations (n, size)."""
        with torch().no_grad():
            x = torch().as_tensor(np.asarray(obs), dtype=torch().float32)
            return self.actor(self.normal(x)).numpy()

    def distribution(self, obs: Any) -> Any:
        """The distribution of actions."""
        return torch().distributions.Normal(self.actor(self.normal(obs)), self.spread.exp())

    def save(self, path: str) -> None:
        """Write it to a file, which `load` reads."""
        state = {"actor": self.actor.state_dict(), "value": self.value.state_dict(), "spread": self.spread.data}
        names = ("means", "variances", "count", "size", "actions", "critic")
        torch().save(state | {n: getattr(self, n) for n in names} | {"settings": asdict(self.settings)}, path)

    @classmethod
    def load(cls, path: str) -> Policy:
        """Read one that `save` wrote."""
        x = torch().load(path, weights_only=True)
        settings = PPO(**(x["settings"] | {"hidden": tuple(x["settings"]["hidden"])}))
        policy = cls(x["size"], x["actions"], settings, x["critic"])
        policy.actor.load_state_dict(x["actor"])
        policy.value.load_state_dict(x["value"])
        policy.spread.data = x["spread"]
        policy.means, policy.variances, policy.count = x["means"], x["variances"], x["count"]
        return policy


def train(
    env: Any,
    settings: PPO,
    *,
    minutes: float | None = None,
    steps: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    policy: Policy | None = None,
    report: Callable[[dict[str, float], Policy], bool | None] | None = None,
) -> tuple[Policy, list[dict[str, float]]]:
    """Train a policy for some minutes of wall time or steps of all environments, whichever ends first.

    report: called after each update with its numbers and the policy; where it returns True, training ends. Returns the
    policy and the numbers of all updates: steps, minutes, cpu (minutes), return and length of episodes, each term.
    """
    if minutes is None and steps is None:
        raise DalembertError("train: give minutes=… or steps=…")
    torch().manual_seed(seed)
    (first, size), *_, (last, seen) = [*env.observing.sizes.items()] * 2  # of the policy, and of the critic
    options: dict[str, Any] = {"autoreset": "same_step", "arrays": "torch", "threads": threads, "unsound": "terminate"}
    vec = env.vector(settings.envs, seed=seed, **options)
    policy = policy or Policy(size, env.drive.size, settings, seen)
    optimizer = torch().optim.Adam(policy.parameters(), lr=settings.rate)
    pair = (lambda x: (x[first], x[last])) if not env.observing.flat else (lambda x: (x, x))
    obs, begin, cpu, done, curve = pair(vec.reset()[0]), time.perf_counter(), time.process_time(), 0, []
    mean = {"return": float("nan"), "length": float("nan")}
    while (steps is None or done < steps) and (minutes is None or time.perf_counter() - begin < 60.0 * minutes):
        data, obs, ended = _collect(vec, policy, obs, pair, settings)
        done += settings.envs * settings.horizon
        mean = {name: x if np.isfinite(x) else mean.get(name, x) for name, x in ended.items()}
        divergence = _update(policy, optimizer, data, settings)
        now = {"steps": float(done), "minutes": (time.perf_counter() - begin) / 60.0}
        now |= {"cpu": (time.process_time() - cpu) / 60.0, "spread": float(policy.spread.detach().exp().mean())}
        curve.append(now | {"rate": optimizer.param_groups[0]["lr"], "divergence": divergence} | mean)
        if report is not None and report(curve[-1], policy):
            break
    return policy, curve


def _collect(vec: Any, policy: Policy, obs: Any, pair: Any, settings: PPO) -> tuple[Any, Any, dict[str, float]]:
    """Steps of all environments, the observations after them, and the mean of what ended."""
    rows: dict[str, list[Any]] = {name: [] for name in ("obs", "seen", "action", "log", "value", "reward", "done")}
    sums: dict[str, list[np.ndarray]] = {}
    with torch().no_grad():
        policy.learn_normal(*obs)
        for _ in range(settings.horizon):
            law = policy.distribution(obs[0])
            action = law.sample()
            value = policy.value(policy.normal(obs[1], 1))[:, 0]
            after, reward, terminated, truncated, info = vec.step(action.clamp(-100.0, 100.0))
            reward = reward.clone()
            if truncated.any():  # what would have followed still counts
                final = pair(info["final_obs"])[1]
                reward += settings.discount * policy.value(policy.normal(final, 1))[:, 0] * truncated
            over = (terminated | truncated).float()
            log = law.log_prob(action).sum(1)
            for name, x in zip(rows, (obs[0], obs[1], action, log, value, reward, over), strict=True):
                rows[name].append(x)
            ended = over.numpy() > 0.5
            terms = {name: x[ended] for name, x in info["terms"].items()}
            for name, x in (terms | {"return": sum(terms.values()), "length": info["length"][ended]}).items():
                sums.setdefault(name, []).append(x)
            obs = pair(after)
        rows["value"].append(policy.value(policy.normal(obs[1], 1))[:, 0])
    data = {name: torch().stack(x) for name, x in rows.items()}
    values = {name: np.concatenate(x) for name, x in sums.items()}
    return data, obs, {name: float(x.mean()) if len(x) else float("nan") for name, x in values.items()}


def _update(policy: Policy, optimizer: Any, data: Any, settings: PPO) -> float:
    """One update of policy and value; returns how far the policy moved (Kullback and Leibler)."""
    advantage, total = torch().zeros_like(data["reward"]), torch().zeros(settings.envs)
    for t in range(settings.horizon - 1, -1, -1):
        alive = 1.0 - data["done"][t]
        error = data["reward"][t] + settings.discount * data["value"][t + 1] * alive - data["value"][t]
        total = error + settings.discount * settings.smoothing * alive * total
        advantage[t] = total
    returns = (advantage + data["value"][:-1]).flatten()
    advantage = ((advantage - advantage.mean()) / (advantage.std() + 1e-8)).flatten()
    obs, seen, action = (data[name].flatten(0, 1) for name in ("obs", "seen", "action"))
    old, before = data["log"].flatten(), data["value"][:-1].flatten()
    with torch().no_grad():
        start = policy.distribution(obs)
    moved: list[float] = []
    for _ in range(settings.epochs):
        for part in torch().randperm(len(obs)).chunk(settings.batches):
            law = policy.distribution(obs[part])
            ratio = (law.log_prob(action[part]).sum(1) - old[part]).exp()
            bounded = ratio.clamp(1.0 - settings.clip, 1.0 + settings.clip)
            gain = torch().min(ratio * advantage[part], bounded * advantage[part])
            value = policy.value(policy.normal(seen[part], 1))[:, 0]
            near = before[part] + (value - before[part]).clamp(-settings.clip, settings.clip)
            miss = torch().max((value - returns[part]) ** 2, (near - returns[part]) ** 2)
            loss = miss.mean() - gain.mean() - settings.entropy * law.entropy().sum(1).mean()
            with torch().no_grad():
                began = torch().distributions.Normal(start.loc[part], start.scale[part])
                far = float(torch().distributions.kl_divergence(began, law).sum(1).mean())
            share, group = far / settings.divergence, optimizer.param_groups[0]
            factor = 1.5 if share < 0.5 else 1.0 / 1.5 if share > 2.0 else 1.0
            group["lr"], moved = float(np.clip(group["lr"] * factor, 1e-5, 1e-2)), [*moved, far]
            optimizer.zero_grad()
            loss.backward()
            torch().nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
    return float(np.mean(moved))
