"""A policy played in one environment: its motion, and the viewer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import DalembertError, unknown

if TYPE_CHECKING:
    from .environment import Environment


class Played(NamedTuple):
    """Motions of n environments: t (k,) [s]; q (n, k, nq), v (n, k, nv), action (n, k, actions), reward (n, k).

    ended (n,): when each fell or was otherwise terminated [s], inf: never.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    ended: np.ndarray


def play(
    env: Environment,
    policy: Callable[[Any], Any] | None = None,
    *,
    seconds: float | None = None,
    n: int = 1,
    seed: int = 0,
    command: Any = None,
) -> Played:
    """Play a policy, a function of observations (n, size) → actions; None: zero actions. Motions go on after an end.

    seconds: default the length of an episode. command: {"velocity": (0.5, 0, 0)} in the place of what is drawn.
    """
    laws = {name: replace(draw, every=None) for name, draw in env.commands.items()}
    vec = env.replace(episode=None, command=laws).vector(n, seed=seed, autoreset="disabled", unsound="terminate")
    duration = seconds or env.episode
    if duration is None:
        raise DalembertError("play: the episode has no end: pass seconds=…")
    vec.reset()
    for name, x in dict(command or {}).items():
        if name not in vec.commands:
            raise unknown("command", name, vec.commands, "play")
        vec.commands[name][:] = np.asarray(x, float)
    group, shown = next(iter(env.observing.groups)), vec.looked()
    steps, ended = max(1, round(duration / env.period)), np.full(n, np.inf)
    rows: dict[str, list[np.ndarray]] = {"q": [], "v": [], "action": [], "reward": []}
    nv = env.robot.nv
    for k in range(steps):
        single = np.asarray(shown[group], np.float32)
        action = np.zeros((n, env.drive.size)) if policy is None else np.asarray(policy(single), float)
        vec.go_on()
        obs, reward, fell, *_ = vec.step(action)
        shown, state = {group: obs} if env.observing.flat else obs, vec.state()
        rows["q"].append(state["q"])
        rows["v"].append(state["e"][:, :nv])
        rows["action"].append(action)
        rows["reward"].append(np.asarray(reward))
        ended = np.where(fell & np.isinf(ended), (k + 1) * env.period, ended)
    t = env.period * np.arange(1, steps + 1)
    q, v, actions, rewards = (np.stack(x, axis=1) for x in rows.values())
    return Played(t, q, v, actions, rewards, ended)


def replay(played: Played, env: Environment, number: int = 0, **keywords: Any) -> Any:
    """Show a motion in the browser: a `Viewer` with the motion to play; keywords host, port. Needs viser."""
    from dalembert.view import Viewer

    return Viewer(env.robot, run=_Motion(played.t, played.q[number], played.v[number]), **keywords)


class _Motion(NamedTuple):
    """A motion as the viewer takes it."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    events: tuple[Any, ...] = ()
    contacts: Any = None
    tau: Any = None
