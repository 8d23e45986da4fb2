"""Taking time: jobs that are compared are run in turn, round after round, so that noise hits all of them alike.

A job on one thread is timed by the processor's time that the process takes, which other programs hardly change.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np

Key = TypeVar("Key", bound=Hashable)
COARSE = 1e-4  # [s]: a clock of processor time with longer ticks, as that of Windows, is of no use here


@dataclass(frozen=True)
class Job:
    """Python code to be timed, the names it uses; how many states one execution handles, on how many threads."""

    code: str
    names: Mapping[str, Any]
    states: int = 1
    threads: int = 1

    def timer(self) -> Callable[[int], float]:
        alone = self.threads == 1 and time.get_clock_info("process_time").resolution < COARSE
        clock = time.process_time if alone else time.perf_counter
        return timeit.Timer(self.code, timer=clock, globals=dict(self.names)).timeit


@dataclass(frozen=True)
class Sample:
    """Seconds per state: the shortest round, median and quartiles."""

    best: float
    median: float
    low: float
    high: float
    rounds: int

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


def race(jobs: Mapping[Key, Job], *, rounds: int, round_time: float) -> dict[Key, Sample]:
    """Time every job `rounds` times, in turn; a job shorter than `round_time` [s] is repeated within its round."""
    timers = {key: job.timer() for key, job in jobs.items()}
    numbers = {key: repeats(run, round_time) for key, run in timers.items()}
    taken: dict[Key, list[float]] = {key: [] for key in jobs}
    for _ in range(rounds):
        for key, run in timers.items():
            taken[key].append(run(numbers[key]) / numbers[key] / jobs[key].states)
    return {key: summary(times) for key, times in taken.items()}


def repeats(run: Callable[[int], float], round_time: float) -> int:
    """How often to run a job so that it takes about `round_time` [s]; the trial runs also warm it up."""
    run(1)
    number = 1
    while (seconds := run(number)) < round_time / 2 and number < 1_000_000:
        number = max(2 * number, int(number * round_time / max(seconds, 1e-9)))
    return number


def summary(seconds: list[float]) -> Sample:
    low, median, high = np.percentile(seconds, (25, 50, 75))
    return Sample(float(min(seconds)), float(median), float(low), float(high), len(seconds))
