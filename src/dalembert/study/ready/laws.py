"""A law in many worlds: how often it arrives, and which gains do best in all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.control.laws.additions import within_limits
from dalembert.errors import DalembertError, is_number, unknown
from dalembert.math import abs as absolute
from dalembert.math import where
from dalembert.model import motorized
from dalembert.progress import Progress
from dalembert.robot import Robot
from dalembert.sim.system.sampled import Sampled
from dalembert.study.distributions.inverse_normal import inverse_normal
from dalembert.study.distributions.laws import Choice, Grid, LogUniform, Uniform
from dalembert.study.distributions.model_errors import model_errors
from dalembert.study.distributions.space import Space
from dalembert.study.distributions.states import states

from ..job import study
from ..motion import Motion, motion
from ..result import Result
from ..work import compute

STEP = 1e-3  # [s], the longest of the runs
ARRIVED = 0.05  # rad or m from the goal that counts as arrived, as in `control.audit`
FULL = 1.0 - 1e-9  # of an effort limit: saturated
MASS, COM, INERTIA = 0.15, 0.01, 0.2  # errors of the worlds, unless stated: relative, [m], relative
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Robustness:
    """How a law does in worlds that its model lacks; print it to read it.

    arrived: share of all rows that end within `within` of the goal [rad or m]; interval (2,) holds it with 95 %. A row
    that fails does not arrive. miss (n,): distance of the farthest joint at the end; settling (n,) [s]: when it was
    beyond `within` for the last time; saturation (n,): share of the time in which a motor is at its limit. result: the
    study.
    """

    law: str
    arrived: float
    interval: np.ndarray
    within: float
    miss: np.ndarray
    settling: np.ndarray
    saturation: np.ndarray
    result: Result

    def __str__(self) -> str:
        low, high = self.interval
        good = np.isfinite(self.miss)
        share = f"{self.arrived:.1%} of {len(self.miss)} rows arrive within {self.within:g}"
        lines = [f"{self.law}: {share} [{low:.1%}, {high:.1%}]"]
        if good.any():
            miss, full = self.miss[good], self.saturation[good].mean()
            lines.append(f"miss: median {np.median(miss):.3g}, 95 % below {np.percentile(miss, 95):.3g}")
            lines.append(f"settled after {np.median(self.settling[good]):.3g} s (median)")
            lines.append(f"motors at their limits in {full:.1%} of the time")
        if self.result.failed:
            lines.append(str(self.result.failed))
        return "\n".join(lines)


def robustness(
    law: Any,
    q: Any,
    start: Any = None,
    *,
    robot: Robot | None = None,
    space: Space | None = None,
    parameters: Mapping[str, str] | None = None,
    samples: int = 1000,
    period: float = STEP,
    delay: float = 0.0,
    duration: float = 2.0,
    within: float = ARRIVED,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    executor: Any = None,
) -> Robustness:
    """A law of `dalembert.control` that holds q (nq,), in many worlds: `control.audit`'s run with other robots.

    start (nq,): where it sets out, default 0.1 rad or m from q at every driven joint. period, delay [s]: of the law.
    within: distance from q that counts as arrived [rad or m]. space: the worlds, default masses ± 15 %, centres of mass
    ± 1 cm, moments ± 20 %, starts ± 0.1 rad; parameters: what other axes of it set, as of `study.motion`, such as
    {"payload": "load"}. robot: where the law does not name its own.
    """
    robot = getattr(law, "robot", None) if robot is None else robot
    if not isinstance(robot, Robot):
        raise DalembertError("robustness: the law does not say of which robot it is: pass robot=…")
    for name, x, low in (("period", period, 0.0), ("duration", duration, 0.0), ("within", within, 0.0)):
        if not (is_number(x) and low < x < np.inf):
            raise DalembertError(f"robustness: {name} is {x!r}, expected a number above 0")
    goal = robot.normalize(np.asarray(q, float))
    mask = motorized(robot.model)
    begin = robot.integrate(goal, 0.1 * mask) if start is None else robot.normalize(np.asarray(start, float))
    if space is None:
        worlds = model_errors(mass=MASS, com=COM, inertia=INERTIA)
        space = Space(model=worlds, start=states(robot, 0.1, about=begin))
    within_period = max(1, int(np.ceil(period / STEP - 1e-9)))
    step, steps = period / within_period, max(1, round(duration / period)) * within_period
    sampled = Sampled(within_limits(robot, law), period, round(delay / period) * period)
    limited, most = mask & np.isfinite(robot.limits.effort), robot.limits.effort

    def far(q: Any) -> Any:
        return _largest(absolute(robot.difference(goal, q)))

    def saturated(tau: Any) -> Any:
        full = [where(absolute(tau[k]) >= FULL * most[k], 1.0, 0.0) for k in np.flatnonzero(limited)]
        return _largest(full) if full else 0.0 * tau[0]

    run = motion(
        sampled,
        step=step,
        steps=steps,
        friction="smooth",
        parameters=parameters,
        start=(begin, np.zeros(robot.nv)),
        measure={"miss": far, "settling": lambda t, q: where(far(q) > within, t, 0.0 * t), "saturation": saturated},
        reduce={"miss": "last", "settling": "max", "saturation": "mean"},
    )
    result = study(robot, space, run, samples=samples if space.random else None, method="sobol", seed=seed).run(
        folder, executor
    )
    return _judged(law, result, float(within))


def _judged(law: Any, result: Result, within: float) -> Robustness:
    """The rows of a study of `robustness`."""
    table = result.table()
    sound = table.sound()
    miss, settling, saturation = (
        np.where(sound, table[name].reshape(len(sound)), np.nan) for name in ("miss", "settling", "saturation")
    )
    arrived = np.where(sound, miss, np.inf) <= within
    label = getattr(law, "__name__", type(law).__name__)
    return Robustness(label, float(arrived.mean()), _share(arrived), within, miss, settling, saturation, result)


def _largest(values: Any) -> Any:
    found = values[0]
    for x in values[1:]:
        found = where(x > found, x, found)
    return found


def _share(hits: np.ndarray) -> np.ndarray:
    """Wilson's interval (2,) of a share."""
    n, p = len(hits), float(hits.mean())
    z = float(inverse_normal(np.array([0.5 + 0.5 * CONFIDENCE]))[0])
    middle, half = p + z * z / (2 * n), z * np.sqrt(p * (1.0 - p) / n + z * z / (4 * n * n))
    return np.clip((middle + half * np.array([-1.0, 1.0])) / (1.0 + z * z / n), 0.0, 1.0)


