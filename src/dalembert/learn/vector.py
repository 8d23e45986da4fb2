"""Many environments at once: one call of compiled code for each step of all of them."""

from __future__ import annotations

from functools import lru_cache, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.compiler.execute import Program
from dalembert.compiler.execute.threads import limit
from dalembert.errors import DalembertError, is_number, whole_number
from dalembert.study.distributions.stream import PRIME, words

from .arrays import Arrays
from .card import CardCall, leaned
from .observing import GROUP
from .spaces import action_space, gymnasium, observation_space
from .stepping import AUTORESETS, DISABLED, FLAGS, NEXT_STEP, SAME_STEP, Stepping

if TYPE_CHECKING:
    from .environment import Environment

UNSOUND = ("raise", "terminate")
LARGEST = int(PRIME) - 1  # number of an environment


def vector(
    env: Environment,
    n: Any,
    seed: Any = 0,
    first: Any = 0,
    autoreset: Any = NEXT_STEP,
    arrays: str = "numpy",
    device: Any = None,
    threads: int | None = None,
    dtype: Any = None,
    unsound: str = "raise",
) -> Any:
    """See `Environment.vector`."""
    mode = getattr(autoreset, "name", autoreset)
    mode = {"NEXT_STEP": NEXT_STEP, "SAME_STEP": SAME_STEP, "DISABLED": DISABLED}.get(mode, mode)
    for word, value, known in (("autoreset", mode, AUTORESETS), ("unsound", unsound, UNSOUND)):
        if value not in known:
            raise DalembertError(f"vector: {word} is {value!r}, expected one of {', '.join(map(repr, known))}")
    _check_whole("n", n, 1, LARGEST)
    _check_whole("first", first, 0, LARGEST - int(n))
    limit(threads)
    return _classes()(env, int(n), seed, int(first), mode, Arrays(arrays, device, dtype), threads, unsound)


@lru_cache(1)
def _classes() -> Any:
    """The class, with Gymnasium's as its base."""
    base = gymnasium().vector.VectorEnv
    return type("VectorEnvironment", (Vector, base), {"__doc__": Vector.__doc__, "__module__": __name__})