@dataclass(frozen=True)
class Gains:
    """Gains and what they cost in the same worlds; print it to read it.

    best: the gains of the lowest cost, by name; cost: theirs, the mean over the worlds, or the largest with
    worst=True. tried: all gains, by name (n,); costs (n,), infinite where a world fails; failures (n,): worlds that
    fail.
    """

    best: dict[str, float]
    cost: float
    tried: dict[str, np.ndarray]
    costs: np.ndarray
    failures: np.ndarray

    def __str__(self) -> str:
        order = np.argsort(self.costs, kind="stable")[:8]
        lines = [f"best of {len(self.costs)}: " + ", ".join(f"{k} = {x:.6g}" for k, x in self.best.items())]
        for k in order:
            shown = ", ".join(f"{name} {x[k]:.6g}" for name, x in self.tried.items())
            failed = f", {self.failures[k]} worlds fail" if self.failures[k] else ""
            lines.append(f"    {self.costs[k]:.6g}  {shown}{failed}")
        return "\n".join(lines)


def gains(
    robot: Robot,
    law: Any,
    values: Mapping[str, Any],
    cost: Callable[..., Any],
    *,
    worlds: Space | None = None,
    parameters: Mapping[str, str] | None = None,
    reduce: str = "mean",
    worst: bool = False,
    step: float = 1e-3,
    steps: int = 1000,
    samples: int = 64,
    method: str = "grid",
    trials: int = 100,
    seed: int = 0,
    **options: Any,
) -> Gains:
    """The gains of a law that cost least in many worlds, the same ones for all gains.

    law (t, q, v, kp, kd, …): traced. values: by the names of the law's arguments: study.grid(…) or study.linspace(…)
    for method "grid", where all combinations are tried; study.uniform or study.loguniform for "optuna", which picks
    `trials` of them (pip install optuna). cost: a measure as of `study.motion`, lambda q: (q - goal) @ (q - goal), say,
    reduced over the motion by `reduce` and over the worlds by their mean, or their largest with worst=True. worlds: a
    space of payloads, starts, errors of the model; default starts ± 0.1 rad; parameters: what its axes set. options:
    others of `study.motion`.
    """
    space = Space(start=states(robot, 0.1)) if worlds is None else worlds
    _check_gains(values, space, method)
    named = dict(parameters or {}) | {name: name for name in values}
    run = motion(
        law, step=step, steps=steps, measure={"cost": cost}, reduce=reduce, parameters=named, **options
    )  # fmt: skip
    count = samples if space.random else None
    if method == "optuna":
        return _sought(robot, run, space, values, count, worst, trials, seed)
    everything = Space(**space.axes, **values)
    everything.condition = space.condition
    result = study(robot, everything, run, samples=count, method="random", seed=seed).run()
    table = result.table()
    y = np.where(table.sound(), table["cost"].reshape(len(table["row"]), -1).max(axis=1), np.inf)
    keys = np.stack([table[name] for name in values], axis=1)
    unique, place = np.unique(keys, axis=0, return_inverse=True)
    groups = [y[place.ravel() == k] for k in range(len(unique))]
    return _ranked({name: unique[:, k] for k, name in enumerate(values)}, groups, worst)


def _check_gains(values: Mapping[str, Any], space: Space, method: str) -> None:
    if method not in ("grid", "optuna"):
        raise unknown("method", method, ("grid", "optuna"), "gains")
    if not values:
        raise DalembertError("gains: values is empty: name the gains, as in {'kp': study.grid(10, 20)}")
    kinds: tuple[type, ...] = (Grid,) if method == "grid" else (Uniform, LogUniform, Choice)
    wanted = "study.grid(…)" if method == "grid" else "study.uniform(…), study.loguniform(…) or study.choice(…)"
    for name, axis in values.items():
        if not isinstance(axis, kinds):
            raise DalembertError(f"gains: {name} is {type(axis).__name__}, expected {wanted} for method {method!r}")
        if name in space.axes:
            raise DalembertError(f"gains: {name!r} is an axis of worlds as well: name it once")


def _ranked(tried: dict[str, np.ndarray], groups: Sequence[np.ndarray], worst: bool) -> Gains:
    failures = np.array([int(np.sum(~np.isfinite(y))) for y in groups])
    costs = np.array([np.inf if np.isinf(y).any() else (y.max() if worst else y.mean()) for y in groups])
    k = int(np.argmin(costs))
    if not np.isfinite(costs[k]):
        raise DalembertError(
            f"gains: with every choice some world fails, at least {failures.min()} of {len(groups[0])}: choose gains "
            "nearer to those that work, or milder worlds"
        )
    return Gains({name: float(x[k]) for name, x in tried.items()}, float(costs[k]), tried, costs, failures)


def _sought(
    robot: Robot,
    run: Motion,
    space: Space,
    values: Mapping[str, Any],
    samples: int | None,
    worst: bool,
    trials: int,
    seed: int,
) -> Gains:
    """Gains that Optuna asks for, each in all worlds."""
    try:
        import optuna
    except ImportError:
        raise DalembertError("gains: method 'optuna' needs Optuna: pip install optuna, or method='grid'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    search = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    tried: dict[str, list[float]] = {name: [] for name in values}
    groups = []
    with Progress("gains", float(trials), "trials") as shown:
        for k in range(trials):
            trial = search.ask()
            chosen = {name: _suggested(trial, name, axis) for name, axis in values.items()}
            point = {name: Grid((x,)) for name, x in chosen.items()}
            everything = Space(**space.axes, **point)
            everything.condition = space.condition
            job = study(robot, everything, run, samples=samples, method="random", seed=seed)
            chunk = compute(job.task, 0, len(job), None)
            y = chunk.columns["cost"].reshape(len(job), -1).max(axis=1)
            y = np.where(np.array([not text for text in chunk.failed]), y, np.inf)
            total = float(y.max() if worst else y.mean())
            search.tell(trial, total if np.isfinite(total) else 1e300)
            groups.append(y)
            for name, x in chosen.items():
                tried[name].append(x)
            shown.show(k + 1)
    return _ranked({name: np.array(x) for name, x in tried.items()}, groups, worst)


def _suggested(trial: Any, name: str, axis: Any) -> float:
    if isinstance(axis, Choice):
        return float(trial.suggest_categorical(name, list(axis.options)))
    return float(trial.suggest_float(name, axis.low, axis.high, log=isinstance(axis, LogUniform)))