class Vector:
    """n environments that step together; see `Environment.vector`. Every array that is given out is a fresh one."""

    def __init__(
        self, env: Environment, n: int, seed: Any, first: int, mode: str, arrays: Arrays, threads: Any, unsound: str
    ) -> None:
        library = gymnasium()
        self.environment, self.num_envs, self.first, self.autoreset, self.threads = env, n, first, mode, threads
        self.arrays, self.unsound, self.spec, self.render_mode = arrays, unsound, None, None
        self.metadata = {"autoreset_mode": library.vector.AutoresetMode[mode.upper()], "render_modes": []}
        self.metadata["render_fps"] = 1.0 / env.period
        self.single_observation_space = observation_space(env, arrays.dtype)
        self.single_action_space = action_space(env)
        batch = library.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, n)
        self.action_space = batch(self.single_action_space, n)
        self._growth, self._ready = 1, False
        self._prepare(env.stepping)
        self.seed = seed
        self._seeded(seed)

    # ---- programs and memory

    def _prepare(self, stepping: Stepping) -> None:
        """Compile the programs of a step and bind them to two memories, from each of which one goes to the other."""
        self._stepping, self._layout = stepping, stepping.layout
        n, size, action = self.num_envs, stepping.layout.width, stepping.drive.size
        shapes, begun = stepping.shapes(self.autoreset), stepping.shapes(None)
        sizes = {"action": action, "x": size}
        zeros, on_card = self.arrays.zeros, self.arrays.on_card
        of_step = partial(leaned, stepping) if on_card else stepping.step
        step = Program("environment", None, sizes, shapes, lambda: of_step(self.autoreset))
        reset = Program("environment reset", None, {"x": size, "mask": 1}, begun, stepping.reset)
        self._memories = [zeros(n, size) for _ in range(2)]
        self._views = [self._layout.named(memory) for memory in self._memories]
        self._action, self._mask = zeros(n, action), zeros(n, 1)
        self._results = {name: zeros(n, *shape) for name, shape in shapes.items() if name != "x"}
        self._begun = {name: zeros(n, *shape) for name, shape in begun.items()}
        self._steps, self._resets = [], []
        for k in range(2):
            here, there = self._memories[k], self._memories[1 - k]
            bound = CardCall if on_card else Program.bound
            self._steps.append(bound(step, {"action": self._action, "x": here}, {"x": there, **self._results}))
            self._resets.append(bound(reset, {"x": here, "mask": self._mask}, self._begun))
        self._now = 0

    @property
    def _x(self) -> np.ndarray:
        return self._memories[self._now]

    def _part(self, name: str) -> np.ndarray:
        return self._views[self._now][name]

    @property
    def ready(self) -> bool:
        """Whether the environments have begun."""
        return self._ready

    @property
    def steps_done(self) -> np.ndarray:
        """Control steps (n,) that each environment has done in its episode; may be set, to spread time limits."""
        return self.arrays.facts(self._part("steps")[:, 0].copy())

    @steps_done.setter
    def steps_done(self, steps: Any) -> None:
        self._part("steps")[:, 0] = self.arrays.memory.floor(self.arrays.memory.asarray(steps, float))

    def _seeded(self, seed: Any) -> None:
        """Episodes begin from the first one of a seed, or of one seed for each environment."""
        if isinstance(seed, (list, tuple, np.ndarray)):
            if len(seed) != self.num_envs:
                raise DalembertError(f"reset: seed has {len(seed)} numbers, expected {self.num_envs}")
            for k, each in enumerate(seed):
                if each is not None:
                    self._part("seed")[k], self._part("number")[k] = self.arrays.memory.array(_key(each)), 0.0
                    self._part("episode")[k] = -1.0
            return
        self._part("seed")[:] = self.arrays.memory.array(_key(seed))
        self._part("number")[:, 0] = self.first + self.arrays.memory.arange(self.num_envs)
        self._part("episode")[:] = -1.0

    # ---- Gymnasium's methods

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes: of all, or of those in options={"reset_mask": mask (n,) of bools}.

        seed: from the first episode of that seed, or of a list of seeds; None: the next episode of each.
        """
        with self.arrays.active():
            return self._reset(seed, options)

    def _reset(self, seed: Any, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        mask = self._reset_mask(options)
        if seed is not None:
            before = self._x.copy()
            self._seeded(seed)
            self._x[~mask] = before[~mask]
        self._mask[:, 0] = mask
        self._resets[self._now].on_threads(self.threads)
        begun = self._begun
        self._x[:] = begun["x"]
        if not self._ready:
            self._last: dict[str, Any] = {
                g: self.arrays.zeros(self.num_envs, k) for g, k in self.environment.observing.sizes.items()
            }
        for group, last in self._last.items():
            last[mask] = begun[f"obs {group}"][mask]
        self._ready = True
        return self._given(self._last), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Observations, rewards (n,), terminated (n,), truncated (n,), info after a control step of all."""
        if not self._ready:
            raise DalembertError("step: the environments have not begun: call reset() first")
        with self.arrays.active():
            return self._step(actions)

    def _step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        self._take(actions)
        over = self._part("over")[:, 0] > 0.5
        if self.autoreset == DISABLED and over.any():
            raise DalembertError(
                f"step: environment {int(np.argmax(over))} is done: reset it with "
                "reset(options={'reset_mask': mask}), or use another autoreset"
            )
        self._steps[self._now].on_threads(self.threads)
        flags = self._results["flags"].astype(bool)
        if flags[:, FLAGS.index("crowded")].any():
            if self.arrays.on_card:
                raise DalembertError("step: more contacts touch than there is room for: take device='cpu' for these")
            return self._with_more_room(actions)
        if self.unsound == "raise" and flags[:, FLAGS.index("diverged")].any():
            k = int(np.argmax(flags[:, FLAGS.index("diverged")]))
            raise DalembertError(
                f"step: the state of environment {k} is no longer finite after control step "
                f"{int(self._part('steps')[k, 0]) + 1} of its episode: take a smaller step, or unsound='terminate'"
            )
        self._now = 1 - self._now
        self._last = {group: self._results[f"obs {group}"] for group in self._last}
        terminated, truncated = flags[:, 0], flags[:, 1]
        given = self.arrays.given
        reward = self._results["reward"][:, 0].copy()
        return (
            self._given(self._last), given(reward, self.arrays.reward_dtype), given(terminated.copy()),
            given(truncated.copy()), self._info(flags, terminated | truncated),
        )  # fmt: skip

    def _take(self, actions: Any) -> None:
        """Actions into the array of the program; refuses other shapes and, unless asked, what is no number."""
        numbers = self.arrays.taken(actions)
        if numbers.shape != self._action.shape or numbers.dtype.kind not in "fiu":
            raise DalembertError(
                f"step: actions have shape {numbers.shape} of {numbers.dtype}, expected {self._action.shape} numbers"
            )
        self._action[:] = numbers
        if self.unsound == "raise" and not np.isfinite(self._action).all():
            k, j = (int(i) for i in np.argwhere(~np.isfinite(self._action))[0])
            raise DalembertError(
                f"step: the action of environment {k} in control step {int(self._part('steps')[k, 0]) + 1} of its "
                f"episode is {float(self._action[k, j]):g} for {self.environment.joints[j]!r}: unsound='terminate' "
                "ends its episode and goes on with the others"
            )

    def _info(self, flags: np.ndarray, done: np.ndarray) -> dict[str, Any]:
        """The sums of the terms of the reward over the episode so far, and what ended it."""
        env, results = self.environment, self._results
        info: dict[str, Any] = {"terms": {n: results["terms"][:, k].copy() for k, n in enumerate(env.rewards)}}
        info["length"] = results["length"][:, 0].astype(int)
        if "ends" in results:
            info["ends"] = {n: results["ends"][:, k] > 0.5 for k, n in enumerate(env.done)}
        if flags[:, FLAGS.index("diverged")].any():
            info["diverged"] = flags[:, FLAGS.index("diverged")].copy()
        if self.autoreset == SAME_STEP and done.any():
            final = {g: results[f"final {g}"] for g in self._last}
            info["final_obs"] = self._rows(final, done) if self.arrays.library == "numpy" else self._given(final)
            info["_final_obs"] = done.copy()
            info["final_info"] = {
                "terms": {n: np.where(done, x, 0.0) for n, x in info["terms"].items()},
                "length": np.where(done, info["length"], 0),
            }
            info["_final_info"] = done.copy()
        return self.arrays.facts(info)

    def _given(self, groups: dict[str, np.ndarray]) -> Any:
        """Observations as fresh arrays: one, or a dict by group."""
        given = {group: self.arrays.given(x.astype(self.arrays.dtype, order="C")) for group, x in groups.items()}
        return given[GROUP] if self.environment.observing.flat else given

    def _rows(self, groups: dict[str, np.ndarray], chosen: np.ndarray) -> np.ndarray:
        """Observations of some environments as Gymnasium gives them: an array of objects, None for the others."""
        places, out = np.flatnonzero(chosen), np.full(len(chosen), None, object)
        picked = self._given({group: x[places] for group, x in groups.items()})
        for i, k in enumerate(places):
            out[k] = {group: x[i] for group, x in picked.items()} if isinstance(picked, dict) else picked[i]
        return out

    def _reset_mask(self, options: dict[str, Any] | None) -> np.ndarray:
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return self.arrays.memory.ones(self.num_envs, bool)
        mask = self.arrays.taken(mask)
        if mask.shape != (self.num_envs,) or mask.dtype != bool:
            raise DalembertError(
                f"reset: reset_mask has shape {mask.shape} of {mask.dtype}, expected ({self.num_envs},) of bool"
            )
        if not mask.any():
            raise DalembertError("reset: reset_mask has no environment, expected at least one")
        if not self._ready and not mask.all():
            raise DalembertError("reset: the environments have not begun: reset all of them first")
        return mask

    def _with_more_room(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """The step once more with room for twice as many contacts, from the same state."""
        from dalembert.sim.rollout.memory import remembered

        before, parts = self._stepping, self._layout.named(self._x.copy())
        self._growth *= 2
        after = self.environment.grown(self._growth)
        nv, system = before.physics.system.model.nv, after.physics.system
        steps: Any = SimpleNamespace(system=system, kept=system.layout.nz)
        v, memory = parts["e"][:, :nv], parts["e"][:, nv:]
        parts["e"] = np.concatenate([v, remembered(steps, v, memory)], axis=1)
        last = self._last
        self._prepare(after)
        for name, x in parts.items():
            self._part(name)[:] = x
        self._last = last
        return self.step(actions)

    # ---- checkpoints

    def state(self) -> dict[str, np.ndarray]:
        """All that the environments keep, by name, each (n, size): copies, from which `set_state` goes on."""
        parts = {name: x.copy() for name, x in self._layout.named(self._x).items()}
        last = {f"last {group}": x.copy() for group, x in self._last.items()} if self._ready else {}
        return self.arrays.facts(parts | last)

    def set_state(self, x: dict[str, np.ndarray]) -> None:
        """Go on from a `state`: of these environments, or others with the same settings and number."""
        parts = {name: (self.num_envs, size) for name, size in self._layout.sizes.items()}
        parts |= {f"last {group}": (self.num_envs, k) for group, k in self.environment.observing.sizes.items()}
        for name, shape in parts.items():
            if name not in x:
                raise DalembertError(f"set_state: {name!r} is missing, expected what state() gave after reset()")
            if np.shape(x[name]) != shape:
                raise DalembertError(f"set_state: {name!r} has shape {np.shape(x[name])}, expected {shape}")
        for name in self._layout.sizes:
            self._part(name)[:] = self.arrays.taken(x[name])
        taken, copied = self.arrays.taken, self.arrays.memory.array
        self._last = {g: copied(taken(x[f"last {g}"]), float) for g in self.environment.observing.sizes}
        self._ready = True

    @property
    def observations(self) -> Any:
        """The observations that were given last, as fresh arrays."""
        if not self._ready:
            raise DalembertError("observations: the environments have not begun: call reset() first")
        return self._given(self._last)

    @property
    def commands(self) -> dict[str, np.ndarray]:
        """The command of each environment by name, (n, size): writing into these arrays changes it."""
        sizes, begin, views = self._stepping.command_sizes, 0, {}
        for name, size in sizes.items():
            views[name] = self._part("command")[:, begin : begin + size]
            begin += size
        return self.arrays.facts(views)

    def looked(self) -> dict[str, np.ndarray]:
        """Observations by group right after a reset, of the memory as it is now: after a change of `commands`."""
        parts = self._layout.named(self._x)
        if self.arrays.on_card:
            parts = {name: x.get() for name, x in parts.items()}
        rows = [self._stepping.looked({name: x[k] for name, x in parts.items()}) for k in range(self.num_envs)]
        return {group: np.array([row[group] for row in rows]) for group in self._last}

    def go_on(self) -> None:
        """Let environments that are done go on with the same episode, where autoreset is "disabled"."""
        self._part("over")[:] = 0.0

    def render(self) -> None:
        """Nothing: `learn.replay` shows an environment."""

    def close_extras(self, **keywords: Any) -> None:
        """Nothing to close."""


def _key(seed: Any) -> tuple[float, float]:
    """The residues that stand for a seed."""
    return words("seed", whole_number("vector: seed", seed, 0))


def _check_whole(name: str, value: Any, least: int, most: int) -> None:
    whole = isinstance(value, (int, np.integer)) or (is_number(value) and float(value).is_integer())
    if isinstance(value, bool) or not whole or not least <= value <= most:
        raise DalembertError(f"vector: {name} is {value!r}, expected a whole number from {least} to {most}")
